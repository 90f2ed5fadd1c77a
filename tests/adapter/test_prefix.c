/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which operations were executed, if only the responder's counters show it: prefixes, repetitions,
 * late packets. */
#include "fixture.h"
#include "mlx5sw/inject/fault.h"

enum { ACCESS = 0x13, RETRY = 0x15 };
enum { MTU = 1024, N_OPS = 12, SLOT = 4 * MTU };

static adapter_end_t a, b;

static void begin(void)
{
	adapter_start(NULL);
	adapter_pair(&a, &b);
}

static mlx5swi_receive_state_t received(const adapter_end_t *e)
{
	mlx5swi_receive_state_t s;
	mlx5swi_responder_query(e->qp, &s);
	return s;
}

static void run(void)
{
	adapter_ring(&a);
	adapter_idle();
}

static void add_rule(int fault, uint32_t kinds, uint64_t after, uint64_t n)
{
	const mlx5swi_rule_t rule = {.fault = fault,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = MLX5SWI_ANY,
				     .opcode = MLX5SWI_ANY,
				     .kind = kinds,
				     .after = after,
				     .left = n};
	assert_int_equal(mlx5swi_rule_add(&rule), 0);
}

static uint16_t fetch_add(uint32_t offset)
{
	const uint64_t operands[2] = {1, 0};
	return adapter_atomic(&a, &b, OP_FA, 8, operands, 32768 + offset, offset, SIGNALLED);
}

static uint64_t word(const adapter_end_t *e, uint32_t offset)
{
	uint64_t v;
	memcpy(&v, e->memory + offset, sizeof(v));
	return v;
}

/* Prefixes */

typedef struct op {
	uint32_t psn, n_psns, nbytes;
	int is_atomic;
} op_t;

static void post_ops(op_t *ops)
{
	uint32_t psn = a.qp->attr.next_send_psn;
	memset(a.memory, 0xaa, SLOT);
	for (uint32_t k = 0; k < N_OPS; k++) {
		op_t *op = &ops[k];
		op->is_atomic = mlx5swi_choose(4) == 0;
		op->nbytes = op->is_atomic ? 8 : 1 + mlx5swi_choose(3 * MTU);
		op->psn = psn;
		op->n_psns = (op->nbytes + MTU - 1) / MTU;
		psn += op->n_psns;
		if (op->is_atomic)
			fetch_add(k * SLOT);
		else
			adapter_write(&a, &b, 0, k * SLOT, op->nbytes, 0);
	}
}

/* Of each operation, exactly the bytes that the queue pair reports as executed are in memory. */
static void check_op(const op_t *op, uint32_t k, mlx5swi_receive_state_t s)
{
	const uint8_t *p = b.memory + k * SLOT;
	int32_t n = mlx5swi_psn_diff(s.next_rcv_psn, op->psn);
	uint32_t n_packets = n < 0 ? 0 : (uint32_t)n < op->n_psns ? (uint32_t)n : op->n_psns;
	uint32_t nbytes = n_packets == op->n_psns ? op->nbytes : n_packets * MTU;
	assert_int_equal(k < s.rmsn, n_packets == op->n_psns);
	if (op->is_atomic) {
		assert_int_equal(word(&b, k * SLOT), n_packets);
		return;
	}
	for (uint32_t i = 0; i < op->nbytes; i++)
		if (p[i] != (i < nbytes ? 0xaa : 0))
			fail_msg("operation %u byte %u: 0x%02x, next_rcv_psn says %u bytes", k, i,
				 p[i], nbytes);
}

/* Returns 1 if the cut is within a message. */
static int one_cut(uint64_t seed)
{
	int is_within = 0;
	mlx5sw_config_t cfg = adapter_config();
	op_t ops[N_OPS];
	cfg.chaos = MLX5SW_CHAOS_ORDER | MLX5SW_CHAOS_PLACE | MLX5SW_CHAOS_ATOMIC;
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_pair(&a, &b);
	post_ops(ops);
	adapter_ring(&a);
	for (unsigned n = mlx5swi_choose(100); n; n--)
		mlx5sw_step();
	adapter_error(&b);
	mlx5swi_place_all(b.qp->dev); /* as a READ by the same device does */
	mlx5swi_receive_state_t s = received(&b);
	adapter_idle();
	assert_int_equal(received(&b).next_rcv_psn, s.next_rcv_psn);
	for (uint32_t k = 0; k < N_OPS; k++) {
		check_op(&ops[k], k, s);
		is_within |= k == s.rmsn && s.next_rcv_psn != ops[k].psn;
	}
	adapter_stop();
	return is_within;
}

