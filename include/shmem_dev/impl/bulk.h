/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers by the bulk-copy engine (arch/bulk.h). Where there is no engine, no mapping or no
 * alignment, copies by the calling threads, RDMA, or atomics of words take their place.
 *
 * Why a signal after shmemd_bulk_wait orders the data (PTX ISA 9): the wait ends after "writes
 * being made visible to the executing thread" (cp.async.bulk.wait_group), and "the completion of a
 * cp{.reduce}.async.bulk operation is followed by an implicit generic-async proxy fence" (Async
 * Proxy). So the writes come before that thread's release in causality order, as its own stores do.
 * No further proxy fence is needed, nor one at the target before ordinary loads. */
#ifndef SHMEMD_IMPL_BULK_H
#define SHMEMD_IMPL_BULK_H

#include <shmem_dev/arch/bulk.h>
#include <shmem_dev/impl/half.h>
#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/trace.h>

/* Buffers of a pipeline in shared memory; in front of them are their mbarriers, one for each. Up to
 * SHMEMDI_BULK_LOADS buffers are being filled, the others emptied. */
#define SHMEMDI_BULK_BUFFERS 8u
#define SHMEMDI_BULK_LOADS 6u
#define SHMEMDI_BULK_HEAD (SHMEMDI_BULK_BUFFERS * 8)
#define SHMEMDI_BULK_MIN_NBYTES (SHMEMDI_BULK_HEAD + SHMEMDI_BULK_BUFFERS * 16)

/* Copy through shared memory, by one thread. Multiples of 16. On return the data count as stored by
 * this thread.
 *
 * With 8 buffers and loads 6 pieces ahead of the stores, the buffer to refill is that of the
 * third-last store: wait until all stores but the last two have read their buffers. */
SHMEMD_FN_CALL void shmemdi_bulk_pipe(char *to, const char *from, size_t nbytes, char *shared,
				      size_t shared_nbytes)
{
	uint64_t *bars = (uint64_t *)(void *)shared;
	size_t size = (shared_nbytes - SHMEMDI_BULK_HEAD) / SHMEMDI_BULK_BUFFERS / 16 * 16;
	size_t loaded = 0, stored = 0, piece;
	uint32_t n_loads = 0, i;

	shared += SHMEMDI_BULK_HEAD;
	for (i = 0; i < SHMEMDI_BULK_BUFFERS; i++)
		shmemd_arch_bulk_bar_init(&bars[i]);
	shmemd_arch_fence_bulk_shared();
	shmemd_arch_fence_bulk_global();
	SHMEMD_ARCH_NO_UNROLL
	for (i = 0; stored < nbytes; i++) {
		SHMEMD_ARCH_NO_UNROLL
		for (; loaded < nbytes && n_loads < i + SHMEMDI_BULK_LOADS; n_loads++) {
			uint32_t at = n_loads % SHMEMDI_BULK_BUFFERS;

			if (n_loads >= SHMEMDI_BULK_BUFFERS)
				shmemd_arch_bulk_wait_read(SHMEMDI_BULK_BUFFERS -
							   SHMEMDI_BULK_LOADS);
			piece = shmemdi_least(size, nbytes - loaded);
			shmemd_arch_bulk_load(shared + at * size, from + loaded, (uint32_t)piece,
					      &bars[at]);
			loaded += piece;
		}
		shmemd_arch_bulk_wait_load(&bars[i % SHMEMDI_BULK_BUFFERS],
					   i / SHMEMDI_BULK_BUFFERS % 2);
		piece = shmemdi_least(size, nbytes - stored);
		shmemd_arch_bulk_store(to + stored, shared + i % SHMEMDI_BULK_BUFFERS * size,
				       (uint32_t)piece);
		shmemd_arch_bulk_commit();
		stored += piece;
	}
	shmemd_arch_bulk_wait();
	for (i = 0; i < SHMEMDI_BULK_BUFFERS; i++)
		shmemd_arch_bulk_bar_end(&bars[i]);
}

SHMEMD_FN int shmemdi_bulk_is_aligned(shmemdi_op_t op)
{
	return (((uintptr_t)op.sym | (uintptr_t)op.local | op.nbytes) & 15) == 0;
}

