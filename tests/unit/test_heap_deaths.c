/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Heap calls when a PE has died, or this PE has lost the bootstrap: what they say, what is freed,
 * and the memory that a dead leader has created. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <cmocka.h>
#include "mem_job.h"

static int sync_pes(shmemh_t *job)
{
	char all[MAX_PES], mine = 0;

	return shmemhi_allgather(job, &mine, all, 1);
}

static int pe_death(shmemh_t *job)
{
	void *p = NULL, *q = NULL;

	PE_CHECK(shmemh_malloc(job, 1000, &p) == SHMEMH_OK);
	PE_CHECK(shmemh_malloc(job, 1000, &q) == SHMEMH_OK);
	if (job->pe == 1) { /* like a report of a monitor to the others */
		atomic_store(&((pe_boot_t *)job->boot.state)->world->dead, 2);
		atomic_store(&job->n_gone, 1);
		return 0;
	}
	/* Noticed first by the collective, then already recorded. */
	PE_CHECK(shmemh_free(job, p) == SHMEMH_ERR_PEER && has_text(job, "PE 1"));
	PE_CHECK(has_text(job, "freed on this PE only"));
	atomic_store(&job->causes[1], SHMEMD_CAUSE_DIED);
	atomic_store(&job->n_gone, 1);
	PE_CHECK(shmemh_free(job, p) == SHMEMH_ERR_NOT_OWNED);
	PE_CHECK(shmemh_malloc(job, 64, &p) == SHMEMH_ERR_PEER && has_text(job, "PE 1"));
	PE_CHECK(shmemh_calloc(job, 1, 64, &p) == SHMEMH_ERR_PEER && has_text(job, "calloc needs"));
	if (job->n_pes == 2) { /* the line of an earlier step does not hide that of the gather */
		strcpy(job->err.text, "an earlier line");
		PE_CHECK(shmemhi_agree(job, SHMEMH_OK) == SHMEMH_ERR_PEER && has_text(job, "PE 1"));
	}
	PE_CHECK(shmemh_free(job, q) == SHMEMH_ERR_PEER && has_text(job, "PE 1"));
	PE_CHECK(job->mem->heap.blocks.used == 0);
	/* This PE loses the bootstrap too: the line names the PE that is known to be gone. */
	for (int pe = 0; pe < job->n_pes; pe++)
		if (pe != job->pe && pe != 1)
			atomic_store(&job->causes[pe], SHMEMD_CAUSE_CUT_OFF);
	PE_CHECK(shmemh_malloc(job, 64, &p) == SHMEMH_ERR_PEER && has_text(job, "PE 1 died"));
	return 0;
}

static void test_death(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 4, .forked = 1}, pe_death), 0);
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 2, .sockets = 1}, pe_death), 0);
}

/* The process of PE 0, which created the memory of all, ends. */
static int pe_leader_death(shmemh_t *job)
{
	uint64_t deadline = shmemhi_now() + DEADLINE_NS;
	int *p = NULL;

	PE_CHECK(shmemh_malloc(job, 3u << 20, (void **)&p) == SHMEMH_OK);
	PE_CHECK(job->mem->leader == 0);
	p[0] = getpid();
	p[1] = 40 + job->pe;
	PE_CHECK(sync_pes(job) == SHMEMH_OK);
	atomic_store(&job->n_gone, 1);
	atomic_store(&job->causes[0], SHMEMD_CAUSE_DIED);
	if (job->pe == 0)
		_exit(0);
	while (kill(*(int *)shmemh_ptr(job, p, 0), 0) == 0 && shmemhi_now() < deadline)
		sched_yield();
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(((int *)shmemh_ptr(job, p, pe))[1] == 40 + pe);
	((int *)shmemh_ptr(job, p, 0))[2] = 1;
	PE_CHECK(shmemh_malloc(job, 64, (void **)&p) == SHMEMH_ERR_PEER && has_text(job, "PE 0"));
	return 0;
}

static void test_leader_death(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 4, .forked = 1}, pe_leader_death), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_death),
		cmocka_unit_test(test_leader_death),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
