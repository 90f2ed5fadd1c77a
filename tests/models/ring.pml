/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The ring protocol (include/shmem_dev/impl/ring.h and post.h, whose names stand in the comments),
 * for the models that include this. A step is one access to shared memory, in one order that all
 * agree on: weak memory is not modelled, nor are fences. A loop that spins waits here until it can
 * go on; so a hang is an end state that is not valid. Words that wrap in C wrap here as early as
 * the protocol allows, and FIRST lies just below; others have 63 or 64 bits in C and do not wrap.
 *
 * A word with BUSY is two variables here, which change in one step. A load of it that finds BUSY
 * clear and the compare-and-swap behind are one step as well: when the latter succeeds, nothing has
 * changed since the former, and when not, nobody will know. */
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
#define MOD_CQES (2 * DEPTH) /* 2^23: CQEs in `done` */
#define MOD_RESV 8           /* 2^39: slots in `resv` */
#define MOD_DONE 16          /* 2^40: slots in `done` */
#define DIFF(a, b, mod) (((a) % (mod) + (mod) - (b) % (mod)) % (mod))

/* CQEs that are looked at besides the next one, counted from that: in C an eighth and half of the
 * queue away, here, where there are so few, the second and the last. */
#define FAR 1
#define FARTHER (DEPTH - 1)

/* When to ring: shmemd_when. */
#define BATCHED 0
#define NOW 1
#define LATER 2

/* Statuses. */
#define OK 0
#define CAUSE 1
#define FLUSHED 2 /* an error, but not the cause */
#define TIMEOUT 3

/* Mistakes, for BUG. */
#define NO_LOCK 1         /* ring although another is busy ringing */
#define UNORDERED 2       /* publish: add to `ready` without waiting for one's turn */
#define NO_SPACE 3        /* write without waiting for the slots */
#define SPACE_BY_ONE 4    /* wait for one slot too few */
#define WAIT_NO_RING 5    /* wait without making sure that the slot is rung */
#define NO_OWNER 6        /* a CQE is valid whatever its owner bit */
#define LOCK_UNSEEN 7     /* take BUSY of `rung` although that has moved on */
#define NO_OPCODE 8       /* an error CQE taken for success */
#define ERROR_ADVANCES 9  /* `done` goes past an error */
#define BATCH_ONLY 10     /* ring only at a batch's end */
#define TRY_ONCE 11       /* leave if another is busy ringing */
#define NO_DONE_LOCK 12   /* read CQEs although another is busy with it */
#define NO_RECORD 13      /* no doorbell record */
#define CLOSED_FIRST 14   /* close the channel before saying why */
#define PUBLISH_ALIVE 15  /* wait for one's turn to publish even if the channel is dead */
#define FIRST_SIGNALLED 16 /* CQE for the first WQE of a reservation, not for the last */
#define TIMEOUT_FIRST 17  /* a wait may end before it has made sure that its slot is rung */
#define STAYS_OPEN 18     /* a wait for slots runs out of time, and the channel goes on */
#define MUST_STAY 19      /* LATER: never ring, whoever has left its slots to us */
#define DEAD_AT_ONCE 20   /* the channel is dead: forget what was complete before */
/* ... of a poster alone */
#define READY_FIRST 21    /* publish, then say in `rung` that it is rung */
#define ALONE_UNRUNG 22   /* ring first although slots before are not rung */
#define ALONE_BUSY 23     /* ring first although another is busy ringing */
#define ALONE_EARLY 24    /* ring first although slots before are not published */
/* ... of the reader of CQEs */
#define FAR_ERROR 26      /* a far CQE is taken for success although it tells of an error */
#define FAR_CAUSE 27      /* a far CQE that tells of an error is taken for the cause */
#define FAR_NO_OWNER 28   /* a far CQE is valid whatever its owner bit */
#define FAR_BY_ONE 29     /* a far CQE counts as one CQE */
#define DONE_STAYS_BUSY 30 /* nothing there: leave BUSY as it is */
#define RUNG_STAYS_BUSY 31 /* told of: leave BUSY as it is */

/* shmemd_ring_t */
byte resv = FIRST % MOD_RESV, ready = FIRST, rung = FIRST, later;
byte done_cqes, done_slots = FIRST % MOD_DONE, dead;
bit closed, rung_busy, done_busy;

#include "nic.pml"

/* What `done` may say at most, and what it says, without wraps; slots before `must` are published
 * and not to be left unrung. */
#define COMPLETED (failed -> executed : told)
byte completed = FIRST, must = FIRST;

