/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build (SHMEMD_CHECK): bad arguments change no memory, are latched or returned, and the
 * record contains the operation, the value and the call site. */
#define SHMEMD_CHECK 1
#include <shmem_dev/strided.h>
#include <shmem_dev/typed/uint64.h>
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define GUARD 0x5a

typedef struct check_params {
	shmemd_ctx_t ctx;
	uint64_t *words; /* [4] filled with GUARD */
	uint64_t *local; /* [1] not in the heap, or in it: source of puts */
	int bad;         /* a PE number, an enumerator, or the number of the mistake to make */
	int *result;     /* [1] status of the bad call, or of quiet after it */
	int *status;
} check_params_t;

static int check_params(pes_t *pes, check_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->words, uint64_t, 4, GUARD);
	PES_ALLOC(pes, p->local, uint64_t, 1, 0);
	PES_ALLOC(pes, p->result, int, 1, 0);
	return 0;
}

/* Check that the call returned want, that the record agrees, that no word changed, and that after a
 * clear the next error can be recorded. In C the site is the function that was called, in C++ file
 * and line. */
static int expect_error(pes_t *pes, const check_params_t *p, int want, uint32_t op, uint64_t value,
			const char *function)
{
	const char *site = "test_check";
	unsigned char guard[32], *words;
	shmemd_error_t err;
	char text[256];
	int *result;

#ifndef __cplusplus
	site = function;
#endif
	result = (int *)pes_read(pes, p->result, sizeof(*result));
	words = (unsigned char *)pes_read(pes, p->words, sizeof(guard));
	if (result == NULL || words == NULL)
		return 1;
	memset(guard, GUARD, sizeof(guard));
	pes_bytes(pes, words, guard, sizeof(guard), function, __FILE__, __LINE__);
	PES_EQ(pes, *result, want);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), want);
	PES_EQ(pes, err.op, op);
	PES_EQ(pes, err.value, value);
	PES_CHECK(pes, strstr(err.site, site) != NULL);
	PES_CHECK(pes, strstr(shmemh_error_format(&err, text, sizeof(text)), site) != NULL);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

SHMEMD_KERNEL(put_bad_pe_kernel, check_params_t, p)
{
	shmemd_putmem(&p.ctx, p.words, p.local, 8, p.bad);
	*p.result = shmemd_quiet(&p.ctx);
}

SHMEMD_KERNEL(get_bad_pe_kernel, check_params_t, p)
{
	*p.result = shmemd_getmem(&p.ctx, p.words, p.words, 8, p.bad);
}

SHMEMD_KERNEL(bad_from_kernel, check_params_t, p)
{
	*p.result = shmemd_signal_wait_until_from(&p.ctx, p.words, SHMEMD_CMP_NE, 0, p.bad);
}

SHMEMD_KERNEL(bad_world_kernel, check_params_t, p)
{
	*p.result = shmemd_world_pe(&p.ctx, p.bad) == -1 ? SHMEMD_ERR_BAD_PE : SHMEMD_OK;
}

static int pe_out_of_range(pes_t *pes)
{
	check_params_t p;
	int bad;

	for (bad = 0; bad < 2; bad++) {
		if (check_params(pes, &p))
			return 1;
		p.bad = bad == 0 ? pes->n_pes : -1;
		PES_RUN(pes, put_bad_pe_kernel, 1, 1, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_PUT,
				 (uint64_t)(int64_t)p.bad, "shmemd_putmem"))
			return 1;
		PES_RUN(pes, get_bad_pe_kernel, 1, 1, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_GET,
				 (uint64_t)(int64_t)p.bad, "shmemd_getmem"))
			return 1;
		PES_RUN(pes, bad_from_kernel, 1, 1, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_WAIT,
				 (uint64_t)(int64_t)p.bad, "shmemd_signal_wait_until_from"))
			return 1;
		PES_RUN(pes, bad_world_kernel, 1, 1, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_NONE,
				 (uint64_t)(int64_t)p.bad, "shmemd_world_pe"))
			return 1;
		pes_release(pes);
	}
	return 0;
}

