/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Faults of the fabric: ports, packets, peers, addresses. */
#include "fixture_fault.h"

enum { MTU = 1024 };

static adapter_end_t a, b;

static void begin(void)
{
	adapter_start(NULL);
	adapter_pair(&a, &b);
	memset(a.memory, 0xaa, ADAPTER_NBYTES);
}

static uint16_t write_to(uint32_t to, uint32_t nbytes)
{
	return adapter_write(&a, &b, 0, to, nbytes, SIGNALLED);
}

static void run(void)
{
	adapter_ring(&a);
	adapter_idle();
}

/* The side of the failure makes no difference; each context of the device receives the event. */
static void port_down_and_up(void **state)
{
	adapter_end_t second;
	(void)state;
	for (uint32_t host = 0; host < 2; host++) {
		begin();
		struct ibv_context *ctx = (host ? &b : &a)->ctx;
		adapter_make(&second, &(adapter_spec_t){.host = host});
		fault_control("port down host=%u mlx5_0", host);
		fault_event(ctx, IBV_EVENT_PORT_ERR);
		fault_event(second.ctx, IBV_EVENT_PORT_ERR);
		fault_no_event((host ? &a : &b)->ctx);
		const uint16_t at = write_to(0, 8);
		adapter_ring(&a);
		adapter_step();
		adapter_expect_none(&a);
		assert_int_equal(b.memory[0], 0);
		fault_control("port up host=%u", host);
		fault_event(ctx, IBV_EVENT_PORT_ACTIVE);
		fault_event(second.ctx, IBV_EVENT_PORT_ACTIVE);
		adapter_idle();
		adapter_expect(&a, at, OP_WRITE);
		assert_int_equal(b.memory[0], 0xaa);
		assert_true(a.qp->counters.packets_resent > 0);
		adapter_expect_clean();
		adapter_stop();
	}
}

static void port_stays_down(void **state)
{
	(void)state;
	begin();
	fault_control("port down host=1");
	const uint16_t at = write_to(0, 8);
	write_to(0, 8);
	run();
	adapter_expect_error(&a, at, RETRIES);
	adapter_expect_error(&a, at + 1, FLUSHED);
	assert_int_equal(b.qp->state, MLX5SWI_RTS); /* b has not failed */
	assert_int_equal(b.memory[0], 0);
	adapter_stop();
}

static void requests_lost(void **state)
{
	(void)state;
	begin();
	fault_control("drop packet kind=write qp=0x%x n=3", a.qp->qpn);
	const uint16_t at = write_to(0, 5 * MTU);
	run();
	adapter_expect(&a, at, OP_WRITE);
	assert_memory_equal(b.memory, a.memory, 5 * MTU);
	/* also the requests after the gap */
	assert_int_equal(a.qp->counters.packets_resent, 3 + 2);
	adapter_stop();
}

/* The request is executed, and the requester has no acknowledgement. */
static void answers_lost(void **state)
{
	(void)state;
	begin();
	fault_control("drop packet kind=ack host=1 n=1");
	const uint16_t at = write_to(0, 8);
	adapter_ring(&a);
	adapter_step();
	adapter_expect_none(&a);
	assert_int_equal(b.memory[0], 0xaa);
	assert_int_equal(b.qp->counters.executed, 1);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE);
	assert_int_equal(b.qp->counters.executed, 1);
	assert_int_equal(b.qp->counters.duplicates, 1);
	adapter_stop();
}

/* Events that match pass or are hit in order; others are not counted. */
static void drop_selects_packets(void **state)
{
	const uint64_t add[2] = {1, 0};
	adapter_end_t c, d;
	(void)state;
	begin();
	adapter_pair(&c, &d);
	fault_control("drop packet kind=atomic qp=0x%x after=1 n=1", a.qp->qpn);
	adapter_write(&c, &d, 0, 0, 8, SIGNALLED);
	adapter_atomic(&c, &d, OP_FA, 8, add, 8, 64, SIGNALLED);
	adapter_ring(&c);
	adapter_idle();
	assert_int_equal(c.qp->counters.packets_resent, 0); /* another QP */
	write_to(0, 8);
	adapter_atomic(&a, &b, OP_FA, 8, add, 8, 64, SIGNALLED);
	run();
	assert_int_equal(a.qp->counters.packets_resent, 0); /* another kind; the first one passes */
	adapter_atomic(&a, &b, OP_FA, 8, add, 8, 64, SIGNALLED);
	run();
	assert_int_equal(a.qp->counters.packets_resent, 1);
	assert_int_equal(b.memory[64], 2);
	assert_string_equal(fault_answer("list rules") +
				    strlen("drop packet kind=atomic qp=0x1000"),
			    " after=1 n=1: hit 1, used up\n");
	adapter_stop();
}

