/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Unit one of two_units.sh: all device headers, the optional state too, and the host API. */
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/state.h>
#include <shmem_dev/typed.h>
#include <shmem_host/shmem_host.h>

typedef struct one_params {
	shmemd_ctx_t ctx;
	uint64_t *word;
	int *status;
} one_params_t;

SHMEMD_KERNEL(unit_one_kernel, one_params_t, p)
{
	SHMEMD_SHARED(uint64_t, 32, scratch);
	int pe = shmemd_n_pes(&p.ctx) - 1 - shmemd_my_pe(&p.ctx);

	scratch[shmemd_thread_index() % 32] = shmemd_thread_index();
	shmemd_group_sync(shmemd_block());
	shmemd_uint64_put_signal_block(&p.ctx, p.word, scratch, 32, p.word + 32, 1,
				       SHMEMD_SIGNAL_ADD, pe);
	*p.status = shmemd_barrier_block(&p.ctx);
}

SHMEMD_KERNEL(unit_one_state_kernel, one_params_t, p)
{
	shmemd_double_p(shmemd_state(), (double *)p.word, 0.5, 0);
	*p.status = shmemd_long_wait_until(shmemd_state(), (long *)p.word, SHMEMD_CMP_NE, 0);
}

int unit_two(const shmemd_ctx_t *ctx, shmemd_stream_t stream);

/* Linked, not run. */
int main(void)
{
	one_params_t params = {};
	int status = shmemd_launch(unit_one_kernel, 1, 64, 0, 0, params);

	if (!status)
		status = shmemd_state_set(&params.ctx);
	if (!status)
		status = shmemd_launch(unit_one_state_kernel, 1, 1, 0, 0, params);
	return status ? status : unit_two(&params.ctx, 0);
}
