/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The service: carries out orders to switch channels (shmem_dev/abi/replay.h) while no thread of
 * the program's kernels does, since no kernel runs, or none of its threads waits for a NIC.
 *
 * On a GPU it is a kernel of one warp on a stream of its own. It ends when no order is pending, or
 * the host says so. Beside kernels of the program it does no harm: one thread carries an order out.
 * While those occupy all SMs it cannot start. It runs until the order is carried out, so
 * cudaDeviceSynchronize waits for that. It can carry out an order to switch only while all that is
 * reserved on the channel is published (an order to end the channel, or one for a channel that has
 * failed, at any time). Until then the posters are in the library: those that wait for space look
 * for orders, and the one that has the turn carries the order out (shmemdi_serve).
 * In the emulator it is a function of libshmem_sim, which the process has loaded. */
#ifndef SHMEMHI_KERNELS_SERVICE_H
#define SHMEMHI_KERNELS_SERVICE_H

#include <shmem_dev/abi/ctx.h>

#define SHMEMHI_SERVICE_NAME "shmemhi_service"

/* What the kernel is given; addresses are those of the device. */
typedef struct shmemhi_service_job {
	const shmemd_ctx_t *ctx; /* of a team in the device's memory: shmemd_ctx_t.device_copy */
	const uint32_t *stop;    /* pinned: not 0: end */
} shmemhi_service_job_t;

#endif
