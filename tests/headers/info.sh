#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# info.sh stage: shmem-info reports for each NIC that it can be used, or why it cannot, and which
# one a PE gets.
set -eu
info=$1/bin/shmem-info
adapter=$(find "$1" -name 'libshmem_mlx5sw.so.0')
unset SHMEMH_HCA_LIST SHMEMH_HCA_PE_MAPPING
unset SHMEMH_IB_GID_INDEX MLX5SW_LINK MLX5SW_SCRIPT MLX5SW_FABRIC MLX5SW_NO_DBR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export MLX5SW_DIR="$work" MLX5SW_DEVICES=2
[ -n "$adapter" ] || {
	echo "skipped: built without the software adapter"
	exit 77
}

command=
# expect what regex [variable=value...]: a line of shmem-info on those adapters.
expect() {
	what=$1 regex=$2
	shift 2
	env SHMEMH_IB_LIBRARY="$adapter" "$@" "$info" $command >"$work/out" || {
		echo "$what: shmem-info failed"
		exit 1
	}
	grep -Eq "$regex" "$work/out" || {
		echo "$what: expected $regex, got:"
		cat "$work/out"
		exit 1
	}
}

expect RoCE '^  mlx5_1:1 +ok: active, RoCE v2, GID 3 ::ffff:10\.1\.[0-9.]+, MTU 4096, '
expect 'with records' '^  mlx5_1:1 +ok: .*, doorbell records needed$'
expect 'without records' '^  mlx5_1:1 +ok: .*, doorbell records not needed$' MLX5SW_NO_DBR=1
expect InfiniBand '^  mlx5_0:1 +ok: active, InfiniBand, LID [1-9]' MLX5SW_LINK=infiniband
expect 'left out' '^  mlx5_0 +NOT usable: SHMEMH_HCA_LIST leaves it out$' SHMEMH_HCA_LIST=mlx5_1
expect 'unknown name' '^NICs +SHMEMH_HCA_LIST names mlx5_7, ' SHMEMH_HCA_LIST=mlx5_7
expect 'no GID' '^  mlx5_0:1 +NOT usable: SHMEMH_IB_GID_INDEX=0 is no RoCE v2' SHMEMH_IB_GID_INDEX=0
expect 'no library' '^NICs +no NIC: cannot load libnone\.so' SHMEMH_IB_LIBRARY=libnone.so
echo 'port down mlx5_0' >"$work/script"
expect 'port down' '^  mlx5_0:1 +NOT usable: its port is not active \(down\)' \
	MLX5SW_SCRIPT="$work/script"
expect memlock '^locked memory +(ok|limit of [0-9]+ KiB)'

command=--topo
expect 'port of a PE without a GPU' '^none +mlx5_0:1 +- +- +mlx5_1:1 '
expect 'port that is down' '^none +mlx5_1:1 +- +- +none ' MLX5SW_SCRIPT="$work/script"
command=--peers
expect 'a PE by NIC' '^0 +[^ ]+ +none +mlx5_0:1 +mlx5_1:1 +N$' SHMEMH_DISABLE_P2P=1
expect 'a PE alone' '^0 +[^ ]+ +none +- +- +M$'
