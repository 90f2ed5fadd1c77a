#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# run_as.sh how launcher program [arguments]: run a program with 4 PEs.
#   mp    a process each, by our launcher        pmix  a process each, by mpirun
#   sim   all in this process, in the emulator   gpu   as mp, if there is a GPU
#   self  the program starts its PEs itself      gpu-self  likewise, if there is a GPU
# Exits 77 with a line that says why if this machine cannot.
set -eu
how=$1 launcher=$2
shift 2

skip() {
	echo "skipped: $*"
	exit 77
}

need_gpu() {
	nvidia-smi -L 2>/dev/null | grep -q '^GPU' || skip "no GPU"
}

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
gpu)
	need_gpu
	exec "$launcher" -n 4 -t 280 "$@"
	;;
gpu-self)
	need_gpu
	exec "$@"
	;;
*)
	echo "run_as.sh: unknown way '$how'" >&2
	exit 2
	;;
esac
