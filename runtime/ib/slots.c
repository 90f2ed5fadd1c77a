/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue memory of endpoints: blocks of slots. A block is registered with a port when a slot of it
 * is first taken for that port. */
#include <stdlib.h>
#include <string.h>
#include "ib/failover.h"
#include "mem/mem.h"

static uint32_t slots_per_block(const shmemhi_ib_t *ib)
{
	uint64_t fit = SHMEMHI_QUEUE_BLOCK_NBYTES / shmemhi_queue_nbytes(ib);

	return fit < 1 ? 1 : (uint32_t)fit;
}

static int open_queues(shmemhi_failover_t *s, shmemhi_slot_block_t *b)
{
	if (!s->ib->has_gpu_queues)
		return shmemhi_host_block_open(s->job, s->ib, &b->queues, &s->err);
	return shmemhi_area_open(s->job, b->queues.nbytes, &b->queues.area, &s->err);
}

/* Producer words, and doorbell records if the queues are in memory of the GPU, as for links. */
static int open_proxied(shmemhi_failover_t *s, shmemhi_slot_block_t *b, char **producers)
{
	uint64_t nbytes = (uint64_t)b->n_slots * SHMEMHI_PRODUCER_STRIDE;
	int status;

	*producers = NULL;
	if (s->ib->links[0].doorbell)
		return SHMEMH_OK;
	status = shmemhi_pinned_alloc(s->job, nbytes + SHMEMHI_PRODUCER_STRIDE, &b->producers,
				      &s->err);
	if (status != SHMEMH_OK)
		return status;
	*producers = (char *)b->producers +
		     (-(uintptr_t)b->producers & (uintptr_t)(SHMEMHI_PRODUCER_STRIDE - 1));
	if (!s->ib->has_gpu_queues)
		return SHMEMH_OK;
	b->records.nbytes = (uint64_t)b->n_slots * SHMEMHI_RECORDS_NBYTES;
	return shmemhi_host_block_open(s->job, s->ib, &b->records, &s->err);
}

static void place_slots(const shmemhi_failover_t *s, shmemhi_slot_block_t *b, char *producers)
{
	const shmemhi_ib_t *ib = s->ib;

	if (b->queues.area.range.base)
		b->queues.base = b->queues.area.range.base;
	for (uint32_t i = 0; i < b->n_slots; i++) {
		shmemhi_slot_t *slot = &b->slots[i];

		slot->block = b;
		slot->queue = b->queues.base + i * shmemhi_queue_nbytes(ib);
		slot->records = b->records.base
					? b->records.base + (size_t)i * SHMEMHI_RECORDS_NBYTES
					: slot->queue + SHMEMD_QUEUE_RECORD_OFFSET(ib->depth);
		if (producers)
			slot->producer = (uint64_t *)(void *)(producers +
							      (size_t)i * SHMEMHI_PRODUCER_STRIDE);
	}
}

/* Returns whether a NIC may still use the memory. */
static bool deregister(const shmemhi_failover_t *s, struct mlx5dv_devx_umem **umems)
{
	bool is_in_use = false;

	for (size_t c = 0; c < SHMEMHI_COLUMNS; c++)
		if (umems[c] && s->ib->lib.umem_dereg(umems[c]) != 0)
			is_in_use = true;
	return is_in_use;
}

/* Release a block, also one that could not be made completely. */
static void close_block(const shmemhi_failover_t *s, shmemhi_slot_block_t *b, bool is_in_use)
{
	is_in_use |= deregister(s, b->queue_umems);
	is_in_use |= deregister(s, b->record_umems);
	shmemhi_block_close(s->job, s->ib, &b->queues, is_in_use);
	shmemhi_block_close(s->job, s->ib, &b->records, is_in_use);
	if (b->producers)
		shmemhi_pinned_free(s->job, b->producers);
	free(b);
}

static int add_block(shmemhi_failover_t *s, uint32_t n_slots)
{
	shmemhi_slot_block_t *b = calloc(1, sizeof *b + n_slots * sizeof b->slots[0]);
	char *producers;
	int status;

	if (!b)
		return shmemhi_fail(&s->err, SHMEMH_ERR_NO_MEMORY, "fail-over: out of memory");
	b->n_slots = n_slots;
	b->queues.nbytes = n_slots * shmemhi_queue_nbytes(s->ib);
	status = open_queues(s, b);
	if (status == SHMEMH_OK)
		status = open_proxied(s, b, &producers);
	if (status != SHMEMH_OK) {
		close_block(s, b, false);
		return status;
	}
	place_slots(s, b, producers);
	b->next = s->blocks;
	s->blocks = b;
	return SHMEMH_OK;
}

