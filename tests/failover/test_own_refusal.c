/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The NIC refuses a request of a PE to itself, where one queue pair sends and answers: its refusal
 * moves the queue pair to ERR, and the request is flushed. The program gets SHMEMD_ERR_REFUSED at
 * once, with fail-over and without: the request is not repeated on another path. Channels to other
 * PEs go on. */
#include <string.h>
#include <time.h>
#include <shmem_host/device.h>
#include <shmem_host/fault.h>
#include "pes.h"

typedef struct refused_params {
	shmemd_ctx_t ctx;
	char *outside; /* in the reserved heap, behind all that is allocated */
	uint64_t *word;
	uint64_t *sent; /* signal of the PE before */
	uint64_t *results;
	int *status;
} refused_params_t;

/* Every PE another request. Waits have no limit: a limit would end them too. */
SHMEMD_FN int refused_request(const refused_params_t *p, int me)
{
	uint64_t old;

	if (me % 3 == 0) {
		shmemd_putmem(&p->ctx, p->outside, p->word, 64, me);
		return shmemd_quiet(&p->ctx);
	}
	if (me % 3 == 1)
		return shmemd_getmem(&p->ctx, &old, p->outside, sizeof(old), me);
	return shmemd_atomic_fetch_add_u64(&p->ctx, &old, (uint64_t *)((char *)p->word + 4), 1, me);
}

SHMEMD_KERNEL(refused_kernel, refused_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx);

	p.results[0] = (uint64_t)refused_request(&p, me);
	shmemd_putmem_signal(&p.ctx, p.word + 8, p.word, 8, p.sent, 1, SHMEMD_SIGNAL_SET,
			     (me + 1) % n);
	p.results[1] = (uint64_t)shmemd_signal_wait_until_from(&p.ctx, p.sent, SHMEMD_CMP_GE, 1,
							       (me + n - 1) % n);
}

/* The status comes first; then the agent learns that the device has ended the channel. */
static int check_end(pes_t *pes)
{
	const struct timespec ms = {0, 1000000};
	shmemh_fault_info_t info;
	shmemd_error_t error;

	PES_EQ(pes, shmemh_error_get(pes->job, &error), SHMEMD_ERR_REFUSED);
	PES_EQ(pes, error.pe, pes->pe);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	if (shmemh_fault_policy(pes->job, NULL, 0) != SHMEMH_FAULT_EXACT)
		return 0;
	info.size = sizeof info;
	PES_TRY(pes, shmemh_fault_get(pes->job, pes->pe, 0, &info));
	while (info.state != SHMEMH_FAULT_ENDED) {
		nanosleep(&ms, NULL);
		PES_TRY(pes, shmemh_fault_get(pes->job, pes->pe, 0, &info));
	}
	PES_EQ(pes, info.status, SHMEMD_ERR_REFUSED);
	PES_EQ(pes, info.cause, SHMEMH_FAULT_BY_PROGRAM);
	PES_EQ(pes, info.switches, 0);
	return 0;
}

static int refused_by_itself(pes_t *pes)
{
	const uint64_t *results;
	refused_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.outside = (char *)p.ctx.heap + p.ctx.heap_nbytes;
	PES_ALLOC(pes, p.word, uint64_t, 16, 0);
	PES_ALLOC(pes, p.sent, uint64_t, 1, 0);
	PES_ALLOC(pes, p.results, uint64_t, 2, 0);
	PES_RUN(pes, refused_kernel, 1, 1, p);
	results = (const uint64_t *)pes_read(pes, p.results, 2 * sizeof(uint64_t));
	if (!results)
		return 1;
	PES_EQ(pes, results[0], SHMEMD_ERR_REFUSED);
	PES_EQ(pes, results[1], SHMEMD_OK);
	return check_end(pes);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(refused_by_itself)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
