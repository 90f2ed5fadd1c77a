/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A client by verbs: libmlx5 creates the objects and reports the addresses of their rings. */
#include <stdlib.h>
#include "client.h"

#define DEPTH 16

enum { KIND_IBV, KIND_MLX5DV };

static const char *const kinds[] = {"ibv_create_qp", "mlx5dv_create_qp", NULL};

struct route_qp {
	struct ibv_qp *qp;
	struct ibv_cq *send_cq, *recv_cq;
};

static struct ibv_context *verbs_open(struct ibv_device *device)
{
	return lib.ibv_open_device(device);
}

static struct ibv_cq *create_cq(end_t *e, comp_queue_t *cq)
{
	struct ibv_cq *made = lib.ibv_create_cq(e->context, DEPTH, NULL, NULL, 0);
	struct mlx5dv_cq dv = {0};
	struct mlx5dv_obj obj = {.cq = {made, &dv}};

	must(made, "ibv_create_cq");
	must(!lib.mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), "mlx5dv_init_obj of a CQ");
	same("CQE size", sizeof(struct mlx5_cqe64), dv.cqe_size);
	*cq = (comp_queue_t){.cqes = dv.buf, .ncqes = dv.cqe_cnt, .record = dv.dbrec};
	return made;
}

static struct ibv_qp *create_ibv(end_t *e, struct ibv_qp_init_attr_ex *attr)
{
	struct ibv_qp_init_attr plain = {.send_cq = attr->send_cq,
					 .recv_cq = attr->recv_cq,
					 .cap = attr->cap,
					 .qp_type = attr->qp_type};

	return lib.ibv_create_qp(e->pd, &plain);
}

static struct ibv_qp *create_mlx5dv(end_t *e, struct ibv_qp_init_attr_ex *attr)
{
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS,
					 .create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE};

	attr->comp_mask = IBV_QP_INIT_ATTR_PD;
	attr->pd = e->pd;
	return lib.mlx5dv_create_qp(e->context, attr, &dv);
}

/* bf.size is 0 if the register takes doorbells only. */
static void find_rings(end_t *e, struct ibv_qp *qp)
{
	struct mlx5dv_qp dv = {0};
	struct mlx5dv_pd dv_pd = {0};
	struct mlx5dv_obj obj = {.qp = {qp, &dv}, .pd = {e->pd, &dv_pd}};

	must(!lib.mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_PD), "mlx5dv_init_obj of a QP");
	same("WQEBB size", MLX5_SEND_WQE_BB, dv.sq.stride);
	same("number of the PD: is it 24 bits?", 0, dv_pd.pdn >> 24);
	e->sq = (send_queue_t){.wqebbs = dv.sq.buf,
			       .n_wqebbs = dv.sq.wqe_cnt,
			       .record = dv.dbrec,
			       .doorbell = dv.bf.reg,
			       .bf_nbytes = dv.bf.size,
			       .qpn = qp->qp_num};
	e->rq = (recv_queue_t){.wqes = dv.rq.buf,
			       .nwqes = dv.rq.wqe_cnt,
			       .stride = dv.rq.stride,
			       .record = dv.dbrec};
}

static void verbs_create(end_t *e)
{
	struct route_qp *q = calloc(1, sizeof(*q));
	struct ibv_qp_init_attr_ex attr = {.qp_type = IBV_QPT_RC,
					   .cap = {.max_send_wr = DEPTH,
						   .max_recv_wr = DEPTH,
						   .max_send_sge = 1,
						   .max_recv_sge = 1}};

	must(q, "calloc");
	attr.send_cq = q->send_cq = create_cq(e, &e->send_cq);
	attr.recv_cq = q->recv_cq = create_cq(e, &e->recv_cq);
	q->qp = e->kind == KIND_IBV ? create_ibv(e, &attr) : create_mlx5dv(e, &attr);
	must(q->qp, "create a QP");
	find_rings(e, q->qp);
	e->qp = q;
}

