/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transfers by the bulk-copy engine of sm_90 and later (TMA; PTX cp.async.bulk), which moves data
 * between the shared memory of a block and mapped memory while one thread drives it: put and get of
 * memory through buffers in shared memory, and puts of tiles that a kernel has computed there,
 * which may also be added to what the target holds. Included on request: <shmem_dev/bulk.h>.
 *
 * Every call works everywhere. Where the engine cannot do it (before sm_90; with addresses or sizes
 * that are no multiples of 16, or memory of another kind than the call names) the calling threads
 * copy or add themselves, so that a call by a warp or a block is faster there than one by a thread.
 * Additions that go by NIC (in a team without SHMEMD_CTX_SM_ATOMICS) are also made by all calling
 * threads. A put to a PE behind a NIC is sent by the thread of rank 0: a tile of shared memory
 * within WQEs, 28 bytes in each: 586 of them for 16 KiB. A kernel that often sends to such PEs
 * copies the tile into the symmetric heap instead, and calls shmemd_putmem_nbi.
 *
 * A tile takes these steps. The same thread, warp, block or group takes all of them:
 *
 *	shmemd_put_tile_bulk_block(ctx, dst, tile, nbytes, pe);
 *	shmemd_bulk_wait_read_block(0);		now the tile may be written again
 *	shmemd_bulk_wait_block();		now the data count as stored by this block
 *	shmemd_fence_leader_block(ctx);		as after an ordinary put: fence and signal,
 *	if (leader) shmemd_signal_op(...);	or quiet
 *
 * Until shmemd_bulk_wait, no fence, quiet or signal covers the tile. A block must not end before
 * wait_read, because its shared memory ends with it. A receiver needs nothing more than for a put.
 * If it reads the data by the engine of its own GPU, with code of its own, it calls
 * shmemd_bulk_fence after its wait; shmemd_putmem_bulk and shmemd_getmem_bulk do that
 * themselves.
 *
 * The emulator has an engine, too, which copies from and to memory of any kind. So conditions below
 * that a memory is shared or global do not apply there. If a tile in other memory, which on a GPU
 * the threads put or add, lacks its shmemd_bulk_wait, the emulator shows that. It does not show the
 * mistake of adding a tile in shared memory and one in other memory to one element at once. */
#ifndef SHMEMD_BULK_H
#define SHMEMD_BULK_H

#include <shmem_dev/impl/bulk.h>

/* An element of a buffer or tile in shared memory, aligned as the engine needs it, for instance
 * SHMEMD_SHARED(shmemd_bulk_t, 2048, buffer): 32 KiB. CUDA gives a block at most 48 KiB that way;
 * more is `extern __shared__ shmemd_bulk_t buffer[]`, its size passed to shmemd_launch, after
 * cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, size). */
typedef shmemd_v16_t shmemd_bulk_t;

/* As shmemd_putmem, by the engine, through shared memory: one thread fills and empties the buffers
 * in it while the others of the group wait. For large transfers by few threads.
 *
 * Callers  one thread.
 * dst, src, nbytes, pe  as shmemd_putmem. By the engine if pe is mapped, dst, src and nbytes are
 *          multiples of 16, and src is global memory (not shared, not local).
 * shared   memory of the block, its address a multiple of 16, which no other call or code uses from
 *          a group sync before the call until it returns. Its contents are undefined afterwards.
 * shared_nbytes  its size. With 64 KiB an SM reaches its highest rate over a link; with less than
 *          192 bytes the engine is not used.
 * Returns  as shmemd_putmem: src and shared are reusable, in all calling threads. The data count as
 *          stored by this thread: visible at pe after quiet, or with a signal after a fence.
 * Errors   those of shmemd_putmem.
 * Source   PTX ISA cp.async.bulk; NVSHMEM uses it in putmem with NVSHMEM_TMA_POLICY=ENABLE.
 */
