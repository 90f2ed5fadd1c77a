#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# launch_types.sh stage: a launch with the parameters of another kernel does not compile.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
compile() {
	nvcc -std=c++17 -arch=sm_90 -ptx -I "$stage/include" "$@" "$here/launch_types.cu" \
		-o "$work/ptx"
}
stage=$1
compile
for launch in shmemd_launch shmemd_launch_resident; do
	if compile "-DLAUNCH=$launch" 2>"$work/log"; then
		echo "$launch accepts the parameters of another kernel"
		exit 1
	fi
	grep -q 'operand types are incompatible' "$work/log" || {
		cat "$work/log"
		exit 1
	}
done
