/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build (SHMEMD_CHECK): addresses outside of every allocation, tiles that are not aligned,
 * groups whose threads are missing, foreign or disagree, sources of nbi operations that are written
 * before quiet, and what records say of fence and quiet. */
#define SHMEMD_CHECK 1
#include <shmem_dev/bulk.h>
#include <shmem_dev/grid.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/stream.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/wait_sets.h>
#include <string.h>
#include "pes.h"

#define N_MANY 70 /* more than the first table of allocations has room for */

typedef struct call_params {
	shmemd_ctx_t ctx;
	char *target;  /* symmetric, or not */
	char *source;  /* [64] */
	int which;     /* the mistake */
	int *result;   /* [1] of quiet, or of the call */
	size_t nbytes; /* of a put */
} call_params_t;

static int call_params(pes_t *pes, call_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	PES_ALLOC(pes, p->target, char, 64, 0);
	PES_ALLOC(pes, p->source, char, 64, 1);
	PES_ALLOC(pes, p->result, int, 1, 0);
	p->nbytes = 8;
	return 0;
}

/* The last call's result, and for BAD_ARGUMENT which mistake the record has. */
static int expect(pes_t *pes, const call_params_t *p, int want, uint64_t mistake)
{
	int *result = (int *)pes_read(pes, p->result, sizeof(*result));
	shmemd_error_t err;

	if (result == NULL)
		return 1;
	PES_EQ(pes, *result, want);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), want);
	if (want == SHMEMD_ERR_BAD_ARGUMENT)
		PES_EQ(pes, err.addr, mistake);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