/* Does the engine take this transfer of memory, through that shared memory? */
SHMEMD_FN int shmemdi_bulk_takes(shmemdi_op_t op, const void *shared, size_t shared_nbytes)
{
	return SHMEMD_ARCH_HAS_BULK && shmemdi_bulk_is_aligned(op) && op.nbytes != 0 &&
	       ((uintptr_t)shared & 15) == 0 && shared_nbytes >= SHMEMDI_BULK_MIN_NBYTES &&
	       shmemd_arch_is_shared(shared) && shmemd_arch_is_global(op.local);
}

/* Does the engine take this tile? */
SHMEMD_FN int shmemdi_bulk_takes_tile(shmemdi_op_t op)
{
	return SHMEMD_ARCH_HAS_BULK && shmemdi_bulk_is_aligned(op) && op.nbytes != 0 &&
	       shmemd_arch_is_shared(op.local);
}

/* A blocking put without the engine; base: where this PE maps the heap of op.pe, or NULL. */
SHMEMD_FN void shmemdi_put_plainly(const shmemd_ctx_t *ctx, shmemdi_op_t op, char *base)
{
	int status = SHMEMD_OK;

	op.is_blocking = 1;
	if (base)
		shmemdi_copy_any(op.g, shmemdi_p2p_at(ctx, base, op.sym), op.local, op.nbytes);
	else
		status = shmemdi_put_by_nic(ctx, op);
	shmemdi_latch(ctx, status);
	shmemd_group_sync(op.g);
}

SHMEMD_FN void shmemdi_put_bulk(const shmemd_ctx_t *ctx, shmemdi_op_t op, void *shared,
				size_t shared_nbytes)
{
	char *base;
	int status = shmemdi_check_select(ctx, op, &base);

	if (status != SHMEMD_OK) {
		shmemdi_latch(ctx, status);
	} else if (!base || !shmemdi_bulk_takes(op, shared, shared_nbytes)) {
		shmemdi_put_plainly(ctx, op, base);
	} else {
		if (op.g.rank == 0)
			shmemdi_bulk_pipe(shmemdi_p2p_at(ctx, base, op.sym), op.local, op.nbytes,
					  (char *)shared, shared_nbytes);
		/* The leader has waited for the engine; after the sync all may rely on that. */
		shmemd_group_sync(op.g);
	}
}

SHMEMD_FN int shmemdi_get_bulk(const shmemd_ctx_t *ctx, shmemdi_op_t op, void *shared,
			       size_t shared_nbytes)
{
	char *base;
	int status = shmemdi_check_select(ctx, op, &base);

	op.is_blocking = 1;
	if (status != SHMEMD_OK)
		return status;
	if (!base)
		return shmemdi_agree(op.g, shmemdi_get_unmapped(ctx, op));
	base = shmemdi_p2p_at(ctx, base, op.sym);
	if (!shmemdi_bulk_takes(op, shared, shared_nbytes))
		shmemdi_copy_any(op.g, op.local, base, op.nbytes);
	else if (op.g.rank == 0)
		shmemdi_bulk_pipe(op.local, base, op.nbytes, (char *)shared, shared_nbytes);
	shmemd_group_sync(op.g);
	return SHMEMD_OK;
}

/* Tiles */

/* What the group's threads wrote to the tile comes before the engine's reads; their accesses to
 * what the tile goes to, and those that happened before, come before its writes. */
SHMEMD_FN void shmemdi_tile_written(shmemd_group_t g)
{
	shmemd_arch_fence_bulk_shared();
	shmemd_group_sync(g);
	if (g.rank == 0)
		shmemd_arch_fence_bulk_global();
}

/* Commit a bulk group of the leader for each tile, also for one that the engine did not take:
 * wait_read counts them. (A tile whose context is refused makes no group.) */
SHMEMD_FN void shmemdi_tile_posted(shmemd_group_t g)
{
	if (SHMEMD_ARCH_HAS_BULK && g.rank == 0)
		shmemd_arch_bulk_commit();
}

/* A tile to any PE, by the engine or without. Takes the context in memory, and the number of the
 * caller's channel. */
