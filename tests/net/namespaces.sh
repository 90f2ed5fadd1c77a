#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# namespaces.sh launcher program [arguments]: run a program with 4 PEs, each in a network namespace
# of its own, which is a node. Must run in a namespace in which links may be created (unshare -Urn);
# launcher and hub stay in that one. Each node has three interfaces; n is its number plus 1:
# eth0  10.77.0.n  to the launcher and the hub, 10.77.0.254
# nic0  10.78.0.n  NIC mlx5_0      nic1  10.78.1.n  NIC mlx5_1; all NICs on one bridge
# FLAP=seed: until the program ends, interfaces of the NICs fail and come back, by random numbers
# of that seed.
# LIMIT=seconds: the time after which the launcher ends the program (280).
# NODES="1 2 3 2": so many PEs on each node, numbered node after node. NODES_ROUND=1: numbered round
# robin, that is, the first of each node, then the second of each that has one, and so on.
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

# place: the node of each PE, in order, in $node_of
place() {
	node_of='' node=0 round=0 more=1
	for n in $NODES; do
		count=$n
		while [ -z "${NODES_ROUND:-}" ] && [ "$count" -gt 0 ]; do
			node_of="$node_of $node" count=$((count - 1))
		done
		node=$((node + 1))
	done
	while [ -n "${NODES_ROUND:-}" ] && [ "$more" = 1 ]; do
		node=0 more=0
		for n in $NODES; do
			[ "$n" -le $round ] || node_of="$node_of $node" more=1
			node=$((node + 1))
		done
		round=$((round + 1))
	done
}

# cable node process interface bridge address
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
NODES=${NODES:-1 1 1 1}
place
# From one interface of a namespace to another one of it no packet leaves by a cable: PEs that share
# a node have one NIC.
second=10.78.1
case $NODES in *[2-9]*) second= ;; esac
export node_of second
node=-1
for _ in $NODES; do
	node=$((node + 1))
	unshare -n sleep infinity &
	holders="$holders $!"
	echo $! >"$dir/$node"
	until [ "$(readlink "/proc/$!/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do
		sleep 0.01
	done
	settings $!
	cable $node $! eth0 bridge 10.77.0.$((node + 1))/24
	cable $node $! nic0 fabric 10.78.0.$((node + 1))/16
	cable $node $! nic1 fabric 10.78.1.$((node + 1))/16
done
if [ -n "${FLAP:-}" ]; then
	: >"$dir/flaps"
	setsid sh "$here/flap.sh" "$FLAP" "$dir" &
	flap=$! # a process group
fi
status=0
# shellcheck disable=SC2016 # for the PE's shell
SHMEMH_IFNAME=bridge "$launcher" -n "$(echo "$node_of" | wc -w)" -t "${LIMIT:-280}" sh -c '
	unset SHMEMH_IFNAME
	node=$(echo $node_of | cut -d " " -f $((SHMEMH_PE + 1)))
	n=$((node + 1))
	export MLX5SW_FABRIC="tcp:10.78.0.$n${second:+,$second.$n}" SHMEMH_IFNAME=eth0
	exec nsenter -t "$(cat "$dir/$node")" -n "$@"' sh "$@" || status=$?
[ -z "$flap" ] || echo "$(wc -l <"$dir/flaps") changes of links"
exit "$status"
