/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The switch of a channel (peer, k) to another path, as the hosts of its two PEs carry it out: a
 * state machine at each end. It has no thread, clock or queue pair of its own. Events go in,
 * actions come out. The caller executes SEND, STOP, DRAIN, FLUSH, QUERY and CONNECT of a channel in
 * their order, and PREPARE, ORDER and END beside them (fault/agent.h). It reports the results as
 * events.
 *
 * Both directions of a channel use one pair of queue pairs, a path. Paths are numbered from 0; both
 * ends number them alike. An end uses one endpoint (a queue pair with its queue memory) for a path,
 * and never a second time. Hosts exchange messages outside of the data NICs, over links that
 * deliver each message once and in order (fault/net.h). The machine also tolerates repeated ones.
 *
 *   1. FAULT at one end, or FENCE from the peer. The end that has found the fault informs the peer
 *      (FENCE). Each end moves its queue pair to ERR (STOP), and waits until all its CQEs are in
 *      memory, or until those that are missing count as lost (DRAIN, ib/endpoint.c). It flushes
 *      what it has accepted to memory (FLUSH: a loopback READ on the same adapter, or a DUMP,
 *      ib/flush.c), and reads how many requests of the peer it has executed (QUERY). It sends
 *      FENCED with that number.
 *   2. Fenced at both ends. Each end obtains an endpoint for the next path (PREPARE) and offers it
 *      to the peer (OFFER). With both offers it connects its endpoint (CONNECT) and says so (OPEN).
 *   3. Open at both ends. Each end orders its device to switch (ORDER, abi/replay.h): the device
 *      repeats on the new path what the peer has not executed on the path of the order before.
 *
 * Why each step is there:
 *   STOP at the responder   Otherwise a packet that is still under way is executed after the
 *                           number was read: the request takes effect twice.
 *   DRAIN                   Otherwise a success CQE is written after the device has switched: a
 *                           fetching atomic whose result arrives is reported as ambiguous.
 *   FLUSH                   Otherwise data that the old adapter has accepted reaches memory after
 *                           newer data by the other adapter.
 *   both ends FENCED        ORDER needs the peer's number, and the peer's flush.
 *   OPEN                    Otherwise the device sends to a queue pair that drops its requests.
 *   one order at a time     ORDER n+1 gives the requests executed on the path of ORDER n, so
 *                           ORDER n must have been carried out before.
 *
 * A further fault of the path that is being prepared or opened ends that path in the same way: it
 * is fenced at both ends, whether or not a device has used it, and the ends go on to the next
 * number. So a device may skip paths; the number of executed requests that an ORDER gives is always
 * that of the path of the device's latest order.
 *
 * A direction ends, and its channel reports a status, without ending the other direction:
 *   REFUSED  The program's request was refused (key, range, alignment). It is never repeated.
 *   LOST     The responder's adapter is dead and cannot say what it executed: nothing is repeated
 *            (SHMEMD_ERR_LOST).
 * Both directions end, with SHMEMD_ERR_PEER unless a direction has ended before (its first status
 * counts):
 *   PEER_DEAD, or GIVE_UP: no path could be found, or an order was not carried out, in time. After
 *   GIVE_UP, ENDED informs the peer. The endpoint is stopped and flushed nevertheless. */
#ifndef SHMEMHI_FAULT_SWITCH_H
#define SHMEMHI_FAULT_SWITCH_H

#include <stdint.h>

enum shmemhi_switch_event_kind {
	/* Detected here. path: the one concerned; FAULT and DEAD of an earlier one have no
	 * effect. */
	SHMEMHI_EV_FAULT, /* transport error, flush, queue pair in ERR, or the path is to be left */
	SHMEMHI_EV_REFUSED, /* of any path; value: shmemd_status of a request that this PE's program
			      got wrong. If the device reported it, FAULT here or FENCE from the
			      peer follows, since the queue pair has gone to ERR. If DRAIN found
			      it, neither follows: the path is being fenced already */
	SHMEMHI_EV_DEAD,    /* this end's adapter does not respond and no longer reaches memory */
	SHMEMHI_EV_PEER_DEAD,
	SHMEMHI_EV_GIVE_UP, /* the limit for finding a path, or for an order; no effect while the
			      device uses a path */
	/* Results of actions. path: that of the action. DEAD in place of one of the first four, and
	 * FAULT in place of CONNECTED, say that the action failed. */
	SHMEMHI_EV_STOPPED,
	SHMEMHI_EV_DRAINED,
	SHMEMHI_EV_FLUSHED,
	SHMEMHI_EV_QUERIED,  /* value: requests of the peer that were executed, mod 2^24 */
	SHMEMHI_EV_PREPARED, /* value: the endpoint, of the caller's choice */
	SHMEMHI_EV_CONNECTED,
	SHMEMHI_EV_CARRIED_OUT, /* of ORDER and END */
	/* Messages of the peer. */
	SHMEMHI_EV_FENCE,
	SHMEMHI_EV_FENCED, /* value: executed requests, or SHMEMHI_SWITCH_LOST */
	SHMEMHI_EV_OFFER,  /* value: the peer's endpoint */
	SHMEMHI_EV_OPEN,
	SHMEMHI_EV_ENDED, /* also fed to each channel to a PE when one gives up here (ends.c) */
	SHMEMHI_N_EVENTS
};

