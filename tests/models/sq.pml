/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The protocol of a send queue and of its switch to another path, for the models that include this.
 * The words are those of shmemd_channel_t (include/shmem_dev/abi/queue.h).
 *
 * A step is one access to shared memory, in one order that all threads agree on: weak memory and
 * fences are not modelled. Accesses share a step if no other thread can observe the difference:
 * under a lock, or in the turn to words that only the thread in the turn changes. A loop that spins
 * waits here until it can continue, so that a hang is an invalid end state.
 *
 * Words that wrap in C wrap here as early as the protocol allows; FIRST lies just below. A name that
 * begins with `true_` counts without wrap-around, for the assertions only. */
#ifndef DEPTH
#define DEPTH 2
#endif
#ifndef FAILURES
#define FAILURES 1 /* paths that may fail, one after the other */
#endif
#ifndef MOD_INDEX
#define MOD_INDEX 16 /* 2^32 in C */
#endif
#ifndef BATCH
#define BATCH 64 /* power of two; 64: no batch ends within a run */
#endif
#ifndef BUG
#define BUG 0
#endif
#define N_PATHS (FAILURES + 1)
#define N_MEM N_PATHS
#define MOD_NIC (2 * DEPTH)  /* 2^16: the device's counters */
#define MOD_CQES (2 * DEPTH) /* 2^16: numbers of CQEs */
#define MOD_REQUESTS 16      /* 2^24 */
#define MOD_EPOCHS 4         /* 2^8 */
#define FIRST (MOD_INDEX - 1)
#define FIRST_REQUEST (MOD_REQUESTS - 1)
#define EPOCH(path) (((path) + MOD_EPOCHS - 1) % MOD_EPOCHS)
#ifdef WRAPS
#define MAX_POSTED 20
#else
#define MAX_POSTED 14
#endif

/* Words that wrap are compared by the low bits of their difference. */
#define LESS(a, b, mod) (((a) + (mod) - (b)) % (mod))
#define REACHED(a, b) (LESS(a, b, MOD_INDEX) < MOD_INDEX / 2)

/* When to ring the doorbell. */
#define BATCHED 0
#define NOW 1
#define DEFERRED 2

#include "mistakes.pml"

/* shmemd_channel_t. Each of the words resv, ready, rung, done and flush changes in one step. */
byte resv = FIRST, resv_request = FIRST_REQUEST, resv_epoch = EPOCH(0), true_resv = FIRST;
byte ready = FIRST, ready_cqes, ready_epoch = EPOCH(0), true_ready = FIRST;
byte true_must = FIRST; /* WQEBBs whose doorbell is not deferred */
bit ready_rung = 1, ready_deferred;
byte rung = FIRST - 3; /* not valid while ready_rung */
bit rung_busy, done_busy;
byte done = FIRST, done_cqes;
/* Two words name the path: one the queue's memory, one the doorbell and the base. Each has its tag,
 * which is EPOCH(path). */
byte line_queue, line_path;
#ifdef FLUSHES
byte flush = FIRST, flush_number, flush_epoch = EPOCH(0);
#endif
/* Set by posters that find the queue idle, so that a quiet covers the channel. */
bit used;

#include "device.pml"

/* The state of a thread: its reservation (first, request, at: first without wrap-around); its
 * snapshot (s_), later with the `ready` of its turn; CQE by which its last WQE completes, if
 * `numbered`; temporaries. */
#define LOCALS                                                                                     \
	byte me, first, at, my_request, my_epoch, s_ready, s_cqes, s_done, s_epoch, s_queue, s_path, number, end, n_cqes, \
		a, b, c;                                                                           \
	bit s_rung, s_deferred, waited, numbered, must, flushes, locked

#define ORDERED (order > line_path)
#define CQES_TO_READ (CQE_IS_NEXT(line_queue, done_cqes))
#define CQE_AT(p, number) cqe[MEMORY(p) * DEPTH + (number) % DEPTH]
#define CQE_IS_NEXT(p, number)                                                                     \
	(CQE_AT(p, number) != INVALID &&                                                           \
	 (CQE_OWNER(CQE_AT(p, number)) == (number) / DEPTH % 2 || BUG == NO_OWNER))

/* The doorbell has been rung for the WQEBBs before t, which are published. */
#define RUNG_FOR(t) (ready_rung || REACHED(rung, t))

/* Ring. The rules for RUNG and the lock exclude other threads; otherwise the NIC's assertion finds a
 * value that goes back. */
