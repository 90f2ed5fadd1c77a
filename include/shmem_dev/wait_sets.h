/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Waiting for, and testing, several words of this PE at once: all, any or some elements of an
 * array. shmem_dev.h does not include this header. Here are the forms for uint64_t; typed.h has
 * them for each type that waits take (shmemd_int_wait_until_any).
 *
 * A wait returns a status as all waits do, and what it found through a pointer, which is its first
 * argument after the context: an index, or a number of elements. If it found nothing, that is
 * SIZE_MAX, or 0, also after an error. A test returns what it found.
 *
 * The elements of a set are those whose mask is 0. An empty set (nelems is 0, or no mask is 0) is
 * no error: waits return at once, _all succeeds, _any gives SIZE_MAX, _some gives 0.
 *
 * A pass over the set loads its words one after another, each once, relaxed. A call that finds
 * something acquires: what the writers of the found elements ordered before their updates is
 * visible to the caller. A call that finds nothing orders nothing.
 *
 * A wait reads the clock after every 64th pass over the array; with 64 elements or more, after each
 * pass. */
#ifndef SHMEMD_WAIT_SETS_H
#define SHMEMD_WAIT_SETS_H

#include <shmem_dev/impl/wait_sets.h>

/* Wait until each element of the set has satisfied `ivars[i] cmp value`.
 *
 * Callers  one thread.
 * ivars    [nelems] symmetric words, updated as shmemd_wait_until says.
 * nelems   0 or more.
 * mask     [nelems] any memory this thread reads: elements whose mask is not 0 are left out. NULL:
 *          none is.
 * cmp      SHMEMD_CMP_EQ, NE, GT, GE, LT or LE, in the type of the words.
 * Returns  SHMEMD_OK: each element has satisfied its comparison. One that has is not loaded again,
 *          even if it changes back before the call returns.
 * Errors   ERR_PEER: a PE of the team died or left, or fail-over found no path to it, and the set
 *          did not hold even then; ERR_TIMEOUT: the default limit (SHMEMH_TIMEOUT) passed. Both are
 *          in the error record, with an element that does not hold, and not latched; the wait may
 *          be repeated. Check builds: ERR_NOT_SYMMETRIC, ERR_UNALIGNED, ERR_BAD_ARGUMENT.
 * Source   OpenSHMEM 1.5 shmem_wait_until_all.
 */
SHMEMD_FN int shmemd_wait_until_all_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					size_t nelems, const int *mask, int cmp,
					uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`; values: [nelems], any memory
 * this thread reads. */
SHMEMD_FN int shmemd_wait_until_all_vector_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					       size_t nelems, const int *mask, int cmp,
					       const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_wait_until_all_u64 with a time limit instead of the default one: ns nanoseconds at
 * least pass before ERR_TIMEOUT, which is expected and not recorded (wait.h). */
SHMEMD_FN int shmemd_wait_until_all_for_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					    size_t nelems, const int *mask, int cmp, uint64_t value,
					    uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_for(ns));
}

/* As above, with a value for each element. */
SHMEMD_FN int shmemd_wait_until_all_vector_for_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
						   size_t nelems, const int *mask, int cmp,
						   const uint64_t *values, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_all(ctx, SHMEMDI_CALLER(WAIT),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_for(ns));
}

/* Wait until an element of the set satisfies `ivars[i] cmp value`.
 *
 * Callers  one thread.
 * index    receives the number of that element; SIZE_MAX: the set is empty, or an error.
 * ivars, nelems, mask, cmp, value  as shmemd_wait_until_all.
 * Returns  SHMEMD_OK: that element held. The search begins at an element that depends on the clock.
 *          So if several hold, a long series of calls returns each of them, but calls that follow
 *          each other closely may return the same one.
 * Errors   those of shmemd_wait_until_all.
 * Source   OpenSHMEM 1.5 shmem_wait_until_any; the index comes through a pointer, and the status
 *          as the result.
 */
SHMEMD_FN int shmemd_wait_until_any_u64(const shmemd_ctx_t *ctx, size_t *index,
					const uint64_t *ivars, size_t nelems, const int *mask,
					int cmp, uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`; values: [nelems], any memory
 * this thread reads. */
SHMEMD_FN int shmemd_wait_until_any_vector_u64(const shmemd_ctx_t *ctx, size_t *index,
					       const uint64_t *ivars, size_t nelems,
					       const int *mask, int cmp,
					       const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_wait_until_any_u64 with a time limit instead of the default one: ns nanoseconds at
 * least pass before ERR_TIMEOUT, which is expected and not recorded (wait.h). */
SHMEMD_FN int shmemd_wait_until_any_for_u64(const shmemd_ctx_t *ctx, size_t *index,
					    const uint64_t *ivars, size_t nelems, const int *mask,
					    int cmp, uint64_t value, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				shmemdi_limit_for(ns));
}

/* As above, with a value for each element. */
SHMEMD_FN int shmemd_wait_until_any_vector_for_u64(const shmemd_ctx_t *ctx, size_t *index,
						   const uint64_t *ivars, size_t nelems,
						   const int *mask, int cmp, const uint64_t *values,
						   uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_any(ctx, SHMEMDI_CALLER(WAIT), index,
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				shmemdi_limit_for(ns));
}

