#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# slurm.sh program [arguments]: run a program with 4 PEs by `srun --mpi=pmix`, in a Slurm of one
# machine that this script starts and ends: munged, slurmctld and slurmd with all their files in a
# folder of their own, on ports that nobody listens on. Needs root, as slurmd does. Exits with 77
# and a line if this machine cannot.
set -eu

skip() {
	echo "skipped: $*"
	exit 77
}

for tool in munged slurmctld slurmd srun; do
	command -v $tool >/dev/null || [ -x /usr/sbin/$tool ] ||
		skip "no $tool (slurmctld, slurmd, slurm-client, munge)"
done
[ "$(id -u)" -eq 0 ] || skip "slurmd needs root"
PATH=$PATH:/usr/sbin

dir=$(mktemp -d)
chmod 755 "$dir"
pids=
# slurmstepd is no child of this script, and ends once slurmctld knows of the end of the step.
steps() {
	for environ in /proc/[0-9]*/environ; do
		pid=${environ#/proc/}
		pid=${pid%/environ}
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" = slurmstepd ] || continue
		! grep -qs "SLURM_CONF=$dir/" "$environ" || echo "$pid"
	done
}
# shellcheck disable=SC2317 # by trap
stop() {
	for pid in $(steps); do
		kill -9 "$pid" 2>/dev/null || true
	done
	for pid in $pids; do
		kill "$pid" 2>/dev/null || true
	done
	for pid in $pids; do
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$dir"
}
trap stop EXIT

port=$((10000 + $$ % 9000))
host=$(hostname -s)
export SLURM_CONF="$dir/slurm.conf"
cat >"$SLURM_CONF" <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$dir/munge.socket
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
SlurmdParameters=config_overrides
ReturnToService=2
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 SocketsPerBoard=1 CoresPerSocket=4 ThreadsPerCore=1
PartitionName=all Nodes=$host Default=YES State=UP OverSubscribe=FORCE:8
END
echo 'CgroupAutomount=no' >"$dir/cgroup.conf"
mkdir "$dir/state" "$dir/spool"

dd if=/dev/urandom of="$dir/munge.key" bs=1024 count=1 2>/dev/null
chmod 400 "$dir/munge.key"
munged --foreground --force --socket="$dir/munge.socket" --key-file="$dir/munge.key" \
	--pid-file="$dir/munge.pid" --seed-file="$dir/munge.seed" --log-file="$dir/munge.log" \
	>"$dir/munged.out" 2>&1 &
pids="$pids $!"
turns=0
until [ -S "$dir/munge.socket" ]; do
	turns=$((turns + 1))
	[ $turns -lt 300 ] || skip "munged does not start: $(tail -n 1 "$dir/munged.out")"
	sleep 0.1
done
slurmctld -D >"$dir/ctld.out" 2>&1 &
pids="$pids $!"
slurmd -D -N "$host" >"$dir/slurmd.out" 2>&1 &
pids="$pids $!"
srun --mpi=list 2>&1 | grep -q pmix || skip "this Slurm has no PMIx"
turns=0
until sinfo -h -o %T 2>/dev/null | grep -q '^idle$'; do
	turns=$((turns + 1))
	[ $turns -lt 300 ] ||
		skip "Slurm does not start: $(cat "$dir"/slurm*.log | grep -i error | tail -n 1)"
	sleep 0.1
done
status=0
mkdir "$dir/done"
export SLURM_PMIX_TMPDIR="$dir" done="$dir/done"
# srun returns 0 also if it could not start the step.
# shellcheck disable=SC2016 # for the PE's shell
timeout 200 srun --mpi=pmix -n 4 --export=ALL sh -c '"$@" && : >"$done/$SLURM_PROCID"' sh "$@" ||
	status=$?
[ "$(find "$done" -type f | wc -l)" -eq 4 ] || status=1
turns=0
while [ -n "$(steps)" ] && [ $turns -lt 100 ]; do
	turns=$((turns + 1))
	sleep 0.1
done
exit $status
