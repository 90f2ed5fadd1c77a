#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# seeded.sh DIRECTORY: each mistake of include/shmem_dev/impl/seed.h must make the test fail that is
# named beside it, and that test must pass without the mistake. DIRECTORY has the test programs,
# built with SHMEMDI_SEEDED as seeded_NAME.
set -u
dir=$1
seed_h=$(dirname "$0")/../../include/shmem_dev/impl/seed.h

# mistake, program, test
table='
COPY_HEAD     rma    put
COPY_TAIL     rma    put
COPY_STRIDE   rma    put
COPY_SKEW     rma    put
COPY_SHORT    rma    put
PEER_BASE     rma    put
P_WIDTH       rma    p_and_g
G_WIDTH       rma    p_and_g
AMO_CAS       amo    fetching
AMO_OLD       amo    fetching
AMO_OR        amo    edges
AMO_HALF      amo    plain
AMO_FLAG      reach  no_atomics
SIGNAL_ADD    signal signal_op_and_fetch
WAIT_GE       wait   comparisons
WAIT_HALF     wait   comparisons
WAIT_SIGN     wait   comparisons
WAIT_FLIP     wait   comparisons
WAIT_GROUP    signal put_signal_set
WAIT_ABORT    ends   end_of_a_pe
WAIT_LAST     ends   signal_before_the_end
WAIT_FROM     ends   end_of_a_pe
GONE_PE       ends   end_of_a_pe
LIMIT_ZERO    ends   limits
LIMIT_WRAP    ends   limits
AGREE_DROP    group  any_and_agree
LATCH_LAST    check  first_error_stays
RECORD_CLAIM  check  record_of_one_thread
QUIET_LATCH   check  pe_out_of_range
QUIET_OWN     check  all_threads_are_told
CHECK_WRAP    check  not_symmetric
SYNC_EPOCH    sync   barrier_rounds
SYNC_TIMEOUT  sync   sync_again_after_timeout
SYNC_INDEX    sync   barrier_rounds
SYNC_FAST     sync   sync_rounds
WORLD_PE      reach  reversed_team
'

# Run one test with one mistake; quick, since a schedule that fails is found early or not at all.
run_one() { # number program test
	SEEDED=$1 SHMEMSIM_PES=4 PES_SEEDS=5 timeout 120 "$dir/seeded_$2" "$3" \
		>"$dir/seeded.log" 2>&1 </dev/null
}

n=0
n_caught=0
passed_without=
# The list of the header, in its order: the numbers of the enumerators.
sed -n 's/^\tSHMEMDI_SEED_\([A-Z_]*\),.*/\1/p' "$seed_h" >"$dir/seeded.list"
while read -r name; do
	n=$((n + 1))
	row=$(printf '%s' "$table" | grep "^$name ") || {
		echo "no test is named for $name"
		continue
	}
	# shellcheck disable=SC2086 # the row is split on purpose
	set -- $row
	result="NOT CAUGHT"
	if ! run_one "$n" "$2" "$3"; then
		result=caught
		case " $passed_without " in
		*" $2/$3 "*) ;;
		*)
			if run_one 0 "$2" "$3"; then
				passed_without="$passed_without $2/$3"
			else
				result="caught, but the test fails without the mistake too"
				cat "$dir/seeded.log"
			fi
			;;
		esac
	fi
	[ "$result" = caught ] && n_caught=$((n_caught + 1))
	printf '%3s  %-13s %-30s %s\n' "$n" "$name" "test_$2 $3" "$result"
done <"$dir/seeded.list"
echo "$n mistakes: $n_caught caught, $((n - n_caught)) missed"
[ "$n" -gt 0 ] && [ "$n_caught" -eq "$n" ]
