#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# torch.sh address program [arguments]: run a program with 4 PEs in the environment that torchrun
# sets. PE 0 starts last, so that the others look for a hub that does not exist yet. The agent of
# each node counts its own restarts, so the PEs have different counts.
set -eu
address=$1
shift
pids=
port=$((20000 + $$ % 12000))
for rank in 3 2 1 0; do
	RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$rank MASTER_ADDR=$address MASTER_PORT=$port \
		TORCHELASTIC_RUN_ID=run-$$ TORCHELASTIC_RESTART_COUNT=$rank "$@" &
	pids="$pids $!"
	[ $rank -ne 1 ] || sleep 1.5
done
status=0
for pid in $pids; do
	wait "$pid" || status=$?
done
exit $status
