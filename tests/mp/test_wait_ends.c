/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The ways in which a wait ends: a signal, also one sent just before its sender's death; the death
 * of a PE, if the wait is for that PE; a time limit. Words of the test simulate the host's reports.
 */
#include <shmem_dev/wait_sets.h>
#include <stdlib.h>
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define SHORT_NS 20000
#define SEEN 5 /* the value of sig, and a value that it never has */
#define NEVER 6

typedef struct ends_params {
	shmemd_ctx_t ctx;          /* the job's */
	shmemd_ctx_t own;          /* the same with the two words below and a limit of the test */
	shmemd_ctx_t *device_copy; /* [1] own in memory of the device, where long waits read it */
	uint64_t *abort_word;      /* [1] */
	uint32_t *causes;          /* [n_pes] */
	uint64_t *sig;             /* [1] */
	uint64_t *ack;             /* [1] rounds that the waiter has finished */
	int from, want, form;
	int *status;
} ends_params_t;

static int ends_params(pes_t *pes, ends_params_t *p)
{
	memset(p, 0, sizeof(*p));
	p->ctx = pes->ctx;
	p->own = pes->ctx;
	p->status = pes->status;
	PES_ALLOC(pes, p->abort_word, uint64_t, 1, 0);
	PES_ALLOC(pes, p->causes, uint32_t, (size_t)pes->n_pes, 0);
	PES_ALLOC(pes, p->sig, uint64_t, 1, 0);
	PES_ALLOC(pes, p->ack, uint64_t, 1, 0);
	PES_ALLOC(pes, p->device_copy, shmemd_ctx_t, 1, 0);
	p->own.abort_word = p->abort_word;
	p->own.causes = p->causes;
	p->own.device_copy = p->device_copy;
	PES_TRY(pes, run_copy(p->device_copy, &p->own, sizeof(p->own)));
	return 0;
}

static int set_limit(pes_t *pes, ends_params_t *p, uint64_t timeout_ns)
{
	p->own.timeout_ns = timeout_ns;
	PES_TRY(pes, run_copy(p->device_copy, &p->own, sizeof(p->own)));
	return 0;
}

/* Block 1 signals and then ends, round after round, each time one poll later: in some rounds both
 * happen between the last poll of the loop in block 0 and its check of the abort word. */
#define LAST_ROUNDS 140u

SHMEMD_FN void signal_and_end(const ends_params_t *p, uint64_t round)
{
	int me = shmemd_my_pe(&p->ctx);
	uint64_t i;

	for (i = 0; i < round; i++)
		shmemd_arch_spin_hint();
	shmemd_p_u64(&p->ctx, p->sig, round, me);
	shmemd_fence(&p->ctx);
	shmemd_p_u64(&p->ctx, p->abort_word, SHMEMD_ABORT_WORD(0, SHMEMD_CAUSE_DIED), me);
	scope_report(
		p->status, 1,
		shmemd_wait_until_for_u64(&p->ctx, p->ack, SHMEMD_CMP_GE, round, PES_LIMIT_NS));
}

SHMEMD_KERNEL(last_kernel, ends_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);
	uint64_t round;

	for (round = 1; round <= LAST_ROUNDS; round++) {
		if (shmemd_block_index() == 1) {
			signal_and_end(&p, round);
			continue;
		}
		scope_report(p.status, 0,
			     shmemd_wait_until_for_u64(&p.own, p.sig, SHMEMD_CMP_GE, round,
						       PES_LIMIT_NS));
		shmemd_wait_until_for_u64(&p.ctx, p.abort_word, SHMEMD_CMP_NE, 0, PES_LIMIT_NS);
		shmemd_p_u64(&p.ctx, p.abort_word, 0, me);
		/* before the next wait checks it */
		scope_report(p.status, 2, shmemd_quiet(&p.ctx));
		shmemd_p_u64(&p.ctx, p.ack, round, me);
	}
}