#define REACHED(t) (DIFF(done_slots, t, MOD_DONE) < MOD_DONE / 2)
#define THERE(tail, n) (OPCODE(tail) != INVALID && OWNER(tail) == (n) / DEPTH % 2)
#define VALID(tail, n) \
	(BUG == NO_OWNER || BUG == FAR_NO_OWNER && (n) != w_cqes -> OPCODE(tail) != INVALID : \
	 THERE(tail, n))
#define TO_RING(t) (BUG != WAIT_NO_RING && rung < t && ready >= t)

/* What a thread remembers; rc is what its last call returned. */
#define LOCALS byte rc, start, end, tail, ahead, w_cqes, w_slots, to; bit stays

/* Told of: the record, which the NIC reads when a WQE has failed, and the doorbell. Neither goes
 * back, and the NIC is not told of the same twice. */
#define TELL_RECORD(v) assert((v) > record); record = (BUG == NO_RECORD -> record : v)
#define TELL_DOORBELL(v) assert((v) > doorbell); doorbell = v

/* shmemdi_ring_until */
inline ring_until(t)
{
	do
	:: rung >= t -> break
	:: rung < t && BUG == LOCK_UNSEEN -> to = 1
	:: rung < t && BUG == TRY_ONCE && rung_busy -> break
	:: atomic {
		(rung < t || to) && (!rung_busy || BUG == NO_LOCK) ->
		rung_busy = 1
	   }
		d_step { to = ready; assert(to >= t || BUG == UNORDERED) };
		d_step { TELL_RECORD(to) };
		d_step { TELL_DOORBELL(to) };
		d_step {
			assert(rung < to);
			rung = to;
			rung_busy = (BUG == RUNG_STAYS_BUSY);
			to = 0
		};
		break
	od
}

/* shmemdi_ring_stop */
inline stop(status)
{
	d_step {
		if
		:: BUG == CLOSED_FIRST -> closed = 1
		:: BUG != CLOSED_FIRST && !dead -> dead = status
		:: else
		fi
	};
	d_step {
		if
		:: BUG == CLOSED_FIRST && !dead -> dead = status
		:: BUG != CLOSED_FIRST -> closed = 1
		:: else
		fi
	}
}

/* Who has looked in vain would look again, and again. Here it goes on when there is something to
 * find; with SPINS also whenever the NIC is about to do something. */
#ifdef SPINS
#define SPIN (TO_EXECUTE || TO_TELL || TO_FAIL)
#else
#define SPIN false
#endif
#define WORTH_A_LOOK(to_look) \
	((to_look) || dead || !done_busy && (SPIN || THERE(cqe[done_cqes % DEPTH], done_cqes)))

/* shmemdi_cqe_look, at the CQE that is n ahead of the next one. */
inline look(n)
{
	if
	:: VALID(cqe[(w_cqes + n) % DEPTH], w_cqes + n) &&
	   (OPCODE(cqe[(w_cqes + n) % DEPTH]) != FAILED || n == 0 || BUG == FAR_ERROR ||
	    BUG == FAR_CAUSE || BUG == NO_OPCODE) ->
		tail = cqe[(w_cqes + n) % DEPTH];
		ahead = n
	:: else
	fi
}

/* What `done` is to say. */
inline advance()
{
	tail = w_slots + DIFF(COUNTER(tail), w_slots, MOD_NIC) +
	       BLOCKS(form[COUNTER(tail) % DEPTH]);
	completed = completed + DIFF(tail, done_slots, MOD_DONE);
	done_cqes = (w_cqes + (BUG == FAR_BY_ONE -> 0 : ahead) + 1) % MOD_CQES;
	done_slots = tail % MOD_DONE;
	assert(completed <= COMPLETED)
}

/* Leave BUSY of `done`, and forget. */
inline unlock_done()
{
	done_busy = 0;
	tail = 0;
	ahead = 0;
	w_cqes = 0;
	w_slots = 0
}

#define IS_ERROR (OPCODE(tail) == FAILED && BUG != NO_OPCODE && !(BUG == FAR_ERROR && ahead))

/* shmemdi_consume_from, shmemdi_cqe_read. In C all CQEs are loaded at once. Here the next one is
 * loaded when BUSY is taken, and those farther ahead come later, so that they may be there although
 * the next one was not yet. That C leaves them out when little is under way makes no difference:
 * the NIC may be late. */