SHMEMD_KERNEL(put_kernel, call_params_t, p)
{
	shmemd_putmem(&p.ctx, p.target, p.source, p.nbytes, shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

static int put_at(pes_t *pes, const call_params_t *p, void *target, size_t nbytes, int want)
{
	call_params_t at = *p;

	at.target = (char *)target;
	at.nbytes = nbytes;
	PES_RUN(pes, put_kernel, 1, 1, at);
	return expect(pes, &at, want, 0);
}

/* The sizes are those that were asked for, not those of the allocator's blocks. */
static int outside_of_allocations(pes_t *pes)
{
	void *many[N_MANY];
	call_params_t p;
	int i;

	if (call_params(pes, &p))
		return 1;
	for (i = 0; i < N_MANY; i++)
		PES_TRY(pes, shmemh_malloc(pes->job, 40, &many[i]));
	for (i = 0; i < N_MANY; i += N_MANY / 2 - 1) {
		char *at = (char *)many[i];

		if (put_at(pes, &p, at, 40, SHMEMD_OK) || put_at(pes, &p, at + 39, 1, SHMEMD_OK) ||
		    put_at(pes, &p, at + 40, 0, SHMEMD_OK) ||
		    put_at(pes, &p, at, 41, SHMEMD_ERR_NOT_SYMMETRIC) ||
		    put_at(pes, &p, at + 40, 1, SHMEMD_ERR_NOT_SYMMETRIC) ||
		    put_at(pes, &p, at - 1, 8, SHMEMD_ERR_NOT_SYMMETRIC))
			return 1;
	}
	PES_TRY(pes, shmemh_free(pes->job, many[1]));
	if (put_at(pes, &p, many[1], 8, SHMEMD_ERR_NOT_SYMMETRIC) ||
	    put_at(pes, &p, many[0], 8, SHMEMD_OK) || put_at(pes, &p, many[2], 8, SHMEMD_OK))
		return 1;
	for (i = 0; i < N_MANY; i++)
		if (i != 1)
			PES_TRY(pes, shmemh_free(pes->job, many[i]));
	/* Sync memory is the library's. */
	return put_at(pes, &p, p.ctx.sync, 8, SHMEMD_ERR_NOT_SYMMETRIC);
}

/* Blocks of 1024 threads, which the thread sanitizer cannot keep in memory in the emulator. */
#ifdef __has_feature
#define HAS_FEW_THREADS __has_feature(thread_sanitizer)
#else
#define HAS_FEW_THREADS 0
#endif

/* A transfer of several blocks, of which the first alone is inside: nothing is sent, also no
 * signal. */
static int signal_of_refused(pes_t *pes)
{
	size_t nbytes = 200000;
	char *src, *dst, *got;
	uint64_t *sig;

	if (HAS_FEW_THREADS)
		return pes_skip(pes, "too many threads for the thread sanitizer");
	PES_ALLOC(pes, src, char, 200000, 1);
	PES_ALLOC(pes, dst, char, 100000, 0);
	PES_ALLOC(pes, sig, uint64_t, 1, 0);
	PES_TRY(pes, run_device(shmemd_stream_prepare()));
	PES_TRY(pes, run_device(shmemd_putmem_signal_on_stream(&pes->ctx, dst, src, nbytes, sig, 1,
							       SHMEMD_SIGNAL_SET, pes->pe, NULL)));
	PES_TRY(pes, run_device(shmemd_stream_sync(NULL)));
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), SHMEMD_ERR_NOT_SYMMETRIC);
	got = (char *)pes_read(pes, sig, sizeof(*sig));
	PES_EQ(pes, got ? got[0] : 1, 0);
	got = (char *)pes_read(pes, dst, 1);
	PES_EQ(pes, got ? got[0] : 1, 0);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

/* A call with two mistakes, an unfilled context and an unaligned word. The context is reported,
 * since a context that is not filled may have no place for a record. */
SHMEMD_KERNEL(no_context_kernel, call_params_t, p)
{
	shmemd_ctx_t none = p.ctx;

	none.version = 0;
	none.latch = 0;
	none.error = 0;
	*p.result = shmemd_wait_until_u64(&none, (const uint64_t *)(const void *)(p.target + 1),
					  SHMEMD_CMP_EQ, 0);
}

/* This test must be the last one: on CPUs the mistake ends the run, so that no later kernel of this
 * process starts. */
static int no_context(pes_t *pes)
{
	call_params_t p;
	int *result;

	if (pes->is_emulated)
		return pes_skip(pes, "the mistake would end the run of all PEs");
	if (call_params(pes, &p))
		return 1;
#ifndef __CUDACC__
	PES_EQ(pes, run_device(shmemd_launch(no_context_kernel, 1, 1, 0, NULL, p)),
	       RUN_EMULATOR_FAILED);
	return 0;
#endif
	PES_RUN(pes, no_context_kernel, 1, 1, p);
	result = (int *)pes_read(pes, p.result, sizeof(*result));
	if (result == NULL)
		return 1;
	PES_EQ(pes, *result, SHMEMD_ERR_BAD_CONTEXT);
	return 0;
}

/* No word of an addition of no elements need be inside. */
SHMEMD_KERNEL(add_nothing_kernel, call_params_t, p)
{
	shmemd_add_tile_bulk(&p.ctx, p.target, p.source, 0, SHMEMD_BULK_U32, shmemd_my_pe(&p.ctx));
	*p.result = shmemd_quiet(&p.ctx);
}

static int add_nothing(pes_t *pes)
{
	call_params_t p;

	if (call_params(pes, &p))
		return 1;
	p.target += 64;
	PES_RUN(pes, add_nothing_kernel, 1, 1, p);
	return expect(pes, &p, SHMEMD_OK, 0);
}

/* Tiles that are not aligned to their words, or have an odd number of halves. */
SHMEMD_KERNEL(bad_tile_kernel, call_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);

	if (p.which == SHMEMD_BULK_F16 || p.which == SHMEMD_BULK_BF16)
		shmemd_add_tile_bulk(&p.ctx, p.target, p.source, 3, p.which, me);
	else
		shmemd_add_tile_bulk(&p.ctx, p.target, p.source + 2, 2, p.which, me);
	shmemd_bulk_wait();
	*p.result = shmemd_quiet(&p.ctx);
}

