/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Producers who post, and then wait for what they posted or leave it to the others. */
#ifndef PRODUCERS
#define PRODUCERS 3
#endif
#ifndef OPS
#define OPS 1
#endif
#ifndef OPS_FIRST
#define OPS_FIRST OPS /* of the first producer */
#endif
#define ANY 255
#ifndef LEAVERS
#define LEAVERS ANY /* so many producers leave, the others wait; ANY: as they like */
#endif
#ifndef WIDE
#define WIDE 0 /* so many producers post two blocks: one WQE, two WQEs, one WQE ... */
#endif
#ifndef LATERS
#define LATERS 0 /* so many producers, those who leave, may leave the ringing to others, too */
#endif

#include "ring.pml"

byte finished;

proctype producer(byte id)
{
	LOCALS;
	byte i, when;
	bit waits;

	do
	:: i < (id == 0 -> OPS_FIRST : OPS) ->
		if
		:: LEAVERS == ANY || id < LEAVERS -> waits = 0
		:: LEAVERS == ANY || id >= LEAVERS -> waits = 1
		fi;
		if
		:: waits -> when = NOW
		:: !waits -> when = BATCHED
		:: !waits && id < LATERS -> when = LATER
		fi;
		if
		:: id < WIDE -> post(2, id % 2 == 0, 0, 0, when)
		:: else -> post(1, false, 0, 0, when)
		fi;
		if
		:: rc == OK && waits ->
			wait(end, false);
			assert(rc || COMPLETED >= end);
			assert(rc != CAUSE || !REACHED(end))
		:: else
		fi;
		assert(rc == OK || rc == CAUSE && failed || rc == TIMEOUT && SPACE_MAY_TIME_OUT);
		d_step { rc = 0; start = 0; end = 0; waits = 0; when = 0; i++ }
	:: else -> break
	od;
	atomic { i = 0; finished++ }
}

init {
	byte i;

	atomic { do :: i < PRODUCERS -> run producer(i); i++ :: else -> break od };
	/* All calls return, and all that was posted is published and executed, but for what was to
	 * stay unrung. */
	finished == PRODUCERS && (failed || dead || told >= must && resv == ready % MOD_RESV)
}
