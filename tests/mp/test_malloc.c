/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* <shmem_host/heap.h>: its results, and that bad input is an error on every PE that changes nothing
 * and has a line with the cause. */
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

static uint64_t used(pes_t *pes)
{
	shmemh_heap_info_t info;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	pes_status(pes, shmemh_heap_info(pes->job, &info), "shmemh_heap_info", __FILE__, __LINE__);
	return info.used;
}

/* Returns whether the last failure's text contains word. */
static int says(const pes_t *pes, const char *word)
{
	return strstr(shmemh_error_text(pes->job), word) != NULL;
}

static int symmetric_and_zeroed(pes_t *pes)
{
	uint64_t before = used(pes), offset, *offsets;
	shmemh_heap_info_t info;
	unsigned char *got;
	size_t i;
	void *ptr;
	int pe;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	PES_TRY(pes, shmemh_malloc(pes->job, 5000, &ptr));
	PES_EQ(pes, (uintptr_t)ptr % 512, 0);
	PES_TRY(pes, shmemh_free(pes->job, ptr));
	PES_TRY(pes, shmemh_calloc(pes->job, 1000, 5, &ptr));
	PES_TRY(pes, shmemh_heap_info(pes->job, &info));
	offset = (uint64_t)((char *)ptr - (char *)info.base);
	offsets = (uint64_t *)calloc((size_t)pes->n_pes, 8);
	PES_TRY(pes, shmemh_allgather(pes->job, &offset, offsets, 8));
	for (pe = 0; pe < pes->n_pes; pe++)
		PES_EQ(pes, offsets[pe], offset);
	free(offsets);
	got = (unsigned char *)pes_read(pes, ptr, 5000);
	for (i = 0; got != NULL && i < 5000; i++)
		PES_EQ(pes, got[i], 0);
	PES_TRY(pes, shmemh_free(pes->job, ptr));
	PES_EQ(pes, used(pes), before);
	return 0;
}

static int zero_null_and_alignment(pes_t *pes)
{
	void *ptr = pes, *aligned;

	PES_EQ(pes, shmemh_malloc(pes->job, 0, &ptr), SHMEMH_OK);
	PES_CHECK(pes, ptr == NULL);
	PES_EQ(pes, shmemh_free(pes->job, NULL), SHMEMH_OK);
	PES_TRY(pes, shmemh_align(pes->job, 1 << 16, 100, &aligned));
	PES_EQ(pes, (uintptr_t)aligned % (1 << 16), 0);
	PES_TRY(pes, shmemh_free(pes->job, aligned));
	PES_EQ(pes, shmemh_align(pes->job, 48, 100, &aligned), SHMEMH_ERR_ARGUMENT);
	PES_CHECK(pes, says(pes, "48"));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

static int heap_exhausted(pes_t *pes)
{
	uint64_t before = used(pes);
	shmemh_heap_info_t info;
	void *ptr = pes, *small;

	memset(&info, 0, sizeof(info));
	info.size = sizeof(info);
	PES_TRY(pes, shmemh_heap_info(pes->job, &info));
	PES_EQ(pes, shmemh_malloc(pes->job, info.reserved + 1, &ptr), SHMEMH_ERR_NO_MEMORY);
	PES_CHECK(pes, says(pes, "SHMEMH_SYMMETRIC_MAX"));
	PES_EQ(pes, used(pes), before);
	PES_TRY(pes, shmemh_malloc(pes->job, 4096, &small)); /* the heap still works */
	PES_TRY(pes, shmemh_free(pes->job, small));
	return 0;
}

static int differing_sizes(pes_t *pes)
{
	uint64_t before = used(pes);
	void *ptr;

	if (pes->n_pes < 2)
		return pes_skip(pes, "one PE cannot differ");
	PES_EQ(pes, shmemh_malloc(pes->job, pes->pe == 1 ? 8192 : 4096, &ptr), SHMEMH_ERR_MISMATCH);
	PES_CHECK(pes, says(pes, "8192") && says(pes, "4096"));
	PES_EQ(pes, used(pes), before);
	PES_EQ(pes, shmemh_align(pes->job, pes->pe == 1 ? 1024 : 2048, 4096, &ptr),
	       SHMEMH_ERR_MISMATCH);
	PES_EQ(pes, used(pes), before);
	return 0;
}

static int double_free(pes_t *pes)
{
	void *ptr;

	PES_TRY(pes, shmemh_malloc(pes->job, 4096, &ptr));
	PES_TRY(pes, shmemh_free(pes->job, ptr));
	PES_EQ(pes, shmemh_free(pes->job, ptr), SHMEMH_ERR_NOT_OWNED);
	PES_CHECK(pes, shmemh_error_text(pes->job)[0] != '\0');
	return 0;
}

/* One PE passes a pointer of its own: no PE frees anything. */
static int foreign_pointer(pes_t *pes)
{
	uint64_t before;
	void *ptr;

	PES_TRY(pes, shmemh_malloc(pes->job, 4096, &ptr));
	before = used(pes);
	PES_EQ(pes, shmemh_free(pes->job, pes->pe == pes->n_pes - 1 ? (void *)pes : ptr),
	       SHMEMH_ERR_NOT_OWNED);
	PES_EQ(pes, shmemh_free(pes->job, (char *)ptr + 512), SHMEMH_ERR_NOT_OWNED);
	PES_EQ(pes, used(pes), before);
	PES_CHECK(pes, shmemh_ptr(pes->job, pes, pes->pe) == NULL);
	PES_CHECK(pes, shmemh_ptr(pes->job, ptr, pes->n_pes) == NULL);
	PES_CHECK(pes, shmemh_ptr(pes->job, ptr, -1) == NULL);
	PES_TRY(pes, shmemh_free(pes->job, ptr));
	return 0;
}

/* PEs free different allocations: an error on all of them. */
static int differing_frees(pes_t *pes)
{
	uint64_t before;
	void *a, *b;

	if (pes->n_pes < 2)
		return pes_skip(pes, "one PE cannot differ");
	PES_TRY(pes, shmemh_malloc(pes->job, 4096, &a));
	PES_TRY(pes, shmemh_malloc(pes->job, 4096, &b));
	before = used(pes);
	PES_EQ(pes, shmemh_free(pes->job, pes->pe == 0 ? a : b), SHMEMH_ERR_MISMATCH);
	PES_EQ(pes, used(pes), before);
	PES_TRY(pes, shmemh_free(pes->job, b));
	PES_TRY(pes, shmemh_free(pes->job, a));
	return 0;
}

/* Many sizes, freed in another order, with content that must not change. */
#define BLOCKS 24

static int many_blocks(pes_t *pes)
{
	uint64_t before = used(pes);
	unsigned char text[64];
	void *ptr[BLOCKS];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < BLOCKS; i++) {
			size_t nbytes = (size_t)1 << (6 + (i * 7 + round) % 18);

			PES_TRY(pes, shmemh_malloc(pes->job, nbytes, &ptr[i]));
			memset(text, i * 8 + pes->pe, sizeof(text));
			PES_TRY(pes, run_copy(ptr[i], text, sizeof(text)));
			PES_TRY(pes, run_copy((char *)ptr[i] + nbytes - 64, text, sizeof(text)));
		}
		for (i = 0; i < BLOCKS; i++) {
			int at = (i * 5 + round) % BLOCKS;

			PES_TRY(pes, run_copy(text, ptr[at], sizeof(text)));
			PES_EQ(pes, text[0], at * 8 + pes->pe);
			PES_EQ(pes, text[63], at * 8 + pes->pe);
			PES_TRY(pes, shmemh_free(pes->job, ptr[at]));
		}
		PES_EQ(pes, used(pes), before);
	}
	return 0;
}

