#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# cuda_kernels.sh LIBRARY_FOLDER: kernels as users write them (cuda_kernels.cpp) run in the emulator
# by every C++ compiler that is here; a report names the kernel as the source does; and __shared__
# is an error that says what to write. Exits 77 with a reason if there is no g++.
set -eu
libraries=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v g++ >/dev/null || {
	echo "skipped: no g++"
	exit 77
}

build() {
	compiler=$1
	shift
	"$compiler" -std=c++17 -g -O1 -Wall -Wextra -Werror -I"$here/../../include" \
		-I"$here/../../runtime/sim/include" "$@" "$here/cuda_kernels.cpp" \
		-o "$work/kernels" -L"$libraries" -Wl,-rpath,"$libraries" -lshmem_sim -lshmem_host
}

for compiler in g++ clang++; do
	command -v "$compiler" >/dev/null || continue
	build "$compiler"
	"$work/kernels"
	if "$work/kernels" fails 2>"$work/report"; then
		echo "the kernel that fails has passed"
		exit 1
	fi
	grep -q 'kernel [0-9]* send_sum<64> block 0 thread 0: the sum is' "$work/report" || {
		echo "the report does not name the kernel:"
		cat "$work/report"
		exit 1
	}
	if build "$compiler" -DWITH_SHARED 2>"$work/errors"; then
		echo "$compiler takes __shared__"
		exit 1
	fi
	grep -q '__shared__: write SHMEMSIM_SHARED(type, n, name)' "$work/errors"
	echo "$compiler: passed"
done
