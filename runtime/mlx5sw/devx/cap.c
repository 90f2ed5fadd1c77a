/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Capabilities of the device. */
#include "mlx5sw/devx/devx.h"

#include <string.h>

#define GENERAL 0
#define ATOMIC 3
#define ROCE 4
#define GENERAL_2 0x20
#define ROCE_V1_AND_V2 5 /* bits 0 and 2 */
#define ALL_ATOMICS 0xf  /* compare-and-swap, fetch-and-add, both masked */
#define SIZES 0xc        /* 4 and 8 bytes */

typedef struct value {
	uint32_t field, value;
} value_t;

static void show(uint8_t *out, const value_t *values, size_t n)
{
	for (size_t i = 0; i < n; i++)
		mlx5swi_set_field(out, values[i].field, values[i].value);
}

static void show_general(uint8_t *out, int is_ethernet)
{
	const value_t values[] = {
		{MLX5SWI_CAP_HCA_CAP_2, 1},
		{MLX5SWI_CAP_LOG_MAX_QP_SZ, MLX5SWI_LOG_MAX_QP_SZ},
		{MLX5SWI_CAP_LOG_MAX_QP, MLX5SWI_LOG_MAX_QP},
		{MLX5SWI_CAP_LOG_MAX_CQ_SZ, MLX5SWI_LOG_MAX_CQ_SZ},
		{MLX5SWI_CAP_LOG_MAX_CQ, MLX5SWI_LOG_MAX_CQ},
		{MLX5SWI_CAP_RELAXED_WRITE, 1},
		{MLX5SWI_CAP_LOG_MAX_MKEY, MLX5SWI_LOG_MAX_MKEY},
		{MLX5SWI_CAP_LOG_MAX_RA_REQ_DC, MLX5SWI_LOG_MAX_RA},
		{MLX5SWI_CAP_LOG_MAX_RA_RES_DC, MLX5SWI_LOG_MAX_RA},
		{MLX5SWI_CAP_LOG_MAX_RA_REQ_QP, MLX5SWI_LOG_MAX_RA},
		{MLX5SWI_CAP_LOG_MAX_RA_RES_QP, MLX5SWI_LOG_MAX_RA},
		{MLX5SWI_CAP_PORT_TYPE, (uint32_t)is_ethernet},
		{MLX5SWI_CAP_NUM_PORTS, 1},
		{MLX5SWI_CAP_LOG_MAX_MSG, MLX5SWI_LOG_MAX_MSG},
		{MLX5SWI_CAP_CQE_VERSION, 1},
		{MLX5SWI_CAP_COMPACT_AV, 1},
		{MLX5SWI_CAP_ROCE, (uint32_t)is_ethernet},
		{MLX5SWI_CAP_ATOMIC, 1},
		{MLX5SWI_CAP_CQ_OI, 1},
		{MLX5SWI_CAP_RC, 1},
		{MLX5SWI_CAP_LOG_PG_SZ, 12},
		{MLX5SWI_CAP_BF, 1},
		{MLX5SWI_CAP_LOG_BF_REG_SIZE, 9},
		{MLX5SWI_CAP_MAX_WQE_SZ_SQ, MLX5SWI_MAX_WQE},
		{MLX5SWI_CAP_SQ_TS_FORMAT, mlx5swi_ts_capability()},
	};

	show(out, values, sizeof(values) / sizeof(values[0]));
}

static void show_atomic(uint8_t *out)
{
	static const value_t values[] = {
		{MLX5SWI_CAP_ATOMIC_ENDIANNESS, 1},
		{MLX5SWI_CAP_ATOMIC_OPERATIONS, ALL_ATOMICS},
		{MLX5SWI_CAP_ATOMIC_SIZE_QP, SIZES},
		{MLX5SWI_CAP_ATOMIC_SIZE_DC, SIZES},
	};

	show(out, values, sizeof(values) / sizeof(values[0]));
}

static void show_roce(uint8_t *out)
{
	const value_t values[] = {
		{MLX5SWI_CAP_ROCE_QP_TS_FORMAT, mlx5swi_ts_capability()},
		{MLX5SWI_CAP_ROCE_VERSION, ROCE_V1_AND_V2},
		{MLX5SWI_CAP_ROCE_DEST_PORT, 4791},
		{MLX5SWI_CAP_ROCE_MAX_SRC_PORT, 0xffff},
		{MLX5SWI_CAP_ROCE_MIN_SRC_PORT, 0xc000},
		{MLX5SWI_CAP_ROCE_TABLE_SIZE, MLX5SWI_N_GIDS},
	};

	show(out, values, sizeof(values) / sizeof(values[0]));
}