static int signal_before_the_end(pes_t *pes)
{
	ends_params_t p;

	if (ends_params(pes, &p))
		return 1;
	PES_RUN(pes, last_kernel, 2, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	return 0;
}

/* Wait for a word that does not change: for any PE, or only for PE from. form: as an array of one
 * word, for all, any or some of it. */
enum { WORD, ALL, ANY, SOME, N_FORMS };

SHMEMD_FN int end_of_wait(const ends_params_t *p, size_t *found)
{
	size_t indices[1];

	switch (p->form) {
	case ALL:
		return shmemd_wait_until_all_u64(&p->own, p->sig, 1, 0, SHMEMD_CMP_EQ, NEVER);
	case ANY:
		return shmemd_wait_until_any_u64(&p->own, found, p->sig, 1, 0, SHMEMD_CMP_EQ,
						 NEVER);
	case SOME:
		return shmemd_wait_until_some_u64(&p->own, found, p->sig, 1, indices, 0,
						  SHMEMD_CMP_EQ, NEVER);
	default:
		if (p->from >= 0)
			return shmemd_signal_wait_until_from(&p->own, p->sig, SHMEMD_CMP_EQ, NEVER,
							     p->from);
		return shmemd_signal_wait_until(&p->own, p->sig, SHMEMD_CMP_EQ, NEVER);
	}
}

SHMEMD_KERNEL(end_kernel, ends_params_t, p)
{
	size_t found = 77, nothing = p.form == ANY ? ~(size_t)0 : p.form == SOME ? 0 : 77;
	int status = end_of_wait(&p, &found);

	scope_report(p.status, 0, status == p.want ? 0 : WRONG_VALUE + status);
	scope_report(p.status, 1, found == nothing ? 0 : WRONG_VALUE);
}

/* Check that one such wait ends with want and that the record agrees and names PE pe. */
static int expect_form(pes_t *pes, ends_params_t *p, int from, int want, int pe)
{
	shmemd_error_t err;

	p->from = from;
	p->want = want;
	PES_RUN(pes, end_kernel, 1, 1, *p);
	PES_EQ(pes, shmemh_error_get(pes->job, &err), want);
	PES_EQ(pes, err.op, SHMEMD_OP_WAIT);
	PES_EQ(pes, err.pe, pe);
	PES_EQ(pes, err.addr, (uintptr_t)p->sig);
	PES_EQ(pes, err.value, SEEN);
	PES_EQ(pes, err.wanted, NEVER);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	return 0;
}

static int expect_end(pes_t *pes, ends_params_t *p, int from, int want, int pe)
{
	int failed = 0;

	for (p->form = 0; p->form < (from < 0 ? N_FORMS : 1) && !failed; p->form++)
		failed = expect_form(pes, p, from, want, pe);
	return failed;
}

SHMEMD_KERNEL(who_kernel, ends_params_t, p)
{
	scope_report(p.status, 0, shmemd_failed_pe(&p.own) == p.from ? 0 : WRONG_VALUE);
	scope_report(p.status, 1, shmemd_failed_cause(&p.own) == p.want ? 0 : WRONG_VALUE);
}

/* PE gone (-1: this PE has lost the connection to all) is reported as gone, which ends the waits
 * for it. */
static int gone_by_cause(pes_t *pes, ends_params_t *p, int gone, uint32_t cause)
{
	uint32_t *causes = (uint32_t *)calloc((size_t)pes->n_pes, sizeof(*causes));
	uint64_t word = SHMEMD_ABORT_WORD(gone, cause);
	int pe, failed = 0;

	for (pe = 0; pe < pes->n_pes; pe++)
		causes[pe] = gone < 0 || pe == gone ? cause : (uint32_t)SHMEMD_CAUSE_NONE;
	PES_TRY(pes, run_copy(p->abort_word, &word, sizeof(word)));
	PES_TRY(pes, run_copy(p->causes, causes, (size_t)pes->n_pes * sizeof(*causes)));
	p->from = gone;
	p->want = (int)cause;
	PES_RUN(pes, who_kernel, 1, 1, *p);
	failed = set_limit(pes, p, 0) || expect_end(pes, p, -1, SHMEMD_ERR_PEER, gone);
	for (pe = 0; pe < pes->n_pes && !failed; pe++) {
		int lives = causes[pe] == SHMEMD_CAUSE_NONE;

		failed = set_limit(pes, p, lives ? SHORT_NS : 0) ||
			 expect_end(pes, p, pe, lives ? SHMEMD_ERR_TIMEOUT : SHMEMD_ERR_PEER, pe);
	}
	free(causes);
	return failed;
}

static int end_of_a_pe(pes_t *pes)
{
	uint64_t seen = SEEN;
	ends_params_t p;

	if (pes->seed > 2)
		return 0; /* one thread of one PE alone: schedules make no difference */
	if (ends_params(pes, &p))
		return 1;
	PES_TRY(pes, run_copy(p.sig, &seen, sizeof(seen)));
	return gone_by_cause(pes, &p, pes->n_pes - 1, SHMEMD_CAUSE_DIED) ||
	       gone_by_cause(pes, &p, 0, SHMEMD_CAUSE_LEFT) ||
	       gone_by_cause(pes, &p, -1, SHMEMD_CAUSE_CUT_OFF);
}

/* The default limit is recorded when it ends a wait; a limit of the caller is not. */
SHMEMD_KERNEL(zero_kernel, ends_params_t, p)
{
	int status = shmemd_wait_until_for_u64(&p.own, p.sig, SHMEMD_CMP_EQ, NEVER, 0);

	scope_report(p.status, 0, status == SHMEMD_ERR_TIMEOUT ? 0 : WRONG_VALUE + status);
}

/* No limit, the longest limit, and one of more than 32 bits: the word ends the wait after a while.
 */
SHMEMD_KERNEL(patient_kernel, ends_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx);

	switch (shmemd_block_index()) {
	case 0:
		shmemd_wait_until_for_u64(&p.ctx, p.sig, SHMEMD_CMP_EQ, NEVER, SHORT_NS);
		shmemd_p_u64(&p.ctx, p.ack, 1, me);
		break;
	case 1:
		scope_report(p.status, 1, shmemd_wait_until_u64(&p.own, p.ack, SHMEMD_CMP_EQ, 1));
		break;
	default:
		scope_report(p.status, 2,
			     shmemd_wait_until_for_u64(&p.ctx, p.ack, SHMEMD_CMP_EQ, 1,
						       shmemd_block_index() == 2 ? UINT64_MAX
										 : 1ull << 32));
	}
}