SHMEMD_KERNEL(unaligned_add_kernel, check_params_t, p)
{
	uint64_t *word = (uint64_t *)((char *)p.words + 4);

	shmemd_atomic_add_u64(&p.ctx, word, 1, shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

SHMEMD_KERNEL(unaligned_fetch_kernel, check_params_t, p)
{
	uint32_t *word = (uint32_t *)((char *)p.words + 1), old;

	*p.result = shmemd_atomic_fetch_add_u32(&p.ctx, &old, word, 1, 0);
}

SHMEMD_KERNEL(unaligned_wait_kernel, check_params_t, p)
{
	const uint64_t *word = (const uint64_t *)((char *)p.words + 2);

	*p.result = shmemd_wait_until_u64(&p.ctx, word, SHMEMD_CMP_EQ, 0);
}

static int unaligned_atomic(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, unaligned_add_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_ATOMIC, 8,
			 "shmemd_atomic_add_u64"))
		return 1;
	PES_RUN(pes, unaligned_fetch_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_ATOMIC, 4,
			 "shmemd_atomic_fetch_add_u32"))
		return 1;
	PES_RUN(pes, unaligned_wait_kernel, 1, 1, p);
	return expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_WAIT, 8,
			    "shmemd_wait_until_u64");
}

SHMEMD_KERNEL(outside_kernel, check_params_t, p)
{
	/* The last byte of the range is one past the heap. */
	char *dst = p.ctx.heap + p.ctx.heap_nbytes - 7;

	shmemd_putmem(&p.ctx, dst, p.local, 8, shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

SHMEMD_KERNEL(foreign_kernel, check_params_t, p)
{
	*p.result = shmemd_getmem(&p.ctx, p.local, (const char *)&p, 8, 0);
}

SHMEMD_KERNEL(before_kernel, check_params_t, p)
{
	*p.result = shmemd_getmem(&p.ctx, p.local, p.ctx.heap - 8, 16, 0);
}

SHMEMD_KERNEL(no_address_kernel, check_params_t, p)
{
	const void *addr = shmemd_ptr(&p.ctx, p.ctx.heap - 8, shmemd_my_pe(&p.ctx));

	*p.result = addr == NULL ? SHMEMD_ERR_NOT_SYMMETRIC : SHMEMD_OK;
}

/* A count that wraps around to the start of the heap. */
SHMEMD_KERNEL(wrapping_kernel, check_params_t, p)
{
	*p.result = shmemd_getmem(&p.ctx, p.local, p.ctx.heap + 16, (size_t)-8, 0);
}

/* All of these are valid: no bytes at the very end; local sides that are not symmetric. */
SHMEMD_KERNEL(fine_kernel, check_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);
	uint64_t mine = 7;

	shmemd_putmem(&p.ctx, p.ctx.heap + p.ctx.heap_nbytes, p.local, 0, me);
	shmemd_putmem(&p.ctx, p.local, &mine, 8, me);
	scope_report(p.status, 0, shmemd_getmem(&p.ctx, &mine, p.words, 8, me));
	scope_report(p.status, 1, shmemd_quiet(&p.ctx));
}

static int not_symmetric(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, outside_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_PUT, 8, "shmemd_putmem"))
		return 1;
	PES_RUN(pes, foreign_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_GET, 8, "shmemd_getmem"))
		return 1;
	PES_RUN(pes, before_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_GET, 16, "shmemd_getmem"))
		return 1;
	PES_RUN(pes, no_address_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_NONE, 1, "shmemd_ptr"))
		return 1;
	PES_RUN(pes, wrapping_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_GET, (size_t)-8,
			 "shmemd_getmem"))
		return 1;
	PES_RUN(pes, fine_kernel, 1, 1, p);
	return 0;
}

/* Arrays: the checked range ends behind the last element, and a count that wraps has no end. */
SHMEMD_KERNEL(strided_kernel, check_params_t, p)
{
	char *end = p.ctx.heap + p.ctx.heap_nbytes;
	ptrdiff_t far = (ptrdiff_t)((size_t)-1 / 16);
	int me = shmemd_my_pe(&p.ctx);

	if (p.bad == 0)
		shmemd_iputmem(&p.ctx, end - 31, p.local, 3, 1, 8, 2, me);
	else
		shmemd_iputmem(&p.ctx, p.words, p.local, far, 1, 8, 5, me);
	*p.result = shmemd_quiet(&p.ctx);
}

