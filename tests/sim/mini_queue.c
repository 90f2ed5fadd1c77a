/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue in miniature. Indexes count requests since the queue was made and never wrap; the
 * doorbell and the completion counter carry their lowest 16 bits. */
#include "mini_queue.h"
#include <string.h>

#define IS(mistake_) (q->setup.mistake == (mistake_))

typedef struct request {
	uint32_t op; /* low bits of its index << 8 | destination */
	uint32_t value;
} request_t;

typedef struct queue {
	mini_setup_t setup;
	uint64_t reserved, ready, posted, consumed;
	_Alignas(8) uint32_t lock;
	_Alignas(8) uint32_t record;    /* doorbell record, in memory */
	_Alignas(8) uint32_t doorbell;  /* register of the adapter */
	_Alignas(8) uint32_t completed; /* written by the adapter */
	request_t ring[MINI_SLOTS];
	uint32_t delivered[MINI_MAX_REQUESTS];
} queue_t;

const mini_text_t mini_texts[MINI_N_MISTAKES] = {
	[MINI_NONE] = {"none", MINI_IS_HARMLESS},
	[MINI_NO_LOCK] = {"posting without its lock", MINI_BY_ANY},
	[MINI_SLOT_OFF_BY_ONE] = {"slot wait off by one", MINI_BY_ANY},
	[MINI_READY_ADDED] = {"ready index added, not in order", MINI_BY_ANY},
	[MINI_BATCH_ONLY] = {"doorbell only at batch boundaries", MINI_BY_ANY},
	[MINI_NO_WRAP] = {"16-bit counter compared without wrap", MINI_BY_ANY},
	[MINI_NOT_POSTED] = {"poll does not wait for posting", MINI_BY_MANY},
	[MINI_NO_FENCE_READY] = {"no fence between request and ready index", MINI_WHEN_WEAK},
	[MINI_NO_FENCE_CONS] = {"no fence between completion and consumer index", MINI_WHEN_WEAK},
	[MINI_CONS_STORED] = {"consumer index stored, not maxed", MINI_IS_HARMLESS},
	[MINI_NO_FENCE_RECORD] = {"no second fence before the doorbell record", MINI_IS_HARMLESS},
	[MINI_DOORBELL_RELAXED] = {"doorbell store relaxed", MINI_IS_HARMLESS},
};

/* Raise *p to v; returns what it was. */
static uint64_t raise_to(uint64_t *p, uint64_t v)
{
	uint64_t old = shmemd_arch_ld_relaxed_u64(p);
	while (old < v) {
		uint64_t seen = shmemd_arch_atom_cas_u64(p, old, v);
		if (seen == old)
			break;
		old = seen;
	}
	return old;
}

static void publish_consumed(queue_t *q, uint64_t index)
{
	/* Whoever reads the new index and fences must see the data that it stands for. */
	if (!IS(MINI_NO_FENCE_CONS))
		shmemd_arch_fence_quiet();
	if (IS(MINI_CONS_STORED))
		shmemd_arch_st_relaxed_u64(&q->consumed, index);
	else
		raise_to(&q->consumed, index);
}

/* All requests below index are completed, by the 16-bit counter c. At most MINI_SLOTS are under
 * way: a counter that is not within so many below index is at or above it. */
static int is_complete(const queue_t *q, uint64_t index, uint16_t c)
{
	if (IS(MINI_NO_WRAP))
		return c >= (uint16_t)index;
	return (uint16_t)((uint16_t)index - c - 1) >= MINI_SLOTS;
}

/* Wait until all requests below index are completed. */
static void poll(queue_t *q, uint64_t index)
{
	while (shmemd_arch_ld_relaxed_u64(&q->consumed) < index) {
		/* The counter means nothing for what was not posted: it may be a lap behind. */
		while (!IS(MINI_NOT_POSTED) && shmemd_arch_ld_relaxed_u64(&q->posted) < index)
			shmemd_arch_spin_hint();
		uint16_t c = (uint16_t)shmemd_arch_ld_relaxed_u32(&q->completed);
		if (is_complete(q, index, c)) {
			uint64_t wide = (index & ~(uint64_t)0xffff) | c;
			publish_consumed(q, wide < index ? wide + 0x10000 : wide);
			break;
		}
		shmemd_arch_spin_hint();
	}
	shmemd_arch_fence_quiet();
}

/* Tell the adapter of all requests below index. */
static void post(queue_t *q, uint64_t index)
{
	while (!IS(MINI_NO_LOCK) && shmemd_arch_atom_cas_u32(&q->lock, 0, 1))
		shmemd_arch_spin_hint();
	shmemd_arch_fence_quiet();
	if (raise_to(&q->posted, index) < index) {
		if (!IS(MINI_NO_FENCE_RECORD))
			shmemd_arch_fence_quiet();
		shmemd_arch_st_relaxed_u32(&q->record, (uint32_t)index & 0xffff);
		if (IS(MINI_DOORBELL_RELAXED))
			shmemd_arch_st_relaxed_u32(&q->doorbell, (uint32_t)index & 0xffff);
		else
			shmemd_arch_st_release_u32(&q->doorbell, (uint32_t)index & 0xffff);
	}
	if (!IS(MINI_NO_LOCK)) {
		shmemd_arch_fence_quiet();
		shmemd_arch_st_relaxed_u32(&q->lock, 0);
	}
}

