/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* fence, quiet and barrier: data, then a flag by p or put; store buffering of puts. */
#include <shmem_dev/channel.h>
#include "kernels.h"
#include "memory.h"

#define N_WORDS (WORDS_MAX / ROUNDS)

/* The flag, of each type that waits support. */
enum { FLAG_U32, FLAG_S32, FLAG_U64, FLAG_S64 };

/* Order, in steps of 4 variants. */
enum {
	FENCE = 0,
	QUIET = 4,
	BARRIER = 8,
	CHANNEL_QUIET = 12,
	BEHIND_ADD = 16,
	BEHIND_SET,
	FENCE_PUT,
	QUIET_PUT = 20,
	FENCE_LEADER = 22,
	QUIET_LEADER = 24,
	OTHER_FENCES = 26
};

/* Flags of channels are ordered after the puts by themselves. */
static void send_flag(const pe_t *p, uint64_t value)
{
	uint64_t *flag = &p->heap->flag;
	if (p->dims.variant == BEHIND_ADD)
		shmemd_channel_add_u64(&p->ctx, flag, 1, right_of(p), SHMEMD_RING_NOW);
	else if (p->dims.variant == BEHIND_SET)
		shmemd_channel_signal_set(&p->ctx, flag, value, right_of(p), SHMEMD_RING_NOW);
	else if (p->dims.variant % 4 <= FLAG_S32)
		shmemd_p_u32(&p->ctx, (uint32_t *)flag, (uint32_t)value, right_of(p));
	else
		shmemd_p_u64(&p->ctx, flag, value, right_of(p));
}

static void await_flag(const pe_t *p, uint64_t value)
{
	const void *flag = &p->heap->flag;
	uint32_t low =
		(uint32_t)value; /* it has wrapped at 2^32, so it cannot be compared by size */
	int status = SHMEMD_OK;
	if (p->dims.variant % 4 == FLAG_U32 && p->dims.form == WAIT_TEST)
		while (!shmemd_test_u32(&p->ctx, flag, SHMEMD_CMP_EQ, low))
			shmemd_arch_spin_hint();
	else if (p->dims.variant % 4 == FLAG_U32)
		status = shmemd_wait_until_u32(&p->ctx, flag, SHMEMD_CMP_EQ, low);
	else if (p->dims.variant % 4 == FLAG_S32)
		status = shmemd_wait_until_s32(&p->ctx, flag, SHMEMD_CMP_NE, (int32_t)(low - 1));
	else if (p->dims.variant % 4 == FLAG_U64)
		status = shmemd_wait_until_u64(&p->ctx, flag, SHMEMD_CMP_GT, value - 1);
	else
		status = shmemd_wait_until_s64(&p->ctx, flag, SHMEMD_CMP_GE, (int64_t)value);
	EXPECT(status == SHMEMD_OK);
}

/* A barrier also orders what was sent to PEs outside of its team, for all threads of the group. */
static void order_puts(const pe_t *p, shmemd_group_t g)
{
	shmemd_ctx_t alone = team_of_one(p);
	if (p->dims.variant >= QUIET_LEADER)
		EXPECT(!shmemd_quiet_leader_group(&p->ctx, g));
	else if (p->dims.variant >= FENCE_LEADER)
		shmemd_fence_leader_group(&p->ctx, g);
	else if (p->dims.variant < QUIET || p->dims.variant / 2 * 2 == FENCE_PUT)
		shmemd_fence_group(&p->ctx, g);
	else if (p->dims.variant < BARRIER || p->dims.variant >= QUIET_PUT)
		EXPECT(!shmemd_quiet_group(&p->ctx, g));
	else if (p->dims.variant < CHANNEL_QUIET)
		EXPECT(!shmemd_barrier_group(&alone, g));
	else
		shmemd_group_sync(g);
	if (p->dims.variant / 4 * 4 == CHANNEL_QUIET && g.rank == g.size - 1)
		EXPECT(!shmemd_channel_quiet(&p->ctx, right_of(p)));
}

/* A flag by put is one word, which the group sends. */
static void put_flag(const pe_t *p, shmemd_group_t g)
{
	const heap_t *h = p->heap;
	size_t nbytes = p->dims.variant < QUIET_PUT ? sizeof(uint64_t) : sizeof(uint32_t);
	shmemd_putmem_nbi_group(&p->ctx, g, &p->heap->flag, &h->word, nbytes, right_of(p));
}

/* Which thread sends the flag: the last one, or the leader where only that one may. After a fence
 * of its own the last one may, too. */
static uint32_t sender_of(const pe_t *p, shmemd_group_t g)
{
	if (p->dims.variant >= FENCE_LEADER && p->dims.variant < OTHER_FENCES)
		return 0;
	if (p->dims.variant >= OTHER_FENCES && g.rank == g.size - 1)
		shmemd_fence(&p->ctx);
	return g.size - 1;
}