/* The low bit of op_mod selects current or maximum capabilities, which are equal here; the other
 * bits select the set. */
int mlx5swi_cmd_query_hca_cap(mlx5swi_command_t *cmd)
{
	uint32_t set = (uint32_t)mlx5swi_field(cmd->in, MLX5SWI_IN_OP_MOD) >> 1;
	int is_ethernet = cmd->ctx->dev->port.is_ethernet;
	uint8_t *out = cmd->out + MLX5SWI_REPLY_AT;

	switch (set) {
	case GENERAL:
		show_general(out, is_ethernet);
		return MLX5SWI_DONE;
	case ATOMIC:
		show_atomic(out);
		return MLX5SWI_DONE;
	case ROCE:
		if (is_ethernet)
			show_roce(out);
		return MLX5SWI_DONE;
	case GENERAL_2:
		mlx5swi_set_field(out, MLX5SWI_CAP_NO_DBR, mlx5swi_w->cfg.has_no_dbr);
		return MLX5SWI_DONE;
	default:
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "capability set 0x%x is unknown", set);
	}
}

static bool is_mapped_ipv4(const uint8_t gid[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(gid, prefix, sizeof(prefix)) == 0;
}

int mlx5swi_cmd_query_roce_address(mlx5swi_command_t *cmd)
{
	const mlx5swi_port_t *port = &cmd->ctx->dev->port;
	uint32_t index = (uint32_t)mlx5swi_field(cmd->in, MLX5SWI_IN_ROCE_INDEX);
	uint8_t *out = cmd->out + MLX5SWI_REPLY_AT;
	const mlx5swi_gid_t *gid;

	if (!port->is_ethernet)
		return mlx5swi_refuse(MLX5SWI_BAD_OP, "an InfiniBand port has no RoCE addresses");
	if (mlx5swi_field(cmd->in, MLX5SWI_IN_ROCE_PORT) > 1)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "vhca_port_num: the device has one port");
	if (index >= MLX5SWI_N_GIDS)
		return mlx5swi_refuse(MLX5SWI_BAD_INDEX, "RoCE address %u: there are %u", index,
				      MLX5SWI_N_GIDS);
	gid = &port->gids[index];
	memcpy(out + mlx5swi_field_at(MLX5SWI_ROCE_L3_ADDRESS), gid->raw, sizeof(gid->raw));
	mlx5swi_set_field_mac(out, MLX5SWI_ROCE_MAC_HIGH, MLX5SWI_ROCE_MAC_LOW, port->mac);
	mlx5swi_set_field(out, MLX5SWI_ROCE_L3_TYPE, is_mapped_ipv4(gid->raw) ? 0 : 1);
	mlx5swi_set_field(out, MLX5SWI_ROCE_ADDRESS_VERSION, gid->is_v2 ? 2 : 0);
	return MLX5SWI_DONE;
}

enum { PORT_DOWN = 1, PORT_ACTIVE = 4, PHYSICAL_POLLING = 2, PHYSICAL_LINK_UP = 5 };

int mlx5swi_cmd_query_hca_vport(mlx5swi_command_t *cmd)
{
	const mlx5swi_port_t *port = &cmd->ctx->dev->port;
	uint32_t number = (uint32_t)mlx5swi_field(cmd->in, MLX5SWI_IN_VPORT_PORT);
	uint8_t *out = cmd->out + MLX5SWI_REPLY_AT;
	uint64_t guid = 0;

	if (port->is_ethernet)
		return mlx5swi_refuse(MLX5SWI_BAD_OP, "an Ethernet port has no HCA vport context");
	if (number > 1 || mlx5swi_field(cmd->in, MLX5SWI_IN_OTHER_VPORT))
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "the device has one port, and only its "
							 "own vport");
	for (int i = 8; i < 16; i++)
		guid = guid << 8 | port->gids[0].raw[i];
	mlx5swi_set_field(out, MLX5SWI_VPORT_PHYSICAL_STATE,
			  port->is_up ? PHYSICAL_LINK_UP : PHYSICAL_POLLING);
	mlx5swi_set_field(out, MLX5SWI_VPORT_PORT_STATE, port->is_up ? PORT_ACTIVE : PORT_DOWN);
	mlx5swi_set_field(out, MLX5SWI_VPORT_VPORT_STATE, port->is_up ? PORT_ACTIVE : PORT_DOWN);
	mlx5swi_set_field(out, MLX5SWI_VPORT_PORT_GUID, guid);
	mlx5swi_set_field(out, MLX5SWI_VPORT_LID, port->lid);
	return MLX5SWI_DONE;
}
