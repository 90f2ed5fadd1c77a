/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The part of the agent that drives the state machines. It has no thread, lock, clock or socket of
 * its own. */
#ifndef SHMEMHI_FAULT_MACHINES_H
#define SHMEMHI_FAULT_MACHINES_H

#include <stdatomic.h>
#include "base/err.h"
#include "fault/agent.h"
#include "fault/net.h"

/* Room for the queued actions of a channel, without PREPARE and the order, which are under way
 * beside them. At most 11 are queued, while the first one is not done:
 *   the one under way, and one more that the same
 *   event of the state machine queued with it       2
 *   FAULT                   adds FENCE, STOP        2
 *   DEAD                    adds FENCED, PREPARE    2
 *   FENCE of the next path  adds FENCED             1
 *   GIVE_UP                 adds ENDED, STOP, FLUSH 3
 *   REFUSED or GIVE_UP      adds END, once          1
 * The peer causes no more, because it waits for FENCED. An event is accepted while there is room
 * for SHMEMHI_SWITCH_ACTIONS more. */
#define SHMEMHI_FAULT_TODO 16

/* A channel. All zero: path 0, nothing ever happened. */
typedef struct shmemhi_fault_channel {
	uint8_t is_open;                /* the machine is initialised */
	uint8_t is_active;              /* in core.active */
	uint8_t is_changed;             /* since config.changed was called for it */
	uint8_t has_prepare, has_order; /* under way beside `todo` */
	uint32_t first, n_todo;
	shmemhi_switch_t machine;
	shmemhi_switch_action_t todo[SHMEMHI_FAULT_TODO], prepare, order;
	uint64_t prepare_at, prepare_delay; /* when it is tried next, and the time after that */
	uint64_t order_place;               /* orders are given in this sequence */
	uint64_t order_since;               /* when it was queued */
	/* With has_no_path: since when the latest path is left, and since when none has worked. */
	uint64_t left_at, pathless_since;
	uint64_t running_since;
	/* Steps of the latest outage, as in shmemh_fault_info_t; is_out: it lasts. */
	uint64_t detected_at, fenced_at, opened_at, resumed_at;
	uint64_t outage_ns; /* of the latest fault, once it is over */
	uint8_t has_no_path, is_out;
	uint8_t has_left;            /* it has left a path before */
	uint8_t has_failed_silently; /* a path since pathless_since */
	uint8_t is_found_at_peer;    /* the peer found it */
	uint8_t is_unanswered;       /* it has ended, and the device does not carry out the order */
	shmemhi_fault_cause_t cause;
	uint32_t cause_path; /* path that it ended */
	uint32_t left_for;   /* kind of the cause for which the latest path was left */
	uint64_t switches, replayed, ambiguous;
} shmemhi_fault_channel_t;

/* The end of all channels to a PE because no path was found or no order was carried out in time. */
typedef struct shmemhi_fault_end {
	uint8_t has_begun;
	uint8_t is_fencing; /* its endpoints are being fenced; waits go on */
	uint64_t begin;
} shmemhi_fault_end_t;

typedef struct shmemhi_fault_core shmemhi_fault_core_t;

typedef struct shmemhi_fault_config {
	int pe, n_pes;
	uint32_t n_channels;
	uint64_t giveup_ns;
	uint64_t silence_ns; /* a request that gets no answer has failed by then */
	const shmemhi_fault_ops_t *ops;
	void *self;
	shmemhi_fault_net_t net;
	const _Atomic uint32_t *causes; /* [n_pes] shmemd_cause of the PEs that are gone */
	const _Atomic int *n_gone;      /* changes after them; 0: none is gone */
	shmemhi_log_t log;
	/* State, path or status of channel k to PE pe changed. May be NULL. */
	void (*changed)(void *arg, int pe, uint32_t k, const shmemhi_fault_channel_t *c);
	/* A channel to PE pe ended because no path was found in time, or no order was carried out:
	 * with it all channels to that PE, and the endpoints of this PE are fenced, or a second has
	 * passed. Once for each PE that is needed (ops.is_needed). May be NULL. */
	void (*unreachable)(void *arg, int pe);
	void *arg; /* of both */
} shmemhi_fault_config_t;

struct shmemhi_fault_core {
	shmemhi_fault_config_t config;
	shmemhi_fault_channel_t *channels; /* [n_pes][n_channels] */
	uint32_t *active, n_active;        /* channels with something to do */
	uint8_t *is_dead;                  /* [n_pes] PEER_DEAD was given to its channels */
	shmemhi_fault_end_t *ends;         /* [n_pes] */
	int n_fencing;                     /* ends that are fencing */
	int n_gone;                        /* when is_dead was brought up to date */
	uint64_t now;
	/* A path that ran for less than this before its requests got no answer counts as never
	 * having worked, unless the fence finds that it executed a request (outage.c): the time of
	 * give-up goes on. */
	uint64_t working_ns;
	uint64_t n_orders;  /* order_place of the next one */
	int64_t ordering;   /* channel whose order the device has; -1: none */
	uint32_t n_refused; /* events that were ignored as a mistake (refuse in machines.c) */
	bool is_busy;       /* something was done in this step */
};

/* Allocate the channels. Returns SHMEMH_OK; ERR_NO_MEMORY. close releases them, also after a
 * failure. */
int shmemhi_fault_core_open(shmemhi_fault_core_t *core, const shmemhi_fault_config_t *config);
void shmemhi_fault_core_close(shmemhi_fault_core_t *core);

/* One step at this time (nanoseconds, any clock that does not go back). Returns whether something
 * was done. */
bool shmemhi_fault_core_step(shmemhi_fault_core_t *core, uint64_t now);

/* enum shmemh_fault_state; RUNNING also on a stand-by. */
int shmemhi_fault_state(const shmemhi_fault_channel_t *c);

/* shmemd_status for which this PE's direction has ended; 0: it has not. The device has carried that
 * out, unless it carries out no orders. */
int shmemhi_fault_status(const shmemhi_fault_channel_t *c);

#endif
