/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The home NIC of a PE dies (DEVICE_FATAL). What that PE sends is exact: the other end still knows
 * what it has executed, and the PE goes on with its other NIC. What is sent to it ends with
 * ERR_LOST, and is not repeated, since nobody can tell what the dead NIC has executed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <mlx5sw.h>
#include "pes.h"

#define HURT 1 /* the PE whose NIC dies */
#define ADDS 300

typedef struct device_params {
	shmemd_ctx_t ctx;
	uint64_t *sum; /* adds of the PE before */
	uint64_t *results;
	int *status;
} device_params_t;

/* Adds to the next PE, each confirmed by quiet. results: the adds that were posted, the last status
 * of quiet. */
SHMEMD_KERNEL(device_kernel, device_params_t, p)
{
	const shmemd_ctx_t *ctx = &p.ctx;
	int next = (shmemd_my_pe(ctx) + 1) % shmemd_n_pes(ctx), status = SHMEMD_OK;
	uint64_t i;

	for (i = 0; i < ADDS && status == SHMEMD_OK; i++) {
		shmemd_atomic_add_u64(ctx, p.sum, 1, next);
		status = shmemd_quiet(ctx);
	}
	p.results[0] += i;
	p.results[1] = (uint64_t)status;
}

static int kill_home(pes_t *pes)
{
	shmemh_fault_info_t info;
	char line[96], answer[256];

	info.size = sizeof info;
	PES_TRY(pes, shmemh_fault_get(pes->job, (pes->pe + 1) % pes->n_pes, 0, &info));
	info.port[strcspn(info.port, ":")] = '\0';
	snprintf(line, sizeof line, "device fatal %s", info.port);
	return PES_EQ(pes, mlx5sw_control(line, answer, sizeof answer), 0);
}

static int nic_dies(pes_t *pes)
{
	const int is_sender = (pes->pe + 1) % pes->n_pes == HURT;
	const uint64_t *results, *sum;
	device_params_t p;

	if (shmemh_fault_policy(pes->job, NULL, 0) != SHMEMH_FAULT_EXACT)
		return pes_skip(pes, "needs SHMEMH_FT=exact");
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.sum, uint64_t, 1, 0);
	PES_ALLOC(pes, p.results, uint64_t, 2, 0);
	PES_RUN(pes, device_kernel, 1, 1, p);
	if (pes->pe == HURT && kill_home(pes))
		return 1;
	PES_RUN(pes, device_kernel, 1, 1, p);
	results = (const uint64_t *)pes_read(pes, p.results, 2 * sizeof(uint64_t));
	sum = (const uint64_t *)pes_read(pes, p.sum, sizeof(uint64_t));
	if (!results || !sum)
		return 1;
	PES_EQ(pes, results[1], is_sender ? SHMEMD_ERR_LOST : SHMEMD_OK);
	if (pes->pe != HURT)
		PES_EQ(pes, *sum, 2 * ADDS);
	else
		PES_CHECK(pes, *sum >= ADDS && *sum < 2 * ADDS);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(nic_dies)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
