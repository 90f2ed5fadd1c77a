/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PEs behind a NIC: the functions for core/ and tools/. Threads of kernels drive the queues
 * themselves. The host creates the queues, registers the heap, and watches events. Functions leave
 * their line in job->err.
 *
 * NICs are used if SHMEMH_IB is not off and some PE of the job needs them: because the memory of
 * another PE is not mapped, because atomics on it are not native, or because of
 * SHMEMH_DISABLE_P2P. */
#ifndef SHMEMHI_IB_IB_H
#define SHMEMHI_IB_IB_H

#include "job/job.h"

/* Phase of init, after the address space of the heap is reserved and before it has memory:
 * choose and open the NIC, create and connect all queues. Collective; the same result on every
 * PE. Without a usable NIC: SHMEMH_OK, one line of warning, and no channels. */
int shmemhi_ib_open(shmemh_t *job);
void shmemhi_ib_close(shmemh_t *job);

/* To be called when the world team's context is in device memory, at ctx: with fail-over, open the
 * service, which launches the kernel that carries out orders, and start the threads of the agent
 * and of the resolver. From then on faults of paths are dealt with. Not collective. */
int shmemhi_ib_start_failover(shmemh_t *job, const shmemd_ctx_t *ctx);

/* To be called before that memory is freed: end these threads and the service. From then on no
 * order is given to kernels, and faults are not dealt with. */
void shmemhi_ib_stop_failover(shmemh_t *job);

/* Is there a channel to world PE pe? */
bool shmemhi_ib_reaches(const shmemh_t *job, int pe);

/* The ports of PE pe, as mlx5_0:1; NULL: no NICs are in use, or it has no stand-by. */
const char *shmemhi_ib_home(const shmemh_t *job, int pe);
const char *shmemhi_ib_standby(const shmemh_t *job, int pe);

/* Distance of this PE's GPU from its home port or its stand-by: SHMEMHI_CLASS_* (topo/class.h). */
int shmemhi_ib_class(const shmemh_t *job, int is_standby);

/* SHMEMD_CTX_FT, DUMP_AFTER_READ and NIC_GPU_SCOPE, as far as they apply to this PE. */
uint32_t shmemhi_ib_ctx_flags(const shmemh_t *job);

/* Warn if this PE's GPU may observe a signal by NIC before its data. Returns whether it warned. */
bool shmemhi_ib_warn_of_order(const shmemh_t *job);

/* Fill n_world and the fields that describe channels. */
void shmemhi_ib_fill_ctx(const shmemh_t *job, shmemd_ctx_t *ctx);

#endif
