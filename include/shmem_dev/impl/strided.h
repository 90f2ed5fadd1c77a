/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Elements that lie apart in memory. In mapped memory the threads of the group copy them, each
 * thread whole ones. By NIC the lanes of the group's first warp post one or more work requests for
 * each: those that post together share a reservation and a doorbell. Elements without gaps are one
 * put or get. */
#ifndef SHMEMD_IMPL_STRIDED_H
#define SHMEMD_IMPL_STRIDED_H

#include <shmem_dev/impl/xport.h>
#include <shmem_dev/impl/trace.h>

/* The parts of shmemdi_strided: functions of their own in check builds. With the checks inline,
 * ptxas 13.0 refilled a register of shmemdi_strided of which it had spilled only a part
 * (tests/gpu/spills.py). */
#ifdef SHMEMD_CHECK
#define SHMEMD_FN_STRIDED SHMEMD_FN_CALL
#else
#define SHMEMD_FN_STRIDED SHMEMD_FN
#endif

typedef struct shmemdi_elems {
	size_t n;
	size_t width; /* bytes of one */
	/* Element i begins i * stride elements after the first: at the peer, and here. */
	ptrdiff_t sym_stride, local_stride;
} shmemdi_elems_t;

/* Bytes from the first to the end of the last, SIZE_MAX if they are more. */
SHMEMD_FN size_t shmemdi_elems_extent(const shmemdi_elems_t *e, ptrdiff_t stride)
{
	size_t most = ~(size_t)0, step = (size_t)stride;

	if (e->n == 0 || e->width == 0)
		return 0;
	if (e->n - 1 > (most / e->width - 1) / step)
		return most;
	return ((e->n - 1) * step + 1) * e->width;
}

/* In every build: a stride is often computed. One below 0 would touch memory before the array; 0
 * would put all elements in one place. */
SHMEMD_FN int shmemdi_check_stride(const shmemd_ctx_t *ctx, shmemdi_op_t op, ptrdiff_t stride)
{
	if (stride >= 1)
		return SHMEMD_OK;
	return shmemdi_record(ctx, op.call, SHMEMD_ERR_BAD_ARGUMENT, op.pe,
			      (const void *)(uintptr_t)SHMEMD_MISTAKE_STRIDE,
			      (uint64_t)(int64_t)stride, 1);
}

/* The lanes of each warp pass equal strides, width and number, too: shmemdi_check_op compares the
 * extent. Where an array has gaps, the other one may lie in them: whether elements overlap is only
 * checked of arrays without. */
SHMEMD_FN int shmemdi_check_elems(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				  const shmemdi_elems_t *e)
{
#ifdef SHMEMD_CHECK
	uint64_t bits = shmemdi_hash((uint64_t)e->sym_stride, (uint64_t)e->local_stride);

	return shmemdi_check_equal(ctx, op.call, op.g,
				   shmemdi_hash(shmemdi_hash(bits, e->n), e->width));
#else
	(void)ctx;
	(void)op;
	(void)e;
	return SHMEMD_OK;
#endif
}

SHMEMD_FN_STRIDED int shmemdi_check_select_elems(const shmemd_ctx_t *ctx, shmemdi_op_t op,
						 const shmemdi_elems_t *e, char **base)
{
	int status = shmemdi_check_stride(ctx, op, e->sym_stride);

	if (status == SHMEMD_OK)
		status = shmemdi_check_stride(ctx, op, e->local_stride);
	if (status != SHMEMD_OK)
		return status;
	op.nbytes = shmemdi_elems_extent(e, e->sym_stride);
	status = shmemdi_check_transfer(ctx, op);
	if (status == SHMEMD_OK)
		status = shmemdi_check_elems(ctx, op, e);
	if (SHMEMDI_CHECKING && status == SHMEMD_OK && e->sym_stride == 1 && e->local_stride == 1)
		status = shmemdi_check_apart(ctx, op);
	return status ? status
		      : shmemdi_select(ctx, op.call, op.sym, op.pe,
				       shmemdi_may_be_mapped(ctx, op.pe), base);
}

/* This thread's elements, in mapped memory. */
SHMEMD_FN void shmemdi_elems_copy(shmemdi_op_t op, const shmemdi_elems_t *e, char *sym, int is_get)
{
	size_t sym_step = (size_t)e->sym_stride * e->width;
	size_t local_step = (size_t)e->local_stride * e->width;
	size_t i;

	SHMEMD_ARCH_NO_UNROLL
	for (i = op.g.rank; i < e->n; i += op.g.size) {
		char *there = sym + i * sym_step, *here = op.local + i * local_step;

		shmemdi_copy_any(shmemd_thread(), is_get ? here : there, is_get ? there : here,
				 e->width);
	}
}

/* One element, by this lane. The caller has checked the whole operation. A put calls
 * shmemdi_put_of_thread, not shmemdi_put_by_nic: in check builds the latter would check each
 * element again, and would remember the source of an element whose is_blocking is 0 as that of an
 * nbi put (shmemdi_keep_source), although the iput blocks. In a unit without the NIC path
 * shmemdi_put_by_nic only records that there is no transport. */
