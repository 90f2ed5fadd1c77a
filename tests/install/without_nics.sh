#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# without_nics.sh stage source: without the headers of rdma-core the runtime builds and links, and
# shmem-info prints why there are no NICs.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A version of libmlx5 that is too old, found before the one of this machine.
printf 'Name: libmlx5\nDescription: too old\nVersion: 1.0\n' >"$work/libmlx5.pc"
PKG_CONFIG_PATH=$work${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH
cmake -G Ninja -S "$source" -B "$work/build" -DBUILD_TESTING=OFF -DSHMEM_DEV_CUDA=OFF \
	>"$work/log" || {
	cat "$work/log"
	exit 1
}
grep -q 'Left out: ib: NICs' "$work/log"
ninja -C "$work/build" -j 1 runtime/libshmem_host.so shmem-info >"$work/log" || {
	cat "$work/log"
	exit 1
}
"$work/build/runtime/shmem-info" >"$work/info"
grep -q '^NICs .*built without the headers of rdma-core' "$work/info" || {
	echo "shmem-info does not say that NIC support is missing:"
	cat "$work/info"
	exit 1
}
