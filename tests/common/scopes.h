/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Device side of the tests: the same call in every scope. Blocks have SCOPE_NTHREADS threads; the
 * scopes are chosen so that neither thread 0 nor warp 0 is special. */
#ifndef TESTS_SCOPES_H
#define TESTS_SCOPES_H

#include <shmem_dev/shmem_dev.h>

enum scope { SCOPE_THREAD, SCOPE_WARP, SCOPE_BLOCK, SCOPE_GROUP, SCOPE_COUNT };

#define SCOPE_NTHREADS 128
#define SCOPE_TID 37  /* SCOPE_THREAD: this thread */
#define SCOPE_FIRST 1 /* SCOPE_WARP: this warp; SCOPE_GROUP: this one and the next */

/* A step of a test kernel that calls many operations. Out of line: a kernel that contains all of
 * them would take minutes to compile. */
#ifdef __CUDACC__
#define SCOPE_STEP static __device__ __noinline__
#else
#define SCOPE_STEP static
#endif

/* The scope's group; only for threads for which scope_has returns 1. */
SHMEMD_FN shmemd_group_t scope_group(int scope)
{
	switch (scope) {
	case SCOPE_THREAD:
		return shmemd_thread();
	case SCOPE_WARP:
		return shmemd_warp();
	case SCOPE_BLOCK:
		return shmemd_block();
	default:
		return shmemd_warps(SCOPE_FIRST, 2, 5);
	}
}

/* Returns whether the calling thread is part of the scope. */
SHMEMD_FN int scope_has(int scope)
{
	uint32_t tid = shmemd_thread_index();

	switch (scope) {
	case SCOPE_THREAD:
		return tid == SCOPE_TID;
	case SCOPE_WARP:
		return tid / 32 == SCOPE_FIRST;
	case SCOPE_BLOCK:
		return 1;
	default:
		return tid / 32 == SCOPE_FIRST || tid / 32 == SCOPE_FIRST + 1;
	}
}

/* Calls fn, fn_warp, fn_block or fn_group in the threads for which scope_has returns 1. */
#define SCOPED(scope, fn, ctx, ...)                                                                \
	do {                                                                                       \
		switch (scope) {                                                                   \
		case SCOPE_THREAD:                                                                 \
			fn(ctx, __VA_ARGS__);                                                      \
			break;                                                                     \
		case SCOPE_WARP:                                                                   \
			fn##_warp(ctx, __VA_ARGS__);                                               \
			break;                                                                     \
		case SCOPE_BLOCK:                                                                  \
			fn##_block(ctx, __VA_ARGS__);                                              \
			break;                                                                     \
		default:                                                                           \
			fn##_group(ctx, scope_group(SCOPE_GROUP), __VA_ARGS__);                    \
		}                                                                                  \
	} while (0)

/* The same with a result. */
#define SCOPED_INT(result, scope, fn, ctx, ...)                                                    \
	do {                                                                                       \
		switch (scope) {                                                                   \
		case SCOPE_THREAD:                                                                 \
			(result) = fn(ctx, __VA_ARGS__);                                           \
			break;                                                                     \
		case SCOPE_WARP:                                                                   \
			(result) = fn##_warp(ctx, __VA_ARGS__);                                    \
			break;                                                                     \
		case SCOPE_BLOCK:                                                                  \
			(result) = fn##_block(ctx, __VA_ARGS__);                                   \
			break;                                                                     \
		default:                                                                           \
			(result) = fn##_group(ctx, scope_group(SCOPE_GROUP), __VA_ARGS__);         \
		}                                                                                  \
	} while (0)

/* Functions with no arguments but the context. */
#define SCOPED_INT0(result, scope, fn, ctx)                                                        \
	do {                                                                                       \
		switch (scope) {                                                                   \
		case SCOPE_THREAD:                                                                 \
			(result) = fn(ctx);                                                        \
			break;                                                                     \
		case SCOPE_WARP:                                                                   \
			(result) = fn##_warp(ctx);                                                 \
			break;                                                                     \
		case SCOPE_BLOCK:                                                                  \
			(result) = fn##_block(ctx);                                                \
			break;                                                                     \
		default:                                                                           \
			(result) = fn##_group(ctx, scope_group(SCOPE_GROUP));                      \
		}                                                                                  \
	} while (0)

/* Report from a kernel: status[slot] keeps a status that is not 0. */
SHMEMD_FN void scope_report(int *status, int slot, int value)
{
	if (value != 0)
		status[slot] = value;
}

/* The status of a failed check in a kernel, besides the device's own codes. */
#define WRONG_VALUE 100

#endif