SHMEMD_FN_CALL void shmemdi_put_tile_any(const shmemd_ctx_t *device_copy, uint32_t k,
					 shmemdi_op_t op)
{
	shmemd_ctx_t copy;
	const shmemd_ctx_t *ctx = shmemdi_on_channel(device_copy, k, &copy);
	char *base;
	int status = shmemdi_check_select(ctx, op, &base);

	shmemdi_tile_written(op.g);
	if (status != SHMEMD_OK)
		shmemdi_latch(ctx, status);
	else if (!base || !shmemdi_bulk_takes_tile(op))
		shmemdi_put_plainly(ctx, op, base);
	else if (op.g.rank == 0)
		shmemd_arch_bulk_store(shmemdi_p2p_at(ctx, base, op.sym), op.local,
				       (uint32_t)op.nbytes);
	shmemdi_tile_posted(op.g);
}

/* A tile that the engine cannot take, or to a PE that is not at the stride, is a call: with that
 * code inline, ptxas saved registers for its calls in front of each tile, and additions took a
 * quarter longer (H100). */
SHMEMD_FN void shmemdi_put_tile(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	if (!shmemdi_uses_stride(ctx, op) || !shmemdi_bulk_takes_tile(op)) {
		if (shmemdi_check_ctx(ctx, op.call) == SHMEMD_OK)
			shmemdi_put_tile_any(ctx->device_copy, ctx->channel, op);
		return;
	}
	shmemdi_tile_written(op.g);
	if (op.g.rank == 0)
		shmemd_arch_bulk_store(shmemdi_strided_at(ctx, op.sym, op.pe), op.local,
				       (uint32_t)op.nbytes);
	shmemdi_tile_posted(op.g);
}

SHMEMD_FN uint32_t shmemdi_element_nbytes(int element)
{
	if (element == SHMEMD_BULK_U64)
		return 8;
	return element == SHMEMD_BULK_F16 || element == SHMEMD_BULK_BF16 ? 2 : 4;
}

SHMEMD_FN void shmemdi_bulk_add(char *to, const char *tile, uint32_t nbytes, int element)
{
	if (element == SHMEMD_BULK_F32)
		shmemd_arch_bulk_add_f32(to, tile, nbytes);
	else if (element == SHMEMD_BULK_F16)
		shmemd_arch_bulk_add_f16(to, tile, nbytes);
	else if (element == SHMEMD_BULK_BF16)
		shmemd_arch_bulk_add_bf16(to, tile, nbytes);
	else if (element == SHMEMD_BULK_U32)
		shmemd_arch_bulk_add_u32(to, tile, nbytes);
	else
		shmemd_arch_bulk_add_u64(to, tile, nbytes);
}

/* The words of a tile that the engine does not add. */
typedef struct shmemdi_words {
	shmemdi_ref_t ref; /* for words that go by NIC */
	shmemdi_call_t call;
	char *to;   /* the first one's address at the target, as this PE maps it; NULL: by NIC */
	char *sym;  /* its symmetric address */
	char *from; /* in the tile */
	size_t nbytes;
	int element;
} shmemdi_words_t;

/* kind (shmemdi_word_kind) on the word of 4 bytes at this offset, which returns its old value. */
SHMEMD_FN int shmemdi_words_fetch(const shmemdi_words_t *w, size_t at, int kind, uint32_t value,
				  uint32_t cond, uint32_t *old)
{
	shmemdi_result_t r = {0, SHMEMD_ERR_UNREACHABLE};

	if (w->to) {
		*old = (uint32_t)shmemdi_p2p_atom4(w->to + at, kind, value, cond);
		return SHMEMD_OK;
	}
	if (SHMEMDI_WITH_NIC)
		r = shmemdi_nic_fetch(w->ref, w->call, w->sym + at, 4, kind, value, cond);
	*old = (uint32_t)r.value;
	return r.status;
}

/* Two elements of 16 bits by compare-and-swap: no NIC adds them, nor do all GPUs. */
SHMEMD_FN int shmemdi_words_add_halves(const shmemdi_words_t *w, size_t at)
{
	uint32_t value = shmemd_arch_ld_data_u32(w->from + at), seen, sum, old = 0;
	int status = shmemdi_words_fetch(w, at, SHMEMDI_AMO_FETCH, 0, 0, &seen);

	SHMEMD_ARCH_NO_UNROLL
	while (status == SHMEMD_OK) {
		sum = w->element == SHMEMD_BULK_F16 ? shmemdi_f16_sum2(seen, value)
						    : shmemdi_bf16_sum2(seen, value);
		status = shmemdi_words_fetch(w, at, SHMEMDI_AMO_CAS, sum, seen, &old);
		if (status != SHMEMD_OK || old == seen)
			break;
		seen = old;
	}
	return status;
}

