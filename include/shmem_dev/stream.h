/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Calls that the host puts on a stream: each launches a kernel, or two, of the unit that includes
 * this file. Optional; not part of shmem_dev.h.
 *
 * A call is executed after the earlier work of its stream, and covers it: a put reads what earlier
 * kernels wrote, a signal is ordered after what they sent to its PE (by NIC: on the context's
 * channel), a barrier completes what they sent (by NIC: on the context's channel). On the host it
 * allocates nothing and waits for nothing once the kernels are loaded (shmemd_stream_prepare), so
 * it may be captured into a CUDA graph. The graph keeps the arguments and the context by value. So
 * each replay sends or awaits the same `value`: count signals with ADD, and reset the word that is
 * waited for before the sender may signal again. Do not replay it after the team was destroyed.
 *
 * Rules that hold for all of them
 *   Callers  host; ctx, from shmemh_ctx_get, is copied and not needed after the call.
 *   Returns  0, or as shmemd_launch if the kernel cannot be launched. In every build also, with
 *            nothing launched: ERR_BAD_CONTEXT (ctx was not filled), ERR_BAD_PE,
 *            ERR_BAD_ARGUMENT (an enumerator outside its list).
 *   Errors   of the operation, which runs later, are in the error record, and latched where the
 *            device function latches, those of getmem too: call shmemh_error_get after the stream
 *            is synchronised.
 * Kernels on different streams of one GPU that wait for each other must both be resident. */
#ifndef SHMEMD_STREAM_H
#define SHMEMD_STREAM_H

#include <shmem_dev/impl/stream.h>

#if !defined(__CUDACC_RTC__)

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
	return shmemdi_stream_load();
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
 * needed. Not sent if it goes by a channel that has failed, or if what has to be completed before
 * it (SHMEMD_CTX_MIXED_TRANSPORT) is not completed.
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

/* Write as shmemd_putmem_on_stream, and update a signal word there after the data. Transfers of
 * more than 64 KiB take two kernels. No signal is sent if the data were refused, if it goes by a
 * channel that has failed, or if what has to be completed before it (SHMEMD_CTX_MIXED_TRANSPORT)
 * is not completed.
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
 *          the error record has the status, and the stream goes on.
 * Source   NVSHMEM nvshmemx_signal_wait_until_on_stream.
 */
static inline int shmemd_signal_wait_until_on_stream(const shmemd_ctx_t *ctx, const uint64_t *sig,
						     int cmp, uint64_t value,
						     shmemd_stream_t stream)
{
	shmemdi_stream_t p = shmemdi_stream_params(ctx, 0, 0, 0, 0);
	int status = shmemdi_stream_check(ctx, 0, cmp, SHMEMD_CMP_LE);

	p.sig = (uint64_t *)(uintptr_t)sig;
	p.value = value;
	p.op = cmp;
	return status ? status : shmemd_launch(shmemdi_stream_wait, 1, 1, 0, stream, p);
}

/* Complete what the stream has sent before; by NIC, on the context's channel.
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

/* Let what follows on the stream wait until this call has run on all PEs of the context's team.
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
		      : shmemd_launch(shmemdi_stream_sync, 1, shmemdi_stream_sync_threads(ctx), 0,
				      stream, p);
}

/* quiet, then sync: what the streams of all PEs sent before (by NIC: on the context's channel) is
 * complete and visible to what follows on the stream.
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
		      : shmemd_launch(shmemdi_stream_barrier, 1, shmemdi_stream_sync_threads(ctx),
				      0, stream, p);
}

#endif

#endif
