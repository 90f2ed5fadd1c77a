/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One WQE of a batch fails, at any position and with other traffic: the completions are exactly
 * those of the device model, all WQEs before it are executed, none after it is. */
#include <stdlib.h>
#include "fixture.h"
#include "mlx5sw/inject/fault.h"

enum { MAX_OPS = 24, SLOT = 2048, BLOCKS = 64, N_OTHERS = 20, OTHERS = 60000 };

typedef enum mistake {
	BAD_RKEY,
	BAD_LKEY,
	PAST_THE_END,
	BAD_DS,
	BAD_OPCODE,
	TOO_LONG,
	NOT_ALIGNED,
	N_MISTAKES
} mistake_t;

static const uint8_t causes[N_MISTAKES][2] = {
	[BAD_RKEY] = {0x13, 0x88},    [BAD_LKEY] = {0x04, 0x52}, [PAST_THE_END] = {0x04, 0x53},
	[BAD_DS] = {0x02, 0},         [BAD_OPCODE] = {0x02, 0},  [TOO_LONG] = {0x01, 0},
	[NOT_ALIGNED] = {0x12, 0x8a},
};

/* a to b fails; c to d, on the same devices and completion queues, and b to a continue. */
static adapter_end_t a, b, c, d;
static uint64_t state;

typedef struct op {
	uint8_t opcode, is_signalled;
	uint16_t at;
} op_t;

typedef struct plan {
	uint32_t n, k;       /* n: WQEs; k: the one that fails */
	uint32_t n_recorded; /* WQEs that the doorbell record covers */
	mistake_t mistake;
	op_t ops[MAX_OPS];
} plan_t;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static uint16_t post_wrong(mistake_t mistake, uint32_t i, uint8_t flags)
{
	const uint32_t nbytes = mistake == TOO_LONG ? 4097 : 2000;
	const uint32_t lkey = a.mr->lkey ^ (mistake == BAD_LKEY ? 0x77 : 0);
	const uint32_t rkey = b.mr->rkey ^ (mistake == BAD_RKEY ? 0x77 : 0);
	const uint64_t operand = 1, to = (uintptr_t)b.memory + i * SLOT;
	const uint64_t from = (uintptr_t)a.memory + (mistake == PAST_THE_END ? ADAPTER_NBYTES : 0);
	adapter_wqe_t w;

	adapter_control(&w, &a,
			mistake == BAD_OPCODE    ? OP_UMR
			: mistake == NOT_ALIGNED ? OP_FA
						 : OP_WRITE,
			0, flags);
	adapter_remote(&w, to + (mistake == NOT_ALIGNED ? 4 : 0), rkey);
	if (mistake == NOT_ALIGNED)
		adapter_operands(&w, &operand, 1, 8);
	adapter_data(&w, mistake == NOT_ALIGNED ? 8 : nbytes, lkey, from);
	if (mistake == BAD_DS)
		adapter_set_ds(&w, 0);
	return adapter_post(&a, &w);
}

static void post(plan_t *plan, uint32_t i)
{
	static const uint8_t bytes[200] = {0xaa};
	const uint8_t flags = (uint8_t)((draw(2) ? SIGNALLED : 0) | (draw(4) ? 0 : FENCED));
	op_t *op = &plan->ops[i];

	op->is_signalled = (flags & SIGNALLED) != 0;
	op->opcode = OP_WRITE;
	if (i == plan->k) {
		op->at = post_wrong(plan->mistake, i, flags);
		return;
	}
	switch (draw(5)) {
	case 0:
		op->opcode = OP_MASKED_CS;
		op->at = adapter_atomic(&a, &b, OP_MASKED_CS, 8,
					(uint64_t[4]){0xaa, 0, UINT64_MAX, UINT64_MAX}, 60000,
					i * SLOT, flags);
		break;
	case 1:
		op->at = adapter_write_inline(&a, &b, i * SLOT, bytes, 100 + draw(100), flags);
		break;
	case 2:
		op->opcode = OP_READ;
		op->at = adapter_read(&a, &b, 50000, 50000, 1 + draw(4000), flags);
		break;
	case 3:
		op->opcode = OP_NOP;
		op->at = adapter_nop(&a, flags);
		break;
	default:
		op->at = adapter_write(&a, &b, 0, i * SLOT, 1 + draw(SLOT), flags);
	}
}

/* The next completion of this queue pair in the CQ that two queue pairs share. */
static int next_of(adapter_end_t *e, uint32_t *at, adapter_cqe_t *cqe)
{
	*cqe = (adapter_cqe_t){0};
	for (; *at < 256; ++*at) {
		*cqe = adapter_slot(&a, *at);
		if (cqe->opcode == CQE_INVALID)
			return 0;
		if (cqe->qpn == e->qp->qpn)
			return ++*at != 0;
	}
	return 0;
}

static void expect_success(const plan_t *plan, uint32_t *at)
{
	adapter_cqe_t cqe;

	for (uint32_t i = 0; i < plan->k; i++) {
		if (!plan->ops[i].is_signalled)
			continue;
		assert_true(next_of(&a, at, &cqe));
		assert_int_equal(cqe.opcode, CQE_REQ);
		assert_int_equal(cqe.counter, plan->ops[i].at);
		assert_int_equal(cqe.wqe_opcode, plan->ops[i].opcode);
	}
}

static void expect_flushed(const plan_t *plan, uint32_t *at, uint32_t from, uint32_t to)
{
	adapter_cqe_t cqe;

	for (uint32_t i = from; i < to; i++) {
		assert_true(next_of(&a, at, &cqe));
		assert_int_equal(cqe.opcode, CQE_REQ_ERR);
		assert_int_equal(cqe.counter, plan->ops[i].at);
		assert_int_equal(cqe.syndrome, i == plan->k ? causes[plan->mistake][0] : 0x05);
		assert_int_equal(cqe.vendor, i == plan->k ? causes[plan->mistake][1] : 0xf9);
	}
	assert_false(next_of(&a, at, &cqe));
}

