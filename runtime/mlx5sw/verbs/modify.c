/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* States of queue pairs, through verbs. */
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/verbs/entry.h"

#include <string.h>

#define MAX_RD_ATOMIC (1u << MLX5SWI_LOG_MAX_RA)
#define ACCESS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_RELAXED_ORDERING)

/* Bits of ibv_qp_attr_mask that correspond to one attribute of a QP context. */
static const struct {
	int verbs;
	uint32_t given;
} attributes[] = {
	{IBV_QP_PORT, MLX5SWI_ATTR_PORT},
	{IBV_QP_PKEY_INDEX, MLX5SWI_ATTR_PKEY},
	{IBV_QP_ACCESS_FLAGS, MLX5SWI_ATTR_ACCESS},
	{IBV_QP_AV, MLX5SWI_ATTR_AV},
	{IBV_QP_PATH_MTU, MLX5SWI_ATTR_MTU},
	{IBV_QP_DEST_QPN, MLX5SWI_ATTR_DEST_QPN},
	{IBV_QP_RQ_PSN, MLX5SWI_ATTR_RQ_PSN},
	{IBV_QP_MAX_DEST_RD_ATOMIC, MLX5SWI_ATTR_RRA},
	{IBV_QP_MIN_RNR_TIMER, MLX5SWI_ATTR_MIN_RNR},
	{IBV_QP_SQ_PSN, MLX5SWI_ATTR_SQ_PSN},
	{IBV_QP_MAX_QP_RD_ATOMIC, MLX5SWI_ATTR_SRA},
	{IBV_QP_RETRY_CNT, MLX5SWI_ATTR_RETRY},
	{IBV_QP_RNR_RETRY, MLX5SWI_ATTR_RNR_RETRY},
	{IBV_QP_TIMEOUT, MLX5SWI_ATTR_TIMEOUT},
};

static int state_of_verbs(enum ibv_qp_state state)
{
	switch (state) {
	case IBV_QPS_RESET:
		return MLX5SWI_RST;
	case IBV_QPS_INIT:
		return MLX5SWI_INIT;
	case IBV_QPS_RTR:
		return MLX5SWI_RTR;
	case IBV_QPS_RTS:
		return MLX5SWI_RTS;
	case IBV_QPS_SQD:
		return MLX5SWI_SQD;
	case IBV_QPS_SQE:
		return MLX5SWI_SQER;
	case IBV_QPS_ERR:
		return MLX5SWI_ERR;
	default:
		return -1;
	}
}

static enum ibv_qp_state verbs_state(int state)
{
	static const uint8_t states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
					 IBV_QPS_SQE,   IBV_QPS_SQD,  IBV_QPS_ERR};

	return (enum ibv_qp_state)states[state];
}

static uint8_t log2_floor(unsigned n)
{
	uint8_t log = 0;

	while (n >>= 1)
		log++;
	return log;
}

static uint32_t given_of(int mask)
{
	uint32_t given = 0;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (mask & attributes[i].verbs)
			given |= attributes[i].given;
	return given;
}

static int check_mask(const mlx5swi_qp_t *qp, const struct ibv_qp_attr *a, int mask)
{
	int known = IBV_QP_STATE | IBV_QP_CUR_STATE;

	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		known |= attributes[i].verbs;
	if (mask & ~known)
		return mlx5swi_fail(EINVAL,
				    "QP 0x%x: attr_mask 0x%x: 0x%x is not for reliable "
				    "connections, or not modelled",
				    qp->qpn, (unsigned)mask, (unsigned)(mask & ~known));
	if (mask & IBV_QP_CUR_STATE && state_of_verbs(a->cur_qp_state) != qp->state)
		return mlx5swi_fail(EINVAL, "QP 0x%x: cur_qp_state %d: it is in %d", qp->qpn,
				    (int)a->cur_qp_state, (int)verbs_state(qp->state));
	if (mask & IBV_QP_STATE && state_of_verbs(a->qp_state) < 0)
		return mlx5swi_fail(EINVAL, "QP 0x%x: qp_state %d", qp->qpn, (int)a->qp_state);
	return 0;
}

/* Refuse values that do not fit into the fields of a QP context. */
static int check_ranges(const mlx5swi_qp_t *qp, const struct ibv_qp_attr *a, int mask)
{
	if (mask & IBV_QP_ACCESS_FLAGS && a->qp_access_flags & ~(unsigned)ACCESS)
		return mlx5swi_fail(EINVAL, "QP 0x%x: qp_access_flags 0x%x", qp->qpn,
				    a->qp_access_flags);
	if (mask & IBV_QP_MAX_QP_RD_ATOMIC && a->max_rd_atomic > MAX_RD_ATOMIC)
		return mlx5swi_fail(EINVAL, "QP 0x%x: max_rd_atomic %u: at most %u", qp->qpn,
				    a->max_rd_atomic, MAX_RD_ATOMIC);
	if (mask & IBV_QP_MAX_DEST_RD_ATOMIC && a->max_dest_rd_atomic > MAX_RD_ATOMIC)
		return mlx5swi_fail(EINVAL, "QP 0x%x: max_dest_rd_atomic %u: at most %u", qp->qpn,
				    a->max_dest_rd_atomic, MAX_RD_ATOMIC);
	if (mask & IBV_QP_PATH_MTU && (unsigned)a->path_mtu > IBV_MTU_4096)
		return mlx5swi_fail(EINVAL, "QP 0x%x: path_mtu %u", qp->qpn, (unsigned)a->path_mtu);
	return 0;
}