static void responder_executes_a_prefix(void **state)
{
	(void)state;
	int n_within = 0;
	for (uint64_t seed = 1; seed <= 10000; seed++)
		n_within += one_cut(seed);
	assert_in_range(n_within, 1000, 9000); /* the other cuts are between two messages */
}

/* Repetitions */

/* Only a is reset, and repeats requests that b has executed. */
static void rewind_by(uint32_t n)
{
	adapter_reset(&a);
	mlx5swi_qp_attr_t attr = adapter_attr(&a, &b);
	attr.next_send_psn = mlx5swi_psn_add(received(&b).next_rcv_psn, 0u - n);
	adapter_init(&a);
	adapter_modify(&a, &attr);
}

static void rewound_atomics(uint32_t n, int are_absorbed)
{
	begin();
	for (uint32_t i = 0; i < 220; i++) {
		fetch_add(0);
		run();
		adapter_expect(&a, (uint16_t)i, OP_FA);
	}
	rewind_by(n);
	for (uint32_t i = 0; i < 32 && i < n; i++)
		fetch_add(8 * i); /* at another address; it is not executed */
	run();
	for (uint32_t i = 0; are_absorbed && i < n; i++) {
		adapter_expect(&a, (uint16_t)i, OP_FA);
		assert_int_equal(word(&a, 32768 + 8 * i), 220 - n + i);
	}
	if (!are_absorbed)
		adapter_expect_error(&a, 0, RETRY, 0x81);
	assert_int_equal(word(&b, 0), 220);
	assert_int_equal(word(&b, 8), 0);
	assert_true(b.qp->counters.duplicates >= (n < 16 ? n : 16));
	adapter_stop();
}

static void rewind_within_the_cache_is_absorbed(void **state)
{
	(void)state;
	rewound_atomics(4, 1);
	rewound_atomics(16, 1);
}

static void rewind_beyond_the_cache_ends(void **state)
{
	(void)state;
	rewound_atomics(17, 0);
	rewound_atomics(64, 0);
	rewound_atomics(200, 0);
}

static void repeated_requests(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DUPLICATE, 1u << MLX5SWI_WRITE | 1u << MLX5SWI_READ | 1u << MLX5SWI_ATOMIC,
		 0, UINT64_MAX);
	memset(a.memory, 0xaa, 4096);
	uint16_t write = adapter_write(&a, &b, 0, 64, 3 * MTU, SIGNALLED);
	uint16_t add = fetch_add(0);
	uint16_t read = adapter_read(&a, &b, 8192, 64, 3 * MTU, SIGNALLED);
	run();
	adapter_expect(&a, write, OP_WRITE);
	adapter_expect(&a, add, OP_FA);
	adapter_expect(&a, read, OP_READ);
	adapter_expect_none(&a);
	assert_int_equal(word(&b, 0), 1);
	assert_memory_equal(a.memory + 8192, a.memory, 3 * MTU);
	assert_int_equal(b.qp->counters.duplicates, 5);
	assert_int_equal(received(&b).rmsn, 3);
	adapter_stop();
}

/* As many READs as there are resources, each sent twice: no request is refused. */
static void repetitions_take_no_resources(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DUPLICATE, 1u << MLX5SWI_READ, 0, UINT64_MAX);
	for (uint32_t i = 0; i < 40; i++)
		adapter_read(&a, &b, 8 * i, 0, 8, SIGNALLED);
	run();
	for (uint16_t i = 0; i < 40; i++)
		adapter_expect(&a, i, OP_READ);
	adapter_stop();
}

