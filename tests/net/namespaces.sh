#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# namespaces.sh launcher program [arguments]: run a program with 4 PEs, each in a network namespace
# of its own. Must run in a namespace in which links may be created (unshare -Urn); launcher and hub
# stay in that one. A bridge connects all:
# 10.77.0.254  launcher and hub      10.77.0.1 .. 10.77.0.4  PEs 0 .. 3
set -eu
launcher=$1
shift
dir=$(mktemp -d) # for each PE, the pid of a process that keeps its namespace
export dir
holders=
# shellcheck disable=SC2086 # words
trap 'kill $holders; rm -rf "$dir"' EXIT

# cable pe process
cable() {
	until [ "$(readlink "/proc/$2/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.01
	done
	ip link add "pe$1" type veth peer name eth0 netns "$2"
	ip link set "pe$1" master bridge up
	nsenter -t "$2" -n sh -c "ip link set lo up && ip link set eth0 up &&
		ip address add 10.77.0.$(($1 + 1))/24 dev eth0"
}

ip link set lo up
ip link add bridge type bridge
ip link set bridge up
ip address add 10.77.0.254/24 dev bridge
for pe in 0 1 2 3; do
	unshare -n sleep 300 &
	holders="$holders $!"
	echo $! >"$dir/$pe"
	cable $pe $!
done
# shellcheck disable=SC2016 # for the PE's shell
SHMEMH_IFNAME=bridge "$launcher" -n 4 -t 280 sh -c '
	unset SHMEMH_IFNAME
	export MLX5SW_FABRIC=tcp:10.77.0.$((SHMEMH_PE + 1))
	exec nsenter -t "$(cat "$dir/$SHMEMH_PE")" -n "$@"' sh "$@"
