/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Test the words of an array, or wait until one, some or all of them satisfy a comparison. Polls
 * are relaxed, and the one fence comes after success (impl/poll.h says why). */
#ifndef SHMEMD_IMPL_WAIT_SETS_H
#define SHMEMD_IMPL_WAIT_SETS_H

#include <shmem_dev/impl/poll.h>
#include <shmem_dev/impl/trace.h>

#define SHMEMDI_NO_INDEX (~(size_t)0) /* SIZE_MAX */

/* The elements of an array that a call is for, and what each of them must satisfy. */
typedef struct shmemdi_set_t {
	const char *ivars; /* [nelems] words of this PE */
	const int
		*mask; /* [nelems]: an element whose value here is not 0 is left out; NULL: none */
	const char *values; /* [nelems] words to compare with; NULL: value for all */
	size_t nelems;
	uint64_t value; /* widened, as in shmemdi_cond_t */
	int type;       /* shmemdi_word_type */
	int cmp;        /* shmemd_cmp */
} shmemdi_set_t;

SHMEMD_FN shmemdi_set_t shmemdi_set(const void *ivars, int type, size_t nelems, const int *mask,
				    int cmp, uint64_t value)
{
	shmemdi_set_t s = {(const char *)ivars, mask, 0, nelems, value, type, cmp};
	return s;
}

/* Each element is compared with a value of its own. */
SHMEMD_FN shmemdi_set_t shmemdi_set_vector(const void *ivars, int type, size_t nelems,
					   const int *mask, int cmp, const void *values)
{
	shmemdi_set_t s = {(const char *)ivars, mask, (const char *)values, nelems, 0, type, cmp};
	return s;
}

SHMEMD_FN int shmemdi_set_check(const shmemd_ctx_t *ctx, shmemdi_call_t call,
				const shmemdi_set_t *s)
{
	uint32_t width = shmemdi_word_width(s->type);
	int status = shmemdi_check_enum(ctx, call, s->cmp, SHMEMD_CMP_LE);

	if (status != SHMEMD_OK || s->nelems == 0)
		return status;
	status = shmemdi_check_range(ctx, call, s->ivars,
				     s->nelems > SHMEMDI_NO_INDEX / width ? SHMEMDI_NO_INDEX
									  : s->nelems * width);
	return status ? status : shmemdi_check_word(ctx, call, s->ivars, width);
}

SHMEMD_FN int shmemdi_set_has(const shmemdi_set_t *s, size_t i)
{
	return !s->mask || shmemd_arch_ld_data_u32(s->mask + i) == 0;
}

SHMEMD_FN shmemdi_cond_t shmemdi_set_at(const shmemdi_set_t *s, size_t i)
{
	size_t at = i * shmemdi_word_width(s->type);
	uint64_t value = s->value;

	if (s->values && shmemdi_word_width(s->type) == 8)
		value = shmemd_arch_ld_data_u64(s->values + at);
	else if (s->values)
		value = shmemdi_widened(s->type, shmemd_arch_ld_data_u32(s->values + at));
	return shmemdi_cond(s->ivars + at, s->type, s->cmp, value);
}

/* The first element of the set in [i, end) whose comparison gives `result`; end: there is none.
 * Loads each element once. */
SHMEMD_FN_CALL size_t shmemdi_set_next(const shmemdi_set_t *s, size_t i, size_t end, int result)
{
	uint64_t seen;

	SHMEMD_ARCH_NO_UNROLL
	for (; i < end; i++)
		if (shmemdi_set_has(s, i) && shmemdi_holds(shmemdi_set_at(s, i), &seen) == result)
			break;
	return i;
}

SHMEMD_FN int shmemdi_set_is_empty(const shmemdi_set_t *s)
{
	size_t i = 0;

	while (i < s->nelems && !shmemdi_set_has(s, i))
		i++;
	return i == s->nelems;
}

/* Where a search for any element begins. If it always began at 0, the elements after one that keeps
 * satisfying its comparison would never be returned; OpenSHMEM requires that a series of calls
 * returns each. A context holds nothing that a call could count in, so the clock gives the
 * place: multiples of the golden ratio are evenly spread, also if calls are equally far apart. */
