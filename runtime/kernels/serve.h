/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host's side of the service (service.h). */
#ifndef SHMEMHI_KERNELS_SERVE_H
#define SHMEMHI_KERNELS_SERVE_H

#include "kernels/launch.h"
#include "kernels/service.h"

typedef struct shmemhi_service {
	shmemhi_cuctx_t *c; /* NULL: in the emulator */
	shmemhi_service_job_t job;
	shmemhi_kernel_t kernel;
	shmemhi_cu_stream_t stream;
	uint32_t *stop; /* pinned */
} shmemhi_service_t;

/* Prepare the service, while no order is pending. The kernel runs once: its code is loaded and its
 * stack is allocated now, since both may wait for kernels of the program.
 *
 * c    of the job's GPU, or NULL: kernels run in the emulator, and their memory is the host's.
 * ctx  of the world team, with its order; the device's copy (shmemd_ctx_t.device_copy).
 * Returns SHMEMH_OK; ERR_CUDA; ERR_NO_MEMORY; ERR_ARGUMENT: without a GPU, libshmem_sim is not
 * loaded. On failure nothing is left to close. */
int shmemhi_service_open(shmemhi_service_t *s, shmemhi_cuctx_t *c, const shmemd_ctx_t *ctx,
			 shmemhi_err_t *err);

/* An order is pending: have it carried out, unless the kernel is doing so already. On a GPU does
 * not wait for it; without one the calling thread carries it out. The service can carry out an
 * order to switch only while all that is reserved on the channel is published (an order to end the
 * channel, or one for a channel that has failed, at any time): call again until
 * shmemd_switch_order_t.carried_out has its number. By one thread at a time, which must not be one
 * of the emulator's fibers.
 * Returns SHMEMH_OK; ERR_CUDA; ERR_NO_MEMORY. */
int shmemhi_service_step(shmemhi_service_t *s, shmemhi_err_t *err);

/* Stop the kernel and wait for its end. An order that the kernel has not begun stays pending. */
void shmemhi_service_close(shmemhi_service_t *s);

#endif
