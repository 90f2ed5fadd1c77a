#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# run_as.sh how launcher program [arguments]: run a program, with 4 PEs where nothing else is said.
# mp    one process each, by our launcher      pmix  one process each, by mpirun
# sim   all in this process, in the emulator   gpu   as mp, if there is a GPU
# self  the program starts its PEs itself      gpu-self  the same, if there is a GPU
# self-ib-ft  as self, by software NICs, and faults of paths are tolerated
# By software NICs ($ADAPTER_LIBRARY), which must report no mistake:
# ib    one process each, no memory mapped; with more words, in this order:
# gpu-ib  if there is a GPU              ib-mixed  two nodes of two PEs
# ib-tcp  NICs connected by TCP          ib-cpu    the host rings the doorbells
# ib-ft   faults of paths are tolerated  ib-ft-2   the same with 2 PEs and 3 channels
# ib-ft-infiniband  faults of paths are tolerated, and the ports are InfiniBand's
# ib-ft-many  as ib-ft with 8 PEs and 64 channels: more than the adapter has doorbell registers
# ib-no-record  queues without doorbell records
# ib-sim  all in this process            ib-self   the program starts its PEs itself
# netns  one process each, each in its own network namespace, with NICs by TCP between them
# netns-ft  faults of paths are tolerated, and links fail and come back at random
# netns-nodes  8 PEs in four namespaces as nodes of 1, 2, 3 and 2 PEs
# netns-round  the same, numbered round robin
# With PES_SLOW=1, which the gpu-ib ways set, tests do fewer operations of one kind.
# Exits with 77 and a line with the reason if this machine cannot.
set -eu
how=$1 launcher=$2
shift 2
here=$(dirname "$0")

skip() {
	echo "skipped: $*"
	exit 77
}

need_gpu() {
	nvidia-smi -L 2>/dev/null | grep -q '^GPU' || skip "no GPU"
}

# with_nics command...: returns its exit status, or 1 if an adapter has reported a mistake.
with_nics() {
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	status=0
	SHMEMH_IB_LIBRARY=$ADAPTER_LIBRARY MLX5SW_DIR=$dir MLX5SW_LINT=strict \
		"$@" 2>"$dir/stderr" || status=$?
	cat "$dir/stderr" >&2
	if grep '^mlx5sw: ' "$dir/stderr" >"$dir/mistakes"; then
		echo "the adapter found mistakes: $(wc -l <"$dir/mistakes")" >&2
		[ "$status" -ne 0 ] || status=1
	fi
	exit "$status"
}

# The words of an ib way: how PEs are started and connected.
run_ib() {
	export MLX5SW_FABRIC="shm:test-$$"
	case $how in
	*-tcp*) MLX5SW_FABRIC=tcp:127.0.0.1 ;;
	esac
	case $how in
	*-cpu*) export SHMEMH_IB_DOORBELL=cpu ;;
	esac
	case $how in
	*-no-record*) export MLX5SW_NO_DBR=1 ;;
	esac
	n_pes=4
	case $how in
	*-ft-2*) export SHMEMH_CHANNELS=3 n_pes=2 ;;
	*-ft-many*) export SHMEMH_CHANNELS=64 n_pes=8 ;;
	esac
	case $how in
	*-infiniband*) export MLX5SW_LINK=infiniband ;;
	esac
	case $how in
	*-ft*) export SHMEMH_FT=exact ;;
	esac
	case $how in
	*-mixed*) PES_MAPPED=2 ;;
	*) export SHMEMH_DISABLE_P2P=1 PES_MAPPED=0 ;;
	esac
	# The adapter copies bytes in GPU memory, with a wait for each copy. PES_SLOW=0: full size.
	case $how in
	gpu-*) export PES_SLOW="${PES_SLOW:-1}" ;;
	esac
	case $how in
	*-self) with_nics "$@" ;;
	*-sim)
		export SHMEMSIM_PES=4 PES_SEEDS="${PES_SEEDS:-3}"
		case $how in *-mixed*) export SHMEMSIM_NODES=2 ;; esac
		with_nics "$@"
		;;
	*-mixed*)
		# shellcheck disable=SC2016 # for the PE's shell
		with_nics "$launcher" -n 4 -t 280 \
			sh -c 'SHMEMH_NODE_ID=$((SHMEMH_PE / 2)) exec "$@"' sh "$@"
		;;
	*) with_nics "$launcher" -n "$n_pes" -t 280 "$@" ;;
	esac
}

export PES_MAPPED=4 # for the tests: the number of PEs whose memory each PE has mapped
case $how in
mp)
	exec "$launcher" -n 4 -t 280 "$@"
	;;
pmix)
	command -v mpirun >/dev/null || skip "no mpirun (openmpi-bin)"
	# Open MPI 4.1 looks for ssh, which containers lack, even to start on this machine only.
	export OMPI_MCA_plm_rsh_agent=false
	exec mpirun --allow-run-as-root --oversubscribe --bind-to none -np 4 "$@"
	;;
sim)
	SHMEMSIM_PES=4 exec "$@"
	;;
self)
	exec "$@"
	;;
self-ib-ft)
	export MLX5SW_FABRIC="shm:test-$$" SHMEMH_DISABLE_P2P=1 SHMEMH_FT=exact
	with_nics "$@"
	;;
gpu)
	need_gpu
	exec "$launcher" -n 4 -t 280 "$@"
	;;
gpu-self)
	need_gpu
	exec "$@"
	;;
ib | ib-*)
	run_ib "$@"
	;;
gpu-ib | gpu-ib-*)
	need_gpu
	run_ib "$@"
	;;
netns | netns-ft | netns-nodes | netns-round)
	case $how in
	*-ft) export SHMEMH_FT=exact FAILOVER_LINKS=1 FLAP="${FLAP:-1}" ;;
	*-nodes) export NODES='1 2 3 2' ;;
	*-round) export NODES='1 2 3 2' NODES_ROUND=1 ;;
	esac
	command -v ip >/dev/null || skip "no ip (iproute2)"
	unshare=
	for options in -Urn -n; do
		# no user namespaces: not needed as root
		[ -n "$unshare" ] || ! unshare $options true 2>/dev/null ||
			unshare="unshare $options"
	done
	[ -n "$unshare" ] || skip "no right to make network namespaces"
	PES_MAPPED=1
	# shellcheck disable=SC2086 # words
	with_nics $unshare sh "$here/net/namespaces.sh" "$launcher" "$@"
	;;
*)
	echo "run_as.sh: unknown way '$how'" >&2
	exit 2
	;;
esac
