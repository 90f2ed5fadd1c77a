/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Agreement on a status: whose line each PE gets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "mem_job.h"

/* PE 1 alone fails. The other PEs still have the line of a step whose failure they tolerated; it
 * hides neither the line of PE 1 nor that of a later failure. */
static int pe_earlier_line(shmemh_t *job)
{
	int status = SHMEMH_OK;

	shmemhi_begin(job);
	if (job->pe == 1)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "the cause");
	else
		strcpy(job->err.text, "an earlier line");
	PE_CHECK(shmemhi_agree(job, status) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(strcmp(job->err.text, job->pe == 1 ? "the cause" : "PE 1: the cause") == 0);
	strcpy(job->err.text, "an earlier line");
	PE_CHECK(shmemhi_agree(job, SHMEMH_OK) == SHMEMH_OK);
	shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM, "a later line");
	PE_CHECK(strcmp(job->err.text, "a later line") == 0);
	return 0;
}

static void test_earlier_line(void **state)
{
	(void)state;
	assert_int_equal(run_world(&(world_kind_t){.n_pes = 3}, pe_earlier_line), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_earlier_line)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
