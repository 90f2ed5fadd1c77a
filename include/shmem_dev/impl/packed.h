/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Up to 8 bytes that carry their own flag: 16 bytes in one access.
 *
 * In the PTX model a store of a vector is one store for each element, in no particular order, and
 * nothing says that a NIC writes 16 bytes at once. Only 8 bytes are never torn. So each half of a
 * slot has half of the value and the whole epoch, and a reader takes the value when both halves
 * have the epoch that it waits for. Every GPU and every NIC can do that, and the value needs no
 * other order: nothing announces it but itself. (A store of 128 bits as a scalar, which is not torn
 * from PTX 8.3 on, is not faster: 1.26 us for a round trip on an H200 both ways.) */
#ifndef SHMEMD_IMPL_PACKED_H
#define SHMEMD_IMPL_PACKED_H

#include <shmem_dev/impl/xport.h>

/* Half of a slot: 4 bytes of the value, and the epoch. */
SHMEMD_FN uint64_t shmemdi_packed_half(uint32_t part, uint32_t epoch)
{
	return (uint64_t)epoch << 32 | part;
}

/* By NIC: one WQE that carries the 16 bytes. Converged lanes share a reservation and a doorbell. */
SHMEMD_FN_CALL int shmemdi_nic_packed(shmemdi_ref_t ref, shmemdi_call_t call, const char *slot,
				      uint64_t lo, uint64_t hi)
{
	shmemdi_how_t how = {SHMEMD_RING_DEFAULT, 0, 0, 0};
	shmemdi_posted_t posted;
	shmemdi_wrs_t wrs;
	shmemdi_ep_t ep;

	if (!SHMEMDI_WITH_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	shmemdi_ep_load(ref, &ep);
	shmemdi_wrs_init(&wrs, how);
	shmemdi_wr_data(&wrs, SHMEMDI_WR_WRITE_INLINE, slot, 0, 16, SHMEMDI_LOCAL_NONE);
	wrs.wr[0].u.words[0] = (uint32_t)lo;
	wrs.wr[0].u.words[1] = (uint32_t)(lo >> 32);
	wrs.wr[0].u.words[2] = (uint32_t)hi;
	wrs.wr[0].u.words[3] = (uint32_t)(hi >> 32);
	wrs.wr[0].u.words[4] = wrs.wr[0].u.words[5] = wrs.wr[0].u.words[6] = 0;
	return shmemdi_wr_post(&ep, call, &wrs, &posted);
}

SHMEMD_FN void shmemdi_put_packed(const shmemd_ctx_t *ctx, shmemdi_op_t op, uint64_t value,
				  uint32_t epoch)
{
	uint64_t lo = shmemdi_packed_half((uint32_t)value, epoch);
	uint64_t hi = shmemdi_packed_half((uint32_t)(value >> 32), epoch);
	shmemdi_ref_t ref;
	char *base;
	int status;

	if (shmemdi_uses_stride(ctx, op)) {
		shmemd_arch_st_relaxed_2u64(shmemdi_strided_at(ctx, op.sym, op.pe), lo, hi);
		return;
	}
	status = shmemdi_check_select_word(ctx, op, &base);
	if (status == SHMEMD_OK && base) {
		shmemd_arch_st_relaxed_2u64(shmemdi_p2p_at(ctx, base, op.sym), lo, hi);
	} else if (status == SHMEMD_OK) {
		ref.ctx = ctx->device_copy;
		ref.pe = op.pe;
		ref.k = ctx->channel;
		status = shmemdi_nic_packed(ref, op.call, op.sym, lo, hi);
	}
	shmemdi_latch(ctx, status);
}

/* One look: does the slot hold the epoch? *value gets the value in the slot in any case; it belongs
 * to the epoch only if 1 is returned. */
SHMEMD_FN int shmemdi_packed_look(const void *slot, uint32_t epoch, uint64_t *value)
{
	shmemd_2u64_t at = shmemd_arch_ld_relaxed_2u64(slot);

	*value = (uint32_t)at.lo | (uint64_t)(uint32_t)at.hi << 32;
	if ((uint32_t)(at.lo >> 32) != epoch || (uint32_t)(at.hi >> 32) != epoch)
		return 0;
	shmemdi_sources_drop();
	return 1;
}

SHMEMD_FN int shmemdi_packed_check(const shmemd_ctx_t *ctx, shmemdi_call_t call, const void *slot)
{
	return shmemdi_check_word(ctx, call, slot, 16);
}

/* A wait after its first polls. The last look makes the outcome definite, as in
 * shmemdi_wait_loop. */
SHMEMD_FN_CALL shmemdi_result_t shmemdi_packed_wait_long(const shmemd_ctx_t *ctx,
							 shmemdi_call_t call, const void *slot,
							 uint32_t epoch, shmemdi_limit_t limit)
{
	shmemdi_spin_t spin = shmemdi_spin(limit);
	shmemdi_result_t r = {0, SHMEMD_OK};

	spin.polls = SHMEMDI_POLLS_PER_LOOK - 1;
	while (!shmemdi_packed_look(slot, epoch, &r.value)) {
		r.status = shmemdi_spin_step(ctx, &spin);
		if (r.status != SHMEMD_OK)
			break;
	}
	if (r.status == SHMEMD_OK)
		return r;
	if (shmemdi_packed_look(slot, epoch, &r.value))
		r.status = SHMEMD_OK;
	else if (shmemdi_spin_is_to_record(&spin, r.status))
		shmemdi_record(ctx, call, r.status, spin.pe, slot, r.value, epoch);
	return r;
}

SHMEMD_FN int shmemdi_packed_wait(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint64_t *value,
				  const void *slot, uint32_t epoch, shmemdi_limit_t limit)
{
	int status = shmemdi_packed_check(ctx, call, slot);
	shmemdi_result_t r = {0, SHMEMD_OK};
	uint32_t left;

	if (status != SHMEMD_OK)
		return status;
	SHMEMD_ARCH_NO_UNROLL
	for (left = SHMEMDI_POLLS_PER_LOOK; left; left--) {
		if (shmemdi_packed_look(slot, epoch, &r.value)) {
			*value = r.value;
			return SHMEMD_OK;
		}
		shmemd_arch_spin_hint();
	}
	r = shmemdi_packed_wait_long(ctx->device_copy, call, slot, epoch, limit);
	if (r.status == SHMEMD_OK)
		*value = r.value;
	return r.status;
}

SHMEMD_FN int shmemdi_packed_test(const shmemd_ctx_t *ctx, shmemdi_call_t call, uint64_t *value,
				  const void *slot, uint32_t epoch)
{
	int status = shmemdi_packed_check(ctx, call, slot);
	uint64_t seen;

	shmemdi_latch(ctx, status);
	if (status != SHMEMD_OK || !shmemdi_packed_look(slot, epoch, &seen))
		return 0;
	*value = seen;
	return 1;
}

#endif