int shmemhi_slots_open(shmemhi_failover_t *s)
{
	uint64_t fit = SHMEMHI_SLOTS_NBYTES / shmemhi_queue_nbytes(s->ib);
	uint64_t n = SHMEMHI_SLOTS_PER_LINK * shmemhi_n_routes(s);
	int status = SHMEMH_OK;

	for (n = n < fit ? n : fit; status == SHMEMH_OK && n > 0;) {
		uint32_t per_block = slots_per_block(s->ib);
		uint32_t n_now = n < per_block ? (uint32_t)n : per_block;

		status = add_block(s, n_now);
		n -= n_now;
	}
	return status;
}

/* Reclaim the slot if no poster with an older line of its channel uses the memory any more. Returns
 * whether no poster does. */
static bool try_reclaim(shmemhi_failover_t *s, shmemhi_slot_t *slot)
{
	uint64_t ready;

	if (!slot->channel)
		return true;
	if (shmemhi_dev_read(s->job, &ready, &slot->channel->ready, sizeof ready, &s->err) !=
		    SHMEMH_OK ||
	    (int32_t)(SHMEMD_READY_INDEX(ready) - slot->retired) < 0)
		return false;
	slot->channel = NULL;
	return true;
}

/* The comparison holds for the next 2^31 WQEBBs of the channel, so it is made before a slot is
 * needed. */
void shmemhi_slots_reclaim(shmemhi_failover_t *s)
{
	for (shmemhi_slot_block_t *b = s->blocks; b; b = b->next)
		for (uint32_t i = 0; i < b->n_slots; i++)
			if (!b->slots[i].is_busy)
				(void)try_reclaim(s, &b->slots[i]);
}

static shmemhi_slot_t *find(shmemhi_failover_t *s)
{
	for (shmemhi_slot_block_t *b = s->blocks; b; b = b->next)
		for (uint32_t i = 0; i < b->n_slots; i++)
			if (!b->slots[i].is_busy && try_reclaim(s, &b->slots[i]))
				return &b->slots[i];
	return NULL;
}

/* Set words that a waiter with an older line may be reading. */
static void set_words(char *at, uint64_t value, size_t nbytes)
{
	uint64_t *words = (uint64_t *)(void *)at;

	for (size_t i = 0; i < nbytes / sizeof *words; i++)
		__atomic_store_n(&words[i], value, __ATOMIC_RELAXED);
}

bool shmemhi_slots_have_one(shmemhi_failover_t *s)
{
	return find(s) != NULL;
}

/* Zero the records and the producer word, and mark the CQEs invalid. A CQE stays invalid until the
 * NIC writes it. */
static int clear(shmemhi_failover_t *s, const shmemhi_slot_t *slot)
{
	char *cqes = slot->queue + SHMEMD_QUEUE_CQES_OFFSET(s->ib->depth);
	size_t nbytes = SHMEMD_QUEUE_CQES_OFFSET(s->ib->depth);

	if (slot->producer)
		__atomic_store_n(slot->producer, 0, __ATOMIC_RELAXED);
	if (!s->ib->has_gpu_queues) {
		memset(slot->records, 0, SHMEMHI_RECORDS_NBYTES);
		set_words(cqes, ~(uint64_t)0, nbytes);
		return SHMEMH_OK;
	}
	if (slot->producer)
		memset(slot->records, 0, SHMEMHI_RECORDS_NBYTES);
	else if (shmemhi_dev_fill(s->job, slot->records, 0, SHMEMHI_RECORDS_NBYTES, &s->err) !=
		 SHMEMH_OK)
		return SHMEMH_ERR_SYSTEM;
	return shmemhi_dev_fill(s->job, cqes, 0xff, nbytes, &s->err);
}

static int register_with(shmemhi_failover_t *s, shmemhi_slot_block_t *b, size_t column)
{
	const shmemhi_open_port_t *port = s->ports[column].open;

	if (!b->queue_umems[column])
		b->queue_umems[column] =
			shmemhi_block_register(s->job, s->ib, port, &b->queues, &s->err);
	if (!b->queue_umems[column])
		return SHMEMH_ERR_NIC;
	if (b->records.base && !b->record_umems[column])
		b->record_umems[column] =
			shmemhi_block_register(s->job, s->ib, port, &b->records, &s->err);
	return b->records.base && !b->record_umems[column] ? SHMEMH_ERR_NIC : SHMEMH_OK;
}

shmemhi_slot_t *shmemhi_slot_take(shmemhi_failover_t *s, size_t column)
{
	shmemhi_slot_t *slot = find(s);

	if (!slot && add_block(s, slots_per_block(s->ib)) == SHMEMH_OK)
		slot = find(s);
	if (!slot || register_with(s, slot->block, column) != SHMEMH_OK ||
	    clear(s, slot) != SHMEMH_OK)
		return NULL;
	slot->is_busy = 1;
	return slot;
}

void shmemhi_slots_close(shmemhi_failover_t *s, bool is_in_use)
{
	shmemhi_slot_block_t *b;

	while ((b = s->blocks)) {
		s->blocks = b->next;
		close_block(s, b, is_in_use);
	}
}
