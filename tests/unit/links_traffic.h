/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Traffic on connected links: WQEs, doorbells and CQEs, built bit by bit from the tables of the
 * PRM. */
#ifndef TESTS_UNIT_LINKS_TRAFFIC_H
#define TESTS_UNIT_LINKS_TRAFFIC_H

#include <endian.h>
#include "../adapter/mailbox.h"
#include "links_job.h"

#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

enum { OP_WRITE = 0x08, OP_READ = 0x10, OP_FA = 0x12 };

/* Memory that other PEs access. */
typedef struct target {
	uint64_t addr;
	uint32_t rkey;
	uint32_t reserved;
} target_t;

/* Words of a PE: the word that PE pe wrote by channel k, and the word that all PEs have added to.
 */
typedef struct memory {
	uint64_t from[MAX_PES][N_CHANNELS];
	uint64_t sum;
} memory_t;

#define DEPTH SHMEMD_MIN_DEPTH

/* WQEBB `index` of the link's queue, with the control segment of a WQE. */
static inline uint8_t *begin(const shmemhi_link_t *link, unsigned index, unsigned opcode,
			     unsigned ds)
{
	uint8_t *wqe = (uint8_t *)link->queue + index % DEPTH * 64;

	memset(wqe, 0, 64);
	put_bits(wqe, 8, 16, index);
	put_bits(wqe, 24, 8, opcode);
	put_bits(wqe, 32, 24, link->qpn);
	put_bits(wqe, 56, 8, ds);
	put_bits(wqe, 88, 8, 0x08); /* request a CQE */
	return wqe;
}

static inline void put_remote(uint8_t *wqe, uint64_t addr, uint32_t rkey)
{
	put_bits(wqe, 16 * 8, 64, addr);
	put_bits(wqe, 24 * 8, 32, rkey);
}

/* Bounce buffer i of a link. */
static inline char *bounce_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link, unsigned i)
{
	return ib->bounces + (link - ib->links) * SHMEMD_BOUNCES_NBYTES + i * SHMEMD_BOUNCE_NBYTES;
}

/* 8 bytes of bounce buffer i. */
static inline void put_bounce(const shmemhi_ib_t *ib, const shmemhi_link_t *link, uint8_t *segment,
			      unsigned i)
{
	put_bits(segment, 0, 32, 8);
	memcpy(segment + 4, &ib->bounce_keys[0], 4); /* already big-endian */
	put_bits(segment, 64, 64, (uintptr_t)bounce_of(ib, link, i));
}

static inline void write_word(const shmemhi_link_t *link, unsigned index, const target_t *to,
			      uint64_t offset, uint64_t value)
{
	uint8_t *wqe = begin(link, index, OP_WRITE, 3);

	put_remote(wqe, to->addr + offset, to->rkey);
	put_bits(wqe, 32 * 8, 32, 0x80000008u); /* inline */
	memcpy(wqe + 36, &value, sizeof value);
}

static inline void read_word(const shmemhi_ib_t *ib, const shmemhi_link_t *link, unsigned index,
			     const target_t *from, uint64_t offset)
{
	uint8_t *wqe = begin(link, index, OP_READ, 3);

	put_remote(wqe, from->addr + offset, from->rkey);
	put_bounce(ib, link, wqe + 32, 0);
}

static inline void add_to_word(const shmemhi_ib_t *ib, const shmemhi_link_t *link, unsigned index,
			       const target_t *to, uint64_t offset, uint64_t value)
{
	uint8_t *wqe = begin(link, index, OP_FA, 4);

	put_remote(wqe, to->addr + offset, to->rkey);
	put_bits(wqe, 32 * 8, 64, value);
	put_bounce(ib, link, wqe + 48, SHMEMD_BOUNCE_BUFFERS);
}

/* Ring for all WQEBBs up to `next`, by the device's address of the doorbell or by the host's. */
static inline void ring(const shmemhi_link_t *link, void *doorbell, unsigned next)
{
	uint8_t bytes[8];
	uint64_t word;

	put_bits(bytes, 0, 32, next << 8);
	put_bits(bytes, 32, 32, link->qpn << 8);
	memcpy(&word, bytes, sizeof word);
	if (!link->has_no_record)
		__atomic_store_n(shmemhi_send_record(link), htobe32(next), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)doorbell, word, __ATOMIC_SEQ_CST);
}