static int bad_tiles(pes_t *pes)
{
	call_params_t p;
	uint64_t *target;

	if (call_params(pes, &p))
		return 1;
	for (p.which = 0; p.which <= SHMEMD_BULK_U64; p.which++) {
		int is_odd = p.which == SHMEMD_BULK_F16 || p.which == SHMEMD_BULK_BF16;

		PES_RUN(pes, bad_tile_kernel, 1, 1, p);
		if (expect(pes, &p, is_odd ? SHMEMD_ERR_BAD_ARGUMENT : SHMEMD_ERR_UNALIGNED,
			   SHMEMD_MISTAKE_HALVES))
			return 1;
		target = (uint64_t *)pes_read(pes, p.target, sizeof(*target));
		PES_EQ(pes, target ? *target : 1, 0);
	}
	return 0;
}

enum {
	EXITED_LANES,
	EXITED_HALF,
	DIFFERENT_PES,
	DIFFERENT_SIZES,
	DIFFERENT_STRIDES,
	OUTSIDER,
	PAST_BLOCK,
	PART_OF_WARP,
	N_GROUPS
};

SHMEMD_KERNEL(group_kernel, call_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), status = SHMEMD_OK;
	uint32_t tid = shmemd_thread_index();

	if ((p.which == EXITED_LANES && tid % 32 >= 20) || (p.which == EXITED_HALF && tid >= 32))
		return;
	if (p.which == EXITED_LANES)
		status = shmemd_getmem_warp(&p.ctx, p.target, p.source, 8, me);
	else if (p.which == EXITED_HALF)
		status = shmemd_getmem_block(&p.ctx, p.target, p.source, 8, me);
	else if (p.which == DIFFERENT_PES)
		status = shmemd_getmem_block(&p.ctx, p.target, p.source, 8,
					     tid == 5 ? (me + 1) % n : me);
	else if (p.which == DIFFERENT_SIZES)
		status = shmemd_getmem_warp(&p.ctx, p.target, p.source, 8 + (tid == 37), me);
	else if (p.which == DIFFERENT_STRIDES)
		status = shmemd_igetmem_warp(&p.ctx, p.target, p.source, 1 + (tid == 37), 1, 4, 2,
					     me);
	else if (p.which == OUTSIDER && tid >= 32)
		status = shmemd_getmem_group(&p.ctx, shmemd_warps(0, 1, 1), p.target, p.source, 8,
					     me);
	else if (p.which == PAST_BLOCK && tid >= 32)
		status = shmemd_getmem_group(&p.ctx, shmemd_warps(1, 2, 1), p.target, p.source, 8,
					     me);
	else if (p.which == PART_OF_WARP)
		status = shmemd_getmem_block(&p.ctx, p.target, p.source, 8, me);
	if (status != SHMEMD_OK) /* of several threads */
		shmemd_arch_st_relaxed_u32((uint32_t *)(void *)p.result, (uint32_t)status);
}

static int groups(pes_t *pes)
{
	static const uint64_t mistakes[N_GROUPS] = {SHMEMD_MISTAKE_LANES,  SHMEMD_MISTAKE_THREADS,
						    SHMEMD_MISTAKE_DIFFER, SHMEMD_MISTAKE_DIFFER,
						    SHMEMD_MISTAKE_DIFFER, SHMEMD_MISTAKE_OUTSIDER,
						    SHMEMD_MISTAKE_GROUP,  SHMEMD_MISTAKE_LANES};
	call_params_t p;

	if (call_params(pes, &p))
		return 1;
	for (p.which = pes->n_pes == 1 ? DIFFERENT_SIZES : 0; p.which < N_GROUPS; p.which++) {
		char *target;

		PES_RUN(pes, group_kernel, 1, p.which == PART_OF_WARP ? 48 : 64, p);
		if (expect(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, mistakes[p.which]))
			return 1;
		/* No thread of a group that differs has copied. */
		target = (char *)pes_read(pes, p.target, 1);
		if (target != NULL && p.which < DIFFERENT_SIZES)
			PES_EQ(pes, target[0], 0);
	}
	return 0;
}

