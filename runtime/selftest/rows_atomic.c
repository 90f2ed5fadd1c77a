/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows: atomics. Those of one operation look at the target word alone; the byte order of results
 * has rows of its own. */
#include <string.h>
#include "selftest/rows.h"

#define WORD 64u     /* bytes from one target word to the next: each port has its own, */
#define SHARED 8192u /* and the row of two ports another one */
#define OLD UINT64_C(0x0102030405060708)

/* Execute one atomic of `width` bytes on a word that holds `before`; *after: what it holds then.
 * Returns 0; -1: the outcome is set. */
static int update(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const shmemdi_nic_amo_t *amo,
		  uint32_t width, uint64_t before, uint64_t *after, shmemhi_outcome_t *o)
{
	const size_t at = WORD * (1 + (size_t)pair->b.port);
	char *target = shmemhi_remote_ptr(rig, at);
	shmemhi_completion_t c;
	shmemdi_wqe_t q;

	memset(target, 0, WORD);
	memset(shmemhi_local_ptr(rig, 0), 0, 64);
	memcpy(target, &before, width);
	shmemhi_remote_store(rig, at, WORD);
	shmemdi_wqe_amo(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
			shmemhi_remote(rig, &pair->b, at), shmemhi_local(rig, &pair->a, 0), amo,
			width);
	shmemhi_post(&pair->a, &q, shmemdi_nic_amo_wqebbs(amo->opcode, width));
	if (shmemhi_finish(&pair->a, &c) != 0) {
		shmemhi_row_no_success(o, "an atomic", &c);
		return -1;
	}
	shmemhi_remote_load(rig, at, WORD);
	*after = 0;
	memcpy(after, target, width);
	return 0;
}

/* The same, with the word that is expected. */
static void expect(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const shmemdi_nic_amo_t *amo,
		   uint32_t width, uint64_t before, uint64_t want, shmemhi_outcome_t *o)
{
	uint64_t after;

	if (!o->verdict && update(rig, pair, amo, width, before, &after, o) == 0 && after != want)
		shmemhi_row_fails(o, "0x%llx became 0x%llx, not 0x%llx", (unsigned long long)before,
				  (unsigned long long)after, (unsigned long long)want);
}

void shmemhi_row_add_8(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_FA, .value = 0xfffffffffe};

	expect(rig, pair, &add, 8, OLD, OLD + add.value, o);
	expect(rig, pair, &add, 8, UINT64_MAX, add.value - 1, o);
}

void shmemhi_row_cas_8(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t cas = {
		.opcode = SHMEMD_MLX5_ATOMIC_CS, .value = 0x1122334455667788, .compare = OLD};

	expect(rig, pair, &cas, 8, OLD, cas.value, o);
	expect(rig, pair, &cas, 8, OLD + 1, OLD + 1, o);
}

void shmemhi_row_masked_add_4(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_FA, .value = 0x010203ff};

	expect(rig, pair, &add, 4, 0x11223344, 0x11223344u + 0x010203ffu, o);
	expect(rig, pair, &add, 4, 0xffffffff, 0x010203fe, o);
	add.boundary = 0x00000080; /* no carry out of the lowest byte */
	expect(rig, pair, &add, 4, 0x112233ff, 0x122436fe, o);
}

void shmemhi_row_masked_add_8(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_FA, .value = 0xffffffffff};

	expect(rig, pair, &add, 8, OLD, OLD + add.value, o);
	add.boundary = UINT64_MAX; /* no carry at all: exclusive or */
	expect(rig, pair, &add, 8, OLD, OLD ^ add.value, o);
}

void shmemhi_row_masked_cas_4(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t cas = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_CS,
				       .value = 0xaabbccdd,
				       .compare = 0x11000000,
				       .swap_mask = 0x0000ffff,
				       .compare_mask = 0xff000000};

	expect(rig, pair, &cas, 4, 0x11223344, 0x1122ccdd, o);
	expect(rig, pair, &cas, 4, 0x12223344, 0x12223344, o);
}