SHMEMD_FN int shmemdi_elem_by_nic(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				  const shmemdi_elems_t *e, size_t i, int is_get)
{
	op.g = shmemd_thread();
	op.sym += i * (size_t)e->sym_stride * e->width;
	op.local += i * (size_t)e->local_stride * e->width;
	op.nbytes = e->width;
	if (is_get)
		return shmemdi_get_unmapped(ctx, op);
	if (!SHMEMDI_WITH_NIC)
		return shmemdi_put_by_nic(ctx, op);
	return shmemdi_put_of_thread(shmemdi_target_by_nic(ctx, op.pe, ctx->channel), op,
				     shmemdi_no_signal());
}

/* Each lane waits for the completion of its last element alone, since the CQEs of a channel come in
 * order. But a get into memory that is not registered is complete on return
 * (shmemdi_get_unregistered): there the lane waits for each element. Elements that are small enough
 * for their WQEs to carry them are blocking puts, which copy them at once and wait for no
 * completion. */
SHMEMD_FN_STRIDED int shmemdi_elems_by_nic(const shmemd_ctx_t *ctx, shmemdi_op_t op,
					   const shmemdi_elems_t *e, int is_get)
{
	size_t size = op.g.size < 32 ? op.g.size : 32, i = op.g.rank;
	int status = SHMEMD_OK;

	if (i >= size || i >= e->n || e->width == 0)
		return SHMEMD_OK;
	op.is_blocking = !is_get && e->width <= SHMEMD_INLINE_NBYTES(ctx->geometry);
	SHMEMD_ARCH_NO_UNROLL
	for (; e->n - i > size && status == SHMEMD_OK; i += size)
		status = shmemdi_elem_by_nic(ctx, op, e, i, is_get);
	op.is_blocking = 1;
	return status ? status : shmemdi_elem_by_nic(ctx, op, e, i, is_get);
}

/* Elements without gaps: one put or get of all threads. */
SHMEMD_FN int shmemdi_elems_dense(const shmemd_ctx_t *ctx, shmemdi_op_t op,
				  const shmemdi_elems_t *e, char *base, int is_get)
{
	char *sym = base ? shmemdi_p2p_at(ctx, base, op.sym) : NULL;

	op.nbytes = e->n * e->width;
	op.is_blocking = 1;
	if (base) {
		shmemdi_copy_any(op.g, is_get ? op.local : sym, is_get ? sym : op.local, op.nbytes);
		return SHMEMD_OK;
	}
	return is_get ? shmemdi_get_unmapped(ctx, op) : shmemdi_put_by_nic(ctx, op);
}

/* put (is_get: get) of elements, by all threads of op.g. Out of line, with the context in memory,
 * since few kernels make these calls. k: number of the caller's channel. */
SHMEMD_FN_CALL int shmemdi_strided(const shmemd_ctx_t *device_copy, uint32_t k, shmemdi_op_t op,
				   shmemdi_elems_t e, int is_get)
{
	shmemd_ctx_t ctx = *device_copy;
	int status;
	char *base;

	ctx.channel = k;
	status = shmemdi_check_select_elems(&ctx, op, &e, &base);
	if (status == SHMEMD_OK && e.sym_stride == 1 && e.local_stride == 1)
		status = shmemdi_elems_dense(&ctx, op, &e, base, is_get);
	else if (status == SHMEMD_OK && base)
		shmemdi_elems_copy(op, &e, shmemdi_p2p_at(&ctx, base, op.sym), is_get);
	else if (status == SHMEMD_OK)
		status = shmemdi_elems_by_nic(&ctx, op, &e, is_get);
	if (!is_get)
		shmemdi_latch(&ctx, status);
	return shmemdi_agree(op.g, status);
}

SHMEMD_FN void shmemdi_iput(const shmemd_ctx_t *ctx, shmemdi_op_t op, ptrdiff_t dst_stride,
			    ptrdiff_t src_stride, size_t nelems)
{
	shmemdi_elems_t e = {nelems, op.nbytes, dst_stride, src_stride};

	if (shmemdi_check_ctx(ctx, op.call) == SHMEMD_OK)
		(void)shmemdi_strided(ctx->device_copy, ctx->channel, op, e, 0);
}

SHMEMD_FN int shmemdi_iget(const shmemd_ctx_t *ctx, shmemdi_op_t op, ptrdiff_t dst_stride,
			   ptrdiff_t src_stride, size_t nelems)
{
	shmemdi_elems_t e = {nelems, op.nbytes, src_stride, dst_stride};
	int status = shmemdi_check_ctx(ctx, op.call);

	return status ? status : shmemdi_strided(ctx->device_copy, ctx->channel, op, e, 1);
}

#ifdef SHMEMD_TRACE
SHMEMDI_TRACED_VOID(shmemdi_iput,
		    (const shmemd_ctx_t *ctx, shmemdi_op_t op, ptrdiff_t dst_stride,
		     ptrdiff_t src_stride, size_t nelems),
		    (ctx, op, dst_stride, src_stride, nelems), op.call, op.g, op.pe, op.sym,
		    (op.nbytes * nelems), shmemdi_trace_no_word())
#define shmemdi_iput shmemdi_iput_traced
SHMEMDI_TRACED_INT(shmemdi_iget,
		   (const shmemd_ctx_t *ctx, shmemdi_op_t op, ptrdiff_t dst_stride,
		    ptrdiff_t src_stride, size_t nelems),
		   (ctx, op, dst_stride, src_stride, nelems), op.call, op.g, op.pe, op.sym,
		   (op.nbytes * nelems), shmemdi_trace_no_word())
#define shmemdi_iget shmemdi_iget_traced
#endif

#endif
