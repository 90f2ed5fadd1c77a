/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The device calls of api.h as bare kernels would make them (BENCH_LIMIT): the same accesses and
 * fences that the promises of shmem_dev need, and nothing else. No check of an argument, no error,
 * no limit of a wait, no transport but mapped memory, sizes that are multiples of 4, and addresses
 * aligned to the words that the size allows. What a row of the library takes beyond this is the
 * library's own cost. But a put of 4 bytes is a weak store here; the library's is strong.
 *
 * The PTX is written out here, so that the limit does not share a mistake with arch/cuda.h. */
#ifndef BENCH_API_LIMIT_H
#define BENCH_API_LIMIT_H

typedef struct bench_ctx {
	int32_t my_pe;
	int32_t n_pes;
	int64_t stride; /* bytes from the memory of a PE to that of the next */
	uint64_t *sync; /* symmetric: the number of syncs, then a flag of each PE */
} bench_ctx_t;

template <typename type_t> BENCH_FN type_t *bench_at(const bench_ctx_t *ctx, type_t *sym, int pe)
{
	return (type_t *)((char *)sym + (pe - ctx->my_pe) * ctx->stride);
}

BENCH_FN uint64_t bench_load(const uint64_t *p)
{
	uint64_t v;
	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

BENCH_FN void bench_store(uint64_t *p, uint64_t v)
{
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

BENCH_FN void bench_release(void)
{
	asm volatile("fence.release.sys;" ::: "memory");
}

BENCH_FN void bench_acquire(void)
{
	asm volatile("fence.acquire.sys;" ::: "memory");
}

BENCH_FN void bench_complete(void)
{
	asm volatile("fence.sc.sys;" ::: "memory");
}

template <bench_scope S> BENCH_FN uint32_t bench_rank(void)
{
	return S == BENCH_THREAD ? 0 : S == BENCH_WARP ? threadIdx.x % 32 : threadIdx.x;
}

template <bench_scope S> BENCH_FN uint32_t bench_size(void)
{
	return S == BENCH_THREAD ? 1 : S == BENCH_WARP ? 32 : blockDim.x;
}

/* Words of type_t; DEPTH loads of a thread in flight. */
template <bench_scope S, int DEPTH, typename type_t>
BENCH_FN void bench_copy_words(type_t *dst, const type_t *src, uint32_t n)
{
	const uint32_t size = bench_size<S>();

	for (uint32_t i = bench_rank<S>(); i < n; i += size * DEPTH) {
		type_t v[DEPTH];

#pragma unroll
		for (uint32_t k = 0; k < DEPTH; k++)
			if (i + k * size < n)
				v[k] = src[i + k * size];
#pragma unroll
		for (uint32_t k = 0; k < DEPTH; k++)
			if (i + k * size < n)
				dst[i + k * size] = v[k];
	}
}

template <bench_scope S, int DEPTH>
BENCH_FN void bench_copy(void *dst, const void *src, size_t nbytes)
{
	if (nbytes == 8) {
		if (bench_rank<S>() == 0) /* strong: a wait may poll the word */
			bench_store((uint64_t *)dst, *(const uint64_t *)src);
	} else if (nbytes % 16 == 0) {
		bench_copy_words<S, DEPTH>((uint4 *)dst, (const uint4 *)src,
					   (uint32_t)(nbytes / 16));
	} else if (nbytes % 8 == 0) {
		bench_copy_words<S, 1>((uint64_t *)dst, (const uint64_t *)src,
				       (uint32_t)(nbytes / 8));
	} else {
		bench_copy_words<S, 1>((uint32_t *)dst, (const uint32_t *)src,
				       (uint32_t)(nbytes / 4));
	}
}

template <bench_scope S>
BENCH_FN void bench_put_nbi(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			    int pe)
{
	bench_copy<S, S == BENCH_BLOCK ? 2 : 8>(bench_at(ctx, (char *)dst, pe), src, nbytes);
}

template <bench_scope S>
BENCH_FN void bench_put(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes, int pe)
{
	bench_put_nbi<S>(ctx, dst, src, nbytes, pe);
	bench_group_sync<S>();
}

template <bench_scope S>
BENCH_FN void bench_get_nbi(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
			    int pe)
{
	bench_copy<S, 8>(dst, bench_at(ctx, (const char *)src, pe), nbytes);
}

template <bench_scope S>
BENCH_FN int bench_get(const bench_ctx_t *ctx, void *dst, const void *src, size_t nbytes, int pe)
{
	bench_get_nbi<S>(ctx, dst, src, nbytes, pe);
	bench_group_sync<S>();
	return 0;
}

BENCH_FN void bench_p(const bench_ctx_t *ctx, uint64_t *dst, uint64_t value, int pe)
{
	bench_store(bench_at(ctx, dst, pe), value);
}

BENCH_FN int bench_g(const bench_ctx_t *ctx, uint64_t *value, const uint64_t *src, int pe)
{
	*value = bench_load(bench_at(ctx, src, pe));
	return 0;
}

BENCH_FN int bench_fetch_add(const bench_ctx_t *ctx, uint64_t *old, uint64_t *dst, uint64_t value,
			     int pe)
{
	asm volatile("atom.relaxed.sys.global.add.u64 %0, [%1], %2;"
		     : "=l"(*old)
		     : "l"(bench_at(ctx, dst, pe)), "l"(value)
		     : "memory");
	return 0;
}

BENCH_FN void bench_add(const bench_ctx_t *ctx, uint64_t *dst, uint64_t value, int pe)
{
	asm volatile("red.relaxed.sys.global.add.u64 [%0], %1;" ::"l"(bench_at(ctx, dst, pe)),
		     "l"(value)
		     : "memory");
}

BENCH_FN void bench_signal_set(const bench_ctx_t *ctx, uint64_t *sig, uint64_t value, int pe)
{
	bench_store(bench_at(ctx, sig, pe), value);
}

template <bench_scope S>
BENCH_FN void bench_put_signal_nbi(const bench_ctx_t *ctx, void *dst, const void *src,
				   size_t nbytes, uint64_t *sig, uint64_t value, int pe)
{
	bench_put<S>(ctx, dst, src, nbytes, pe);
	if (bench_rank<S>() == 0) {
		bench_release();
		bench_signal_set(ctx, sig, value, pe);
	}
}

/* 16 bytes, each half with its flag. */
BENCH_FN void bench_put_packed(const bench_ctx_t *ctx, void *slot, const uint64_t *src, uint64_t *,
			       uint64_t value, int pe)
{
	const uint64_t lo = value << 32 | (uint32_t)*src, hi = value << 32 | *src >> 32;

	asm volatile("st.relaxed.sys.global.v2.u64 [%0], {%1, %2};" ::"l"(
			     bench_at(ctx, (char *)slot, pe)),
		     "l"(lo), "l"(hi)
		     : "memory");
}

BENCH_FN int bench_wait_packed(const bench_ctx_t *, const void *slot, uint64_t *, uint64_t value,
			       uint64_t *seen)
{
	uint64_t lo, hi;

	do {
		asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
			     : "=l"(lo), "=l"(hi)
			     : "l"(slot)
			     : "memory");
	} while (lo >> 32 != (uint32_t)value || hi >> 32 != (uint32_t)value);
	*seen = (uint32_t)lo | hi << 32;
	return 0;
}

template <bench_scope S>
BENCH_FN int bench_wait_ge(const bench_ctx_t *, const uint64_t *sig, uint64_t value)
{
	if (bench_rank<S>() == 0) {
		while (bench_load(sig) < value)
			;
		bench_acquire();
	}
	bench_group_sync<S>();
	return 0;
}

/* Afterwards each thread may signal. */
template <bench_scope S> BENCH_FN int bench_quiet(const bench_ctx_t *)
{
	bench_group_sync<S>();
	bench_complete();
	bench_group_sync<S>();
	return 0;
}

/* Afterwards the leader may signal. */
template <bench_scope S> BENCH_FN int bench_quiet_leader(const bench_ctx_t *)
{
	bench_group_sync<S>();
	if (bench_rank<S>() == 0)
		bench_complete();
	bench_group_sync<S>();
	return 0;
}

/* Flags from all to all; each thread of the group serves its share of the PEs. */
template <bench_scope S, bool IS_BARRIER> BENCH_FN int bench_meet(const bench_ctx_t *ctx)
{
	const uint64_t next = bench_load(ctx->sync) + 1;

	bench_group_sync<S>();
	if (IS_BARRIER)
		bench_complete();
	else if (bench_rank<S>() < (uint32_t)ctx->n_pes)
		bench_release();
	for (int pe = (int)bench_rank<S>(); pe < ctx->n_pes; pe += (int)bench_size<S>())
		bench_store(bench_at(ctx, &ctx->sync[1 + ctx->my_pe], pe), next);
	for (int pe = (int)bench_rank<S>(); pe < ctx->n_pes; pe += (int)bench_size<S>())
		while (bench_load(&ctx->sync[1 + pe]) < next)
			;
	bench_acquire();
	bench_group_sync<S>();
	if (bench_rank<S>() == 0)
		bench_store(ctx->sync, next);
	return 0;
}

template <bench_scope S> BENCH_FN int bench_sync(const bench_ctx_t *ctx)
{
	return bench_meet<S, false>(ctx);
}

template <bench_scope S> BENCH_FN int bench_barrier(const bench_ctx_t *ctx)
{
	return bench_meet<S, true>(ctx);
}

#endif
