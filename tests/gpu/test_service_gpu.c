/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The service (runtime/kernels) on a GPU: its kernel carries out orders, ends by itself, and can be
 * stopped. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <time.h>
#include "../common/service_case.h"
#include "kernels/serve.h"

#define SKIPPED 77
#define N_ORDERS 1000

#define TRY(cond)                                                                                  \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: failed: %s [%s]\n", __FILE__, __LINE__, #cond, err.text);   \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static shmemhi_cuctx_t gpu;
static shmemhi_service_t service;
static shmemhi_err_t err;
static service_memory_t *memory;
static shmemd_switch_order_t *order;
static shmemd_faults_t *faults;

static int channel_status(void)
{
	uint64_t path = 0;

	if (shmemhi_cuctx_read(&gpu, &path, &memory->channel.path, sizeof path, &err))
		return -1;
	return (int)SHMEMD_PATH_STATUS(path);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int make(void)
{
	service_memory_t filled;

	TRY(shmemhi_cuctx_dev_alloc(&gpu, sizeof *memory, (void **)&memory, &err) == 0);
	TRY(shmemhi_cuctx_pinned_alloc(&gpu, sizeof *order, (void **)&order, &err) == 0);
	TRY(shmemhi_cuctx_pinned_alloc(&gpu, SHMEMD_FAULTS_NBYTES(1, 1), (void **)&faults, &err) ==
	    0);
	service_fill(&filled, memory, order, faults);
	TRY(shmemhi_cuctx_write(&gpu, memory, &filled, sizeof filled, &err) == 0);
	TRY(shmemhi_service_open(&service, &gpu, &memory->ctx, &err) == 0);
	return 0;
}

static int carry_out(void)
{
	const double start = now();

	for (int i = 0; i < N_ORDERS; i++) {
		service_order(order, SHMEMD_ERR_LOST);
		while (!service_is_done(order)) {
			TRY(shmemhi_service_step(&service, &err) == 0);
			TRY(now() - start < 60);
		}
	}
	TRY(channel_status() == SHMEMD_ERR_LOST);
	printf("%d orders, %.1f us each\n", N_ORDERS, (now() - start) * 1e6 / N_ORDERS);
	return 0;
}

/* An order whose turn a poster has is not carried out; close ends the kernel. */
static int stop(void)
{
	service_memory_t filled;

	service_fill(&filled, memory, order, faults);
	filled.channel.resv = SHMEMD_RESV_ADD(1, 1);
	TRY(shmemhi_cuctx_write(&gpu, memory, &filled, sizeof filled, &err) == 0);
	service_order(order, 0);
	order->path = SHMEMD_PATH_WORD(1, 0x123, 0, 0);
	TRY(shmemhi_service_step(&service, &err) == 0);
	TRY(shmemhi_service_step(&service, &err) == 0);
	TRY(!service_is_done(order));
	shmemhi_service_close(&service);
	TRY(!service_is_done(order));
	return 0;
}

int main(void)
{
	int n = 0;

	if (cudaGetDeviceCount(&n) != cudaSuccess || n == 0 || cudaFree(NULL) != cudaSuccess) {
		printf("skipped: no GPU\n");
		return SKIPPED;
	}
	TRY(shmemhi_cuda_open(&gpu.cuda, 1, &err) == 1);
	TRY(shmemhi_cuctx_attach(&gpu, &err) == 1);
	if (make() || carry_out() || stop())
		return 1;
	shmemhi_cuctx_dev_free(&gpu, memory);
	shmemhi_cuctx_pinned_free(&gpu, order);
	shmemhi_cuctx_pinned_free(&gpu, faults);
	shmemhi_cuctx_detach(&gpu);
	return 0;
}