enum { OUTSIDE_BLOCK, BLOCK_BEFORE, MISSING_BLOCKS, NO_BLOCKS, NOT_ZERO, N_GRIDS };

/* Two blocks. */
SHMEMD_KERNEL(grid_kernel, call_params_t, p)
{
	static const uint32_t blocks[][2] = {{0, 1}, {1, 1}, {0, 3}, {0, 0}, {0, 2}};
	uint64_t *sig = (uint64_t *)(void *)p.target;
	uint32_t *arrived = (uint32_t *)(void *)p.source;
	int me = shmemd_my_pe(&p.ctx), status;
	shmemd_grid_t grid = shmemd_blocks(blocks[p.which][0], blocks[p.which][1], shmemd_block());

	if (p.which == NOT_ZERO) {
		shmemd_signal_op_grid(&p.ctx, grid, sig, 1, SHMEMD_SIGNAL_SET, me, arrived);
		shmemd_arch_st_relaxed_u32((uint32_t *)(void *)p.result,
					   (uint32_t)shmemd_quiet_block(&p.ctx));
		return;
	}
	if (shmemd_block_index() == (p.which == OUTSIDE_BLOCK ? 0 : 1))
		return;
	status = shmemd_getmem_grid(&p.ctx, grid, p.target, p.source, 8, me);
	shmemd_putmem_grid(&p.ctx, grid, p.target, p.source, 8, me);
	shmemd_signal_op_grid(&p.ctx, grid, sig, 1, SHMEMD_SIGNAL_SET, me, arrived);
	shmemd_putmem_signal_grid(&p.ctx, grid, p.target, p.source, 8, sig, 1, SHMEMD_SIGNAL_SET,
				  me, arrived);
	shmemd_arch_st_relaxed_u32((uint32_t *)(void *)p.result, (uint32_t)status);
}

/* Nothing is copied, and nothing is signalled. */
static int grids(pes_t *pes)
{
	call_params_t p;
	char *target;

	if (call_params(pes, &p))
		return 1;
	for (p.which = 0; p.which < N_GRIDS; p.which++) {
		int want = SHMEMD_ERR_BAD_ARGUMENT;

		PES_RUN(pes, grid_kernel, 2, 64, p);
		if (expect(pes, &p, want,
			   p.which == NOT_ZERO ? SHMEMD_MISTAKE_ARRIVED : SHMEMD_MISTAKE_BLOCKS))
			return 1;
		target = (char *)pes_read(pes, p.target, 1);
		if (target != NULL)
			PES_EQ(pes, target[0], 0);
	}
	return 0;
}

/* Two blocks put, and do nothing else that could latch a status. */
SHMEMD_KERNEL(grid_put_kernel, call_params_t, p)
{
	shmemd_putmem_grid(&p.ctx, shmemd_grid(), p.target, p.source, 8, p.which);
	shmemd_arch_st_relaxed_u32((uint32_t *)(void *)p.result,
				   (uint32_t)shmemd_quiet_block(&p.ctx));
}

/* A quiet returns why a put of a grid has not started; nothing is copied. */
static int grid_puts(pes_t *pes)
{
	call_params_t p, outside;
	char *target;

	if (call_params(pes, &p))
		return 1;
	outside = p;
	p.which = pes->n_pes;
	PES_RUN(pes, grid_put_kernel, 2, 64, p);
	if (expect(pes, &p, SHMEMD_ERR_BAD_PE, 0))
		return 1;
	target = (char *)pes_read(pes, p.target, 1);
	PES_EQ(pes, target ? target[0] : 1, 0);
	outside.which = pes->pe;
	outside.target += 60; /* its last 4 of 8 bytes */
	PES_RUN(pes, grid_put_kernel, 2, 64, outside);
	if (expect(pes, &outside, SHMEMD_ERR_NOT_SYMMETRIC, 0))
		return 1;
	target = (char *)pes_read(pes, outside.target, 1);
	PES_EQ(pes, target ? target[0] : 1, 0);
	return 0;
}

