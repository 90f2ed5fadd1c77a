/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Registration of the growing heap, and the tables of keys that threads read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include "fake_cuda.h"
#include "fake_nic.h"
#include "mem_job.h"

#define MIB ((uint64_t)1 << 20)

/* This PE's key of granule i, and that of PE pe. */
static const shmemd_key_t *local_key(const shmemh_t *job, uint64_t i)
{
	return shmemhi_keys_table(job->ib) + SHMEMD_LKEY_INDEX(job->ib->n_granules, job->n_pes, i);
}

static const shmemd_key_t *remote_key(const shmemh_t *job, int pe, uint64_t i)
{
	return shmemhi_keys_table(job->ib) + SHMEMD_RKEY_INDEX(job->ib->n_granules, pe, i);
}

/* Check one granule's entries for all PEs: of the region that begins at `start` and ends before
 * `end`. */
static int check_granule(shmemh_t *job, uint64_t at, uint64_t start, uint64_t end)
{
	uint64_t i = at >> job->ib->log_granule;
	uint32_t n_more = (uint32_t)((end - at - 1) >> job->ib->log_granule);
	const shmemd_key_t *local = local_key(job, i);

	PE_CHECK(be32toh(local->key[0]) == (fake_rkey(job->pe, start) | FAKE_LKEY));
	PE_CHECK(local->n_more == n_more && local->key[1] == 0);
	for (int pe = 0; pe < job->n_pes; pe++) {
		const shmemd_key_t *remote = remote_key(job, pe, i);

		PE_CHECK(be32toh(remote->key[0]) == fake_rkey(pe, start));
		PE_CHECK(remote->n_more == n_more && remote->key[1] == 0);
	}
	return 0;
}

/* Check every granule of a growth that was registered in regions of that size. */
static int check_growth(shmemh_t *job, uint64_t offset, uint64_t nbytes, uint64_t region)
{
	uint64_t granule = (uint64_t)1 << job->ib->log_granule;

	for (uint64_t at = 0; at < nbytes; at += granule) {
		uint64_t start = at / region * region, end = start + region;

		if (check_granule(job, offset + at, offset + start,
				  offset + (end < nbytes ? end : nbytes)))
			return 1;
	}
	return 0;
}

static int check_empty(shmemh_t *job, uint64_t from, uint64_t to)
{
	for (uint64_t i = from >> job->ib->log_granule; i < to >> job->ib->log_granule; i++) {
		PE_CHECK(local_key(job, i)->key[0] == 0);
		for (int pe = 0; pe < job->n_pes; pe++)
			PE_CHECK(remote_key(job, pe, i)->key[0] == 0);
	}
	return 0;
}

/* The key of the bounce buffers follows those of this PE's heap. */
static int check_bounces(shmemh_t *job)
{
	const shmemd_key_t *key = local_key(job, job->ib->n_granules);

	PE_CHECK(job->ib->n_granules == 16);
	PE_CHECK(key->key[0] == FAKE_BOUNCE_KEY && key->key[1] == 0 && key->n_more == 0);
	return 0;
}

static int pe_tables(shmemh_t *job)
{
	void *p = NULL;

	/* PE 1's NIC registers less at once than the others': 2 granules and a bit. */
	PE_CHECK(plug_in(job, job->pe == 1 ? 2 * MIB + 4096 : UINT64_MAX) == SHMEMH_OK);
	PE_CHECK(job->ib->log_granule == 20);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	PE_CHECK(nic.n_live == 1);
	if (check_bounces(job) || check_growth(job, 0, MIB, MIB) || check_empty(job, MIB, 16 * MIB))
		return 1;
	PE_CHECK(shmemh_malloc(job, 5 * MIB, &p) == SHMEMH_OK);
	PE_CHECK(shmemhi_committed(job->mem) == 6 * MIB);
	PE_CHECK(nic.n_live == (job->n_pes == 1 ? 2 : 4));
	if (check_growth(job, MIB, 5 * MIB, job->n_pes == 1 ? 5 * MIB : 2 * MIB) ||
	    check_growth(job, 0, MIB, MIB) || check_empty(job, 6 * MIB, 16 * MIB))
		return 1;
	/* To the end of the reservation. */
	PE_CHECK(shmemh_malloc(job, 10 * MIB, &p) == SHMEMH_OK);
	if (check_bounces(job) ||
	    check_growth(job, 6 * MIB, 10 * MIB, job->n_pes == 1 ? 10 * MIB : 2 * MIB))
		return 1;
	unplug(job);
	PE_CHECK(nic.n_live == 0 && nic.n_wrong == 0);
	return 0;
}

static void test_tables(void **state)
{
	(void)state;
	everywhere(pe_tables, (world_kind_t){.max = 16 * MIB});
}

/* More regions than one gather of keys carries. */
static int pe_many_regions(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(plug_in(job, 4096) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 600 * 4096, &p) == SHMEMH_OK);
	PE_CHECK(nic.n_live == 600);
	if (check_growth(job, 0, 600 * 4096, 4096))
		return 1;
	unplug(job);
	PE_CHECK(nic.n_live == 0 && nic.n_wrong == 0);
	return 0;
}

static void test_many_regions(void **state)
{
	(void)state;
	everywhere(pe_many_regions, (world_kind_t){.max = 4 * MIB, .chunk = 1});
}

/* --- failures ------------------------------------------------------------------------------- */