static int time_limits(pes_t *pes)
{
	uint64_t seen = SEEN;
	ends_params_t p;

	if (ends_params(pes, &p))
		return 1;
	PES_TRY(pes, run_copy(p.sig, &seen, sizeof(seen)));
	PES_RUN(pes, zero_kernel, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
	if (set_limit(pes, &p, SHORT_NS) || expect_end(pes, &p, -1, SHMEMD_ERR_TIMEOUT, -1) ||
	    set_limit(pes, &p, 0))
		return 1;
	PES_RUN(pes, patient_kernel, 4, 1, p);
	return 0;
}

/* A sync that PE 0 never calls: the record names the missing PE. That sync memory is not used
 * again. */
SHMEMD_KERNEL(missing_kernel, ends_params_t, p)
{
	int status = shmemd_my_pe(&p.own) == 0 ? SHMEMD_ERR_TIMEOUT : shmemd_sync(&p.own);

	scope_report(p.status, 0, status == SHMEMD_ERR_TIMEOUT ? 0 : WRONG_VALUE + status);
	scope_report(p.status, 1, shmemd_quiet(&p.ctx)); /* the flags are delivered */
}

static int missing_in_sync(pes_t *pes)
{
	shmemd_error_t err;
	ends_params_t p;

	if (ends_params(pes, &p))
		return 1;
	PES_ALLOC(pes, p.own.sync, uint64_t, SHMEMD_SYNC_WORDS((size_t)pes->n_pes), 0);
	if (set_limit(pes, &p, SHORT_NS))
		return 1;
	/* Kernels that share a GPU may start later than the limit after each other, and flags may
	 * take longer, so any PE may be missing in the first run. The second repeats the sync when
	 * the flags of all others have been delivered. */
	PES_RUN(pes, missing_kernel, 1, 1, p);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_RUN(pes, missing_kernel, 1, 1, p);
	if (pes->pe == 0)
		return 0;
	PES_EQ(pes, shmemh_error_get(pes->job, &err), SHMEMD_ERR_TIMEOUT);
	PES_EQ(pes, err.op, SHMEMD_OP_SYNC);
	PES_EQ(pes, err.pe, 0);
	PES_TRY(pes, shmemh_error_clear(pes->job));
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(signal_before_the_end),
		PES_TEST(end_of_a_pe),
		PES_TEST(time_limits),
		PES_TEST(missing_in_sync),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
