/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture_verbs.h"
#include <endian.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#define SGID_INDEX 3 /* RoCE v2, routable; InfiniBand has the GID of index 0 only */
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static int open_device(verbs_end_t *e)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	e->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (list)
		ibv_free_device_list(list);
	return !e->ctx;
}

static int make_queues(verbs_end_t *e, uint32_t n_wqebbs)
{
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = n_wqebbs,
						.max_recv_wr = 1,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = 12}};
	struct mlx5dv_obj obj = {0};
	e->cq = ibv_create_cq(e->ctx, n_wqebbs, NULL, NULL, 0);
	init.send_cq = init.recv_cq = e->cq;
	e->qp = e->cq ? ibv_create_qp(e->pd, &init) : NULL;
	if (!e->qp)
		return 1;
	obj.qp.in = e->qp;
	obj.qp.out = &e->dv;
	obj.cq.in = e->cq;
	obj.cq.out = &e->dv_cq;
	return mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ);
}

int verbs_open(verbs_end_t *e, uint8_t *memory, size_t nbytes, uint32_t n_wqebbs)
{
	struct ibv_port_attr port;
	memset(e, 0, sizeof(*e));
	e->memory = memory;
	if (open_device(e))
		return 1;
	e->pd = ibv_alloc_pd(e->ctx);
	if (!e->pd || make_queues(e, n_wqebbs))
		return 2;
	e->mr = ibv_reg_mr(e->pd, e->memory, nbytes, ALL_RIGHTS);
	if (!e->mr || ibv_query_port(e->ctx, 1, &port))
		return 3;
	e->sgid_index = port.link_layer == IBV_LINK_LAYER_ETHERNET ? SGID_INDEX : 0;
	if (ibv_query_gid(e->ctx, 1, e->sgid_index, &e->name.gid))
		return 4;
	e->name.lid = port.lid;
	e->name.qpn = e->qp->qp_num;
	e->name.psn = e->qp->qp_num * 77 & 0xffffff;
	e->name.rkey = e->mr->rkey;
	e->name.addr = (uintptr_t)e->memory;
	return 0;
}

int verbs_connect(verbs_end_t *e, const verbs_name_t *peer)
{
	struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT,
				.port_num = 1,
				.qp_access_flags = ALL_RIGHTS & ~IBV_ACCESS_LOCAL_WRITE};
	if (ibv_modify_qp(e->qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS))
		return 1;
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = peer->qpn;
	a.rq_psn = peer->psn;
	a.max_dest_rd_atomic = 16;
	a.min_rnr_timer = 12;
	a.ah_attr.dlid = peer->lid;
	a.ah_attr.port_num = 1;
	a.ah_attr.is_global = 1;
	a.ah_attr.grh.dgid = peer->gid;
	a.ah_attr.grh.sgid_index = e->sgid_index;
	a.ah_attr.grh.hop_limit = 64;
	if (ibv_modify_qp(e->qp, &a,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return 2;
	a.qp_state = IBV_QPS_RTS;
	a.sq_psn = e->name.psn;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.max_rd_atomic = 16;
	e->peer = *peer;
	return ibv_modify_qp(e->qp, &a,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC)
		       ? 3
		       : 0;
}

void verbs_close(verbs_end_t *e)
{
	ibv_destroy_qp(e->qp);
	ibv_destroy_cq(e->cq);
	ibv_dereg_mr(e->mr);
	ibv_dealloc_pd(e->pd);
	ibv_close_device(e->ctx);
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static void ring(verbs_end_t *e)
{
	uint32_t halves[2] = {htobe32((uint32_t)e->pi << 8), htobe32(e->qp->qp_num << 8)};
	uint64_t doorbell;
	memcpy(&doorbell, halves, sizeof(doorbell));
	__atomic_store_n(&e->dv.dbrec[MLX5_SND_DBR], htobe32(e->pi), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)e->dv.bf.reg, doorbell, __ATOMIC_RELEASE);
}

void verbs_write(verbs_end_t *e, uint32_t offset, uint64_t value, int is_last)
{
	uint8_t *w = (uint8_t *)e->dv.sq.buf + (e->pi & (e->dv.sq.wqe_cnt - 1)) * 64u;
	memset(w, 0, 64);
	put32(w, (uint32_t)e->pi << 8 | MLX5_OPCODE_RDMA_WRITE);
	put32(w + 4, e->qp->qp_num << 8 | 3);
	w[11] = is_last ? MLX5_WQE_CTRL_CQ_UPDATE : 0;
	put64(w + 16, e->peer.addr + offset);
	put32(w + 24, e->peer.rkey);
	put32(w + 32, 8u | MLX5_INLINE_SEG);
	memcpy(w + 36, &value, sizeof(value));
	e->pi++;
	if (is_last)
		ring(e);
}

int verbs_wait(verbs_end_t *e, unsigned seconds, uint8_t *syndrome)
{
	uint32_t log_n = (uint32_t)__builtin_ctz(e->dv_cq.cqe_cnt);
	uint8_t *cqe = (uint8_t *)e->dv_cq.buf + (e->ci & (e->dv_cq.cqe_cnt - 1)) * 64u;
	time_t end = time(NULL) + seconds + 1;
	for (;;) {
		/* Load the whole word that the device stores at once. */
		uint8_t own = __atomic_load_n((uint64_t *)(cqe + 56), __ATOMIC_ACQUIRE) >> 56;
		if (own >> 4 != MLX5_CQE_INVALID && (own & 1) == (e->ci >> log_n & 1)) {
			e->ci++;
			__atomic_store_n(&e->dv_cq.dbrec[0], htobe32(e->ci & 0xffffff),
					 __ATOMIC_RELEASE);
			*syndrome = own >> 4 == MLX5_CQE_REQ_ERR ? cqe[55] : 0;
			return own >> 4;
		}
		if (time(NULL) > end)
			return -1;
		sched_yield();
	}
}
