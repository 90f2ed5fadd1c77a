/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Puts, which nobody waits for, then quiet: when it reports success, a READ behind them has
 * completed, and so behind all that anybody had published before. READs are shared. */
#ifndef USERS
#define USERS 2
#endif
#ifndef OPS
#define OPS 1 /* of the first user, each a put and a quiet; the others have one */
#endif
#ifndef PUTTERS
#define PUTTERS 0 /* so many users only put */
#endif

/* More mistakes. */
#define QUIET_ALIVE 40 /* succeed although the channel is dead: a put may have been dropped */
#define FLUSH_EARLY 41 /* say that a READ is posted before it is */
#define FLUSH_READY 42 /* say that the READ covers all that is ready now */
#define WAIT_READY 43  /* wait for the WRITEs, not for the READ */

#include "ring.pml"

byte flush = FIRST, finished;

inline raise(v)
{
	d_step { if :: flush < v -> flush = v :: else fi }
}

/* rc: OK if all before `target`, which is what was ready, is in the target's memory. */
inline quiet()
{
	target = ready;
	if :: BUG == QUIET_ALIVE -> rc = OK :: else -> rc = dead fi;
	last = flush;
	if
	:: rc || last >= target
	:: else ->
		if :: BUG == FLUSH_EARLY -> raise(target) :: else fi;
		post(1, false, READ, 0, NOW);
		last = end;
		if
		:: rc == OK && BUG != FLUSH_READY -> raise(end)
		:: rc == OK && BUG == FLUSH_READY -> raise(ready)
		:: else
		fi
	fi;
	if
	:: rc
	:: else ->
		if :: BUG == WAIT_READY -> last = target :: else fi;
		wait(last, false)
	fi
}

proctype user(byte n; bit only_puts)
{
	LOCALS;
	byte put_end, last, target;
	bit was_put;

	do
	:: n > 0 ->
		post(1, false, 0, 0, BATCHED);
		atomic { was_put = !rc; put_end = end };
		if
		:: only_puts
		:: else ->
			quiet();
			assert(rc || !was_put || flushed >= put_end);
			assert(rc || target == FIRST || flushed + 1 >= target)
		fi;
		d_step {
			rc = 0; start = 0; end = 0; put_end = 0; last = 0; target = 0; was_put = 0; n--
		}
	:: else -> break
	od;
	finished++
}

init {
	byte i;

	atomic {
		run user(OPS, false);
		i = 1;
		do :: i < USERS -> run user(1, USERS - i <= PUTTERS); i++ :: else -> break od
	};
	finished == USERS
}
