/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One fault at a given operation of a schedule, and perhaps another one while the hosts switch. */
#ifndef EXPLORE_RING_FAULT_H
#define EXPLORE_RING_FAULT_H

#include "fault/switch.h"

enum ring_fault_kind {
	FAULT_ACKS,       /* all acknowledgements are lost */
	FAULT_RESPONSES,  /* all responses of READs and atomics are lost */
	FAULT_ALL,        /* all packets are lost */
	FAULT_HELD,       /* requests are held back, and arrive late */
	FAULT_WQE,        /* a WQE fails with the syndrome of retries that are used up */
	FAULT_STOP,       /* the requester's queue pair is in ERR */
	FAULT_STOP_PEER,  /* the responder's queue pair is in ERR */
	FAULT_EVENT,      /* an event of the requester's port */
	FAULT_EVENT_PEER, /* an event of the peer's port */
	N_FAULT_KINDS
};

typedef struct ring_fault {
	uint32_t variant;     /* of ring_switch_variants */
	int kind, second;     /* N_FAULT_KINDS: none */
	uint64_t step;        /* before which operation of the run */
	uint32_t second_step; /* after how many steps of the hosts */
} ring_fault_t;

typedef struct ring_fault_seen {
	/* operations until all threads had completed what they sent, or until the fault */
	uint64_t n_steps;
	uint64_t hits[N_FAULT_KINDS][SHMEMHI_CLOSED + 1]; /* ends that were in this phase */
} ring_fault_seen_t;

extern ring_fault_t ring_fault_wanted;
extern ring_fault_seen_t ring_fault_seen;

#endif
