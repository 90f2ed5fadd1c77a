/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The agent of a PE: it holds the state machine (fault/switch.h) of each channel, passes events to
 * it, executes its actions through functions of the transport, and exchanges messages with the
 * agents of other PEs.
 *
 * Channels are independent of each other: an action that takes long delays only its own channel,
 * except that
 *   - orders are given one at a time (below);
 *   - PREPARE delays all channels if it allocates queue memory;
 *   - after a change of the port in use, PREPARE and CONNECT wait until the endpoints of all
 *     channels on the old port are stopped and flushed, or their NIC is dead.
 * Of one channel
 *   - SEND, STOP, DRAIN, FLUSH, QUERY and CONNECT are executed one after another;
 *   - PREPARE is started in that order, and then goes on beside them, since it can take until a
 *     port is repaired;
 *   - ORDER and END go on beside them too. A PE's device has one order at a time
 *     (shmemd_switch_order_t), so the next one, of whatever channel, is executed after the one
 *     before is carried out.
 * Once both directions of a channel have ended, SEND, ORDER and END do not wait for its other
 * actions, and CONNECT and PREPARE are dropped (ends.c).
 *
 * Time: a channel without a path for SHMEMH_FT_GIVEUP ends, and so does one whose order has waited
 * that long (is_order_stuck). No other time limit of the runtime causes a path to be left: one that
 * is slow, stalled or without credits stays. */
#ifndef SHMEMHI_FAULT_AGENT_H
#define SHMEMHI_FAULT_AGENT_H

#include <stdbool.h>
#include <shmem_host/fault.h>
#include "base/options.h"
#include "fault/switch.h"

struct shmemh;

/* What a PE needs from another one to connect an endpoint to it. */
#define SHMEMHI_FAULT_OFFER_NBYTES 64

/* An event of fault_ops.next_event besides those of fault/switch.h: a deadline of a wait passed
 * without progress. The agent asks is_in_error; the path is left only if that is true. */
#define SHMEMHI_EV_SUSPECT SHMEMHI_N_EVENTS

/* What an event was caused by. */
typedef struct shmemhi_fault_cause {
	uint32_t kind;                     /* enum shmemh_fault_cause */
	uint8_t syndrome, vendor_syndrome; /* of the CQE; 0: none */
} shmemhi_fault_cause_t;

/* Value of CARRIED_OUT: what the device did in carrying out the order; 0 if it is not known. */
#define SHMEMHI_FAULT_CARRIED(replayed, ambiguous)                                                 \
	((uint64_t)(ambiguous) << 32 | (uint32_t)(replayed))

/* A path in words, for lines and tables. */
typedef struct shmemhi_fault_path {
	char port[32], peer_port[32]; /* as mlx5_0:1; "": not known */
	uint32_t qpn, peer_qpn;
	char address[48], peer_address[48]; /* GID or LID */
	uint32_t is_standby;                /* a stand-by port is in use at one end */
	uint32_t has_counts;                /* the next two are there */
	uint64_t posted, completed;         /* WQEBBs of the channel, if they can be read cheaply */
} shmemhi_fault_path_t;

/* Functions of the transport, called by one thread at a time. None waits for a peer or a network. A
 * call may execute a few commands to the NIC; FLUSH may look up the MAC address of the port itself,
 * which the kernel answers; PREPARE may allocate queue memory, which on a GPU can
 * wait for kernels (runtime/ib/README.md). */
