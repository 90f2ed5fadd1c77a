/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands that change the state of a QP. Fields that a transition requires are always used. An
 * optional field is read only if its bit in opt_param_mask is set. */
#include "mlx5sw/devx/devx.h"

#include <string.h>

#define ACCESS_BITS (MLX5SWI_OPT_RRE | MLX5SWI_OPT_RAE | MLX5SWI_OPT_RWE)
#define LOWEST_RATE IBV_RATE_2_5_GBPS
#define RATE_OFFSET 5 /* ads.stat_rate minus the number of the same rate in verbs */
#define MAX_RATE_CODE 15

typedef struct change {
	uint16_t opcode;
	uint8_t from, to;
	uint32_t taken;    /* attributes that are always used, and MLX5SWI_BY_COMMAND */
	uint32_t optional; /* bits of opt_param_mask */
	/* bits that are accepted without effect: their fields are used anyway, or (PM_STATE)
	 * never */
	uint32_t needless;
} change_t;

static const change_t changes[] = {
	{MLX5SWI_RST2INIT, MLX5SWI_RST, MLX5SWI_INIT,
	 MLX5SWI_ATTR_PORT | MLX5SWI_ATTR_PKEY | MLX5SWI_ATTR_ACCESS | MLX5SWI_ATTR_ATOMIC_MODE, 0,
	 ACCESS_BITS | MLX5SWI_OPT_PKEY_INDEX | MLX5SWI_OPT_PRI_PORT | MLX5SWI_OPT_PM_STATE},
	{MLX5SWI_INIT2INIT, MLX5SWI_INIT, MLX5SWI_INIT, 0,
	 ACCESS_BITS | MLX5SWI_OPT_PKEY_INDEX | MLX5SWI_OPT_PRI_PORT, 0},
	{MLX5SWI_INIT2RTR, MLX5SWI_INIT, MLX5SWI_RTR,
	 MLX5SWI_ATTR_AV | MLX5SWI_ATTR_MTU | MLX5SWI_ATTR_MSG_MAX | MLX5SWI_ATTR_DEST_QPN |
		 MLX5SWI_ATTR_RQ_PSN | MLX5SWI_ATTR_RRA | MLX5SWI_ATTR_MIN_RNR,
	 ACCESS_BITS | MLX5SWI_OPT_PKEY_INDEX,
	 MLX5SWI_OPT_PRIMARY_ADDR | MLX5SWI_OPT_RNR_TIMEOUT | MLX5SWI_OPT_RRA_MAX},
	{MLX5SWI_RTR2RTS, MLX5SWI_RTR, MLX5SWI_RTS,
	 MLX5SWI_ATTR_SQ_PSN | MLX5SWI_ATTR_SRA | MLX5SWI_ATTR_RETRY | MLX5SWI_ATTR_RNR_RETRY |
		 MLX5SWI_ATTR_TIMEOUT,
	 ACCESS_BITS | MLX5SWI_OPT_RNR_TIMEOUT,
	 MLX5SWI_OPT_PM_STATE | MLX5SWI_OPT_SRA_MAX | MLX5SWI_OPT_RETRY_COUNT |
		 MLX5SWI_OPT_RNR_RETRY | MLX5SWI_OPT_ACK_TIMEOUT},
	{MLX5SWI_RTS2RTS, MLX5SWI_RTS, MLX5SWI_RTS, MLX5SWI_BY_COMMAND,
	 ACCESS_BITS | MLX5SWI_OPT_RNR_TIMEOUT | MLX5SWI_OPT_PRIMARY_ADDR, MLX5SWI_OPT_PM_STATE},
	{MLX5SWI_SQERR2RTS, MLX5SWI_SQER, MLX5SWI_RTS, 0, 0, 0},
};

uint8_t mlx5swi_rate_code(uint8_t rate)
{
	unsigned code = rate ? (unsigned)rate + RATE_OFFSET : 0;

	return (uint8_t)(code > MAX_RATE_CODE ? MAX_RATE_CODE : code);
}

/* Codes below the lowest rate become numbers that are not rates. */
static uint8_t rate_of(uint32_t code)
{
	return code ? (uint8_t)(code < LOWEST_RATE + RATE_OFFSET ? 0xff : code - RATE_OFFSET) : 0;
}

/* RoCE packets always have a global address, and their priority is in another field. */
static void read_path(const mlx5swi_port_t *port, const uint8_t *ads, mlx5swi_path_t *path)
{
	path->port = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_PORT);
	path->pkey_index = (uint16_t)mlx5swi_field32(ads, MLX5SWI_ADS_PKEY_INDEX);
	path->ack_timeout = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_ACK_TIMEOUT);
	path->is_global = port->is_ethernet || mlx5swi_field32(ads, MLX5SWI_ADS_GRH);
	path->dlid = (uint16_t)mlx5swi_field32(ads, MLX5SWI_ADS_RLID);
	path->sgid_index = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_SRC_ADDR_INDEX);
	path->static_rate = rate_of(mlx5swi_field32(ads, MLX5SWI_ADS_STAT_RATE));
	path->hop_limit = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_HOP_LIMIT);
	path->tclass = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_TCLASS);
	path->flow_label = mlx5swi_field32(ads, MLX5SWI_ADS_FLOW_LABEL);
	memcpy(path->dgid, ads + mlx5swi_field_at(MLX5SWI_ADS_RGID), sizeof(path->dgid));
	path->dscp = (uint8_t)mlx5swi_field32(ads, MLX5SWI_ADS_DSCP);
	path->udp_sport = (uint16_t)mlx5swi_field32(ads, MLX5SWI_ADS_UDP_SPORT);
	path->sl = (uint8_t)mlx5swi_field32(ads, port->is_ethernet ? MLX5SWI_ADS_ETH_PRIO
								   : MLX5SWI_ADS_SL);
	mlx5swi_field_mac(ads, MLX5SWI_ADS_RMAC_HIGH, MLX5SWI_ADS_RMAC_LOW, path->dmac);
}