SHMEMD_FN void shmemd_putmem_bulk(const shmemd_ctx_t *ctx, void *dst, const void *src,
				  size_t nbytes, int pe, void *shared,
				  size_t shared_nbytes SHMEMD_SITE)
{
	shmemdi_put_bulk(ctx,
			 shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_thread(), dst, src, nbytes, pe),
			 shared, shared_nbytes);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_putmem_bulk_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nbytes, int pe, void *shared,
				       size_t shared_nbytes SHMEMD_SITE)
{
	shmemdi_put_bulk(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(), dst, src, nbytes, pe),
			 shared, shared_nbytes);
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_putmem_bulk_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
					size_t nbytes, int pe, void *shared,
					size_t shared_nbytes SHMEMD_SITE)
{
	shmemdi_put_bulk(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_block(), dst, src, nbytes, pe),
			 shared, shared_nbytes);
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_putmem_bulk_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					const void *src, size_t nbytes, int pe, void *shared,
					size_t shared_nbytes SHMEMD_SITE)
{
	shmemdi_put_bulk(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), g, dst, src, nbytes, pe), shared,
			 shared_nbytes);
}

/* As shmemd_getmem, by the engine, through shared memory.
 *
 * Callers  one thread.
 * dst, src, nbytes, pe  as shmemd_getmem. By the engine if pe is mapped, dst, src and nbytes are
 *          multiples of 16, and dst is global memory (not shared, not local).
 * shared, shared_nbytes  as shmemd_putmem_bulk.
 * Returns  SHMEMD_OK when all calling threads see the data in dst.
 * Errors   those of shmemd_getmem.
 * Source   PTX ISA cp.async.bulk.
 */
SHMEMD_FN int shmemd_getmem_bulk(const shmemd_ctx_t *ctx, void *dst, const void *src, size_t nbytes,
				 int pe, void *shared, size_t shared_nbytes SHMEMD_SITE)
{
	return shmemdi_get_bulk(
		ctx, shmemdi_op(SHMEMDI_CALLER(GET), shmemd_thread(), src, dst, nbytes, pe), shared,
		shared_nbytes);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN int shmemd_getmem_bulk_warp(const shmemd_ctx_t *ctx, void *dst, const void *src,
				      size_t nbytes, int pe, void *shared,
				      size_t shared_nbytes SHMEMD_SITE)
{
	return shmemdi_get_bulk(
		ctx, shmemdi_op(SHMEMDI_CALLER(GET), shmemd_warp(), src, dst, nbytes, pe), shared,
		shared_nbytes);
}

/* As above, called by all threads of a block. */
SHMEMD_FN int shmemd_getmem_bulk_block(const shmemd_ctx_t *ctx, void *dst, const void *src,
				       size_t nbytes, int pe, void *shared,
				       size_t shared_nbytes SHMEMD_SITE)
{
	return shmemdi_get_bulk(
		ctx, shmemdi_op(SHMEMDI_CALLER(GET), shmemd_block(), src, dst, nbytes, pe), shared,
		shared_nbytes);
}

/* As above, called by all threads of group g. */
SHMEMD_FN int shmemd_getmem_bulk_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
				       const void *src, size_t nbytes, int pe, void *shared,
				       size_t shared_nbytes SHMEMD_SITE)
{
	return shmemdi_get_bulk(ctx, shmemdi_op(SHMEMDI_CALLER(GET), g, src, dst, nbytes, pe),
				shared, shared_nbytes);
}

/* Write a tile, nbytes contiguous bytes of shared memory, to dst on PE pe, contiguous as well: no
 * tensor map, no strides. By the engine the call does not wait; otherwise it is a put that returns
 * when the tile is reusable. To a PE behind a NIC that takes a round trip if the tile is in the
 * symmetric heap and has more than SHMEMH_IB_INLINE bytes.
 *
 * Callers  one thread.
 * dst      symmetric address; [dst, dst + nbytes) inside one allocation. By the engine if pe is
 *          mapped, tile is in shared memory, nbytes is not 0, and dst, tile and nbytes are
 *          multiples of 16.
 * tile     shared memory of the block; other memory, too: the same waits are needed. Written by
 *          the calling threads, or by others, each of which called shmemd_bulk_fence after writing
 *          and then synchronised with the callers.
 * nbytes   0 or more.
 * pe       0 .. n_pes - 1 of the context's team; this PE too.
 * Returns  when posted. The tile is reusable after shmemd_bulk_wait_read; the data count as stored
 *          by this thread after shmemd_bulk_wait. Until then the tile is unordered with other tiles
 *          and with later stores. It is ordered after what the calling threads stored at dst
 *          before, and after what a signal or a wait had made visible to them. It is ordered after
 *          their atomics at dst, which may go by NIC to a mapped PE, only if one of them calls
 *          shmemd_fence in between.
 * Errors   latched, those of shmemd_putmem.
 * Source   PTX ISA cp.async.bulk; the epilogue of a GEMM that sends its tiles.
 */