static void drop_selects_the_device(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	adapter_end_t c;
	(void)state;
	cfg.n_devices = 2;
	adapter_start(&cfg);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	adapter_make(&c, &(adapter_spec_t){.device = 1});
	adapter_connect(&a, &b);
	adapter_connect(&c, &c);
	fault_control("drop packet mlx5_1");
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect(&a, at, OP_WRITE);
	adapter_write(&c, &c, 0, 8, 8, SIGNALLED);
	adapter_ring(&c);
	adapter_idle();
	adapter_expect_error(&c, 0, RETRIES);
	adapter_stop();
}

static void held_until_the_error(void **state)
{
	(void)state;
	begin();
	fault_control("hold packet kind=write until=error");
	const uint16_t at = write_to(0, 8);
	adapter_ring(&a);
	adapter_step();
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
	assert_int_equal(b.memory[0], 0);
	adapter_idle();
	adapter_expect_error(&a, at, RETRIES);
	assert_int_equal(b.memory[0], 0xaa); /* placed late, and only once */
	assert_int_equal(b.qp->counters.executed, 1);
	assert_string_equal(fault_answer("release packets"), "0 released\n");
	adapter_stop();
}

static void error_of_another_qp_keeps_packets_held(void **state)
{
	adapter_end_t c;
	(void)state;
	begin();
	adapter_make(&c, NULL);
	adapter_connect(&c, &c);
	fault_control("hold packet kind=write until=error n=1");
	write_to(0, 8);
	adapter_ring(&a);
	adapter_step();
	fault_control("qp err qp=0x%x", c.qp->qpn);
	adapter_step();
	assert_int_equal(b.memory[0], 0);
	assert_string_equal(fault_answer("release packets"), "1 released\n");
	adapter_stop();
}

static void held_until_released(void **state)
{
	(void)state;
	begin();
	fault_control("hold packet kind=write");
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect_error(&a, at, RETRIES);
	assert_int_equal(b.memory[0], 0);
	assert_string_equal(fault_answer("release packets"), "8 released\n"); /* 7 retries */
	adapter_idle();
	assert_int_equal(b.memory[0], 0xaa);
	adapter_stop();
}

static void late_by_a_time(void **state)
{
	(void)state;
	begin();
	fault_control("delay packet kind=ack ns=500 n=1");
	const uint64_t before = adapter_clock;
	const uint16_t at = write_to(0, 8);
	adapter_ring(&a);
	adapter_step();
	adapter_expect_none(&a);
	adapter_clock = before + 499;
	adapter_step();
	adapter_expect_none(&a);
	adapter_clock = mlx5sw_next_time();
	assert_int_equal(adapter_clock, before + 500);
	adapter_step();
	adapter_expect(&a, at, OP_WRITE);
	assert_int_equal(a.qp->counters.packets_resent, 0);
	adapter_stop();
}

/* Neither held packets nor rules remain in the next world. */
static void held_packets_end_with_the_world(void **state)
{
	(void)state;
	begin();
	fault_control("hold packet kind=write");
	fault_control("drop packet kind=ack");
	write_to(0, 8);
	run();
	adapter_stop();
	begin();
	assert_string_equal(fault_answer("list rules"), "");
	assert_string_equal(fault_answer("release packets"), "0 released\n");
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect(&a, at, OP_WRITE);
	adapter_stop();
}

static void request_twice(void **state)
{
	const uint64_t add[2] = {1, 0};
	(void)state;
	begin();
	fault_control("duplicate packet kind=request n=1");
	const uint16_t at = adapter_atomic(&a, &b, OP_FA, 8, add, 8, 64, SIGNALLED);
	run();
	adapter_expect(&a, at, OP_FA);
	assert_int_equal(b.memory[64], 1);
	assert_int_equal(b.qp->counters.duplicates, 1);
	adapter_stop();
}

/* The key is gone, as the peer observes. */
static void memory_lost(void **state)
{
	(void)state;
	begin();
	uint16_t at = write_to(0, 8);
	run();
	adapter_expect(&a, at, OP_WRITE);
	fault_control("mr lose key=0x%x", b.mr->rkey);
	at = write_to(8, 8);
	run();
	adapter_expect_error(&a, at, NO_ACCESS);
	assert_int_equal(b.memory[8], 0);
	assert_int_equal(b.qp->state, MLX5SWI_ERR);
	adapter_stop();
}

static void memory_lost_within_a_write(void **state)
{
	(void)state;
	begin();
	fault_control("hold packet kind=write after=1 n=1");
	const uint16_t at = write_to(0, 2 * MTU);
	adapter_ring(&a);
	adapter_step();
	fault_control("mr lose host=1");
	fault_control("release packets");
	adapter_idle();
	adapter_expect_error(&a, at, NO_ACCESS);
	assert_int_equal(b.memory[MTU - 1], 0xaa);
	assert_int_equal(b.memory[MTU], 0);
	adapter_stop();
}

