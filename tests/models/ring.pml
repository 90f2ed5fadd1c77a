/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The ring protocol (include/shmem_dev/impl/ring.h and post.h, whose names stand in the comments),
 * for the models that include this. A step is one access to shared memory, in one order that all
 * agree on: weak memory is not modelled, nor are fences. A loop that spins waits here until it can
 * go on; so a hang is an end state that is not valid. Words that wrap in C wrap here as early as
 * the protocol allows, and FIRST lies just below; others have 64 bits in C and do not wrap. */
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef BATCH
#define BATCH 2
#endif
#ifndef ERROR_AT
#define ERROR_AT 255 /* index of the WQE that fails */
#endif
#ifndef MAY_TIME_OUT
#define MAY_TIME_OUT false /* a wait, at any time */
#endif
#ifndef SPACE_MAY_TIME_OUT
#define SPACE_MAY_TIME_OUT false /* ... for slots; it ends the channel */
#endif
#ifndef BUG
#define BUG 0
#endif

#define FIRST 15             /* index of the first slot */
#define MOD_NIC (2 * DEPTH)  /* 2^16 in C: the NIC's counters */
#define MOD_CQES (2 * DEPTH) /* 2^24: CQEs in `done` */
#define MOD_RESV 8           /* 2^39: slots in `resv` */
#define MOD_DONE 16          /* 2^40: slots in `done` */
#define DIFF(a, b, mod) (((a) % (mod) + (mod) - (b) % (mod)) % (mod))

/* Statuses. */
#define OK 0
#define CAUSE 1
#define FLUSHED 2 /* an error, but not the cause */
#define TIMEOUT 3

/* Mistakes, for BUG. */
#define NO_LOCK 1         /* ring without the lock */
#define UNORDERED 2       /* publish: add to `ready` without waiting for one's turn */
#define NO_SPACE 3        /* write without waiting for the slots */
#define SPACE_BY_ONE 4    /* wait for one slot too few */
#define WAIT_NO_RING 5    /* wait without making sure that the slot is rung */
#define NO_OWNER 6        /* a CQE is valid whatever its owner bit */
#define NO_SECOND_LOOK 7  /* a CQE is read without looking at `done` again: harmless here */
#define NO_LAST_LOOK 18   /* an error is believed without looking at `done` again */
#define NO_OPCODE 8       /* an error CQE taken for success */
#define ERROR_ADVANCES 9  /* `done` goes past an error */
#define BATCH_ONLY 10     /* ring only at a batch's end */
#define TRY_ONCE 11       /* leave if another holds the lock */
#define NO_CAS 12         /* store `done` */
#define NO_RECORD 13      /* no doorbell record */
#define CLOSED_FIRST 14   /* close the channel before saying why */
#define PUBLISH_ALIVE 15  /* wait for one's turn to publish even if the channel is dead */
#define FIRST_SIGNALLED 17 /* CQE for the first WQE of a reservation, not for the last */
#define TIMEOUT_FIRST 19  /* a wait may end before it has made sure that its slot is rung */
#define STAYS_OPEN 20     /* a wait for slots runs out of time, and the channel goes on */

/* shmemd_ring_t */
byte resv = FIRST % MOD_RESV, ready = FIRST, rung = FIRST;
byte done_cqes, done_slots = FIRST % MOD_DONE, dead;
bit closed, lock;

#include "nic.pml"

/* What `done` may say at most, and what it says, without wraps. */
#define COMPLETED (failed -> executed : told)
byte completed = FIRST;

#define REACHED(t) (DIFF(done_slots, t, MOD_DONE) < MOD_DONE / 2)
#define VALID(tail, cqes) \
	(OPCODE(tail) != INVALID && (BUG == NO_OWNER || OWNER(tail) == (cqes) / DEPTH % 2))
#define TO_RING(t) (BUG != WAIT_NO_RING && rung < t && ready >= t)

/* What a thread remembers; rc is what its last call returned. */
#define LOCALS byte rc, start, end, tail, w_cqes, w_slots, to

/* shmemdi_ring_all, shmemdi_ring_until */
inline ring_until(t)
{
	assert(ready >= t || BUG == UNORDERED);
	do
	:: rung >= t -> break
	:: else ->
		if
		:: atomic { BUG == NO_LOCK || !lock -> lock = 1 }
			to = ready;
			if
			:: rung >= to
			:: else ->
				if :: BUG == NO_RECORD :: else -> record = to % MOD_NIC fi;
				doorbell = to % MOD_NIC;
				rung = to
			fi;
			d_step { to = 0; lock = 0 }
		:: BUG != NO_LOCK && lock ->
			if :: BUG == TRY_ONCE -> break :: else -> (!lock || rung >= t) fi
		fi
	od
}

#define MOVED (done_cqes != w_cqes || done_slots != w_slots)

