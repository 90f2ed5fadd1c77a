/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The entry points of the NIC path. Those that post without waiting are out of line, one copy for a
 * unit, operands by value; SHMEMD_NIC_INLINE has them inline. What waits for a round trip is a call
 * in both forms. SHMEMD_NO_NIC leaves all of them out: nothing calls them then, since
 * shmemdi_select has refused every PE that is not mapped. Their first line lets the compiler drop
 * the rest. */
#ifndef SHMEMD_IMPL_ENTRY_H
#define SHMEMD_IMPL_ENTRY_H

#include <shmem_dev/impl/get.h>
#include <shmem_dev/impl/near.h>
#include <shmem_dev/impl/put.h>
#include <shmem_dev/impl/quiet.h>

#ifdef SHMEMD_NO_NIC
#define SHMEMDI_HAS_NIC 0
#else
#define SHMEMDI_HAS_NIC 1
#endif

SHMEMD_FN shmemdi_how_t shmemdi_op_how(const shmemdi_op_t *op, int is_alone)
{
	shmemdi_how_t how = {(uint8_t)op->when, (uint8_t)op->is_blocking, 0, (uint8_t)is_alone};
	return how;
}

/* put, with a signal after the data unless sig.op is -1. Blocking: src is reusable on return.
 * lanes: what coalesces lanes that put for themselves; NULL for a group. */
SHMEMD_FN_NIC int shmemdi_by_nic_put_by(shmemdi_ep_t ep, shmemdi_op_t op, shmemdi_signal_t sig,
					shmemdi_put_lanes_t *lanes)
{
	shmemdi_put_t put = {op.sym, op.local, op.nbytes, sig, shmemdi_op_how(&op, 1)};
	int status = SHMEMD_OK;

	if (!SHMEMDI_HAS_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	if (lanes && !shmemd_arch_is_alone()) {
		put.how.is_alone = 0;
		return SHMEMD_ARCH_INDIRECT(lanes)(shmemdi_ref(&ep.c), op.call, put);
	}
	if (op.g.rank >= 32)
		return SHMEMD_OK;
	if (op.g.rank == 0)
		status = shmemdi_nic_put(&ep, op.call, &put);
	shmemdi_warp_rejoin(op.g);
	return status;
}

/* The same. A unit in which only groups put names the function for lanes nowhere, and so does not
 * hold its code. */
SHMEMD_FN int shmemdi_by_nic_put(shmemdi_ep_t ep, shmemdi_op_t op, shmemdi_signal_t sig)
{
	return shmemdi_by_nic_put_by(ep, op, sig,
				     SHMEMDI_HAS_NIC && op.g.bar == SHMEMDI_BAR_NONE
					     ? shmemdi_nic_put_lanes
					     : (shmemdi_put_lanes_t *)0);
}

/* get. Into memory that is not registered it is complete on return. */
SHMEMD_FN int shmemdi_by_nic_get(const shmemd_ctx_t *ctx, shmemdi_op_t op)
{
	shmemdi_ref_t ref = {ctx->self, op.pe, ctx->channel};
	int status = SHMEMD_OK;

	if (!SHMEMDI_HAS_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	if (op.g.rank >= 32 || op.nbytes == 0)
		return SHMEMD_OK;
	if (op.g.rank == 0)
		status = shmemdi_nic_get(ref, op.call, op.local, op.sym, op.nbytes,
					 shmemdi_op_how(&op, op.g.bar != SHMEMDI_BAR_NONE));
	shmemdi_warp_rejoin(op.g);
	return status;
}

/* A word of op.nbytes bytes: stored or updated, as kind (shmemdi_amo) says, except ADDF. */
SHMEMD_FN_NIC int shmemdi_by_nic_word(shmemdi_ep_t ep, shmemdi_op_t op, int kind, uint64_t value)
{
	shmemdi_word_t word = {op.sym, value, (uint32_t)op.nbytes, kind};

	if (!SHMEMDI_HAS_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	if (!shmemd_arch_is_alone())
		return SHMEMD_ARCH_INDIRECT(shmemdi_nic_word_lanes)(shmemdi_ref(&ep.c), op.call,
								    word, shmemdi_op_how(&op, 0));
	return shmemdi_nic_word(&ep, op.call, word, shmemdi_op_how(&op, 1));
}

/* The same with ADDF, which no NIC does as it is done here: a loop of compare-and-swaps. Apart from
 * shmemdi_by_nic_word, because ptxas allocates that loop's registers together with those of each
 * kernel that calls it, and a kernel limited to 64 registers then spills at each p. */
SHMEMD_FN int shmemdi_by_nic_amo(shmemdi_ep_t ep, shmemdi_op_t op, int kind, uint64_t value)
{
	uint64_t old;

	if (kind != SHMEMDI_AMO_ADDF)
		return shmemdi_by_nic_word(ep, op, kind, value);
	if (!SHMEMDI_HAS_NIC)
		return SHMEMD_ERR_UNREACHABLE;
	return shmemdi_nic_fetch(shmemdi_ref(&ep.c), op.call, op.sym, (uint32_t)op.nbytes, kind,
				 value, 0, &old);
}

/* The result of a call that returns a word. */
typedef struct shmemdi_result {
	uint64_t value;
	int status;
} shmemdi_result_t;

/* Atomics that fetch, and g as SHMEMDI_AMO_FETCH. */
SHMEMD_FN shmemdi_result_t shmemdi_by_nic_fetch(const shmemd_ctx_t *ctx, shmemdi_op_t op, int kind,
						uint64_t value, uint64_t cond)
{
	shmemdi_ref_t ref = {ctx->self, op.pe, ctx->channel};
	shmemdi_result_t r = {0, SHMEMD_ERR_UNREACHABLE};

	if (SHMEMDI_HAS_NIC)
		r.status = shmemdi_nic_fetch(ref, op.call, op.sym, (uint32_t)op.nbytes, kind, value,
					     cond, &r.value);
	return r;
}

/* Complete what channel k to pe carries. Takes the context in memory: a call that waits for a round
 * trip gains nothing from values in registers. */
SHMEMD_FN_NIC int shmemdi_by_nic_flush(const shmemd_ctx_t *self, shmemdi_call_t call, int pe,
				       uint32_t k)
{
	shmemdi_ref_t ref = {self, pe, k};
	shmemdi_ep_t ep;

	if (!SHMEMDI_HAS_NIC)
		return SHMEMD_OK;
	shmemdi_ep_load(ref, &ep);
	return shmemdi_flush_channel(&ep, call, shmemdi_limit_default(self, pe));
}

SHMEMD_FN int shmemdi_by_nic_quiet(const shmemd_ctx_t *ctx, shmemdi_quiet_t q)
{
	return SHMEMDI_HAS_NIC ? shmemdi_quiet_all(ctx->self, q) : SHMEMD_OK;
}

#endif
