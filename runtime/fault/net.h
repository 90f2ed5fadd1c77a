/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Messages between the agents of two PEs. The agent uses them through shmemhi_fault_net_t: over TCP
 * (fault/links.h), or a model of a network in tests. */
#ifndef SHMEMHI_FAULT_NET_H
#define SHMEMHI_FAULT_NET_H

#include <stdbool.h>
#include <stdint.h>
#include <shmem_dev/abi/base.h>
#include "fault/agent.h"

/* A message, as it is sent. */
typedef struct shmemhi_fault_message {
	uint32_t kind; /* SHMEMHI_EV_FENCE .. SHMEMHI_EV_ENDED */
	uint32_t k, path, zero;
	uint64_t value; /* FENCE: SHMEMHI_FENCE_VALUE; FENCED: as in fault/switch.h */
	unsigned char offer[SHMEMHI_FAULT_OFFER_NBYTES]; /* OFFER; else zeros */
} shmemhi_fault_message_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemhi_fault_message_t) == 88, "wire: message of an agent");

/* FENCE carries two causes: the one that the lines of the receiver name, and the kind of the one
 * for which its sender leaves the path. By the latter both ends decide whether the time of
 * SHMEMH_FT_GIVEUP goes on (outage.c), and whether a PE changes its port
 * (shmemhi_count_silent_failure of ib/port_in_use.c). The two differ if a refused request has moved
 * the queue pair to ERR. */
#define SHMEMHI_FENCE_VALUE(cause, left_for)                                                       \
	((uint64_t)(left_for) << 24 | (uint64_t)(cause).vendor_syndrome << 16 |                    \
	 (uint64_t)(cause).syndrome << 8 | ((cause).kind & 0xff))
#define SHMEMHI_FENCE_LEFT_FOR(value) ((uint32_t)((value) >> 24) & 0xff)

typedef struct shmemhi_fault_net {
	void *state;

	/* Take over a message to a PE. Messages to one PE arrive in this order, once each, as long
	 * as both PEs live. Never waits. false: no memory now. */
	bool (*send)(void *state, int pe, const shmemhi_fault_message_t *message);

	/* The next message that has arrived; false: none. */
	bool (*receive)(void *state, int *pe, shmemhi_fault_message_t *message);

	/* The PE is gone: drop what was and will be sent to it. */
	void (*forget)(void *state, int pe);
} shmemhi_fault_net_t;

#endif
