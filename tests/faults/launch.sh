#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# launch.sh launcher: check that its exit status is that of the first PE that failed, and that no
# process that a PE started runs on, whether the PE ended by itself or was killed.
launch=$1
pids=$(mktemp)
trap 'rm -f "$pids"' EXIT
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

expect 0 -n 2 sh -c "sleep 50 >/dev/null 2>&1 & echo \$! >>$pids"
expect 3 -n 2 sh -c "sleep 50 >/dev/null 2>&1 & echo \$! >>$pids; exit 3"
expect 124 -n 2 -t 1 sh -c "(trap '' TERM; sleep 50) >/dev/null 2>&1 & echo \$! >>$pids; wait"
exit $failed
