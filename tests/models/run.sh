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
-DWAITS=0 -DCALLS=2
-DKIND0=READ -DKIND1=FETCH
-DWAITS=1 -DCALLS=2 -DDEFERS=2 -DCALLS0=1
-DWAITS=0 -DPOSTERS=3 -DDEFERS=1
-DWAITS=0 -DPOSTERS=3 -DDEFERS=1 -DQUIET=0 -DFAILURES=0
-DWAITS=1 -DCALLS0=2 -DTWO=2
-DTEAR -DWAITS=1 -DKIND0=READ
-DFAILURES=2 -DWAITS=1 -DKIND0=FETCH
-DFAILURES=2 -DREUSE -DWAITS=1
-DNOWS=4 -DWAITS=0 -DPOSTERS=3 -DCALLS0=2 -DQUIET=0 -DFAILURES=0
-DNOWS=2 -DWAITS=0 -DDEFERS=1 -DCALLS0=2
-DBUG=NO_TURN_CHECK
-DBUG=NO_SPACE -DCALLS=2 -DWAITS=0
-DBUG=SPACE_BY_ONE -DCALLS=2 -DWAITS=0
-DBUG=NO_EPOCH_CHECK -DCALLS=2 -DWAITS=0
-DBUG=PUBLISH_EARLY -DCALLS=2 -DWAITS=0
-DBUG=OLD_SNAPSHOT -DCALLS=2 -DWAITS=0
-DBUG=NO_TAGS -DTEAR
-DBUG=TAGS_LATE -DTEAR
-DBUG=NO_RESV_EPOCH
-DBUG=RING_UNLOCKED -DDEFERS=1
-DBUG=ALWAYS_LEAVE -DWAITS=0 -DQUIET=0 -DFAILURES=0
-DBUG=RUNG_AFTER_READY -DDEFERS=1 -DCALLS=2
-DBUG=RUNG_KEPT -DDEFERS=1
-DBUG=RUNG_FIRST -DDEFERS=1
-DBUG=DEFER_ALWAYS -DDEFERS=1 -DPOSTERS=3 -DWAITS=0 -DQUIET=0 -DFAILURES=0
-DBUG=DEFER_MARKED -DDEFERS=1 -DPOSTERS=3 -DWAITS=0 -DQUIET=0 -DFAILURES=0
-DBUG=LOCK_ANY -DDEFERS=1
-DBUG=WAIT_UNRUNG -DDEFERS=1
-DBUG=NEED_IGNORES_RUNG
-DBUG=MARK_EARLY -DWAITS=0 -DPOSTERS=3 -DFAILURES=0
-DBUG=NO_OWNER -DCALLS=2 -DWAITS=0 -DFAILURES=0
-DBUG=NO_DONE_LOCK -DCALLS=2 -DWAITS=0 -DFAILURES=0
-DBUG=QUEUE_BEFORE_LOCK -DCALLS=2 -DWAITS=0
-DBUG=NO_TURN
-DBUG=NO_RING_LOCK -DDEFERS=3 -DCALLS=2
-DBUG=UNLOCK_LATE -DDEFERS=3 -DCALLS=2
-DBUG=NO_CQ_LOCK -DCALLS=2 -DWAITS=0
-DBUG=CQES_UNREAD -DKIND0=READ
-DBUG=BASE_READY
-DBUG=REISSUE_ALL
-DBUG=READ_REPLACED -DKIND0=READ
-DBUG=NOT_TOLD -DKIND0=FETCH
-DBUG=NOPS_COUNTED -DFAILURES=2
-DBUG=NOT_RUNG
-DBUG=CQES_KEPT
-DBUG=RUNG_OLD -DDEFERS=3 -DCALLS=2
-DBUG=BLOCKED_BLIND -DCALLS=2 -DWAITS=0
-DBUG=NO_HELP
-DBUG=HELP_UNSEEN
-DBUG=HELP_ADDS
-DBUG=READY_OLD_EPOCH -DCALLS=2 -DWAITS=0
-DBUG=NOW_IGNORED -DNOWS=4 -DWAITS=0 -DPOSTERS=3 -DCALLS0=2 -DQUIET=0 -DFAILURES=0
-DBUG=FROM_ACKNOWLEDGED
-DBUG=NOT_FENCED
-DBUG=NOT_DRAINED -DKIND0=READ
-DBUG=NO_ACKNOWLEDGE -DFAILURES=2
END
	bounce) cat <<'END' ;;
