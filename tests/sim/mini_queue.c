/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A miniature send queue. Indexes count requests since the queue was created and never wrap; the
 * doorbell and the completion counter contain their lowest 16 bits. */
#define SHMEMSIM_CUDA_DIALECT
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

#define ALONE (MINI_FEW | MINI_MANY | MINI_WEAK | MINI_WEAK_MANY | MINI_UNWRAPPED)
#define CONSISTENT (ALL & ~(uint32_t)(MINI_WEAK | MINI_WEAK_MANY))
#define ALL (ALONE | MINI_LANES | MINI_SPLIT | MINI_WIDE)

const mini_text_t mini_texts[MINI_N_MISTAKES] = {
	[MINI_NONE] = {"none", 0, ALL},
	[MINI_NO_LOCK] = {"posting without its lock", MINI_FEW | MINI_MANY | MINI_WEAK, 0},
	[MINI_SLOT_OFF_BY_ONE] = {"slot wait off by one", ALL, 0},
	[MINI_READY_ADDED] = {"ready index added, not in order", ALONE | MINI_SPLIT, 0},
	[MINI_BATCH_ONLY] = {"doorbell only at batch boundaries", MINI_FEW, 0},
	[MINI_NO_WRAP] = {"16-bit counter compared without wrap", ALL & ~(uint32_t)MINI_UNWRAPPED,
			  MINI_UNWRAPPED},
	[MINI_NOT_POSTED] = {"poll does not wait for posting", MINI_MANY, 0},
	[MINI_NO_FENCE_READY] = {"no fence between request and ready index", MINI_WEAK, CONSISTENT},
	[MINI_NO_FENCE_CONS] = {"no fence between completion and consumer index", MINI_WEAK,
				CONSISTENT},
	[MINI_NO_FENCE_POSTED] = {"no fence between posted index and completion", MINI_WEAK_MANY,
				  CONSISTENT},
	/* Another fence covers it, or the value is computed again. */
	[MINI_CONS_STORED] = {"consumer index stored, not maxed", 0, ALL},
	[MINI_NO_FENCE_RECORD] = {"no second fence before the doorbell record", 0, ALL},
	[MINI_DOORBELL_RELAXED] = {"doorbell store relaxed", 0, ALL},
	[MINI_NO_SYNC] = {"leader does not wait for its lanes", MINI_LANES | MINI_SPLIT | MINI_WIDE,
			  ALONE},
	[MINI_NO_SYNC_AFTER] = {"lanes do not wait for their leader",
				MINI_LANES | MINI_SPLIT | MINI_WIDE, ALONE},
	[MINI_LANE_AS_RANK] = {"slot by lane, not by rank", MINI_SPLIT,
			       ALONE | MINI_LANES | MINI_WIDE},
	[MINI_ONE_ROUND] = {"all lanes wait for slots at once", MINI_SPLIT | MINI_WIDE,
			    ALONE | MINI_LANES},
	[MINI_UNEVEN_ROUND] = {"rounds by slots, not by batches", MINI_SPLIT, ALONE | MINI_LANES},
};

/* Raise *p to v; returns the old value. */
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
	/* A thread that reads the new index and fences must see the data of the completed requests.
	 */
	if (!IS(MINI_NO_FENCE_CONS))
		shmemd_arch_fence_quiet();
	if (IS(MINI_CONS_STORED))
		shmemd_arch_st_relaxed_u64(&q->consumed, index);
	else
		raise_to(&q->consumed, index);
}

/* Returns whether all requests below index are complete, by the 16-bit counter c. At most
 * MINI_SLOTS are in flight: a counter that is not within so many below index is at or above it. */
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
		/* The counter is not valid for an index that was not posted: it may be a lap
		 * behind. */
		while (!IS(MINI_NOT_POSTED) && shmemd_arch_ld_relaxed_u64(&q->posted) < index)
			shmemd_arch_spin_hint();
		/* Nor is a counter older than the posted index: it may be a lap behind. */
		if (!IS(MINI_NO_FENCE_POSTED))
			shmemd_arch_fence_quiet();
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

/* Announce all requests below index to the adapter. */
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