SHMEMD_FN void shmemd_put_tile_bulk(const shmemd_ctx_t *ctx, void *dst, const void *tile,
				    size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_thread(), dst, tile, nbytes, pe));
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_put_tile_bulk_warp(const shmemd_ctx_t *ctx, void *dst, const void *tile,
					 size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_warp(), dst, tile, nbytes, pe));
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_put_tile_bulk_block(const shmemd_ctx_t *ctx, void *dst, const void *tile,
					  size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(PUT), shmemd_block(), dst, tile, nbytes, pe));
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_put_tile_bulk_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					  const void *tile, size_t nbytes, int pe SHMEMD_SITE)
{
	shmemdi_put_tile(ctx, shmemdi_op(SHMEMDI_CALLER(PUT), g, dst, tile, nbytes, pe));
}

/* Add the elements of a tile in shared memory to those at dst on PE pe; do not wait. Floating-point
 * sums are rounded to nearest even at each addition. Subnormal F32 operands and sums may be flushed
 * to zero, as by atomics of NVIDIA GPUs (amo.h). F16 and BF16 keep subnormals; BF16 without the
 * engine only if the program is not compiled with -ftz=true, which -use_fast_math contains.
 *
 * PTX makes the engine's additions atomic in the scope of one GPU alone (cp.reduce.async.bulk:
 * .relaxed.gpu). It promises nothing between them and atomics of threads, which use another proxy
 * (and, for F16 and BF16, words of two elements). So the PEs that add to one element do so one
 * after another, each synchronised with the one before. Any number of blocks and tiles of one PE
 * may add to it at once if all of these tiles go by the engine or none of them does (see dst), with
 * the same type of element. A tile that goes the other way is added after shmemd_bulk_wait and a
 * synchronisation. No thread reads the element meanwhile, or changes it by other operations.
 *
 * Callers  one thread.
 * dst      symmetric address, a multiple of 4, or of 8 for U64. By the engine if the team has
 *          SHMEMD_CTX_SM_ATOMICS (never with a member that is not mapped), tile is in shared
 *          memory, nelems is not 0, and dst, tile and the tile's bytes are multiples of 16.
 * tile     as shmemd_put_tile_bulk; aligned as dst.
 * nelems   elements, 0 or more; an even number of F16 and BF16.
 * element  SHMEMD_BULK_F32, F16, BF16, U32 or U64; best a constant.
 * pe       0 .. n_pes - 1 of the context's team; this PE too.
 * Returns  when posted, as shmemd_put_tile_bulk. Where the engine cannot do it each thread adds
 *          words by atomics: by NIC those of U32 and U64 are posted, a word each; F32, F16 and
 *          BF16, which no NIC adds, take two round trips for each word, by compare-and-swap.
 * Errors   latched, those of shmemd_atomic_add_u32 (amo.h), and by NIC for F32, F16 and BF16 those
 *          of the fetching atomics, also ERR_TIMEOUT and ERR_AMBIGUOUS; some words may have been
 *          added then. ERR_BAD_ARGUMENT: an odd number of F16 or BF16; nothing was added. Check
 *          builds: also ERR_BAD_ARGUMENT for element, and ERR_UNALIGNED for dst and tile.
 * Source   PTX ISA cp.reduce.async.bulk; the epilogue of a GEMM with reduce-scatter.
 */
SHMEMD_FN void shmemd_add_tile_bulk(const shmemd_ctx_t *ctx, void *dst, const void *tile,
				    size_t nelems, int element, int pe SHMEMD_SITE)
{
	shmemdi_add_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(ATOMIC), shmemd_thread(), dst, tile, nelems, pe),
			 element);
}

