#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# namespaces.sh launcher program [arguments]: run a program with 4 PEs, each in a network namespace
# of its own. Must run in a namespace in which links may be created (unshare -Urn); launcher and hub
# stay in that one. Each PE has three interfaces; n is its number plus 1:
# eth0  10.77.0.n  to the launcher and the hub, 10.77.0.254
# nic0  10.78.0.n  NIC mlx5_0      nic1  10.78.1.n  NIC mlx5_1; all NICs on one bridge
# FLAP=seed: until the program ends, interfaces of the NICs fail and come back, by random numbers
# of that seed.
# LIMIT=seconds: the time after which the launcher ends the program (280).
set -eu
here=$(dirname "$0")
launcher=$1
shift
dir=$(mktemp -d) # for each PE, the pid of a process that keeps its namespace
export dir
holders=
flap=
# shellcheck disable=SC2086 # words
trap 'kill $holders; [ -z "$flap" ] || kill -- "-$flap"; rm -rf "$dir"' EXIT

# cable pe process interface bridge address
cable() {
	ip link add "pe$1$3" type veth peer name "$3" netns "$2"
	ip link set "pe$1$3" master "$4" up
	nsenter -t "$2" -n sh -c "ip link set $3 up && ip address add $5 dev $3"
}

# settings process: NICs of one subnet, each for its own address only
settings() {
	nsenter -t "$1" -n sh -c 'ip link set lo up; cd /proc/sys/net/ipv4/conf/all &&
		echo 1 >arp_ignore && echo 2 >arp_announce && echo 0 >rp_filter'
}

ip link set lo up
for bridge in bridge fabric; do
	ip link add $bridge type bridge
	ip link set $bridge up
done
ip address add 10.77.0.254/24 dev bridge
for pe in 0 1 2 3; do
	unshare -n sleep infinity &
	holders="$holders $!"
	echo $! >"$dir/$pe"
	until [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.01
	done
	settings $!
	cable $pe $! eth0 bridge 10.77.0.$((pe + 1))/24
	cable $pe $! nic0 fabric 10.78.0.$((pe + 1))/16
	cable $pe $! nic1 fabric 10.78.1.$((pe + 1))/16
done
if [ -n "${FLAP:-}" ]; then
	: >"$dir/flaps"
	setsid sh "$here/flap.sh" "$FLAP" "$dir" &
	flap=$! # a process group
fi
status=0
# shellcheck disable=SC2016 # for the PE's shell
SHMEMH_IFNAME=bridge "$launcher" -n 4 -t "${LIMIT:-280}" sh -c '
	unset SHMEMH_IFNAME
	n=$((SHMEMH_PE + 1))
	export MLX5SW_FABRIC=tcp:10.78.0.$n,10.78.1.$n SHMEMH_IFNAME=eth0
	exec nsenter -t "$(cat "$dir/$SHMEMH_PE")" -n "$@"' sh "$@" || status=$?
[ -z "$flap" ] || echo "$(wc -l <"$dir/flaps") changes of links"
exit "$status"
