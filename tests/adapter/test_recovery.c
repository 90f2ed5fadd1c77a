/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Recovery as software does it, at random moments, with lost, delayed and repeated packets, ports
 * that go down, and random schedules: both queue pairs are fenced, the responders' counters show
 * what was executed, and the rest is sent again with fresh PSNs. Every operation is then executed
 * exactly once. */
#include <stdlib.h>
#include "fixture.h"
#include "mlx5sw/inject/fault.h"

enum { N_OPS = 60, N_RESULTS = 64, RESULT_NBYTES = 704, N_TARGET = 4096 };
enum { SOURCE = 0, TARGET = 8192, RESULTS = 16384 };

typedef struct op {
	uint8_t opcode, width, flags;
	uint32_t local, remote, nbytes;
	uint64_t operands[4];
	uint8_t expected[RESULT_NBYTES]; /* result of a READ or an atomic */
	uint32_t psn, n_psns, n_wqebbs;
	uint16_t at;
} op_t;

typedef struct side {
	adapter_end_t *e, *peer;
	uint8_t model[N_TARGET]; /* expected content of the peer's memory */
	op_t ops[N_OPS];
	uint32_t n_done, n_posted; /* operations before these were successful; were posted */
	uint32_t posted[N_OPS];    /* since the last reset, in order */
	uint32_t n_queue, n_queue_done, n_wqebbs;
	uint32_t psn;
	uint8_t is_executed[N_OPS];
} side_t;

static adapter_end_t ends[2];
static side_t sides[2];
static uint64_t state;
static uint8_t mtu, is_apart; /* is_apart: no two WRITEs write the same bytes */

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static uint64_t get(const uint8_t *p, uint8_t width)
{
	uint64_t v = 0;

	memcpy(&v, p, width); /* little-endian */
	return v;
}

/* Planning: the operations and their expected results. */

static void plan_atomic(side_t *s, op_t *op, uint32_t i)
{
	static const uint8_t opcodes[] = {OP_CS, OP_FA, OP_MASKED_CS, OP_MASKED_FA};
	uint64_t old, new;

	op->opcode = opcodes[draw(4)];
	op->width = op->opcode == OP_CS || op->opcode == OP_FA || draw(2) ? 8 : 4;
	op->remote = op->width * draw(64 / op->width);
	old = get(s->model + op->remote, op->width);
	for (uint32_t k = 0; k < 4; k++)
		op->operands[k] = draw(2) ? draw(256) : (uint64_t)draw(1u << 31) * draw(1u << 31);
	if (draw(2) && (op->opcode == OP_CS || op->opcode == OP_MASKED_CS))
		op->operands[1] = old;
	if (op->width == 4)
		for (uint32_t k = 0; k < 4; k++)
			op->operands[k] &= UINT32_MAX;
	new = mlx5swi_atomic(op->opcode, op->width, op->operands, old);
	if (op->width == 4) /* the result is big-endian */
		old = htobe32((uint32_t)old);
	memcpy(op->expected, &old, op->width);
	memcpy(s->model + op->remote, &new, op->width);
	op->local = RESULTS + RESULT_NBYTES * (i % N_RESULTS);
	op->nbytes = op->width;
	op->n_psns = 1;
	op->n_wqebbs = op->opcode == OP_MASKED_CS && op->width == 8 ? 2 : 1;
}

/* An operation that follows a READ of memory that changes waits for the READ; and the READ requests
 * a completion, since it cannot be repeated after such an operation was executed. */
static void plan_read(side_t *s, op_t *op, uint32_t i, int *is_fenced)
{
	*is_fenced = draw(2) != 0;
	op->flags |= *is_fenced ? SIGNALLED : 0;
	op->opcode = OP_READ;
	op->nbytes = 1 + draw(RESULT_NBYTES - 1);
	op->remote = draw(N_TARGET - op->nbytes);
	op->local = RESULTS + RESULT_NBYTES * (i % N_RESULTS);
	memcpy(op->expected,
	       *is_fenced ? s->model + op->remote : s->peer->memory + SOURCE + op->remote,
	       op->nbytes);
	if (!*is_fenced)
		op->remote += SOURCE - TARGET; /* wraps around the address */
}

