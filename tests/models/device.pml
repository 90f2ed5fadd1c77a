/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The device side of a channel: the paths, each with a queue pair, queue memory, a completion queue
 * and a doorbell (include/shmem_dev/abi/mlx5.h), the responder, and the host that fences a failed
 * path and orders the switch to the next one.
 *
 * Path p belongs to the p-th epoch. A path may fail at any moment: acknowledgements are lost, the
 * responder still executes requests that were under way until it is fenced, and CQEs that the NIC
 * has begun to write become visible late. */

/* WQEBBs: the index they were written for, kind of WQE, number of its request. */
#define PUT 1
#define READ 2
#define FETCH 3
#define REPLACED 4 /* NOP that the switch wrote in place of an executed PUT or FETCH */
#define SIGNALLED 8
#define KIND(form) ((form) & 7)
#define IS_REQUEST(form) (KIND(form) <= FETCH)
#define UNWRITTEN 255
byte wqe[N_MEM * DEPTH] = UNWRITTEN, form[N_MEM * DEPTH], request[N_MEM * DEPTH];

/* A CQE is one word: counter of its WQE on the device, and owner bit. */
#define CQE(number, counter) ((counter) % MOD_NIC * 2 + (number) / DEPTH % 2)
#define CQE_OWNER(cqe) ((cqe) % 2)
#define CQE_COUNTER(cqe) ((cqe) / 2)
#define INVALID 255
byte cqe[N_MEM * DEPTH] = INVALID;

/* Per path: memory that holds its queues; index of the WQEBB that the device counts as its first
 * (here without wrap-around); number of the first request. */
byte base[N_PATHS] = FIRST, first_request[N_PATHS] = FIRST_REQUEST;
#ifdef REUSE
byte memory[N_PATHS];
#define MEMORY(p) memory[p]
#else
#define MEMORY(p) (p)
#endif

/* Per path, counted by the device: doorbell register (low bits), WQEBBs executed, WQEBBs completed,
 * CQEs written, requests executed. `acknowledged`: WQEBBs that are completed at most, once the path
 * has failed. */
#define NO_LIMIT 255
byte doorbell[N_PATHS], executed[N_PATHS], completed[N_PATHS], cqes[N_PATHS], requests[N_PATHS];
byte acknowledged[N_PATHS] = NO_LIMIT;
bit fenced[N_PATHS];

/* The host's order: switch to path `order`; `prefix` requests of the previous path were executed. */
byte order, prefix, carried_out;

/* WQEBBs before `effective` have had their effect, and those before `flushed` are followed by a READ
 * that has completed. A READ or FETCH has its result, or its caller got the status that it is ambiguous. */
byte effective = FIRST, flushed = FIRST, n_finished, n_threads = 255;
bit answered[MAX_POSTED], returned[MAX_POSTED], ambiguous[MAX_POSTED];

#define AT(p, device_index) (MEMORY(p) * DEPTH + (device_index) % DEPTH)
#define POSITION(p, index) AT(p, (index) + MOD_INDEX - base[p] % MOD_INDEX)

/* A doorbell that goes back makes the device execute WQEBBs that were not written. */
#define TO_EXECUTE(p) (!fenced[p] && doorbell[p] != executed[p] % MOD_NIC)
#define TO_COMPLETE(p) (completed[p] < executed[p] && completed[p] < acknowledged[p])

proctype nic(byte p)
{
	byte w, s;

end:	do
	:: d_step {
		TO_EXECUTE(p) ->
		w = AT(p, executed[p]);
		s = wqe[w];
		assert(s == base[p] + executed[p]); /* the WQE of this index */
		if
		:: KIND(form[w]) == PUT || KIND(form[w]) == FETCH ->
			assert(s == effective); /* once, and in order */
			effective++
		:: KIND(form[w]) == READ ->
			assert(s <= effective && !returned[s - FIRST]);
			effective = (s == effective -> s + 1 : effective)
		:: else -> assert(KIND(form[w]) == REPLACED && s < effective) /* nothing is lost */
		fi;
		requests[p] = requests[p] + IS_REQUEST(form[w]);
		executed[p]++;
		w = 0;
		s = 0
	   }
	:: d_step {
		TO_COMPLETE(p) ->
		w = AT(p, completed[p]);
		s = wqe[w];
		assert(s == base[p] + completed[p]); /* not written again before it is completed */
		answered[s - FIRST] = answered[s - FIRST] | KIND(form[w]) == READ || KIND(form[w]) == FETCH;
		flushed = (KIND(form[w]) == READ && flushed <= s -> s + 1 : flushed);
		if
		:: form[w] & SIGNALLED ->
			cqe[AT(p, cqes[p])] = CQE(cqes[p], completed[p]);
			cqes[p]++
		:: else
		fi;
		completed[p]++;
		w = 0;
		s = 0
	   }
	od
}

/* The path fails. Any number of acknowledgements may be lost. */
inline fail(p)
{
	atomic {
		acknowledged[p] = completed[p];
		do
		:: acknowledged[p] < executed[p] -> acknowledged[p]++
		:: break
		od
	}
}

/* May the host give path 0's queue memory to path 2? Posters that may still write to it reserved
 * before the switch from path 0, which noted in `retired` how much was reserved then. */
byte retired;
#define MAY_REUSE (true_ready >= retired || BUG == REUSE_EARLY)
inline prepare(p)
{
#ifdef REUSE
	memory[p] = p;
	if
	:: p == 2 && MAY_REUSE ->
		memory[2] = 0;
		w = 0;
		do
		:: w < DEPTH ->
			wqe[w] = UNWRITTEN;
			cqe[w] = INVALID;
			w++
		:: else -> break
		od;
		w = 0
	:: else
	fi
#else
	skip
#endif
}

active proctype host()
{
	byte p, w;

end:	do
	:: p < FAILURES && (carried_out == p || BUG == NO_ACKNOWLEDGE) && n_finished < n_threads ->
		fail(p);
		fenced[p] = (BUG != NOT_FENCED);
		d_step {
			completed[p] == acknowledged[p] || BUG == NOT_DRAINED ->
			prefix = (BUG == FROM_ACKNOWLEDGED -> completed[p] : requests[p]);
			prepare(p + 1);
			order = p + 1;
			p++
		}
	od
}
