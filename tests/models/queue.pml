/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Posters, which wait for their operations or do not; then a last thread that waits for all. */
#ifndef POSTERS
#define POSTERS 2
#endif
#ifndef CALLS
#define CALLS 1
#endif
#ifndef CALLS0
#define CALLS0 CALLS /* of poster 0 */
#endif
#ifndef KIND0
#define KIND0 PUT
#endif
#ifndef KIND1
#define KIND1 PUT
#endif
#ifndef WAITS
#define WAITS 3 /* bit i: poster i waits for its calls, READs and FETCHes always */
#endif
#ifndef TWO
#define TWO 0 /* bit i: the calls of poster i have two WQEs each */
#endif
#ifndef DEFERS
#define DEFERS 0 /* bit i: poster i defers its doorbells */
#endif
#ifndef NOWS
#define NOWS 0 /* bit i: poster i has its doorbells rung before it returns */
#endif
#ifndef QUIET
#define QUIET 1 /* the last thread waits for all WQEBBs; 0: they are executed without it */
#endif

#include "sq.pml"

#define BIT(mask, i) ((mask) >> (i) & 1)

inline call(kind, n, when, waits)
{
	post(kind, n, when, waits);
	if
	:: waits ->
		d_step { t = (first + n) % MOD_INDEX; mine = at + n - 1; first = 0; at = 0 };
		wait(t);
		d_step {
			assert(effective > mine);
			assert(kind == PUT || answered[mine - FIRST] ||
			       kind == FETCH && ambiguous[mine - FIRST]);
			returned[mine - FIRST] = 1;
			t = 0;
			mine = 0
		}
	:: else
	fi;
	d_step { first = 0; at = 0; HOLD(me, 255) }
}

proctype poster(byte id, kind, n_calls; bit waits)
{
	LOCALS;
	byte t, mine;

	me = id;
	do
	:: n_calls > 0 ->
		call(kind, 1 + BIT(TWO, id), (BIT(DEFERS, id) -> DEFERRED : (BIT(NOWS, id) -> NOW : BATCHED)), waits);
		n_calls--
	:: else -> break
	od;
	atomic { id = 0; kind = 0; waits = 0; n_finished++ }
}

#define RUN(id, kind, n_calls) run poster(id, kind, n_calls, BIT(WAITS, id) || kind != PUT)

init {
	LOCALS;
	byte t, mine;

	atomic {
		n_threads = POSTERS;
		run nic(0);
#if N_PATHS > 1
		run nic(1);
#endif
#if N_PATHS > 2
		run nic(2);
#endif
		RUN(0, KIND0, CALLS0);
#if POSTERS > 1
		RUN(1, KIND1, CALLS);
#endif
#if POSTERS > 2
		RUN(2, PUT, CALLS);
#endif
	};
	(n_finished == POSTERS);
	assert(used);
#if QUIET
	d_step { t = resv; mine = true_resv };
	wait(t);
	assert(effective >= mine)
#else
	(true_ready == true_resv && effective >= true_must)
#endif
}