SHMEMD_KERNEL(strided_get_kernel, check_params_t, p)
{
	const char *end = p.ctx.heap + p.ctx.heap_nbytes;

	*p.result = shmemd_igetmem(&p.ctx, p.words, end - 31, 1, 3, 8, 2, 0);
}

SHMEMD_KERNEL(sets_kernel, check_params_t, p)
{
	const uint64_t *end = (const uint64_t *)(p.ctx.heap + p.ctx.heap_nbytes);
	size_t found = 77, indices[2];

	if (p.bad == 0)
		*p.result = shmemd_wait_until_all_u64(&p.ctx, end - 1, 2, 0, SHMEMD_CMP_EQ, 0);
	else if (p.bad == 1)
		*p.result = shmemd_wait_until_any_u64(&p.ctx, &found, p.words, (size_t)1 << 61, 0,
						      SHMEMD_CMP_EQ, 0);
	else
		*p.result = shmemd_uint64_wait_until_some(
			&p.ctx, &found, (const uint64_t *)((const char *)p.words + 4), 2, indices,
			0, SHMEMD_CMP_EQ, 0);
	scope_report(p.status, 0, found == (p.bad == 0 ? 77 : p.bad == 1 ? (size_t)-1 : 0) ? 0 : 1);
}

SHMEMD_KERNEL(test_sets_kernel, check_params_t, p)
{
	size_t found = shmemd_test_any_u64(&p.ctx, p.words, 2, 0, 6, 0);

	scope_report(p.status, 0, found == (size_t)-1 ? 0 : WRONG_VALUE);
	*p.result = shmemd_quiet(&p.ctx);
}

static int arrays(pes_t *pes)
{
	static const struct {
		int want;
		uint64_t value;
		const char *function;
	} sets[3] = {
		{SHMEMD_ERR_NOT_SYMMETRIC, 16, "shmemd_wait_until_all_u64"},
		{SHMEMD_ERR_NOT_SYMMETRIC, (uint64_t)-1, "shmemd_wait_until_any_u64"},
		{SHMEMD_ERR_UNALIGNED, 8, "shmemd_uint64_wait_until_some"},
	};
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, strided_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_PUT, 32, "shmemd_iputmem"))
		return 1;
	PES_RUN(pes, strided_get_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_GET, 32, "shmemd_igetmem"))
		return 1;
	for (p.bad = 0; p.bad < 3; p.bad++) {
		PES_RUN(pes, sets_kernel, 1, 1, p);
		if (expect_error(pes, &p, sets[p.bad].want, SHMEMD_OP_WAIT, sets[p.bad].value,
				 sets[p.bad].function))
			return 1;
	}
	PES_RUN(pes, strided_kernel, 1, 1, p); /* bad is not 0: a stride that wraps */
	if (expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_PUT, (uint64_t)-1,
			 "shmemd_iputmem"))
		return 1;
	PES_RUN(pes, test_sets_kernel, 1, 1, p);
	return expect_error(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_TEST, 6,
			    "shmemd_test_any_u64");
}

/* put_signal sends both or nothing: good data with a bad signal, and the reverse. */
SHMEMD_KERNEL(bad_put_signal_kernel, check_params_t, p)
{
	uint64_t *sig = p.bad ? p.words + 1 : (uint64_t *)((char *)p.words + 12);
	char *dst = p.bad ? p.ctx.heap + p.ctx.heap_nbytes : (char *)p.words;

	shmemd_putmem_signal(&p.ctx, dst, p.local, 8, sig, 1, SHMEMD_SIGNAL_SET,
			     shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

static int put_signal_sends_nothing(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, bad_put_signal_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_PUT_SIGNAL, 8,
			 "shmemd_putmem_signal"))
		return 1;
	p.bad = 1;
	PES_RUN(pes, bad_put_signal_kernel, 1, 1, p);
	return expect_error(pes, &p, SHMEMD_ERR_NOT_SYMMETRIC, SHMEMD_OP_PUT_SIGNAL, 8,
			    "shmemd_putmem_signal");
}

/* The result of a test cannot be distinguished from an error, so an error is latched. */
SHMEMD_KERNEL(bad_signal_fetch_kernel, check_params_t, p)
{
	const uint64_t *word = (const uint64_t *)((char *)p.words + 4);
	uint64_t seen = p.bad ? shmemd_signal_fetch(&p.ctx, word)
			      : (uint64_t)shmemd_test_u64(&p.ctx, word, SHMEMD_CMP_NE, 0);

	scope_report(p.status, 0, seen == 0 ? 0 : WRONG_VALUE);
	*p.result = shmemd_quiet(&p.ctx);
}