/* The last thread, the leader or all threads send the flag, and the thread in the middle waits for
 * it. The acknowledgement comes back before the next round, so that no round overtakes the next. */
void order(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	heap_t *h = p->heap;
	for (int r = 0; r < ROUNDS; r++) {
		uint32_t *src = h->src + r * N_WORDS, *dst = h->dst + r * N_WORDS;
		uint64_t value = p->dims.start + (uint64_t)r + 1;
		fill(p, g, src, N_WORDS, r);
		if (g.rank == 0)
			shmemd_arch_st_data_u64(&h->word, value);
		shmemd_group_sync(g);
		shmemd_putmem_nbi_group(&p->ctx, g, dst, src, N_WORDS * sizeof(*src), right_of(p));
		order_puts(p, g);
		if (p->dims.variant >= FENCE_PUT && p->dims.variant < FENCE_LEADER)
			put_flag(p, g);
		else if (g.rank == sender_of(p, g))
			send_flag(p, value);
		if (g.rank == g.size / 2)
			await_flag(p, value);
		shmemd_group_sync(g);
		check(g, dst, N_WORDS, left_of(p), r);
		if (g.rank == g.size / 2)
			shmemd_p_u64(&p->ctx, &h->ack, (uint64_t)r + 1, left_of(p));
		EXPECT(!shmemd_signal_wait_until_group(&p->ctx, g, &h->ack, SHMEMD_CMP_EQ,
						       (uint64_t)r + 1));
	}
}

const char *const order_variants[] = {"fence, p_u32",
				      "fence, p_s32",
				      "fence, p_u64",
				      "fence, p_s64",
				      "quiet, p_u32",
				      "quiet, p_s32",
				      "quiet, p_u64",
				      "quiet, p_s64",
				      "barrier of one, p_u32",
				      "barrier of one, p_s32",
				      "barrier of one, p_u64",
				      "barrier of one, p_s64",
				      "quiet of the channel, p_u32",
				      "quiet of the channel, p_s32",
				      "quiet of the channel, p_u64",
				      "quiet of the channel, p_s64",
				      "add of the channel",
				      "signal of the channel",
				      "fence, put of a u64",
				      "fence, put of an s64",
				      "quiet, put of a u32",
				      "quiet, put of an s32",
				      "fence for the leader, p_u64",
				      "fence for the leader, p_s64",
				      "quiet for the leader, p_u32",
				      "quiet for the leader, p_s32",
				      "quiet for the leader, fence, p_u64",
				      "quiet for the leader, fence, p_s64",
				      NULL};

static void mark_right(const pe_t *p, uint64_t *word)
{
	if (p->dims.variant % 3 == 0)
		shmemd_p_u64(&p->ctx, word, 1, right_of(p));
	else if (p->dims.variant % 3 == 1)
		shmemd_atomic_or_u64(&p->ctx, word, 1, right_of(p));
	else
		shmemd_signal_op(&p->ctx, word, 1, SHMEMD_SIGNAL_SET, right_of(p));
}

/* Store buffering: each PE marks a word of its neighbour, completes the operation, and reads its
 * own word by another thread. */
void quiet(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	uint64_t seen = 0;
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t *word = &p->heap->rounds[r];
		if (g.rank == 0)
			mark_right(p, word);
		if (p->dims.variant < 3)
			EXPECT(!shmemd_quiet_group(&p->ctx, g));
		else if (p->dims.variant >= 6)
			EXPECT(!shmemd_quiet_leader_group(&p->ctx, g));
		else if (g.rank == 0)
			EXPECT(!shmemd_channel_quiet(&p->ctx, right_of(p)));
		if (p->dims.variant / 3 == 1) /* the others are group syncs themselves */
			shmemd_group_sync(g);
		if (g.rank == g.size - 1) {
			EXPECT(!shmemd_g_u64(&p->ctx, &seen, word, p->ctx.my_pe));
			p->memory->saw[r] = seen;
		}
	}
}

/* At least one PE reads the mark of its neighbour. */
void quiet_final_check(void)
{
	for (int r = 0; r < ROUNDS; r++) {
		uint64_t n_saw = 0;
		for (int pe = 0; pe < dims.n_pes; pe++)
			n_saw += memories[pe].saw[r];
		if (!n_saw)
			shmemsim_fail("round %d: all PEs read before the others' marks", r);
	}
}

const char *const quiet_variants[] = {"p",
				      "atomic or",
				      "signal set",
				      "p, quiet of the channel",
				      "atomic or, quiet of the channel",
				      "signal set, quiet of the channel",
				      "p, quiet for the leader",
				      "atomic or, quiet for the leader",
				      "signal set, quiet for the leader",
				      NULL};
