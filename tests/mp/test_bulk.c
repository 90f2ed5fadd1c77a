/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* bulk.h: put and get of memory through shared memory, puts of tiles, and tiles that are added, in
 * every scope, aligned for the engine and not; source, buffers and tiles are written again as soon
 * as the contract allows it. */
#include <shmem_dev/bulk.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define ROUNDS 6
#define MEMORY_MAX 12288
#define BUFFER_CHUNKS 128 /* 2 KiB: pieces of 240 bytes, so that each buffer is used many times */
#define TILE_MAX 1024
#define TILE_CHUNKS (TILE_MAX / 16)
#define ADD_BLOCKS 3
#define ADD_NBYTES 160
#define GUARD 0x77 /* in dst, after what is written */

typedef struct bulk_params {
	shmemd_ctx_t ctx;
	char *dst, *src;
	uint64_t *arrived; /* [1]: rounds that the left neighbour has sent */
	uint64_t *read;    /* [1]: rounds that the right neighbour has read */
	uint32_t nbytes, skew;
	int scope, element, is_added;
	int *status;
} bulk_params_t;

SHMEMD_FN int right_of(const bulk_params_t *p)
{
	return (shmemd_my_pe(&p->ctx) + 1) % shmemd_n_pes(&p->ctx);
}

SHMEMD_FN int left_of(const bulk_params_t *p)
{
	return (shmemd_my_pe(&p->ctx) + shmemd_n_pes(&p->ctx) - 1) % shmemd_n_pes(&p->ctx);
}

SHMEMD_FN char byte_of(int pe, uint32_t round, uint32_t i)
{
	return (char)((i * 2654435761u >> 13) + (uint32_t)pe * 31u + round * 57u + 7u);
}

SHMEMD_FN void fill(shmemd_group_t g, char *at, uint32_t nbytes, int pe, uint32_t round)
{
	uint32_t i;

	for (i = g.rank; i < nbytes; i += g.size)
		at[i] = byte_of(pe, round, i);
}

SHMEMD_FN int differs(shmemd_group_t g, const char *at, uint32_t nbytes, int pe, uint32_t round)
{
	int is_wrong = 0;
	uint32_t i;

	for (i = g.rank; i < nbytes; i += g.size)
		is_wrong |= at[i] != byte_of(pe, round, i);
	return is_wrong;
}

/* Tell the right neighbour that it has the round, by the thread that is furthest from the leader;
 * wait until this PE has it from the left one, and compare. Then tell the left one. The right one's
 * answer frees its dst. */
SHMEMD_FN void hand_over(const bulk_params_t *p, shmemd_group_t g, const char *dst, uint32_t round)
{
	if (g.rank == g.size - 1) {
		shmemd_fence(&p->ctx);
		shmemd_signal_op(&p->ctx, p->arrived, round + 1, SHMEMD_SIGNAL_SET, right_of(p));
	}
	scope_report(
		p->status, 0,
		shmemd_signal_wait_until_group(&p->ctx, g, p->arrived, SHMEMD_CMP_GE, round + 1));
	if (differs(g, dst, p->nbytes, left_of(p), round) || dst[p->nbytes] != GUARD)
		p->status[1] = WRONG_VALUE;
	shmemd_fence_leader_group(&p->ctx, g);
	if (g.rank == 0)
		shmemd_signal_op(&p->ctx, p->read, round + 1, SHMEMD_SIGNAL_SET, left_of(p));
	scope_report(p->status, 2,
		     shmemd_signal_wait_until_group(&p->ctx, g, p->read, SHMEMD_CMP_GE, round + 1));
}

SHMEMD_KERNEL(put_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, BUFFER_CHUNKS, buffers);
	uint32_t shared_nbytes = BUFFER_CHUNKS * sizeof(*buffers), round;
	char *src = p.src + p.skew, *dst = p.dst + p.skew;
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < ROUNDS; round++) {
		fill(g, src, p.nbytes, shmemd_my_pe(&p.ctx), round);
		shmemd_group_sync(g);
		SCOPED(p.scope, shmemd_putmem_bulk, &p.ctx, dst, src, p.nbytes, right_of(&p),
		       buffers, shared_nbytes);
		fill(g, src, p.nbytes, 99, round);
		fill(g, (char *)buffers, shared_nbytes, 98, round);
		hand_over(&p, g, dst, round);
	}
}

