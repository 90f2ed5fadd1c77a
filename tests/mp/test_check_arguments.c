/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A check build (SHMEMD_CHECK): different calls that meet at one barrier, groups larger than the
 * block, and transfers whose sides, or whose data and signal, cannot be what they are. */
#define SHMEMD_CHECK 1
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/strided.h>
#include <string.h>
#include "pes.h"

typedef struct argument_params {
	shmemd_ctx_t ctx;
	char *target; /* [64] symmetric */
	char *source; /* [64] symmetric */
	int which;    /* the call to make */
	int *result;  /* [2] of quiet, and of a later call that is right */
} argument_params_t;

static int argument_params(pes_t *pes, argument_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	PES_ALLOC(pes, p->target, char, 64, 0);
	PES_ALLOC(pes, p->source, char, 64, 1);
	PES_ALLOC(pes, p->result, int, 2, 0);
	return 0;
}

/* The latched status is that of this mistake, whose record has the operation and the value. Or, if
 * op is -1, there is no error. */
static int expect(pes_t *pes, const argument_params_t *p, uint64_t mistake, int op, uint64_t value)
{
	int *result = (int *)pes_read(pes, p->result, 2 * sizeof(*result));
	int want = op < 0 ? SHMEMD_OK : SHMEMD_ERR_BAD_ARGUMENT;
	shmemd_error_t err;

	if (result == NULL)
		return 1;
	PES_EQ(pes, result[0], want);
	PES_EQ(pes, result[1], SHMEMD_OK);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), want);
	if (op >= 0) {
		PES_EQ(pes, err.addr, mistake);
		PES_EQ(pes, err.op, (uint32_t)op);
		PES_EQ(pes, err.value, value);
	}
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	return 0;
}

enum { PUT_AND_QUIET, QUIET_AND_PUT, TWO_PUTS, FENCE_AND_WAIT, LARGE_GROUP, N_GROUPS };

/* 64 threads: the second warp makes another call than the first one. */
SHMEMD_FN void meet(const argument_params_t *p, int me, int is_second)
{
	uint64_t *sig = (uint64_t *)(void *)(p->target + 32);

	if (p->which == PUT_AND_QUIET + is_second)
		shmemd_putmem_block(&p->ctx, p->target, p->source, 8, me);
	else if (p->which == QUIET_AND_PUT - is_second)
		(void)shmemd_quiet_block(&p->ctx);
	else if (p->which == TWO_PUTS && !is_second)
		shmemd_putmem_block(&p->ctx, p->target, p->source, 8, me);
	else if (p->which == TWO_PUTS)
		shmemd_putmem_signal_block(&p->ctx, p->target, p->source, 8, sig, 1,
					   SHMEMD_SIGNAL_SET, me);
	else if (p->which == FENCE_AND_WAIT && !is_second)
		shmemd_fence_block(&p->ctx);
	else if (p->which == FENCE_AND_WAIT)
		(void)shmemd_signal_wait_until_block(&p->ctx, sig, SHMEMD_CMP_EQ, 0);
}

/* Later calls, which all threads make, are not refused, and find no thread at another barrier. */
SHMEMD_KERNEL(group_kernel, argument_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), is_second = shmemd_thread_index() >= 32, status;
	shmemd_group_t large = shmemd_warps(0, 4, 1);

	if (p.which == LARGE_GROUP)
		shmemd_putmem_group(&p.ctx, large, p.target, p.source, 8, me);
	else
		meet(&p, me, is_second);
	status = shmemd_getmem_block(&p.ctx, p.source, p.source + 32, 8, me);
	if (status != SHMEMD_OK)
		shmemd_arch_st_relaxed_u32((uint32_t *)(void *)&p.result[1], (uint32_t)status);
	status = shmemd_quiet_block(&p.ctx);
	if (shmemd_thread_index() == 0)
		p.result[0] = status;
}

/* A thread of the second warp records its call: it differs from that of the first thread. */
static int groups(pes_t *pes)
{
	static const int ops[N_GROUPS] = {SHMEMD_OP_QUIET, SHMEMD_OP_PUT, SHMEMD_OP_PUT_SIGNAL,
					  SHMEMD_OP_WAIT, SHMEMD_OP_PUT};
	argument_params_t p;
	shmemd_error_t err;
	char *target;

	if (argument_params(pes, &p))
		return 1;
	for (p.which = 0; p.which < N_GROUPS; p.which++) {
		uint64_t mistake =
			p.which == LARGE_GROUP ? SHMEMD_MISTAKE_GROUP : SHMEMD_MISTAKE_CALLS;

		PES_RUN(pes, group_kernel, 1, 64, p);
		PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_BAD_ARGUMENT);
		PES_EQ(pes, err.wanted, p.which == LARGE_GROUP ? 64 : 0);
		PES_CHECK(pes, err.value >= 32 && err.value <= 128);
		if (expect(pes, &p, mistake, ops[p.which], err.value))
			return 1;
		target = (char *)pes_read(pes, p.target, 1);
		PES_EQ(pes, target ? target[0] : 1, 0);
	}
	return 0;
}

enum {
	PUT_NULL,
	PUT_SIGNAL_NULL,
	GET_NULL,
	IPUT_NULL,
	PUT_OVERLAP,
	PUT_ITSELF,
	GET_OVERLAP,
	IPUT_OVERLAP,
	SIGNAL_BEHIND_DST,
	SIGNAL_BEFORE_DST,
	N_WRONG,
	NOTHING = N_WRONG,
	BESIDE,
	OTHER_PE,
	IPUT_GAPS,
	SIGNAL_BESIDE,
	SIGNAL_AHEAD,
	N_ALL
};

