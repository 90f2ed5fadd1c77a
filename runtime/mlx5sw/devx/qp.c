/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CREATE_QP and QUERY_QP. */
#include "mlx5sw/devx/devx.h"

#include <string.h>
#include "mlx5sw/engine/engine.h"

#define RC 0
#define MIGRATED 3 /* pm_state: no alternate path */

enum { RQ_REGULAR = 0, RQ_NONE = 3 }; /* rq_type; SRQs cannot be created here */

/* Refuse features that this device does not have, and values without a meaning. */
static int check_kind(const uint8_t *qpc)
{
	static const struct {
		uint32_t field, max;
		const char *name;
	} limits[] = {
		{MLX5SWI_QPC_ST, RC, "st"},
		{MLX5SWI_QPC_COUNTER_SET_ID, 0, "counter_set_id"},
		{MLX5SWI_QPC_SEND_DBR_MODE, 1, "send_dbr_mode"},
		{MLX5SWI_QPC_CD_MASTER, 0, "cd_master"},
		{MLX5SWI_QPC_CS_REQ, 0, "cs_req"},
		{MLX5SWI_QPC_CS_RES, 0, "cs_res"},
	};
	uint32_t rq_type = mlx5swi_field32(qpc, MLX5SWI_QPC_RQ_TYPE);

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (mlx5swi_field32(qpc, limits[i].field) > limits[i].max)
			return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "%s %u: at most %u on this device",
					      limits[i].name, mlx5swi_field32(qpc, limits[i].field),
					      limits[i].max);
	if (rq_type != RQ_REGULAR && rq_type != RQ_NONE)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "rq_type %u: regular (0) or none (3)",
				      rq_type);
	return MLX5SWI_DONE;
}

/* A queue that exists needs a CQ. Without the queue the number may be 0; another number must still
 * be that of a CQ. */
static int find_cq(const mlx5swi_command_t *cmd, uint32_t number, int is_needed, mlx5swi_cq_t **cq)
{
	if (!number && !is_needed)
		return MLX5SWI_DONE;
	*cq = mlx5swi_cmd_cq(cmd, number);
	return *cq ? MLX5SWI_DONE : MLX5SWI_BAD_RESOURCE;
}

static int find_objects(const mlx5swi_command_t *cmd, const uint8_t *qpc, mlx5swi_qp_spec_t *spec)
{
	int has_sq = !mlx5swi_field32(qpc, MLX5SWI_QPC_NO_SQ);
	int has_rq = mlx5swi_field32(qpc, MLX5SWI_QPC_RQ_TYPE) == RQ_REGULAR;
	int status;

	spec->pd = mlx5swi_cmd_pd(cmd, mlx5swi_field32(qpc, MLX5SWI_QPC_PD));
	if (!spec->pd)
		return MLX5SWI_BAD_RESOURCE;
	spec->uar = mlx5swi_cmd_uar(cmd, mlx5swi_field32(qpc, MLX5SWI_QPC_UAR_PAGE));
	if (!spec->uar)
		return MLX5SWI_BAD_RESOURCE;
	status = find_cq(cmd, mlx5swi_field32(qpc, MLX5SWI_QPC_CQN_SND), has_sq, &spec->send_cq);
	return status ? status
		      : find_cq(cmd, mlx5swi_field32(qpc, MLX5SWI_QPC_CQN_RCV), has_rq,
				&spec->recv_cq);
}

/* The receive queue comes first in the umem, the send queue follows. */
static int find_rings(const mlx5swi_command_t *cmd, const uint8_t *qpc, mlx5swi_qp_spec_t *spec)
{
	mlx5swi_ring_place_t at = {
		.umem = spec->umem,
		.offset = mlx5swi_field(cmd->in, MLX5SWI_IN_WQ_UMEM_OFFSET),
		.log_page_size = mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_PAGE_SIZE),
		.page_offset = mlx5swi_field32(qpc, MLX5SWI_QPC_PAGE_OFFSET),
	};
	size_t nbytes, rq_nbytes = 0;
	uint8_t *p = mlx5swi_cmd_ring(&at, &nbytes);

	if (p && mlx5swi_field32(qpc, MLX5SWI_QPC_RQ_TYPE) == RQ_REGULAR) {
		spec->rq = p;
		spec->rq_nbytes = nbytes;
		spec->rq_wqes = 1u << mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_RQ_SIZE);
		spec->rq_stride = 16u << mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_RQ_STRIDE);
		rq_nbytes = (size_t)spec->rq_wqes * spec->rq_stride;
	}
	if (!p || rq_nbytes > nbytes)
		return mlx5swi_refuse(MLX5SWI_BAD_RESOURCE,
				      "wq_umem_offset 0x%llx: the queue lies outside of its umem",
				      (unsigned long long)at.offset);
	if (!mlx5swi_field32(qpc, MLX5SWI_QPC_NO_SQ)) {
		spec->sq = p + rq_nbytes;
		spec->sq_nbytes = nbytes - rq_nbytes;
		spec->sq_wqebbs = 1u << mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_SQ_SIZE);
	}
	return MLX5SWI_DONE;
}