#define RING(p, until) doorbell[p] = ((until) + MOD_INDEX - base[p] % MOD_INDEX) % MOD_NIC

/* Completion queue */

/* Read CQEs in order from `number`, as far as they have arrived, and advance `index` accordingly. */
inline read_cqes(p, index, number_)
{
	do
	:: CQE_IS_NEXT(p, number_) ->
		index = (index + LESS(CQE_COUNTER(CQE_AT(p, number_)),
				      (index + MOD_INDEX - base[p] % MOD_INDEX) % MOD_NIC, MOD_NIC) +
			 1) % MOD_INDEX;
		number_ = (number_ + 1) % MOD_CQES;
		if :: BUG == NO_OWNER -> break :: else fi
	:: else -> break
	od
}

/* A thread that needs `done` to advance. */
inline consume()
{
	c = line_queue;
	if
	:: atomic { !done_busy || BUG == NO_DONE_LOCK -> done_busy = 1 }
		d_step {
			if :: BUG != QUEUE_BEFORE_LOCK -> c = line_queue :: else fi;
			a = done;
			b = done_cqes;
			read_cqes(c, a, b)
		};
		d_step { done = a; done_cqes = b; done_busy = 0; a = 0; b = 0; c = 0 }
	:: done_busy && BUG != NO_DONE_LOCK -> c = 0
	fi
}

/* Doorbell */

/* Return once the doorbell covers everything before t. By a thread that has published that without
 * RUNG, or has seen it published and `ready` without RUNG. */
inline ring_unrung(t)
{
	do
	:: atomic { REACHED(rung, t) || !rung_busy || BUG == RING_ONCE -> b = rung }
		if
		:: REACHED(b, t) -> break
		:: else ->
			if
			:: BUG == LINE_BEFORE_LOCK || BUG == READY_BEFORE_LOCK ->
				d_step { a = line_path; c = ready }
			:: else
			fi;
			if
			:: atomic { !rung_busy && (rung == b || BUG == LOCK_ANY) -> rung_busy = 1 };
				d_step {
					if :: BUG != LINE_BEFORE_LOCK -> a = line_path :: else fi;
					if :: BUG != READY_BEFORE_LOCK -> c = ready :: else fi
				};
				RING(a, c);
				d_step { rung = c; rung_busy = 0 };
				break
			:: rung_busy || rung != b -> if :: BUG == RING_ONCE -> break :: else fi
			fi
		fi
	od;
	atomic { assert(RUNG_FOR(t)); a = 0; b = 0; c = 0 }
}

/* Is a thread that waits for index t to ring? In C it loads `ready` twice, and goes on if RUNG is
 * clear both times, which the first time adds nothing to. If `rung` covers t already, it does
 * nothing, which is left out here. */
#define TO_RING(t)                                                                                 \
	(BUG == OLD_RUNG ||                                                                      \
	 (!ready_rung || BUG == NEED_IGNORES_RUNG) && REACHED(ready, t) && !REACHED(rung, t) &&    \
	 BUG != WAIT_UNRUNG)

inline ring_until(t)
{
	if :: BUG == OLD_RUNG -> b = rung :: else fi;
	if
	:: BUG == OLD_RUNG && !ready_rung && REACHED(ready, t) && REACHED(b, t) ->
		assert(RUNG_FOR(t))
	:: BUG == OLD_RUNG && (ready_rung || !REACHED(ready, t))
	:: else -> ring_unrung(t)
	fi;
	b = 0
}

#include "switch.pml"

/* Posting */

#define TORN (EPOCH(s_queue) != s_epoch || EPOCH(s_path) != s_epoch)
/* The epoch of the snapshot is older than that of the reservation. */
#define OLD (LESS(s_epoch, my_epoch, MOD_EPOCHS) >= MOD_EPOCHS / 2 && BUG != NO_RESV_EPOCH)

inline load_ready()
{
	s_ready = ready;
	s_cqes = ready_cqes;
	s_epoch = ready_epoch;
	s_rung = ready_rung;
	s_deferred = ready_deferred
}

inline load_line()
{
	d_step { load_ready(); s_done = done; s_queue = line_queue; s_path = line_path }
}

/* WRAPS: runs so long that words take the same values again. A thread that holds an index is
 * not suspended while the index advances by half its range: it loads the line after it has reserved. */