SHMEMD_KERNEL(get_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, BUFFER_CHUNKS, buffers);
	uint32_t shared_nbytes = BUFFER_CHUNKS * sizeof(*buffers), round;
	char *src = p.src + p.skew, *dst = p.dst + p.skew;
	shmemd_group_t g;
	int status = 0;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < ROUNDS; round++) {
		fill(g, src, p.nbytes, shmemd_my_pe(&p.ctx), round);
		scope_report(p.status, 3, shmemd_sync_group(&p.ctx, g));
		SCOPED_INT(status, p.scope, shmemd_getmem_bulk, &p.ctx, dst, src, p.nbytes,
			   left_of(&p), buffers, shared_nbytes);
		scope_report(p.status, 4, status);
		fill(g, (char *)buffers, shared_nbytes, 98, round);
		if (differs(g, dst, p.nbytes, left_of(&p), round) || dst[p.nbytes] != GUARD)
			p.status[5] = WRONG_VALUE;
		scope_report(p.status, 6, shmemd_sync_group(&p.ctx, g));
	}
}

SHMEMD_FN void wait_read(int scope, uint32_t n)
{
	if (scope == SCOPE_THREAD)
		shmemd_bulk_wait_read(n);
	else if (scope == SCOPE_WARP)
		shmemd_bulk_wait_read_warp(n);
	else if (scope == SCOPE_BLOCK)
		shmemd_bulk_wait_read_block(n);
	else
		shmemd_bulk_wait_read_group(scope_group(scope), n);
}

SHMEMD_FN void wait_written(int scope)
{
	if (scope == SCOPE_THREAD)
		shmemd_bulk_wait();
	else if (scope == SCOPE_WARP)
		shmemd_bulk_wait_warp();
	else if (scope == SCOPE_BLOCK)
		shmemd_bulk_wait_block();
	else
		shmemd_bulk_wait_group(scope_group(scope));
}

/* Tiles of a round leave while the next one is written: two tiles in turn. */
SHMEMD_KERNEL(tile_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, TILE_CHUNKS * 2, tiles);
	int me = shmemd_my_pe(&p.ctx);
	shmemd_group_t g;
	uint32_t round;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < ROUNDS; round++) {
		char *tile = (char *)&tiles[round % 2 * TILE_CHUNKS] + p.skew;

		wait_read(p.scope, 1);
		fill(g, tile, p.nbytes, me, round);
		SCOPED(p.scope, shmemd_put_tile_bulk, &p.ctx, p.dst + round * TILE_MAX * 2 + p.skew,
		       tile, p.nbytes, right_of(&p));
	}
	wait_read(p.scope, 0);
	fill(g, (char *)tiles, 2 * TILE_MAX, 98, 0);
	wait_written(p.scope);
	for (round = 0; round < ROUNDS; round++)
		hand_over(&p, g, p.dst + round * TILE_MAX * 2 + p.skew, round);
}

/* Between the engine's tiles such that it does not take: of a byte more, or an addition of no
 * elements. Each counts in wait_read. */
SHMEMD_KERNEL(mixed_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, TILE_CHUNKS * 2, tiles);
	int me = shmemd_my_pe(&p.ctx);
	shmemd_group_t g;
	uint32_t round;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < ROUNDS; round++) {
		char *tile = (char *)&tiles[round % 2 * TILE_CHUNKS];
		char *dst = p.dst + round * TILE_MAX * 2;

		wait_read(p.scope, 1);
		fill(g, tile, p.nbytes + 1, me, round);
		if (round % 2 == 0 || !p.is_added)
			SCOPED(p.scope, shmemd_put_tile_bulk, &p.ctx, dst, tile,
			       p.nbytes + round % 2, right_of(&p));
		else
			SCOPED(p.scope, shmemd_add_tile_bulk, &p.ctx, dst, tile, 0, SHMEMD_BULK_U32,
			       right_of(&p));
	}
	wait_written(p.scope);
	for (round = 0; round < ROUNDS; round += 2)
		hand_over(&p, g, p.dst + round * TILE_MAX * 2, round);
}

/* A tile that the whole block writes, and one thread posts. */
SHMEMD_KERNEL(fenced_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, TILE_CHUNKS, tile);
	shmemd_group_t g = shmemd_block();
	uint32_t round;

	for (round = 0; round < ROUNDS; round++) {
		fill(g, (char *)tile, p.nbytes, shmemd_my_pe(&p.ctx), round);
		shmemd_bulk_fence();
		shmemd_group_sync(g);
		if (shmemd_thread_index() == 0) {
			shmemd_put_tile_bulk(&p.ctx, p.dst, tile, p.nbytes, right_of(&p));
			shmemd_bulk_wait();
		}
		shmemd_group_sync(g);
		hand_over(&p, g, p.dst, round);
	}
}

