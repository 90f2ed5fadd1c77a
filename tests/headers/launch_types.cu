/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Launches a kernel with its own parameters, and with those of another one by LAUNCH. */
#include <shmem_dev/shmem_dev.h>

typedef struct kernel_params {
	shmemd_ctx_t ctx;
	uint64_t *word;
} kernel_params_t;

typedef struct other_params {
	int number;
} other_params_t;

SHMEMD_KERNEL(kernel, kernel_params_t, p)
{
	*p.word = 1;
}

int launch_right(kernel_params_t params)
{
	int status = shmemd_launch(kernel, 1, 32, 0, 0, params);

	return status ? status : shmemd_launch_resident(kernel, 1, 32, 0, 0, params);
}

#ifdef LAUNCH
int launch_wrong(other_params_t params)
{
	return LAUNCH(kernel, 1, 32, 0, 0, params);
}
#endif
