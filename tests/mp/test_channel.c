/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* channel.h: several channels to every PE at once, by one kernel. The results must be the same by
 * RDMA and by stores, except for the state of the queue. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include <shmem_dev/bulk.h>
#include "scopes.h"

#define CHANNELS 3
#define WORDS 12 /* in three puts: rung at once, in a batch, deferred */
#define ROUNDS 4

typedef struct channel_params {
	shmemd_ctx_t ctx;
	uint64_t *src;    /* [to pe][channel][WORDS] */
	uint64_t *dst;    /* [from pe][channel][WORDS] */
	uint32_t *count;  /* [from pe][channel][2]: the first word counts; the second stays 0 */
	uint64_t *sum;    /* [from pe][channel] */
	uint64_t *flag;   /* [from pe][channel]: rounds sent */
	uint64_t *ack;    /* [from pe][channel]: rounds of this PE that it has read */
	uint64_t *posted; /* [to pe][channel]: the kernel's value at its end */
	uint64_t *space;  /* [to pe][channel]: the kernel's value at its end */
	int *status;
	int n_rounds;
} channel_params_t;

SHMEMD_FN uint64_t word_value(int from, int to, uint32_t k, int round, uint32_t i)
{
	return (uint64_t)(from * 64 + to) << 32 | (uint64_t)k << 24 | (uint64_t)round << 8 | i;
}

/* By a warp: data in three puts, two sums, and a flag ordered after them. */
SCOPE_STEP void channel_send(const channel_params_t *p, const shmemd_ctx_t *q, uint32_t k, int pe,
			     int round)
{
	static const int whens[3] = {SHMEMD_RING_NOW, SHMEMD_RING_DEFAULT, SHMEMD_RING_DEFERRED};
	uint32_t to = (uint32_t)pe * CHANNELS + k, lane = shmemd_thread_index() % 32, i;
	uint32_t me = (uint32_t)shmemd_my_pe(q) * CHANNELS + k;

	for (i = lane; i < WORDS; i += 32)
		p->src[to * WORDS + i] = word_value(shmemd_my_pe(q), pe, k, round, i);
	shmemd_group_sync(shmemd_warp());
	for (i = 0; i < 3; i++)
		shmemd_channel_put_nbi_warp(q, p->dst + me * WORDS + i * (WORDS / 3),
					    p->src + to * WORDS + i * (WORDS / 3), WORDS / 3 * 8,
					    pe, whens[i]);
	shmemd_group_sync(shmemd_warp());
	if (lane != 0)
		return;
	shmemd_channel_add_u32(q, p->count + (size_t)me * 2, 0x80000001u, pe, SHMEMD_RING_DEFERRED);
	shmemd_channel_add_u64(q, p->sum + me, (uint64_t)k << 40 | 1, pe, SHMEMD_RING_DEFERRED);
	shmemd_channel_signal_set(q, p->flag + me, (uint64_t)round, pe, SHMEMD_RING_DEFERRED);
	shmemd_channel_ring(q, pe);
}

/* All data before the flag has arrived, and is that round's: the sender waits for ack. */
SCOPE_STEP void channel_receive(const channel_params_t *p, const shmemd_ctx_t *q, uint32_t k,
				int pe, int round)
{
	uint32_t from = (uint32_t)pe * CHANNELS + k, i;
	uint32_t me = (uint32_t)shmemd_my_pe(q) * CHANNELS + k;

	scope_report(p->status, 0,
		     shmemd_signal_wait_until_for_warp(q, p->flag + from, SHMEMD_CMP_GE,
						       (uint64_t)round, PES_LIMIT_NS));
	for (i = shmemd_thread_index() % 32; i < WORDS; i += 32)
		scope_report(p->status, 1,
			     p->dst[from * WORDS + i] ==
					     word_value(pe, shmemd_my_pe(q), k, round, i)
				     ? 0
				     : WRONG_VALUE);
	scope_report(p->status, 2,
		     p->count[from * 2] == 0x80000001u * (uint32_t)round &&
				     p->count[from * 2 + 1] == 0
			     ? 0
			     : WRONG_VALUE);
	scope_report(p->status, 3,
		     p->sum[from] == ((uint64_t)k << 40 | 1) * (uint64_t)round ? 0 : WRONG_VALUE);
	shmemd_group_sync(shmemd_warp());
	if (shmemd_thread_index() % 32 == 0)
		shmemd_channel_signal_set(q, p->ack + me, (uint64_t)round, pe, SHMEMD_RING_DEFAULT);
}

/* Wait until that PE has read this PE's data: afterwards the next round may overwrite it. */
SCOPE_STEP void channel_await(const channel_params_t *p, const shmemd_ctx_t *q, uint32_t k, int pe,
			      int round)
{
	const uint64_t *ack = p->ack + (uint32_t)pe * CHANNELS + k;

	scope_report(p->status, 4,
		     shmemd_signal_wait_until_for_warp(q, ack, SHMEMD_CMP_GE, (uint64_t)round,
						       PES_LIMIT_NS));
}

/* Everything is complete by poll, by quiet of the channel and of the context. */
SCOPE_STEP void channel_finish(const channel_params_t *p, const shmemd_ctx_t *q, uint32_t k, int pe)
{
	uint64_t place = shmemd_channel_posted(q, pe);
	uint32_t to = (uint32_t)pe * CHANNELS + k;
	int is_done = 0, status = 0;

	while (!is_done && status == 0) {
		status = shmemd_channel_poll(q, pe, place, &is_done);
		shmemd_arch_spin_hint();
	}
	scope_report(p->status, 5, status);
	scope_report(p->status, 6, shmemd_channel_quiet(q, pe));
	p->space[to] = shmemd_channel_space(q, pe);
	p->posted[to] = shmemd_channel_posted(q, pe);
	scope_report(p->status, 7, shmemd_channel_poll(q, pe, p->posted[to], &is_done));
	scope_report(p->status, 8, is_done ? 0 : WRONG_VALUE);
}