/* shmemdi_ring_stop */
inline stop(status)
{
	if :: BUG == CLOSED_FIRST -> closed = 1 :: else fi;
	d_step { if :: !dead -> dead = status :: else fi };
	closed = 1
}

/* shmemdi_cqe_error. What was read is the CQE with the cause only if nobody has moved on: that of a
 * flushed WQE two laps later looks the same. */
inline cqe_error()
{
	tail = syndrome[w_cqes % DEPTH];
	if :: BUG != NO_LAST_LOOK && MOVED :: else -> stop(tail) fi
}

/* The end of shmemdi_consume: compare-and-swap. */
inline advance()
{
	d_step {
		tail = w_slots + DIFF(COUNTER(tail), w_slots, MOD_NIC) +
		       BLOCKS(form[COUNTER(tail) % DEPTH]);
		if
		:: BUG == NO_CAS || !MOVED ->
			completed = completed + DIFF(tail, done_slots, MOD_DONE);
			done_cqes = (w_cqes + 1) % MOD_CQES;
			done_slots = tail % MOD_DONE;
			assert(completed <= COMPLETED)
		:: else
		fi
	}
}

/* shmemdi_consume. When there is no CQE: wait until there is one, or until the caller is to look.
 * The second look at `done` has a use in weak memory only: here the last steps of either way,
 * compare-and-swap or cqe_error, find out whether somebody has moved on. */
inline consume(look)
{
	atomic { w_cqes = done_cqes; w_slots = done_slots };
	tail = cqe[w_cqes % DEPTH];
	if
	:: !VALID(tail, w_cqes) ->
		tail = 0;
		((look) || dead || VALID(cqe[done_cqes % DEPTH], done_cqes))
	:: else ->
		if
		:: BUG != NO_SECOND_LOOK && MOVED
		:: else ->
			tail = cqe[w_cqes % DEPTH];
			if
			:: !VALID(tail, w_cqes)
			:: VALID(tail, w_cqes) && OPCODE(tail) == FAILED && BUG != NO_OPCODE ->
				cqe_error();
				if :: BUG == ERROR_ADVANCES -> tail = cqe[w_cqes % DEPTH]; advance()
				:: else fi
			:: else -> advance()
			fi
		fi
	fi;
	d_step { tail = 0; w_cqes = 0; w_slots = 0 }
}

/* shmemdi_ring_wait */
inline wait(t, time_out)
{
	do
	:: REACHED(t) -> rc = OK; break
	:: else ->
		if
		:: dead -> rc = dead; break
		:: (time_out) && BUG == TIMEOUT_FIRST -> rc = TIMEOUT; break
		:: !dead ->
			if :: TO_RING(t) -> ring_until(t) :: else fi;
			if
			:: (time_out) -> rc = TIMEOUT; break
			:: consume(REACHED(t) || TO_RING(t))
			fi
		fi
	od
}

inline write(i, index, form_of)
{
	wqe[(i) % DEPTH] = index;
	form[(i) % DEPTH] = form_of;
	unplaced[(i) % DEPTH] = 0
}

/* shmemdi_reserve, shmemdi_publish: n blocks; two are one WQE if `wide`. Who says
 * `later` waits for what he posts. */
inline post(n, wide, kind, my_ticket, later)
{
	/* reserve */
	d_step { rc = closed; start = resv; resv = (resv + n) % MOD_RESV };
	if
	:: rc -> rc = dead; assert(rc)
	:: else ->
		d_step { start = ready + DIFF(start, ready, MOD_RESV); end = start + n };
		if
		:: BUG == NO_SPACE
		:: else -> wait(end - DEPTH - (BUG == SPACE_BY_ONE), SPACE_MAY_TIME_OUT)
		fi;
		if :: rc && BUG != STAYS_OPEN -> stop(rc) :: else fi
	fi;
	if
	:: rc
	:: else ->
		d_step {
			if
			:: n == 1 -> write(start, start, 1 | SIGNALLED | (kind))
			:: n == 2 && (wide) ->
				write(start, start, 2 | SIGNALLED | (kind));
				write(start + 1, start, 0)
			:: else ->
				write(start, start, 1 | (kind) | (BUG == FIRST_SIGNALLED -> SIGNALLED : 0));
				write(start + 1, start + 1,
				      1 | (kind) | (BUG == FIRST_SIGNALLED -> 0 : SIGNALLED));
				ticket_of[(start + 1) % DEPTH] = (my_ticket) + 1
			fi;
			ticket_of[start % DEPTH] = my_ticket
		}
		/* publish */
		if
		:: atomic { ready == start || BUG == UNORDERED -> ready = ready + n }
			if
			:: !(later) && (BUG != BATCH_ONLY && resv == end % MOD_RESV ||
					start / BATCH != end / BATCH) -> ring_until(end)
			:: else
			fi
		:: dead && BUG != PUBLISH_ALIVE /* dropped; the call succeeds */
		fi
	fi
}
