/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Calls that the host puts on a stream: each launches a small kernel of the unit that includes this
 * file. Optional; not part of shmem_dev.h.
 *
 * A call is executed after what the stream has before, and covers it: a put reads what earlier
 * kernels wrote, a signal is ordered after what they sent to its PE (by NIC: on the context's
 * channel), a barrier completes what they sent on the context's channel. On the host it
 * allocates nothing and waits for nothing once the kernels are loaded (shmemd_stream_prepare), so
 * it may be captured into a CUDA graph. The graph keeps the arguments and the context by value. So
 * each replay sends or awaits the same `value`: count signals with ADD, and reset the word that is
 * waited for before the sender may signal again. Do not replay it after the team was destroyed.
 *
 * Rules that hold for all of them
 *   Callers  host; ctx, from shmemh_ctx_get, may be gone when the call returns.
 *   Returns  0, or as shmemd_launch if the kernel cannot be launched. In every build also, with
 *            nothing launched: ERR_BAD_CONTEXT (ctx was not filled), ERR_BAD_PE,
 *            ERR_BAD_ARGUMENT (an enumerator outside its list).
 *   Errors   of the operation, which runs later, are in the error record, and latched where the
 *            device function latches, those of getmem too: call shmemh_error_get after the stream
 *            is synchronised.
 * Waits of kernels on different streams of one GPU for each other need both to be resident. */
#ifndef SHMEMD_STREAM_H
#define SHMEMD_STREAM_H

#include <shmem_dev/launch.h>
#include <shmem_dev/order.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/sync.h>

#if !defined(__CUDACC_RTC__)

/* What the kernels are given. */
typedef struct shmemdi_stream {
	shmemd_ctx_t ctx;
	void *dst;
	const void *src;
	size_t nbytes;
	uint64_t *sig;
	uint64_t value;
	int op; /* shmemd_signal, shmemd_cmp */
	int pe;
} shmemdi_stream_t;

#define SHMEMDI_STREAM_SLICE ((size_t)65536) /* bytes that a block copies, if few do */
#define SHMEMDI_STREAM_BLOCKS 16u
#define SHMEMDI_STREAM_THREADS 1024u

/* This block's slice of a transfer. */
SHMEMD_FN size_t shmemdi_stream_slice(const shmemdi_stream_t *p, size_t *nbytes)
{
	size_t n_blocks = shmemd_n_blocks(), each, at;

	each = ((p->nbytes + n_blocks - 1) / n_blocks + 15) & ~(size_t)15;
	at = each * shmemd_block_index();
	*nbytes = at >= p->nbytes ? 0 : p->nbytes - at < each ? p->nbytes - at : each;
	return at;
}

static SHMEMD_KERNEL(shmemdi_stream_put, shmemdi_stream_t, p)
{
	size_t nbytes, at = shmemdi_stream_slice(&p, &nbytes);

	shmemd_putmem_block(&p.ctx, (char *)p.dst + at, (const char *)p.src + at, nbytes, p.pe);
}

static SHMEMD_KERNEL(shmemdi_stream_get, shmemdi_stream_t, p)
{
	size_t nbytes, at = shmemdi_stream_slice(&p, &nbytes);

	shmemdi_latch(&p.ctx, shmemd_getmem_block(&p.ctx, (char *)p.dst + at,
						  (const char *)p.src + at, nbytes, p.pe));
}

static SHMEMD_KERNEL(shmemdi_stream_put_signal, shmemdi_stream_t, p)
{
	shmemd_putmem_signal_block(&p.ctx, p.dst, p.src, p.nbytes, p.sig, p.value, p.op, p.pe);
}

/* May the data and the signal of a larger put_signal be sent? Both of its kernels ask for the whole
 * of it, and do nothing if not: no signal tells of data that were refused. */
