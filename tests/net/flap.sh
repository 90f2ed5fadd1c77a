#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# flap.sh seed dir: interfaces of the NICs of namespaces.sh fail and come back until this process
# is ended. dir: for each PE, the pid of a process in its namespace. After a random pause of up to a
# second, a random NIC loses its link or gets it back. Either the interface in the PE's namespace is
# taken down, or the other end of the cable, as if the switch port failed. Appends a line for each
# change to dir/flaps.
set -eu
seed=$1 dir=$2

# Lines: pause, PE, NIC, which end, state.
plan() {
	awk -v seed="$seed" 'BEGIN {
		srand(seed)
		for (;;) {
			pe = int(4 * rand()); nic = int(2 * rand()); name = pe nic
			if (down[name] == "") {
				down[name] = rand() < 0.5 ? "near" : "far"
				print rand(), pe, nic, down[name], "down"
			} else {
				print rand(), pe, nic, down[name], "up"
				down[name] = ""
			}
		}
	}'
}

plan | while read -r pause pe nic end state; do
	sleep "$pause"
	case $end in
	near) nsenter -t "$(cat "$dir/$pe")" -n ip link set "nic$nic" "$state" ;;
	far) ip link set "pe${pe}nic$nic" "$state" ;;
	esac
	echo "PE $pe nic$nic $end end $state" >>"$dir/flaps"
done
