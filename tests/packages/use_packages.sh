#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# use_packages.sh [root]: in a system with the Debian packages, or with root a folder with their
# files: an example builds by pkg-config, and runs with 2 PEs, mapped and by software NICs.
set -eu
root=${1:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
examples=$root/usr/share/doc/libshmem-host-dev/examples
if [ -n "$root" ]; then
	PKG_CONFIG_PATH=$(dirname "$(find "$root" -name shmem_dev.pc)")
	export PKG_CONFIG_PATH
	export LD_LIBRARY_PATH="${PKG_CONFIG_PATH%/pkgconfig}"
fi

# shellcheck disable=SC2046 # flags are words
gcc -O1 -Wall -Wextra -Werror -I "$examples/common" "$examples/01_hello_put/hello_put.c" \
	"$examples/common/run.c" -o "$work/hello" \
	$(pkg-config --cflags --libs shmem_dev shmem_host shmem_sim)
"$root/usr/bin/shmem-launch" -n 2 "$work/hello" | sort >"$work/out"
cat "$work/out"
printf 'PE 0 of 2 read: hello from PE 1\nPE 1 of 2 read: hello from PE 0\n' | cmp - "$work/out"
SHMEMH_DISABLE_P2P=1 MLX5SW_FABRIC="shm:packages-$$" \
	SHMEMH_IB_LIBRARY="$(find "$root/usr/lib" -name libshmem_mlx5sw.so.0)" \
	"$root/usr/bin/shmem-launch" -n 2 "$work/hello" >"$work/out"
cat "$work/out"
[ "$(grep -c 'of 2 read: hello from' "$work/out")" -eq 2 ]
"$root/usr/bin/shmem-info" >"$work/out"
head -3 "$work/out"