/* Wait until at least one element of the set satisfies `ivars[i] cmp value`.
 *
 * Callers  one thread.
 * count    receives how many did, in one pass; 0: the set is empty, or an error.
 * indices  [nelems] any memory this thread writes: receives their numbers, in ascending order. What
 *          is after them is unchanged.
 * ivars, nelems, mask, cmp, value  as shmemd_wait_until_all.
 * Returns  SHMEMD_OK: those elements held.
 * Errors   those of shmemd_wait_until_all.
 * Source   OpenSHMEM 1.5 shmem_wait_until_some; the count comes through a pointer, and the status
 *          as the result.
 */
SHMEMD_FN int shmemd_wait_until_some_u64(const shmemd_ctx_t *ctx, size_t *count,
					 const uint64_t *ivars, size_t nelems, size_t *indices,
					 const int *mask, int cmp, uint64_t value SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value), indices,
				 shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`; values: [nelems], any memory
 * this thread reads. */
SHMEMD_FN int shmemd_wait_until_some_vector_u64(const shmemd_ctx_t *ctx, size_t *count,
						const uint64_t *ivars, size_t nelems,
						size_t *indices, const int *mask, int cmp,
						const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices, shmemdi_limit_default(ctx, SHMEMDI_ANY_PE));
}

/* As shmemd_wait_until_some_u64 with a time limit instead of the default one: ns nanoseconds at
 * least pass before ERR_TIMEOUT, which is expected and not recorded (wait.h). */
SHMEMD_FN int shmemd_wait_until_some_for_u64(const shmemd_ctx_t *ctx, size_t *count,
					     const uint64_t *ivars, size_t nelems, size_t *indices,
					     const int *mask, int cmp, uint64_t value,
					     uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value), indices,
				 shmemdi_limit_for(ns));
}

/* As above, with a value for each element. */
SHMEMD_FN int shmemd_wait_until_some_vector_for_u64(const shmemd_ctx_t *ctx, size_t *count,
						    const uint64_t *ivars, size_t nelems,
						    size_t *indices, const int *mask, int cmp,
						    const uint64_t *values, uint64_t ns SHMEMD_SITE)
{
	return shmemdi_wait_some(ctx, SHMEMDI_CALLER(WAIT), count,
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices, shmemdi_limit_for(ns));
}

/* Look once at each element: do all of the set satisfy `ivars[i] cmp value`?
 *
 * Callers  one thread.
 * ivars, nelems, mask, cmp, value  as shmemd_wait_until_all.
 * Returns  1 or 0; 1 for an empty set. After 1 the data is visible as after a wait. Check builds: 0
 *          for bad arguments, which are recorded and latched.
 * Source   OpenSHMEM 1.5 shmem_test_all. A loop around test is not bounded: prefer the wait.
 */
SHMEMD_FN int shmemd_test_all_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars, size_t nelems,
				  const int *mask, int cmp, uint64_t value SHMEMD_SITE)
{
	return shmemdi_test_all(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value));
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`. */
SHMEMD_FN int shmemd_test_all_vector_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					 size_t nelems, const int *mask, int cmp,
					 const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_test_all(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values));
}

/* Look once at each element until one satisfies `ivars[i] cmp value`.
 *
 * Callers  one thread.
 * ivars, nelems, mask, cmp, value  as shmemd_wait_until_all.
 * Returns  the number of that element, chosen among several as by shmemd_wait_until_any, and the
 *          data is visible as after a wait; SIZE_MAX: none.
 *          Check builds: SIZE_MAX for bad arguments, which are recorded and latched.
 * Source   OpenSHMEM 1.5 shmem_test_any.
 */
SHMEMD_FN size_t shmemd_test_any_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars, size_t nelems,
				     const int *mask, int cmp, uint64_t value SHMEMD_SITE)
{
	return shmemdi_test_any(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value));
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`. */
SHMEMD_FN size_t shmemd_test_any_vector_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					    size_t nelems, const int *mask, int cmp,
					    const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_test_any(ctx, SHMEMDI_CALLER(TEST),
				shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values));
}

/* Look once at each element: which of the set satisfy `ivars[i] cmp value`?
 *
 * Callers  one thread.
 * ivars, nelems, indices, mask, cmp, value  as shmemd_wait_until_some.
 * Returns  how many do, with their numbers in indices; 0: none. After 1 or more the data is visible
 *          as after a wait. Check builds: 0 for bad arguments, which are recorded and latched.
 * Source   OpenSHMEM 1.5 shmem_test_some.
 */
SHMEMD_FN size_t shmemd_test_some_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars, size_t nelems,
				      size_t *indices, const int *mask, int cmp,
				      uint64_t value SHMEMD_SITE)
{
	return shmemdi_test_some(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_set(ivars, SHMEMDI_U64, nelems, mask, cmp, value),
				 indices);
}

/* As above, with a value for each element: `ivars[i] cmp values[i]`. */
SHMEMD_FN size_t shmemd_test_some_vector_u64(const shmemd_ctx_t *ctx, const uint64_t *ivars,
					     size_t nelems, size_t *indices, const int *mask,
					     int cmp, const uint64_t *values SHMEMD_SITE)
{
	return shmemdi_test_some(ctx, SHMEMDI_CALLER(TEST),
				 shmemdi_set_vector(ivars, SHMEMDI_U64, nelems, mask, cmp, values),
				 indices);
}

#endif
