/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* States of queue pairs, by verbs. */
#include "verbs_qp.h"

#define INIT_MASK (IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define RTR_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |            \
	 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RTS_MASK                                                                                   \
	(IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |     \
	 IBV_QP_MAX_QP_RD_ATOMIC)

static struct ibv_qp_attr good_attr(struct ibv_qp *peer)
{
	struct ibv_qp_attr a = {.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
				.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = peer->qp_num,
				.rq_psn = 0x123456,
				.sq_psn = 0x123456,
				.max_dest_rd_atomic = 16,
				.max_rd_atomic = 5,
				.min_rnr_timer = 12,
				.timeout = 14,
				.retry_cnt = 6,
				.rnr_retry = 7};

	a.ah_attr = (struct ibv_ah_attr){.is_global = 1, .port_num = 1};
	a.ah_attr.grh.sgid_index = 3;
	a.ah_attr.grh.hop_limit = 64;
	a.ah_attr.grh.traffic_class = 0x20;
	memcpy(a.ah_attr.grh.dgid.raw, mlx5swi_context_of(peer->context)->dev->port.gids[3].raw,
	       16);
	return a;
}

static int move(struct ibv_qp *qp, struct ibv_qp_attr a, enum ibv_qp_state to, int mask)
{
	a.qp_state = to;
	return ibv_modify_qp(qp, &a, mask);
}

static void connect(struct ibv_qp *qp, struct ibv_qp *peer)
{
	struct ibv_qp_attr a = good_attr(peer);

	assert_int_equal(move(qp, a, IBV_QPS_INIT, INIT_MASK), 0);
	assert_int_equal(move(qp, a, IBV_QPS_RTR, RTR_MASK), 0);
	assert_int_equal(move(qp, a, IBV_QPS_RTS, RTS_MASK), 0);
}