/* kind on a word, by NIC; its old value is not returned. */
SHMEMD_FN int shmemdi_words_send(const shmemdi_words_t *w, size_t at, uint32_t width, int kind,
				 uint64_t value)
{
	if (SHMEMDI_WITH_NIC && kind == SHMEMDI_AMO_ADDF)
		return shmemdi_nic_fetch(w->ref, w->call, w->sym + at, width, kind, value, 0)
			.status;
	return shmemdi_word_any(
		w->ref.ctx, shmemdi_target_by_nic(w->ref.ctx, w->ref.pe, w->ref.k),
		shmemdi_op(w->call, shmemd_thread(), w->sym + at, 0, width, w->ref.pe), kind, value,
		0);
}

SHMEMD_FN int shmemdi_words_add(const shmemdi_words_t *w, size_t at, uint32_t width)
{
	int kind = w->element == SHMEMD_BULK_F32 ? SHMEMDI_AMO_ADDF : SHMEMDI_AMO_ADD;
	uint64_t value;

	if (w->element == SHMEMD_BULK_F16 || w->element == SHMEMD_BULK_BF16)
		return shmemdi_words_add_halves(w, at);
	value = width == 8 ? shmemd_arch_ld_data_u64(w->from + at)
			   : shmemd_arch_ld_data_u32(w->from + at);
	if (!w->to)
		return shmemdi_words_send(w, at, width, kind, value);
	if (width == 8)
		shmemdi_p2p_red8(w->to + at, kind, value);
	else
		shmemdi_p2p_red4(w->to + at, kind, (uint32_t)value);
	return SHMEMD_OK;
}

/* In check builds: words aligned at the target and in the tile. */
SHMEMD_FN int shmemdi_words_check(const shmemdi_words_t *w, uint32_t width)
{
	if (w->nbytes == 0)
		return SHMEMD_OK;
	if (SHMEMDI_CHECKING && (uintptr_t)w->from % width)
		return shmemdi_record(w->ref.ctx, w->call, SHMEMD_ERR_UNALIGNED, -1, w->from, width,
				      0);
	return shmemdi_check_word(w->ref.ctx, w->call, w->sym, width);
}

/* An atomic for each word, by the threads of the group. */
SHMEMD_FN_CALL int shmemdi_words_add_all(shmemdi_words_t w, uint32_t rank, uint32_t size)
{
	uint32_t width = w.element == SHMEMD_BULK_U64 ? 8 : 4;
	int status = shmemdi_words_check(&w, width);
	size_t at;

	SHMEMD_ARCH_NO_UNROLL
	for (at = (size_t)rank * width; at < w.nbytes && status == SHMEMD_OK;
	     at += (size_t)size * width)
		status = shmemdi_words_add(&w, at, width);
	return status;
}

/* In every build an odd number of halves is refused: the last word would add the two bytes after
 * the tile to those after dst. The engine takes no such tile (shmemdi_bulk_is_aligned). The check
 * is here because in shmemdi_words_add_all it takes 4 more registers of add_tile_warp (regs.cu). */
SHMEMD_FN int shmemdi_add_plainly(const shmemd_ctx_t *ctx, shmemdi_op_t op, int element, char *base)
{
	shmemdi_words_t w = {{ctx->device_copy, op.pe, ctx->channel},
			     op.call,
			     0,
			     op.sym,
			     op.local,
			     op.nbytes,
			     element};

	if (op.nbytes % 4)
		return shmemdi_record(ctx, op.call, SHMEMD_ERR_BAD_ARGUMENT, -1,
				      (const void *)(uintptr_t)SHMEMD_MISTAKE_HALVES, op.nbytes / 2,
				      0);
	if (base)
		w.to = shmemdi_p2p_at(ctx, base, op.sym);
	else /* what this group stored to the words */
		shmemdi_fence_stores(ctx, ctx->flags, op.pe);
	return shmemdi_words_add_all(w, op.g.rank, op.g.size);
}