/* The `at`-th registration of the last PE fails: heaps and NICs of all PEs are unchanged. */
static int fail_once(shmemh_t *job, int at)
{
	uint64_t committed = shmemhi_committed(job->mem);
	int live = nic.n_live, last = job->n_pes - 1;
	char named[32];
	void *p = job;

	nic.fail_after = job->pe == last ? at : 0;
	PE_CHECK(shmemh_malloc(job, 6 * MIB, &p) == SHMEMH_ERR_NIC && p == NULL);
	snprintf(named, sizeof named, "PE %d: ", last);
	PE_CHECK((strncmp(job->err.text, named, strlen(named)) == 0) == (job->pe != last));
	PE_CHECK(has_text(job, "fake_0") && has_text(job, "Cannot allocate memory") &&
		 has_text(job, "ulimit -l") && has_text(job, "SHMEMH_IB=off"));
	PE_CHECK(shmemhi_committed(job->mem) == committed);
	PE_CHECK(nic.n_live == live);
	return 0;
}

static int pe_failure(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(plug_in(job, 2 * MIB) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	for (int at = 1; at <= 3; at++)
		if (fail_once(job, at))
			return 1;
	PE_CHECK(shmemh_malloc(job, 6 * MIB, &p) == SHMEMH_OK);
	if (check_growth(job, 0, MIB, MIB) || check_growth(job, MIB, 6 * MIB, 2 * MIB))
		return 1;
	unplug(job);
	PE_CHECK(nic.n_live == 0 && nic.n_wrong == 0);
	return 0;
}

static void test_failure(void **state)
{
	(void)state;
	everywhere(pe_failure, (world_kind_t){.max = 16 * MIB});
}

static int pe_small_limit(shmemh_t *job)
{
	PE_CHECK(plug_in(job, job->pe == job->n_pes - 1 ? MIB - 1 : MIB) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, "1048575") && has_text(job, "SHMEMH_HEAP_CHUNK"));
	PE_CHECK(job->ib->keys == NULL);
	unplug(job);
	return 0;
}

static void test_small_limit(void **state)
{
	(void)state;
	everywhere(pe_small_limit, (world_kind_t){0});
}

/* --- GPU memory ----------------------------------------------------------------------------- */

static const shmemhi_cuda_t *own_gpu(int pe)
{
	my_device = pe;
	return &driver;
}

/* Without dma-bufs memory is registered by its address; if that fails too, the line has both
 * errors. */
static int pe_gpu(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
	PE_CHECK((uint64_t)1 << job->ib->log_granule == FAKE_GRANULARITY);
	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	if (check_growth(job, 0, FAKE_GRANULARITY, FAKE_GRANULARITY))
		return 1;
	nic.fail_after = 1;
	PE_CHECK(shmemh_malloc(job, FAKE_GRANULARITY, &p) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, "dma-buf") && has_text(job, "11.7") &&
		 has_text(job, "nvidia_peermem") && has_text(job, "Cannot allocate memory"));
	unplug(job);
	PE_CHECK(nic.n_live == 0 && nic.n_wrong == 0 && depth == 0);
	return 0;
}

static void test_gpu(void **state)
{
	(void)state;
	assert_int_equal(
		run_world(&(world_kind_t){.n_pes = 2, .cuda = own_gpu, .default_max = 1}, pe_gpu),
		0);
	assert_int_equal(wrong, 0);
	assert_int_equal(n_live, 0);
	assert_int_equal(n_blocks, 0);
}

/* The line has the cause and the advice. */
static int pe_no_table(shmemh_t *job)
{
	uint64_t reserved = job->mem->heap.reserved;

	job->mem->heap.reserved = FAKE_GRANULARITY << 26; /* more than the fake GPU's memory */
	PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(has_text(job, "cuMemAlloc") && has_text(job, "SHMEMH_HEAP_CHUNK"));
	unplug(job);
	job->err.text[0] = '\0';
	job->mem->heap.reserved = FAKE_GRANULARITY << 32;
	PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(has_text(job, "2^32") && has_text(job, "SHMEMH_HEAP_CHUNK"));
	unplug(job);
	job->err.text[0] = '\0';
	job->mem->heap.reserved = reserved;
	return 0;
}

static void test_no_table(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 1, .cuda = own_gpu, .default_max = 1},
				   pe_no_table),
			 0);
	assert_int_equal(wrong, 0);
}

/* --- granules ------------------------------------------------------------------------------- */

static uint64_t want_chunk, want_reserved;

static int pe_granule(shmemh_t *job)
{
	shmemh_heap_info_t info = {.size = sizeof info};

	PE_CHECK(job->mem->heap.chunk == want_chunk);
	shmemh_heap_info(job, &info);
	PE_CHECK(info.reserved == want_reserved);
	return 0;
}

static void test_granules(void **state)
{
	static const struct {
		uint64_t max, chunk, want_chunk, want_reserved;
	} rows[] = {
		{16 * MIB, MIB, MIB, 16 * MIB},
		{16 * MIB, 1, 4096, 16 * MIB},
		{16 * MIB, 3 * MIB, 4 * MIB, 16 * MIB},
		{17 * MIB, 3 * MIB, 4 * MIB, 20 * MIB},
		{16 * MIB, 64 * MIB, 16 * MIB, 16 * MIB},
		{17 * MIB, 64 * MIB, 16 * MIB, 32 * MIB}, /* no more than fits */
		{16 * MIB, UINT64_MAX, 16 * MIB, 16 * MIB},
		{100, MIB, 4096, 4096},
		{MIB + 1, 4096, 4096, MIB + 4096},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		want_chunk = rows[i].want_chunk;
		want_reserved = rows[i].want_reserved;
		assert_int_equal(run_world(&(world_kind_t){.n_pes = 2,
							   .max = rows[i].max,
							   .chunk = rows[i].chunk},
					   pe_granule),
				 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tables),   cmocka_unit_test(test_many_regions),
		cmocka_unit_test(test_failure),  cmocka_unit_test(test_small_limit),
		cmocka_unit_test(test_gpu),      cmocka_unit_test(test_no_table),
		cmocka_unit_test(test_granules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
