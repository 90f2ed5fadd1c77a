/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations as the public functions describe them, and the shortest way to carry them out: to a
 * peer whose heap is mapped at a multiple of a stride. impl/any_peer.h has the other ways.
 *
 * On an H200 a warp that has its SM to itself takes about 6 cycles for an instruction that depends
 * on the one before, and several times as many for a load of the context: the instructions before
 * the store, and those between fence and signal, together take a tenth of a round trip. So small
 * puts, gets and puts with a signal to a PE at the stride have code of their own. For larger ones,
 * PEs at the stride and other mapped PEs share the code after the choice of the transport: only the
 * distance to the heap differs.
 *
 * The address of the caller's context is handed only to inline functions; others get
 * ctx->device_copy, also that which records an error, except in check builds. So the compiler knows
 * that no store changes the context, and loads its fields once. */
#ifndef SHMEMD_IMPL_OP_H
#define SHMEMD_IMPL_OP_H

#include <shmem_dev/impl/check.h>
#include <shmem_dev/impl/p2p.h>
#include <shmem_dev/impl/put.h>

/* An operation: who calls, for which group, on which memory. */
typedef struct shmemdi_op_t {
	shmemdi_call_t call;
	shmemd_group_t g;
	char *sym;   /* symmetric address, at pe */
	char *local; /* this PE's memory */
	size_t nbytes;
	int pe;
	int when; /* shmemd_ring_mode */
	/* Must `local` be reusable (put) or filled (get) when the function that gets this
	 * operation returns? */
	int is_blocking;
} shmemdi_op_t;

SHMEMD_FN shmemdi_op_t shmemdi_op(shmemdi_call_t call, shmemd_group_t g, const void *sym,
				  const void *local, size_t nbytes, int pe)
{
	shmemdi_op_t op = {call,   g,  (char *)(uintptr_t)sym, (char *)(uintptr_t)local,
			   nbytes, pe, SHMEMD_RING_DEFAULT,    0};
	return op;
}

SHMEMD_FN shmemdi_op_t shmemdi_op_when(shmemdi_op_t op, int when)
{
	op.when = when;
	return op;
}

/* Is the heap of op.pe mapped at the constant stride, so that its address is computed without a
 * load of `peers`, and do the calling threads carry the operation out themselves? n: n_strided,
 * n_strided_amos or n_strided_puts_with_signal of the context, whichever is for the operation. The
 * operations of impl/xport.h test this first, by one comparison, which those that move data join to
 * a test of the size. With this case among the others a p by one thread took a quarter longer; with
 * a test of the flags in addition, a round trip of two puts with a signal by blocks took 3 to 4 %
 * longer (H200). Always 0 in check builds, which check the context and the arguments first; callers
 * pass 0 there, since the context may be none. */
SHMEMD_FN int shmemdi_is_at_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint32_t n)
{
	return !SHMEMDI_CHECKING && SHMEMD_ARCH_LIKELY(shmemdi_is_in_range(ctx, op.pe, n));
}

SHMEMD_FN int shmemdi_uses_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	return shmemdi_is_at_stride(ctx, op, SHMEMDI_CHECKING ? 0 : ctx->n_strided);
}

/* The same for a word; atomics, fetches included, must be those of the SMs in the whole team. kind:
 * shmemdi_word_kind. */
SHMEMD_FN int shmemdi_word_uses_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind)
{
	int is_amo = kind != SHMEMDI_WORD_STORE && kind != SHMEMDI_WORD_LOAD;

	return shmemdi_is_at_stride(ctx, op,
				    SHMEMDI_CHECKING ? 0
				    : is_amo         ? ctx->n_strided_amos
						     : ctx->n_strided);
}

/* Whole, aligned units of 16 bytes, at most one for each thread of the group? This test and the
 * next use & and not &&, as their callers do: the compiler then makes one branch of all. A branch
 * costs more than a test, since the loads of constants behind it wait for it. bits:
 * shmemdi_copy_bits of the operation. */
SHMEMD_FN int shmemdi_op_is_unit_each(shmemdi_op_t op, uint32_t bits)
{
	return (((bits & 15) | (uint32_t)(op.nbytes >> 32)) == 0) &
	       ((uint32_t)op.nbytes / 16 <= op.g.size);
}

/* One aligned word of 4 or 8 bytes? For these sizes alone nbytes - 4 has no bit but 4. */
SHMEMD_FN int shmemdi_op_is_word(shmemdi_op_t op, uint32_t bits)
{
	uint32_t n = (uint32_t)op.nbytes;

	return (((n - 4) & ~(uint32_t)4) | (bits & (n - 1)) | (uint32_t)(op.nbytes >> 32)) == 0;
}

/* Either: at most one load and one store for each thread of the group. */
SHMEMD_FN int shmemdi_op_is_small(shmemdi_op_t op)
{
	uint32_t bits = shmemdi_copy_bits(op.sym, op.local, op.nbytes);

	return shmemdi_op_is_unit_each(op, bits) | shmemdi_op_is_word(op, bits);
}