SHMEMD_FN int shmemdi_stream_may_send(const shmemdi_stream_t *p, shmemd_group_t g SHMEMD_SITE)
{
	char *base;
	int status = shmemdi_reach_put_signal(
		&p->ctx, shmemdi_op(SHMEMDI_CALL(PUT_SIGNAL), g, p->dst, p->src, p->nbytes, p->pe),
		shmemdi_signal(p->sig, p->value, p->op), &base);

	shmemdi_latch(&p->ctx, status);
	return status == SHMEMD_OK;
}

static SHMEMD_KERNEL(shmemdi_stream_put_data, shmemdi_stream_t, p)
{
	size_t nbytes, at = shmemdi_stream_slice(&p, &nbytes);

	if (shmemdi_stream_may_send(&p, shmemd_block()))
		shmemd_putmem_block(&p.ctx, (char *)p.dst + at, (const char *)p.src + at, nbytes,
				    p.pe);
}

/* Send the signal, ordered after what earlier kernels of the stream have sent to its PE. */
SHMEMD_FN void shmemdi_stream_send_signal(const shmemdi_stream_t *p SHMEMD_SITE)
{
	shmemdi_op_t op = shmemdi_op_word(SHMEMDI_CALL(SIGNAL), p->sig, 8, p->pe);
	shmemdi_signal_t sig = shmemdi_signal(p->sig, p->value, p->op);
	char *base;
	int status = shmemdi_reach_signal(&p->ctx, op, sig, &base);

	if (status == SHMEMD_OK)
		status = shmemdi_signal_behind(&p->ctx, op, sig, base);
	shmemdi_latch(&p->ctx, status);
}

/* Behind the kernel that has put the data. */
static SHMEMD_KERNEL(shmemdi_stream_fence_signal, shmemdi_stream_t, p)
{
	if (!shmemdi_stream_may_send(&p, shmemd_thread()))
		return;
	shmemdi_stream_send_signal(&p);
}

static SHMEMD_KERNEL(shmemdi_stream_signal, shmemdi_stream_t, p)
{
	shmemdi_stream_send_signal(&p);
}

static SHMEMD_KERNEL(shmemdi_stream_wait, shmemdi_stream_t, p)
{
	shmemd_signal_wait_until(&p.ctx, p.sig, p.op, p.value);
}

static SHMEMD_KERNEL(shmemdi_stream_quiet, shmemdi_stream_t, p)
{
	shmemd_quiet(&p.ctx);
}

static SHMEMD_KERNEL(shmemdi_stream_sync, shmemdi_stream_t, p)
{
	shmemd_sync_block(&p.ctx);
}

static SHMEMD_KERNEL(shmemdi_stream_barrier, shmemdi_stream_t, p)
{
	shmemd_barrier_block(&p.ctx);
}

/* Load the kernels of this unit on the current device. CUDA 12.2 and later load a kernel at its
 * first launch, unless the environment has CUDA_MODULE_LOADING=EAGER; that may wait until all
 * kernels of the GPU have ended, also one that waits for what the new kernel would do.
 *
 * Callers  host, once for each GPU and each unit that makes these calls, before it launches the
 *          first kernel that waits.
 * Returns  0, or as shmemd_launch. On CPUs there is nothing to load.
 * Source   CUDA C++ Programming Guide, Lazy Loading: cudaFuncGetAttributes loads a kernel.
 */
static inline int shmemd_stream_prepare(void)
{
#if defined(__CUDACC__)
	const void *const kernels[] = {
		(const void *)shmemdi_stream_put,          (const void *)shmemdi_stream_get,
		(const void *)shmemdi_stream_put_signal,   (const void *)shmemdi_stream_put_data,
		(const void *)shmemdi_stream_fence_signal, (const void *)shmemdi_stream_signal,
		(const void *)shmemdi_stream_wait,         (const void *)shmemdi_stream_quiet,
		(const void *)shmemdi_stream_sync,         (const void *)shmemdi_stream_barrier,
	};
	struct cudaFuncAttributes attributes;
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && status == 0; i++)
		status = shmemdi_cuda_returned(cudaFuncGetAttributes(&attributes, kernels[i]));
	return status;
#else
	return 0;
#endif
}