static int find_memory(const mlx5swi_command_t *cmd, const uint8_t *qpc, mlx5swi_qp_spec_t *spec)
{
	if (!mlx5swi_field32(qpc, MLX5SWI_QPC_NO_SQ) ||
	    mlx5swi_field32(qpc, MLX5SWI_QPC_RQ_TYPE) == RQ_REGULAR) {
		int status;

		spec->umem = mlx5swi_cmd_umem(cmd, mlx5swi_field32(cmd->in, MLX5SWI_IN_WQ_UMEM_ID));
		if (!spec->umem)
			return MLX5SWI_BAD_RESOURCE;
		spec->ring_is_gpu = spec->umem->is_gpu;
		status = find_rings(cmd, qpc, spec);
		if (status)
			return status;
	}
	if (spec->has_no_dbr)
		return MLX5SWI_DONE;
	spec->dbr_umem = mlx5swi_cmd_umem(cmd, mlx5swi_field32(qpc, MLX5SWI_QPC_DBR_UMEM_ID));
	if (!spec->dbr_umem)
		return MLX5SWI_BAD_RESOURCE;
	spec->dbr = mlx5swi_cmd_record(spec->dbr_umem, mlx5swi_field(qpc, MLX5SWI_QPC_DBR_ADDR));
	spec->dbr_is_gpu = spec->dbr_umem->is_gpu;
	return MLX5SWI_DONE;
}

int mlx5swi_cmd_create_qp(mlx5swi_command_t *cmd)
{
	const uint8_t *qpc = cmd->in + MLX5SWI_QPC_AT;
	mlx5swi_qp_spec_t spec = {
		.user_index = mlx5swi_field32(qpc, MLX5SWI_QPC_USER_INDEX),
		.has_no_dbr = mlx5swi_field32(qpc, MLX5SWI_QPC_SEND_DBR_MODE) == 1,
		.is_signed = (int)mlx5swi_field32(qpc, MLX5SWI_QPC_WQ_SIGNATURE),
		.ts_format = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_TS_FORMAT),
	};
	mlx5swi_qp_t *qp;
	int status = check_kind(qpc);

	if (!status)
		status = find_objects(cmd, qpc, &spec);
	if (!status)
		status = find_memory(cmd, qpc, &spec);
	if (!status)
		status = mlx5swi_qp_create(cmd->ctx, &spec, &qp);
	if (status)
		return status;
	qp->devx = (struct mlx5dv_devx_obj){.ctx = cmd->ctx, .qp = qp};
	cmd->made = &qp->devx;
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_NUMBER, qp->qpn);
	return MLX5SWI_DONE;
}

static unsigned log2_of(uint32_t n)
{
	unsigned log = 0;

	while (n >>= 1)
		log++;
	return log;
}

static void show_queues(const mlx5swi_qp_t *qp, uint8_t *qpc)
{
	mlx5swi_set_field(qpc, MLX5SWI_QPC_STATE, qp->state);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_ST, RC);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_PM_STATE, MIGRATED);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_WQ_SIGNATURE, qp->is_signed);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_PD, qp->pd->pdn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_TS_FORMAT, qp->ts_format);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_UAR_PAGE, qp->uar->id);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_USER_INDEX, qp->user_index);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_SEND_DBR_MODE, qp->has_no_dbr);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_NO_SQ, !qp->sq);
	if (qp->sq)
		mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_SQ_SIZE, log2_of(qp->sq_wqebbs));
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RQ_TYPE, qp->rq ? RQ_REGULAR : RQ_NONE);
	if (qp->rq) {
		mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_RQ_SIZE, log2_of(qp->rq_wqes));
		mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_RQ_STRIDE, log2_of(qp->rq_stride / 16));
	}
	mlx5swi_set_field(qpc, MLX5SWI_QPC_CQN_SND, qp->send_cq ? qp->send_cq->cqn : 0);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_CQN_RCV, qp->recv_cq ? qp->recv_cq->cqn : 0);
	if (qp->dbr_umem) {
		mlx5swi_set_field(qpc, MLX5SWI_QPC_DBR_UMEM_VALID, 1);
		mlx5swi_set_field(qpc, MLX5SWI_QPC_DBR_UMEM_ID, qp->dbr_umem->id);
		mlx5swi_set_field(qpc, MLX5SWI_QPC_DBR_ADDR,
				  (uint64_t)((uint8_t *)qp->dbr - qp->dbr_umem->p));
	}
}

