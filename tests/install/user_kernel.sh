#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# user_kernel.sh stage: a user's CUDA kernel runs on the CPU with only the installed emulator, and
# the emulator reports the mistake in its broken variant.
set -eu
stage=$1
source=$(dirname "$0")/user_kernel.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Use a path without spaces: pkg-config cannot quote them in a command line.
ln -s "$stage" "$work/stage"
PKG_CONFIG_PATH=$(dirname "$(find "$work/stage/" -name shmem_sim.pc)")
export PKG_CONFIG_PATH
LD_LIBRARY_PATH=$(pkg-config --variable=libdir shmem_sim)
export LD_LIBRARY_PATH

# shellcheck disable=SC2046 # flags are words
gcc -O1 -Wall -Wextra -Werror "$source" -o "$work/user_kernel" \
	$(pkg-config --cflags --libs shmem_sim)
"$work/user_kernel"
if "$work/user_kernel" broken 2>"$work/report"; then
	echo "the broken kernel passed"
	exit 1
fi
cat "$work/report"
grep -qi deadlock "$work/report"
