#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# cuda_abi.sh stage: the driver's ABI as declared in runtime/cuda/dl.h equals that of <cuda.h>.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nvcc=$(command -v nvcc) || {
	echo "skipped: no CUDA toolkit"
	exit 77
}
cc -std=c11 -Wall -Wextra -Werror -I "$here/../../runtime" -I "$1/include" \
	-isystem "$(dirname "$(readlink -f "$nvcc")")/../include" \
	"$here/cuda_abi.c" -o "$work/cuda_abi"
"$work/cuda_abi"
