/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A thread that reads a flag or signal can read the data before it: after quiet by any transport,
 * on one channel by its order, and with a fence between the two transports to one PE. */
#include "kernels.h"

/* Each thread of the receiver waits for one of the sender. */
static int is_receiver(const ring_pe_t *p)
{
	return p->pe == p->target && p->pe != 0;
}

static void await_word(const ring_pe_t *p, const uint64_t *word, uint64_t value)
{
	EXPECT_IS(shmemd_signal_wait_until(&p->ctx, word, SHMEMD_CMP_GE, value), SHMEMD_OK);
}

/* quiet, then a flag by another transport. */

enum { FLAG_OWN, FLAG_CHANNEL, FLAG_OWN_CHANNEL_QUIET, FLAG_CHANNEL_CHANNEL_QUIET };

const char *const ring_flag_variants[] = {"mapped flag", "flag on another channel",
					  "quiet of the channel, mapped flag",
					  "quiet of the channel, flag on another", NULL};

void ring_flag_plan(void)
{
	ring_dims.target = ring_dims.plan.n_pes - 1;
	ring_dims.plan.n_channels = 2;
}

/* Store to a word of the sender's heap, from where the receiver reads it. */
static void flag(const ring_pe_t *p, uint32_t w)
{
	uint64_t *word = word_of(&p->ctx, AREA_RESULT, w);
	shmemd_ctx_t other = shmemd_ctx_channel(&p->ctx, 1);

	if (p->variant % 2 == FLAG_OWN)
		shmemd_p_u64(&p->ctx, word, 1, p->pe);
	else
		shmemd_channel_signal_set(&other, word, 1, p->target, SHMEMD_RING_NOW);
}

static void await_flag(const ring_pe_t *p, uint32_t w)
{
	const int at = p->variant % 2 == FLAG_OWN ? 0 : p->pe;

	while (!shmemd_arch_ld_acquire_u64(word_on(at, AREA_RESULT, w)))
		shmemd_arch_spin_hint();
}

void ring_flag(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	if (p->pe == 0) {
		ring_send_all(p, w);
		EXPECT_IS(p->variant < FLAG_OWN_CHANNEL_QUIET
				  ? shmemd_quiet(&p->ctx)
				  : shmemd_channel_quiet(&p->ctx, p->target),
			  SHMEMD_OK);
		flag(p, w);
	} else if (is_receiver(p)) {
		await_flag(p, w);
		ring_check(p, w);
	}
}

/* put_signal */

#define BLOCKING 4u /* bit of a variant */
#define ADD 2u
#define EMPTY 1u /* the data was sent before, separately */

const char *const ring_signal_variants[] = {"set, nbi",    "set after p", "add, nbi",
					    "add after p", "set",         "set after p",
					    "add",         "add after p", NULL};

static void put_signal(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *dst = word_of(&p->ctx, AREA_TARGET, place_of(w, i));
	uint64_t *src = word_of(&p->ctx, AREA_SOURCE, place_of(w, i));
	uint64_t *sig = word_of(&p->ctx, AREA_RESULT, w);
	const int op = p->variant & ADD ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET;
	const uint64_t value = p->variant & ADD ? 1 : i + 1;

	if (p->variant & EMPTY) {
		shmemd_p_u64(&p->ctx, dst, value_of(w, i), p->target);
		shmemd_signal_op(&p->ctx, sig, value, op, p->target);
	} else if (p->variant & BLOCKING) {
		shmemd_putmem_signal(&p->ctx, dst, src, sizeof(*src), sig, value, op, p->target);
		shmemd_arch_st_data_u64(src, 0);
	} else {
		shmemd_putmem_signal_nbi(&p->ctx, dst, src, sizeof(*src), sig, value, op,
					 p->target);
	}
}

/* The sources are already filled. */
void ring_signal(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	for (uint32_t i = 0; i < RING_OPS; i++) {
		if (p->pe == 0)
			put_signal(p, w, i);
		if (!is_receiver(p))
			continue;
		await_word(p, word_of(&p->ctx, AREA_RESULT, w), i + 1);
		for (uint32_t k = 0; k <= i; k++)
			EXPECT_IS(shmemd_arch_ld_data_u64(
					  word_of(&p->ctx, AREA_TARGET, place_of(w, k))),
				  value_of(w, k));
	}
	if (p->pe == 0)
		EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
}