/* The requests [index, end) become ready after all earlier ones. */
static void publish_ready(queue_t *q, uint64_t index, uint64_t end)
{
	if (!IS(MINI_NO_FENCE_READY))
		shmemd_arch_fence_quiet();
	if (IS(MINI_READY_ADDED))
		shmemd_arch_atom_add_u64(&q->ready, end - index);
	else
		while (shmemd_arch_atom_cas_u64(&q->ready, index, end) != index)
			shmemd_arch_spin_hint();
	shmemd_arch_fence_quiet();
}

/* Write a request as soon as its entry is free. */
static void write_request(queue_t *q, uint64_t index, uint32_t to, uint32_t value)
{
	uint64_t end = index + 1;
	request_t *r = &q->ring[index % MINI_SLOTS];
	if (end > MINI_SLOTS)
		poll(q, end - MINI_SLOTS - IS(MINI_SLOT_OFF_BY_ONE));
	shmemd_arch_st_relaxed_u32(&r->value, value);
	shmemd_arch_st_relaxed_u32(&r->op, ((uint32_t)index & 0xffff) << 8 | to);
}

/* Submit the requests [index, end), which are written, to the adapter. */
static void submit(queue_t *q, uint64_t index, uint64_t end)
{
	publish_ready(q, index, end);
	/* The last request in flight rings for all. */
	int is_last = !IS(MINI_BATCH_ONLY) && end == shmemd_arch_ld_relaxed_u64(&q->reserved);
	if (is_last || index / MINI_BATCH != end / MINI_BATCH)
		post(q, end);
}

static void send_alone(queue_t *q, uint32_t to, uint32_t value)
{
	uint64_t index = shmemd_arch_atom_add_u64(&q->reserved, 1);
	write_request(q, index, to, value);
	submit(q, index, index + 1);
}

/* The end of a round that begins at index: the end of its batch, whose requests do not wait for
 * each other, or the last request. */
static uint64_t end_of_round(const queue_t *q, uint64_t index, uint64_t end)
{
	uint64_t batch_end = index / MINI_BATCH * MINI_BATCH + MINI_BATCH;
	if (IS(MINI_ONE_ROUND))
		return end;
	if (IS(MINI_UNEVEN_ROUND))
		batch_end = index + MINI_SLOTS;
	return batch_end < end ? batch_end : end;
}

/* Converged lanes: the lowest one reserves for all, and submits in rounds, since more lanes than
 * entries would wait for each other. */
static void send_together(queue_t *q, uint32_t to, uint32_t value)
{
	uint32_t mask = __activemask(), lane = shmemd_arch_lane();
	uint32_t leader = (uint32_t)__ffs(mask) - 1, n = (uint32_t)__popc(mask);
	uint32_t rank = IS(MINI_LANE_AS_RANK) ? lane : (uint32_t)__popc(mask & ((1u << lane) - 1));
	uint64_t base = 0;
	if (lane == leader)
		base = shmemd_arch_atom_add_u64(&q->reserved, n);
	base = __shfl_sync(mask, base, (int)leader);
	for (uint64_t from = base, to_end; from < base + n; from = to_end) {
		to_end = end_of_round(q, from, base + n);
		if (base + rank >= from && base + rank < to_end)
			write_request(q, base + rank, to, value);
		if (!IS(MINI_NO_SYNC))
			__syncwarp(mask);
		if (lane == leader)
			submit(q, from, to_end);
	}
	if (!IS(MINI_NO_SYNC_AFTER)) /* quiet covers what was submitted */
		__syncwarp(mask);
}

static void send(queue_t *q, uint32_t to, uint32_t value)
{
	if (q->setup.n_lanes)
		send_together(q, to, value);
	else
		send_alone(q, to, value);
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
	uint32_t n = q->setup.n_requests;
	uint32_t first = (blockIdx.x * blockDim.x + threadIdx.x) * n;
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

/* The adapter: executes requests in order; it may report each completion or several at once. */
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
	uint32_t n_threads = s->n_lanes ? s->n_lanes : 1;
	return shmemsim_launch(producer, &q, sizeof(q), s->n_producers / n_threads, n_threads, 0,
			       NULL) ||
	       shmemsim_agent("adapter", adapter, q) || shmemsim_sync(NULL);
}