SHMEMD_FN int shmemdi_check_select_tile(const shmemd_ctx_t *ctx, shmemdi_op_t op, int element,
					char **base)
{
	int status = shmemdi_check_enum(ctx, op.call, element, SHMEMD_BULK_U64);

	if (status == SHMEMD_OK)
		status = shmemdi_check_select(ctx, op, base);
	if (status != SHMEMD_OK || op.nbytes == 0)
		return status;
	return shmemdi_select_amo(ctx, ctx->flags, op.call, op.sym, op.pe, base);
}

SHMEMD_FN_CALL void shmemdi_add_tile_any(const shmemd_ctx_t *device_copy, uint32_t k,
					 shmemdi_op_t op, int element)
{
	shmemd_ctx_t copy;
	const shmemd_ctx_t *ctx = shmemdi_on_channel(device_copy, k, &copy);
	char *base;
	int status = shmemdi_check_select_tile(ctx, op, element, &base);

	shmemdi_tile_written(op.g);
	if (status == SHMEMD_OK && !(base && shmemdi_bulk_takes_tile(op)))
		status = shmemdi_add_plainly(ctx, op, element, base);
	else if (status == SHMEMD_OK && op.g.rank == 0)
		shmemdi_bulk_add(shmemdi_p2p_at(ctx, base, op.sym), op.local, (uint32_t)op.nbytes,
				 element);
	shmemdi_tile_posted(op.g);
	shmemdi_latch(ctx, status);
}

SHMEMD_FN void shmemdi_add_tile(const shmemd_ctx_t *ctx, shmemdi_op_t op, int element)
{
	op.nbytes *= shmemdi_element_nbytes(element);
	if (!shmemdi_word_uses_stride(ctx, op, SHMEMDI_AMO_ADD) || !shmemdi_bulk_takes_tile(op)) {
		if (shmemdi_check_ctx(ctx, op.call) == SHMEMD_OK)
			shmemdi_add_tile_any(ctx->device_copy, ctx->channel, op, element);
		return;
	}
	shmemdi_tile_written(op.g);
	if (op.g.rank == 0)
		shmemdi_bulk_add(shmemdi_strided_at(ctx, op.sym, op.pe), op.local,
				 (uint32_t)op.nbytes, element);
	shmemdi_tile_posted(op.g);
}

#ifdef SHMEMD_TRACE
SHMEMDI_TRACED_VOID(shmemdi_put_bulk,
		    (const shmemd_ctx_t *ctx, shmemdi_op_t op, void *shared, size_t shared_nbytes),
		    (ctx, op, shared, shared_nbytes), op.call, op.g, op.pe, op.sym, op.nbytes,
		    shmemdi_trace_no_word())
#define shmemdi_put_bulk shmemdi_put_bulk_traced
SHMEMDI_TRACED_INT(shmemdi_get_bulk,
		   (const shmemd_ctx_t *ctx, shmemdi_op_t op, void *shared, size_t shared_nbytes),
		   (ctx, op, shared, shared_nbytes), op.call, op.g, op.pe, op.sym, op.nbytes,
		   shmemdi_trace_no_word())
#define shmemdi_get_bulk shmemdi_get_bulk_traced
SHMEMDI_TRACED_VOID(shmemdi_put_tile, (const shmemd_ctx_t *ctx, shmemdi_op_t op), (ctx, op),
		    op.call, op.g, op.pe, op.sym, op.nbytes, shmemdi_trace_no_word())
#define shmemdi_put_tile shmemdi_put_tile_traced
SHMEMDI_TRACED_VOID(shmemdi_add_tile, (const shmemd_ctx_t *ctx, shmemdi_op_t op, int element),
		    (ctx, op, element), op.call, op.g, op.pe, op.sym,
		    (op.nbytes * shmemdi_element_nbytes(element)), shmemdi_trace_no_word())
#define shmemdi_add_tile shmemdi_add_tile_traced
#endif

/* The leader has posted for the group, so it alone can wait. The group sync orders the accesses of
 * the other threads after its wait. */
SHMEMD_FN void shmemdi_bulk_wait_read(shmemd_group_t g, uint32_t n)
{
	if (SHMEMD_ARCH_HAS_BULK && g.rank == 0)
		shmemd_arch_bulk_wait_read(n);
	shmemd_group_sync(g);
}

SHMEMD_FN void shmemdi_bulk_wait(shmemd_group_t g)
{
	if (SHMEMD_ARCH_HAS_BULK && g.rank == 0)
		shmemd_arch_bulk_wait();
	shmemd_group_sync(g);
}

#endif
