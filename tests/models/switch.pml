/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The switch, by the poster in the turn or a helper. f: end of what is published; r: number of the
 * next request there. */

/* Rewrite the WQE at index (true) i for path `to`. b counts requests. */
inline rewrite(from, to, i)
{
	a = form[AT(from, i - base[from])];
	if
	:: IS_REQUEST(a) && BUG != REISSUE_ALL &&
	   LESS(request[AT(from, i - base[from])], first_request[from], MOD_REQUESTS) < prefix ->
		if
		:: KIND(a) == PUT || KIND(a) == READ && BUG == READ_REPLACED -> a = REPLACED | a & SIGNALLED
		:: KIND(a) == FETCH ->
			a = REPLACED | a & SIGNALLED;
			ambiguous[i - FIRST] = (BUG != NOT_TOLD)
		:: else
		fi
	:: else
	fi;
	n_cqes = n_cqes + (a & SIGNALLED) / SIGNALLED;
	wqe[AT(to, i - base[to])] = wqe[AT(from, i - base[from])];
	form[AT(to, i - base[to])] = a;
	request[AT(to, i - base[to])] = b;
	b = b + (IS_REQUEST(a) || BUG == NOPS_COUNTED && KIND(a) == REPLACED)
}

inline switch_path(f, r)
{
	if
	:: ready_rung && BUG != NO_TURN || BUG == NO_RING_LOCK
	:: atomic { (!ready_rung || BUG == NO_TURN) && BUG != NO_RING_LOCK && !rung_busy -> rung_busy = 1; locked = 1 }
	fi;
	if
	:: BUG == NO_CQ_LOCK
	:: atomic { BUG != NO_CQ_LOCK && !done_busy -> done_busy = 1 }
	fi;
	if
	:: !ORDERED /* only without the turn */
	:: else ->
	d_step {
		c = line_path + 1;
		a = done;
		b = done_cqes;
		if :: BUG != CQES_UNREAD -> read_cqes(c - 1, a, b) :: else fi;
		base[c] = true_ready - (BUG == BASE_READY -> 0 : LESS(ready, a, MOD_INDEX));
		end = base[c];
		n_cqes = 0;
		b = 0;
		do
		:: end < true_ready -> rewrite(c - 1, c, end); end++
		:: else -> break
		od;
		/* Requests of the new path are numbered so that posters need no correction. */
		first_request[c] = ((r) + MOD_REQUESTS - b) % MOD_REQUESTS;
		end = base[c];
		do
		:: end < true_ready ->
			request[AT(c, end - base[c])] = (request[AT(c, end - base[c])] + first_request[c]) % MOD_REQUESTS;
			end++
		:: else -> break
		od;
		a = 0;
		b = 0;
		end = 0
	};
	if :: BUG == EPOCH_FIRST -> ready_epoch = EPOCH(c) :: else fi;
#ifdef TEAR
	line_queue = c;
	line_path = c;
#else
	d_step { line_queue = c; line_path = c };
#endif
	if :: BUG != NOT_RUNG -> RING(c, f) :: else fi;
	d_step {
		done = base[c] % MOD_INDEX;
		done_cqes = (BUG == CQES_KEPT -> done_cqes : 0);
		if :: BUG != RUNG_OLD && !ready_rung -> rung = f :: else fi;
		if :: locked && BUG != UNLOCK_LATE -> rung_busy = 0; locked = 0 :: else fi
	};
	/* Publish the new epoch, added to the value of `ready` at the start of the switch. A helper has the
	 * turn no longer: the next poster may publish. */
	d_step {
		assert(ready == f && (ready_epoch == EPOCH(c - 1) || BUG == EPOCH_FIRST));
		ready_epoch = EPOCH(c);
		ready_cqes = (BUG == CQES_KEPT -> ready_cqes : n_cqes);
		ready_rung = 1;
		ready_deferred = 0
	};
	d_step {
		/* A helper has advanced the epoch of the reservation word before: later posters never
		 * used the old queue. */
		if :: c == 1 -> retired = (resv_epoch == EPOCH(c) -> true_ready : true_resv) :: else fi;
		resv_epoch = EPOCH(c);
		carried_out = c;
		c = 0;
		n_cqes = 0
	}
	fi;
	d_step {
		if :: locked -> rung_busy = 0; locked = 0 :: else fi;
		if :: BUG != NO_CQ_LOCK -> done_busy = 0 :: else fi
	}
}
