/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All legal variations of hardware at random, with packets lost: results equal those of sequential
 * execution, and the executed operations are a prefix. */
#include <stdlib.h>
#include "../common/sanitized.h"
#include "fixture.h"
#include "mlx5sw/inject/fault.h"
#include "mlx5sw/engine/requester.h"

#define ALL_CHAOS                                                                                  \
	(MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_FETCH | MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_TEAR |        \
	 MLX5SW_CHAOS_DUP_WRITE | MLX5SW_CHAOS_ATOMIC)
#define N_OPS 40
#define SOURCE 0u       /* random bytes, constant */
#define CONSTANT 20000u /* area of the peer that READs read */
#define TARGET 30000u   /* area of the peer that WRITEs and atomics change */
#define RESULTS 40000u  /* areas of 5000 bytes each, used in turn */
#define N_RESULTS 4u

static adapter_end_t ends[2];
static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

/* The operations of one end, and their expected results. */
typedef struct side {
	adapter_end_t *e, *peer;
	uint8_t *model; /* expected content of the peer's target area, 8192 bytes */
	uint64_t expected[N_OPS];
	uint32_t n_done, reads[N_OPS];
	uint8_t ops[N_OPS];
	uint16_t at[N_OPS];
} side_t;

static void post_atomic(side_t *s, uint32_t i)
{
	const uint64_t operands[2] = {draw(1000), 0x8080};
	const uint32_t off = 8 * draw(8);
	uint64_t old;

	memcpy(&old, s->model + off, 8);
	s->expected[i] = old;
	s->ops[i] = OP_MASKED_FA;
	s->at[i] = adapter_atomic(s->e, s->peer, OP_MASKED_FA, 8, operands,
				  RESULTS + 5000 * (i % N_RESULTS), TARGET + off, SIGNALLED);
	old = mlx5swi_atomic(OP_MASKED_FA, 8, (uint64_t[4]){operands[0], operands[1]}, old);
	memcpy(s->model + off, &old, 8);
}

static void post_write(side_t *s, uint32_t i)
{
	const uint32_t from = draw(3000), to = draw(5000), n = draw(3) ? draw(40) : draw(3000);

	s->ops[i] = OP_WRITE;
	memcpy(s->model + to, s->e->memory + from, n);
	s->at[i] = n <= 40 && draw(2)
			   ? adapter_write_inline(s->e, s->peer, TARGET + to, s->e->memory + from,
						  n, SIGNALLED)
			   : adapter_write(s->e, s->peer, from, TARGET + to, n, SIGNALLED);
}

static void post(side_t *s, uint32_t i)
{
	switch (draw(4)) {
	case 0:
		post_atomic(s, i);
		break;
	case 1:
		s->ops[i] = OP_READ;
		s->reads[i] = 1 + draw(4000);
		s->at[i] = adapter_read(s->e, s->peer, RESULTS + 5000 * (i % N_RESULTS), CONSTANT,
					s->reads[i], SIGNALLED);
		break;
	default:
		post_write(s, i);
	}
}

static void check_done(side_t *s)
{
	const uint32_t i = s->n_done++;
	const uint8_t *result = s->e->memory + RESULTS + 5000 * (i % N_RESULTS);

	adapter_expect(s->e, s->at[i], s->ops[i]);
	if (s->ops[i] == OP_MASKED_FA)
		assert_memory_equal(result, &s->expected[i], 8);
	if (s->ops[i] == OP_READ)
		assert_memory_equal(result, s->peer->memory + CONSTANT, s->reads[i]);
}

static void side_start(side_t *s, int i)
{
	memset(s, 0, sizeof(*s));
	s->e = &ends[i];
	s->peer = &ends[!i];
	s->model = calloc(1, 8192);
	assert_non_null(s->model);
	for (uint32_t k = 0; k < 30000; k++)
		s->e->memory[k] = (uint8_t)draw(256);
}

/* The order that requester.h defines. */
static void check_order(const adapter_end_t *e)
{
	const struct mlx5swi_requester *r = e->qp->requester;

	assert_true(r->acked - r->head <= r->fetched - r->head);
	assert_true(r->at - r->acked <= r->fetched - r->acked);
	assert_true(r->fresh - r->at <= r->fetched - r->at);
}

