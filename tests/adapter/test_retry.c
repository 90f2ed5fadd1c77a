/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Packets and completions that are lost, late, repeated or invalid. */
#include "pair.h"
#include "mlx5sw/inject/fault.h"

/* Any one packet of a conversation may be lost, or arrive twice. */
static void one_packet_lost_or_repeated(void **state)
{
	const uint64_t operands[2] = {1, 0};

	(void)state;
	for (uint32_t n = 0; n < 60; n++) {
		uint64_t word;

		start(NULL, NULL);
		fill(a.memory, 8192);
		fill(b.memory + 30000, 8192);
		adapter_packets(n % 2 ? MLX5SWI_DROP : MLX5SWI_DUPLICATE, 0, n / 2, 1);
		adapter_write(&a, &b, 0, 0, 5000, 0);
		adapter_atomic(&a, &b, OP_FA, 8, operands, 60000, 20000, SIGNALLED);
		adapter_read(&a, &b, 40000, 30000, 5000, 0);
		adapter_atomic(&a, &b, OP_FA, 8, operands, 60008, 20000, 0);
		adapter_write(&a, &b, 5000, 5000, 3000, SIGNALLED);
		go();
		adapter_expect(&a, 1, OP_FA);
		adapter_expect(&a, 4, OP_WRITE);
		assert_memory_equal(b.memory, a.memory, 8000);
		assert_memory_equal(a.memory + 40000, b.memory + 30000, 5000);
		memcpy(&word, b.memory + 20000, 8);
		assert_int_equal(word, 2);
		memcpy(&word, a.memory + 60008, 8);
		assert_int_equal(word, 1);
		assert_int_equal(b.qp->counters.executed, 5);
		if (n % 2 == 0)
			assert_int_equal(a.qp->counters.packets_resent, 0);
		end();
	}
}

/* A response after a gap reports the gap: no timer is needed, however often it happens. */
static void gaps_without_timers(void **state)
{
	(void)state;
	start(NULL, NULL);
	fill(b.memory, 60000);
	adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_READ_DATA, 5, 1);
	adapter_packets(MLX5SWI_DROP, 1u << MLX5SWI_READ_DATA, 80, 1);
	adapter_read(&a, &b, 0, 0, 60000, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	adapter_expect(&a, 0, OP_READ);
	assert_memory_equal(a.memory, b.memory, 60000);
	assert_int_equal(a.qp->counters.packets_resent, 2);
	end();
}

/* The number of packets between two devices is limited. */
static void window(void **state)
{
	(void)state;
	start(NULL, NULL);
	adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_ACK, 0, UINT64_MAX);
	for (unsigned i = 0; i < 10; i++)
		adapter_write(&a, &b, 0, 0, 60000, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(a.qp->counters.packets_sent, 256);
	adapter_release();
	adapter_idle();
	for (uint16_t i = 0; i < 10; i++)
		adapter_expect(&a, i, OP_WRITE);
	end();
}

/* A request that is acknowledged while it waits to be sent again is not sent again. */
static void late_acknowledgement(void **state)
{
	(void)state;
	start(NULL, NULL);
	adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_ACK, 0, UINT64_MAX);
	for (unsigned i = 0; i < 50; i++)
		adapter_write(&a, &b, 0, 0, 4096, i == 49 ? SIGNALLED : 0);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(a.qp->counters.packets_sent, 200);
	adapter_clock = mlx5sw_next_time();
	mlx5sw_step(); /* the first 64 requests are sent again */
	adapter_release();
	adapter_idle();
	adapter_expect(&a, 49, OP_WRITE);
	assert_in_range(a.qp->counters.packets_resent, 1, 64);
	end();
}

/* Send a response that no correct responder sends. */
static void forge(int kind, int32_t psn_offset, uint32_t nbytes, uint32_t sqpn_offset)
{
	mlx5swi_packet_t *p = mlx5swi_packet_new(b.qp, kind, nbytes);

	assert_non_null(p);
	p->psn = mlx5swi_psn_add(a.qp->attr.next_send_psn, (uint32_t)psn_offset);
	p->sqpn += sqpn_offset;
	memset(p->data, 0xdd, nbytes);
	mlx5swi_requester_packet(a.qp, p);
}

static void begin_forged(void)
{
	start(NULL, NULL);
	adapter_packets(MLX5SWI_HOLD, 1u << MLX5SWI_ACK | 1u << MLX5SWI_READ_DATA, 0, UINT64_MAX);
	memset(b.memory + 500, 0x22, 8);
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED); /* PSN 0 */
	adapter_read(&a, &b, 500, 500, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
}

static void end_forged(void)
{
	adapter_release();
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
}

static void forged_responses_to_nothing(void **state)
{
	(void)state;
	begin_forged();
	forge(MLX5SWI_ACK, 1, 0, 1);       /* of another QP */
	forge(MLX5SWI_ACK, 2, 0, 0);       /* of a request that was not sent */
	forge(MLX5SWI_ACK, -2, 0, 0);      /* of a request that was acknowledged */
	forge(MLX5SWI_READ_DATA, 0, 8, 0); /* of a WRITE */
	adapter_step();
	adapter_expect_none(&a);
	end_forged();
	adapter_expect(&a, 1, OP_READ);
	assert_int_equal(a.memory[500], 0x22);
	assert_int_equal(a.qp->counters.packets_resent, 0);
	end();
}

static void forged_responses_to_a_read(void **state)
{
	(void)state;
	for (int is_atomic = 0; is_atomic < 2; is_atomic++) {
		begin_forged();
		forge(is_atomic ? MLX5SWI_ATOMIC_DATA : MLX5SWI_READ_DATA, 1, is_atomic ? 8 : 9, 0);
		forge(MLX5SWI_READ_DATA, 1, 8, 0);
		end_forged();
		adapter_expect_error(&a, 1, 0x10, 0);
		assert_int_equal(a.memory[500], 0);
		end();
	}
}

static uint64_t on_completions(int fault, uint64_t ns)
{
	const mlx5swi_rule_t rule = {.fault = fault,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .index = 1,
				     .opcode = MLX5SWI_ANY,
				     .left = UINT64_MAX,
				     .ns = ns};

	start(NULL, NULL);
	assert_int_equal(mlx5swi_rule_add(&rule), 0);
	for (unsigned i = 0; i < 3; i++)
		adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
	adapter_ring(&a);
	return adapter_clock;
}

static void completion_lost(void **state)
{
	(void)state;
	on_completions(MLX5SWI_LOSE_CQE, 0);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 2, OP_WRITE);
	end();
}

/* Later completions wait for the delayed one. */
static void completion_delayed(void **state)
{
	uint64_t before;

	(void)state;
	before = on_completions(MLX5SWI_DELAY_CQE, 5000000);
	adapter_step();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_none(&a);
	adapter_idle();
	assert_in_range(adapter_clock - before, 5000000, 5000010);
	adapter_expect(&a, 1, OP_WRITE);
	adapter_expect(&a, 2, OP_WRITE);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_packet_lost_or_repeated),
		cmocka_unit_test(gaps_without_timers),
		cmocka_unit_test(window),
		cmocka_unit_test(late_acknowledgement),
		cmocka_unit_test(forged_responses_to_nothing),
		cmocka_unit_test(forged_responses_to_a_read),
		cmocka_unit_test(completion_lost),
		cmocka_unit_test(completion_delayed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