/* Besides threads that signal, others post with deferred doorbells and never ring. Signals arrive
 * nevertheless, though no thread waits for completions of its own. */

const char *const ring_later_variants[] = {"one later", "two later", NULL};

static void post_deferred(const ring_pe_t *p, uint32_t w)
{
	for (uint32_t i = 0; i <= p->variant; i++)
		shmemd_channel_signal_set(&p->ctx, word_of(&p->ctx, AREA_TARGET, place_of(w, i)),
					  value_of(w, i), p->target, SHMEMD_RING_DEFERRED);
}

void ring_deferred(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();
	uint64_t *sig = word_of(&p->ctx, AREA_RESULT, w);

	if (is_receiver(p) && w % 2 == 0) {
		await_word(p, sig, 1);
		shmemd_arch_st_release_u64(word_on(0, AREA_RESULT, w), 1);
	}
	if (p->pe)
		return;
	if (w % 2) {
		post_deferred(p, w);
		return;
	}
	shmemd_signal_op(&p->ctx, sig, 1, SHMEMD_SIGNAL_SET, p->target);
	while (!shmemd_arch_ld_acquire_u64(sig))
		shmemd_arch_spin_hint();
}

/* fence */

enum { ORDER_NIC, ORDER_STORE_NIC, ORDER_NIC_STORE, ORDER_BEHIND };

const char *const ring_order_variants[] = {"put, fence, put", "store, fence, atomic by NIC",
					   "atomic by NIC, fence, store",
					   "store, add of the channel", NULL};

/* In all variants but the first, all heaps are mapped and atomics use RDMA. */
void ring_order_plan(void)
{
	ring_flag_plan();
	if (ring_dims.variant != ORDER_NIC)
		ring_dims.plan.mapped = (1u << ring_dims.plan.n_pes) - 1;
}

static void send_ordered(const ring_pe_t *p, uint32_t w, uint32_t i)
{
	uint64_t *dst = word_of(&p->ctx, AREA_TARGET, place_of(w, i));
	uint64_t *sig = word_of(&p->ctx, AREA_RESULT, w);

	if (p->variant == ORDER_NIC_STORE)
		shmemd_atomic_add_u64(&p->ctx, dst, value_of(w, i), p->target);
	else
		shmemd_p_u64(&p->ctx, dst, value_of(w, i), p->target);
	if (p->variant == ORDER_BEHIND) {
		shmemd_channel_add_u64(&p->ctx, sig, 1, p->target, SHMEMD_RING_NOW);
		return;
	}
	shmemd_fence(&p->ctx);
	if (p->variant == ORDER_STORE_NIC)
		shmemd_atomic_inc_u64(&p->ctx, sig, p->target);
	else
		shmemd_p_u64(&p->ctx, sig, i + 1, p->target);
}

void ring_order(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();

	for (uint32_t i = 0; i < RING_OPS; i++) {
		if (p->pe == 0)
			send_ordered(p, w, i);
		if (!is_receiver(p))
			continue;
		await_word(p, word_of(&p->ctx, AREA_RESULT, w), i + 1);
		EXPECT_IS(shmemd_arch_ld_data_u64(word_of(&p->ctx, AREA_TARGET, place_of(w, i))),
			  value_of(w, i));
	}
	if (p->pe == 0)
		EXPECT_IS(shmemd_quiet(&p->ctx), SHMEMD_OK);
}

/* A warp, or a block of two, sends together: puts from the heap, then a signal that is ordered
 * after the stores of all its threads. */

enum { WARP_FENCE, WARP_CHANNEL, WARP_SIGNAL, WARP_PUT, WARP_QUIET, WARP_BOTH, TWO_WARPS_SIGNAL };

const char *const ring_warp_variants[] = {"put, fence, signal",
					  "put and add of the channel",
					  "put_signal",
					  "blocking put, signal",
					  "put, quiet, mapped flag",
					  "atomics by NIC, fence, mapped flag",
					  "put_signal of two warps",
					  NULL};

#define WARP_WORDS 18u /* of 4 bytes: more than fits inline */