SHMEMD_FN size_t shmemdi_set_start(const shmemdi_set_t *s)
{
	uint64_t x;

	if (s->nelems < 2)
		return 0;
	x = shmemd_arch_time_ns() * 0x9e3779b97f4a7c15ull;
	return (size_t)((x ^ x >> 32) % s->nelems);
}

/* The elements that hold, each of them loaded once. */
typedef struct shmemdi_found {
	size_t count;    /* ANY: 0 or 1; ALL: 0 or 1, whether all do */
	size_t index;    /* ANY: of the element; ALL: all before it have held */
	size_t *indices; /* SOME: [count] */
} shmemdi_found_t;

enum shmemdi_set_mode { SHMEMDI_SET_ALL, SHMEMDI_SET_ANY, SHMEMDI_SET_SOME };

/* One look. ALL: at the elements from f->index on, up to the first that does not hold. ANY: from
 * f->index on and round. */
SHMEMD_FN void shmemdi_set_look(const shmemdi_set_t *s, int mode, shmemdi_found_t *f)
{
	size_t i = f->index, end = s->nelems;

	f->count = 0;
	if (mode == SHMEMDI_SET_ALL) {
		f->index = shmemdi_set_next(s, i, end, 0);
		f->count = f->index == end;
		return;
	}
	if (mode == SHMEMDI_SET_ANY) {
		size_t at = shmemdi_set_next(s, i, end, 1);

		if (at == end) {
			end = i;
			at = shmemdi_set_next(s, 0, end, 1);
		}
		f->count = at != end;
		if (f->count)
			f->index = at;
		return;
	}
	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; (i = shmemdi_set_next(s, i, end, 1)) < end; i++)
		shmemd_arch_st_data_u64(&f->indices[f->count++], i);
}

SHMEMD_FN int shmemdi_set_poll(const shmemdi_set_t *s, int mode, shmemdi_found_t *f)
{
	shmemdi_set_look(s, mode, f);
	if (f->count == 0)
		return 0;
	shmemdi_sources_drop();
	shmemd_arch_fence_acquire();
	return 1;
}

/* Record a wait that has failed, with the first element that does not hold. */
SHMEMD_FN int shmemdi_set_record(const shmemd_ctx_t *ctx, shmemdi_call_t call, int status, int pe,
				 const shmemdi_set_t *s)
{
	size_t i = shmemdi_set_next(s, 0, s->nelems, 0);
	shmemdi_cond_t c;

	if (i == s->nelems)
		i = 0;
	c = shmemdi_set_at(s, i);
	return shmemdi_record(ctx, call, status, pe, c.addr, shmemdi_cond_load(c), c.value);
}

/* Wait with checks of the clock and of failed PEs, as shmemdi_wait_loop: after a failure the pass
 * at the top of the loop is the last one. A pass over an array of 64 elements or more, however many
 * of them it loads, counts as 64 polls, so that the clock is read after each pass. */
SHMEMD_FN_CALL int shmemdi_set_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s,
				    int mode, shmemdi_limit_t limit, shmemdi_found_t *f)
{
	shmemdi_spin_t spin = shmemdi_spin(limit);
	int status = shmemdi_set_check(ctx, call, &s);

	if (status != SHMEMD_OK || shmemdi_set_is_empty(&s))
		return status;
	while (!shmemdi_set_poll(&s, mode, f)) {
		if (status != SHMEMD_OK) {
			if (shmemdi_spin_is_to_record(&spin, status))
				shmemdi_set_record(ctx, call, status, spin.pe, &s);
			return status;
		}
		if (s.nelems >= SHMEMDI_POLLS_PER_LOOK)
			spin.polls |= SHMEMDI_POLLS_PER_LOOK - 1;
		status = shmemdi_spin_step(ctx, &spin);
	}
	return SHMEMD_OK;
}

SHMEMD_FN int shmemdi_wait_all(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s,
			       shmemdi_limit_t limit)
{
	shmemdi_found_t f = {0, 0, 0};
	int status = shmemdi_check_ctx(ctx, call);

	return status ? status
		      : shmemdi_set_wait(ctx->device_copy, call, s, SHMEMDI_SET_ALL, limit, &f);
}

