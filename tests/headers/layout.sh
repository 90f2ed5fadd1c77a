#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# layout.sh stage: structs shared by host and device have their golden layout in every language.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

used=0
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -xc++ -std=c++17' 'clang++ -xc++ -std=c++17' \
	'nvcc -x cu -std=c++17 -arch=sm_90'; do
	command -v "${compiler%% *}" >/dev/null || continue
	used=$((used + 1))
	# shellcheck disable=SC2086 # the command's words
	$compiler -I "$1/include" -c "$here/layout.c" -o "$work/layout.o"
done
[ "$used" -gt 0 ] || {
	echo "skipped: no compiler is here"
	exit 77
}
