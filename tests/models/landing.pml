/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Landing slots (include/shmem_dev/impl/post.h): READs whose answers land in few slots, read by
 * waits that may run out of time. Every user reads its own answer or none. */
#ifndef SLOTS
#define SLOTS 1
#endif
#ifndef USERS
#define USERS 3
#endif
#ifndef PAIRS
#define PAIRS 0 /* so many users are two lanes that post together */
#endif

#ifndef WHEN
#define WHEN NOW
#endif

#define MOD_TICKETS 4    /* 2^23 in C: tickets of slots that were given up */
#define FIRST_TICKET (MOD_TICKETS - SLOTS)

#define FREE_AT_TIMEOUT 50 /* the slot is free although the answer may still come */
#define LEFT_EARLY 51      /* the slot is free before it is read */
#define LEFT_QUEUE 52      /* go when the time is up and the slot is still its last user's */
#define NOT_PASSED 53      /* do not hand on a slot that was given up twice */
#define LOST_IS_FREE 54    /* take a slot that was given up at once */
#define LOST_START 55      /* give up until the slots before the READ are complete */

#define MAY_TIME_OUT true
#include "ring.pml"

/* Turn words: a ticket; lost: to be taken once slots up to `last` are complete. */
byte ticket = FIRST_TICKET, turn[SLOTS], last[SLOTS], landing[SLOTS];
bit lost[SLOTS];
byte finished;

#define SLOT(my) ((my) % SLOTS)
#define LAST_REACHED(my) (DIFF(done_slots, last[SLOT(my)], MOD_DONE) < MOD_DONE / 2)
#define IS_LEFT(my) (!lost[SLOT(my)] && turn[SLOT(my)] == (my))
#define IS_LOST(my) (lost[SLOT(my)] && turn[SLOT(my)] == (my) % MOD_TICKETS)
#define IS_FREE(my) (IS_LEFT(my) || IS_LOST(my) && (LAST_REACHED(my) || BUG == LOST_IS_FREE))

inline leave(my)
{
	d_step { lost[SLOT(my)] = 0; turn[SLOT(my)] = (my) + SLOTS }
}

inline give_up(my, t)
{
	d_step {
		lost[SLOT(my)] = 1;
		turn[SLOT(my)] = ((my) + SLOTS) % MOD_TICKETS;
		last[SLOT(my)] = (t) % MOD_DONE
	}
}

/* shmemdi_landing_take. The words and `done` are read in one step; who passes a slot on is the only
 * one who may change its word. */
inline take(my)
{
	do
	:: IS_FREE(my) -> rc = OK; break
	:: else ->
		if
		:: dead -> rc = dead; break
		:: IS_LOST(my) -> /* shmemdi_landing_pass */
			if :: BUG != NOT_PASSED -> give_up(my, last[SLOT(my)]) :: else fi;
			rc = TIMEOUT;
			break
		:: BUG == LEFT_QUEUE -> rc = TIMEOUT; break
		:: !dead -> consume(IS_FREE(my))
		fi
	od
}

proctype user(byte n)
{
	LOCALS;
	byte my, i;

	d_step { my = ticket; ticket = ticket + n };
	take(my);
	if
	:: rc == OK && n == 2 ->
		take(my + 1);
		if :: rc -> leave(my) :: else fi
	:: else
	fi;
	if
	:: rc == OK -> post(n, false, READ | LANDS, my, WHEN)
	:: else
	fi;
	do
	:: rc == OK && i < n ->
		i++;
		wait(start + i, true);
		if
		:: rc == OK ->
			if :: BUG == LEFT_EARLY -> leave(my + i - 1) :: else fi;
			tail = landing[SLOT(my + i - 1)];
			assert(tail == start + i - 1);
			leave(my + i - 1)
		:: rc == TIMEOUT ->
			if
			:: BUG == FREE_AT_TIMEOUT -> leave(my + i - 1)
			:: else -> give_up(my + i - 1, start + i - (BUG == LOST_START))
			fi;
			rc = OK
		:: else
		fi;
		tail = 0
	:: else -> break
	od;
	atomic { rc = 0; start = 0; end = 0; my = 0; i = 0; finished++ }
}

/* Answers arrive in any order, each before its WQE completes. */
active proctype memory()
{
end:	do
	:: unplaced[0] -> d_step { landing[SLOT(ticket_of[0])] = wqe[0]; unplaced[0] = 0 }
	:: unplaced[1] -> d_step { landing[SLOT(ticket_of[1])] = wqe[1]; unplaced[1] = 0 }
	od
}

init {
	byte i;

	atomic {
		do
		:: i < SLOTS -> turn[SLOT(FIRST_TICKET + i)] = FIRST_TICKET + i; i++
		:: else -> break
		od;
		i = 0;
		do :: i < USERS -> run user((i < PAIRS -> 2 : 1)); i++ :: else -> break od
	};
	finished == USERS
}
