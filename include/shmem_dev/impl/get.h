/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* RDMA operations that return data: gets, and the old values of atomics. */
#ifndef SHMEMD_IMPL_GET_H
#define SHMEMD_IMPL_GET_H

#include <shmem_dev/impl/post.h>

/* Fetch into a bounce buffer, and wait for it. After success the caller releases the buffer of
 * posted->bounce. */
SHMEMD_FN int shmemdi_fetch_bounce(const shmemdi_ep_t *ep, shmemdi_call_t call,
				   const shmemdi_wrs_t *wrs, shmemdi_posted_t *posted)
{
	const shmemdi_chan_t *c = &ep->c;
	int status = shmemdi_wr_post(ep, call, wrs, posted);

	if (status != SHMEMD_OK)
		return status;
	status = shmemdi_cq_wait(shmemdi_ref(c), call, posted->ticket,
				 shmemdi_limit_default(c->ctx, c->pe));
	if (status != SHMEMD_OK) {
		shmemdi_bounce_abandon(c, posted->bounce, posted->end);
	} else if (shmemdi_bounce_is_lost(c, posted->bounce)) {
		shmemdi_bounce_release(c, posted->bounce);
		status =
			shmemdi_record_channel_error(c, call, SHMEMD_ERR_AMBIGUOUS, posted->end, 0);
	}
	return status;
}

/* READ into registered memory. */
SHMEMD_FN int shmemdi_get_registered(const shmemdi_ep_t *ep, shmemdi_call_t call, char *dst,
				     const char *src, uint64_t nbytes, shmemdi_how_t how)
{
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;
	int status = SHMEMD_OK;

	SHMEMD_ARCH_NO_UNROLL
	while (nbytes && status == SHMEMD_OK) {
		uint64_t segment = shmemdi_segment(ep, src, dst, nbytes, 0);

		shmemdi_wrs_init(&wrs, how);
		shmemdi_wr_data(&wrs, SHMEMDI_WR_READ, src, dst, (uint32_t)segment,
				SHMEMDI_LOCAL_HEAP);
		status = shmemdi_wr_post(ep, call, &wrs, &posted);
		dst += segment;
		src += segment;
		nbytes -= segment;
	}
	if (status != SHMEMD_OK || !how.needs_ticket)
		return status;
	return shmemdi_cq_wait(shmemdi_ref(&ep->c), call, posted.ticket,
			       shmemdi_limit_default(ep->c.ctx, ep->c.pe));
}

/* READ into other memory, through bounce buffers; complete on return. */
SHMEMD_FN int shmemdi_get_unregistered(const shmemdi_ep_t *ep, shmemdi_call_t call, char *dst,
				       const char *src, uint64_t nbytes, shmemdi_how_t how)
{
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;

	how.when = SHMEMD_RING_NOW;
	how.needs_ticket = 1;
	SHMEMD_ARCH_NO_UNROLL
	while (nbytes) {
		uint64_t left = shmemdi_segment(ep, src, ep->heap, nbytes, 0);
		uint32_t i, size = (uint32_t)shmemdi_least(left, SHMEMD_BOUNCE_NBYTES);
		int status;

		shmemdi_wrs_init(&wrs, how);
		shmemdi_wr_data(&wrs, SHMEMDI_WR_READ, src, 0, size, SHMEMDI_LOCAL_BOUNCE);
		status = shmemdi_fetch_bounce(ep, call, &wrs, &posted);
		if (status != SHMEMD_OK)
			return status;
		SHMEMD_ARCH_NO_UNROLL
		for (i = 0; i < size; i++)
			shmemd_arch_st_data_u8(dst + i,
					       shmemd_arch_ld_relaxed_u8(
						       shmemdi_bounce(&ep->c, posted.bounce) + i));
		shmemdi_bounce_release(&ep->c, posted.bounce);
		dst += size;
		src += size;
		nbytes -= size;
	}
	return SHMEMD_OK;
}

/* get, nbytes not 0. If it does not block, it may return before registered memory is written. */
SHMEMD_FN_CALL int shmemdi_nic_get(shmemdi_ref_t ref, shmemdi_call_t call, char *dst,
				   const char *src, uint64_t nbytes, shmemdi_how_t how)
{
	shmemdi_ep_t value, *ep = &value;

	shmemdi_ep_load(ref, ep);
	if (shmemdi_is_in_heap(ep, dst))
		return shmemdi_get_registered(ep, call, dst, src, nbytes, how);
	return shmemdi_get_unregistered(ep, call, dst, src, nbytes, how);
}