#ifdef WRAPS
byte held[3] = 255;
#define MAY_RESERVE(i) (held[i] == 255 || true_resv < held[i] + MOD_INDEX / 2 - DEPTH)
#define AWAKE (MAY_RESERVE(0) && MAY_RESERVE(1) && MAY_RESERVE(2))
#define HOLD(id, index) held[id] = index
#else
#define AWAKE true
#define HOLD(id, index) skip
#endif

inline reserve(n, n_requests)
{
	d_step {
		AWAKE ->
		first = resv;
		at = true_resv;
		HOLD(me, at);
		my_request = resv_request;
		my_epoch = resv_epoch;
		resv = (resv + n) % MOD_INDEX;
		resv_request = (resv_request + n_requests) % MOD_REQUESTS;
		true_resv = true_resv + n;
		assert(true_resv - FIRST <= MAX_POSTED)
	}
}

/* The fetch-add and the loads of the line, which the GPU carries out in any order. */
inline snapshot(n, n_requests)
{
#ifdef TEAR
	a = 0;
	do
	:: a == 15 -> break
	:: !(a & 1) -> reserve(n, n_requests); a = a | 1
	:: !(a & 2) -> d_step { load_ready(); s_done = done; a = a | 2 }
	:: !(a & 4) -> d_step { s_queue = line_queue; a = a | 4 }
	:: !(a & 8) -> d_step { s_path = line_path; a = a | 8 }
	od;
	a = 0;
#else
	if
	:: reserve(n, n_requests); load_line()
#ifndef WRAPS
	:: load_line(); reserve(n, n_requests)
#endif
	fi;
#endif
	if
	:: BUG == NO_TAGS || BUG == TAGS_LATE
	:: else ->
		do
		:: TORN || OLD -> load_line()
		:: else -> break
		od
	fi
}

/* The reservation is newer than `ready`: a thread that helps carries out the order. */
#define HELPED_BY_ANOTHER (LESS(ready_epoch, my_epoch, MOD_EPOCHS) >= MOD_EPOCHS / 2)

/* Wait until the WQEBBs before index f + n are free. The thread in the turn checks for an order. */
#define SPACE(d, f, n)                                                                             \
	(BUG == NO_SPACE || REACHED(d, ((f) + (n) + MOD_INDEX - DEPTH - (BUG == SPACE_BY_ONE)) % MOD_INDEX))

inline wait_space(f, n)
{
	if
	:: SPACE(s_done, f, n)
	:: else ->
		do
		:: SPACE(done, f, n) -> break
		:: else ->
			if
			:: SPACE(done, f, n)
			:: ready == f && ORDERED && !HELPED_BY_ANOTHER && BUG != BLOCKED_BLIND ->
				switch_path(f, my_request)
			:: TO_RING((f + n + MOD_INDEX - DEPTH) % MOD_INDEX) ->
				ring_until((f + n + MOD_INDEX - DEPTH) % MOD_INDEX)
			:: CQES_TO_READ && !done_busy -> consume()
			fi
		od;
		if
		:: BUG == OLD_SNAPSHOT
		:: else ->
			do
			:: load_line(); if :: !TORN -> break :: else fi
			od
		fi
	fi
}

inline write_wqe(i, kind)
{
	wqe[POSITION(s_queue, first + i)] = at + i;
	form[POSITION(s_queue, first + i)] = kind;
	request[POSITION(s_queue, first + i)] = (my_request + i) % MOD_REQUESTS
}

/* The last WQE of the reservation requests a CQE. */
inline write_wqes(kind, n)
{
	d_step {
		if
		:: n == 2 -> write_wqe(0, kind); write_wqe(1, (kind) | SIGNALLED)
		:: else -> write_wqe(0, (kind) | SIGNALLED)
		fi
	}
}

/* Publish the WQEBBs before `end`: by a store of the word that this poster loaded when it got the
 * turn, with its epoch, which no other thread may have advanced since; or by compare-and-swap. */
#define READY_EPOCH (BUG == READY_OLD_EPOCH -> my_epoch : s_epoch)
inline publish(is_rung, is_deferred)
{
	assert(ready_epoch == READY_EPOCH);
	true_ready = true_ready + LESS(end, ready, MOD_INDEX);
	true_must = (is_deferred -> true_must : true_ready);
	ready = end;
	ready_epoch = READY_EPOCH;
	ready_cqes = (s_cqes + 1) % MOD_CQES;
	ready_rung = is_rung;
	ready_deferred = is_deferred;
	assert(true_ready <= true_resv)
}