/* As above, called by all 32 threads of a warp, converged, with equal arguments. */
SHMEMD_FN void shmemd_add_tile_bulk_warp(const shmemd_ctx_t *ctx, void *dst, const void *tile,
					 size_t nelems, int element, int pe SHMEMD_SITE)
{
	shmemdi_add_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(ATOMIC), shmemd_warp(), dst, tile, nelems, pe),
			 element);
}

/* As above, called by all threads of a block. */
SHMEMD_FN void shmemd_add_tile_bulk_block(const shmemd_ctx_t *ctx, void *dst, const void *tile,
					  size_t nelems, int element, int pe SHMEMD_SITE)
{
	shmemdi_add_tile(ctx,
			 shmemdi_op(SHMEMDI_CALLER(ATOMIC), shmemd_block(), dst, tile, nelems, pe),
			 element);
}

/* As above, called by all threads of group g. */
SHMEMD_FN void shmemd_add_tile_bulk_group(const shmemd_ctx_t *ctx, shmemd_group_t g, void *dst,
					  const void *tile, size_t nelems, int element,
					  int pe SHMEMD_SITE)
{
	shmemdi_add_tile(ctx, shmemdi_op(SHMEMDI_CALLER(ATOMIC), g, dst, tile, nelems, pe),
			 element);
}

/* Order this thread's accesses to shared and mapped memory before those that the engine makes for
 * this thread, or for one that synchronises with it afterwards (fence.proxy.async.shared::cta and
 * .global).
 *
 * Callers  each thread that writes to a tile and does not itself take part in posting it, after it
 *          wrote and before it synchronises with the threads that post. Those need not call it: the
 *          functions that post order the accesses of their own threads. Also each thread that uses
 *          the engine by code of its own, after the wait or sync that announced the data.
 */
SHMEMD_FN void shmemd_bulk_fence(void)
{
	shmemd_arch_fence_bulk_shared();
	shmemd_arch_fence_bulk_global();
}

/* Wait until tiles have been read and may be written again (cp.async.bulk.wait_group.read).
 *
 * Callers  the thread that posted them.
 * n        0 .. 3: wait for all but the last n tiles. Every tile counts, by the engine or not, also
 *          an empty or a refused one, unless a check build refused its context. Each tile that
 *          counts is one bulk group of the thread in the sense of PTX. A thread that also commits
 *          bulk groups of its own counts them, too, here and in its own cp.async.bulk.wait_group.
 */
SHMEMD_FN void shmemd_bulk_wait_read(uint32_t n)
{
	shmemdi_bulk_wait_read(shmemd_thread(), n);
}

/* As above, called by all 32 threads of the warp that posted. */
SHMEMD_FN void shmemd_bulk_wait_read_warp(uint32_t n)
{
	shmemdi_bulk_wait_read(shmemd_warp(), n);
}

/* As above, called by all threads of the block that posted. */
SHMEMD_FN void shmemd_bulk_wait_read_block(uint32_t n)
{
	shmemdi_bulk_wait_read(shmemd_block(), n);
}

/* As above, called by all threads of the group that posted. */
SHMEMD_FN void shmemd_bulk_wait_read_group(shmemd_group_t g, uint32_t n)
{
	shmemdi_bulk_wait_read(g, n);
}

/* Wait until all tiles that were posted are written or added at their targets, and visible to this
 * thread (cp.async.bulk.wait_group). From then on they count as its own stores and atomics: fence,
 * quiet, put_signal and barrier cover them. This does not wait for what a NIC carries; quiet does.
 *
 * Callers  the thread that posted them.
 */
SHMEMD_FN void shmemd_bulk_wait(void)
{
	shmemdi_bulk_wait(shmemd_thread());
}

/* As above, called by all 32 threads of the warp that posted. */
SHMEMD_FN void shmemd_bulk_wait_warp(void)
{
	shmemdi_bulk_wait(shmemd_warp());
}

/* As above, called by all threads of the block that posted. */
SHMEMD_FN void shmemd_bulk_wait_block(void)
{
	shmemdi_bulk_wait(shmemd_block());
}

/* As above, called by all threads of the group that posted. */
SHMEMD_FN void shmemd_bulk_wait_group(shmemd_group_t g)
{
	shmemdi_bulk_wait(g);
}

#endif
