/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A queue without switches, on which bounce.pml checks bounce buffers. Its protocol is simpler than
 * that of sq.pml and of the code: a channel that has failed has variables of its own for that
 * (`dead`, `closed`), and so has a deferred doorbell (`deferred_end`); `ready` has neither an epoch
 * nor RUNG; a poster that is not the only one publishes, and then rings.
 *
 * A step is one access to shared memory, in one order for all threads: weak memory and fences are
 * not modelled. A loop that spins waits here until it can continue, so that a hang is an invalid
 * end state. Words that wrap in C wrap here as early as the protocol allows, and FIRST is just
 * below; others do not wrap here.
 *
 * A word with BUSY is two variables here, which change in one step. A load of it that finds BUSY
 * clear and the following compare-and-swap are one step as well: if the latter succeeds, the word
 * has not changed since the load, and if it fails, the load has no effect. */
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
#define SPACE_MAY_TIME_OUT false /* a wait for WQEBBs; it ends the channel */
#endif
#ifndef BUG
#define BUG 0
#endif

#define FIRST 15             /* index of the first WQEBB */
#define MOD_NIC (2 * DEPTH)  /* 2^16 in C: the NIC's counters */
#define MOD_CQES (2 * DEPTH) /* 2^16: CQEs in `done` */
#define MOD_RESV 8           /* 2^32: WQEBBs in `resv` */
#define MOD_DONE 16          /* 2^47: WQEBBs in `done` */
#define DIFF(a, b, mod) (((a) % (mod) + (mod) - (b) % (mod)) % (mod))

/* CQEs that are probed besides the next one, counted from it: in C at an eighth and at half of the
 * CQEs outstanding, here, with few CQEs, the second and the last. */
#define NEAR 1
#define FAR (DEPTH - 1)

/* When to ring: shmemd_ring_mode. */
#define BATCHED 0
#define NOW 1
#define DEFERRED 2

/* Statuses. */
#define OK 0
#define CAUSE 1
#define FLUSHED 2 /* an error, but not the cause */
#define TIMEOUT 3

/* Mistakes, for BUG. */
#define NO_LOCK 1         /* ring although another thread holds the lock */
#define UNORDERED 2       /* publish: add to `ready` without waiting for the turn */
#define NO_SPACE 3        /* write without waiting for the WQEBBs */
#define SPACE_BY_ONE 4    /* wait for one WQEBB too few */
#define WAIT_NO_RING 5    /* wait without making sure that the doorbell was rung */
#define NO_OWNER 6        /* a CQE is valid whatever its owner bit */
#define LOCK_UNSEEN 7     /* take BUSY of `rung` although the word has advanced */
#define NO_OPCODE 8       /* an error CQE taken for success */
#define ERROR_ADVANCES 9  /* `done` goes past an error */
#define BATCH_ONLY 10     /* ring only at a batch's end */
#define TRY_ONCE 11       /* return if another thread holds the lock */
#define NO_DONE_LOCK 12   /* read CQEs although another thread does */
#define NO_RECORD 13      /* no doorbell record */
#define CLOSED_FIRST 14   /* close the channel before storing the cause */
#define PUBLISH_ALIVE 15  /* wait for the turn even if the channel has failed */
#define FIRST_SIGNALLED 16 /* CQE for the first WQE of a reservation, not for the last */
#define TIMEOUT_FIRST 17  /* a wait may end before its doorbell was rung */
#define STAYS_OPEN 18     /* a wait for WQEBBs times out, and the channel continues */
#define ALWAYS_DEFER 19      /* DEFERRED: never ring, even if an earlier poster relies on it */
#define DEAD_AT_ONCE 20   /* after a failure drop what was complete before */
/* ... of a poster on an idle queue */
#define READY_FIRST 21    /* publish, then store `rung` */
#define ALONE_UNRUNG 22   /* ring first although earlier WQEBBs are not rung */
#define ALONE_BUSY 23     /* ring first although another thread holds the lock */
#define ALONE_EARLY 24    /* ring first although earlier WQEBBs are not published */
/* ... of the reader of CQEs */
#define FAR_ERROR 26      /* a far CQE with an error is taken for success */
#define FAR_CAUSE 27      /* a far CQE with an error is taken for the cause */
#define FAR_NO_OWNER 28   /* a far CQE is valid whatever its owner bit */
#define FAR_BY_ONE 29     /* a far CQE counts as one CQE */
#define DONE_STAYS_BUSY 30 /* no CQE: leave BUSY set */
#define RUNG_STAYS_BUSY 31 /* after ringing leave BUSY set */

/* The words of the channel. */
byte resv = FIRST % MOD_RESV, ready = FIRST, rung = FIRST, deferred_end;
byte done_cqes, done_wqebbs = FIRST % MOD_DONE, dead;
bit closed, rung_busy, done_busy;

#include "nic.pml"

/* The largest valid value of `done`, and its value, both without wraps. WQEBBs before `must` are
 * published, and their doorbell was not deferred. */
#define COMPLETED (failed -> executed : reported)
byte completed = FIRST, must = FIRST;

#define REACHED(t) (DIFF(done_wqebbs, t, MOD_DONE) < MOD_DONE / 2)
#define THERE(tail, n) (OPCODE(tail) != INVALID && OWNER(tail) == (n) / DEPTH % 2)
#define VALID(tail, n) \
	(BUG == NO_OWNER || BUG == FAR_NO_OWNER && (n) != w_cqes -> OPCODE(tail) != INVALID : \
	 THERE(tail, n))
#define TO_RING(t) (BUG != WAIT_NO_RING && rung < t && ready >= t)

