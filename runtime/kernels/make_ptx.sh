#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# Compile a kernel of this folder to PTX, for the oldest driver that has its instructions.
# Usage: make_ptx.sh NAME > NAME.ptx
#        make_ptx.sh --check NAME: is NAME.ptx what nvcc makes of NAME.cu?
set -eu
here=$(cd "$(dirname "$0")" && pwd)
check=
if [ "${1-}" = --check ]; then
	check=1
	shift
fi
name=$1
if ! command -v nvcc > /dev/null; then
	echo "skipped: nvcc is not on PATH"
	exit 77
fi
release=$(nvcc --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p')
made=$(mktemp)
trap 'rm -f "$made" "$made.ptx"' EXIT
nvcc -ptx -O2 -std=c++17 -arch=compute_80 -I "$here/../../include" "$here/$name.cu" -o "$made"
{
	sed -n "2,3s|^#|//|p" "$0"
	echo "// Made of $name.cu by make_ptx.sh, nvcc $release"
	echo '.version 8.2'
	# Names of static functions hold hashes of the file's path.
	hash='[0-9a-f]\{8\}'
	# A hint to ptxas, which PTX 8.2 does not have.
	hint='^[[:space:]]*\.pragma "used_bytes_mask'
	grep -v -e '^//' -e '^\.version' -e '^[[:space:]]*$' -e "$hint" "$made" |
		sed "s/\(_INTERNAL_\)$hash\(_[0-9]*_[a-z]*_cu_\)$hash/\100000000\200000000/g"
} > "$made.ptx"
# nvcc 13.0 writes these for sm_80, too; drivers of CUDA 13.2 and later refuse such a file.
if grep -n 'fence\.\(acquire\|release\)\.' "$made.ptx" >&2; then
	echo "fence.acquire and fence.release need sm_90 and PTX 8.6: $name.cu is for sm_80"
	exit 1
fi
ptxas -arch=sm_80 "$made.ptx" -o /dev/null || {
	echo "ptxas does not accept $name.ptx as PTX of the version that it names"
	exit 1
}
if [ -z "$check" ]; then
	cat "$made.ptx"
elif ! head -n 3 "$here/$name.ptx" | grep -q "nvcc $release\$"; then
	echo "skipped: $name.ptx was made by another release than $release"
	exit 77
elif ! cmp -s "$made.ptx" "$here/$name.ptx"; then
	echo "$name.ptx is not what nvcc makes of $name.cu: run make_ptx.sh $name > $name.ptx"
	exit 1
fi