SHMEMD_FN void put_signal(const argument_params_t *p, int dst, int sig, int nbytes)
{
	shmemd_putmem_signal(&p->ctx, p->target + dst, p->source, (size_t)nbytes,
			     (uint64_t *)(void *)(p->target + sig), 1, SHMEMD_SIGNAL_SET,
			     shmemd_my_pe(&p->ctx));
}

/* Returns the status of a get; those of other calls are latched. */
SHMEMD_FN int transfer(const argument_params_t *p, int me, int other)
{
	uint64_t *sig = (uint64_t *)(void *)(p->target + 32);
	char *at = p->target;

	if (p->which == PUT_NULL || p->which == NOTHING)
		shmemd_putmem(&p->ctx, at, 0, p->which == PUT_NULL ? 8 : 0, me);
	else if (p->which == PUT_SIGNAL_NULL)
		shmemd_putmem_signal(&p->ctx, at, 0, 8, sig, 1, SHMEMD_SIGNAL_SET, me);
	else if (p->which == GET_NULL)
		return shmemd_getmem(&p->ctx, 0, p->source, 8, me);
	else if (p->which == IPUT_NULL)
		shmemd_iputmem(&p->ctx, at, 0, 2, 2, 4, 4, me);
	else if (p->which == PUT_OVERLAP || p->which == BESIDE)
		shmemd_putmem(&p->ctx, at + 8, at, p->which == PUT_OVERLAP ? 9 : 8, me);
	else if (p->which == PUT_ITSELF)
		shmemd_putmem(&p->ctx, at, at, 8, me);
	else if (p->which == OTHER_PE && me == 0)
		/* PE 0 alone: otherwise each PE would write what another one reads. */
		shmemd_putmem(&p->ctx, at, at, 8, other);
	else if (p->which == GET_OVERLAP)
		return shmemd_getmem(&p->ctx, at, at + 7, 8, me);
	else if (p->which == IPUT_OVERLAP)
		shmemd_iputmem(&p->ctx, at, at + 4, 1, 1, 4, 4, me);
	else if (p->which == IPUT_GAPS)
		shmemd_iputmem(&p->ctx, at, at + 4, 2, 2, 4, 4, me);
	else if (p->which == SIGNAL_BEHIND_DST || p->which == SIGNAL_BESIDE)
		put_signal(p, 0, 16, p->which == SIGNAL_BESIDE ? 16 : 17);
	else if (p->which == SIGNAL_BEFORE_DST)
		put_signal(p, 15, 8, 8);
	else if (p->which == SIGNAL_AHEAD)
		put_signal(p, 16, 8, 8);
	return SHMEMD_OK;
}

SHMEMD_KERNEL(transfer_kernel, argument_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);
	int status = transfer(&p, me, (me + 1) % shmemd_n_pes(&p.ctx));

	*p.result = status ? status : shmemd_quiet(&p.ctx);
}

static int transfers(pes_t *pes)
{
	static const struct {
		uint64_t mistake;
		int op;
		uint64_t value;
	} rows[N_WRONG] = {
		{SHMEMD_MISTAKE_SRC, SHMEMD_OP_PUT, 0},
		{SHMEMD_MISTAKE_SRC, SHMEMD_OP_PUT_SIGNAL, 0},
		{SHMEMD_MISTAKE_DST, SHMEMD_OP_GET, 0},
		{SHMEMD_MISTAKE_SRC, SHMEMD_OP_PUT, 0},
		{SHMEMD_MISTAKE_OVERLAP, SHMEMD_OP_PUT, 8},
		{SHMEMD_MISTAKE_OVERLAP, SHMEMD_OP_PUT, 0},
		{SHMEMD_MISTAKE_OVERLAP, SHMEMD_OP_GET, 7},
		{SHMEMD_MISTAKE_OVERLAP, SHMEMD_OP_PUT, 4},
		{SHMEMD_MISTAKE_SIGNAL, SHMEMD_OP_PUT_SIGNAL, 16},
		{SHMEMD_MISTAKE_SIGNAL, SHMEMD_OP_PUT_SIGNAL, (uint64_t)-7},
	};
	argument_params_t p;

	if (argument_params(pes, &p))
		return 1;
	for (p.which = 0; p.which < N_ALL; p.which++) {
		int is_wrong = p.which < N_WRONG;

		if (p.which == OTHER_PE && pes->n_pes == 1)
			continue;
		PES_RUN(pes, transfer_kernel, 1, 1, p);
		if (is_wrong ? expect(pes, &p, rows[p.which].mistake, rows[p.which].op,
				      rows[p.which].value)
			     : expect(pes, &p, 0, -1, 0))
			return 1;
	}
	return 0;
}

SHMEMD_KERNEL(channel_kernel, argument_params_t, p)
{
	shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, (uint32_t)p.which);

	p.result[1] = q.channel != 0;
	*p.result = shmemd_quiet(&p.ctx);
}

static int channels(pes_t *pes)
{
	argument_params_t p;

	if (pes->ctx.n_channels == 0)
		return pes_skip(pes, "the job has no channels");
	if (argument_params(pes, &p))
		return 1;
	p.which = (int)p.ctx.n_channels;
	PES_RUN(pes, channel_kernel, 1, 1, p);
	return expect(pes, &p, SHMEMD_MISTAKE_CHANNEL, SHMEMD_OP_NONE, p.ctx.n_channels);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(groups),
		PES_TEST(transfers),
		PES_TEST(channels),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
