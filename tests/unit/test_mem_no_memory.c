/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Opening the memory of a job without host memory for it: the driver library is closed. The linker
 * puts the functions below in place of calloc and dlclose (--wrap). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fake_cuda.h"
#include "mem_job.h"

void *__real_calloc(size_t n, size_t nbytes);
void *__wrap_calloc(size_t n, size_t nbytes);
int __real_dlclose(void *handle);
int __wrap_dlclose(void *handle);

static int calls_left; /* until a calloc fails; 0: none does */
static int n_closed;
static char library; /* its address stands for a handle of dlopen */

void *__wrap_calloc(size_t n, size_t nbytes)
{
	return calls_left > 0 && --calls_left == 0 ? NULL : __real_calloc(n, nbytes);
}

int __wrap_dlclose(void *handle)
{
	if (handle != &library)
		return __real_dlclose(handle);
	n_closed++;
	return 0;
}

/* Let the calloc of that number fail, counted from 1. */
static int open_without(int number)
{
	const world_kind_t kind = {.n_pes = 1};
	world_t world = {.n_pes = 1};
	pe_boot_t boot = {&world, 0};
	shmemh_t *job = bare_job(&kind, &boot);
	shmemhi_cuda_t cuda = driver;
	int status;

	cuda.library = &library;
	n_closed = 0;
	calls_left = number;
	status = shmemhi_mem_open_with(job, &cuda);
	if (status == SHMEMH_OK)
		shmemhi_mem_close(job);
	else
		assert_non_null(strstr(job->err.text, "out of memory"));
	assert_null(job->mem);
	assert_int_equal(n_closed, 1);
	free_job(job);
	return status;
}

static void test_library_is_closed(void **state)
{
	int number = 1;

	(void)state;
	while (open_without(number) == SHMEMH_ERR_NO_MEMORY)
		number++;
	calls_left = 0;
	assert_true(number > 2); /* those for job->mem and for its CUDA context have failed */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_library_is_closed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
