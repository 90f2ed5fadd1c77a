/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Dispatch of tokens to experts with atomic slots: PE e has expert e. A warp sends each token: it
 * takes the next slot of the expert's inbox by a fetch-add on the expert's PE, writes the token
 * there, and announces it. An expert waits for as many as all PEs send it. */
#include "user.h"

#define TOKENS 12 /* of each PE */
#define WORDS 8   /* of a token */
#define CAPACITY (TOKENS * MAX_PES)

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *inbox;  /* [CAPACITY][WORDS], symmetric */
	uint64_t *taken;  /* [1] slots, symmetric */
	uint64_t *ready;  /* [1] tokens that have come, symmetric */
	uint64_t *tokens; /* [TOKENS][WORDS] */
	int *status;
	int mistake;
} params_t;

SHMEMD_FN int expert_of(const params_t *p, int pe, uint32_t token)
{
	return (int)(((uint32_t)pe + token) % (uint32_t)shmemd_n_pes(&p->ctx));
}

/* The next slot of the expert, for the whole warp. */
SHMEMD_FN uint32_t take_slot(const params_t *p, int expert)
{
	uint64_t slot = 0;

	if (shmemd_thread_index() % 32 == 0)
		keep(p->status, shmemd_atomic_fetch_add_u64(&p->ctx, &slot, p->taken, 1, expert));
	return (uint32_t)shmemd_arch_shfl_u64(0xffffffffu, slot, 0);
}

SHMEMD_FN void send(const params_t *p, uint32_t token)
{
	int expert = expert_of(p, shmemd_my_pe(&p->ctx), token);
	uint32_t slot = take_slot(p, expert), lane = shmemd_thread_index() % 32;
	const uint64_t *src = p->tokens + (size_t)token * WORDS;
	uint64_t *dst = p->inbox + (size_t)slot * WORDS;

	MISTAKE(1) /* counts the slots of all experts together */
	dst = p->inbox + ((size_t)expert * CAPACITY + slot) * WORDS;
	MISTAKE(2) /* each lane sends to the expert of a token of its own */
	expert = expert_of(p, shmemd_my_pe(&p->ctx), token + lane);
	MISTAKE(3)
	{ /* announces what need not be there yet */
		shmemd_putmem_nbi_warp(&p->ctx, dst, src, WORDS * 8, expert);
		if (lane == 0)
			shmemd_signal_op(&p->ctx, p->ready, 1, SHMEMD_SIGNAL_ADD, expert);
		return;
	}
	shmemd_putmem_signal_warp(&p->ctx, dst, src, WORDS * 8, p->ready, 1, SHMEMD_SIGNAL_ADD,
				  expert);
}

SHMEMD_KERNEL(dispatch, params_t, p)
{
	uint32_t warp = shmemd_thread_index() / 32, i;
	uint64_t value = 0;

	for (i = warp; i < TOKENS; i += shmemd_n_threads() / 32)
		send(&p, i);
	keep(p.status, shmemd_signal_wait_until_block(&p.ctx, p.ready, SHMEMD_CMP_EQ, TOKENS));
	/* Read by g, so that the emulator's weak memory covers it. */
	for (i = shmemd_thread_index(); i < TOKENS; i += shmemd_n_threads()) {
		keep(p.status, shmemd_g_u64(&p.ctx, &value, p.inbox + (size_t)i * WORDS,
					    shmemd_my_pe(&p.ctx)));
		if (value == 0)
			keep(p.status, WRONG);
	}
	keep(p.status, shmemd_quiet_block(&p.ctx));
}

/* Each PE gets TOKENS tokens; their sum is known if their order is not. */
static int check(shmemh_t *job, const params_t *p)
{
	uint64_t inbox[TOKENS * WORDS], sum = 0, want = 0;
	int me = shmemh_my_pe(job), n = shmemh_n_pes(job), i, pe, t;

	RUN_TRY(job, run_copy(inbox, p->inbox, sizeof(inbox)));
	for (i = 0; i < TOKENS * WORDS; i++) {
		if (inbox[i] != inbox[i / WORDS * WORDS])
			return wrong(job, "word", i, inbox[i], inbox[i / WORDS * WORDS]);
		sum += inbox[i];
	}
	for (pe = 0; pe < n; pe++)
		for (t = 0; t < TOKENS; t++)
			want += (pe + t) % n == me ? WORDS * (uint64_t)(1 + pe * TOKENS + t) : 0;
	return sum == want ? 0 : wrong(job, "sum of expert", me, sum, want);
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	uint64_t tokens[TOKENS * WORDS];
	params_t p = {.mistake = mistake_of(argc, argv)};
	int i, me = shmemh_my_pe(job);

	RUN_TRY(job, shmemh_calloc(job, CAPACITY * WORDS, 8, (void **)&p.inbox));
	RUN_TRY(job, shmemh_calloc(job, 1, 8, (void **)&p.taken));
	RUN_TRY(job, shmemh_calloc(job, 1, 8, (void **)&p.ready));
	RUN_TRY(job, shmemh_malloc(job, sizeof(tokens), (void **)&p.tokens));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(int), (void **)&p.status));
	if (p.mistake != 4) /* forgets to ask for the context */
		RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	if (p.mistake == 5) /* the counter is not symmetric */
		RUN_TRY(job, run_host_alloc((void **)&p.taken, 8));
	for (i = 0; i < TOKENS * WORDS; i++)
		tokens[i] = (uint64_t)(1 + me * TOKENS + i / WORDS);
	RUN_TRY(job, run_copy(p.tokens, tokens, sizeof(tokens)));
	RUN_TRY(job, shmemh_barrier(job));
	RUN_TRY(job, run_device(shmemd_launch(dispatch, 1, 128, 0, NULL, p)));
	if (finish(job, p.status) != 0)
		return 1;
	RUN_TRY(job, shmemh_barrier(job));
	return check(job, &p);
}

int main(int argc, char **argv)
{
	return run_main(argc, argv, pe_main);
}
