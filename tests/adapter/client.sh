#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# client.sh library control-program client [arguments]: a client against the adapter, in each of the
# ways to see doorbells and on both link layers. What the client does is right: the adapter must
# have nothing to say about it.
library=$1
control=$2
shift 2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0

# Retries a microsecond apart are for a process that answers itself.
case " $* " in
*" --two-processes "*) timing=cx6 ;;
*) timing=fast ;;
esac

# The client is the parent of the shell that runs the command.
for mode in "hybrid ethernet" "dbr ethernet" "hybrid infiniband"; do
	MLX5SW_DOORBELLS=${mode% *} MLX5SW_LINK=${mode#* } MLX5SW_TIMING=$timing \
		MLX5SW_LINT=strict MLX5SW_FABRIC=shm:client$$ MLX5SW_DIR=$dir "$@" \
		--port "exec '$control' --pid \$PPID port" "$library" >"$dir/out" 2>"$dir/err"
	status=$?
	if [ $status -ne 0 ] || [ -s "$dir/err" ]; then
		echo "$mode: status $status" >&2
		cat "$dir/err" >&2
		failed=1
	fi
	[ $status -ne 77 ] || exit 1 # it has devices
done
exit $failed