/* By the poster of a quiet's READ, in its turn, before it publishes. */
#ifdef FLUSHES
#define ENDS_STEP (first / (MOD_INDEX / 4) != end / (MOD_INDEX / 4))
#define NOTES_FLUSH (flushes || ENDS_STEP)
inline store_flush(now)
{
	if
	:: d_step {
		(now) && flushes ->
		flush = (BUG == FLUSH_READY -> ready : (first + 1) % MOD_INDEX);
		flush_number = s_cqes;
		flush_epoch = s_epoch
	   }
	:: d_step {
		/* Keep `flush` from lagging by the whole range of indexes, where it would seem to
		 * cover everything. If it lags by little, a thread may be about to wait for it. */
		(now) && !flushes && ENDS_STEP && LESS(first, flush, MOD_INDEX) >= MOD_INDEX / 4 &&
		BUG != FLUSH_FAR ->
		flush = (first + MOD_INDEX - MOD_INDEX / 4) % MOD_INDEX;
		flush_epoch = s_epoch
	   }
	:: else
	fi
}
#else
#define NOTES_FLUSH false
#define store_flush(now) skip
#endif

#define BATCH_ENDS (first / BATCH != end / BATCH)

/* May this poster leave its doorbell to a waiter or to a later poster, whether there is one or not?
 * If not, it rings before it returns if MUST_AT_ONCE, or if nobody has reserved behind it. */
#define MAY_DEFER(when) ((when) == DEFERRED && (s_rung || s_deferred || BUG == DEFER_ALWAYS))

#define MUST_AT_ONCE(when)                                                                         \
	((when) == NOW && BUG != NOW_IGNORED || BATCH_ENDS && BUG != BATCH_IGNORED)
#define IS_LAST (resv == end)

/* In the turn, with the WQEs before `end` written for the current path. Afterwards `must` says
 * whether the poster is to ring after its turn. waited: its snapshot was of an earlier turn. */
inline finish(when)
{
	store_flush(BUG != FLUSH_READY);
	must = !MAY_DEFER(when) &&
	       (!waited && (s_rung || s_deferred) || IS_LAST && BUG != ALWAYS_LEAVE);
	if
	:: must && (s_rung || BUG == RING_UNLOCKED) ->
		if
		:: BUG == RUNG_FIRST -> d_step { publish(1, 0) }; RING(s_path, end)
		:: else -> RING(s_path, end); d_step { publish(1, 0) }
		fi;
		must = 0
	:: must && !s_rung && BUG != RING_UNLOCKED ->
		atomic { !rung_busy -> rung_busy = 1 };
		RING(s_path, end);
		d_step { rung = end; rung_busy = 0 };
		d_step { publish(1, 0); must = 0 }
	:: !must ->
		if
		:: (s_rung || BUG == RUNG_STORED) && BUG != RUNG_AFTER_READY &&
		   BUG != RUNG_NOT_STORED && BUG != RUNG_KEPT ->
			d_step { rung = first; rung_busy = 0 }
		:: else
		fi;
		d_step {
			publish(BUG == RUNG_KEPT && s_rung, MAY_DEFER(when));
			must = !MAY_DEFER(when) && MUST_AT_ONCE(when)
		};
		if
		:: s_rung && BUG == RUNG_AFTER_READY -> d_step { rung = first; rung_busy = 0 }
		:: else
		fi
	fi;
	store_flush(BUG == FLUSH_READY)
}

/* Can a poster that waits for its turn publish by compare-and-swap? In C that may fail although all
 * of this is so, since the poster expected another number of CQEs or another DEFERRED. Then it has
 * the turn, `ready` stays as it is, and the poster adds to it. Other threads cannot tell that from
 * a compare-and-swap that comes later. */
#define SWAPS                                                                                      \
	(ready == first && (ready_epoch == EPOCH(s_path) || BUG == CAS_ANY_EPOCH) &&               \
	 (!ready_rung || BUG == CAS_WITH_RUNG) && (!NOTES_FLUSH || BUG == CAS_NO_FLUSH))

inline wait_turn(kind, n, when)
{
	if :: BUG == FOLLOWED_BEFORE -> must = IS_LAST :: else fi;
	if
	:: d_step { SWAPS -> load_ready(); publish(0, MAY_DEFER(when)) };
		must = !MAY_DEFER(when) &&
		       (MUST_AT_ONCE(when) ||
			(BUG == FOLLOWED_BEFORE -> must : IS_LAST) && BUG != LEAVE_SWAPPED)
	:: d_step { ready == first && !SWAPS -> load_ready(); waited = 1 };
		if
		:: (s_epoch != EPOCH(s_queue) || s_epoch != EPOCH(s_path)) &&
		   BUG != NO_EPOCH_CHECK ->
			load_line();
			assert(!TORN || BUG == EPOCH_FIRST);
			write_wqes(kind, n)
		:: else
		fi;
		finish(when)
	fi
}

