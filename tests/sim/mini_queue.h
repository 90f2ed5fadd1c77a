/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A miniature send queue, as the example of agents: GPU threads (producers) reserve entries of a
 * ring, write requests, publish them in order and ring a doorbell; an agent acts as the adapter
 * that fetches requests, executes them and reports a 16-bit counter of completed ones. The lanes of
 * a warp may be coalesced: one lane reserves for all converged lanes.
 *
 * It can be built with known mistakes. Which policy finds which mistake after how many schedules is
 * the measure of the explorer (the program mini_queue_table). */
#ifndef MINI_QUEUE_H
#define MINI_QUEUE_H

#include <shmem_sim.h>

/* entries of the ring; a power of two, at most half the range of the counter */
#define MINI_SLOTS 4
#define MINI_BATCH 4 /* the doorbell is rung at least once for so many ready requests */
#define MINI_MAX_REQUESTS 64

enum mini_mistake {
	MINI_NONE,
	MINI_NOT_POSTED,      /* poll does not wait until its index was posted */
	MINI_CONS_STORED,     /* consumer index stored, where a maximum is needed */
	MINI_NO_LOCK,         /* two threads post at a time: the doorbell goes backwards */
	MINI_NO_FENCE_RECORD, /* no second fence before the doorbell record */
	MINI_DOORBELL_RELAXED,
	MINI_SLOT_OFF_BY_ONE, /* waits for one entry less than it takes */
	MINI_NO_FENCE_READY,  /* none between writing the request and the ready index */
	MINI_READY_ADDED,     /* ready index added to, not advanced in order */
	MINI_BATCH_ONLY,      /* the doorbell is rung at batch boundaries only */
	MINI_NO_FENCE_CONS,   /* none between the completion counter and the consumer index */
	MINI_NO_WRAP,         /* 16-bit counter compared as if it never wrapped */
	MINI_NO_FENCE_POSTED, /* none between the posted index and the completion counter */
	/* Of coalesced lanes */
	MINI_NO_SYNC,       /* the leader publishes before all lanes have written */
	MINI_NO_SYNC_AFTER, /* the other lanes continue before the leader has published */
	/* entry by the lane's number, not by the number of lower lanes in the mask */
	MINI_LANE_AS_RANK,
	MINI_ONE_ROUND,    /* all lanes wait for entries before the first of them are published */
	MINI_UNEVEN_ROUND, /* rounds of as many lanes as entries, wherever the batch ends */
	MINI_N_MISTAKES,
};

/* Kinds of setups and searches. Counters start below their wrap, with coalesced lanes at the start
 * of a batch. */
enum mini_kind {
	MINI_FEW = 1u,        /* fewer producers than entries, each alone */
	MINI_MANY = 2u,       /* more producers than entries */
	MINI_UNWRAPPED = 4u,  /* few, but counters start at 0 */
	MINI_WEAK = 8u,       /* few, and loads may read older values */
	MINI_WEAK_MANY = 16u, /* many, and older values */
	MINI_LANES = 32u,     /* coalesced lanes, all of a warp, at most as many as entries */
	MINI_SPLIT = 64u,     /* the warps are split */
	MINI_WIDE = 128u,     /* more lanes than entries */
};

typedef struct mini_text {
	const char *text;
	uint32_t found;  /* mini_kinds in which 20,000 schedules must find the mistake */
	uint32_t hidden; /* mini_kinds in which no schedule can find it */
} mini_text_t;

extern const mini_text_t mini_texts[MINI_N_MISTAKES];

typedef struct mini_setup {
	int mistake;          /* mini_mistake */
	uint32_t n_producers; /* threads */
	uint32_t n_requests;  /* of each; n_producers * n_requests <= MINI_MAX_REQUESTS */
	uint64_t start;       /* first index; below 2^16 or 2^32 to test the wrap */
	uint32_t n_lanes;     /* coalesced lanes: producers of a block; 0: no coalescing */
} mini_setup_t;

/* pe_main of a run with one PE; setup: mini_setup_t. */
int mini_main(int pe, int n_pes, void *setup);

#endif
