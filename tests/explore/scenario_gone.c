/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PE 0 dies: waits of the other PEs end with the cause, and not before its last signal was read. */
#include "kernels.h"
#include "memory.h"

#define DEAD 0
#define LONG_NS 10000000000u
#define SHORT_NS 1000

enum { BY_WAIT, BY_FROM, BY_LIMIT, BY_SYNC, BY_SYNC_LIMIT };

const char *const gone_variants[] = {"wait", "wait from one",           "wait with a limit",
				     "sync", "sync with a short limit", NULL};

/* PE 0: a signal, more data, and the end. */
static void die(const pe_t *p, shmemd_group_t g)
{
	heap_t *h = p->heap;
	fill(p, g, h->src, p->dims.n_words, 1);
	let_turns_pass(g);
	for (int pe = 1; pe < p->ctx.n_pes; pe++)
		shmemd_putmem_signal_group(&p->ctx, g, h->dst, h->src,
					   p->dims.n_words * sizeof(*h->src), &h->flag, 1,
					   SHMEMD_SIGNAL_ADD, pe);
	for (int pe = 1; pe < p->ctx.n_pes; pe++)
		if (g.rank == g.size - 1)
			shmemd_p_u64(&p->ctx, &h->will, p->dims.start + 7, pe);
	EXPECT(!shmemd_quiet_group(&p->ctx, g));
	if (g.rank == 0)
		shmemd_arch_st_release_u32(&p->memory->died, 1);
}

/* The host's monitor learns of the death at a random moment, and sets the word of each PE. */
void gone_agent(void)
{
	while (!shmemd_arch_ld_acquire_u32(&memories[DEAD].died))
		shmemd_arch_spin_hint();
	shmemsim_sleep(shmemsim_choose(70) * 1000);
	for (int pe = 1; pe < dims.n_pes; pe++) {
		shmemd_arch_st_release_u32(&memories[pe].causes[DEAD], SHMEMD_CAUSE_DIED);
		shmemd_arch_fence_before_signal();
		shmemd_arch_st_relaxed_u64(&memories[pe].abort_word,
					   SHMEMD_ABORT_WORD(DEAD, SHMEMD_CAUSE_DIED));
	}
}

static int wait_from(const pe_t *p, shmemd_group_t g, const uint64_t *word, uint64_t value,
		     int from)
{
	int status = SHMEMD_OK;
	if (g.rank == 0)
		status = shmemd_signal_wait_until_from(&p->ctx, word, SHMEMD_CMP_GE, value, from);
	return shmemd_group_any(g, status) ? SHMEMD_ERR_PEER : SHMEMD_OK;
}

static int wait_for_signal(const pe_t *p, shmemd_group_t g, uint64_t value)
{
	const shmemd_ctx_t *ctx = &p->ctx;
	const uint64_t *flag = &p->heap->flag;
	if (p->dims.variant == BY_FROM)
		return wait_from(p, g, flag, value, DEAD);
	if (p->dims.variant == BY_LIMIT)
		return shmemd_signal_wait_until_for_group(ctx, g, flag, SHMEMD_CMP_GE, value,
							  LONG_NS);
	return shmemd_signal_wait_until_group(ctx, g, flag, SHMEMD_CMP_GE, value);
}

/* If one thread times out and another one reads the death of the PE, the group agrees on one of the
 * two statuses. */
static int wait_in_vain(const pe_t *p, shmemd_group_t g)
{
	int status;
	if (p->dims.variant == BY_SYNC)
		return shmemd_sync_group(&p->ctx, g);
	if (p->dims.variant != BY_SYNC_LIMIT)
		return wait_for_signal(p, g, p->dims.start + 2);
	let_turns_pass(g);
	do
		status = shmemd_sync_for_group(&p->ctx, g, SHORT_NS);
	while (status == SHMEMD_ERR_TIMEOUT);
	return status;
}

/* Living PEs may still wait for each other. */
static void wait_for_living(const pe_t *p, shmemd_group_t g)
{
	int n_alive = p->ctx.n_pes - 1, mine = p->ctx.my_pe - 1;
	uint64_t *ack = &p->heap->ack;
	let_turns_pass(g);
	if (g.rank == 0)
		shmemd_signal_op(&p->ctx, ack, 1, SHMEMD_SIGNAL_SET, 1 + (mine + 1) % n_alive);
	EXPECT(!wait_from(p, g, ack, 1, 1 + (mine + n_alive - 1) % n_alive));
}

/* The signal that was sent before the death is never missed; the signal after it never arrives. */
void gone(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	uint64_t will = 0;
	if (p->ctx.my_pe == DEAD) {
		die(p, g);
		return;
	}
	EXPECT(!wait_for_signal(p, g, p->dims.start + 1));
	check(g, p->heap->dst, p->dims.n_words, DEAD, 1);
	EXPECT(wait_in_vain(p, g) == SHMEMD_ERR_PEER);
	EXPECT(!shmemd_g_u64(&p->ctx, &will, &p->heap->will, p->ctx.my_pe));
	EXPECT(will == p->dims.start + 7);
	if (p->dims.variant == BY_FROM) {
		wait_for_living(p, g);
		return; /* this PE may only have one cause on record */
	}
	EXPECT(shmemd_failed_pe(&p->ctx) == DEAD);
	EXPECT(shmemd_failed_cause(&p->ctx) == SHMEMD_CAUSE_DIED);
	EXPECT(shmemd_arch_ld_relaxed_u32(&p->ctx.causes[DEAD]) == SHMEMD_CAUSE_DIED);
}

/* No thread waits; failed_cause returns the complete cause. */
void failed_cause(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	uint64_t will = 0;
	if (p->ctx.my_pe == DEAD) {
		die(p, g);
		return;
	}
	if (p->dims.variant == 0)
		while (shmemd_failed_pe(&p->ctx) != DEAD)
			shmemd_arch_spin_hint();
	else
		while (shmemd_failed_cause(&p->ctx) != SHMEMD_CAUSE_DIED)
			shmemd_arch_spin_hint();
	EXPECT(shmemd_arch_ld_relaxed_u32(&p->ctx.causes[DEAD]) == SHMEMD_CAUSE_DIED);
	EXPECT(!shmemd_g_u64(&p->ctx, &will, &p->heap->will, p->ctx.my_pe));
	EXPECT(will == p->dims.start + 7);
	check(g, p->heap->dst, p->dims.n_words, DEAD, 1);
}

const char *const failed_cause_variants[] = {"failed_pe", "failed_cause", NULL};
