/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/link.h"

#include "ib/command.h"

#define MIN_RNR_NAK 12 /* 0.64 ms; not used: no request here needs a receive WQE */
#define RNR_FOREVER 7

static uint32_t log2_of(uint32_t n)
{
	return (uint32_t)__builtin_ctz(n);
}

static uint8_t min(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

int shmemhi_link_create_cq(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link,
			   const shmemhi_link_mem_t *mem, shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_CREATE_CQ);
	shmemhi_prm_put(in, SHMEMHI_CQC_CC, (uint64_t)mem->is_collapsed);
	shmemhi_prm_put(in, SHMEMHI_CQC_OI, 1);
	shmemhi_prm_put(in, SHMEMHI_CQC_LOG_CQ_SIZE, log2_of(mem->depth));
	shmemhi_prm_put(in, SHMEMHI_CQC_UAR_PAGE, link->uar->page_id);
	shmemhi_prm_put(in, SHMEMHI_CQC_C_EQN, link->port->eqn);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_UMEM_ID, mem->records->umem_id);
	shmemhi_prm_put(in, SHMEMHI_CQC_DBR_ADDR, mem->records_offset + SHMEMHI_RECORD_STRIDE);
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_ID, mem->queue->umem_id);
	shmemhi_prm_put(in, SHMEMHI_CQ_UMEM_OFFSET,
			mem->queue_offset + SHMEMD_QUEUE_CQES_OFFSET(mem->depth));
	link->cq = shmemhi_command_create(lib, link, in, &link->cqn, err);
	return link->cq ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

/* Without a receive queue: no request here uses one. The record is named even if send_dbr_mode
 * says that there is none: the Linux driver sets dbr_umem_valid in each CREATE_QP. */
int shmemhi_link_create_qp(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link,
			   const shmemhi_link_mem_t *mem, shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_CREATE_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_PM_STATE, SHMEMHI_PM_MIGRATED);
	shmemhi_prm_put(in, SHMEMHI_QPC_PD, link->port->pdn);
	shmemhi_prm_put(in, SHMEMHI_QPC_RQ_TYPE, SHMEMHI_RQ_TYPE_NONE);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_SQ_SIZE, log2_of(mem->depth));
	shmemhi_prm_put(in, SHMEMHI_QPC_TS_FORMAT, link->port->ts_format);
	shmemhi_prm_put(in, SHMEMHI_QPC_UAR_PAGE, link->uar->page_id);
	shmemhi_prm_put(in, SHMEMHI_QPC_SEND_DBR_MODE,
			mem->has_no_record ? SHMEMHI_SEND_NO_DBR : 0);
	shmemhi_prm_put(in, SHMEMHI_QPC_USER_INDEX, mem->user_index);
	shmemhi_prm_put(in, SHMEMHI_QPC_CQN_SND, link->cqn);
	shmemhi_prm_put(in, SHMEMHI_QPC_CQN_RCV, link->cqn);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_UMEM_ID, mem->records->umem_id);
	shmemhi_prm_put(in, SHMEMHI_QPC_DBR_ADDR, mem->records_offset);
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_VALID, 1);
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_ID, mem->queue->umem_id);
	shmemhi_prm_put(in, SHMEMHI_WQ_UMEM_OFFSET, mem->queue_offset);
	link->qp = shmemhi_command_create(lib, link, in, &link->qpn, err);
	return link->qp ? SHMEMH_OK : SHMEMH_ERR_NIC;
}

int shmemhi_link_to_init(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
			 shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_RST2INIT_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_PM_STATE, SHMEMHI_PM_MIGRATED);
	shmemhi_prm_put(in, SHMEMHI_QPC_ATOMIC_MODE, SHMEMHI_ATOMIC_MODE_8_BYTES);
	shmemhi_prm_put(in, SHMEMHI_QPC_RRE, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_RWE, 1);
	shmemhi_prm_put(in, SHMEMHI_QPC_RAE, 1);
	shmemhi_prm_put(in, SHMEMHI_ADS_VHCA_PORT_NUM, (uint64_t)link->port->number);
	return shmemhi_command_modify(lib, link, in, SHMEMHI_PRM_LONG, err);
}