/* The first warp's group, named by the second warp. */
SHMEMD_KERNEL(order_kernel, call_params_t, p)
{
	shmemd_group_t g = shmemd_warps(0, 1, 1);

	if (shmemd_thread_index() < 32)
		return;
	if (p.which == SHMEMD_OP_FENCE)
		shmemd_fence_group(&p.ctx, g);
	else
		(void)shmemd_quiet_group(&p.ctx, g);
}

/* A fence or quiet that is refused is recorded as what it is, with its call site. */
static int orders(pes_t *pes)
{
	static const uint32_t ops[] = {SHMEMD_OP_FENCE, SHMEMD_OP_QUIET};
#ifdef __cplusplus
	static const char *const sites[] = {"test_check_calls.c", "test_check_calls.c"};
#else
	static const char *const sites[] = {"shmemd_fence_group", "shmemd_quiet_group"};
#endif
	shmemd_error_t err;
	call_params_t p;
	int i;

	if (call_params(pes, &p))
		return 1;
	for (i = 0; i < 2; i++) {
		p.which = (int)ops[i];
		PES_RUN(pes, order_kernel, 1, 64, p);
		PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_BAD_ARGUMENT);
		PES_EQ(pes, err.op, ops[i]);
		PES_EQ(pes, err.addr, SHMEMD_MISTAKE_OUTSIDER);
		PES_EQ(pes, strstr(err.site, sites[i]) != NULL, 1);
		PES_TRY(pes, shmemh_error_clear(pes->job));
		PES_TRY(pes, shmemh_barrier(pes->job));
	}
	return 0;
}

#ifndef __CUDACC__ /* on GPUs sources are not watched */

enum {
	REUSED,
	REUSED_AFTER_QUIET,
	AFTER_CHANNEL_QUIET,
	AFTER_CHANNEL_POLL,
	REUSED_AFTER_TEST,
	ANSWERED,
	BLOCKING,
	AFTER_PACKED,
	AFTER_ANY,
	/* No word has told anything. */
	AFTER_NO_TEST,
	AFTER_NO_PACKED,
	AFTER_NO_ANY,
	N_SOURCES
};

/* Until the NIC has reported what was posted. */
SHMEMD_FN int poll_channel(const shmemd_ctx_t *ctx, int pe)
{
	uint64_t place = shmemd_channel_posted(ctx, pe);
	int is_done = 0, status = SHMEMD_OK;

	while (!is_done && status == SHMEMD_OK)
		status = shmemd_channel_poll(ctx, pe, place, &is_done);
	return status;
}

/* One look, at a word or slot of ones: did it not end as `which` says? */
SHMEMD_FN int looks_wrong(const call_params_t *p)
{
	const uint64_t *word = (const uint64_t *)(const void *)(p->target + 8);
	const shmemd_packed_t *slot = (const shmemd_packed_t *)(const void *)(p->target + 16);
	uint64_t value;

	switch (p->which) {
	case REUSED_AFTER_TEST:
	case ANSWERED:
	case AFTER_NO_TEST:
		return shmemd_test_u64(&p->ctx, word, SHMEMD_CMP_EQ, p->which == AFTER_NO_TEST) !=
		       (p->which != AFTER_NO_TEST);
	case AFTER_PACKED:
	case AFTER_NO_PACKED:
		return shmemd_test_packed(&p->ctx, &value, slot, p->which == AFTER_NO_PACKED) !=
		       (p->which == AFTER_PACKED);
	case AFTER_ANY:
	case AFTER_NO_ANY:
		return shmemd_test_any_u64(&p->ctx, word, 1, 0, SHMEMD_CMP_EQ,
					   p->which == AFTER_NO_ANY) !=
		       (p->which == AFTER_ANY ? 0 : ~(size_t)0);
	default:
		return 0;
	}
}

