#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# run.sh [--large] model...: all that spin can reach, in each row of the tables below. Rows with a
# mistake (BUG) must fail, others must not. --large: larger sizes instead, which take minutes and
# gigabytes. JOBS=n: n rows at a time.
set -u
cd "$(dirname "$0")" || exit 2

rows() {
	case $1 in
	queue) cat <<'END' ;;
-DPRODUCERS=2 -DOPS=2 -DSPINS
-DLEAVERS=1
-DLATERS=1 -DLEAVERS=2
-DPRODUCERS=2 -DOPS=3 -DOPS_FIRST=2 -DLATERS=1 -DLEAVERS=1
-DDEPTH=4 -DPRODUCERS=2 -DOPS=2 -DSPINS
-DDEPTH=4 -DLEAVERS=3 -DLATERS=1
-DWIDE=1 -DLEAVERS=2
-DPRODUCERS=2 -DOPS=2 -DWIDE=2
-DPRODUCERS=2 -DOPS=2 -DERROR_AT=15
-DPRODUCERS=2 -DOPS=2 -DERROR_AT=16 -DWIDE=2
-DPRODUCERS=2 -DOPS=2 -DERROR_AT=17
-DDEPTH=4 -DPRODUCERS=2 -DOPS=2 -DERROR_AT=17
-DPRODUCERS=2 -DOPS=2 -DSPACE_MAY_TIME_OUT=true
-DBUG=NO_LOCK
-DBUG=LOCK_UNSEEN
-DBUG=TRY_ONCE
-DBUG=RUNG_STAYS_BUSY
-DBUG=UNORDERED
-DBUG=NO_SPACE
-DBUG=SPACE_BY_ONE
-DBUG=WAIT_NO_RING -DPRODUCERS=2 -DOPS=2 -DLATERS=2
-DBUG=BATCH_ONLY -DPRODUCERS=2
-DBUG=MUST_STAY -DLATERS=3
-DBUG=READY_FIRST
-DBUG=ALONE_UNRUNG
-DBUG=ALONE_BUSY
-DBUG=NO_OWNER
-DBUG=NO_DONE_LOCK
-DBUG=DONE_STAYS_BUSY
-DBUG=FAR_ERROR -DERROR_AT=16
-DBUG=FAR_CAUSE -DERROR_AT=16
-DBUG=FAR_NO_OWNER
-DBUG=FAR_BY_ONE
-DBUG=NO_OPCODE -DERROR_AT=15
-DBUG=ERROR_ADVANCES -DERROR_AT=15
-DBUG=DEAD_AT_ONCE -DPRODUCERS=2 -DERROR_AT=16
-DBUG=NO_RECORD -DERROR_AT=15
-DBUG=CLOSED_FIRST -DERROR_AT=15
-DBUG=PUBLISH_ALIVE -DPRODUCERS=2 -DOPS=3 -DOPS_FIRST=1 -DSPACE_MAY_TIME_OUT=true
-DBUG=FIRST_SIGNALLED -DWIDE=2
-DBUG=STAYS_OPEN -DSPACE_MAY_TIME_OUT=true
END
	landing) cat <<'END' ;;
-DSLOTS=1
-DSLOTS=2 -DUSERS=2 -DPAIRS=2
-DSLOTS=1 -DERROR_AT=16
-DBUG=TIMEOUT_FIRST -DWHEN=LATER
-DBUG=FREE_AT_TIMEOUT
-DBUG=LEFT_EARLY
-DBUG=LEFT_QUEUE
-DBUG=NOT_PASSED
-DBUG=LOST_IS_FREE
-DBUG=LOST_START
END
	quiet) cat <<'END' ;;
-DUSERS=2
-DERROR_AT=16
-DOPS=2 -DPUTTERS=1 -DSPACE_MAY_TIME_OUT=true
-DBUG=QUIET_ALIVE -DOPS=2 -DPUTTERS=1 -DSPACE_MAY_TIME_OUT=true
-DBUG=FLUSH_EARLY
-DBUG=FLUSH_READY
-DBUG=WAIT_READY
-DBUG=ALONE_EARLY -DUSERS=3 -DPUTTERS=1
END
	*) echo "run.sh: no model '$1'" >&2 ;;
	esac
}

large_rows() {
	case $1 in
	queue) cat <<'END' ;;
-DPRODUCERS=3 -DLATERS=3
-DPRODUCERS=3 -DDEPTH=4 -DSPINS
-DPRODUCERS=3 -DWIDE=2 -DLATERS=1
-DPRODUCERS=3 -DERROR_AT=16
-DPRODUCERS=3 -DOPS_FIRST=2 -DSPINS
-DPRODUCERS=2 -DOPS=3 -DLATERS=1
-DPRODUCERS=2 -DOPS=3 -DERROR_AT=18 -DDEPTH=4
-DPRODUCERS=2 -DOPS=4 -DOPS_FIRST=1 -DERROR_AT=18
-DPRODUCERS=4 -DLEAVERS=3
END
	landing) cat <<'END' ;;
-DSLOTS=2
-DSLOTS=2 -DPAIRS=1
-DSLOTS=1 -DSPINS -DWHEN=LATER
END
	quiet) cat <<'END' ;;
-DOPS=2
-DUSERS=3 -DPUTTERS=1
END
	esac
}

# check model options: one line, with FAILED in it if that is not as it should be.
check() {
	directory=$(mktemp -d) || exit 2
	log=$directory/log
	cp ./*.pml "$directory"
	(
		cd "$directory" || exit 2
		# shellcheck disable=SC2086 # words
		spin -a $2 "$1.pml" &&
			cc $CFLAGS -w -DSAFETY -DMEMLIM=16000 -o pan pan.c &&
			./pan -m100000 -w20
	) >"$log" 2>&1
	states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' "$log")
	what=$(sed -n 's/^pan:1: \(.*\) (at depth.*/\1/p' "$log")
	if grep -q 'errors: 0$' "$log" && ! grep -qE 'not completed|depth too small' "$log"; then
		what="no error in $states states"
		case $2 in *BUG=*) what="FAILED: $what" ;; esac
	elif [ -z "$what" ]; then
		what="FAILED: no result: $(cat "$log")"
	else
		case $2 in *BUG=*) ;; *) what="FAILED: $what" ;; esac
	fi
	rm -rf "$directory"
	printf '%-8s %-80s %s\n' "$1" "$2" "$what"
}

# Of small rows most of the time goes into compiling; of large ones, memory is short.
: "${CFLAGS=-O0}"
export CFLAGS
table=rows
case ${1-} in
--row)
	check "$2" "$3"
	exit
	;;
--large)
	table=large_rows CFLAGS='-O2 -DCOLLAPSE'
	shift
	;;
esac
for tool in spin cc; do
	command -v $tool >/dev/null && continue
	echo "skipped: $tool is missing"
	exit 77
done
output=$(for model; do
	$table "$model" | sed "s/.*/$model\n&/"
done | tr '\n' '\0' | xargs -0 -n 2 -P "${JOBS:-2}" sh ./run.sh --row)
echo "$output"
case $output in *FAILED* | '') exit 1 ;; esac
