/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* packed.h: values arrive whole and with their epochs at every PE, from one thread and from all
 * lanes of a warp; a slot that holds another epoch is not taken, and a wait for it ends by its
 * limit; zeroed memory holds epoch 0. */
#include <string.h>
#include "pes.h"
#include "scopes.h"

#define LANES 32
#define MEMBERS 8 /* at most */
#define ROUNDS 100
#define FIRST_EPOCH 0xfffffff0u /* epochs wrap round */
#define UNTOUCHED 0x5555555555555555ull

typedef struct packed_params {
	shmemd_ctx_t ctx;
	shmemd_packed_t *slots; /* [round % 2][PE that sends][lane] */
	uint32_t n_rounds;
	int *status;
} packed_params_t;

/* Both halves differ from one round to the next, and between senders and lanes. */
SHMEMD_FN uint64_t value_of(int from, uint32_t lane, uint32_t round)
{
	return (round + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)from * 0x0000010000000100ull + lane;
}

SHMEMD_FN shmemd_packed_t *slot_of(const packed_params_t *p, int from, uint32_t lane,
				   uint32_t round)
{
	return &p->slots[(round % 2 * MEMBERS + (uint32_t)from) * LANES + lane];
}

/* All to all. Who has the values of a round from all PEs knows that they have read those of the
 * round before, so two slots in turn are enough. */
SHMEMD_KERNEL(exchange, packed_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), pe;
	uint32_t lane = shmemd_thread_index(), round, epoch;
	uint64_t value;

	for (round = 0; round < p.n_rounds; round++) {
		epoch = FIRST_EPOCH + round;
		for (pe = 0; pe < n; pe++) {
			value = UNTOUCHED;
			scope_report(p.status, 0,
				     shmemd_test_packed(&p.ctx, &value,
							slot_of(&p, me, lane, round), epoch + 1));
			scope_report(p.status, 1, value == UNTOUCHED ? 0 : WRONG_VALUE);
			shmemd_put_packed(&p.ctx, slot_of(&p, me, lane, round),
					  value_of(me, lane, round), epoch, pe);
		}
		for (pe = 0; pe < n; pe++) {
			scope_report(p.status, 2,
				     shmemd_wait_packed(&p.ctx, &value,
							slot_of(&p, pe, lane, round), epoch));
			scope_report(p.status, 3,
				     value == value_of(pe, lane, round) ? 0 : WRONG_VALUE);
			scope_report(p.status, 4,
				     !shmemd_test_packed(&p.ctx, &value,
							 slot_of(&p, pe, lane, round), epoch));
		}
	}
	scope_report(p.status, 5, shmemd_quiet(&p.ctx));
}

static int exchange_by(pes_t *pes, unsigned n_threads)
{
	packed_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.n_rounds = pes->seed == 0 && !pes->is_slow ? ROUNDS : 20;
	PES_ALLOC(pes, p.slots, shmemd_packed_t, 2 * MEMBERS * LANES, 0);
	PES_RUN(pes, exchange, 1, n_threads, p);
	return 0;
}

static int by_thread(pes_t *pes)
{
	return exchange_by(pes, 1);
}

static int by_warp(pes_t *pes)
{
	return exchange_by(pes, LANES);
}

#define N_OLD 64

SHMEMD_KERNEL(leave_epochs, packed_params_t, p)
{
	uint32_t i;

	for (i = 0; i < N_OLD; i++)
		shmemd_put_packed(&p.ctx, &p.slots[i], 1000 + i, 1, shmemd_my_pe(&p.ctx));
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
}

SHMEMD_KERNEL(find_no_epoch, packed_params_t, p)
{
	uint64_t value = UNTOUCHED;
	uint32_t i;

	for (i = 0; i < N_OLD; i++) {
		scope_report(p.status, 1, shmemd_test_packed(&p.ctx, &value, &p.slots[i], 1));
		scope_report(p.status, 2, !shmemd_test_packed(&p.ctx, &value, &p.slots[i], 0));
		scope_report(p.status, 3, value == 0 ? 0 : WRONG_VALUE);
	}
}

/* Memory that held values, was freed and is allocated again by shmemh_calloc: epoch 0. That of
 * shmemh_malloc may still hold them. */
static int zeroed_slots(pes_t *pes)
{
	packed_params_t p;
	void *old, *slots;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_TRY(pes, shmemh_malloc(pes->job, N_OLD * sizeof(shmemd_packed_t), &old));
	p.slots = (shmemd_packed_t *)old;
	PES_RUN(pes, leave_epochs, 1, 1, p);
	PES_TRY(pes, shmemh_barrier(pes->job));
	PES_TRY(pes, shmemh_free(pes->job, old));
	PES_TRY(pes, shmemh_calloc(pes->job, N_OLD, sizeof(shmemd_packed_t), &slots));
	PES_CHECK(pes, slots == old);
	p.slots = (shmemd_packed_t *)slots;
	PES_RUN(pes, find_no_epoch, 1, 1, p);
	PES_TRY(pes, shmemh_free(pes->job, slots));
	return 0;
}

/* A wait with a limit ends by the value, or without it by the limit, of which nothing is recorded.
 */
SHMEMD_KERNEL(limited, packed_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx);
	shmemd_packed_t *slot = slot_of(&p, me, 0, 0);
	uint64_t limits[] = {0, 1000}, value = UNTOUCHED;
	uint32_t i;

	for (i = 0; i < 2; i++) {
		scope_report(
			p.status, 0,
			shmemd_wait_packed_for(&p.ctx, &value, slot_of(&p, (me + n - 1) % n, 0, 0),
					       FIRST_EPOCH + 1, limits[i]) == SHMEMD_ERR_TIMEOUT
				? 0
				: WRONG_VALUE);
		scope_report(p.status, 1, value == UNTOUCHED ? 0 : WRONG_VALUE);
	}
	shmemd_put_packed(&p.ctx, slot, value_of(me, 0, 0), FIRST_EPOCH, (me + 1) % n);
	scope_report(p.status, 2,
		     shmemd_wait_packed_for(&p.ctx, &value, slot_of(&p, (me + n - 1) % n, 0, 0),
					    FIRST_EPOCH, PES_LIMIT_NS));
	scope_report(p.status, 3, value == value_of((me + n - 1) % n, 0, 0) ? 0 : WRONG_VALUE);
	scope_report(p.status, 5, shmemd_quiet(&p.ctx));
}

static int limit(pes_t *pes)
{
	packed_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.slots, shmemd_packed_t, 2 * MEMBERS * LANES, 0);
	PES_RUN(pes, limited, 1, 1, p);
	PES_EQ(pes, shmemh_error_get(pes->job, NULL), SHMEMD_OK);
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(by_thread),
		PES_TEST(by_warp),
		PES_TEST(zeroed_slots),
		PES_TEST(limit),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
