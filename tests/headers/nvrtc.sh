#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# nvrtc.sh stage: a kernel that includes shmem_dev.h and the headers of typed names
# compiles at run time, plain and with SHMEMD_CHECK.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

nvcc=$(command -v nvcc) || {
	echo "skipped: no nvcc"
	exit 77
}
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
[ -e "$cuda/include/nvrtc.h" ] || {
	echo "skipped: no nvrtc.h in $cuda/include"
	exit 77
}
cccl=$cuda/include
[ ! -e "$cccl/cccl/cuda/std/cstdint" ] || cccl=$cccl/cccl # its place since CUDA 13
nvcc -x c "$here/nvrtc_probe.c" -Xcompiler -Wall,-Wextra,-Werror -lnvrtc -o "$work/probe"
LD_LIBRARY_PATH=$cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} \
	"$work/probe" "$1/include" "$cccl"