static void own_memory_lost(void **state)
{
	(void)state;
	begin();
	fault_control("mr lose key=0x%x", a.mr->lkey);
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect_error(&a, at, LOCAL_KEY);
	adapter_stop();
}

static void peer_dies_queue_pair_first(void **state)
{
	(void)state;
	begin();
	fault_control("host kill host=1 first=qp");
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect_error(&a, at, RETRIES);
	assert_int_equal(b.memory[0], 0);
	adapter_stop();
}

static void peer_dies_memory_first(void **state)
{
	(void)state;
	begin();
	fault_control("host kill host=1 first=mr");
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect_error(&a, at, NO_ACCESS);
	assert_int_equal(b.memory[0], 0);
	adapter_stop();
}

/* A process that has died is silent; a running process with the same host number is not hit. */
static void host_kill_selects_the_host(void **state)
{
	(void)state;
	begin();
	fault_control("host kill host=0 first=qp");
	const uint16_t at = adapter_write(&b, &a, 0, 0, 8, SIGNALLED);
	adapter_ring(&b);
	adapter_idle();
	adapter_expect_error(&b, at, RETRIES);
	assert_int_equal(b.qp->state, MLX5SWI_ERR);
	adapter_stop();
}

static void change_address(uint8_t link_layer, const char *line, int event)
{
	mlx5sw_config_t cfg = adapter_config();
	cfg.link_layer = link_layer;
	adapter_start(&cfg);
	adapter_pair(&a, &b);
	fault_control("%s host=1", line);
	fault_event(b.ctx, event);
	fault_no_event(a.ctx);
	const uint16_t at = write_to(0, 8);
	run();
	adapter_expect_error(&a, at, RETRIES);
	fault_control("%s host=1", line); /* restores the address */
	adapter_reset(&a);
	adapter_reset(&b);
	adapter_connect(&a, &b);
	write_to(0, 8);
	run();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_stop();
}

static void address_changes(void **state)
{
	(void)state;
	change_address(MLX5SW_ETHERNET, "gid change", IBV_EVENT_GID_CHANGE);
	change_address(MLX5SW_INFINIBAND, "lid change", IBV_EVENT_LID_CHANGE);
	begin();
	fault_refused("lid change", "'lid change': no object matches\n"); /* RoCE */
	adapter_stop();
}

/* Unused entries of the table stay unused. */
static void gids_of_infiniband(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	union ibv_gid gid;
	(void)state;
	cfg.link_layer = MLX5SW_INFINIBAND;
	adapter_start(&cfg);
	adapter_pair(&a, &b);
	fault_control("gid change");
	assert_int_equal(ibv_query_gid(a.ctx, 1, 0, &gid), 0);
	assert_int_equal(gid.raw[15], 0x80);
	assert_int_equal(ibv_query_gid(a.ctx, 1, 1, &gid), 0);
	assert_int_equal(gid.raw[15], 0);
	adapter_stop();
}

static void write_placed_in_part(void **state)
{
	(void)state;
	begin();
	fault_control("cut write nbytes=13 after=1 n=1 qp=0x%x", b.qp->qpn);
	const uint16_t at = write_to(0, 3 * MTU);
	run();
	adapter_expect_error(&a, at, NO_ACCESS);
	assert_int_equal(b.memory[MTU + 12], 0xaa);
	assert_int_equal(b.memory[MTU + 13], 0);
	assert_int_equal(b.memory[2 * MTU], 0);
	assert_int_equal(b.qp->counters.executed, 0);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_down_and_up),
		cmocka_unit_test(port_stays_down),
		cmocka_unit_test(requests_lost),
		cmocka_unit_test(answers_lost),
		cmocka_unit_test(drop_selects_packets),
		cmocka_unit_test(drop_selects_the_device),
		cmocka_unit_test(held_until_the_error),
		cmocka_unit_test(error_of_another_qp_keeps_packets_held),
		cmocka_unit_test(held_until_released),
		cmocka_unit_test(late_by_a_time),
		cmocka_unit_test(held_packets_end_with_the_world),
		cmocka_unit_test(request_twice),
		cmocka_unit_test(memory_lost),
		cmocka_unit_test(memory_lost_within_a_write),
		cmocka_unit_test(own_memory_lost),
		cmocka_unit_test(peer_dies_queue_pair_first),
		cmocka_unit_test(peer_dies_memory_first),
		cmocka_unit_test(host_kill_selects_the_host),
		cmocka_unit_test(address_changes),
		cmocka_unit_test(gids_of_infiniband),
		cmocka_unit_test(write_placed_in_part),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