inline post(kind, n, when, by_number)
{
	snapshot(n, n);
	numbered = 0;
	wait_space(first, n);
	/* A poster on an idle queue. */
	if
	:: s_ready == first && s_done == first && BUG != USED_LATE -> used = 1
	:: else
	fi;
	write_wqes(kind, n);
	end = (first + n) % MOD_INDEX;
	if
	:: s_ready == first || BUG == NO_TURN_CHECK ->
		finish(when);
		if :: BUG == USED_LATE -> used = 1 :: else fi
	:: else -> wait_turn(kind, n, when)
	fi;
	if :: must -> ring_unrung(end) :: else fi;
	d_step {
		assert((when) == DEFERRED || (when) == BATCHED && !BATCH_ENDS || RUNG_FOR(end));
		if
		:: by_number -> number = s_cqes; numbered = 1
		:: else -> s_epoch = 0; s_queue = 0
		fi;
		s_ready = 0; s_cqes = 0; s_done = 0; s_rung = 0; s_deferred = 0; s_path = 0;
		waited = 0; my_request = 0; my_epoch = 0; end = 0; must = 0
	}
}

/* Waiting */

/* Returns whether the CQE of the thread's last WQE, of index t - 1, has arrived. */
#define MINE(t)                                                                                    \
	(numbered && CQE_IS_NEXT(s_queue, number) &&                                               \
	 CQE_COUNTER(CQE_AT(s_queue, number)) == ((t) + 2 * MOD_INDEX - 1 - base[s_queue] % MOD_INDEX) % MOD_NIC)

/* A thread that waits carries out the order. It moves on the epoch of the reservation word by
 * compare-and-swap, which succeeds only if everything reserved is published: no thread has the turn, and
 * later posters wait for a line of the new epoch. Otherwise the thread in the turn either continues, or
 * waits for space and switches. */
#define TO_HELP                                                                                    \
	(ORDERED && (resv == ready && resv_epoch == ready_epoch || BUG == NO_TURN) && BUG != NO_HELP)

/* `ready` is loaded first, and is unchanged if the compare-and-swap succeeds. */
#define MAY_HELP                                                                                   \
	(ORDERED && resv == a && resv_epoch == b && EPOCH(order) == (b + 1) % MOD_EPOCHS)

inline claim()
{
	resv_epoch = (BUG == HELP_UNSEEN -> resv_epoch : EPOCH(order));
	first = a;
	my_request = (resv_request + MOD_REQUESTS - LESS(resv, a, MOD_INDEX)) % MOD_REQUESTS;
	a = 0;
	b = 0
}

inline help()
{
	if
	:: BUG == NO_TURN -> switch_path(ready, (resv_request + MOD_REQUESTS - LESS(resv, ready, MOD_INDEX)) % MOD_REQUESTS)
	:: else ->
		d_step { a = ready; b = ready_epoch };
		if
		:: BUG == HELP_ADDS && MAY_HELP -> d_step { claim() }
		:: atomic { BUG != HELP_ADDS && MAY_HELP -> claim() }
		:: !MAY_HELP -> a = 255
		fi;
		if
		:: a == 255
		:: else -> switch_path(first, my_request)
		fi;
		d_step { my_request = 0; first = 0; a = 0; b = 0 }
	fi
}

/* Wait until the WQEBBs before index t have completed. */
inline wait(t)
{
	do
	:: REACHED(done, t) -> break
	:: else ->
		if
		:: REACHED(done, t)
		:: BUG == EPOCH_THEN_CQE && numbered && ready_epoch == s_epoch ->
			if
			:: MINE(t) -> break
			:: else
			fi
		:: MINE(t) && BUG != EPOCH_THEN_CQE ->
			if
			:: ready_epoch == s_epoch || BUG == STALE_NUMBER -> break
			:: else -> numbered = 0
			fi
		:: numbered && ready_epoch != s_epoch && BUG != STALE_NUMBER -> numbered = 0
		:: TO_RING(t) -> ring_until(t)
		:: !numbered && CQES_TO_READ && !done_busy -> consume()
		:: TO_HELP -> help()
		fi
	od;
	atomic { number = 0; numbered = 0; s_epoch = 0; s_queue = 0 }
}
