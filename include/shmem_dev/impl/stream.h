/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The kernels that the calls of stream.h launch, and how the host fills and sizes them. */
#ifndef SHMEMD_IMPL_STREAM_H
#define SHMEMD_IMPL_STREAM_H

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

/* Bytes for each block, up to SHMEMDI_STREAM_BLOCKS blocks; beyond, each copies more. */
#define SHMEMDI_STREAM_SLICE ((size_t)65536)
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
 * of it, and do nothing if not: no signal is sent for data that were refused. */
SHMEMD_FN int shmemdi_stream_may_send(const shmemdi_stream_t *p, shmemd_group_t g SHMEMD_SITE)
{
	char *base;
	int status = shmemdi_check_select_put_signal(
		&p->ctx,
		shmemdi_op(SHMEMDI_CALLER(PUT_SIGNAL), g, p->dst, p->src, p->nbytes, p->pe),
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
	shmemdi_op_t op = shmemdi_op_word(SHMEMDI_CALLER(SIGNAL), p->sig, 8, p->pe);
	shmemdi_signal_t sig = shmemdi_signal(p->sig, p->value, p->op);
	char *base;
	int status = shmemdi_check_select_signal(&p->ctx, op, sig, &base);

	if (status == SHMEMD_OK)
		status = shmemdi_signal_behind(&p->ctx, op, sig, base);
	shmemdi_latch(&p->ctx, status);
}

/* After the kernel that has put the data. */
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

#if defined(__CUDACC__)
typedef void shmemdi_stream_kernel_t(const shmemdi_stream_t);

static inline int shmemdi_stream_load_one(shmemdi_stream_kernel_t *kernel)
{
	struct cudaFuncAttributes attributes;

	return shmemdi_cuda_returned(cudaFuncGetAttributes(&attributes, (const void *)kernel));
}
#else
typedef void shmemdi_stream_kernel_t(const void *);

static inline int shmemdi_stream_load_one(shmemdi_stream_kernel_t *kernel)
{
	(void)kernel;
	return 0;
}
#endif

/* Load all of them on the current device. */
static inline int shmemdi_stream_load(void)
{
	shmemdi_stream_kernel_t *const kernels[] = {
		shmemdi_stream_put,      shmemdi_stream_get,          shmemdi_stream_put_signal,
		shmemdi_stream_put_data, shmemdi_stream_fence_signal, shmemdi_stream_signal,
		shmemdi_stream_wait,     shmemdi_stream_quiet,        shmemdi_stream_sync,
		shmemdi_stream_barrier,
	};
	int status = 0;
	size_t i;

	for (i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && status == 0; i++)
		status = shmemdi_stream_load_one(kernels[i]);
	return status;
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

/* Threads of a block for a transfer: a warp for each 512 bytes of all of it, at least one, at most
 * SHMEMDI_STREAM_THREADS threads. */
static inline uint32_t shmemdi_stream_threads(size_t nbytes)
{
	size_t n = (nbytes + 511) / 512 * 32;

	return n == 0 ? 32 : n < SHMEMDI_STREAM_THREADS ? (uint32_t)n : SHMEMDI_STREAM_THREADS;
}

/* Threads for a sync or barrier: one for each member, rounded up to whole warps, 256 at most. */
static inline uint32_t shmemdi_stream_sync_threads(const shmemd_ctx_t *ctx)
{
	uint32_t n = ((uint32_t)ctx->n_pes + 31) / 32 * 32;

	return n < 256 ? n : 256;
}

#endif

#endif
