#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# seeded.sh DIRECTORY BUILD: each mistake of include/shmem_dev/impl/seed.h must make the test fail
# that is named beside it, and that test must pass without the mistake. DIRECTORY has the test
# programs, built with SHMEMDI_SEEDED as seeded_NAME; BUILD is plain or tsan. Mistakes of memory
# order are invisible on a machine that runs one access after the other: only tsan sees them.
set -u
dir=$1
build=$2
seed_h=$(dirname "$0")/../../include/shmem_dev/impl/seed.h

# id, program, test, build that catches it (plain: every build)
table='
SIGNAL_SYNC   signal put_signal_set       plain
SIGNAL_FENCE  signal put_signal_set       tsan
SIGNAL_ADD    signal signal_op_and_fetch  plain
WAIT_GE       wait   comparisons          plain
WAIT_ACQUIRE  signal put_signal_set       tsan
WAIT_ABORT    faults killed_during_wait   plain
WAIT_GROUP    signal put_signal_set       plain
COPY_TAIL     rma    put                  plain
COPY_STRIDE   rma    put                  plain
PEER_BASE     rma    put                  plain
QUIET_LATCH   check  pe_out_of_range      plain
SYNC_FENCE    sync   stores_before_sync   tsan
SYNC_EPOCH    sync   barrier_rounds       plain
SYNC_INDEX    sync   barrier_rounds       plain
'

# Run one test with one mistake; quick, since a schedule that fails is found early or not at all.
run_one() { # number program test
	if [ "$2" = faults ]; then
		SEEDED=$1 timeout 120 "$dir/seeded_$2" "$3" >"$dir/seeded.log" 2>&1 </dev/null
	else
		SEEDED=$1 SHMEMSIM_PES=4 PES_SEEDS=5 timeout 120 "$dir/seeded_$2" "$3" \
			>"$dir/seeded.log" 2>&1 </dev/null
	fi
}

failed=0
passed_without=
printf '%3s  %-13s %-32s %s\n' id mistake 'caught by' result
# The list of the header: "number name" a line.
tr -s ' \t\n' ' ' <"$seed_h" | grep -o 'SHMEMDI_SEED_[A-Z_]* = [0-9]*' |
	sed 's/SHMEMDI_SEED_\(.*\) = \(.*\)/\2 \1/' | grep -v ' NONE$' | sort -n >"$dir/seeded.list"
while read -r number name; do
	row=$(printf '%s' "$table" | grep "^$name ") || {
		echo "no test is named for $name"
		failed=1
		continue
	}
	# shellcheck disable=SC2086 # the row is split on purpose
	set -- $row
	if [ "$4" = tsan ] && [ "$build" != tsan ]; then
		result="by tsan only: not this build"
	elif run_one "$number" "$2" "$3"; then
		result="NOT CAUGHT"
		failed=1
	else
		result=caught
		case " $passed_without " in
		*" $2/$3 "*) ;;
		*)
			if run_one 0 "$2" "$3"; then
				passed_without="$passed_without $2/$3"
			else
				result="caught, but the test fails without the mistake too"
				failed=1
				cat "$dir/seeded.log"
			fi
			;;
		esac
	fi
	printf '%3s  %-13s %-32s %s\n' "$number" "$name" "test_$2 $3" "$result"
done <"$dir/seeded.list"
exit $failed
