/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bounded waiting: what every wait for another PE or a NIC does between its polls. (Waits for a
 * word of wait.h, signal.h, packed.h and of a sync without NICs: only after the first 64 polls,
 * which have a loop of their own.) Such a wait ends by success, when a PE has died, has left or
 * cannot be reached any more, when this PE is cut off from the job, when its channel has failed, or
 * by a time limit, if it has one; waits for space (impl/sq.h) and for a bounce buffer
 * (impl/bounce.h) may go on past that limit. Waits for a turn or a lock (impl/sq.h, impl/queue.h)
 * are for other threads of this GPU, and are not bounded here. */
#ifndef SHMEMD_IMPL_SPIN_H
#define SHMEMD_IMPL_SPIN_H

#include <shmem_dev/impl/diag.h>

/* The clock is slow to read, so only every 64th poll reads it. The abort word, the causes and
 * orders to switch are in host memory. Their loads over PCIe take about 1 us, and slow down other
 * blocks: a kernel in which 128 blocks waited and others multiplied matrices took 7 times as long
 * with these loads at every 64th poll as at every 2048th (about each millisecond; H100). */
#define SHMEMDI_POLLS_PER_LOOK 64u
#define SHMEMDI_POLLS_PER_HOST_LOOK SHMEMD_ARCH_POLLS_PER_HOST_LOOK

#define SHMEMDI_ANY_PE (-1)

/* When to give up. */
typedef struct shmemdi_limit {
	uint64_t ns; /* after this long; 0 and not named: never */
	int named;   /* 1: the caller named ns and expects the timeout, so it is not recorded */
	int pe;      /* when this PE has failed (shmemdi_pe_failed); SHMEMDI_ANY_PE: any one */
} shmemdi_limit_t;

SHMEMD_FN shmemdi_limit_t shmemdi_limit_default(const shmemd_ctx_t *ctx, int pe)
{
	shmemdi_limit_t limit = {SHMEMDI_CHECKING && !shmemdi_is_filled(ctx) ? 0 : ctx->timeout_ns,
				 0, pe};
	return limit;
}

SHMEMD_FN shmemdi_limit_t shmemdi_limit_for(uint64_t ns)
{
	shmemdi_limit_t limit = {ns, 1, SHMEMDI_ANY_PE};
	return limit;
}

/* State of one wait, which may poll several words one after another. */
typedef struct shmemdi_spin_t {
	shmemdi_limit_t limit;
	uint32_t polls;
	uint64_t start; /* clock at the first look; 0: not looked yet */
	int pe;         /* PE that the record names; set by the caller or by a look */
} shmemdi_spin_t;

SHMEMD_FN shmemdi_spin_t shmemdi_spin(shmemdi_limit_t limit)
{
	shmemdi_spin_t spin = {limit, 0, 0, limit.pe};
	return spin;
}

/* Has PE `only` died or left, can it not be reached any more, or is this PE cut off from the job?
 * With SHMEMDI_ANY_PE: is that so of any PE of the team? Then a wait for it ends. *pe: `only`
 * itself, whatever the result; with SHMEMDI_ANY_PE the PE that the abort word names, -1 if there is
 * none or if this PE is cut off from the job. Acquire: a word that is loaded afterwards has the
 * value that the PE stored before the host learned of its end. */
SHMEMD_FN int shmemdi_pe_failed(const shmemd_ctx_t *ctx, int only, int *pe)
{
	uint64_t word;

	if (only != SHMEMDI_ANY_PE) {
		*pe = only;
		return shmemd_arch_ld_acquire_u32(&ctx->causes[only]) != SHMEMD_CAUSE_NONE;
	}
	word = shmemd_arch_ld_acquire_u64(ctx->abort_word);
	*pe = SHMEMD_ABORT_PE(word);
	return word != 0;
}

/* Is this poll one of those that also load words in host memory? */
SHMEMD_FN int shmemdi_spin_is_host_look(const shmemdi_spin_t *spin)
{
	return spin->polls % SHMEMDI_POLLS_PER_HOST_LOOK == 0;
}

/* Is the time up? */
SHMEMD_FN int shmemdi_spin_is_over(shmemdi_spin_t *spin)
{
	uint64_t now;

	if (!spin->limit.ns && !spin->limit.named)
		return 0;
	now = shmemd_arch_time_ns();
	if (!spin->start)
		spin->start = now;
	return now - spin->start >= spin->limit.ns;
}

/* A wait whose time is up loads the words in host memory once more, so that it names the PE that
 * failed. */
SHMEMD_FN int shmemdi_spin_look(const shmemd_ctx_t *ctx, shmemdi_spin_t *spin)
{
	int is_over = shmemdi_spin_is_over(spin), gone;

	if ((is_over || shmemdi_spin_is_host_look(spin)) &&
	    shmemdi_pe_failed(ctx, spin->limit.pe, &gone)) {
		spin->pe = gone;
		return SHMEMD_ERR_PEER;
	}
	return is_over ? SHMEMD_ERR_TIMEOUT : SHMEMD_OK;
}

/* After one poll of a loop. Returns SHMEMD_OK to go on, or why to stop. */
SHMEMD_FN int shmemdi_spin_step(const shmemd_ctx_t *ctx, shmemdi_spin_t *spin)
{
	shmemd_arch_spin_hint();
	spin->polls++;
	return spin->polls % SHMEMDI_POLLS_PER_LOOK ? SHMEMD_OK : shmemdi_spin_look(ctx, spin);
}

/* Is an end with this status to be recorded? A timeout that the caller asked for is not. */
SHMEMD_FN int shmemdi_spin_is_to_record(const shmemdi_spin_t *spin, int status)
{
	return status == SHMEMD_ERR_PEER || (status == SHMEMD_ERR_TIMEOUT && !spin->limit.named);
}

#endif