static void read_attr(const mlx5swi_port_t *port, const uint8_t *qpc, mlx5swi_qp_attr_t *a)
{
	a->rre = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_RRE);
	a->rwe = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_RWE);
	a->rae = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_RAE);
	a->atomic_mode = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_ATOMIC_MODE);
	a->mtu = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_MTU);
	a->log_msg_max = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_MSG_MAX);
	a->min_rnr_nak = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_MIN_RNR_NAK);
	a->rnr_retry = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_RNR_RETRY);
	a->retry_count = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_RETRY_COUNT);
	a->log_sra_max = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_SRA_MAX);
	a->log_rra_max = (uint8_t)mlx5swi_field32(qpc, MLX5SWI_QPC_LOG_RRA_MAX);
	a->remote_qpn = mlx5swi_field32(qpc, MLX5SWI_QPC_REMOTE_QPN);
	a->next_rcv_psn = mlx5swi_field32(qpc, MLX5SWI_QPC_NEXT_RCV_PSN);
	a->next_send_psn = mlx5swi_field32(qpc, MLX5SWI_QPC_NEXT_SEND_PSN);
	read_path(port, qpc + MLX5SWI_ADS_AT, &a->path);
}

/* Each permission has its own bit; a permission whose bit is not set is unchanged. atomic_mode is
 * set with rae. */
static uint32_t optional_access(const mlx5swi_qp_t *qp, uint32_t mask, mlx5swi_qp_attr_t *a)
{
	if (!(mask & ACCESS_BITS))
		return 0;
	if (!(mask & MLX5SWI_OPT_RRE))
		a->rre = qp->attr.rre;
	if (!(mask & MLX5SWI_OPT_RWE))
		a->rwe = qp->attr.rwe;
	if (!(mask & MLX5SWI_OPT_RAE)) {
		a->rae = qp->attr.rae;
		return MLX5SWI_ATTR_ACCESS;
	}
	return MLX5SWI_ATTR_ACCESS | MLX5SWI_ATTR_ATOMIC_MODE;
}

static uint32_t optional_others(uint32_t mask)
{
	return (mask & MLX5SWI_OPT_PKEY_INDEX ? MLX5SWI_ATTR_PKEY : 0u) |
	       (mask & MLX5SWI_OPT_PRI_PORT ? MLX5SWI_ATTR_PORT : 0u) |
	       (mask & MLX5SWI_OPT_RNR_TIMEOUT ? MLX5SWI_ATTR_MIN_RNR : 0u) |
	       (mask & MLX5SWI_OPT_PRIMARY_ADDR ? MLX5SWI_ATTR_AV : 0u);
}

static const change_t *find_change(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		if (changes[i].opcode == opcode)
			return &changes[i];
	return NULL;
}

/* Check the form with a second context, of which this device has no field. */
static int check_extended(const mlx5swi_command_t *cmd, const change_t *c)
{
	if (!mlx5swi_field32(cmd->in, MLX5SWI_IN_QPC_EXT) ||
	    (c->opcode != MLX5SWI_INIT2INIT && c->opcode != MLX5SWI_RTS2RTS))
		return MLX5SWI_DONE;
	if (cmd->in_nbytes < MLX5SWI_EXTENDED_NBYTES)
		return mlx5swi_refuse(MLX5SWI_BAD_INPUT_LENGTH,
				      "opcode 0x%x, qpc_ext: input of 0x%zx bytes, must be at "
				      "least 0x%x",
				      c->opcode, cmd->in_nbytes, MLX5SWI_EXTENDED_NBYTES);
	if (mlx5swi_field(cmd->in, MLX5SWI_IN_OPT_PARAM_MASK_EXT))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "opcode 0x%x: opt_param_mask_95_32: this device has none "
				      "of its fields",
				      c->opcode);
	return MLX5SWI_DONE;
}

static int check(const mlx5swi_command_t *cmd, const change_t *c, uint32_t mask)
{
	if (cmd->qp->state != c->from)
		return mlx5swi_refuse(MLX5SWI_BAD_QP_STATE,
				      "opcode 0x%x: QP 0x%x is in state %u, must be in %u",
				      c->opcode, cmd->qp->qpn, cmd->qp->state, c->from);
	if (mask & ~(c->optional | c->needless))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "opcode 0x%x: bits 0x%x of opt_param_mask mean nothing here",
				      c->opcode, mask & ~(c->optional | c->needless));
	return check_extended(cmd, c);
}

int mlx5swi_cmd_change_qp(mlx5swi_command_t *cmd)
{
	uint16_t opcode = (uint16_t)mlx5swi_field32(cmd->in, MLX5SWI_IN_OPCODE);
	const change_t *c = find_change(opcode);
	mlx5swi_qp_attr_t attr;
	uint32_t mask;
	int status;

	if (!c)
		return mlx5swi_qp_modify(
			cmd->qp, opcode == MLX5SWI_2RST ? MLX5SWI_RST : MLX5SWI_ERR, NULL, 0);
	mask = mlx5swi_field32(cmd->in, MLX5SWI_IN_OPT_PARAM_MASK);
	status = check(cmd, c, mask);
	if (status)
		return status;
	memset(&attr, 0, sizeof(attr));
	read_attr(&cmd->qp->dev->port, cmd->in + MLX5SWI_QPC_AT, &attr);
	mask &= c->optional;
	return mlx5swi_qp_modify(cmd->qp, c->to, &attr,
				 c->taken | optional_access(cmd->qp, mask, &attr) |
					 optional_others(mask));
}