int shmemhi_link_to_rtr(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			shmemhi_link_t *link, const shmemhi_port_info_t *peer_port,
			const shmemhi_qp_info_t *peer_qp, const shmemhi_address_t *address,
			shmemhi_err_t *err)
{
	const shmemhi_qp_info_t mine = {link->qpn, link->psn};
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	link->udp_port = shmemhi_udp_port(link->port, &mine, peer_qp);
	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_INIT2RTR_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_MTU, min(link->port->mtu, peer_port->mtu));
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_MSG_MAX, SHMEMHI_LOG_MSG_MAX);
	shmemhi_prm_put(in, SHMEMHI_QPC_REMOTE_QPN, peer_qp->qpn);
	shmemhi_prm_put(in, SHMEMHI_QPC_NEXT_RCV_PSN, peer_qp->psn);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_RRA_MAX, link->port->log_max_reads);
	shmemhi_prm_put(in, SHMEMHI_QPC_MIN_RNR_NAK, MIN_RNR_NAK);
	shmemhi_address_put(opt, link->port, address, link->udp_port, in);
	return shmemhi_command_modify(lib, link, in, SHMEMHI_PRM_LONG, err);
}

/* log_ack_req_freq stays 0: every packet requests an acknowledgement, as in the queue pairs of
 * NVSHMEM. The mlx5 driver of Linux sets 8: of a long message, one packet in 2^8 and the last one.
 * Which is better for puts has not been measured. */
int shmemhi_link_to_rts(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			const shmemhi_link_t *link, const shmemhi_port_info_t *peer_port,
			shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_LONG] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_RTR2RTS_QP);
	shmemhi_prm_put(in, SHMEMHI_QPC_NEXT_SEND_PSN, link->psn);
	shmemhi_prm_put(in, SHMEMHI_QPC_LOG_SRA_MAX,
			min(link->port->log_max_reads, peer_port->log_max_reads));
	shmemhi_prm_put(in, SHMEMHI_QPC_RETRY_COUNT, (uint64_t)opt->ib_retries);
	shmemhi_prm_put(in, SHMEMHI_QPC_RNR_RETRY, RNR_FOREVER);
	shmemhi_prm_put(in, SHMEMHI_ADS_ACK_TIMEOUT, (uint64_t)opt->ib_ack_timeout);
	return shmemhi_command_modify(lib, link, in, SHMEMHI_PRM_LONG, err);
}

int shmemhi_link_to_err(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link, shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_SHORT] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_2ERR_QP);
	return shmemhi_command_modify(lib, link, in, SHMEMHI_PRM_SHORT, err);
}

int shmemhi_link_to_reset(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
			  shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_SHORT] = {0};

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_2RST_QP);
	return shmemhi_command_modify(lib, link, in, SHMEMHI_PRM_SHORT, err);
}

static bool destroy(const shmemhi_ib_lib_t *lib, struct mlx5dv_devx_obj **obj)
{
	if (*obj && lib->obj_destroy(*obj) != 0)
		return false;
	*obj = NULL;
	return true;
}

bool shmemhi_link_destroy(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link)
{
	return destroy(lib, &link->qp) && destroy(lib, &link->cq);
}

int shmemhi_qp_query(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
		     shmemhi_qp_state_t *state, shmemhi_err_t *err)
{
	uint32_t out[SHMEMHI_PRM_LONG] = {0};
	int status = shmemhi_command_query(lib, link, out, SHMEMHI_PRM_LONG, err);

	*state = (shmemhi_qp_state_t){
		.state = (uint32_t)shmemhi_prm_get(out, SHMEMHI_QPC_STATE),
		.next_rcv_psn = (uint32_t)shmemhi_prm_get(out, SHMEMHI_QPC_NEXT_RCV_PSN),
		.rmsn = (uint32_t)shmemhi_prm_get(out, SHMEMHI_QPC_RMSN),
		.hw_wqebbs = (uint16_t)shmemhi_prm_get(out, SHMEMHI_QPC_HW_SQ_WQEBB_COUNTER),
		.sw_wqebbs = (uint16_t)shmemhi_prm_get(out, SHMEMHI_QPC_SW_SQ_WQEBB_COUNTER),
	};
	return status;
}

shmemhi_port_info_t shmemhi_port_info_of(const shmemhi_open_port_t *port, int n_channels)
{
	return (shmemhi_port_info_t){.gid = port->gid,
				     .lid = port->lid,
				     .is_ethernet = port->is_ethernet,
				     .mtu = port->mtu,
				     .log_max_reads = port->log_max_reads,
				     .n_channels = (uint8_t)n_channels,
				     .requires_grh = port->requires_grh};
}