/* Kernels and the host's check compute with the same functions. */
#ifdef __CUDACC__
#define BOTH static __host__ __device__
#else
#define BOTH static
#endif

/* The bits of the integer n, 0 .. 255, as an element. */
BOTH uint64_t bits_of(int element, uint32_t n)
{
	uint32_t exponent = 0;

	if (element == SHMEMD_BULK_U32 || element == SHMEMD_BULK_U64 || n == 0)
		return n;
	while (n >> exponent > 1)
		exponent++;
	n = (n << (23 - exponent)) & 0x7fffff;
	if (element == SHMEMD_BULK_F16)
		return (exponent + 15) << 10 | n >> 13;
	n |= (exponent + 127) << 23;
	return element == SHMEMD_BULK_F32 ? n : n >> 16;
}

BOTH uint32_t width_of(int element)
{
	if (element == SHMEMD_BULK_U64)
		return 8;
	return element == SHMEMD_BULK_F16 || element == SHMEMD_BULK_BF16 ? 2 : 4;
}

BOTH void element_store(char *at, int element, uint32_t n)
{
	uint64_t bits = bits_of(element, n);

	if (element == SHMEMD_BULK_U64)
		*(uint64_t *)(void *)at = bits;
	else if (width_of(element) == 4)
		*(uint32_t *)(void *)at = (uint32_t)bits;
	else
		*(uint16_t *)(void *)at = (uint16_t)bits;
}

BOTH uint32_t addend(int pe, uint32_t block, uint32_t i)
{
	return i % 11 + block * 3 + (uint32_t)pe;
}

/* All blocks of a PE add to the same elements of its right neighbour. */
SHMEMD_KERNEL(add_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, ADD_NBYTES / 16 + 1, tile);
	uint32_t width = width_of(p.element), n = ADD_NBYTES / width, i;
	char *at = (char *)tile + p.skew;
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (i = g.rank; i < n; i += g.size)
		element_store(at + i * width, p.element,
			      addend(shmemd_my_pe(&p.ctx), shmemd_block_index(), i));
	SCOPED(p.scope, shmemd_add_tile_bulk, &p.ctx, p.dst + p.skew, at, n, p.element,
	       right_of(&p));
	wait_read(p.scope, 0);
	fill(g, (char *)tile, ADD_NBYTES, 98, 0);
	wait_written(p.scope);
	scope_report(p.status, 7, shmemd_quiet_group(&p.ctx, g));
}

static int prepare(pes_t *pes, bulk_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->src, char, MEMORY_MAX + 64, 0);
	return 0;
}

/* New memory for a launch: counters begin at 0. */
static int renew(pes_t *pes, bulk_params_t *p)
{
	PES_ALLOC(pes, p->dst, char, 2 * MEMORY_MAX + 64, GUARD);
	PES_ALLOC(pes, p->arrived, uint64_t, 2, 0);
	p->read = p->arrived + 1;
	return 0;
}

typedef struct shape {
	uint32_t nbytes, skew;
} shape_t;

#define N_SHAPES(shapes) (sizeof(shapes) / sizeof((shapes)[0]))

/* Runs of a random schedule take one scope each. */
static int is_chosen(const pes_t *pes, int scope)
{
	return pes->seed == 0 || (int)(pes->seed % SCOPE_COUNT) == scope;
}

static int copy_memory(pes_t *pes, int is_get)
{
	static const shape_t shapes[] = {{16, 0}, {2048, 16}, {MEMORY_MAX, 0}, {1000, 0}, {512, 8}};
	bulk_params_t p;

	if (prepare(pes, &p))
		return 1;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		for (size_t i = 0; i < N_SHAPES(shapes) && is_chosen(pes, p.scope); i++) {
			if (renew(pes, &p))
				return 1;
			p.nbytes = shapes[i].nbytes;
			p.skew = shapes[i].skew;
			if (is_get)
				PES_RUN(pes, get_kernel, 1, SCOPE_NTHREADS, p);
			else
				PES_RUN(pes, put_kernel, 1, SCOPE_NTHREADS, p);
		}
	return 0;
}

static int put_memory(pes_t *pes)
{
	return copy_memory(pes, 0);
}

static int get_memory(pes_t *pes)
{
	return copy_memory(pes, 1);
}