/* Check the address that the kernel resolves for an address handle. */
static void check_ah(end_t *e)
{
	struct ibv_ah_attr attr = end_ah_attr(e);
	struct ibv_ah *ah = lib.ibv_create_ah(e->pd, &attr);
	struct mlx5dv_ah dv = {0};
	struct mlx5dv_obj obj = {.ah = {ah, &dv}};

	must(ah, "ibv_create_ah");
	must(!lib.mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH), "mlx5dv_init_obj of an AH");
	if (attr.is_global) {
		same_bytes("GID of the AH", &e->peer.gid, dv.av->rgid, sizeof(dv.av->rgid));
		same("hop limit of the AH", attr.grh.hop_limit, dv.av->hop_limit);
	}
	if (e->port.link_layer == IBV_LINK_LAYER_INFINIBAND)
		same("LID of the AH", attr.dlid, be16toh(dv.av->rlid));
	same("ibv_destroy_ah", 0, (uint64_t)lib.ibv_destroy_ah(ah));
}

static void modify(end_t *e, const char *what, struct ibv_qp_attr *attr, int mask)
{
	must(!lib.ibv_modify_qp(e->qp->qp, attr, IBV_QP_STATE | mask), what);
}

static void verbs_to_rtr(end_t *e)
{
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT,
				   .port_num = PORT,
				   .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						      IBV_ACCESS_REMOTE_READ |
						      IBV_ACCESS_REMOTE_ATOMIC};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR,
				  .ah_attr = end_ah_attr(e),
				  .path_mtu = PATH_MTU,
				  .dest_qp_num = e->peer.qpn,
				  .rq_psn = e->peer.psn,
				  .max_dest_rd_atomic = 1 << LOG_RD_ATOMIC,
				  .min_rnr_timer = RNR_TIMER};

	check_ah(e);
	modify(e, "to INIT", &init, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	modify(e, "to RTR", &rtr,
	       IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	same("state after INIT, RTR", IBV_QPS_RTR, route.state(e));
}

static void verbs_to_rts(end_t *e)
{
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS,
				  .sq_psn = e->self.psn,
				  .max_rd_atomic = 1 << LOG_RD_ATOMIC,
				  .timeout = ACK_TIMEOUT,
				  .retry_cnt = RETRIES,
				  .rnr_retry = RNR_RETRIES};

	modify(e, "to RTS", &rts,
	       IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		       IBV_QP_RNR_RETRY);
	same("state after RTS", IBV_QPS_RTS, route.state(e));
}

/* libmlx5 clears the doorbell records. It does not change the CQs, which belong to the program
 * since mlx5dv_init_obj. The device continues to count their CQEs. */
static void verbs_reset(end_t *e)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};

	modify(e, "to RESET", &attr, 0);
	same("send record after RESET", 0, e->sq.record[MLX5_SND_DBR]);
	same("receive record after RESET", 0, e->rq.record[MLX5_RCV_DBR]);
	e->sq.posted = e->rq.posted = 0;
}

static unsigned verbs_state(end_t *e)
{
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	must(!lib.ibv_query_qp(e->qp->qp, &attr, IBV_QP_STATE, &init), "ibv_query_qp");
	return attr.qp_state;
}

static void verbs_await_access_event(end_t *e)
{
	struct ibv_async_event event;

	if (!readable("event of the refused WRITE", e->context->async_fd))
		return;
	must(!lib.ibv_get_async_event(e->context, &event), "ibv_get_async_event");
	same("event of the refused WRITE", IBV_EVENT_QP_ACCESS_ERR, event.event_type);
	same("QP of the event", (uintptr_t)e->qp->qp, (uintptr_t)event.element.qp);
	lib.ibv_ack_async_event(&event);
}

static void verbs_destroy(end_t *e)
{
	same("ibv_destroy_qp", 0, (uint64_t)lib.ibv_destroy_qp(e->qp->qp));
	same("ibv_destroy_cq", 0, (uint64_t)lib.ibv_destroy_cq(e->qp->send_cq));
	same("ibv_destroy_cq", 0, (uint64_t)lib.ibv_destroy_cq(e->qp->recv_cq));
	free(e->qp);
}

const route_t route = {.kinds = kinds,
		       .open = verbs_open,
		       .create = verbs_create,
		       .to_rtr = verbs_to_rtr,
		       .to_rts = verbs_to_rts,
		       .reset = verbs_reset,
		       .state = verbs_state,
		       .await_access_event = verbs_await_access_event,
		       .destroy = verbs_destroy};