/* More repetitions than there is room for: the others get no response. */
static void too_many_repetitions(void **state)
{
	(void)state;
	begin();
	b.qp->attr.log_rra_max = 0;
	b.qp->state = MLX5SWI_RTR;
	mlx5swi_responder_state(b.qp); /* as in a transition that sets it */
	b.qp->state = MLX5SWI_RTS;
	adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	adapter_expect(&a, 0, OP_READ);
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_READ_DATA, 0, UINT64_MAX);
	for (int i = 0; i < 5; i++) {
		mlx5swi_packet_t *p = mlx5swi_packet_new(a.qp, MLX5SWI_READ, 0);
		p->psn = a.qp->attr.next_send_psn;
		p->raddr = (uintptr_t)b.memory;
		p->rkey = b.mr->rkey;
		p->dma_nbytes = 8;
		mlx5swi_port_send(&a.qp->dev->port, p);
	}
	adapter_idle();
	assert_int_equal(b.qp->counters.duplicates, 5);
	assert_int_equal(mlx5swi_rules()->n_hits, 1);
	adapter_stop();
}

static void repeated_read_reads_memory_again(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_READ_DATA, 0, 1);
	memset(b.memory, 1, 8);
	uint16_t at = adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	memset(b.memory, 2, 8);
	adapter_idle();
	adapter_expect(&a, at, OP_READ);
	assert_int_equal(a.memory[0], 2);
	assert_int_equal(received(&b).rmsn, 1);
	adapter_stop();
}

static void repeated_write_is_acknowledged_only(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_ACK, 0, 1);
	memset(a.memory, 1, 8);
	uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	memset(b.memory, 2, 8);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE);
	assert_int_equal(b.memory[0], 2);
	adapter_stop();
}

/* With MLX5SW_CHAOS_DUP_WRITE it may be written again. */
static void repeated_write_may_be_written_again(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	int n_again = 0;
	(void)state;
	cfg.chaos = MLX5SW_CHAOS_DUP_WRITE;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		adapter_start(&cfg);
		adapter_seed = seed;
		adapter_pair(&a, &b);
		add_rule(MLX5SWI_DROP, 1u << MLX5SWI_ACK, 0, 1);
		memset(a.memory, 1, 8);
		adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
		adapter_ring(&a);
		adapter_step();
		memset(b.memory, 2, 8);
		adapter_idle();
		adapter_expect(&a, 0, OP_WRITE);
		n_again += b.memory[0] == 1;
		adapter_stop();
	}
	assert_in_range(n_again, 1, 19);
}

/* One packet of each kind is lost, early and late. */
static void lost_packets_are_repeated(void **state)
{
	(void)state;
	for (int kind = MLX5SWI_WRITE; kind <= MLX5SWI_ACK; kind++)
		for (uint64_t after = 0; after < 4; after++) {
			begin();
			add_rule(MLX5SWI_DROP, 1u << kind, after, 1);
			memset(a.memory, 0xaa, 8192);
			adapter_write(&a, &b, 0, 64, 3 * MTU, SIGNALLED);
			fetch_add(0);
			adapter_read(&a, &b, 8192, 64, 3 * MTU, SIGNALLED);
			adapter_write(&a, &b, 0, 8192, 3 * MTU, SIGNALLED);
			fetch_add(0);
			run();
			adapter_expect(&a, 0, OP_WRITE);
			adapter_expect(&a, 1, OP_FA);
			adapter_expect(&a, 2, OP_READ);
			adapter_expect(&a, 3, OP_WRITE);
			adapter_expect(&a, 4, OP_FA);
			assert_int_equal(word(&b, 0), 2);
			assert_memory_equal(a.memory + 8192, a.memory, 3 * MTU);
			assert_memory_equal(b.memory + 8192, a.memory, 3 * MTU);
			assert_int_equal(received(&b).rmsn, 5);
			adapter_stop();
		}
}

/* Without a timer: a requester that relied on it would wait forever. */
static void each_gap_is_reported(void **state)
{
	const adapter_spec_t spec = {.host = 1};
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_b.path.ack_timeout = 0;
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&a, &to_b);
	adapter_modify(&b, &to_a);
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_WRITE, 1, 1);
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_WRITE, 11, 1);
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t at = adapter_write(&a, &b, 0, 0, 6 * MTU, SIGNALLED);
		run();
		adapter_expect(&a, at, OP_WRITE);
	}
	assert_int_equal(mlx5swi_rules()->next->n_hits, 1);
	adapter_stop();
}

static void executed_and_never_acknowledged(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_ATOMIC_DATA, 0, UINT64_MAX);
	uint16_t at = fetch_add(0);
	run();
	adapter_expect_error(&a, at, RETRY, 0x81);
	assert_int_equal(word(&b, 0), 1);
	assert_int_equal(received(&b).rmsn, 1);
	adapter_stop();
}

