/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernels on a rig: one run, or the same in all ways that must make no difference. */
#ifndef RING_RUN_H
#define RING_RUN_H

#include "../common/mocka.h"
#include "../common/sim_check.h"
#include "fixture.h"

/* A test: kernel, host functions and checks. */
typedef struct rig_test {
	rig_plan_t plan;
	void (*kernel)(const void *params); /* of each PE; params: rig_params_t */
	uint32_t n_blocks, n_threads;
	void (*made)(int pe); /* PE 0's host, before any kernel starts, or NULL */
	void (*host)(int pe); /* each PE's host while kernels run, or NULL */
	void (*final_check)(
		void);      /* a check by PE 0's host after all kernels have ended, or NULL */
	uint64_t arg;       /* argument of the kernel */
	uint8_t may_report; /* lint may report mistakes */
} rig_test_t;

typedef struct rig_params {
	shmemd_ctx_t ctx;
	int pe, peer; /* peer: the next PE */
	uint64_t arg;
} rig_params_t;

/* Address of granule i of the heap. */
static inline uint64_t *word_of(const shmemd_ctx_t *ctx, uint32_t i)
{
	return (uint64_t *)(void *)(ctx->heap + RIG_GRANULE * (size_t)i);
}

/* Change the context to that of a machine without a NIC; the plan has all memory mapped. The
 * context is its own copy in memory from then on. */
static inline void take_nic_away(shmemd_ctx_t *ctx)
{
	ctx->device_copy = ctx;
	ctx->channels = NULL;
	ctx->keys = NULL;
	ctx->bounces = NULL;
	ctx->n_channels = 0;
	ctx->used = NULL;
	ctx->flags = SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_ALL_MAPPED | SHMEMD_CTX_WORLD_NUMBERS;
}

void run_once(const rig_test_t *t); /* round robin */
/* Default and random schedules, also with weak memory; all kinds of doorbells, by device and by
 * host; with all variations of devices and with none; indexes that start below the wraps of their
 * fields. */
void run_all_ways(const rig_test_t *given);
/* Run the plan on n random schedules. */
void run_schedules(const rig_test_t *t, unsigned n);
/* Check that the run fails and that its report has these words. */
void run_fails(const rig_test_t *t, const char *words);

/* Start values of WQEBBs, CQEs, requests and bounce buffers below each wrap, with other bases and
 * epochs. */
void start_below(rig_plan_t *plan, unsigned which);
#define N_STARTS 6u

int end_of_group(void **state); /* teardown */

#endif
