#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# gdb_channel.sh program: runtime/tools/shmem-gdb.py on a process of the emulator. `program` is
# put_trace, which does two puts and waits for the second one. Exits 77 with a reason
# without gdb, without its Python, or where gdb may not run a program.
set -eu
program=$1
script=$(dirname "$0")/../../runtime/tools/shmem-gdb.py
out=$(mktemp)
trap 'rm -f "$out"' EXIT

skip() {
	echo "skipped: $*"
	exit 77
}

command -v gdb >/dev/null || skip "no gdb"
gdb -nx -batch -ex 'python print("has python")' 2>/dev/null | grep -q 'has python' ||
	skip "this gdb has no Python"

# in_gdb breakpoint commands...: what the commands print where the program stops there.
in_gdb() {
	at=$1
	shift
	gdb -nx -q -batch -ex 'set confirm off' -ex 'set debuginfod enabled off' \
		-ex 'set disable-randomization off' -ex "source $script" -ex "break $at" \
		-ex 'run >/dev/null' "$@" "$program" >"$out" 2>&1 || true
	if ! grep -q '^Breakpoint 1, ' "$out" && grep -q 'ptrace\|not permitted' "$out"; then
		skip "gdb may not run a program here"
	fi
}

failed=0
expect() {
	grep -qE "$1" "$out" || {
		echo "not printed: $1" >&2
		failed=1
	}
}

# The context is found in the frames of the thread: it waits for its second put.
in_gdb shmemdi_cq_wait -ex 'shmemd-channel 1 0'
expect '^channel 0 to PE 1 \(world PE 1\) at 0x[0-9a-f]+, depth 64$'
expect '^  reservation  epoch 0, 2 WQEBBs, 2 requests$'
expect '^  ready        epoch 0, 2 WQEBBs, 2 CQEs, RUNG$'
expect '^  rung         .* \(not valid: ready has RUNG\)$'
expect '^  CQEs         0 of 2 that were requested since$'
expect '^  flush        epoch 0, end at WQEBB [0-9]+, CQE number [0-9]+$'
expect '^  path         epoch 0, QP 0x[0-9a-f]+, base 0, key columns 1 .own. and 0 .*, not failed$'
expect '^  order        none: the job does not tolerate faults of paths$'
expect '^  counters     2 doorbells, 2 requests, 0 tickets of bounce buffers$'
expect '^  state        2 WQEBBs published beyond done; 0 reserved and not published; 62 free$'
expect '^    0  RDMA_WRITE, 48 bytes, request 0, .*, 256 bytes, .*, requests a CQE; published$'
expect '^    1  RDMA_WRITE, 48 bytes, request 1, .*, 256 bytes, .*, requests a CQE; published$'

# Words that a fault or another thread may have left, and arguments that name no channel.
words='rig_pes[0].ends[1].words'
in_gdb rig_end -ex "set var $words->path |= 11 << 8 | 10" -ex "set var $words->resv += 3 << 8" \
	-ex "set var $words->ready -= 0x100" \
	-ex "set var $words->done = (1ull << 17) | (1 << 1) | 1" \
	-ex "set var $words->queue += 1ull << 56" -ex 'shmemd-channel 1 0 rig_pes[0].ctx' \
	-ex 'shmemd-channel 7 0 rig_pes[0].ctx'
expect 'key columns 1 \(own\) and 1 \(peer.s\), no doorbell record, .*, failed: ERR_PATH$'
expect '^  done         1 WQEBBs, 1 CQEs, locked$'
expect '^  state        1 WQEBBs published beyond done; 3 reserved .*; 60 free; .* for 2; a sw'
expect '^    0  RDMA_WRITE, .*; before done$'
expect '^  CQEs         all 1 that were requested since$'
expect '^PE 7: the team has PEs 0 to 1$'

# An error: the first CQE with an opcode of 13, and its syndrome. The channel ended as LOST.
cqes='rig_pes[0].ends[1].cqes'
in_gdb rig_end -ex "set var ${cqes}[63] = 0xd0" -ex "set var ${cqes}[55] = 0x15" \
	-ex "set var $words->path |= 13 << 8" -ex 'shmemd-channel 1 0 rig_pes[0]'
expect '^  CQEs         0 of 2 that .* since, then an error: syndrome 0x15, .*, WQE counter 0 .*$'
expect ', failed: ERR_LOST$'

[ "$failed" -eq 0 ] || cat "$out" >&2
exit "$failed"
