/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A program of verbs that writes WQEs itself, from rdma-core's headers and manuals only: queue
 * pairs by ibv_create_qp and ibv_modify_qp, rings by mlx5dv_init_obj. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include "mlx5sw.h"

#define ALL                                                                                        \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

typedef struct end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct mlx5dv_qp dv;
	struct mlx5dv_cq dv_cq;
	uint16_t pi;
	uint32_t ci;
	uint64_t memory[64];
} end_t;

/* is_process: a thread runs the devices, and the test does not step them */
static int host, is_process;

static int caller_host(void *arg)
{
	(void)arg;
	return host;
}

static uint64_t now(void *arg)
{
	uint64_t *clock = arg;

	return *clock += 1000;
}

static unsigned choose(void *arg, unsigned n)
{
	(void)arg;
	return n - 1;
}

static uint64_t take(void *arg, void *reg)
{
	(void)arg;
	if (*(uint64_t *)reg == UINT64_MAX)
		return UINT64_MAX;
	return __atomic_exchange_n((uint64_t *)reg, UINT64_MAX, __ATOMIC_ACQUIRE);
}

static void load(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	(void)arg;
	(void)access;
	memcpy(dst, src, nbytes);
}

static void nothing(void *arg)
{
	(void)arg;
}

static void start(uint8_t link_layer)
{
	static uint64_t clock;
	mlx5sw_hooks_t hooks = {.size = sizeof(hooks),
				.arg = &clock,
				.now = now,
				.choose = choose,
				.host = caller_host,
				.take = take,
				.load = load,
				.store = load,
				.lock = nothing,
				.unlock = nothing};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.n_hosts = 2;
	cfg.link_layer = link_layer;
	cfg.lint = MLX5SW_LINT_STRICT;
	cfg.timing = MLX5SW_TIMING_FAST;
	assert_int_equal(mlx5sw_start(&cfg, &hooks), 0);
}

static void make(end_t *e, int on_host, int device)
{
	struct ibv_device **list;
	struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = 8, .max_send_sge = 1},
					.qp_type = IBV_QPT_RC};
	struct mlx5dv_obj obj = {.qp = {.out = &e->dv}, .cq = {.out = &e->dv_cq}};

	memset(e, 0, sizeof(*e));
	host = on_host;
	assert_non_null(list = ibv_get_device_list(NULL));
	assert_non_null(e->ctx = ibv_open_device(list[device]));
	ibv_free_device_list(list);
	assert_non_null(e->pd = ibv_alloc_pd(e->ctx));
	assert_non_null(e->mr = ibv_reg_mr(e->pd, e->memory, sizeof(e->memory), ALL));
	assert_non_null(e->cq = ibv_create_cq(e->ctx, 15, NULL, NULL, 0));
	attr.send_cq = attr.recv_cq = e->cq;
	assert_non_null(e->qp = ibv_create_qp(e->pd, &attr));
	obj.qp.in = e->qp;
	obj.cq.in = e->cq;
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ), 0);
}

static void end(end_t *e)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	assert_int_equal(ibv_close_device(e->ctx), 0);
}

static void address(const end_t *peer, struct ibv_ah_attr *a)
{
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(peer->ctx, 1, &port), 0);
	a->port_num = 1;
	a->dlid = port.lid;
	if (port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	a->is_global = 1;
	a->grh.sgid_index = 3;
	a->grh.hop_limit = 64;
	assert_int_equal(ibv_query_gid(peer->ctx, 1, 3, &a->grh.dgid), 0);
}