static int bad_signal_fetch(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, bad_signal_fetch_kernel, 1, 1, p);
	if (expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_TEST, 8, "shmemd_test_u64"))
		return 1;
	p.bad = 1;
	PES_RUN(pes, bad_signal_fetch_kernel, 1, 1, p);
	return expect_error(pes, &p, SHMEMD_ERR_UNALIGNED, SHMEMD_OP_TEST, 8,
			    "shmemd_signal_fetch");
}

/* Only one thread of the scope causes the error; quiet, barrier and the quiet after which only the
 * leader may signal return it to all threads. */
SHMEMD_KERNEL(one_error_kernel, check_params_t, p)
{
	int scope = p.bad % SCOPE_COUNT, pe = shmemd_n_pes(&p.ctx) + p.bad, status;
	shmemd_group_t g;

	if (!scope_has(scope))
		return;
	g = scope_group(scope);
	if (g.rank == g.size - 1)
		shmemd_p_u64(&p.ctx, p.words, 1, pe);
	if (p.bad < SCOPE_COUNT)
		SCOPED_INT0(status, scope, shmemd_quiet, &p.ctx);
	else if (p.bad < 2 * SCOPE_COUNT)
		status = shmemd_quiet_leader_group(&p.ctx, g);
	else
		SCOPED_INT(status, scope, shmemd_barrier_for, &p.ctx, PES_LIMIT_NS);
	scope_report(p.status, 0, status == SHMEMD_ERR_BAD_PE ? 0 : WRONG_VALUE + status);
	if (g.rank == 0)
		*p.result = status;
}

static int all_threads_get_the_error(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	for (p.bad = 0; p.bad < 3 * SCOPE_COUNT; p.bad++) {
		PES_RUN(pes, one_error_kernel, 1, SCOPE_NTHREADS, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_P,
				 (uint64_t)(pes->n_pes + p.bad), "shmemd_p_u64"))
			return 1;
	}
	return 0;
}

/* All threads make an error at once: the record is that of one of them. */
SHMEMD_KERNEL(all_err_kernel, check_params_t, p)
{
	uint64_t t = shmemd_block_index() * shmemd_n_threads() + shmemd_thread_index();

	shmemd_putmem(&p.ctx, p.ctx.heap + p.ctx.heap_nbytes + t, p.local, 100 + t, 0);
	scope_report(p.status, 0,
		     shmemd_quiet(&p.ctx) == SHMEMD_ERR_NOT_SYMMETRIC ? 0 : WRONG_VALUE);
}

static int record_of_one_thread(pes_t *pes)
{
	shmemd_error_t err;
	check_params_t p;
	int round;

	if (check_params(pes, &p))
		return 1;
	for (round = 0; round < 8; round++) {
		PES_RUN(pes, all_err_kernel, 2, 32, p);
		PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_NOT_SYMMETRIC);
		PES_EQ(pes, err.addr - (uintptr_t)p.ctx.heap - p.ctx.heap_nbytes, err.value - 100);
		PES_TRY(pes, shmemh_error_clear(pes->job));
	}
	return 0;
}

SHMEMD_KERNEL(bad_cmp_kernel, check_params_t, p)
{
	*p.result = shmemd_signal_wait_until(&p.ctx, p.words, p.bad, 0);
}