-DBUFFERS=1
-DBUFFERS=2 -DUSERS=2 -DPAIRS=2
-DBUFFERS=1 -DERROR_AT=16
-DBUG=TIMEOUT_FIRST -DWHEN=DEFERRED
-DBUG=FREE_AT_TIMEOUT
-DBUG=LEFT_EARLY
-DBUG=LEFT_QUEUE
-DBUG=NOT_PASSED
-DBUG=LOST_IS_FREE
-DBUG=LOST_START
END
	quiet) cat <<'END' ;;
-DFAILURES=0
-DPUTTERS=1
-DUSERS=1 -DHELPED=1
-DUSERS=1 -DROUNDS=2 -DPUTS=5 -DWRAPS -DMOD_INDEX=8 -DFAILURES=0
-DBUG=FLUSH_READY
-DBUG=WAIT_READY
-DBUG=FLUSH_FAR -DUSERS=1 -DROUNDS=2 -DPUTS=5 -DWRAPS -DMOD_INDEX=8 -DFAILURES=0
-DBUG=USED_LATE -DPUTTERS=1 -DFAILURES=0
END
	hosts) cat <<'END' ;;
-DFAILURES=1 -DREQUESTS=3
-DFAILURES=2
-DBUG=NO_STOP
-DBUG=NO_DRAIN
-DBUG=NO_FLUSH
-DBUG=ONE_FENCED
-DBUG=NOT_OPEN
-DBUG=SKIPPED_COUNTS
-DBUG=OVERLAP
-DBUG=FENCE_UNSENT -DFAILURES=1
-DBUG=UNANSWERED
-DBUG=OFFER_KEPT
END
	*) echo "run.sh: no model '$1'" >&2 ;;
	esac
}

large_rows() {
	case $1 in
	queue) cat <<'END' ;;
-DWAITS=1 -DPOSTERS=3
-DWAITS=0 -DPOSTERS=3 -DQUIET=0 -DFAILURES=0 -DDEFERS=3 -DCALLS0=2
-DDEPTH=4 -DTWO=1 -DCALLS=2 -DWAITS=1
-DFAILURES=0 -DWRAPS -DMOD_INDEX=8 -DCALLS=5 -DWAITS=2 -DDEFERS=1
-DFAILURES=0 -DWRAPS -DMOD_INDEX=8 -DCALLS=5 -DWAITS=0
-DBUG=MARK_KEPT -DFAILURES=0 -DWRAPS -DMOD_INDEX=8 -DCALLS=5 -DWAITS=2
-DBUG=RUNG_NOT_STORED -DFAILURES=0 -DWRAPS -DMOD_INDEX=8 -DCALLS=5 -DWAITS=2 -DDEFERS=1
-DBUG=MARK_OLD_EPOCH -DDEPTH=4 -DWAITS=1 -DPOSTERS=3
-DBUG=MARK_ONE_CQE -DWAITS=4 -DPOSTERS=3 -DCALLS0=2 -DFAILURES=0
END
	bounce) cat <<'END' ;;
-DBUFFERS=2
-DBUFFERS=2 -DPAIRS=1
-DBUFFERS=1 -DSPINS -DWHEN=DEFERRED
END
	quiet) cat <<'END' ;;
-DROUNDS=2 -DFAILURES=0
-DUSERS=2 -DPUTTERS=1 -DPUTS=0 -DHELPED=1
END
	hosts) cat <<'END' ;;
-DFAILURES=2 -DREQUESTS=4
-DFAILURES=3 -DREQUESTS=3
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
			$compiler $CFLAGS -w -DSAFETY -DMEMLIM=16000 -o pan pan.c &&
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

# Of small rows most of the time goes into compiling, for which clang takes half of gcc's; of large
# ones, memory is short.
: "${CFLAGS=-O0}"
export CFLAGS
compiler=$(command -v clang || echo cc)
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