static void connect(end_t *e, const end_t *peer)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.qp_access_flags = ALL,
				.port_num = 1,
				.path_mtu = IBV_MTU_256,
				.dest_qp_num = peer->qp->qp_num,
				.max_dest_rd_atomic = 16,
				.max_rd_atomic = 16,
				.min_rnr_timer = 12,
				.timeout = 14,
				.retry_cnt = 7,
				.rnr_retry = 7};

	address(peer, &a.ah_attr);
	assert_int_equal(
		ibv_modify_qp(e->qp, &a,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
		0);
	a.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(e->qp, &a,
				       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
					       IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
					       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
			 0);
	a.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(e->qp, &a,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

/* One WQEBB: control, remote address, operands of an atomic (or none), data. As in libmlx5, the
 * doorbell is the start of the control segment. */
static void post(end_t *e, const end_t *peer, uint8_t opcode, uint64_t *local, uint64_t *remote,
		 uint32_t nbytes, const struct mlx5_wqe_atomic_seg *operands)
{
	uint8_t *wqebb =
		(uint8_t *)e->dv.sq.buf + (size_t)(e->pi % e->dv.sq.wqe_cnt) * e->dv.sq.stride;
	struct mlx5_wqe_raddr_seg *raddr = (struct mlx5_wqe_raddr_seg *)(wqebb + 16);
	uint8_t ds = operands ? 4 : 3;
	uint64_t doorbell;

	mlx5dv_set_ctrl_seg((struct mlx5_wqe_ctrl_seg *)wqebb, e->pi, opcode, 0, e->qp->qp_num,
			    MLX5_WQE_CTRL_CQ_UPDATE, ds, 0, 0);
	raddr->raddr = htobe64((uintptr_t)remote);
	raddr->rkey = htobe32(peer->mr->rkey);
	raddr->reserved = 0;
	if (operands)
		memcpy(wqebb + 32, operands, sizeof(*operands));
	mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(wqebb + 16 * (ds - 1)), nbytes,
			    e->mr->lkey, (uintptr_t)local);
	e->pi++;
	__atomic_store_n(&e->dv.dbrec[MLX5_SND_DBR], htobe32(e->pi), __ATOMIC_RELEASE);
	memcpy(&doorbell, wqebb, sizeof(doorbell));
	__atomic_store_n((uint64_t *)e->dv.bf.reg, doorbell, __ATOMIC_RELEASE);
}

/* The last 8 bytes, with the owner bit, are stored at once. */
static const struct mlx5_cqe64 *next_cqe(end_t *e)
{
	const struct mlx5_cqe64 *cqe =
		(const struct mlx5_cqe64 *)e->dv_cq.buf + e->ci % e->dv_cq.cqe_cnt;
	const uint64_t *last = (const uint64_t *)cqe + 7;
	uint8_t op_own = (uint8_t)(be64toh(__atomic_load_n(last, __ATOMIC_ACQUIRE)) & 0xff);

	if (op_own >> 4 == MLX5_CQE_INVALID || (op_own & 1) != (e->ci / e->dv_cq.cqe_cnt & 1))
		return NULL;
	e->ci++;
	__atomic_store_n(&e->dv_cq.dbrec[0], htobe32(e->ci & 0xffffff), __ATOMIC_RELEASE);
	return cqe;
}

static const struct mlx5_cqe64 *wait_cqe(end_t *e)
{
	const struct mlx5_cqe64 *cqe;

	while (!(cqe = next_cqe(e)))
		if (!is_process)
			mlx5sw_step();
	return cqe;
}

static void expect_success(end_t *e, uint8_t opcode)
{
	const struct mlx5_cqe64 *cqe = wait_cqe(e);

	assert_int_equal(cqe->op_own >> 4, MLX5_CQE_REQ);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) >> 24, opcode);
	assert_int_equal(be32toh(cqe->sop_drop_qpn) & 0xffffff, e->qp->qp_num);
	assert_int_equal(be16toh(cqe->wqe_counter), (uint16_t)(e->pi - 1));
}

/* 100 rounds: the ring and the completion queue wrap several times. */
static void traffic(end_t *a, end_t *b)
{
	struct mlx5_wqe_atomic_seg add = {.swap_add = htobe64(3)}, swap;

	for (uint64_t i = 1; i <= 100; i++) {
		a->memory[0] = i * 0x0101010101010101;
		post(a, b, MLX5_OPCODE_RDMA_WRITE, &a->memory[0], &b->memory[1], 8, NULL);
		expect_success(a, MLX5_OPCODE_RDMA_WRITE);
		assert_true(b->memory[1] == a->memory[0]);
		post(a, b, MLX5_OPCODE_RDMA_READ, &a->memory[2], &b->memory[1], 8, NULL);
		expect_success(a, MLX5_OPCODE_RDMA_READ);
		assert_true(a->memory[2] == a->memory[0]);
		post(a, b, MLX5_OPCODE_ATOMIC_FA, &a->memory[3], &b->memory[4], 8, &add);
		expect_success(a, MLX5_OPCODE_ATOMIC_FA);
		assert_true(a->memory[3] == 4 * (i - 1) && b->memory[4] == 4 * (i - 1) + 3);
		swap.compare = htobe64(4 * (i - 1) + 3);
		swap.swap_add = htobe64(4 * i);
		post(a, b, MLX5_OPCODE_ATOMIC_CS, &a->memory[3], &b->memory[4], 8, &swap);
		expect_success(a, MLX5_OPCODE_ATOMIC_CS);
		assert_true(b->memory[4] == 4 * i);
	}
}

static void expect_error(end_t *e, uint8_t syndrome, uint8_t vendor)
{
	const struct mlx5_err_cqe *cqe = (const struct mlx5_err_cqe *)wait_cqe(e);

	assert_int_equal(cqe->op_own >> 4, MLX5_CQE_REQ_ERR);
	assert_int_equal(cqe->syndrome, syndrome);
	assert_int_equal(cqe->vendor_err_synd, vendor);
}

/* A bad key causes a NAK, and later WQEs are flushed; for QPs of verbs, an event reports it at the
 * responder. */