/* Keeps at most as many results in flight as there are result areas. */
static void side_run(side_t *s)
{
	uint32_t n_posted = 0;

	while (s->n_done < N_OPS) {
		uint32_t n = draw(N_RESULTS) + 1;

		for (; n && n_posted < N_OPS && n_posted - s->n_done < N_RESULTS; n--)
			post(s, n_posted++);
		adapter_ring(s->e);
		for (n = draw(100); n; n--) {
			mlx5sw_step();
			check_order(s->e);
		}
		if (draw(2))
			adapter_idle();
		while (s->n_done < n_posted &&
		       adapter_slot(s->e, s->n_done % 64).opcode != CQE_INVALID)
			check_done(s);
	}
	adapter_idle();
	assert_memory_equal(s->peer->memory + TARGET, s->model, 8192);
	free(s->model);
}

static void lose_packets(unsigned n)
{
	while (n--) {
		const mlx5swi_rule_t rule = {.fault = draw(2) ? MLX5SWI_DROP : MLX5SWI_DUPLICATE,
					     .host = draw(2),
					     .device = MLX5SWI_ANY,
					     .qpn = MLX5SWI_ANY,
					     .index = MLX5SWI_ANY,
					     .opcode = MLX5SWI_ANY,
					     .after = draw(60),
					     .left = 1 + draw(2)};

		assert_int_equal(mlx5swi_rule_add(&rule), 0);
	}
}

static void results_equal_sequential_execution(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= (SANITIZED ? 150 : 400); seed++) {
		mlx5sw_config_t cfg = adapter_config();
		side_t s;

		/* Without repeated WRITEs: the WRITEs overlap, so a repeated one would change the
		 * result. */
		cfg.chaos = (seed % 2 ? ALL_CHAOS : (uint32_t)seed / 2) & ALL_CHAOS &
			    ~MLX5SW_CHAOS_DUP_WRITE;
		cfg.doorbells = (uint8_t)(seed % 3);
		cfg.start_index = (uint16_t)(seed * 7919);
		state = seed;
		adapter_start(&cfg);
		adapter_seed = seed;
		adapter_make(&ends[0], &(adapter_spec_t){.sq_wqebbs = 8});
		adapter_make(&ends[1], &(adapter_spec_t){.host = 1});
		adapter_connect(&ends[0], &ends[1]);
		lose_packets((unsigned)seed % 4); /* at most as many as 7 retries cover */
		side_start(&s, 0);
		for (uint32_t k = 0; k < 30000; k++)
			ends[1].memory[k] = (uint8_t)draw(256);
		side_run(&s);
		adapter_expect_clean();
		adapter_stop();
	}
}

/* WRITE i sets byte i. The responder is fenced at a random moment: its counters then show the
 * executed operations, and at most those have completions. */
static void cut(uint64_t seed, uint32_t chaos)
{
	mlx5sw_config_t cfg = adapter_config();
	mlx5swi_receive_state_t r;
	adapter_cqe_t cqe;
	uint32_t n_done = 0, psn;

	cfg.chaos = chaos;
	state = seed;
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_pair(&ends[0], &ends[1]);
	lose_packets(draw(3));
	ends[0].memory[0] = 1;
	psn = ends[1].qp->attr.next_rcv_psn;
	for (uint32_t i = 0; i < 30; i++)
		adapter_write(&ends[0], &ends[1], 0, i, 1, SIGNALLED);
	adapter_ring(&ends[0]);
	for (uint32_t n = draw(200); n; n--)
		mlx5sw_step();
	adapter_error(&ends[1]);
	mlx5swi_place_all(ends[1].qp->dev);
	mlx5swi_responder_query(ends[1].qp, &r);
	assert_int_equal(r.next_rcv_psn, psn + r.rmsn);
	adapter_idle();
	for (uint32_t i = 0; i < 30; i++)
		assert_int_equal(ends[1].memory[i], i < r.rmsn);
	while (adapter_poll(&ends[0], &cqe))
		n_done += cqe.opcode == CQE_REQ;
	assert_true(n_done <= r.rmsn);
	assert_int_equal(ends[0].ci, 30); /* each WQE has a completion */
	adapter_stop();
}

static void prefix_is_executed(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 10000; seed++)
		cut(seed, seed % 2 ? ALL_CHAOS : 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(results_equal_sequential_execution),
		cmocka_unit_test(prefix_is_executed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