/* The same as shmemdi_copy_unit, for a put to a PE at the stride: the address there is computed
 * last, while the load is on its way. */
SHMEMD_FN void shmemdi_put_unit(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	size_t at = (size_t)op.g.rank * 16;
	shmemdi_unit_t u;

	if (op.g.rank >= (uint32_t)op.nbytes / 16)
		return;
	shmemdi_unit_load(&u, op.local + at, 16);
	shmemdi_unit_store(&u, shmemdi_strided_at(ctx, op.sym, op.pe) + at, 16);
}

/* The same of one word. The heap is global memory, so that the store may be a strong one
 * (shmemdi_copy_word says why it must). */
SHMEMD_FN void shmemdi_put_word(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	if (op.g.rank != 0)
		return;
	if ((uint32_t)op.nbytes == 8)
		shmemd_arch_st_relaxed_u64(shmemdi_strided_at(ctx, op.sym, op.pe),
					   shmemd_arch_ld_data_u64(op.local));
	else
		shmemd_arch_st_relaxed_u32(shmemdi_strided_at(ctx, op.sym, op.pe),
					   shmemd_arch_ld_data_u32(op.local));
}

/* Is this small operation one of a word? All other small ones have a multiple of 16 bytes. */
SHMEMD_FN int shmemdi_small_is_word(shmemdi_op_t op)
{
	return ((uint32_t)op.nbytes & 15) != 0;
}

/* May a put to a PE at the stride be small? shmemdi_put_small decides. For a group of several warps
 * this is a test of the size alone, because an instruction before the copy costs 8 cycles of the SM
 * when 32 warps execute it: with all tests here each warp of a block of 1,024 threads executed 27
 * instructions more before the first load of a large put, and 8 more before that of a small one,
 * and puts of 4 KiB to 1 MiB by blocks had 1 to 3 % less bandwidth (H200). For one warp or thread
 * another branch would take longer: a put of 8 bytes by a thread took 1.20 us in place of 1.17. */
SHMEMD_FN int shmemdi_put_may_be_small(shmemdi_op_t op)
{
	return op.g.bar < SHMEMDI_BAR_NONE ? (uint32_t)op.nbytes <= op.g.size * 16
					   : shmemdi_op_is_small(op);
}

/* A put that may be small, to a PE at the stride. Returns 0, and has put nothing, if it is not. */
SHMEMD_FN int shmemdi_put_small(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	uint32_t bits = shmemdi_copy_bits(op.sym, op.local, op.nbytes);
	int is_decided = op.g.bar >= SHMEMDI_BAR_NONE;

	if (is_decided ? !shmemdi_small_is_word(op)
		       : shmemdi_copy_is_units(op.sym, op.local, op.nbytes))
		shmemdi_put_unit(ctx, op);
	else if (is_decided || shmemdi_op_is_word(op, bits))
		shmemdi_put_word(ctx, op);
	else
		return 0;
	return 1;
}

/* A small get from a PE at the stride. */
SHMEMD_FN void shmemdi_get_small(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	const char *src = shmemdi_strided_at(ctx, op.sym, op.pe);

	if (!shmemdi_small_is_word(op))
		shmemdi_copy_unit(op.g, op.local, src, (uint32_t)op.nbytes / 16);
	else if (op.g.rank == 0)
		shmemdi_copy_word(op.local, src, op.nbytes);
}

/* All threads of op.g have come, and the lanes of each warp pass equal arguments. */
SHMEMD_FN int shmemdi_check_op(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
#ifdef SHMEMD_CHECK
	int status = shmemdi_check_group(ctx, op.call, op.g);
	uint64_t bits;

	if (status != SHMEMD_OK)
		return status;
	bits = shmemdi_hash((uintptr_t)op.sym, (uint64_t)(uint32_t)op.pe << 32 | (uint32_t)op.when);
	bits = shmemdi_hash(shmemdi_hash(bits, (uintptr_t)op.local), op.nbytes);
	return shmemdi_check_equal(ctx, op.call, op.g, bits);
#else
	(void)ctx;
	(void)op;
	return SHMEMD_OK;
#endif
}

/* In check builds on the CPU, remember the source of an nbi operation (is_blocking 0): it must not
 * change before the next quiet, sync or barrier (shmemdi_check_sources). Called by all threads of
 * op.g before the data are posted or copied; the one of rank 0 remembers it. A blocking operation
 * has read its source when it returns, so it is not remembered. */
SHMEMD_FN void shmemdi_keep_source(shmemdi_op_t op)
{
#ifdef SHMEMD_CHECK
	if (!op.is_blocking && op.g.rank == 0)
		shmemd_arch_nbi_source(op.local, op.nbytes);
#else
	(void)op;
#endif
}

#endif
