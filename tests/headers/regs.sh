#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# regs.sh stage: what the operations of regs.cu cost a kernel. Prints a table; fails on a spill, a
# stack frame, static shared memory, or more than 64 registers, with which a block of 1024 threads
# would not start.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
failed=0
for arch in sm_80 sm_90 sm_100; do
	nvcc -std=c++17 -arch=$arch -Xptxas -v -cubin -I "$1/include" "$here/regs.cu" \
		-o "$work/regs.cubin" 2>"$work/log" || {
		cat "$work/log"
		exit 1
	}
	awk -v arch=$arch '
	/Compiling entry function/ { split($0, q, "\x27"); name = q[2]
		sub(/^_Z[0-9]+/, "", name); sub(/(P?K?[0-9]+)[a-z_]*params.*$/, "", name) }
	/bytes stack frame/ { stack = $1; spills = $5 + $9 }
	/Used [0-9]+ registers/ { shared = 0
		for (i = 1; i <= NF; i++) {
			if ($i == "Used") regs = $(i + 1)
			if ($i ~ /^smem/) shared = $(i - 2) }
		bad = stack || spills || shared || regs > 64
		printf "%-7s %-20s %3d registers %3d stack %3d spilled %3d shared%s\n", arch, name,
			regs, stack, spills, shared, bad ? "  <- too much" : ""
		n++; if (bad) status = 1 }
	END { if (n < 10) { print arch ": short table, has ptxas changed its words?"; status = 1 }
		exit status }' "$work/log" || failed=1
done
exit $failed
