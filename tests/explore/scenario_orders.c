/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Orders to switch a channel (abi/replay.h), without a channel: the host gives one after another,
 * and threads read and acknowledge them. A thread never accepts a mixture of two orders, however
 * slowly it reads; each order is acknowledged once, with all fields of the acknowledgement. */
#include "kernels.h"
#include "memory.h"

enum { N_ORDERS = 3, N_READERS = 3 };

const char *const orders_variants[] = {"one thread acknowledges", "all do", NULL};

/* Fields of order n; each differs from those of earlier orders. */
static uint32_t field(uint64_t n, uint32_t which)
{
	return (uint32_t)n << 8 | which;
}

static void give(shmemd_switch_order_t *o, uint64_t n)
{
	shmemd_arch_st_relaxed_u32(&o->announced, (uint32_t)n);
	shmemd_arch_fence_order();
	shmemd_arch_st_relaxed_u64(&o->path, field(n, 1));
	shmemd_arch_st_relaxed_u64(&o->queue, field(n, 2));
	shmemd_arch_st_relaxed_u64(&o->doorbell, field(n, 3));
	shmemd_arch_st_relaxed_u32(&o->k, field(n, 4));
	shmemd_arch_st_relaxed_u32(&o->world_pe, field(n, 5));
	shmemd_arch_st_relaxed_u32(&o->start, field(n, 6));
	shmemd_arch_st_relaxed_u32(&o->executed, field(n, 7));
	shmemd_arch_st_release_u64(&o->number, n);
}

/* The host of PE 0. */
void orders_agent(void)
{
	shmemd_switch_order_t *o = &memories[0].order;

	for (uint64_t n = 1; n <= N_ORDERS; n++) {
		give(o, n);
		while (shmemd_arch_ld_acquire_u64(&o->carried_out) != n)
			shmemd_arch_spin_hint();
		EXPECT(shmemd_arch_ld_relaxed_u32(&o->retired) == field(n, 8));
		EXPECT(shmemd_arch_ld_relaxed_u32(&o->replayed) == field(n, 9));
		EXPECT(shmemd_arch_ld_relaxed_u32(&o->ambiguous) == field(n, 10));
	}
}

static shmemdi_switch_result_t result_of(uint64_t n)
{
	shmemdi_switch_result_t result = {field(n, 8), field(n, 9), field(n, 10)};

	return result;
}

static void check_fields(const shmemdi_order_copy_t *o)
{
	EXPECT(o->path == field(o->number, 1));
	EXPECT(o->queue == field(o->number, 2));
	EXPECT(o->doorbell == field(o->number, 3));
	EXPECT(o->k == field(o->number, 4));
	EXPECT(o->world_pe == field(o->number, 5));
	EXPECT(o->start == field(o->number, 6));
	EXPECT(o->executed == field(o->number, 7));
}

/* Under the lock and in this thread: a counter that threads update by a load and a store. */
static void count_one(const pe_t *p, uint32_t w)
{
	const uint64_t count = shmemd_arch_ld_relaxed_u64(&p->heap->word);

	shmemd_arch_st_relaxed_u64(&p->heap->word, count + 1);
	p->memory->saw[w]++;
}

void orders(const void *params)
{
	const pe_t *p = params;
	const uint32_t w = shmemd_thread_index();
	uint64_t *lock = &p->memory->final; /* as the lock of `done` */
	shmemd_ctx_t ctx = p->ctx;
	const shmemdi_chan_t c = {.ctx = &ctx};
	shmemdi_order_copy_t o;

	if (p->ctx.my_pe || w >= N_READERS)
		return;
	ctx.switch_order = &p->memory->order;
	while (shmemd_arch_ld_relaxed_u64(&ctx.switch_order->carried_out) != N_ORDERS) {
		shmemd_arch_spin_hint();
		if (!shmemdi_switch_is_pending(&ctx) || !shmemdi_order_read(ctx.switch_order, &o))
			continue;
		check_fields(&o);
		if (w && !p->dims.variant)
			continue;
		EXPECT(!(shmemdi_lock(lock) & SHMEMD_BUSY));
		count_one(p, w);
		shmemdi_order_acknowledge(&c, &o, result_of(o.number));
		shmemd_arch_unlock(lock, 0);
	}
}

/* The lock has excluded concurrent updates. */
void orders_final_check(void)
{
	const memory_t *m = &memories[0];

	EXPECT(m->saw[0] + m->saw[1] + m->saw[2] == m->heap.word - dims.start);
}