inline consume(to_look)
{
	if
	:: d_step {
		BUG == NO_DONE_LOCK || !done_busy ->
		done_busy = 1;
		w_cqes = done_cqes;
		w_slots = done_slots;
		tail = NOTHING;
		look(0)
	   }
		d_step { look(FAR) };
#if DEPTH > 2
		d_step { look(FARTHER) };
#endif
		if
		:: d_step {
			OPCODE(tail) == INVALID ->
			unlock_done();
			done_busy = (BUG == DONE_STAYS_BUSY)
		   }
			(WORTH_A_LOOK(to_look))
		:: d_step {
			IS_ERROR ->
			tail = syndrome[(w_cqes + ahead) % DEPTH];
			assert(tail == CAUSE)
		   }
			stop(tail);
			d_step {
				if
				:: BUG == ERROR_ADVANCES -> tail = cqe[w_cqes % DEPTH]; advance()
				:: else
				fi;
				unlock_done()
			}
		:: d_step {
			OPCODE(tail) != INVALID && !IS_ERROR ->
			advance();
			unlock_done()
		   }
		fi
	:: done_busy && BUG != NO_DONE_LOCK -> (WORTH_A_LOOK(to_look))
	fi
}

/* shmemdi_ring_poll, shmemdi_ring_wait. What was complete before the channel was stopped counts. */
inline wait(t, time_out)
{
	do
	:: REACHED(t) -> rc = OK; break
	:: else ->
		if
		:: dead -> rc = (REACHED(t) && BUG != DEAD_AT_ONCE -> OK : dead); break
		:: !dead && TO_RING(t) -> ring_until(t)
		:: !dead && (time_out) && (!TO_RING(t) || BUG == TIMEOUT_FIRST) ->
			rc = TIMEOUT;
			break
		:: !dead && !TO_RING(t) -> consume(REACHED(t) || TO_RING(t))
		fi
	od
}

inline write(i, index, form_of)
{
	wqe[(i) % DEPTH] = index;
	form[(i) % DEPTH] = form_of;
	unplaced[(i) % DEPTH] = 0
}

/* n blocks; two are one WQE if `wide`. The last WQE asks for a CQE. */
inline write_all(n, wide, kind, my_ticket)
{
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

/* shmemdi_must_ring */
#define MUST_RING(when) \
	((when) == NOW || start / BATCH != end / BATCH || \
	 BUG != BATCH_ONLY && resv == end % MOD_RESV)

/* May a poster ring before it publishes? Once it may, nobody but itself changes that; hence in one
 * step, together with the record. */
#define IS_ALONE(when) \
	((when) != LATER && MUST_RING(when) && (ready == start || BUG == ALONE_EARLY) && \
	 (rung == start || BUG == ALONE_UNRUNG || BUG == ALONE_BUSY && rung_busy) && \
	 (!rung_busy || BUG == ALONE_UNRUNG || BUG == ALONE_BUSY))

/* shmemdi_may_stay */
#define MAY_STAY (rung >= start || later == start || BUG == MUST_STAY)

/* Slots that may stay unrung do not count as those that must not. */
inline publish_now()
{
	if :: !stays && must < end -> must = end :: else fi;
	ready = ready + (end - start)
}

/* A plain store, of BUSY as well. */
inline say_rung()
{
	assert(rung < end);
	rung = end;
	rung_busy = 0
}

/* shmemdi_publish */
inline publish(when)
{
	if
	:: d_step { IS_ALONE(when) -> TELL_RECORD(end) } /* shmemdi_publish_alone */
		d_step { TELL_DOORBELL(end) };
		d_step { if :: BUG == READY_FIRST -> publish_now() :: else -> say_rung() fi };
		d_step { if :: BUG == READY_FIRST -> say_rung() :: else -> publish_now() fi }
	:: else ->
		if
		:: d_step {
			(when) != LATER && (ready == start || BUG == UNORDERED) ->
			publish_now()
		   }
		:: d_step {
			(when) == LATER && ready == start ->
			stays = MAY_STAY;
			later = (stays -> end : later)
		   }
			d_step { publish_now() }
		:: dead && BUG != PUBLISH_ALIVE -> stays = 1 /* dropped; the call succeeds */
		fi;
		if
		:: !stays && MUST_RING(when) -> ring_until(end)
		:: else
		fi;
		stays = 0
	fi
}

/* shmemdi_reserve, WQEs, shmemdi_publish */
inline post(n, wide, kind, my_ticket, when)
{
	d_step {
		rc = closed;
		start = ready + DIFF(resv, ready, MOD_RESV);
		end = start + n;
		resv = (resv + n) % MOD_RESV
	};
	if
	:: rc -> rc = dead; assert(rc)
	:: else ->
		wait(end - DEPTH - (BUG == SPACE_BY_ONE) - (BUG == NO_SPACE -> DEPTH : 0),
		     SPACE_MAY_TIME_OUT);
		if
		:: rc && BUG != STAYS_OPEN -> stop(rc)
		:: rc && BUG == STAYS_OPEN
		:: else ->
			d_step { write_all(n, wide, kind, my_ticket) };
			publish(when)
		fi
	fi
}