SHMEMD_KERNEL(source_kernel, call_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);

	if (p.which == BLOCKING)
		shmemd_putmem(&p.ctx, p.target, p.source, 8, me);
	else
		shmemd_putmem_nbi(&p.ctx, p.target, p.source, 8, me);
	if (p.which == ANSWERED) /* in place by the peer, before this thread looks */
		p.source[0]++;
	if (p.which == REUSED_AFTER_QUIET)
		*p.result = shmemd_quiet(&p.ctx);
	else if (p.which == AFTER_CHANNEL_QUIET)
		*p.result = shmemd_channel_quiet(&p.ctx, me);
	else if (p.which == AFTER_CHANNEL_POLL)
		*p.result = poll_channel(&p.ctx, me);
	else
		*p.result = looks_wrong(&p);
	p.source[0]++;
	if (*p.result == SHMEMD_OK)
		*p.result = shmemd_quiet(&p.ctx);
}

/* Block 1 writes the source after its own call, before that of block 0. */
SHMEMD_KERNEL(grid_source_kernel, call_params_t, p)
{
	shmemd_grid_t grid = shmemd_blocks(0, 2, shmemd_thread());
	uint32_t *is_written = (uint32_t *)(void *)(p.target + 32);

	while (grid.block == 0 && shmemd_arch_ld_relaxed_u32(is_written) != 2)
		shmemd_arch_spin_hint();
	shmemd_putmem_nbi_grid(&p.ctx, grid, p.target, p.source, 8, shmemd_my_pe(&p.ctx));
	if (grid.block == 0) {
		*p.result = shmemd_quiet(&p.ctx);
	} else {
		p.source[0]++;
		shmemd_arch_fence_order();
		shmemd_arch_st_relaxed_u32(is_written, 2);
	}
}

static int source_of_grid(pes_t *pes)
{
	call_params_t p;

	if (call_params(pes, &p))
		return 1;
	PES_RUN(pes, grid_source_kernel, 2, 1, p);
	return expect(pes, &p, SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_SOURCE);
}

/* Elements that are too large for a WQE to carry (SHMEMH_IB_INLINE). By NIC the put waits only for
 * the completion of the last one, so the others are posted as if they did not block. */
enum { N_ELEMENTS = 3, ELEMENT_NBYTES = 40 };

SHMEMD_KERNEL(elements_source_kernel, call_params_t, p)
{
	int i;

	shmemd_iputmem(&p.ctx, p.target, p.source, 2, 1, ELEMENT_NBYTES, N_ELEMENTS,
		       shmemd_my_pe(&p.ctx));
	for (i = 0; i < N_ELEMENTS * ELEMENT_NBYTES; i++)
		p.source[i]++;
	*p.result = shmemd_quiet(&p.ctx);
}

static int source_of_elements(pes_t *pes)
{
	call_params_t p;

	if (call_params(pes, &p))
		return 1;
	PES_ALLOC(pes, p.target, char, 2 * N_ELEMENTS * ELEMENT_NBYTES, 0);
	PES_ALLOC(pes, p.source, char, N_ELEMENTS *ELEMENT_NBYTES, 1);
	PES_RUN(pes, elements_source_kernel, 1, 1, p);
	return expect(pes, &p, SHMEMD_OK, 0);
}

static int sources(pes_t *pes)
{
	call_params_t p;

	if (call_params(pes, &p))
		return 1;
	for (p.which = 0; p.which < N_SOURCES; p.which++) {
		int is_told = p.which == REUSED || p.which >= AFTER_NO_TEST;

		PES_RUN(pes, source_kernel, 1, 1, p);
		if (expect(pes, &p, is_told ? SHMEMD_ERR_BAD_ARGUMENT : SHMEMD_OK,
			   SHMEMD_MISTAKE_SOURCE))
			return 1;
		*p.result = 0;
	}
	return 0;
}

#endif

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(outside_of_allocations),
		PES_TEST(signal_of_refused),
		PES_TEST(add_nothing),
		PES_TEST(bad_tiles),
		PES_TEST(groups),
		PES_TEST(grids),
		PES_TEST(grid_puts),
		PES_TEST(orders),
#ifndef __CUDACC__
		PES_TEST(sources),
		PES_TEST(source_of_grid),
		PES_TEST(source_of_elements),
#endif
		PES_TEST(no_context),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