/* A word of 1 to 8 bytes, or the old value of one of 4 or 8. The NIC returns the result of an
 * atomic of 4 bytes big-endian (PRM: only those of 8 bytes follow the requested mode). */
SHMEMD_FN int shmemdi_fetch_word(const shmemdi_ep_t *ep, shmemdi_call_t call,
				 const shmemdi_wrs_t *wrs, uint64_t *value)
{
	const shmemdi_chan_t *c = &ep->c;
	const shmemdi_wr_t *wr = wrs->wr;
	shmemdi_posted_t posted;
	int status = shmemdi_fetch_bounce(ep, call, wrs, &posted);

	if (status != SHMEMD_OK)
		return status;
	*value = shmemdi_word_load(shmemdi_bounce(c, posted.bounce), wr->nbytes);
	if (wr->kind == SHMEMDI_WR_ATOMIC && wr->nbytes == 4)
		*value = shmemd_arch_bswap32((uint32_t)*value);
	shmemdi_bounce_release(c, posted.bounce);
	return SHMEMD_OK;
}

SHMEMD_FN uint64_t shmemdi_float_sum(uint64_t a, uint64_t b, uint32_t width)
{
	if (width == 4)
		return shmemdi_bits_f32(shmemdi_f32(a) + shmemdi_f32(b));
	return shmemdi_bits_f64(shmemdi_f64(a) + shmemdi_f64(b));
}

/* Floating-point add by a compare-and-swap loop: the NIC has no floating-point atomics. */
SHMEMD_FN int shmemdi_fetch_addf(const shmemdi_ep_t *ep, shmemdi_call_t call, shmemdi_wrs_t *wrs,
				 uint64_t value, uint64_t *old)
{
	uint32_t width = wrs->wr[0].nbytes;
	uint64_t seen;
	int status = shmemdi_fetch_word(ep, call, wrs, &seen);

	SHMEMD_ARCH_NO_UNROLL
	while (status == SHMEMD_OK) {
		wrs->wr[0].kind = SHMEMDI_WR_ATOMIC;
		wrs->wr[0].u.amo = shmemdi_nic_amo(
			SHMEMDI_AMO_CAS, shmemdi_float_sum(seen, value, width), seen, width);
		*old = seen;
		status = shmemdi_fetch_word(ep, call, wrs, &seen);
		if (status != SHMEMD_OK || seen == *old)
			break;
	}
	return status;
}

/* The result of a call that returns a word. */
typedef struct shmemdi_result {
	uint64_t value;
	int status;
} shmemdi_result_t;

/* kind (shmemdi_word_kind) on a word: returns its value before. FETCH and LOAD change nothing. */
SHMEMD_FN_CALL shmemdi_result_t shmemdi_nic_fetch(shmemdi_ref_t ref, shmemdi_call_t call,
						  const char *sym, uint32_t width, int kind,
						  uint64_t value, uint64_t cond)
{
	shmemdi_result_t r = {0, SHMEMD_ERR_UNREACHABLE};
	shmemdi_wrs_t wrs;
	shmemdi_ep_t ep;

	shmemdi_ep_load(ref, &ep);
	shmemdi_wrs_init(&wrs, shmemdi_how(SHMEMD_RING_NOW, 1));
	if (kind == SHMEMDI_AMO_FETCH || kind == SHMEMDI_WORD_LOAD || kind == SHMEMDI_AMO_ADDF)
		shmemdi_wr_data(&wrs, SHMEMDI_WR_READ, sym, 0, width, SHMEMDI_LOCAL_BOUNCE);
	else
		shmemdi_wr_amo(&wrs, sym, shmemdi_nic_amo(kind, value, cond, width), width,
			       SHMEMDI_LOCAL_BOUNCE);
	if (kind == SHMEMDI_AMO_ADDF)
		r.status = shmemdi_fetch_addf(&ep, call, &wrs, value, &r.value);
	else
		r.status = shmemdi_fetch_word(&ep, call, &wrs, &r.value);
	return r;
}

#endif
