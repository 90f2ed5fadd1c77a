#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# two_units.sh stage: two CUDA units that include everything link into one program without -rdc,
# plain and with SHMEMD_CHECK. They hold PTX: without -rdc device code is not linked.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
for flags in -arch=compute_90 '-arch=compute_90 -DSHMEMD_CHECK'; do
	for unit in one two; do
		# shellcheck disable=SC2086 # flags are words
		nvcc -std=c++17 $flags --Werror all-warnings -Xcompiler -Wall,-Wextra \
			-I "$1/include" -c "$here/unit_$unit.cu" -o "$work/$unit.o"
	done
	nvcc "$work/one.o" "$work/two.o" -o "$work/program"
done