static void failure(end_t *a, end_t *b)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_async_event e;

	post(a, b, MLX5_OPCODE_RDMA_WRITE, &a->memory[0], b->memory + 64, 8, NULL);
	post(a, b, MLX5_OPCODE_RDMA_WRITE, &a->memory[0], b->memory, 8, NULL);
	expect_error(a, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, 0x88);
	expect_error(a, MLX5_CQE_SYNDROME_WR_FLUSH_ERR, 0xf9);
	assert_int_equal(ibv_query_qp(a->qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	assert_int_equal(ibv_get_async_event(b->ctx, &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(e.element.qp, b->qp);
	ibv_ack_async_event(&e);
}

/* A query returns the progress of a queue pair: each request of a round uses one PSN. */
static void expect_psns(end_t *e, uint32_t sent, uint32_t received)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	assert_int_equal(ibv_query_qp(e->qp, &attr, IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init), 0);
	assert_int_equal(attr.sq_psn, sent);
	assert_int_equal(attr.rq_psn, received);
}

static void counters(const end_t *a, const end_t *b)
{
	mlx5sw_qp_counters_t c = {.size = sizeof(c)}, old = {.size = 8, .wqes = 77};

	assert_int_equal(mlx5sw_qp_counters(0, 0, a->qp->qp_num, &c), 0);
	assert_int_equal(c.state, IBV_QPS_RTS);
	assert_int_equal(c.wqes, 400);
	assert_int_equal(c.cqes, 400);
	assert_int_equal(mlx5sw_qp_counters(1, 0, b->qp->qp_num, &c), 0);
	assert_int_equal(c.executed, 400);
	assert_int_equal(mlx5sw_qp_counters(0, 0, a->qp->qp_num, &old), 0);
	assert_int_equal(old.size, 8); /* a program with an older header */
	assert_int_equal(old.wqes, 77);
	assert_int_equal(mlx5sw_qp_counters(0, 0, 0x777777, &c), ENOENT);
	assert_int_equal(mlx5sw_qp_counters(0, 9, a->qp->qp_num, &c), ENOENT);
	assert_int_equal(mlx5sw_qp_counters(-1, 0, a->qp->qp_num, &c), ENOENT);
}

static void between_hosts(uint8_t link_layer)
{
	end_t a, b;

	start(link_layer);
	make(&a, 0, 0);
	make(&b, 1, 0);
	connect(&a, &b);
	connect(&b, &a);
	traffic(&a, &b);
	expect_psns(&a, 400, 0);
	expect_psns(&b, 0, 400);
	counters(&a, &b);
	traffic(&b, &a);
	assert_null(mlx5sw_report(0));
	failure(&a, &b);
	end(&a);
	end(&b);
}

static void by_ethernet(void **state)
{
	(void)state;
	between_hosts(MLX5SW_ETHERNET);
}

static void by_infiniband(void **state)
{
	(void)state;
	between_hosts(MLX5SW_INFINIBAND);
}

static void qp_connected_to_itself(void **state)
{
	end_t a;

	(void)state;
	start(MLX5SW_ETHERNET);
	make(&a, 0, 0);
	connect(&a, &a);
	traffic(&a, &a);
	end(&a);
}

/* Without mlx5sw_start the devices have a thread. */
static void in_a_process(void **state)
{
	end_t a, b;

	(void)state;
	mlx5sw_stop();
	is_process = 1;
	make(&a, 0, 0);
	make(&b, 0, 1);
	connect(&a, &b);
	connect(&b, &a);
	traffic(&a, &b);
	failure(&a, &b);
	end(&a);
	end(&b);
	is_process = 0;
}

/* Reset, and repeat everything: indexes restart at 0, the CQ continues. */
static void again_after_reset(void **state)
{
	struct ibv_qp_attr reset = {.qp_state = IBV_QPS_RESET};
	end_t a, b;

	(void)state;
	start(MLX5SW_ETHERNET);
	make(&a, 0, 0);
	make(&b, 1, 0);
	for (int i = 0; i < 3; i++) {
		connect(&a, &b);
		connect(&b, &a);
		memset(b.memory, 0, sizeof(b.memory));
		traffic(&a, &b);
		failure(&a, &b);
		assert_int_equal(ibv_modify_qp(a.qp, &reset, IBV_QP_STATE), 0);
		assert_int_equal(ibv_modify_qp(b.qp, &reset, IBV_QP_STATE), 0);
		a.pi = b.pi = 0;
	}
	end(&a);
	end(&b);
}

static int teardown(void **state)
{
	(void)state;
	mlx5sw_stop();
	return 0;
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_ethernet),  TEST(by_infiniband),     TEST(qp_connected_to_itself),
		TEST(in_a_process), TEST(again_after_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