void ring_warp_plan(void)
{
	ring_flag_plan();
	ring_dims.n_blocks = 1;
	ring_dims.n_threads = ring_dims.variant == TWO_WARPS_SIGNAL ? 64 : 32;
	ring_dims.plan.depth = 64;
	if (ring_dims.variant == WARP_BOTH)
		ring_dims.plan.mapped = (1u << ring_dims.plan.n_pes) - 1;
}

/* Send the signal from another lane than those that post and wait. */
static void signal_by_lane(const ring_pe_t *p, uint64_t *sig)
{
	if (shmemd_thread_index() != 5)
		return;
	if (p->variant == WARP_CHANNEL)
		shmemd_channel_add_u64(&p->ctx, sig, 1, p->target, SHMEMD_RING_NOW);
	else
		shmemd_p_u64(&p->ctx, sig, 1, p->variant == WARP_QUIET ? p->pe : p->target);
}

static shmemd_group_t senders(void)
{
	return shmemd_n_threads() == 32 ? shmemd_warp() : shmemd_block();
}

static void send_by_warp(const ring_pe_t *p, uint32_t *dst, const uint32_t *src, uint64_t *sig)
{
	const size_t nbytes = WARP_WORDS * sizeof(*src);
	const uint32_t w = shmemd_thread_index();

	if (p->variant == WARP_SIGNAL || p->variant == TWO_WARPS_SIGNAL) {
		shmemd_putmem_signal_group(&p->ctx, senders(), dst, src, nbytes, sig, 1,
					   SHMEMD_SIGNAL_ADD, p->target);
		return;
	}
	if (p->variant == WARP_CHANNEL)
		shmemd_channel_put_nbi_warp(&p->ctx, dst, src, nbytes, p->target,
					    SHMEMD_RING_DEFERRED);
	else if (p->variant == WARP_PUT)
		shmemd_putmem_warp(&p->ctx, dst, src, nbytes, p->target);
	else if (p->variant != WARP_BOTH)
		shmemd_putmem_nbi_warp(&p->ctx, dst, src, nbytes, p->target);
	else if (w < WARP_WORDS)
		shmemd_atomic_add_u32(&p->ctx, dst + w, w + 1, p->target);
	if (p->variant == WARP_FENCE || p->variant == WARP_BOTH)
		shmemd_fence_warp(&p->ctx);
	if (p->variant == WARP_QUIET)
		EXPECT_IS(shmemd_quiet_warp(&p->ctx), SHMEMD_OK);
	signal_by_lane(p, sig);
}

/* By the last warp: a blocking put has read the source. */
static void erase(const ring_pe_t *p, uint32_t *src)
{
	const uint32_t i = shmemd_thread_index() - (shmemd_n_threads() - 32);

	if (i < WARP_WORDS &&
	    (p->variant == WARP_SIGNAL || p->variant == WARP_PUT || p->variant == TWO_WARPS_SIGNAL))
		shmemd_arch_st_data_u32(src + i, 0);
}

void ring_warp(const void *params)
{
	const ring_pe_t *p = params;
	const uint32_t w = worker();
	uint32_t *src = (uint32_t *)(void *)word_of(&p->ctx, AREA_SOURCE, 0);
	uint32_t *dst = (uint32_t *)(void *)word_of(&p->ctx, AREA_TARGET, 0);
	uint64_t *sig = word_of(&p->ctx, AREA_RESULT, 0);

	if (p->pe == 0) {
		if (w < WARP_WORDS)
			shmemd_arch_st_data_u32(src + w, w + 1);
		shmemd_group_sync(senders());
		if (w == 7) /* may still be posting this while the others begin the warp's put */
			shmemd_p_u64(&p->ctx, word_of(&p->ctx, AREA_TARGET, 40), 1, p->target);
		send_by_warp(p, dst, src, sig);
		erase(p, src);
		EXPECT_IS(shmemd_quiet_group(&p->ctx, senders()), SHMEMD_OK);
	} else if (is_receiver(p) && w == 0) {
		while (!shmemd_arch_ld_acquire_u64(
			word_on(p->variant == WARP_QUIET ? 0 : p->pe, AREA_RESULT, 0)))
			shmemd_arch_spin_hint();
		for (uint32_t i = 0; i < WARP_WORDS; i++)
			EXPECT_IS(shmemd_arch_ld_data_u32(dst + i), i + 1);
	}
}