static void query_returns_what_modify_set(void **state)
{
	struct ibv_qp *qp = make_qp();
	struct ibv_qp_attr a, wanted = good_attr(qp);
	struct ibv_qp_init_attr init;

	(void)state;
	connect(qp, qp);
	assert_int_equal(qp->state, IBV_QPS_RTS);
	memset(&a, 0xa5, sizeof(a));
	assert_int_equal(ibv_query_qp(qp, &a, IBV_QP_STATE, &init), 0);
	assert_int_equal(a.qp_state, IBV_QPS_RTS);
	assert_int_equal(a.cur_qp_state, IBV_QPS_RTS);
	assert_int_equal(a.path_mtu, IBV_MTU_1024);
	assert_int_equal(a.dest_qp_num, qp->qp_num);
	assert_int_equal(a.rq_psn, 0x123456);
	assert_int_equal(a.qp_access_flags, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
	assert_int_equal(a.max_rd_atomic, 4); /* a power of two, at most the requested number */
	assert_int_equal(a.max_dest_rd_atomic, 16);
	assert_int_equal(a.timeout, 14);
	assert_int_equal(a.retry_cnt, 6);
	assert_int_equal(a.rnr_retry, 7);
	assert_int_equal(a.min_rnr_timer, 12);
	assert_int_equal(a.ah_attr.grh.hop_limit, 64);
	assert_memory_equal(a.ah_attr.grh.dgid.raw, wanted.ah_attr.grh.dgid.raw, 16);
	assert_int_equal(init.cap.max_send_wr, 16);
	assert_int_equal(init.cap.max_inline_data, 60);
	assert_ptr_equal(init.send_cq, cq);
	assert_int_equal(init.qp_type, IBV_QPT_RC);
}

static void unknown_transitions_are_refused(void **state)
{
	struct ibv_qp *qp = make_qp();
	struct ibv_qp_attr a = good_attr(qp);

	(void)state;
	FAILED(move(qp, a, IBV_QPS_RTR, RTR_MASK), EINVAL, "no transition");
	FAILED(move(qp, a, IBV_QPS_RTS, RTS_MASK), EINVAL, "no transition");
	FAILED(move(qp, a, IBV_QPS_UNKNOWN, IBV_QP_STATE), EINVAL, "qp_state");
	assert_int_equal(move(qp, a, IBV_QPS_INIT, INIT_MASK), 0);
	FAILED(move(qp, a, IBV_QPS_RTS, RTS_MASK), EINVAL, "no transition");
	a.cur_qp_state = IBV_QPS_RTR;
	FAILED(move(qp, a, IBV_QPS_RTR, RTR_MASK | IBV_QP_CUR_STATE), EINVAL, "cur_qp_state");
	assert_int_equal(move(qp, a, IBV_QPS_RTR, RTR_MASK), 0);
	a.cur_qp_state = IBV_QPS_RTR;
	assert_int_equal(move(qp, a, IBV_QPS_RTS, RTS_MASK), 0);
	assert_int_equal(move(qp, a, IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(qp->state, IBV_QPS_ERR);
	FAILED(move(qp, a, IBV_QPS_RTS, RTS_MASK), EINVAL, "no transition");
	assert_int_equal(move(qp, a, IBV_QPS_RESET, IBV_QP_STATE), 0);
}

static void each_attribute_is_needed(void **state)
{
	static const struct {
		enum ibv_qp_state to;
		int mask;
	} steps[] = {{IBV_QPS_INIT, INIT_MASK}, {IBV_QPS_RTR, RTR_MASK}, {IBV_QPS_RTS, RTS_MASK}};
	struct ibv_qp *qp = make_qp();
	struct ibv_qp_attr a = good_attr(qp);

	(void)state;
	for (int i = 0; i < 3; i++) {
		for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1)
			if (steps[i].mask & bit)
				FAILED(move(qp, a, steps[i].to, steps[i].mask & ~bit), EINVAL,
				       "missing");
		assert_int_equal(move(qp, a, steps[i].to, steps[i].mask), 0);
	}
}

static void attributes_out_of_range(void **state)
{
	struct ibv_qp *qp = make_qp();
	struct ibv_qp_attr a, before, after;
	struct ibv_qp_init_attr init;

	(void)state;
#define BAD(field, value, to, mask, text)                                                          \
	do {                                                                                       \
		a = good_attr(qp);                                                                 \
		a.field = value;                                                                   \
		assert_int_equal(ibv_query_qp(qp, &before, 0, &init), 0);                          \
		FAILED(move(qp, a, to, mask), EINVAL, text);                                       \
		assert_int_equal(ibv_query_qp(qp, &after, 0, &init), 0);                           \
		assert_memory_equal(&before, &after, sizeof(before));                              \
	} while (0)
	BAD(port_num, 2, IBV_QPS_INIT, INIT_MASK, "port");
	BAD(pkey_index, 1, IBV_QPS_INIT, INIT_MASK, "pkey_index");
	BAD(qp_access_flags, 1 << 8, IBV_QPS_INIT, INIT_MASK, "qp_access_flags");
	BAD(qkey, 1, IBV_QPS_INIT, INIT_MASK | IBV_QP_QKEY, "attr_mask");
	assert_int_equal(move(qp, good_attr(qp), IBV_QPS_INIT, INIT_MASK), 0);
	BAD(path_mtu, 6, IBV_QPS_RTR, RTR_MASK, "path_mtu");
	BAD(path_mtu, 256, IBV_QPS_RTR, RTR_MASK, "path_mtu");
	BAD(path_mtu, 0, IBV_QPS_RTR, RTR_MASK, "mtu");
	BAD(dest_qp_num, 1 << 24, IBV_QPS_RTR, RTR_MASK, "remote_qpn");
	BAD(rq_psn, 1 << 24, IBV_QPS_RTR, RTR_MASK, "next_rcv_psn");
	BAD(max_dest_rd_atomic, 17, IBV_QPS_RTR, RTR_MASK, "max_dest_rd_atomic");
	BAD(min_rnr_timer, 32, IBV_QPS_RTR, RTR_MASK, "min_rnr_nak");
	BAD(ah_attr.static_rate, 0xa5, IBV_QPS_RTR, RTR_MASK, "static_rate");
	BAD(ah_attr.grh.sgid_index, 9, IBV_QPS_RTR, RTR_MASK, "sgid_index");
	assert_int_equal(move(qp, good_attr(qp), IBV_QPS_RTR, RTR_MASK), 0);
	BAD(sq_psn, 1 << 24, IBV_QPS_RTS, RTS_MASK, "next_send_psn");
	BAD(max_rd_atomic, 17, IBV_QPS_RTS, RTS_MASK, "max_rd_atomic");
	BAD(timeout, 32, IBV_QPS_RTS, RTS_MASK, "ack_timeout");
	BAD(retry_cnt, 8, IBV_QPS_RTS, RTS_MASK, "retry_count");
	BAD(rnr_retry, 8, IBV_QPS_RTS, RTS_MASK, "rnr_retry");
	assert_int_equal(move(qp, good_attr(qp), IBV_QPS_RTS, RTS_MASK), 0);
#undef BAD
}

static void uninitialised_attributes(void **state)
{
	static const int masks[] = {INIT_MASK, RTR_MASK, RTS_MASK};
	static const enum ibv_qp_state states[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS};
	struct ibv_qp *qp = make_qp();
	struct ibv_qp_attr a;

	(void)state;
	memset(&a, 0xa5, sizeof(a));
	for (int i = 0; i < 3; i++) {
		assert_int_equal(move(qp, a, states[i], masks[i]), EINVAL);
		assert_int_equal(move(qp, good_attr(qp), states[i], masks[i]), 0);
	}
	assert_int_equal(ibv_modify_qp(qp, &a, (int)0xa5a5a5a5), EINVAL);
}

static void reset_zeroes_the_record(void **state)
{
	struct ibv_qp *qp = make_qp();
	struct mlx5dv_qp dv = show(qp);

	(void)state;
	connect(qp, qp);
	dv.dbrec[0] = dv.dbrec[1] = htobe32(5);
	assert_int_equal(move(qp, good_attr(qp), IBV_QPS_ERR, IBV_QP_STATE), 0);
	assert_int_equal(dv.dbrec[1], htobe32(5));
	assert_int_equal(move(qp, good_attr(qp), IBV_QPS_RESET, IBV_QP_STATE), 0);
	assert_int_equal(dv.dbrec[0], 0);
	assert_int_equal(dv.dbrec[1], 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, queues_setup, fabric_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(query_returns_what_modify_set), TEST(unknown_transitions_are_refused),
		TEST(each_attribute_is_needed),      TEST(attributes_out_of_range),
		TEST(uninitialised_attributes),      TEST(reset_zeroes_the_record),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