/* Wait for the CQE of WQEBB `index`, which is also CQE `index`. */
static inline int await_success(shmemh_t *job, const shmemhi_link_t *link, unsigned index)
{
	const uint64_t *tail = (const void *)(link->queue + SHMEMD_QUEUE_CQES_OFFSET(DEPTH) +
					      index % DEPTH * 64 + 56);
	uint64_t deadline = shmemhi_now() + DEADLINE_NS;
	uint8_t bytes[8];

	do {
		uint64_t word;

		PE_CHECK(shmemhi_now() < deadline);
		mlx5sw_step();
		word = __atomic_load_n(tail, __ATOMIC_ACQUIRE);
		memcpy(bytes, &word, sizeof bytes);
	} while (bytes[7] >> 4 == 15 || (bytes[7] & 1) != (index / DEPTH & 1));
	PE_CHECK(bytes[7] >> 4 == 0);
	PE_CHECK(get_bits(bytes, 8, 24) == link->qpn);
	PE_CHECK(get_bits(bytes, 32, 16) == index);
	return 0;
}

static inline int barrier(shmemh_t *job)
{
	char all[MAX_PES], mine = 0;

	return shmemhi_allgather(job, &mine, all, 1);
}

static inline uint64_t value_of(int from, int to, int k)
{
	return 0x1111000000000000u + (uint64_t)(from << 16 | to << 8 | k);
}

/* A WRITE, a READ of the same word, and an atomic on every link. */
static inline int use_links(shmemh_t *job, const target_t *targets)
{
	for (int pe = 0; pe < job->n_pes; pe++)
		for (int k = 0; k < job->ib->n_channels; k++) {
			const shmemhi_link_t *link = shmemhi_link(job->ib, job, k, pe);
			uint64_t at = offsetof(memory_t, from) +
				      8u * (unsigned)(job->pe * N_CHANNELS + k);
			uint64_t landed;

			write_word(link, 0, &targets[pe], at, value_of(job->pe, pe, k));
			read_word(job->ib, link, 1, &targets[pe], at);
			ring(link, link->doorbell ? link->doorbell : link->host_doorbell, 2);
			if (await_success(job, link, 0) || await_success(job, link, 1))
				return 1;
			memcpy(&landed, bounce_of(job->ib, link, 0), sizeof landed);
			PE_CHECK(landed == value_of(job->pe, pe, k));
			add_to_word(job->ib, link, 2, &targets[pe], offsetof(memory_t, sum),
				    1u << 8 * k);
			ring(link, link->host_doorbell, 3);
			if (await_success(job, link, 2))
				return 1;
		}
	return 0;
}

static inline int check_memory(shmemh_t *job, const memory_t *memory)
{
	uint64_t sum = 0;

	for (int pe = 0; pe < job->n_pes; pe++)
		for (int k = 0; k < job->ib->n_channels; k++)
			PE_CHECK(memory->from[pe][k] == value_of(pe, job->pe, k));
	for (int k = 0; k < job->ib->n_channels; k++)
		sum += (uint64_t)job->n_pes << 8 * k;
	PE_CHECK(memory->sum == sum);
	return 0;
}

static inline int carry(shmemh_t *job)
{
	memory_t *memory = calloc(1, sizeof *memory);
	target_t mine = {.addr = (uintptr_t)memory}, targets[MAX_PES];
	struct ibv_mr *mr = job->ib->lib.reg_mr_iova2(job->ib->home_port.pd, memory, sizeof *memory,
						      (uintptr_t)memory, ALL_RIGHTS);

	PE_CHECK(mr);
	mine.rkey = mr->rkey;
	PE_CHECK(shmemhi_allgather(job, &mine, targets, sizeof mine) == SHMEMH_OK);
	if (use_links(job, targets))
		return 1;
	PE_CHECK(barrier(job) == SHMEMH_OK);
	if (check_memory(job, memory))
		return 1;
	PE_CHECK(job->ib->lib.dereg_mr(mr) == 0);
	free(memory);
	return 0;
}

static inline int pe_carries(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	if (carry(job))
		return 1;
	PE_CHECK(barrier(job) == SHMEMH_OK);
	return unplug(job);
}

#endif
