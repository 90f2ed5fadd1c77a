/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A send queue in miniature, as the example of agents: GPU threads (producers) reserve slots of a
 * ring, write requests, publish them in order and ring a doorbell; an agent plays the adapter that
 * fetches requests, executes them and reports a 16-bit counter of what it has completed.
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
	MINI_N_MISTAKES,
};

/* When a search of 20,000 schedules must find a mistake. */
enum mini_found {
	MINI_BY_ANY,     /* by random and by PCT */
	MINI_BY_MANY,    /* with more producers than slots */
	MINI_WHEN_WEAK,  /* by weak memory only */
	MINI_IS_HARMLESS /* never: another fence covers it, or the value is derived again */
};

typedef struct mini_text {
	const char *text;
	int found; /* mini_found */
} mini_text_t;

extern const mini_text_t mini_texts[MINI_N_MISTAKES];

typedef struct mini_setup {
	int mistake;          /* mini_mistake */
	uint32_t n_producers; /* each a block of one thread */
	uint32_t n_requests;  /* of each; n_producers * n_requests <= MINI_MAX_REQUESTS */
	uint64_t start;       /* first index; below 2^16 and 2^32 to see the wrap */
} mini_setup_t;

/* pe_main of a run with one PE; setup: mini_setup_t. */
int mini_main(int pe, int n_pes, void *setup);

#endif