/* Checks of the host, which cost nothing beside a launch. */
static inline int shmemdi_stream_check(const shmemd_ctx_t *ctx, int pe, int op, int last_op)
{
	if (ctx->version >> 16 != SHMEMD_ABI_MAJOR || !ctx->error)
		return SHMEMD_ERR_BAD_CONTEXT;
	if (pe < 0 || pe >= ctx->n_pes)
		return SHMEMD_ERR_BAD_PE;
	return op < 0 || op > last_op ? SHMEMD_ERR_BAD_ARGUMENT : SHMEMD_OK;
}

static inline shmemdi_stream_t shmemdi_stream_params(const shmemd_ctx_t *ctx, void *dst,
						     const void *src, size_t nbytes, int pe)
{
	shmemdi_stream_t p = {*ctx, dst, src, nbytes, 0, 0, 0, pe};
	return p;
}

static inline uint32_t shmemdi_stream_blocks(size_t nbytes)
{
	size_t n = (nbytes + SHMEMDI_STREAM_SLICE - 1) / SHMEMDI_STREAM_SLICE;

	return n == 0 ? 1 : n < SHMEMDI_STREAM_BLOCKS ? (uint32_t)n : SHMEMDI_STREAM_BLOCKS;
}

/* Threads for a transfer: whole warps, one for each 512 bytes. */
static inline uint32_t shmemdi_stream_threads(size_t nbytes)
{
	size_t n = (nbytes + 511) / 512 * 32;

	return n == 0 ? 32 : n < SHMEMDI_STREAM_THREADS ? (uint32_t)n : SHMEMDI_STREAM_THREADS;
}

/* Write nbytes at src, on this PE, to dst on PE pe.
 *
 * dst, src, nbytes, pe  as shmemd_putmem, src in memory that kernels read.
 * Returns  see the top. When the call has run, src is reusable; complete at pe after quiet or
 *          barrier.
 * Source   NVSHMEM nvshmemx_putmem_on_stream.
 */
static inline int shmemd_putmem_on_stream(const shmemd_ctx_t *ctx, void *dst, const void *src,
					  size_t nbytes, int pe, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, dst, src, nbytes, pe);
	int status = shmemdi_stream_check(ctx, pe, 0, 0);

	return status ? status
		      : shmemd_launch(shmemdi_stream_put, shmemdi_stream_blocks(nbytes),
				      shmemdi_stream_threads(nbytes), 0, stream, p);
}

/* Read nbytes at src on PE pe into dst on this PE.
 *
 * dst, src, nbytes, pe  as shmemd_getmem, dst in memory that kernels write.
 * Returns  see the top. When the call has run without error, dst has the data.
 * Source   NVSHMEM nvshmemx_getmem_on_stream.
 */
static inline int shmemd_getmem_on_stream(const shmemd_ctx_t *ctx, void *dst, const void *src,
					  size_t nbytes, int pe, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, dst, src, nbytes, pe);
	int status = shmemdi_stream_check(ctx, pe, 0, 0);

	return status ? status
		      : shmemd_launch(shmemdi_stream_get, shmemdi_stream_blocks(nbytes),
				      shmemdi_stream_threads(nbytes), 0, stream, p);
}

/* Update a signal word on PE pe, ordered after what the stream has sent to pe before; no fence is
 * needed. Not sent if the context's channel to pe has failed.
 *
 * sig, value, op, pe  as shmemd_signal_op.
 * Returns  see the top.
 * Source   NVSHMEM nvshmemx_signal_op_on_stream.
 */
static inline int shmemd_signal_op_on_stream(const shmemd_ctx_t *ctx, uint64_t *sig, uint64_t value,
					     int op, int pe, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, pe);
	int status = shmemdi_stream_check(ctx, pe, op, SHMEMD_SIGNAL_ADD);

	p.sig = sig;
	p.value = value;
	p.op = op;
	return status ? status : shmemd_launch(shmemdi_stream_signal, 1, 1, 0, stream, p);
}

