/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* group.h: values that the threads of a group exchange, and the status on which they agree, which
 * some thread of them has. */
#include <string.h>
#include "pes.h"
#include "scopes.h"
#include <shmem_dev/impl/poll.h>

#define N_CASES 6

typedef struct group_params {
	shmemd_ctx_t ctx;
	int scope;
	int *status;
} group_params_t;

/* The status of thread rank of size. */
SHMEMD_FN int status_of(int which, uint32_t rank, uint32_t size)
{
	switch (which) {
	case 0:
		return SHMEMD_OK;
	case 1: /* one, not the leader */
		return rank == size - 1 ? SHMEMD_ERR_PEER : SHMEMD_OK;
	case 2: /* two statuses without a common bit, whose OR no thread has */
		return rank % 2 ? SHMEMD_ERR_TIMEOUT : SHMEMD_ERR_COLLECTIVE;
	case 3: /* the leader's is the lower one */
		return rank == 0 ? SHMEMD_ERR_PEER : SHMEMD_ERR_BAD_ARGUMENT;
	case 4:
		return rank == 0 ? SHMEMD_ERR_BAD_ARGUMENT : SHMEMD_ERR_PEER;
	default:
		return 1 + (int)(rank % SHMEMD_ERR_BAD_ARGUMENT);
	}
}

SHMEMD_KERNEL(group_kernel, group_params_t, p)
{
	shmemd_group_t g;
	uint32_t one;
	int i;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	/* Each thread is once the only one that passes true; then no thread does. */
	for (one = 0; one <= g.size; one++) {
		int any = shmemd_group_any(g, g.rank == one ? 0x100 : 0);

		scope_report(p.status, 0, (any != 0) == (one < g.size) ? 0 : WRONG_VALUE);
	}
	for (i = 0; i < N_CASES; i++) {
		int want = 0, agreed = shmemdi_agree(g, status_of(i, g.rank, g.size));

		for (one = 0; one < g.size; one++) {
			int status = status_of(i, one, g.size);

			want = status > want ? status : want;
		}
		scope_report(p.status, 1 + i, agreed == want ? 0 : WRONG_VALUE + agreed);
	}
}

static int any_and_agree(pes_t *pes)
{
	group_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++)
		PES_RUN(pes, group_kernel, 1, SCOPE_NTHREADS, p);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(any_and_agree),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
