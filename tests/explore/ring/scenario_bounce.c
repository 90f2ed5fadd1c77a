/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Fetches: more users than bounce buffers, and waits that time out. */
#include "kernels.h"

#define COUNTER 63u /* word of the target's area */
#define START 1000u

const char *const ring_fetch_variants[] = {"g and fetch add", "g and swap", "get and fetch add",
					   "get and compare swap", NULL};

enum { FETCH_ADD, FETCH_SWAP, FETCH_GET_ADD, FETCH_CAS };

/* A unique value for each operation. */
static uint64_t ticket_of(uint32_t w, uint32_t i)
{
	return START + place_of(w, i) + 1;
}

static uint64_t fetch(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *word = word_of(&p->ctx, AREA_TARGET, COUNTER);
	uint64_t old = 0, seen;

	switch (p->variant) {
	case FETCH_SWAP:
		EXPECT_IS(shmemd_atomic_swap_u64(&p->ctx, &old, word, ticket_of(w, i), p->target),
			  SHMEMD_OK);
		return old;
	case FETCH_CAS:
		do {
			seen = old;
			EXPECT_IS(shmemd_atomic_compare_swap_u64(&p->ctx, &old, word, seen,
								 seen + 1, p->target),
				  SHMEMD_OK);
		} while (old != seen);
		return old;
	default:
		EXPECT_IS(shmemd_atomic_fetch_inc_u64(&p->ctx, &old, word, p->target), SHMEMD_OK);
		return old;
	}
}

static void read_known(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	const uint64_t *known = word_of(&p->ctx, AREA_SOURCE, place_of(w, i));
	uint64_t mine = 0;

	if (p->variant >= FETCH_GET_ADD) /* to unregistered memory */
		EXPECT_IS(shmemd_getmem(&p->ctx, &mine, known, sizeof(mine), p->target), SHMEMD_OK);
	else
		EXPECT_IS(shmemd_g_u64(&p->ctx, &mine, known, p->target), SHMEMD_OK);
	EXPECT_IS(mine, value_of(w, i));
}

void ring_fetch(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (p->pe)
		return;
	for (uint32_t i = 0; i < RING_OPS; i++) {
		if ((w + i) % 2)
			read_known(p, w, i);
		ring_notes.old[w][i] = fetch(p, w, i);
		if ((w + i) % 2 == 0)
			read_known(p, w, i);
	}
}

/* Each value that the word ever had was returned to exactly one fetch, the last value to none. */
void ring_fetch_final_check(void)
{
	const uint32_t n = ring_dims.n_blocks * ring_dims.n_threads;
	const uint64_t last = *word_on(ring_dims.target, AREA_TARGET, COUNTER);
	uint64_t made = 0, found = last;

	for (uint32_t w = 0; w < n; w++)
		for (uint32_t i = 0; i < RING_OPS; i++) {
			made += ring_dims.variant == FETCH_SWAP ? ticket_of(w, i)
								: place_of(w, i) + 1;
			found += ring_notes.old[w][i];
			for (uint32_t k = 0; k < i; k++)
				EXPECT(ring_notes.old[w][i] != ring_notes.old[w][k]);
		}
	EXPECT_IS(found, made);
}

/* Late responses */

#define LIMIT_NS 3000u

const char *const ring_late_variants[] = {"g", "get", NULL};

void ring_late_plan(void)
{
	ring_dims.plan.timeout_ns = LIMIT_NS;
	ring_dims.plan.depth = 64; /* a full queue without progress would end the channel */
}

/* While all other threads poll, each sleep lets each of them poll once. They check the clock in
 * every 64th poll, and time out in their second check or later. */
static void let_turns_pass(unsigned n)
{
	while (n--)
		shmemsim_sleep(LIMIT_NS / 16);
}

/* The link delays responses for a while. */
void ring_late_agent(void)
{
	let_turns_pass(shmemsim_choose(4));
	rig_control("hold packet kind=response n=%u", 1 + shmemsim_choose(3));
	let_turns_pass(shmemsim_choose(4) * 140);
	rig_control("release packets");
}

static int read_late(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	const uint64_t *known = word_of(&p->ctx, AREA_SOURCE, place_of(w, i));
	uint64_t mine = 0;
	const int status = p->variant
				   ? shmemd_getmem(&p->ctx, &mine, known, sizeof(mine), p->target)
				   : shmemd_g_u64(&p->ctx, &mine, known, p->target);

	if (status == SHMEMD_OK)
		EXPECT_IS(mine, value_of(w, i));
	else
		EXPECT_IS(status, SHMEMD_ERR_TIMEOUT);
	return status;
}

/* A wait ends in time, with its own result or none, also with a buffer that another thread has
 * abandoned. */
void ring_late(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (p->pe)
		return;
	for (uint32_t i = 0; i < RING_OPS; i++)
		(void)read_late(p, w, i);
	for (uint32_t i = 0; i < RING_OPS; i++)
		(void)read_late(p, w, i);
}
