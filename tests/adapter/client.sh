#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# client.sh library control-program client [option]: run a client against the adapter, with each
# doorbell mode, both link layers, each kind of timestamps, and all legal reorderings of the
# adapter. The client makes no mistakes: the adapter must report none.
library=$1
control=$2
client=$3
option=${4-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# run doorbells link timing chaos stamps [grh]. The client is the parent of the shell that runs the
# port command.
run() {
	MLX5SW_DOORBELLS=$1 MLX5SW_LINK=$2 MLX5SW_TIMING=$3 MLX5SW_CHAOS=$4 \
		MLX5SW_TIMESTAMPS=$5 MLX5SW_GRH=${6-0} MLX5SW_LINT=strict \
		MLX5SW_FABRIC=shm:client$$ \
		MLX5SW_DIR=$dir "$client" ${option:+"$option"} \
		--port "exec '$control' --pid \$PPID port" "$library" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -ne 0 ] || [ -s "$dir/err" ]; then
		echo "$*: status $status" >&2
		cat "$dir/out" "$dir/err" >&2
		failed=1
	fi
}

# Retries after a microsecond need a peer that responds at once, in the same process.
fast=fast
[ -z "$option" ] || fast=spec
run hybrid ethernet $fast 0 free-running
run dbr ethernet $fast 0 real-time
run hybrid infiniband cx6 0 both
run dbr infiniband spec 127 real-time
run hybrid infiniband $fast 0 free-running 1
exit $failed