static void plan_write(side_t *s, op_t *op, uint32_t i)
{
	op->opcode = OP_WRITE;
	op->nbytes = draw(4) == 0 ? 0 : draw(2) || is_apart ? draw(64) : draw(2000);
	op->local = SOURCE + draw(6000);
	op->remote = is_apart ? 64 * (i + 1) : draw(N_TARGET - op->nbytes);
	memcpy(s->model + op->remote, s->e->memory + op->local, op->nbytes);
}

/* Returns whether the next operation must wait. */
static int plan_op(side_t *s, uint32_t i)
{
	op_t *op = &s->ops[i];
	int is_fenced = 0;

	op->n_wqebbs = 1;
	switch (draw(6)) {
	case 0:
	case 1:
		plan_atomic(s, op, i);
		break;
	case 2:
		plan_read(s, op, i, &is_fenced);
		break;
	case 3:
		op->opcode = OP_NOP;
		return 0;
	default:
		plan_write(s, op, i);
	}
	op->n_psns = op->nbytes ? (op->nbytes - 1) / (128u << mtu) + 1 : 1;
	return is_fenced;
}

static void plan(side_t *s)
{
	int is_fenced = 0;

	for (uint32_t i = 0; i < N_OPS; i++) {
		s->ops[i].flags = (uint8_t)((draw(3) || i + 1 == N_OPS ? SIGNALLED : 0) |
					    (is_fenced ? FENCED : 0));
		is_fenced = plan_op(s, i);
	}
}

/* Execution. */

static void post_op(side_t *s, uint32_t i)
{
	op_t *op = &s->ops[i];

	op->psn = s->psn;
	s->psn = mlx5swi_psn_add(s->psn, op->n_psns);
	s->posted[s->n_queue++] = i;
	s->n_wqebbs += op->n_wqebbs;
	if (op->opcode == OP_NOP)
		op->at = adapter_nop(s->e, op->flags);
	else if (op->opcode == OP_READ)
		op->at = adapter_read(s->e, s->peer, op->local, TARGET + op->remote, op->nbytes,
				      op->flags);
	else if (op->opcode == OP_WRITE)
		op->at = adapter_write(s->e, s->peer, op->local, TARGET + op->remote, op->nbytes,
				       op->flags);
	else
		op->at = adapter_atomic(s->e, s->peer, op->opcode, op->width, op->operands,
					op->local, TARGET + op->remote, op->flags);
}

/* Post as many as fit; a WQE that fills the queue requests a completion. */
static void post_some(side_t *s, uint32_t n)
{
	for (; n && s->n_posted < N_OPS; s->n_posted++) {
		op_t *op = &s->ops[s->n_posted];
		const uint32_t n_wqebbs = s->n_wqebbs + op->n_wqebbs;

		if (s->is_executed[s->n_posted])
			continue;
		if (n_wqebbs > s->e->sq_wqebbs)
			break;
		if (n_wqebbs + 2 > s->e->sq_wqebbs)
			op->flags |= SIGNALLED;
		post_op(s, s->n_posted);
		n--;
	}
	adapter_ring(s->e);
}

static void check_result(const side_t *s, uint32_t i)
{
	const op_t *op = &s->ops[i];
	const uint8_t *p = s->e->memory + op->local;

	if (op->opcode == OP_NOP || op->opcode == OP_WRITE)
		return;
	for (uint32_t k = 0; k < op->nbytes; k++)
		if (p[k] != op->expected[k])
			fail_msg("operation %u, 0x%x, byte %u: 0x%02x, not 0x%02x", i, op->opcode,
				 k, p[k], op->expected[k]);
}

/* One operation has succeeded, and so have all before it. */
static void succeed(side_t *s, uint16_t counter)
{
	const op_t *op;

	do {
		assert_true(s->n_queue_done < s->n_queue);
		const uint32_t i = s->posted[s->n_queue_done++];

		op = &s->ops[i];
		s->n_wqebbs -= op->n_wqebbs;
		s->is_executed[i] = 1;
		check_result(s, i);
		assert_true(op->at == counter || !(op->flags & SIGNALLED));
	} while (op->at != counter);
}

static void count_done(side_t *s)
{
	while (s->n_done < N_OPS && s->is_executed[s->n_done])
		s->n_done++;
}