static void convert(const struct ibv_qp_attr *a, mlx5swi_qp_attr_t *to)
{
	to->rwe = (a->qp_access_flags & IBV_ACCESS_REMOTE_WRITE) != 0;
	to->rre = (a->qp_access_flags & IBV_ACCESS_REMOTE_READ) != 0;
	to->rae = (a->qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) != 0;
	to->mtu = (uint8_t)a->path_mtu;
	to->min_rnr_nak = a->min_rnr_timer;
	to->rnr_retry = a->rnr_retry;
	to->retry_count = a->retry_cnt;
	to->log_sra_max = log2_floor(a->max_rd_atomic);
	to->log_rra_max = log2_floor(a->max_dest_rd_atomic);
	to->remote_qpn = a->dest_qp_num;
	to->next_rcv_psn = a->rq_psn;
	to->next_send_psn = a->sq_psn;
	to->path.port = a->port_num;
	to->path.pkey_index = a->pkey_index;
	to->path.ack_timeout = a->timeout;
}

/* What libmlx5 does when it resets a queue pair. It also removes the queue pair's entries from CQs
 * that it polls; here the program polls them all. */
static void zero_record(mlx5swi_qp_t *qp)
{
	const uint64_t zero = 0;

	mlx5swi_store(qp->dbr, &zero, sizeof(zero), MLX5SW_ATOMIC);
}

static int modify(mlx5swi_qp_t *qp, const struct ibv_qp_attr *a, int mask)
{
	int to = mask & IBV_QP_STATE ? state_of_verbs(a->qp_state) : qp->state;
	mlx5swi_qp_attr_t attr = {0};
	int err = mlx5swi_check_alive(qp->ctx);

	if (!err)
		err = check_mask(qp, a, mask);
	if (!err)
		err = check_ranges(qp, a, mask);
	if (!err && mask & IBV_QP_AV)
		err = mlx5swi_path_of(qp->ctx, &a->ah_attr, &attr.path);
	if (err)
		return err;
	convert(a, &attr);
	err = mlx5swi_errno_of(mlx5swi_qp_modify(qp, to, &attr, given_of(mask)));
	if (!err && mask & IBV_QP_STATE) {
		qp->ib.state = a->qp_state;
		if (to == MLX5SWI_RST)
			zero_record(qp);
	}
	return err;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int attr_mask)
{
	mlx5swi_lock();
	return mlx5swi_leave(modify((mlx5swi_qp_t *)qp, attr, attr_mask));
}

static void describe_path(const mlx5swi_path_t *path, struct ibv_ah_attr *a)
{
	a->is_global = path->is_global;
	memcpy(a->grh.dgid.raw, path->dgid, 16);
	a->grh.flow_label = path->flow_label;
	a->grh.sgid_index = path->sgid_index;
	a->grh.hop_limit = path->hop_limit;
	a->grh.traffic_class = path->tclass;
	a->dlid = path->dlid;
	a->sl = path->sl;
	a->static_rate = path->static_rate;
	a->port_num = path->port;
}

/* The next PSNs, not the initial ones. */
static void describe_psns(const mlx5swi_qp_t *qp, struct ibv_qp_attr *a)
{
	mlx5swi_send_state_t send;
	mlx5swi_receive_state_t receive;

	mlx5swi_requester_query(qp, &send);
	mlx5swi_responder_query(qp, &receive);
	a->sq_psn = send.next_send_psn;
	a->rq_psn = receive.next_rcv_psn;
}

static void describe(const mlx5swi_qp_t *qp, struct ibv_qp_attr *a)
{
	const mlx5swi_qp_attr_t *attr = &qp->attr;

	memset(a, 0, sizeof(*a));
	a->qp_state = a->cur_qp_state = verbs_state(qp->state);
	a->path_mtu = (enum ibv_mtu)attr->mtu;
	describe_psns(qp, a);
	a->dest_qp_num = attr->remote_qpn;
	a->qp_access_flags = (attr->rwe ? (unsigned)IBV_ACCESS_REMOTE_WRITE : 0) |
			     (attr->rre ? (unsigned)IBV_ACCESS_REMOTE_READ : 0) |
			     (attr->rae ? (unsigned)IBV_ACCESS_REMOTE_ATOMIC : 0);
	a->cap = qp->cap;
	describe_path(&attr->path, &a->ah_attr);
	a->pkey_index = attr->path.pkey_index;
	a->max_rd_atomic = (uint8_t)(1u << attr->log_sra_max);
	a->max_dest_rd_atomic = (uint8_t)(1u << attr->log_rra_max);
	a->min_rnr_timer = attr->min_rnr_nak;
	a->port_num = attr->path.port;
	a->timeout = attr->path.ack_timeout;
	a->retry_cnt = attr->retry_count;
	a->rnr_retry = attr->rnr_retry;
}

int ibv_query_qp(struct ibv_qp *ib, struct ibv_qp_attr *attr, int attr_mask,
		 struct ibv_qp_init_attr *init_attr)
{
	const mlx5swi_qp_t *qp = (mlx5swi_qp_t *)ib;

	(void)attr_mask; /* a hint of what the caller needs: all attributes are cheap here */
	mlx5swi_lock();
	describe(qp, attr);
	*init_attr = (struct ibv_qp_init_attr){.qp_context = ib->qp_context,
					       .send_cq = ib->send_cq,
					       .recv_cq = ib->recv_cq,
					       .cap = qp->cap,
					       .qp_type = ib->qp_type};
	return mlx5swi_leave(0);
}