static void show_path(const mlx5swi_port_t *port, const mlx5swi_path_t *path, uint8_t *ads)
{
	mlx5swi_set_field(ads, MLX5SWI_ADS_PKEY_INDEX, path->pkey_index);
	mlx5swi_set_field(ads, MLX5SWI_ADS_PORT, path->port);
	mlx5swi_set_field(ads, MLX5SWI_ADS_ACK_TIMEOUT, path->ack_timeout);
	mlx5swi_set_field(ads, MLX5SWI_ADS_GRH, path->is_global);
	mlx5swi_set_field(ads, MLX5SWI_ADS_RLID, path->dlid);
	mlx5swi_set_field(ads, MLX5SWI_ADS_SRC_ADDR_INDEX, path->sgid_index);
	mlx5swi_set_field(ads, MLX5SWI_ADS_STAT_RATE, mlx5swi_rate_code(path->static_rate));
	mlx5swi_set_field(ads, MLX5SWI_ADS_HOP_LIMIT, path->hop_limit);
	mlx5swi_set_field(ads, MLX5SWI_ADS_TCLASS, path->tclass);
	mlx5swi_set_field(ads, MLX5SWI_ADS_FLOW_LABEL, path->flow_label);
	memcpy(ads + mlx5swi_field_at(MLX5SWI_ADS_RGID), path->dgid, sizeof(path->dgid));
	mlx5swi_set_field(ads, MLX5SWI_ADS_DSCP, path->dscp);
	mlx5swi_set_field(ads, MLX5SWI_ADS_UDP_SPORT, path->udp_sport);
	mlx5swi_set_field(ads, port->is_ethernet ? MLX5SWI_ADS_ETH_PRIO : MLX5SWI_ADS_SL, path->sl);
	mlx5swi_set_field_mac(ads, MLX5SWI_ADS_RMAC_HIGH, MLX5SWI_ADS_RMAC_LOW, path->dmac);
}

static void show_attr(const mlx5swi_qp_attr_t *a, uint8_t *qpc)
{
	mlx5swi_set_field(qpc, MLX5SWI_QPC_MTU, a->mtu);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_MSG_MAX, a->log_msg_max);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_REMOTE_QPN, a->remote_qpn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_SRA_MAX, a->log_sra_max);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_LOG_RRA_MAX, a->log_rra_max);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RETRY_COUNT, a->retry_count);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RNR_RETRY, a->rnr_retry);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_MIN_RNR_NAK, a->min_rnr_nak);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_ATOMIC_MODE, a->atomic_mode);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RRE, a->rre);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RWE, a->rwe);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RAE, a->rae);
}

/* Write the engine's indexes and packet sequence numbers to the QP context. */
static void show_progress(const mlx5swi_qp_t *qp, uint8_t *qpc)
{
	mlx5swi_send_state_t s;
	mlx5swi_receive_state_t r;

	mlx5swi_requester_query(qp, &s);
	mlx5swi_responder_query(qp, &r);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_NEXT_SEND_PSN, s.next_send_psn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_LAST_ACKED_PSN, s.last_acked_psn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_SSN, s.ssn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_HW_SQ_WQEBB_COUNTER, s.hw_counter);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_SW_SQ_WQEBB_COUNTER, s.sw_counter);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_CUR_RETRY_COUNT, s.retries_left);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_CUR_RNR_RETRY, s.rnr_left);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_NEXT_RCV_PSN, r.next_rcv_psn);
	mlx5swi_set_field(qpc, MLX5SWI_QPC_RMSN, r.rmsn);
}

int mlx5swi_cmd_query_qp(mlx5swi_command_t *cmd)
{
	uint8_t *qpc = cmd->out + MLX5SWI_QPC_AT;

	show_queues(cmd->qp, qpc);
	show_attr(&cmd->qp->attr, qpc);
	show_path(&cmd->qp->dev->port, &cmd->qp->attr.path, qpc + MLX5SWI_ADS_AT);
	show_progress(cmd->qp, qpc);
	return MLX5SWI_DONE;
}