/* The state of a thread; rc is the result of its last call. */
#define LOCALS byte rc, start, end, tail, ahead, w_cqes, w_wqebbs, to; bit is_deferred

/* Ringing: the record, which the NIC reads when a WQE has failed, then the doorbell. Neither goes
 * back, and no value is written twice. */
#define WRITE_RECORD(v) assert((v) > record); record = (BUG == NO_RECORD -> record : v)
#define WRITE_DOORBELL(v) assert((v) > doorbell); doorbell = v

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
		d_step { WRITE_RECORD(to) };
		d_step { WRITE_DOORBELL(to) };
		d_step {
			assert(rung < to);
			rung = to;
			rung_busy = (BUG == RUNG_STAYS_BUSY);
			to = 0
		};
		break
	od
}

/* End the channel. */
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

/* In C a thread that has polled without success polls again. Here it continues when a poll would
 * succeed; with SPINS also whenever the NIC can make a step. */
#ifdef SPINS
#define SPIN (TO_EXECUTE || TO_REPORT || TO_FAIL)
#else
#define SPIN false
#endif
#define MAY_POLL_AGAIN(poll_now) \
	((poll_now) || dead || !done_busy && (SPIN || THERE(cqe[done_cqes % DEPTH], done_cqes)))

/* Probe the CQE that is n after the next one. */
inline probe(n)
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

/* Advance `done`. */
inline advance()
{
	tail = w_wqebbs + DIFF(COUNTER(tail), w_wqebbs, MOD_NIC) +
	       WQEBBS(form[COUNTER(tail) % DEPTH]);
	completed = completed + DIFF(tail, done_wqebbs, MOD_DONE);
	done_cqes = (w_cqes + (BUG == FAR_BY_ONE -> 0 : ahead) + 1) % MOD_CQES;
	done_wqebbs = tail % MOD_DONE;
	assert(completed <= COMPLETED)
}

/* Clear BUSY of `done`, and the thread's copies. */
inline unlock_done()
{
	done_busy = 0;
	tail = 0;
	ahead = 0;
	w_cqes = 0;
	w_wqebbs = 0
}

#define IS_ERROR (OPCODE(tail) == FAILED && BUG != NO_OPCODE && !(BUG == FAR_ERROR && ahead))

/* Read CQEs. In C all of them are loaded at once. Here the next one is loaded when BUSY is set, and
 * those further ahead later, so that they may have arrived although the next one had not. C skips
 * them if few WQEBBs are in flight, which makes no difference: the NIC may be late. */
inline consume(poll_now)
{
	if
	:: d_step {
		BUG == NO_DONE_LOCK || !done_busy ->
		done_busy = 1;
		w_cqes = done_cqes;
		w_wqebbs = done_wqebbs;
		tail = NOTHING;
		probe(0)
	   }
		d_step { probe(NEAR) };
#if DEPTH > 2
		d_step { probe(FAR) };
#endif
		if
		:: d_step {
			OPCODE(tail) == INVALID ->
			unlock_done();
			done_busy = (BUG == DONE_STAYS_BUSY)
		   }
			(MAY_POLL_AGAIN(poll_now))
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
	:: done_busy && BUG != NO_DONE_LOCK -> (MAY_POLL_AGAIN(poll_now))
	fi
}

/* Wait for index t. What was complete before the channel failed counts. */
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

/* Write n WQEBBs; two are one WQE if `wide`. The last WQE requests a CQE. */
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

/* Must the poster of the WQEBBs before `end` ring the doorbell? */
#define MUST_RING(when) \
	((when) == NOW || start / BATCH != end / BATCH || \
	 BUG != BATCH_ONLY && resv == end % MOD_RESV)

/* May a poster ring before it publishes? No other thread can make this false again, so the test
 * and the store of the record are one step. */
#define IS_ONLY_POSTER(when) \
	((when) != DEFERRED && MUST_RING(when) && (ready == start || BUG == ALONE_EARLY) && \
	 (rung == start || BUG == ALONE_UNRUNG || BUG == ALONE_BUSY && rung_busy) && \
	 (!rung_busy || BUG == ALONE_UNRUNG || BUG == ALONE_BUSY))

/* May the doorbell for [start, end) be deferred? */
#define MAY_DEFER (rung >= start || deferred_end == start || BUG == ALWAYS_DEFER)

/* Publish. WQEBBs whose doorbell is deferred do not advance `must`. */
inline publish_now()
{
	if :: !is_deferred && must < end -> must = end :: else fi;
	ready = ready + (end - start)
}

/* Store `rung` with BUSY clear. */
inline store_rung()
{
	assert(rung < end);
	rung = end;
	rung_busy = 0
}

inline publish(when)
{
	if
	:: d_step { IS_ONLY_POSTER(when) -> WRITE_RECORD(end) }
		d_step { WRITE_DOORBELL(end) };
		d_step { if :: BUG == READY_FIRST -> publish_now() :: else -> store_rung() fi };
		d_step { if :: BUG == READY_FIRST -> store_rung() :: else -> publish_now() fi }
	:: else ->
		if
		:: d_step {
			(when) != DEFERRED && (ready == start || BUG == UNORDERED) ->
			publish_now()
		   }
		:: d_step {
			(when) == DEFERRED && ready == start ->
			is_deferred = MAY_DEFER;
			deferred_end = (is_deferred -> end : deferred_end)
		   }
			d_step { publish_now() }
		:: dead && BUG != PUBLISH_ALIVE -> is_deferred = 1 /* dropped; the call succeeds */
		fi;
		if
		:: !is_deferred && MUST_RING(when) -> ring_until(end)
		:: else
		fi;
		is_deferred = 0
	fi
}

/* Reserve, wait for space, write the WQEs, publish. */
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