typedef struct shmemhi_fault_ops {
	/* Are there channels to PE pe? May be this PE itself: then both ends of a channel are one
	 * machine, which receives its own messages. Does not change. */
	bool (*reaches)(void *self, int pe);
	/* Is PE pe reached by channels only? Not this PE, nor one whose memory is mapped with
	 * atomics: kernels go on with them although their channels have ended. */
	bool (*is_needed)(void *self, int pe);

	/* Execute the action, or look whether it is done. true: *result is the event for the state
	 * machine (kind < 0: none). false: not yet; called again with the same action in a later
	 * step. Results: STOPPED, DRAINED, FLUSHED, QUERIED or DEAD of STOP, DRAIN, FLUSH, QUERY;
	 * PREPARED of PREPARE, which never fails but is tried again, less and less often;
	 * CONNECTED or FAULT of CONNECT, FAULT with the kind of the cause as its value, 0: not
	 * known; CARRIED_OUT of ORDER and END, once the device has
	 * acknowledged it, with the value SHMEMHI_FAULT_CARRIED. What else the action discovers
	 * (DRAIN: a request that was refused) is returned by next_event in the next step. SEND is
	 * not executed here. The value of STOP is the kind of the cause for which the path is
	 * left, here or at the peer. Of a channel that has ended CONNECT and PREPARE are not called
	 * again, and STOP and FLUSH may follow a CONNECT that is not done. */
	bool (*execute)(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *action,
			shmemhi_switch_event_t *result);

	/* The next fault that the transport has found: FAULT, REFUSED, DEAD, SUSPECT. Path numbers
	 * are those of the machine. FAULT needs a cause of this list: RETRIES, RNR, FLUSH, QP,
	 * PORT, ADDRESS, DEVICE, MOVE; the agent refuses any other. false: none is left. */
	bool (*next_event)(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			   shmemhi_fault_cause_t *cause);

	/* Has the device's order been pending for SHMEMH_FT_GIVEUP since the service was due to
	 * carry it out? Reasons: the service cannot be launched, finds no SM, or does not exist on
	 * this GPU. Always false if there is neither a GPU nor a service: then only threads of the
	 * program carry out orders. */
	bool (*is_order_stuck)(void *self);

	/* Is the queue pair of this path in ERR (QUERY_QP)? */
	bool (*is_in_error)(void *self, int pe, uint32_t k, uint32_t path);

	/* pack: what the peer needs to connect to endpoint `value` of this PE. unpack: keep what
	 * the peer has packed, and return the value by which CONNECT names it. Called once for each
	 * OFFER that the machine accepts; the next one replaces it. */
	void (*pack)(void *self, int pe, uint32_t k, uint32_t path, uint64_t endpoint,
		     unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES]);
	uint64_t (*unpack)(void *self, int pe, uint32_t k, uint32_t path,
			   const unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES]);

	/* Describe this path of the channel; zeros where nothing is known of it (any more). */
	void (*describe)(void *self, int pe, uint32_t k, uint32_t path, shmemhi_fault_path_t *out);
} shmemhi_fault_ops_t;

typedef struct shmemhi_fault_agent shmemhi_fault_agent_t;

/* The time after which a request without an answer has failed, by the options of the job; 0: it
 * never fails (SHMEMH_IB_ACK_TIMEOUT=0). A NIC may take four times its configured time. */
uint64_t shmemhi_fault_silence_ns(const shmemhi_options_t *opt);

/* Make the agent of this PE, job->fault, for the policy SHMEMH_FAULT_EXACT: listens for other
 * agents, exchanges their addresses and a secret. Collective. Nothing is executed before the first
 * step. ops and self stay valid until close.
 * Returns  SHMEMH_OK; ERR_OPTION (SHMEMH_IFNAME); ERR_SYSTEM; ERR_NO_MEMORY; as
 *          shmemhi_allgather: on all PEs alike. */
int shmemhi_fault_agent_open(struct shmemh *job, uint32_t n_channels,
			     const shmemhi_fault_ops_t *ops, void *self);

/* Start the thread that steps the agent until close. Without it (unit tests) the caller does.
 * Returns  SHMEMH_OK; ERR_SYSTEM. */
int shmemhi_fault_agent_start(struct shmemh *job);

/* Do what can be done now: messages, events, actions that are due. Does not wait, but for kernels
 * if PREPARE allocates queue memory on a GPU. One caller at a time; not after start.
 * Returns  whether something was done. If nothing was done for a while, the caller may pause for a
 *          millisecond: no other thread or PE waits for this agent. */
bool shmemhi_fault_agent_step(shmemhi_fault_agent_t *agent);

/* End the thread and release the agent; ops are not called any more. Not collective: actions under
 * way stay undone. Without an agent: nothing. */
void shmemhi_fault_agent_close(struct shmemh *job);

#endif