static void take_completions(side_t *s)
{
	adapter_cqe_t cqe;

	while (adapter_poll(s->e, &cqe))
		if (cqe.opcode == CQE_REQ)
			succeed(s, cqe.counter);
	count_done(s);
}

/* Read from the responder which operations without a completion it has executed. */
static void learn(side_t *s)
{
	mlx5swi_receive_state_t r;
	uint32_t n_executed = 0;

	mlx5swi_responder_query(s->peer->qp, &r);
	for (uint32_t k = 0; k < s->n_queue; k++) {
		const uint32_t i = s->posted[k];
		const op_t *op = &s->ops[i];
		const uint32_t end = mlx5swi_psn_add(op->psn, op->n_psns);
		const int is_executed = mlx5swi_psn_diff(r.next_rcv_psn, end) >= 0;

		n_executed += is_executed && op->n_psns;
		if (k < s->n_queue_done)
			assert_true(is_executed);
		else if (is_executed && op->n_psns && op->opcode != OP_READ)
			s->is_executed[i] = 1; /* the result of an atomic is lost */
		else
			s->ops[i].flags |= SIGNALLED; /* it may be the last one now */
	}
	assert_int_equal(n_executed, r.rmsn);
	s->n_posted = 0;
	s->n_queue = s->n_queue_done = s->n_wqebbs = 0;
	count_done(s);
}

/* Choose a PSN that differs from those of earlier connections, which wrap around at times. */
static uint32_t fresh_psn(uint32_t old)
{
	return mlx5swi_psn_add(old & 0xff8000, 0x8000 + 0x7fff - draw(100));
}

static void connect_by_psns(void)
{
	mlx5swi_qp_attr_t attr[2];

	for (int i = 0; i < 2; i++) {
		attr[i] = adapter_attr(&ends[i], &ends[!i]);
		attr[i].mtu = mtu;
		sides[i].psn = attr[i].next_send_psn = fresh_psn(sides[i].psn);
	}
	for (int i = 0; i < 2; i++) {
		attr[i].next_rcv_psn = attr[!i].next_send_psn;
		attr[i].log_sra_max = attr[i].log_rra_max = (uint8_t)(state >> 40 & 1 ? 4 : 0);
		adapter_init(&ends[i]);
		adapter_modify(&ends[i], &attr[i]);
	}
}

static void recover(void)
{
	const int first = (int)draw(2);

	adapter_error(&ends[first]);
	for (uint32_t n = draw(20); n; n--)
		mlx5sw_step();
	adapter_error(&ends[!first]);
	mlx5swi_rules_clear();
	for (int i = 0; i < 2; i++) {
		mlx5swi_port_set(&ends[i].qp->dev->port, 1);
		mlx5swi_place_all(ends[i].qp->dev);
	}
	if (draw(2))
		mlx5swi_release_held();
	adapter_idle(); /* all WQEs are flushed */
	for (int i = 0; i < 2; i++)
		take_completions(&sides[i]);
	for (int i = 0; i < 2; i++)
		learn(&sides[i]);
	adapter_reset(&ends[0]);
	adapter_reset(&ends[1]);
	connect_by_psns();
}

/* Disturbances. */

static void lose_packets(uint32_t n)
{
	static const int faults[] = {MLX5SWI_DROP, MLX5SWI_DUPLICATE, MLX5SWI_HOLD, MLX5SWI_DELAY};

	while (n--) {
		const mlx5swi_rule_t rule = {.fault = faults[draw(4)],
					     .host = draw(2),
					     .device = MLX5SWI_ANY,
					     .qpn = MLX5SWI_ANY,
					     .index = MLX5SWI_ANY,
					     .opcode = MLX5SWI_ANY,
					     .kind = draw(2) ? 0 : 1u << draw(6),
					     .ns = draw(5000),
					     .after = draw(40),
					     .left = 1 + draw(draw(8) ? 3 : 100)};

		assert_int_equal(mlx5swi_rule_add(&rule), 0);
	}
}