SHMEMD_FN int shmemdi_wait_any(const shmemd_ctx_t *ctx, shmemdi_call_t call, size_t *index,
			       shmemdi_set_t s, shmemdi_limit_t limit)
{
	shmemdi_found_t f = {0, shmemdi_set_start(&s), 0};
	int status = shmemdi_check_ctx(ctx, call);

	if (status == SHMEMD_OK)
		status = shmemdi_set_wait(ctx->device_copy, call, s, SHMEMDI_SET_ANY, limit, &f);
	*index = f.count ? f.index : SHMEMDI_NO_INDEX;
	return status;
}

SHMEMD_FN int shmemdi_wait_some(const shmemd_ctx_t *ctx, shmemdi_call_t call, size_t *count,
				shmemdi_set_t s, size_t *indices, shmemdi_limit_t limit)
{
	shmemdi_found_t f = {0, 0, indices};
	int status = shmemdi_check_ctx(ctx, call);

	if (status == SHMEMD_OK)
		status = shmemdi_set_wait(ctx->device_copy, call, s, SHMEMDI_SET_SOME, limit, &f);
	*count = f.count;
	return status;
}

/* One pass, for calls that return no status: bad arguments are latched, and nothing is found. */
SHMEMD_FN_CALL void shmemdi_set_test(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s,
				     int mode, shmemdi_found_t *f)
{
	int status = shmemdi_set_check(ctx, call, &s);

	shmemdi_latch(ctx, status);
	if (status == SHMEMD_OK)
		shmemdi_set_poll(&s, mode, f);
}

SHMEMD_FN int shmemdi_test_all(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s)
{
	shmemdi_found_t f = {0, 0, 0};

	if (shmemdi_check_ctx(ctx, call) == SHMEMD_OK)
		shmemdi_set_test(ctx->device_copy, call, s, SHMEMDI_SET_ALL, &f);
	return f.count != 0;
}

SHMEMD_FN size_t shmemdi_test_any(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s)
{
	shmemdi_found_t f = {0, shmemdi_set_start(&s), 0};

	if (shmemdi_check_ctx(ctx, call) == SHMEMD_OK)
		shmemdi_set_test(ctx->device_copy, call, s, SHMEMDI_SET_ANY, &f);
	return f.count ? f.index : SHMEMDI_NO_INDEX;
}

SHMEMD_FN size_t shmemdi_test_some(const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s,
				   size_t *indices)
{
	shmemdi_found_t f = {0, 0, indices};

	if (shmemdi_check_ctx(ctx, call) == SHMEMD_OK)
		shmemdi_set_test(ctx->device_copy, call, s, SHMEMDI_SET_SOME, &f);
	return f.count;
}

/* Only the event of a wait for any has a word: that of the element found. */
#ifdef SHMEMD_TRACE
SHMEMDI_TRACED_INT(shmemdi_wait_all,
		   (const shmemd_ctx_t *ctx, shmemdi_call_t call, shmemdi_set_t s,
		    shmemdi_limit_t limit),
		   (ctx, call, s, limit), call, shmemd_thread(), -1, s.ivars, 0,
		   shmemdi_trace_no_word())
#define shmemdi_wait_all shmemdi_wait_all_traced
SHMEMDI_TRACED_INT(shmemdi_wait_some,
		   (const shmemd_ctx_t *ctx, shmemdi_call_t call, size_t *count, shmemdi_set_t s,
		    size_t *indices, shmemdi_limit_t limit),
		   (ctx, call, count, s, indices, limit), call, shmemd_thread(), -1, s.ivars, 0,
		   shmemdi_trace_no_word())
#define shmemdi_wait_some shmemdi_wait_some_traced

SHMEMD_FN shmemdi_trace_word_t shmemdi_trace_found(const shmemdi_set_t *s, const size_t *index,
						   int status)
{
	shmemdi_cond_t c;

	if (status != SHMEMD_OK || *index >= s->nelems)
		return shmemdi_trace_no_word();
	c = shmemdi_set_at(s, *index);
	return shmemdi_trace_word(SHMEMD_TRACE_SEEN, c.addr, shmemdi_cond_load(c));
}

SHMEMDI_TRACED_INT(shmemdi_wait_any,
		   (const shmemd_ctx_t *ctx, shmemdi_call_t call, size_t *index, shmemdi_set_t s,
		    shmemdi_limit_t limit),
		   (ctx, call, index, s, limit), call, shmemd_thread(), -1, s.ivars, 0,
		   shmemdi_trace_found(&s, index, status))
#define shmemdi_wait_any shmemdi_wait_any_traced
#endif

#endif
