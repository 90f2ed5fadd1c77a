/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Unit of forms.sh: operations that have a NIC path, compiled in each form of it. */
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>

typedef struct forms_params {
	shmemd_ctx_t ctx;
	uint64_t *word;
	int *status;
} forms_params_t;

SHMEMD_KERNEL(forms_kernel, forms_params_t, p)
{
	int pe = shmemd_n_pes(&p.ctx) - 1 - shmemd_my_pe(&p.ctx);
	uint64_t old = 0;

	shmemd_putmem_signal_warp(&p.ctx, p.word, p.word + 1, 8, p.word + 2, 1, SHMEMD_SIGNAL_ADD,
				  pe);
	shmemd_p_u64(&p.ctx, p.word + 3, 1, pe);
	*p.status = shmemd_atomic_fetch_add_u64(&p.ctx, &old, p.word + 4, 1, pe);
	if (!*p.status)
		*p.status = shmemd_getmem(&p.ctx, p.word + 5, p.word + 6, 8, pe);
	*p.status = shmemd_quiet(&p.ctx);
}

int forms_launch(shmemh_t *job, uint64_t *word, int *status);

int forms_launch(shmemh_t *job, uint64_t *word, int *status)
{
	forms_params_t params;
	int error = shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &params.ctx);

	params.word = word;
	params.status = status;
	return error ? error : shmemd_launch(forms_kernel, 1, 32, 0, 0, params);
}
