/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bounce buffers (include/shmem_dev/impl/bounce.h): READs that return into few buffers, which are
 * read by waits that may time out. Every user reads its own result or none. */
#ifndef BUFFERS
#define BUFFERS 1
#endif
#ifndef USERS
#define USERS 3
#endif
#ifndef PAIRS
#define PAIRS 0 /* number of users that are two coalesced lanes */
#endif

#ifndef WHEN
#define WHEN NOW
#endif

#define MOD_TICKETS 4    /* 2^23 in C: tickets of abandoned buffers */
#define FIRST_TICKET (MOD_TICKETS - BUFFERS)

#define FREE_AT_TIMEOUT 50 /* free the buffer although its result may still arrive */
#define LEFT_EARLY 51      /* free the buffer before it is read */
#define LEFT_QUEUE 52      /* leave at a timeout while the buffer still has its last owner */
#define NOT_PASSED 53      /* do not pass on the turn of an abandoned buffer */
#define LOST_IS_FREE 54    /* take an abandoned buffer at once */
#define LOST_START 55      /* abandon it until the WQEBBs before the READ are complete */

#define MAY_TIME_OUT true
#include "ring.pml"

/* Owner words: a ticket; lost: free once the WQEBBs up to `last` are complete. */
byte ticket = FIRST_TICKET, turn[BUFFERS], last[BUFFERS], buffer[BUFFERS];
bit lost[BUFFERS];
byte finished;

#define BUFFER(my) ((my) % BUFFERS)
#define LAST_REACHED(my) (DIFF(done_wqebbs, last[BUFFER(my)], MOD_DONE) < MOD_DONE / 2)
#define IS_LEFT(my) (!lost[BUFFER(my)] && turn[BUFFER(my)] == (my))
#define IS_LOST(my) (lost[BUFFER(my)] && turn[BUFFER(my)] == (my) % MOD_TICKETS)
#define IS_FREE(my) (IS_LEFT(my) || IS_LOST(my) && (LAST_REACHED(my) || BUG == LOST_IS_FREE))

inline leave(my)
{
	d_step { lost[BUFFER(my)] = 0; turn[BUFFER(my)] = (my) + BUFFERS }
}

inline give_up(my, t)
{
	d_step {
		lost[BUFFER(my)] = 1;
		turn[BUFFER(my)] = ((my) + BUFFERS) % MOD_TICKETS;
		last[BUFFER(my)] = (t) % MOD_DONE
	}
}

/* Take the buffer of a ticket. Its word and `done` are read in one step: only the thread whose
 * ticket the word has may change it. */
inline take(my)
{
	do
	:: IS_FREE(my) -> rc = OK; break
	:: else ->
		if
		:: dead -> rc = dead; break
		:: IS_LOST(my) -> /* pass the turn on */
			if :: BUG != NOT_PASSED -> give_up(my, last[BUFFER(my)]) :: else fi;
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
	:: rc == OK -> post(n, false, READ | USES_BUFFER, my, WHEN)
	:: else
	fi;
	do
	:: rc == OK && i < n ->
		i++;
		wait(start + i, true);
		if
		:: rc == OK ->
			if :: BUG == LEFT_EARLY -> leave(my + i - 1) :: else fi;
			tail = buffer[BUFFER(my + i - 1)];
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

/* Results arrive in any order, each before its WQE completes. */
active proctype memory()
{
end:	do
	:: unplaced[0] -> d_step { buffer[BUFFER(ticket_of[0])] = wqe[0]; unplaced[0] = 0 }
	:: unplaced[1] -> d_step { buffer[BUFFER(ticket_of[1])] = wqe[1]; unplaced[1] = 0 }
	od
}

init {
	byte i;

	atomic {
		do
		:: i < BUFFERS -> turn[BUFFER(FIRST_TICKET + i)] = FIRST_TICKET + i; i++
		:: else -> break
		od;
		i = 0;
		do :: i < USERS -> run user((i < PAIRS -> 2 : 1)); i++ :: else -> break od
	};
	finished == USERS
}