/* Requests up to index are ready once all before it are. */
static void publish_ready(queue_t *q, uint64_t index)
{
	if (!IS(MINI_NO_FENCE_READY))
		shmemd_arch_fence_quiet();
	if (IS(MINI_READY_ADDED))
		shmemd_arch_atom_add_u64(&q->ready, 1);
	else
		while (shmemd_arch_atom_cas_u64(&q->ready, index, index + 1) != index)
			shmemd_arch_spin_hint();
	shmemd_arch_fence_quiet();
}

static void send(queue_t *q, uint32_t to, uint32_t value)
{
	uint64_t index = shmemd_arch_atom_add_u64(&q->reserved, 1), end = index + 1;
	request_t *r = &q->ring[index % MINI_SLOTS];
	if (end > MINI_SLOTS)
		poll(q, end - MINI_SLOTS - IS(MINI_SLOT_OFF_BY_ONE));
	shmemd_arch_st_relaxed_u32(&r->value, value);
	shmemd_arch_st_relaxed_u32(&r->op, ((uint32_t)index & 0xffff) << 8 | to);
	publish_ready(q, index);
	/* The last of those under way rings for all. */
	int is_last = !IS(MINI_BATCH_ONLY) && end == shmemd_arch_ld_relaxed_u64(&q->reserved);
	if (is_last || index / MINI_BATCH != end / MINI_BATCH)
		post(q, end);
}

static void quiet(queue_t *q)
{
	uint64_t ready = shmemd_arch_ld_relaxed_u64(&q->ready);
	shmemd_arch_fence_quiet();
	poll(q, ready);
}

static void producer(const void *params)
{
	queue_t *q = *(queue_t *const *)params;
	uint32_t n = q->setup.n_requests, first = shmemd_arch_block() * n;
	for (uint32_t i = first; i < first + n; i++)
		send(q, i, 1000 + i);
	quiet(q);
	for (uint32_t i = first; i < first + n; i++)
		if (shmemd_arch_ld_acquire_u32(&q->delivered[i]) != 1000 + i)
			shmemsim_fail("quiet returned before request %u was delivered", i);
}

static void execute(queue_t *q, uint64_t at)
{
	const request_t *r = &q->ring[at % MINI_SLOTS];
	uint32_t op = shmemd_arch_ld_relaxed_u32(&r->op);
	uint32_t value = shmemd_arch_ld_relaxed_u32(&r->value), to = op & 0xff;
	if (op >> 8 != (at & 0xffff))
		shmemsim_fail("the adapter fetched a stale request at index %llu",
			      (unsigned long long)at);
	if (to >= MINI_MAX_REQUESTS)
		shmemsim_fail("the adapter fetched a request for destination %u", to);
	shmemd_arch_st_release_u32(&q->delivered[to], value);
}

/* The adapter: requests in order; it may report each completion or several at once. */
static void adapter(void *arg)
{
	queue_t *q = arg;
	uint64_t at = q->setup.start;
	uint64_t end = at + (uint64_t)q->setup.n_producers * q->setup.n_requests;
	while (at < end) {
		uint16_t rung = (uint16_t)shmemd_arch_ld_acquire_u32(&q->doorbell);
		uint16_t n = (uint16_t)(rung - at);
		if (n == 0 || n > MINI_SLOTS) { /* nothing new, or the doorbell went backwards */
			shmemd_arch_spin_hint();
			continue;
		}
		while ((uint16_t)at != rung) {
			execute(q, at++);
			if ((uint16_t)at == rung || shmemsim_choose(2))
				shmemd_arch_st_release_u32(&q->completed, (uint32_t)at & 0xffff);
		}
	}
}

static void reset(queue_t *q, const mini_setup_t *setup)
{
	memset(q, 0, sizeof(*q));
	q->setup = *setup;
	q->reserved = q->ready = q->posted = q->consumed = setup->start;
	q->record = q->doorbell = q->completed = (uint32_t)setup->start & 0xffff;
	shmemsim_name(&q->reserved, sizeof(q->reserved), "reserved");
	shmemsim_name(&q->ready, sizeof(q->ready), "ready");
	shmemsim_name(&q->posted, sizeof(q->posted), "posted");
	shmemsim_name(&q->consumed, sizeof(q->consumed), "consumed");
	shmemsim_name(&q->lock, sizeof(q->lock), "lock");
	shmemsim_name(&q->record, sizeof(q->record), "record");
	shmemsim_name(&q->doorbell, sizeof(q->doorbell), "doorbell");
	shmemsim_name(&q->completed, sizeof(q->completed), "completed");
	shmemsim_name(q->ring, sizeof(q->ring), "ring");
	shmemsim_name(q->delivered, sizeof(q->delivered), "delivered");
}

int mini_main(int pe, int n_pes, void *setup)
{
	static queue_t queue;
	queue_t *q = &queue;
	const mini_setup_t *s = setup;
	(void)pe;
	(void)n_pes;
	reset(q, s);
	return shmemsim_launch(producer, &q, sizeof(q), s->n_producers, 1, 0, NULL) ||
	       shmemsim_agent("adapter", adapter, q) || shmemsim_sync(NULL);
}