#define SHMEMHI_SWITCH_LOST UINT64_MAX

typedef struct shmemhi_switch_event {
	int kind;
	uint32_t path;
	uint64_t value;
} shmemhi_switch_event_t;

enum shmemhi_switch_action_kind {
	SHMEMHI_ACT_SEND, /* a message; message: SHMEMHI_EV_FENCE .. SHMEMHI_EV_ENDED */
	SHMEMHI_ACT_STOP, /* the endpoint of this path, whatever its state */
	SHMEMHI_ACT_DRAIN,
	SHMEMHI_ACT_FLUSH,
	SHMEMHI_ACT_QUERY,
	/* Make an endpoint. Takes until a port can be used. If this PE has changed its port, the
	 * result must wait until its endpoints on the old port are stopped and flushed, those of
	 * other channels too: atomics of two adapters do not exclude each other. */
	SHMEMHI_ACT_PREPARE,
	SHMEMHI_ACT_CONNECT, /* value: the peer's endpoint */
	SHMEMHI_ACT_ORDER,   /* value: requests executed on the path of the latest order before */
	SHMEMHI_ACT_END      /* order the end of the channel; value: its shmemd_status */
};

typedef struct shmemhi_switch_action {
	int kind, message;
	uint32_t path;
	uint64_t value;
} shmemhi_switch_action_t;

/* The actions that one event causes at most. */
#define SHMEMHI_SWITCH_ACTIONS 4

enum shmemhi_switch_phase {
	SHMEMHI_PREPARING, /* this end has no endpoint for the path yet */
	SHMEMHI_OFFERED,   /* waits for the peer's offer */
	SHMEMHI_CONNECTING,
	SHMEMHI_CONNECTED, /* waits for the peer's OPEN */
	SHMEMHI_RUNNING,
	SHMEMHI_STOPPING,
	SHMEMHI_DRAINING,
	SHMEMHI_FLUSHING,
	SHMEMHI_QUERYING,
	SHMEMHI_FENCED, /* waits for the peer's FENCED */
	SHMEMHI_CLOSED  /* both directions have ended */
};

/* Changed only by switch.c; the rest of fault/ reads it. */
typedef struct shmemhi_switch {
	int phase;
	uint32_t path;
	uint8_t is_peer_fenced, has_offer, is_peer_open; /* messages for this path */
	uint8_t is_preparing;                            /* PREPARE has no result yet */
	uint8_t has_spare;  /* PREPARE's endpoint came after its path was left; `spare` keeps it */
	uint8_t is_pending; /* an order is not carried out */
	uint8_t is_ended;   /* END was given */
	uint8_t status;     /* for which this direction ends; 0: it does not */
	uint32_t ordered;   /* path of the latest ORDER */
	uint64_t executed;  /* requests that the peer executed on it, once it is fenced */
	uint64_t offer, spare; /* endpoints: the peer's, and the one left over */
} shmemhi_switch_t;

/* A channel whose path 0 is connected at both ends and used by the device. */
void shmemhi_switch_init(shmemhi_switch_t *s);

/* Process an event.
 *
 * actions  receives what the caller has to do; [SHMEMHI_SWITCH_ACTIONS]. Those that are executed in
 *          order (see above) follow those of earlier events.
 * Returns  how many; an event that is late, repeated or does not belong to the phase causes
 *          none. */
int shmemhi_switch_event(shmemhi_switch_t *s, shmemhi_switch_event_t event,
			 shmemhi_switch_action_t *actions);

#endif
