/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Connections whose two ends do not match, and packets that do not arrive. */
#include "fixture.h"

enum { INVALID_REQUEST = 0x12, RETRY = 0x15 };

static adapter_end_t a, b;

static void begin(void)
{
	adapter_start(NULL);
	adapter_pair(&a, &b);
}

static void run(void)
{
	adapter_ring(&a);
	adapter_idle();
}

/* Change one of the attributes. */
typedef void change_t(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a);

static void connect_with(const mlx5sw_config_t *cfg, change_t *change)
{
	const adapter_spec_t spec = {.host = 1};
	adapter_start(cfg);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	change(&to_b, &to_a);
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&a, &to_b);
	adapter_modify(&b, &to_a);
}

static uint64_t n_executed;

static adapter_cqe_t connected_with(const mlx5sw_config_t *cfg, change_t *change)
{
	adapter_cqe_t cqe;
	connect_with(cfg, change);
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	assert_true(adapter_poll(&a, &cqe));
	n_executed = b.qp->counters.executed;
	adapter_stop();
	return cqe;
}

static void nothing(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	(void)to_a;
}

static void psn(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	to_a->next_rcv_psn--;
}

static void qpn(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->remote_qpn++;
}

static void source_qpn(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	to_a->remote_qpn++;
}

static void gid(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->path.dgid[15]++;
}

static void source_gid(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	to_a->path.dgid[15]++;
}

static void mac(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->path.dmac[5] ^= 1;
}

static void lid(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->path.dlid++;
}

static void source_lid(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	to_a->path.dlid++;
}

static void mtu(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->mtu = 4;
}

static void too_many_reads(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_b;
	to_a->log_rra_max = 0;
}

static void hop_limit(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->path.hop_limit = 1;
}

static void path_mismatch(void **state)
{
	(void)state;
	change_t *lost[] = {psn, qpn, source_qpn, gid, source_gid, mac};
	assert_int_equal(connected_with(NULL, nothing).opcode, CQE_REQ);
	for (size_t i = 0; i < sizeof(lost) / sizeof(lost[0]); i++) {
		adapter_cqe_t cqe = connected_with(NULL, lost[i]);
		assert_int_equal(cqe.syndrome, RETRY);
		assert_int_equal(cqe.vendor, 0x81);
		assert_int_equal(n_executed, 0);
	}
	assert_int_equal(connected_with(NULL, mtu).syndrome, INVALID_REQUEST);
}

static void more_reads_than_the_peer_has_room_for(void **state)
{
	(void)state;
	connect_with(NULL, too_many_reads);
	uint16_t first = adapter_read(&a, &b, 0, 0, 8, SIGNALLED);
	uint16_t second = adapter_read(&a, &b, 0, 8, 8, SIGNALLED);
	run();
	adapter_expect(&a, first, OP_READ);
	adapter_expect_error(&a, second, INVALID_REQUEST, 0x8a);
	adapter_stop();
}

static void path_mismatch_on_infiniband(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	(void)state;
	cfg.link_layer = MLX5SW_INFINIBAND;
	assert_int_equal(connected_with(&cfg, nothing).opcode, CQE_REQ);
	assert_int_equal(connected_with(&cfg, lid).syndrome, RETRY);
	assert_int_equal(connected_with(&cfg, source_lid).syndrome, RETRY);
	assert_int_equal(n_executed, 0);
}

static void grh(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	to_b->path.is_global = to_a->path.is_global = 1;
}

static void grh_of_requests(mlx5swi_qp_attr_t *to_b, mlx5swi_qp_attr_t *to_a)
{
	(void)to_a;
	to_b->path.is_global = 1;
}

/* Requests without a GRH are lost, and so are responses. */
static void no_grh_where_one_is_required(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	(void)state;
	cfg.link_layer = MLX5SW_INFINIBAND;
	assert_int_equal(connected_with(&cfg, grh).opcode, CQE_REQ);
	cfg.requires_grh = 1;
	assert_int_equal(connected_with(&cfg, grh).opcode, CQE_REQ);
	assert_int_equal(connected_with(&cfg, nothing).syndrome, RETRY);
	assert_int_equal(n_executed, 0);
	assert_int_equal(connected_with(&cfg, grh_of_requests).syndrome, RETRY);
	assert_int_not_equal(n_executed, 0);
}

static void partition_mismatch(void **state)
{
	(void)state;
	begin();
	b.qp->dev->port.pkey = 0x8001;
	uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	run();
	adapter_expect_error(&a, at, RETRY, 0x81);
	adapter_stop();
}

static void hop_limit_matters_when_routed(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	(void)state;
	assert_int_equal(connected_with(&cfg, hop_limit).opcode, CQE_REQ);
	cfg.is_routed = 1;
	assert_int_equal(connected_with(&cfg, nothing).opcode, CQE_REQ);
	assert_int_equal(connected_with(&cfg, hop_limit).syndrome, RETRY);
}

static void responder_is_ready_in_time(void **state)
{
	const adapter_spec_t spec = {.host = 1};
	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&a, &to_b);
	uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	adapter_clock = mlx5sw_next_time();
	adapter_step(); /* one retransmission, without effect */
	adapter_expect_none(&a);
	assert_int_equal(b.qp->counters.packets_received, 0);
	adapter_modify(&b, &to_a);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE);
	adapter_stop();
}

static void port_down_loses_packets(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		begin();
		mlx5swi_port_t *port = &(i ? &b : &a)->qp->dev->port;
		uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
		mlx5swi_port_set(port, 0);
		adapter_ring(&a);
		adapter_step();
		adapter_clock = mlx5sw_next_time();
		adapter_step();
		adapter_expect_none(&a);
		assert_int_equal(b.qp->counters.packets_received, 0);
		mlx5swi_port_set(port, 1);
		adapter_idle();
		adapter_expect(&a, at, OP_WRITE);
		mlx5swi_port_set(port, 0);
		at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
		run();
		adapter_expect_error(&a, at, RETRY, 0x81);
		adapter_stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(path_mismatch),
		cmocka_unit_test(more_reads_than_the_peer_has_room_for),
		cmocka_unit_test(path_mismatch_on_infiniband),
		cmocka_unit_test(no_grh_where_one_is_required),
		cmocka_unit_test(partition_mismatch),
		cmocka_unit_test(hop_limit_matters_when_routed),
		cmocka_unit_test(responder_is_ready_in_time),
		cmocka_unit_test(port_down_loses_packets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