/* Write as shmemd_putmem_on_stream, and update a signal word there after the data. Larger transfers
 * are two kernels. No signal is sent if the data were refused, or if the context's channel to pe
 * has failed.
 *
 * dst, src, nbytes, sig, value, op, pe  as shmemd_putmem_signal.
 * Returns  see the top.
 * Source   NVSHMEM nvshmemx_putmem_signal_on_stream.
 */
static inline int shmemd_putmem_signal_on_stream(const shmemd_ctx_t *ctx, void *dst,
						 const void *src, size_t nbytes, uint64_t *sig,
						 uint64_t value, int op, int pe,
						 shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, dst, src, nbytes, pe);
	int status = shmemdi_stream_check(ctx, pe, op, SHMEMD_SIGNAL_ADD);

	p.sig = sig;
	p.value = value;
	p.op = op;
	if (status == 0 && nbytes <= SHMEMDI_STREAM_SLICE)
		return shmemd_launch(shmemdi_stream_put_signal, 1, shmemdi_stream_threads(nbytes),
				     0, stream, p);
	if (status == 0)
		status = shmemd_launch(shmemdi_stream_put_data, shmemdi_stream_blocks(nbytes),
				       SHMEMDI_STREAM_THREADS, 0, stream, p);
	return status ? status : shmemd_launch(shmemdi_stream_fence_signal, 1, 1, 0, stream, p);
}

/* Let what follows on the stream wait until a signal word of this PE satisfies a comparison.
 *
 * sig, cmp, value  as shmemd_signal_wait_until.
 * Returns  see the top. The wait ends like that of the device function, also without success: then
 *          the record tells, and the stream goes on.
 * Source   NVSHMEM nvshmemx_signal_wait_until_on_stream.
 */
static inline int shmemd_signal_wait_until_on_stream(const shmemd_ctx_t *ctx, uint64_t *sig,
						     int cmp, uint64_t value,
						     shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, 0);
	int status = shmemdi_stream_check(ctx, 0, cmp, SHMEMD_CMP_LE);

	p.sig = sig;
	p.value = value;
	p.op = cmp;
	return status ? status : shmemd_launch(shmemdi_stream_wait, 1, 1, 0, stream, p);
}

/* Complete what this PE sent on the context's channel before.
 *
 * Returns  see the top.
 * Source   NVSHMEM nvshmemx_quiet_on_stream.
 */
static inline int shmemd_quiet_on_stream(const shmemd_ctx_t *ctx, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, 0);
	int status = shmemdi_stream_check(ctx, 0, 0, 0);

	return status ? status : shmemd_launch(shmemdi_stream_quiet, 1, 1, 0, stream, p);
}

/* A thread for each member, up to 256. */
static inline uint32_t shmemdi_stream_members(const shmemd_ctx_t *ctx)
{
	uint32_t n = ((uint32_t)ctx->n_pes + 31) / 32 * 32;

	return n < 256 ? n : 256;
}

/* Let what follows on the stream wait until all PEs of the context's team have come here.
 *
 * Callers  host of each PE of the team, in the same order as other syncs and barriers of it.
 * Returns  see the top.
 * Source   NVSHMEM nvshmemx_sync_on_stream.
 */
static inline int shmemd_sync_on_stream(const shmemd_ctx_t *ctx, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, 0);
	int status = shmemdi_stream_check(ctx, 0, 0, 0);

	return status ? status
		      : shmemd_launch(shmemdi_stream_sync, 1, shmemdi_stream_members(ctx), 0,
				      stream, p);
}

/* quiet, then sync: what all PEs sent on the context's channel before is complete and visible to
 * what follows on the stream.
 *
 * Callers  as shmemd_sync_on_stream.
 * Returns  see the top.
 * Source   NVSHMEM nvshmemx_barrier_on_stream.
 */
static inline int shmemd_barrier_on_stream(const shmemd_ctx_t *ctx, shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, 0);
	int status = shmemdi_stream_check(ctx, 0, 0, 0);

	return status ? status
		      : shmemd_launch(shmemdi_stream_barrier, 1, shmemdi_stream_members(ctx), 0,
				      stream, p);
}

#endif

#endif