/* Late packets */

/* Hold everything that a sends; a gives up. */
static void hold_a_write(void)
{
	begin();
	add_rule(MLX5SWI_HOLD, 1u << MLX5SWI_WRITE, 0, UINT64_MAX);
	memset(a.memory, 0xaa, 8);
	uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	adapter_expect_error(&a, at, RETRY, 0x81);
	assert_int_equal(b.memory[0], 0);
}

static void let_go(void)
{
	mlx5swi_rules_clear();
	assert_true(mlx5swi_release_held() > 0);
	adapter_idle();
}

static void late_write_reaches_memory(void **state)
{
	(void)state;
	hold_a_write();
	let_go();
	assert_int_equal(b.memory[0], 0xaa);
	adapter_stop();
}

static void fence_of_the_requester_does_not_stop_a_late_write(void **state)
{
	(void)state;
	hold_a_write();
	adapter_reset(&a);
	let_go();
	assert_int_equal(b.memory[0], 0xaa);
	adapter_stop();
}

static void fence_of_the_responder_stops_a_late_write(void **state)
{
	(void)state;
	hold_a_write();
	adapter_error(&b);
	let_go();
	assert_int_equal(b.memory[0], 0);
	adapter_stop();
	hold_a_write();
	adapter_reset(&b);
	let_go();
	assert_int_equal(b.memory[0], 0);
	adapter_stop();
}

static void revoked_key_stops_a_late_write(void **state)
{
	(void)state;
	hold_a_write();
	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	let_go();
	assert_int_equal(b.memory[0], 0);
	assert_int_equal(b.qp->state, MLX5SWI_ERR);
	adapter_stop();
}

static void reconnect(uint32_t psn)
{
	adapter_reset(&a);
	adapter_reset(&b);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_b.next_send_psn = to_a.next_rcv_psn = psn;
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&b, &to_a);
	adapter_modify(&a, &to_b);
}

static void packet_of_an_earlier_connection(void **state)
{
	(void)state;
	hold_a_write();
	uint32_t old = a.qp->attr.next_send_psn;
	reconnect(old + 0x1000);
	let_go();
	assert_int_equal(b.memory[0], 0);
	memset(a.memory, 0xbb, 8);
	uint16_t at = adapter_write(&a, &b, 0, 8, 8, SIGNALLED);
	run();
	adapter_expect(&a, at, OP_WRITE);
	assert_int_equal(b.memory[8], 0xbb);
	adapter_stop();
	hold_a_write();
	reconnect(old); /* not fresh */
	let_go();
	assert_int_equal(b.memory[0], 0xaa);
	adapter_stop();
}

static void atomic_repeated_by_software_is_applied_twice(void **state)
{
	(void)state;
	begin();
	add_rule(MLX5SWI_DROP, 1u << MLX5SWI_ATOMIC_DATA, 0, UINT64_MAX);
	fetch_add(0);
	run();
	mlx5swi_rules_clear();
	reconnect(0x777);
	a.ci = 1;
	uint16_t at = fetch_add(0);
	run();
	adapter_expect(&a, at, OP_FA);
	assert_int_equal(word(&b, 0), 2);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(responder_executes_a_prefix),
		cmocka_unit_test(rewind_within_the_cache_is_absorbed),
		cmocka_unit_test(rewind_beyond_the_cache_ends),
		cmocka_unit_test(repeated_requests),
		cmocka_unit_test(repetitions_take_no_resources),
		cmocka_unit_test(too_many_repetitions),
		cmocka_unit_test(repeated_read_reads_memory_again),
		cmocka_unit_test(repeated_write_is_acknowledged_only),
		cmocka_unit_test(repeated_write_may_be_written_again),
		cmocka_unit_test(lost_packets_are_repeated),
		cmocka_unit_test(each_gap_is_reported),
		cmocka_unit_test(executed_and_never_acknowledged),
		cmocka_unit_test(late_write_reaches_memory),
		cmocka_unit_test(fence_of_the_requester_does_not_stop_a_late_write),
		cmocka_unit_test(fence_of_the_responder_stops_a_late_write),
		cmocka_unit_test(revoked_key_stops_a_late_write),
		cmocka_unit_test(packet_of_an_earlier_connection),
		cmocka_unit_test(atomic_repeated_by_software_is_applied_twice),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
