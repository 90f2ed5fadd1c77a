/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which memory counts as mapped: by identity, by process, and by the actual result of mapping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "mem_faults.h"
#include "mem_job.h"

static int pe_two_nodes(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(shmemh_malloc(job, 64, &p) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		int near = pe / 2 == job->pe / 2;

		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == near);
		PE_CHECK(shmemhi_mem_has_atomics(job, pe) == near);
		PE_CHECK((shmemhi_mem_base(job, pe) != NULL) == near);
		PE_CHECK((shmemh_ptr(job, p, pe) != NULL) == near);
	}
	return 0;
}

static void test_two_nodes(void **state)
{
	world_kind_t kind = {.n_pes = 4, .node_ids = {"a", "a", "b", "b"}};

	(void)state;
	assert_int_equal(run_world(&kind, pe_two_nodes), 0);
	kind.forked = 1;
	assert_int_equal(run_world(&kind, pe_two_nodes), 0);
}

/* PEs 2 and 3 seem to be on the node but cannot map the others' memory: they form a node of their
 * own for all PEs. */
static void break_upper(shmemh_t *job)
{
	faults_t *f = calloc(1, sizeof *f);

	inject(job, f);
	if (job->pe >= 2)
		f->import = 1; /* the first descriptor that it imports: that of PE 0 */
}

static int pe_halves(shmemh_t *job)
{
	int near[MAX_PES][MAX_PES] = {{1, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 1}, {0, 0, 1, 1}};
	faults_t *f = faults_of(job->mem);

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == near[job->pe][pe]);
	job->mem->backend = f->real;
	free(f);
	return 0;
}

static void test_unmappable(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1, .before_node = break_upper};

	(void)state;
	assert_int_equal(run_world(&kind, pe_halves), 0);
}

/* PE 0 cannot map the memory of PE 2, though PE 2 could map PE 0's: both must use the same result.
 */
static void break_one(shmemh_t *job)
{
	faults_t *f = calloc(1, sizeof *f);

	inject(job, f);
	if (job->pe == 0)
		f->import = 2;
}

static int pe_all_but_2(shmemh_t *job)
{
	faults_t *f = faults_of(job->mem);
	void *p = NULL;

	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == ((pe == 2) == (job->pe == 2)));
	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK);
	job->mem->backend = f->real;
	free(f);
	return 0;
}

static void test_one_way(void **state)
{
	world_kind_t kind = {.n_pes = 4, .forked = 1, .before_node = break_one};

	(void)state;
	assert_int_equal(run_world(&kind, pe_all_but_2), 0);
}

static int pe_same_process(shmemh_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		int forked = !job->mem->peers[pe].in_process;

		PE_CHECK(shmemhi_mem_same_gpu(job, pe) == !forked);
		PE_CHECK((job->mem->peers[pe].range.raw != NULL) == (pe == job->pe));
		PE_CHECK((job->mem->peers[pe].conn >= 0) == forked);
	}
	PE_CHECK(job->mem->peers[job->pe].in_process);
	return 0;
}

static void test_same_process(void **state)
{
	(void)state;
	everywhere(pe_same_process, (world_kind_t){0});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_unmappable),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_same_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