static void trouble(void)
{
	switch (draw(40)) {
	case 0:
		recover();
		break;
	case 1:
		adapter_error(&ends[draw(2)]);
		break;
	case 2:
		mlx5swi_port_set(&ends[draw(2)].qp->dev->port, 0);
		break;
	case 3:
		mlx5swi_port_set(&ends[0].qp->dev->port, 1);
		mlx5swi_port_set(&ends[1].qp->dev->port, 1);
		break;
	case 4:
	case 5:
		lose_packets(1 + draw(3));
		break;
	case 6:
		mlx5swi_release_held();
	}
}

/* A device that repeats WRITEs may undo a WRITE of another queue pair: then there are no
 * overlapping WRITEs. */
static void choose_world(uint64_t seed)
{
	mlx5sw_config_t cfg = adapter_config();

	state = seed * 0x9e3779b97f4a7c15u;
	is_apart = (uint8_t)draw(2);
	cfg.chaos = seed % 3 == 0   ? 0
		    : seed % 3 == 1 ? MLX5SWI_CHAOS_ALL
				    : draw(MLX5SWI_CHAOS_ALL + 1);
	if (!is_apart)
		cfg.chaos &= ~MLX5SW_CHAOS_DUP_WRITE;
	cfg.n_devices = 2;
	cfg.doorbells = (uint8_t)draw(3);
	cfg.timing = (uint8_t)draw(3);
	cfg.link_layer = (uint8_t)draw(2);
	cfg.start_index = (uint16_t)draw(65536);
	mtu = draw(2) ? 1 : 3;
	adapter_start(&cfg);
	adapter_seed = seed;
}

static void start(uint64_t seed)
{
	choose_world(seed);
	memset(sides, 0, sizeof(sides));
	sides[0].psn = sides[1].psn = draw(2) ? draw(1 << 24) : 0xff0000;
	for (uint32_t i = 0; i < 2; i++) {
		adapter_make(&ends[i], &(adapter_spec_t){.host = i && draw(4),
							 .device = draw(2),
							 .sq_wqebbs = 4u << draw(4),
							 .cq_entries = 256});
		for (uint32_t k = 0; k < TARGET; k++)
			ends[i].memory[k] = (uint8_t)draw(256);
		sides[i].e = &ends[i];
		sides[i].peer = &ends[!i];
	}
	connect_by_psns();
	plan(&sides[0]);
	plan(&sides[1]);
}

/* Returns whether there was an error. After `calm` turns there are no more disturbances. */
static int turn(int is_calm)
{
	for (int i = 0; i < 2; i++) {
		post_some(&sides[i], draw(8));
		take_completions(&sides[i]);
	}
	for (uint32_t n = draw(30); n; n--)
		mlx5sw_step();
	if (!is_calm)
		trouble();
	if (draw(4) == 0)
		adapter_idle();
	if (ends[0].qp->state != MLX5SWI_ERR && ends[1].qp->state != MLX5SWI_ERR)
		return 0;
	recover();
	return 1;
}

static void check_memory(const side_t *s)
{
	mlx5swi_place_all(s->peer->qp->dev);
	assert_memory_equal(s->peer->memory + TARGET, s->model, N_TARGET);
}

/* Returns whether there was an error. */
static int run(uint64_t seed)
{
	enum { CALM = 200, MAX_TURNS = 2000 };
	int n_errors = 0;

	start(seed);
	for (int n = 0; sides[0].n_done < N_OPS || sides[1].n_done < N_OPS; n++) {
		if (n == CALM)
			recover();
		if (n == MAX_TURNS)
			fail_msg("%u and %u of %d operations are complete", sides[0].n_done,
				 sides[1].n_done, N_OPS);
		n_errors += turn(n >= CALM);
	}
	check_memory(&sides[0]);
	check_memory(&sides[1]);
	adapter_expect_clean();
	adapter_stop();
	return n_errors != 0;
}

static void exactly_once(void **unused)
{
	const char *asked = getenv("ADAPTER_SEEDS"); /* optional: number of seeds */
	const uint64_t n = asked ? strtoull(asked, NULL, 10) : 1000;
	uint64_t n_errors = 0;

	(void)unused;
	for (uint64_t seed = 1; seed <= n; seed++) {
		n_errors += (uint64_t)run(seed);
	}
	assert_in_range(n_errors, n / 2, n); /* most runs have errors */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
