#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# regs.sh stage form: the resources that the operations of regs.cu take, in one form of the NIC
# path. Prints a table; fails on static shared memory, on more than 64 registers, with which a block
# of 1024 threads would not start, on more stack, frames of called functions included, than init
# reserves (STACK_NBYTES in runtime/mem/mem.c), and
#   NO_NIC   (left out)     on a stack frame or a spill, also with SHMEMD_NIC_INLINE;
#   INLINE                  on a frame of its own of more than 896 bytes, and on more than 64
#                           spilled bytes, around calls of rare functions;
#   DEFAULT  (out of line)  on the same, for sm_100 on more than 80 spilled bytes: calls have the
#                           stack frame of the ABI.
# The default form is compiled for each architecture that the project names, the others for sm_90.
# ptxas takes more than a minute for all kernels of regs.cu with a NIC path: it gets all in the
# default form for sm_90, and else the three that have come nearest to a limit.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
case $2 in
NO_NIC) define='-DSHMEMD_NO_NIC -DSHMEMD_NIC_INLINE' stack=0 spill=0 archs=sm_90 ;;
INLINE) define=-DSHMEMD_NIC_INLINE stack=896 spill=64 archs=sm_90 ;;
DEFAULT) define='' stack=896 spill=64 archs='sm_80 sm_90 sm_100' ;;
*) exit 2 ;;
esac
nearest='put_any_group|dispatch|exchange_block'
reserved=$(sed -n 's/^#define STACK_NBYTES //p' "$here/../../runtime/mem/mem.c")
failed=0
for arch in $archs; do
	# shellcheck disable=SC2086 # a list of options
	nvcc -std=c++17 "-arch=compute_${arch#sm_}" -ptx $define -I "$1/include" \
		"$here/regs.cu" -o "$work/regs.ptx"
	case $2-$arch in
	NO_NIC-* | DEFAULT-sm_90) names='' least=10 ;;
	*) names=$nearest least=3 ;;
	esac
	kernels=${names:+$(sed -En \
		"s/.*\.entry (_Z[0-9]+($names)[0-9][A-Za-z_0-9]*)\(.*/--entry \1/p" \
		"$work/regs.ptx")}
	# shellcheck disable=SC2086 # words
	ptxas "-arch=$arch" -v $kernels "$work/regs.ptx" -o "$work/regs.cubin" 2>"$work/log" || {
		cat "$work/log"
		exit 1
	}
	[ "$arch" != sm_100 ] || spill=80 # of dispatch, around its two calls
	awk -v "arch=$arch" -v "form=$2" -v "max_stack=$stack" -v "max_spill=$spill" \
		-v "reserved=${reserved:-0}" -v "least=$least" '
/Compiling entry function/ { split($0, q, "\x27"); name = q[2]; 
	sub(/^_Z[0-9]+/, "", name); sub(/(P?K?[0-9]+)[a-z_]*params.*$/, "", name) }
/Function properties for/ { own = !/_INTERNAL_/ }
/bytes stack frame/ && own { frame = $1; spills = $5 + $9 }
/Used [0-9]+ registers/ { shared = total = 0
	for (i = 1; i <= NF; i++) {
		if ($i == "Used") regs = $(i + 1)
		if ($i == "cumulative") total = $(i - 2)
		if ($i ~ /^smem/) shared = $(i - 2) }
	bad = frame > max_stack || spills > max_spill || shared || regs > 64 ||
	      total > (max_stack ? reserved : 0)
	printf "%-7s %-7s %-20s %3d registers %3d stack %4d in all %3d spilled %3d shared%s\n",
		form, arch, name, regs, frame, total, spills, shared, bad ? "  <- too much" : ""
	n++; if (bad) status = 1; if (total > most) most = total }
END { if (n < least || (most == 0 && max_stack > 0)) {
		print arch ": short table or no stack, has ptxas changed its words?"; status = 1 }
	exit status }' "$work/log" || failed=1
done
exit $failed
