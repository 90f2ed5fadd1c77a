#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# size.sh stage: bytes of the cubin of eight calls of put_signal_nbi by a warp (bench/size/calls.cu,
# NIC path out of line, sm_90). Fails above the limit, which was set a little above what nvcc 13.0
# needed then. After a change that makes the code smaller, lower it; `bench/size/run` measures more.
set -eu
limit=151600
source=$(dirname "$0")/../../bench/size/calls.cu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
nvcc -std=c++17 -arch=sm_90 -O3 -cubin -I "$1/include" "$source" -o "$work/calls.cubin"
nbytes=$(wc -c <"$work/calls.cubin")
echo "cubin of calls.cu: $nbytes bytes, limit $limit"
[ "$nbytes" -le "$limit" ] || {
	echo "too large: see bench/README.md, \"Code size and compile time\""
	exit 1
}