/* When malloc returns, all PEs can access a heap that has grown by a large step: hosts if they have
 * it mapped, kernels always. Each PE writes two marks at each PE, at the end. */
typedef struct growth_params {
	shmemd_ctx_t ctx;
	uint8_t *marks; /* [2][n] */
	int *status;
} growth_params_t;

SHMEMD_KERNEL(growth_kernel, growth_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe;

	for (pe = 0; pe < n; pe++)
		shmemd_p_u8(&p.ctx, p.marks + n + me, (uint8_t)(me + 1), pe);
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
}

static int grown_memory_is_accessible(pes_t *pes)
{
	size_t nbytes = (size_t)80 << 20, n = (size_t)pes->n_pes, i;
	unsigned char mark = (unsigned char)(pes->pe + 1), got[2];
	growth_params_t p;
	char *ptr;
	int pe;

	if (pes->seed > 1)
		return 0;
	PES_TRY(pes, shmemh_malloc(pes->job, nbytes, (void **)&ptr));
	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.marks = (uint8_t *)ptr + nbytes - 2 * n;
	for (pe = 0; pe < pes->n_pes; pe++) {
		uint8_t *theirs = (uint8_t *)shmemh_ptr(pes->job, p.marks + pes->pe, pe);

		PES_EQ(pes, theirs != NULL, pes_maps(pes, pe) || pe == pes->pe);
		if (theirs != NULL)
			PES_TRY(pes, run_copy(theirs, &mark, 1));
	}
	PES_RUN(pes, growth_kernel, 1, 1, p);
	for (i = 0; i < n; i++) {
		int is_mapped = pes_maps(pes, (int)i) || (int)i == pes->pe;

		PES_TRY(pes, run_copy(&got[0], p.marks + i, 1));
		PES_TRY(pes, run_copy(&got[1], p.marks + n + i, 1));
		PES_CHECK(pes, got[0] == i + 1 || !is_mapped);
		PES_EQ(pes, got[1], i + 1);
	}
	PES_TRY(pes, shmemh_free(pes->job, ptr));
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(symmetric_and_zeroed),
		PES_TEST(zero_null_and_alignment),
		PES_TEST(heap_exhausted),
		PES_TEST(differing_sizes),
		PES_TEST(double_free),
		PES_TEST(foreign_pointer),
		PES_TEST(differing_frees),
		PES_TEST(many_blocks),
		PES_TEST(grown_memory_is_accessible),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
