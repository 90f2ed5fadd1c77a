/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Data that a signal announces. */
#include "kernels.h"
#include "memory.h"

#define PACKED_SLOTS 8
/* Both halves change in each round. */
#define PACKED_VALUE(pe, tid, round) (0x100000001ull * ((uint64_t)(pe)*1000 + (tid)*10 + (round)))

#define PIECE 4 /* words that each PE sends to each other in a round of signal_op */

/* Neighbours send around the ring through one buffer, which its reader returns. */
void put_signal(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	uint32_t *src = h->src + p->dims.src_skew, *dst = h->dst + p->dims.dst_skew;
	uint32_t n = p->dims.n_words;
	int op = p->dims.variant % 2 ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET;
	for (int r = 1; r <= ROUNDS; r++) {
		uint64_t value = op == SHMEMD_SIGNAL_ADD ? 1 : p->dims.start + (uint64_t)r;
		fill(p, g, src, n, r);
		shmemd_group_sync(g);
		if (p->dims.variant < 2)
			shmemd_putmem_signal_group(&p->ctx, g, dst, src, n * sizeof(*src), &h->flag,
						   value, op, right_of(p));
		else
			shmemd_putmem_signal_nbi_group(&p->ctx, g, dst, src, n * sizeof(*src),
						       &h->flag, value, op, right_of(p));
		if (p->dims.variant >= 2)
			EXPECT(!shmemd_quiet_group(&p->ctx, g));
		fill(p, g, src, n, 0); /* src is reusable */
		await(p, g, &h->flag, p->dims.start + (uint64_t)r, left_of(p));
		check(g, dst, n, left_of(p), r);
		shmemd_fence_group(&p->ctx, g);
		if (g.rank == g.size - 1)
			shmemd_signal_op(&p->ctx, &h->ack, 1, SHMEMD_SIGNAL_ADD, left_of(p));
		EXPECT(!shmemd_signal_wait_until_group(&p->ctx, g, &h->ack, SHMEMD_CMP_GE,
						       (uint64_t)r));
	}
}

const char *const put_signal_variants[] = {"set", "add", "nbi, set", "nbi, add", NULL};

static void announce(const pe_t *p, int pe)
{
	uint64_t old;
	uint64_t *flag = &p->heap->flag;
	if (p->dims.variant == 0)
		shmemd_signal_op(&p->ctx, flag, 1, SHMEMD_SIGNAL_ADD, pe);
	else if (p->dims.variant == 1)
		shmemd_atomic_inc_u64(&p->ctx, flag, pe);
	else
		EXPECT(!shmemd_atomic_fetch_add_u64(&p->ctx, &old, flag, 1, pe));
}

/* All PEs send to all, and one word counts the senders: the data of each sender is readable, though
 * the reader sees only the last addition. */
void signal_op(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	int n_pes = p->ctx.n_pes;
	for (int r = 0; r < ROUNDS; r++) {
		fill(p, g, h->src + r * PIECE, PIECE, r);
		shmemd_group_sync(g);
		for (int pe = 0; pe < n_pes; pe++)
			shmemd_putmem_nbi_group(&p->ctx, g,
						h->dst + (r * PES_MAX + p->ctx.my_pe) * PIECE,
						h->src + r * PIECE, PIECE * sizeof(uint32_t), pe);
		shmemd_fence_group(&p->ctx, g);
		for (int pe = 0; pe < n_pes; pe++)
			if (g.rank == g.size - 1)
				announce(p, (p->ctx.my_pe + pe) % n_pes);
		await(p, g, &h->flag, p->dims.start + (uint64_t)((r + 1) * n_pes), p->ctx.my_pe);
		for (int pe = 0; pe < n_pes; pe++)
			check(g, h->dst + (r * PES_MAX + pe) * PIECE, PIECE, pe, r);
	}
}

const char *const signal_op_variants[] = {"signal add", "atomic inc", "atomic fetch add", NULL};

static void pass_on(const pe_t *p, shmemd_group_t g, uint64_t value)
{
	heap_t *h = p->heap;
	if (p->dims.variant == 0) {
		shmemd_putmem_signal_group(&p->ctx, g, &h->word, &h->will, sizeof(h->will),
					   &h->flag, value, SHMEMD_SIGNAL_SET, right_of(p));
		return;
	}
	if (p->dims.variant == 1)
		shmemd_fence_group(&p->ctx, g);
	else
		EXPECT(!shmemd_quiet_group(&p->ctx, g));
	if (g.rank == g.size - 1)
		shmemd_signal_op(&p->ctx, &h->flag, value, SHMEMD_SIGNAL_SET, right_of(p));
}

/* PE 0 writes to all PEs and signals only PE 1; the signal is passed on, and each PE that receives
 * it from a neighbour reads what PE 0 wrote. When it returns to PE 0, all PEs have read the data.
 */
void relay(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	uint32_t *src = h->src + p->dims.src_skew, *dst = h->dst + p->dims.dst_skew;
	uint32_t n = p->dims.n_words;
	for (int r = 1; r <= ROUNDS; r++) {
		uint64_t value = p->dims.start + (uint64_t)r;
		if (p->ctx.my_pe == 0) {
			fill(p, g, src, n, r);
			shmemd_group_sync(g);
			for (int pe = 1; pe < p->ctx.n_pes; pe++)
				shmemd_putmem_group(&p->ctx, g, dst, src, n * sizeof(*src), pe);
			pass_on(p, g, value);
		}
		await(p, g, &h->flag, value, left_of(p));
		if (p->ctx.my_pe != 0) {
			check(g, dst, n, 0, r);
			pass_on(p, g, value);
		}
	}
}

const char *const relay_variants[] = {"put_signal", "fence, signal", "quiet, signal", NULL};

/* Neighbours pass packed values around the ring, each thread through a slot of its own; an answer
 * in the same form frees the slot. */
void packed(const void *params)
{
	const pe_t *p = params;
	uint32_t tid = shmemd_thread_index();
	shmemd_packed_t *slot = (shmemd_packed_t *)(void *)p->heap->dst + tid % PACKED_SLOTS;
	shmemd_packed_t *answer = (shmemd_packed_t *)(void *)p->heap->src + tid % PACKED_SLOTS;
	uint64_t value = 0;
	if (tid >= PACKED_SLOTS)
		return;
	for (uint32_t r = 1; r <= ROUNDS; r++) {
		uint32_t epoch = r;
		shmemd_put_packed(&p->ctx, slot, PACKED_VALUE(p->ctx.my_pe, tid, r), epoch,
				  right_of(p));
		if (p->dims.variant == 0)
			EXPECT(!shmemd_wait_packed(&p->ctx, &value, slot, epoch));
		else
			while (!shmemd_test_packed(&p->ctx, &value, slot, epoch))
				shmemd_arch_spin_hint();
		EXPECT(value == PACKED_VALUE(left_of(p), tid, r));
		shmemd_put_packed(&p->ctx, answer, ~value, epoch, left_of(p));
		EXPECT(!shmemd_wait_packed(&p->ctx, &value, answer, epoch));
		EXPECT(value == ~PACKED_VALUE(p->ctx.my_pe, tid, r));
	}
}

const char *const packed_variants[] = {"wait", "test", NULL};
