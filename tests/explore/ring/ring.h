/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Scenarios by RDMA: the dimensions that their seed drew, a rig (tests/ring/fixture.h) that is made
 * again for each schedule, and the data. PE 0 sends; all its threads use channels to the same PE.
 */
#ifndef EXPLORE_RING_H
#define EXPLORE_RING_H

#include "fixture.h"

/* Few enough buffers that users wait for each other. Coalesced lanes take one each. */
#undef SHMEMD_BOUNCE_BUFFERS
#define SHMEMD_BOUNCE_BUFFERS 4u

#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/channel.h>
#include "../../common/sim_check.h"
#include "../scenario.h"

#define RING_THREADS_MAX 6u /* of all blocks */
#define RING_OPS 3u         /* of each thread */

/* Granules of each heap. */
enum { AREA_FLUSH, AREA_TARGET, AREA_SOURCE, AREA_RESULT, N_AREAS };

typedef struct ring_dims {
	rig_plan_t plan;
	uint32_t variant, n_blocks, n_threads; /* n_threads: of a block */
	int target;                            /* PE 0's target: another PE or itself */
	int is_bad_for_lint;
} ring_dims_t;

/* Results of threads for the check after the run. */
typedef struct ring_notes {
	uint64_t old[RING_THREADS_MAX][RING_OPS];
	uint32_t n_sent; /* threads that have sent */
	int status[RING_THREADS_MAX];
} ring_notes_t;

extern ring_dims_t ring_dims;
extern ring_notes_t ring_notes;
extern const scenario_world_t ring_world;

/* A kernel's parameters. */
typedef struct ring_pe {
	shmemd_ctx_t ctx;
	int pe, target;
	uint32_t variant;
} ring_pe_t;

#define EXPECT CHECK
#define EXPECT_IS CHECK_IS

/* The calling thread's number among all threads. */
static inline uint32_t worker(void)
{
	return shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();
}

/* Word i of an area, as an address of this PE. */
static inline uint64_t *word_of(const shmemd_ctx_t *ctx, int area, uint32_t i)
{
	return (uint64_t *)(void *)(ctx->heap + (size_t)area * RIG_GRANULE) + i;
}

/* The same word on a PE, read without a channel: for checks. */
static inline uint64_t *word_on(int pe, int area, uint32_t i)
{
	return word_of(&rig_pes[pe].ctx, area, i);
}

/* The target word of thread w's operation i: each operation has its own. */
static inline uint32_t place_of(uint32_t w, uint32_t i)
{
	return w * RING_OPS + i;
}

static inline uint64_t value_of(uint32_t w, uint32_t i)
{
	return (uint64_t)(w + 1) << 40 | (i + 1);
}

/* Execute the operation; its kind and doorbell mode are functions of w and i. */
void ring_send(const ring_pe_t *p, uint32_t w, uint32_t i);
void ring_send_all(const ring_pe_t *p, uint32_t w);

/* Check that everything that thread w sent has arrived, as the calling thread sees it. */
void ring_check(const ring_pe_t *p, uint32_t w);
/* The same check for all threads, by the host at the end. */
void ring_final_check(void);

/* Plans */
void ring_plan_threads(void); /* no coalesced lanes */
void ring_plan_two_channels(void);

#endif
