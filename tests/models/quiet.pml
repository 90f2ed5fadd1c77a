/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Puts without a wait, then quiet. When quiet returns, a READ that was posted after this thread's
 * puts has completed. Threads share the READs, by the word `flush`. */
#ifndef USERS
#define USERS 2
#endif
#ifndef PUTS
#define PUTS 1 /* of the first user, before its quiet; the others have one */
#endif
#ifndef ROUNDS
#define ROUNDS 1 /* of the first user: PUTS puts and a quiet */
#endif
#ifndef PUTTERS
#define PUTTERS 0 /* number of users that only put */
#endif
#ifndef HELPED
#define HELPED 0 /* a helper may switch before anything is posted */
#endif

/* More mistakes. */
#define FLUSH_READY 72     /* store that the READ covers everything published by then */
#define WAIT_READY 73      /* wait for the WRITEs, not for the READ */
#define FLUSH_FAR 75       /* never advance `flush` with the queue */

#define FLUSHES
#include "sq.pml"

/* Returns whether a READ follows everything before target. It may be about to be published. */
#define COVERED(target) (LESS(flush, target, MOD_INDEX) <= 1)

inline quiet()
{
	if
	:: !used /* nothing was posted on the channel */
	:: else ->
		target = ready;
		if
		:: COVERED(target)
		:: !COVERED(target) ->
			flushes = 1;
			post(READ, 1, NOW, false);
			d_step { flushes = 0; first = 0; at = 0 }
		fi;
		/* The own READ, or a later one. */
		d_step { t = flush; number = flush_number; s_epoch = flush_epoch };
		if
		:: d_step { s_epoch == ready_epoch -> numbered = 1; s_queue = line_queue }
		:: else
		fi;
		if :: BUG == WAIT_READY -> t = target; numbered = 0 :: else fi;
		wait(t);
		d_step { t = 0; target = 0 }
	fi
}

proctype user(byte id, rounds, puts; bit only_puts)
{
	LOCALS;
	byte t, target, mine, i;

	me = id;
	do
	:: rounds > 0 ->
		do
		:: i < puts ->
			post(PUT, 1, BATCHED, false);
			i++;
			d_step { mine = at + 1; first = 0; at = 0 }
		:: else -> break
		od;
		i = 0;
		if
		:: only_puts
		:: else -> quiet(); assert(flushed >= mine)
		fi;
		HOLD(me, 255);
		mine = 0;
		rounds--
	:: else -> break
	od;
	atomic { puts = 0; only_puts = 0; n_finished++ }
}

#if HELPED
proctype helper()
{
	LOCALS;

	if
	:: TO_HELP -> help()
	:: n_finished == USERS
	fi
}
#endif

init {
	byte i;

	atomic {
		n_threads = USERS;
		run nic(0);
#if N_PATHS > 1
		run nic(1);
#endif
#if N_PATHS > 2
		run nic(2);
#endif
#if HELPED
		run helper();
#endif
		run user(0, ROUNDS, PUTS, 0);
		i = 1;
		do
		:: i < USERS -> run user(i, 1, 1, USERS - i <= PUTTERS); i++
		:: else -> break
		od
	}
}
