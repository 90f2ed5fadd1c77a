/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A send queue in miniature, as the example of agents: GPU threads (producers) reserve slots of a
 * ring, write requests, publish them in order and ring a doorbell; an agent plays the adapter that
 * fetches requests, executes them and reports a 16-bit counter of what it has completed. The lanes
 * of a warp may go together: one reserves for all that it finds converged.
 *
 * It can be built wrong in known ways. Which policy finds which mistake after how many schedules is
 * the measure of the explorer (the program mini_queue_table). */
#ifndef MINI_QUEUE_H
#define MINI_QUEUE_H

#include <shmem_sim.h>

#define MINI_SLOTS 4 /* of the ring; a power of two, at most half the range of the counter */
#define MINI_BATCH 4 /* the doorbell is rung at least each time so many requests are ready */
#define MINI_MAX_REQUESTS 64

enum mini_mistake {
	MINI_NONE,
	MINI_NOT_POSTED,      /* poll does not wait until its index was posted */
	MINI_CONS_STORED,     /* consumer index stored, where a maximum is needed */
	MINI_NO_LOCK,         /* two threads post at a time: the doorbell goes backwards */
	MINI_NO_FENCE_RECORD, /* no second fence before the doorbell record */
	MINI_DOORBELL_RELAXED,
	MINI_SLOT_OFF_BY_ONE, /* waits for one slot less than it takes */
	MINI_NO_FENCE_READY,  /* none between writing the request and the ready index */
	MINI_READY_ADDED,     /* ready index added to, not advanced in order */
	MINI_BATCH_ONLY,      /* the doorbell is rung at batch boundaries only */
	MINI_NO_FENCE_CONS,   /* none between the completion counter and the consumer index */
	MINI_NO_WRAP,         /* 16-bit counter compared as if it never wrapped */
	MINI_NO_FENCE_POSTED, /* none between the posted index and the completion counter */
	/* Of lanes that go together */
	MINI_NO_SYNC,       /* the leader publishes before all lanes have written */
	MINI_NO_SYNC_AFTER, /* the others go on before the leader has published */
	MINI_LANE_AS_RANK,  /* slot by the number of the lane, not by those before it in the mask */
	MINI_ONE_ROUND,     /* all lanes wait for slots before the first of them are published */
	MINI_UNEVEN_ROUND,  /* rounds of as many lanes as slots, wherever the batch ends */
	MINI_N_MISTAKES,
};

/* Kinds of setups and searches. Counters start below where they wrap, at the begin of a batch if
 * lanes go together. */
enum mini_kind {
	MINI_FEW = 1u,        /* fewer producers than slots, each alone */
	MINI_MANY = 2u,       /* more producers than slots */
	MINI_UNWRAPPED = 4u,  /* few, but counters start at 0 */
	MINI_WEAK = 8u,       /* few, and loads may read older values */
	MINI_WEAK_MANY = 16u, /* many, and older values */
	MINI_LANES = 32u,     /* lanes go together, all of a warp, no more than slots */
	MINI_SPLIT = 64u,     /* the warps are split */
	MINI_WIDE = 128u,     /* more lanes than slots */
};

typedef struct mini_text {
	const char *text;
	uint32_t found;  /* mini_kinds in each of which 20,000 schedules must find the mistake */
	uint32_t hidden; /* and those in which no schedule can. */
} mini_text_t;

extern const mini_text_t mini_texts[MINI_N_MISTAKES];

typedef struct mini_setup {
	int mistake;          /* mini_mistake */
	uint32_t n_producers; /* threads */
	uint32_t n_requests;  /* of each; n_producers * n_requests <= MINI_MAX_REQUESTS */
	uint64_t start;       /* first index; below 2^16 and 2^32 to see the wrap */
	uint32_t n_lanes;     /* that go together: producers of a block; 0: each goes alone */
} mini_setup_t;

/* pe_main of a run with one PE; setup: mini_setup_t. */
int mini_main(int pe, int n_pes, void *setup);

#endif