static void expect_executed(const plan_t *plan)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->ops[i].opcode == OP_WRITE || plan->ops[i].opcode == OP_MASKED_CS)
			assert_int_equal(b.memory[i * SLOT], i < plan->k ? 0xaa : 0);
}

static void lose_packets(uint32_t n)
{
	while (n--) {
		const mlx5swi_rule_t rule = {.fault = draw(2) ? MLX5SWI_DROP : MLX5SWI_DUPLICATE,
					     .host = 0, /* b's last packets are not repeated */
					     .device = MLX5SWI_ANY,
					     .qpn = MLX5SWI_ANY,
					     .index = MLX5SWI_ANY,
					     .opcode = MLX5SWI_ANY,
					     .after = draw(30),
					     .left = 1 + draw(2)};

		assert_int_equal(mlx5swi_rule_add(&rule), 0);
	}
}

static void make(uint64_t seed)
{
	mlx5sw_config_t cfg = adapter_config();
	mlx5swi_qp_attr_t attr[2];

	state = seed * 0x9e3779b97f4a7c15u;
	cfg.lint = MLX5SW_LINT_OFF; /* the mistakes are intended */
	cfg.timing = (uint8_t)draw(3);
	cfg.chaos = seed % 3 ? draw(2) ? MLX5SWI_CHAOS_ALL : draw(MLX5SWI_CHAOS_ALL) : 0;
	cfg.doorbells = draw(2) ? MLX5SW_DOORBELLS_HYBRID : MLX5SW_DOORBELLS_DB;
	cfg.start_index = (uint16_t)draw(65536);
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_make(&a, &(adapter_spec_t){.sq_wqebbs = BLOCKS, .cq_entries = 256});
	adapter_make(&b, &(adapter_spec_t){.host = 1, .cq_entries = 256});
	adapter_make(&c, &(adapter_spec_t){.with = &a});
	adapter_make(&d, &(adapter_spec_t){.host = 1, .with = &b});
	attr[0] = adapter_attr(&a, &b);
	attr[1] = adapter_attr(&b, &a);
	attr[0].log_msg_max = 12;
	attr[0].log_sra_max = attr[1].log_rra_max = (uint8_t)draw(5);
	adapter_init(&a);
	adapter_modify(&a, &attr[0]);
	adapter_init(&b);
	adapter_modify(&b, &attr[1]);
	adapter_connect(&c, &d);
	memset(a.memory, 0xaa, SLOT);
}

/* After a reset the queue starts again, and its completions follow the others in the CQ. */
static void again(uint32_t *at)
{
	adapter_cqe_t cqe;
	uint16_t index;

	mlx5swi_rules_clear();
	adapter_reset(&a);
	adapter_reset(&b);
	adapter_connect(&a, &b);
	index = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	assert_true(next_of(&a, at, &cqe));
	assert_int_equal(cqe.opcode, CQE_REQ);
	assert_int_equal(cqe.counter, index);
	assert_int_equal(index, mlx5swi_w->cfg.start_index);
}

static void post_all(plan_t *plan)
{
	plan->n = 1 + draw(MAX_OPS);
	plan->k = draw(plan->n);
	plan->mistake = (mistake_t)draw(N_MISTAKES);
	for (uint32_t i = 0; i < plan->n; i++)
		post(plan, i);
	for (uint32_t i = 0; i < N_OTHERS; i++)
		adapter_write(&c, &d, 0, OTHERS + i, 1, SIGNALLED);
	plan->n_recorded = draw(2) ? plan->n : draw(plan->n + 1);
	adapter_record(&a, plan->n_recorded == plan->n ? a.pi : plan->ops[plan->n_recorded].at);
}

static void ring_all(void)
{
	if (draw(2))
		adapter_ring(&c);
	adapter_doorbell(&a, a.pi);
	for (uint32_t n = draw(30); n; n--)
		mlx5sw_step();
	adapter_ring(&c);
	adapter_idle();
	mlx5swi_place_all(b.qp->dev);
}

static void expect_others(void)
{
	adapter_cqe_t cqe;
	uint32_t at = 0;

	for (uint32_t i = 0; i < N_OTHERS; i++) {
		assert_true(next_of(&c, &at, &cqe));
		assert_int_equal(cqe.opcode, CQE_REQ);
		assert_int_equal(d.memory[OTHERS + i], 0xaa);
	}
}

static void run(uint64_t seed)
{
	plan_t plan = {0};
	uint32_t at = 0, told;

	make(seed);
	lose_packets(draw(3));
	post_all(&plan);
	ring_all();
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	told = plan.n_recorded > plan.k ? plan.n_recorded : plan.k;
	expect_success(&plan, &at);
	expect_flushed(&plan, &at, plan.k, told);
	expect_executed(&plan);
	adapter_ring(&a);
	adapter_idle();
	expect_flushed(&plan, &at, told, plan.n);
	assert_int_equal(adapter_send_state(&a).hw_counter, adapter_send_state(&a).sw_counter);
	expect_others();
	again(&at);
	adapter_stop();
}

static void exactly_the_completions(void **unused)
{
	const char *asked = getenv("ADAPTER_SEEDS"); /* optional: number of seeds */
	const uint64_t n = asked ? strtoull(asked, NULL, 10) : 3000;

	(void)unused;
	for (uint64_t seed = 1; seed <= n; seed++)
		run(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_completions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