SHMEMD_KERNEL(channel_kernel, channel_params_t, p)
{
	uint32_t k = shmemd_block_index();
	shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, k);
	int n = shmemd_n_pes(&q), me = shmemd_my_pe(&q), round, i;

	for (round = 1; round <= p.n_rounds; round++) {
		for (i = 0; i < n; i++)
			channel_send(&p, &q, k, (me + i) % n, round);
		for (i = 0; i < n; i++)
			channel_receive(&p, &q, k, (me + n - i) % n, round);
		for (i = 0; i < n; i++)
			channel_await(&p, &q, k, i, round);
	}
	shmemd_group_sync(shmemd_warp());
	for (i = 0; i < n && shmemd_thread_index() == 0; i++)
		channel_finish(&p, &q, k, i);
	shmemd_group_sync(shmemd_warp());
	scope_report(p.status, 9, shmemd_quiet_warp(&q));
}

/* The kernel's view of a queue equals the host's; without a queue the values are 0. */
static void check_queue(pes_t *pes, int pe, uint32_t k, uint64_t posted, uint64_t space)
{
	shmemh_channel_counters_t c;

	memset(&c, 0, sizeof(c));
	c.size = sizeof(c);
	if (shmemh_channels(pes->job) == 0) {
		PES_EQ(pes, posted, 0);
		PES_EQ(pes, space, UINT32_MAX);
		return;
	}
	if (shmemh_channel_counters(pes->job, pe, (int)k, &c) != SHMEMH_OK) {
		PES_EQ(pes, posted, 0);
		PES_EQ(pes, space, UINT32_MAX);
		return;
	}
	PES_EQ(pes, c.status, SHMEMD_OK);
	PES_EQ(pes, posted, c.posted);
	PES_EQ(pes, c.rung, c.posted);
	PES_EQ(pes, c.completed, c.posted);
	PES_EQ(pes, space, c.depth);
	PES_CHECK(pes, pes_maps(pes, pe) || c.posted > 0);
}

/* Without a NIC a context accepts any channel number. */
static int several_channels(pes_t *pes)
{
	size_t n = (size_t)pes->n_pes * CHANNELS;
	uint64_t *posted, *space;
	channel_params_t p;
	uint32_t k;
	int pe;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_rounds = pes->seed ? 2 : ROUNDS;
	PES_CHECK(pes, shmemh_channels(pes->job) == 0 || shmemh_channels(pes->job) == CHANNELS);
	PES_ALLOC(pes, p.src, uint64_t, n * WORDS, 0);
	PES_ALLOC(pes, p.dst, uint64_t, n * WORDS, 0);
	PES_ALLOC(pes, p.count, uint32_t, n * 2, 0);
	PES_ALLOC(pes, p.sum, uint64_t, n, 0);
	PES_ALLOC(pes, p.flag, uint64_t, n, 0);
	PES_ALLOC(pes, p.ack, uint64_t, n, 0);
	PES_ALLOC(pes, p.posted, uint64_t, n, 0);
	PES_ALLOC(pes, p.space, uint64_t, n, 0);
	PES_RUN(pes, channel_kernel, CHANNELS, 32, p);
	posted = (uint64_t *)pes_read(pes, p.posted, n * 8);
	space = (uint64_t *)pes_read(pes, p.space, n * 8);
	if (posted == NULL || space == NULL)
		return 1;
	for (pe = 0; pe < pes->n_pes; pe++)
		for (k = 0; k < CHANNELS; k++)
			check_queue(pes, pe, k, posted[(uint32_t)pe * CHANNELS + k],
				    space[(uint32_t)pe * CHANNELS + k]);
	return 0;
}

/* Tiles travel on the context's channel: nothing is posted on channel 0. */
SHMEMD_KERNEL(tile_kernel, channel_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, 1, tile);
	shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, 1);
	int pe = (shmemd_my_pe(&q) + 1) % shmemd_n_pes(&q);
	uint64_t before = shmemd_channel_posted(&p.ctx, pe), after = shmemd_channel_posted(&q, pe);

	memset(tile, 0, sizeof(*tile));
	shmemd_bulk_fence();
	shmemd_put_tile_bulk(&q, p.dst, tile, sizeof(*tile), pe);
	shmemd_add_tile_bulk(&q, p.count, tile, sizeof(*tile) / 4, SHMEMD_BULK_U32, pe);
	shmemd_bulk_wait();
	scope_report(p.status, 0, shmemd_channel_posted(&p.ctx, pe) == before ? 0 : WRONG_VALUE);
	scope_report(p.status, 1,
		     shmemd_ptr(&q, p.dst, pe) || shmemd_n_pes(&q) == 1 ||
				     shmemd_channel_posted(&q, pe) != after
			     ? 0
			     : WRONG_VALUE);
	scope_report(p.status, 2, shmemd_quiet(&q));
}

static int tiles_on_a_channel(pes_t *pes)
{
	channel_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.dst, uint64_t, sizeof(shmemd_bulk_t), 0);
	PES_ALLOC(pes, p.count, uint32_t, sizeof(shmemd_bulk_t), 0);
	PES_RUN(pes, tile_kernel, 1, 1, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(several_channels),
					   PES_TEST(tiles_on_a_channel)};

	setenv("SHMEMH_CHANNELS", "3", 1);
	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
