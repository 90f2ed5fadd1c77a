#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# pkgconfig.sh stage examples: the examples build with only the output of pkg-config, as C, and run;
# the first one also as CUDA, and the one in plain CUDA, if nvcc is available.
set -eu
stage=$1 examples=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Use a path without spaces: pkg-config cannot quote them in a command line.
ln -s "$stage" "$work/stage"
pc_dir=$(dirname "$(find "$work/stage/" -name shmem_dev.pc)")
PKG_CONFIG_PATH=$pc_dir${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
export PKG_CONFIG_PATH

pc() {
	# shellcheck disable=SC2046 # flags are words
	set -- $(pkg-config "$@")
	for flag; do
		case $flag in
		-I* | -L* | -l*) ;;
		*)
			echo "pkg-config prints '$flag', which nvcc rejects" >&2
			return 1
			;;
		esac
	done
	echo "$*"
}

cpu=$(pc --cflags --libs shmem_dev shmem_host shmem_sim)
gpu=$(pc --cflags --libs shmem_dev shmem_host)
[ "$(pkg-config --libs shmem_dev)" = "" ]
for path in $(pkg-config --cflags-only-I --libs-only-L shmem_host | sed 's/-[IL]//g'); do
	[ -d "$path" ] || {
		echo "pkg-config names $path, which does not exist"
		exit 1
	}
done

n_built=0
for source in "$examples"/[0-9]*/*.c; do
	program=$work/$(basename "$source" .c)
	echo "== $source"
	sources=$examples/common/run.c json=
	if grep -q '^#include "trace.h"' "$(dirname "$source")"/*.h 2>/dev/null; then
		pkg-config --exists json-c || continue
		sources="$sources $examples/common/trace.c" json=$(pc --cflags --libs json-c)
	fi
	# shellcheck disable=SC2086 # flags are words
	gcc -O1 -Wall -Wextra -Werror -I "$examples/common" "$source" $sources \
		-o "$program" $cpu $json
	LD_LIBRARY_PATH=$(pkg-config --variable=libdir shmem_host) SHMEMSIM_PES=2 "$program"
	if [ "$n_built" -eq 0 ] && command -v nvcc >/dev/null; then
		# shellcheck disable=SC2086
		nvcc -arch=compute_90 -I "$examples/common" -x cu "$source" $sources \
			-o "${program}_gpu" $gpu $json
	fi
	n_built=$((n_built + 1))
done
[ "$n_built" -gt 0 ]
if command -v nvcc >/dev/null; then
	# shellcheck disable=SC2086
	nvcc -O2 -arch=sm_90 "$examples/00_plain_cuda/plain_cuda.cu" -o "$work/plain_cuda" $gpu
fi

# By a Makefile, in a copy: all of them include the same one.
if command -v make >/dev/null; then
	cp -r "$examples" "$work/examples"
	for folder in "$work/examples"/[0-9]*/; do
		make -C "$folder" --dry-run >/dev/null
	done
	make -C "$work/examples/01_hello_put"
	# PEs of one process have NICs of the software adapter, if that is installed.
	if pkg-config --exists shmem_mlx5sw; then
		libdir=$(pkg-config --variable=libdir shmem_mlx5sw)
		LD_LIBRARY_PATH=$libdir SHMEMH_IB_LIBRARY=$libdir/libshmem_mlx5sw.so.0 \
			SHMEMH_DISABLE_P2P=1 SHMEMSIM_PES=2 "$work/examples/01_hello_put/hello_put"
	fi
fi
