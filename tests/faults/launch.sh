#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# launch.sh launcher: check that its exit status is that of the first PE that failed, and that no
# process that a PE started runs on, whether the PE ended by itself or was killed; that signals
# that its caller ignores do not end the job; that SIGTSTP stops it and SIGCONT continues it; and
# what the PEs have as descriptor 0, and say if the program cannot run.
launch=$1
pids=$(mktemp)
trap 'rm -f "$pids" "$pids.go"' EXIT
failed=0

fail() {
	echo "$1" >&2
	failed=1
}

# Returns whether the process runs. (A zombie does not.)
runs() {
	grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null
}

# expect status arguments...: run the launcher, whose PEs write the ids of the processes that they
# leave.
expect() {
	want=$1
	shift
	: >"$pids"
	"$launch" "$@" 2>/dev/null </dev/null
	got=$?
	[ "$got" -eq "$want" ] || fail "launch $*: status $got, not $want"
	[ "$(wc -l <"$pids")" -eq 2 ] || fail "launch $*: not both PEs ran"
	while read -r pid; do
		turns=0
		while runs "$pid" && [ $turns -lt 100 ]; do
			sleep 0.1
			turns=$((turns + 1))
		done
		if runs "$pid"; then
			fail "launch $*: process $pid still runs"
			kill -9 "$pid"
		fi
	done <"$pids"
}

# Wait until both PEs of a job have written their lines to $pids.
two_pes_run() {
	turns=0
	while [ "$(wc -l <"$pids")" -lt 2 ] && [ $turns -lt 100 ]; do
		sleep 0.1
		turns=$((turns + 1))
	done
}

# A signal that the caller of the launcher ignores, as nohup does with SIGHUP and a shell with
# SIGINT of background jobs, does not end the job. The launcher takes the signal before the end of
# a PE.
ignored() {
	: >"$pids"
	rm -f "$pids.go"
	(
		trap '' "$1"
		exec "$launch" -n 2 -t 60 sh -c "echo \$\$ >>$pids
			while [ ! -e $pids.go ]; do sleep 0.1; done"
	) 2>/dev/null </dev/null &
	two_pes_run
	kill -s "$1" $!
	: >"$pids.go"
	wait $!
	got=$?
	[ "$got" -eq 0 ] || fail "launch ended with $got by SIG$1, which its caller ignores"
}

# Wait until all those processes are in a state.
all_are() {
	state=$1
	shift
	for pid in "$@"; do
		turns=0
		while ! grep -q "^State:[[:space:]]*$state" "/proc/$pid/status" 2>/dev/null &&
			[ $turns -lt 100 ]; do
			sleep 0.1
			turns=$((turns + 1))
		done
		[ $turns -lt 100 ] || fail "launch, SIG$signal: process $pid is not in state $state"
	done
}

# SIGTSTP stops the PEs and the launcher, SIGCONT continues them. The time limit does not count the
# time between. timeout has a process group of its own, with a parent in this session: in a group
# without one, SIGTSTP stops nothing.
stopped() {
	: >"$pids"
	timeout 60 "$launch" -n 2 -t 5 sh -c "echo \$\$ \$PPID >>$pids; exec sleep 50" \
		2>/dev/null </dev/null &
	two_pes_run
	read -r first launcher <"$pids"
	second=$(sed -n '2s/ .*//p' "$pids")
	signal=TSTP
	kill -s TSTP "$launcher"
	all_are T "$launcher" "$first" "$second"
	sleep 6
	signal=CONT
	kill -s CONT "$launcher"
	all_are '[RS]' "$launcher" "$first" "$second"
	kill -s TERM "$launcher"
	wait $!
	got=$?
	[ "$got" -eq 143 ] || fail "launch ended with $got by SIGTERM after SIGTSTP and SIGCONT"
}

# Each PE says why the program cannot run; that there is none, PE 0 alone.
cannot_run() {
	want=$1
	shift
	"$launch" -n 3 "$@" 2>"$pids"
	got=$?
	[ "$got" -eq 127 ] || fail "launch of $*: status $got, not 127"
	got=$(sed -n 's/.*: PE \(.\): cannot run .*/\1/p' "$pids" | sort | tr '\n' ' ')
	[ "$got" = "$want" ] || fail "launch of $*: lines of PE '$got', not '$want'"
}

cannot_run '0 ' /nowhere/program
cannot_run '0 1 2 ' /
"$launch" -n 1 sh -c 'test -e /proc/$$/fd/0' <&- ||
	fail "launch with standard input closed: PEs have none"
stopped
ignored HUP
ignored INT
ignored QUIT
ignored TERM
# A caller that ignores SIGCHLD: the kernel would reap PEs without their exit status.
timeout -s KILL 20 env --ignore-signal=CHLD "$launch" -n 2 sh -c 'exit 3' 2>/dev/null
got=$?
[ "$got" -eq 3 ] || fail "launch by a caller that ignores SIGCHLD: status $got, not 3"
expect 0 -n 2 sh -c "sleep 50 >/dev/null 2>&1 & echo \$! >>$pids"
expect 3 -n 2 sh -c "sleep 50 >/dev/null 2>&1 & echo \$! >>$pids; exit 3"
expect 124 -n 2 -t 1 sh -c "(trap '' TERM; sleep 50) >/dev/null 2>&1 & echo \$! >>$pids; wait"
exit $failed