static int put_tiles(pes_t *pes)
{
	static const shape_t shapes[] = {{TILE_MAX, 0}, {16, 0}, {100, 0}, {256, 4}, {0, 0}};
	bulk_params_t p;

	if (prepare(pes, &p))
		return 1;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		for (size_t i = 0; i < N_SHAPES(shapes) && is_chosen(pes, p.scope); i++) {
			if (renew(pes, &p))
				return 1;
			p.nbytes = shapes[i].nbytes;
			p.skew = shapes[i].skew;
			PES_RUN(pes, tile_kernel, 1, SCOPE_NTHREADS, p);
		}
	return 0;
}

static int mixed_tiles(pes_t *pes)
{
	bulk_params_t p;

	if (prepare(pes, &p))
		return 1;
	p.nbytes = 16;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		for (p.is_added = 0; p.is_added < 2; p.is_added++) {
			if (!is_chosen(pes, p.scope))
				continue;
			if (renew(pes, &p))
				return 1;
			PES_RUN(pes, mixed_kernel, 1, SCOPE_NTHREADS, p);
		}
	return 0;
}

static int tile_of_others(pes_t *pes)
{
	bulk_params_t p;

	if (prepare(pes, &p) || renew(pes, &p))
		return 1;
	p.nbytes = TILE_MAX;
	PES_RUN(pes, fenced_kernel, 1, SCOPE_NTHREADS, p);
	return 0;
}

static int is_sum(pes_t *pes, const bulk_params_t *p)
{
	uint32_t width = width_of(p->element), n = ADD_NBYTES / width, i, block, sum;
	int left = (pes->pe + pes->n_pes - 1) % pes->n_pes;
	const char *got = (const char *)pes_read(pes, p->dst, 2 * ADD_NBYTES);
	char want[8];

	for (i = 0; got && i < n; i++) {
		for (sum = 0, block = 0; block < ADD_BLOCKS; block++)
			sum += addend(left, block, i);
		element_store(want, p->element, sum);
		if (pes_bytes(pes, got + p->skew + i * width, want, width, "sum", __FILE__,
			      __LINE__))
			return 0;
	}
	return got != NULL;
}

static int add_tiles(pes_t *pes)
{
	bulk_params_t p;

	if (prepare(pes, &p))
		return 1;
	for (p.element = 0; p.element <= SHMEMD_BULK_U64; p.element++)
		for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
			for (p.skew = 0; p.skew <= 8; p.skew += 8) {
				if (!is_chosen(pes, p.scope))
					continue;
				PES_ALLOC(pes, p.dst, char, 2 * ADD_NBYTES, 0);
				PES_RUN(pes, add_kernel, ADD_BLOCKS, SCOPE_NTHREADS, p);
				if (!is_sum(pes, &p))
					return 1;
			}
	return 0;
}

/* Of a tile in which a fourth element follows. */
SHMEMD_KERNEL(odd_kernel, bulk_params_t, p)
{
	SHMEMD_SHARED(shmemd_bulk_t, 1, tile);

	element_store((char *)tile, p.element, 1);
	element_store((char *)tile + 2, p.element, 2);
	element_store((char *)tile + 4, p.element, 3);
	element_store((char *)tile + 6, p.element, 4);
	shmemd_add_tile_bulk(&p.ctx, p.dst, tile, 3, p.element, right_of(&p));
	shmemd_bulk_wait();
	scope_report(p.status, 0,
		     shmemd_quiet(&p.ctx) == SHMEMD_ERR_BAD_ARGUMENT ? 0 : WRONG_VALUE);
}

/* An odd number of halves is refused, in every build. */
static int odd_halves(pes_t *pes)
{
	static const char zeros[8] = {0};
	bulk_params_t p;
	const char *got;

	if (prepare(pes, &p))
		return 1;
	for (p.element = SHMEMD_BULK_F16; p.element <= SHMEMD_BULK_BF16; p.element++) {
		PES_ALLOC(pes, p.dst, char, sizeof(zeros), 0);
		PES_RUN(pes, odd_kernel, 1, 1, p);
		PES_EQ(pes, shmemh_error_get(pes->job, NULL), SHMEMD_ERR_BAD_ARGUMENT);
		PES_TRY(pes, shmemh_error_clear(pes->job));
		PES_TRY(pes, shmemh_barrier(pes->job));
		got = (const char *)pes_read(pes, p.dst, sizeof(zeros));
		if (got == NULL ||
		    pes_bytes(pes, got, zeros, sizeof(zeros), "dst", __FILE__, __LINE__))
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(put_memory),  PES_TEST(get_memory),     PES_TEST(put_tiles),
		PES_TEST(mixed_tiles), PES_TEST(tile_of_others), PES_TEST(add_tiles),
		PES_TEST(odd_halves),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