void shmemhi_row_masked_cas_8(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t cas = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_CS,
				       .value = 0xaabbccddeeff0011,
				       .compare = 0x0102000000000000,
				       .swap_mask = 0x00000000ffff0000,
				       .compare_mask = 0xffff000000000000};

	expect(rig, pair, &cas, 8, OLD, 0x01020304eeff0708, o);
	expect(rig, pair, &cas, 8, OLD | 1ull << 63, OLD | 1ull << 63, o);
}

/* The library swaps results of 4 bytes, and takes those of 8 as they are. */
void shmemhi_row_order_4(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_FA, .value = 1};
	uint64_t after;
	uint32_t got;

	if (update(rig, pair, &add, 4, 0x01020304, &after, o) != 0)
		return;
	memcpy(&got, shmemhi_local_ptr(rig, 0), sizeof got);
	if (got != 0x04030201)
		shmemhi_row_fails(o, "the result of 4 bytes is 0x%08x in memory, not big-endian",
				  got);
}

void shmemhi_row_order_8(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_FA, .value = 1};
	uint64_t after, got;

	if (update(rig, pair, &add, 8, OLD, &after, o) != 0)
		return;
	memcpy(&got, shmemhi_local_ptr(rig, 0), sizeof got);
	if (got != OLD)
		shmemhi_row_fails(o,
				  "the result of 8 bytes is 0x%016llx in memory, not in the "
				  "host's order",
				  (unsigned long long)got);
}

/* Post n adds of 1 and ask for a completion of the last one. */
static void post_adds(const shmemhi_rig_t *rig, shmemhi_end_t *from, const shmemhi_end_t *to, int n)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_FA, .value = 1};

	for (int i = 0; i < n; i++) {
		shmemdi_wqe_t q;

		shmemdi_wqe_amo(&q, shmemhi_at(from, i == n - 1 ? SHMEMD_MLX5_CQ_UPDATE : 0),
				shmemhi_remote(rig, to, SHARED),
				shmemhi_local(rig, from, 64 * ((size_t)from->port + 1)), &add, 8);
		shmemhi_post(from, &q, 1);
	}
	shmemhi_ring_end(from);
}

/* Adds to one word through port a of the pair and through port b at the same time. */
void shmemhi_row_two_ports(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	enum { N = 500, ROUNDS = 20 };
	const uint64_t *word = (const void *)shmemhi_remote_ptr(rig, SHARED);
	shmemhi_pair_t own_a, own_b;

	if (pair->a.port == pair->b.port) {
		shmemhi_row_unknown(o, "there is one port only");
		return;
	}
	memset(shmemhi_remote_ptr(rig, SHARED), 0, 8);
	for (int i = 0; i < ROUNDS && !o->verdict; i++) {
		shmemhi_completion_t c_a, c_b;

		if (shmemhi_pair_open(rig, pair->a.port, pair->a.port, 0, NULL, &own_a) !=
		    SHMEMH_OK) {
			shmemhi_row_unknown(o, "%s", rig->err.text);
			return;
		}
		if (shmemhi_pair_open(rig, pair->b.port, pair->b.port, 0, NULL, &own_b) ==
		    SHMEMH_OK) {
			post_adds(rig, &own_a.a, &own_a.b, N);
			post_adds(rig, &own_b.a, &own_b.b, N);
			if (shmemhi_next_cqe(&own_a.a, &c_a) != 0 || c_a.opcode != SHMEMD_CQE_REQ)
				shmemhi_row_no_success(o, "an add", &c_a);
			if (shmemhi_next_cqe(&own_b.a, &c_b) != 0 || c_b.opcode != SHMEMD_CQE_REQ)
				shmemhi_row_no_success(o, "an add", &c_b);
			shmemhi_pair_close(rig, &own_b);
		} else {
			shmemhi_row_unknown(o, "%s", rig->err.text);
		}
		shmemhi_pair_close(rig, &own_a);
		if (!o->verdict &&
		    __atomic_load_n(word, __ATOMIC_ACQUIRE) != 2ull * N * (unsigned)(i + 1))
			shmemhi_row_fails(o, "of %d adds, %llu are in the word", 2 * N * (i + 1),
					  (unsigned long long)*word);
	}
}
