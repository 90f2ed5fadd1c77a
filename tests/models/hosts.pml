/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The two hosts of a channel that switch it to another path (runtime/fault/switch.h), with faults at
 * any moment, also of a path that is being opened. End 0 sends, end 1 responds. The device has
 * posted all its requests. */
#ifndef BUG
#define BUG 0
#endif
#include "mistakes.pml"
#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef FAILURES
#define FAILURES 2
#endif
#define N_PATHS (FAILURES + 1)

/* Phases of an end. It has an endpoint that is not fenced from OFFERED to RUNNING. */
#define PREPARING 0
#define OFFERED 1
#define CONNECTING 2
#define CONNECTED 3
#define RUNNING 4
#define STOPPING 5
#define DRAINING 6
#define FLUSHING 7
#define QUERYING 8
#define FENCED_HERE 9
#define HAS_ENDPOINT(e) (phase[e] >= OFFERED && phase[e] <= RUNNING)

mtype = { FENCE, FENCED, OFFER, OPEN };
chan messages0 = [6] of { mtype, byte, byte };
chan messages1 = [6] of { mtype, byte, byte };

/* Queue pairs: [end * N_PATHS + path]. */
#define NONE 0
#define MADE 1
#define CONNECTED_QP 2
#define ERROR 3
#define AT(e, p) ((e) * N_PATHS + (p))
byte qp[2 * N_PATHS];

byte phase[2] = RUNNING, path[2];
bit is_peer_fenced[2], has_offer[2], is_peer_open[2];
byte n_failures = FAILURES;

/* Of end 0: path of the latest order, requests executed on it, an order that is not carried out. */
byte ordered, executed;
bit is_pending;

/* The order that the device reads. */
byte order_path, order_executed, carried_out;

/* Per path: number of its first request; of the requests since then how many were sent, executed,
 * placed in memory, acknowledged, have a CQE in memory. */
byte first[N_PATHS], sent[N_PATHS], done[N_PATHS], placed[N_PATHS], acked[N_PATHS], cqes[N_PATHS];
byte effective, used; /* requests in effect; path that the device uses */

inline place(p)
{
	assert(first[p] + placed[p] == effective); /* once, and in order */
	effective++;
	placed[p]++
}

proctype device()
{
end:	do
	:: d_step {
		qp[AT(0, used)] == CONNECTED_QP && first[used] + sent[used] < REQUESTS ->
		assert(qp[AT(1, used)] >= CONNECTED_QP); /* the responder is ready */
		sent[used]++
	   }
	:: d_step {
		order_path != used ->
		assert(qp[AT(1, used)] == ERROR && order_executed == done[used]);
		assert(placed[used] == done[used] && cqes[used] == acked[used]);
		first[order_path] = first[used] + order_executed;
		used = order_path;
		carried_out = order_path
	   }
	od
}

/* The adapters and the network, for path p. A request may be under way for any time. */
proctype network(byte p)
{
end:	do
	:: d_step { qp[AT(1, p)] == CONNECTED_QP && done[p] < sent[p] -> done[p]++ }
	:: d_step { placed[p] < done[p] -> place(p) }
	:: d_step { qp[AT(0, p)] == CONNECTED_QP && acked[p] < done[p] -> acked[p]++ }
	:: d_step { cqes[p] < acked[p] -> cqes[p]++ }
	od
}

/* Go on to the next path in the same step: the peer's OFFER for it may follow at once. */
inline go_on(e)
{
	if
	:: phase[e] == FENCED_HERE && (is_peer_fenced[e] || BUG == ONE_FENCED) ->
		path[e]++;
		phase[e] = PREPARING;
		is_peer_fenced[e] = 0;
		has_offer[e] = (BUG == OFFER_KEPT -> has_offer[e] : 0);
		is_peer_open[e] = 0
	:: else
	fi
}

inline fence(e)
{
	if
	:: HAS_ENDPOINT(e) -> phase[e] = STOPPING
	:: phase[e] == PREPARING && BUG != UNANSWERED -> phase[e] = FENCED_HERE; out ! FENCED(path[e], 0)
	:: else
	fi
}

inline receive(e)
{
	in ? m(p, v);
	if
	:: p != path[e]
	:: else ->
		if
		:: m == FENCE -> fence(e)
		:: m == FENCED ->
			is_peer_fenced[e] = 1;
			if
			:: e == 0 && (ordered == p || BUG == SKIPPED_COUNTS) -> executed = v
			:: else
			fi
		:: m == OFFER -> has_offer[e] = 1
		:: m == OPEN -> is_peer_open[e] = 1
		fi;
		go_on(e)
	fi;
	p = 0;
	v = 0
}

inline flush(e)
{
	do
	:: e == 1 && placed[path[1]] < done[path[1]] -> place(path[1])
	:: else -> break
	od
}

proctype host(byte e; chan in; chan out)
{
	mtype m;
	byte p, v;

end:	do
	:: atomic { nempty(in) -> receive(e) }
	:: atomic { n_failures > 0 && HAS_ENDPOINT(e) ->
		n_failures--;
		if :: BUG != FENCE_UNSENT -> out ! FENCE(path[e], 0) :: else fi;
		phase[e] = STOPPING }
	:: atomic { phase[e] == STOPPING ->
		if :: BUG != NO_STOP || e == 0 -> qp[AT(e, path[e])] = ERROR :: else fi;
		phase[e] = DRAINING }
	:: atomic { phase[e] == DRAINING && (e == 1 || BUG == NO_DRAIN || cqes[path[e]] == acked[path[e]]) ->
		phase[e] = FLUSHING }
	:: atomic { phase[e] == FLUSHING ->
		if :: BUG != NO_FLUSH -> flush(e) :: else fi;
		phase[e] = QUERYING }
	:: atomic { phase[e] == QUERYING ->
		phase[e] = FENCED_HERE;
		out ! FENCED(path[e], done[path[e]]);
		go_on(e) }
	:: atomic { phase[e] == PREPARING ->
		qp[AT(e, path[e])] = MADE;
		phase[e] = OFFERED;
		out ! OFFER(path[e], 0) }
	:: atomic { phase[e] == OFFERED && has_offer[e] -> phase[e] = CONNECTING }
	:: atomic { phase[e] == CONNECTING ->
		assert(qp[AT(1 - e, path[e])] != NONE); /* the endpoint that was offered */
		qp[AT(e, path[e])] = CONNECTED_QP;
		phase[e] = CONNECTED;
		out ! OPEN(path[e], 0) }
	:: atomic { phase[e] == CONNECTED && (is_peer_open[e] || BUG == NOT_OPEN) -> phase[e] = RUNNING }
	:: atomic { e == 0 && phase[0] == RUNNING && ordered != path[0] && (!is_pending || BUG == OVERLAP) ->
		order_executed = executed;
		order_path = path[0];
		ordered = path[0];
		is_pending = 1 }
	:: atomic { e == 0 && is_pending && carried_out == ordered -> is_pending = 0 }
	od
}

init {
	byte i;

	atomic {
		qp[AT(0, 0)] = CONNECTED_QP;
		qp[AT(1, 0)] = CONNECTED_QP;
		run device();
		do
		:: i < N_PATHS -> run network(i); i++
		:: else -> break
		od;
		run host(0, messages0, messages1);
		run host(1, messages1, messages0)
	}
	timeout;
	assert(effective == REQUESTS && first[used] + cqes[used] == REQUESTS);
	assert(phase[0] == RUNNING && phase[1] == RUNNING && used == path[0])
}