SHMEMD_KERNEL(bad_signal_kernel, check_params_t, p)
{
	shmemd_signal_op(&p.ctx, p.words, 1, 2, shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

static int bad_enumerator(pes_t *pes)
{
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	for (p.bad = -1; p.bad <= 6; p.bad += 7) {
		PES_RUN(pes, bad_cmp_kernel, 1, 1, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_WAIT,
				 (uint64_t)(int64_t)p.bad, "shmemd_signal_wait_until"))
			return 1;
	}
	PES_RUN(pes, bad_signal_kernel, 1, 1, p);
	return expect_error(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_SIGNAL, 2,
			    "shmemd_signal_op");
}

/* Threads of a block after its last whole warp: their parts of the copy would be missing. */
SHMEMD_FN int in_whole_warp(void)
{
	return shmemd_thread_index() / 32 < shmemd_n_threads() / 32;
}

/* Keep the status of the last thread. */
SHMEMD_FN void keep_last(int *result, int status)
{
	if (shmemd_thread_index() + 1 == shmemd_n_threads())
		*result = status;
}

SHMEMD_KERNEL(part_of_warp_put_kernel, check_params_t, p)
{
	if (in_whole_warp())
		return;
	shmemd_putmem_warp(&p.ctx, p.words, p.local, 8, shmemd_my_pe(&p.ctx));
	keep_last(p.result, shmemd_quiet(&p.ctx));
}

SHMEMD_KERNEL(part_of_warp_sync_kernel, check_params_t, p)
{
	if (in_whole_warp())
		return;
	keep_last(p.result, shmemd_sync_for_warp(&p.ctx, PES_LIMIT_NS));
}

static int part_of_warp(pes_t *pes)
{
	static const uint32_t sizes[] = {1, 31, 33};
	check_params_t p;
	int i;

	if (check_params(pes, &p))
		return 1;
	for (i = 0; i < 3; i++) {
		uint32_t n = sizes[i];

		PES_RUN(pes, part_of_warp_put_kernel, 1, n, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_PUT, n % 32,
				 "shmemd_putmem_warp"))
			return 1;
		PES_RUN(pes, part_of_warp_sync_kernel, 1, n, p);
		if (expect_error(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_OP_SYNC, n % 32,
				 "shmemd_sync_for_warp"))
			return 1;
	}
	return 0;
}

/* The first error is kept until it is cleared; valid operations continue. */
SHMEMD_KERNEL(two_errors_kernel, check_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);

	shmemd_putmem(&p.ctx, p.words, p.local, 8, 12345);
	shmemd_atomic_add_u64(&p.ctx, (uint64_t *)((char *)p.words + 1), 1, me);
	shmemd_p_u64(&p.ctx, p.local, 42, me);
	*p.result = shmemd_quiet(&p.ctx);
}

static int first_error_stays(pes_t *pes)
{
	uint64_t *local;
	check_params_t p;

	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, two_errors_kernel, 1, 1, p);
	local = (uint64_t *)pes_read(pes, p.local, 8);
	if (local != NULL)
		PES_EQ(pes, *local, 42);
	return expect_error(pes, &p, SHMEMD_ERR_BAD_PE, SHMEMD_OP_PUT, 12345, "shmemd_putmem");
}

/* PE 0 calls barrier, the others sync: at least one PE gets an error. The last test: the team's
 * sync is inconsistent afterwards. */
SHMEMD_KERNEL(mismatch_kernel, check_params_t, p)
{
	if (shmemd_my_pe(&p.ctx) == 0)
		*p.result = shmemd_barrier_for(&p.ctx, PES_LIMIT_NS);
	else
		*p.result = shmemd_sync_for(&p.ctx, PES_LIMIT_NS);
}

static int different_collectives(pes_t *pes)
{
	int *results = (int *)calloc((size_t)pes->n_pes, sizeof(int)), told = 0, pe;
	check_params_t p;

	if (pes->n_pes < 2) {
		free(results);
		return pes_skip(pes, "one PE cannot differ");
	}
	if (check_params(pes, &p))
		return 1;
	PES_RUN(pes, mismatch_kernel, 1, 1, p);
	PES_TRY(pes, run_copy(&pe, p.result, sizeof(pe)));
	PES_TRY(pes, shmemh_allgather(pes->job, &pe, results, sizeof(pe)));
	for (pe = 0; pe < pes->n_pes; pe++)
		told += results[pe] == SHMEMD_ERR_COLLECTIVE;
	PES_CHECK(pes, told > 0);
	free(results);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(pe_out_of_range),
		PES_TEST(unaligned_atomic),
		PES_TEST(not_symmetric),
		PES_TEST(arrays),
		PES_TEST(put_signal_sends_nothing),
		PES_TEST(bad_signal_fetch),
		PES_TEST(all_threads_get_the_error),
		PES_TEST(record_of_one_thread),
		PES_TEST(bad_enumerator),
		PES_TEST(part_of_warp),
		PES_TEST(first_error_stays),
		PES_TEST(different_collectives),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
