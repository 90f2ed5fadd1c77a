/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queries of devices and ports. */
#include "mlx5sw/verbs/entry.h"

#include <string.h>

#define VENDOR_MELLANOX 0x2c9
#define PART_CONNECTX6 4123
#define WIDTH_4X 2
#define SPEED_HDR 64
#define PHYS_LINK_UP 5
#define PHYS_POLLING 2
#define GRH_REQUIRED 1 /* IBV_QPF_GRH_REQUIRED */

static void describe_port(const mlx5swi_port_t *port, struct ibv_port_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	attr->state = port->is_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = (enum ibv_mtu)port->mtu;
	attr->gid_tbl_len = MLX5SWI_N_GIDS;
	attr->port_cap_flags = port->is_ethernet ? IBV_PORT_IP_BASED_GIDS : 0;
	attr->max_msg_sz = 1u << 30;
	attr->pkey_tbl_len = 1;
	attr->lid = port->lid;
	attr->max_vl_num = 1;
	attr->active_width = WIDTH_4X;
	attr->active_speed = SPEED_HDR;
	attr->phys_state = port->is_up ? PHYS_LINK_UP : PHYS_POLLING;
	attr->link_layer = port->is_ethernet ? IBV_LINK_LAYER_ETHERNET : IBV_LINK_LAYER_INFINIBAND;
	attr->flags = port->is_ethernet || port->requires_grh ? GRH_REQUIRED : 0;
}

static int check_port(uint32_t port_num)
{
	if (port_num != 1)
		return mlx5swi_fail(EINVAL, "port %u: a device has port 1 only", port_num);
	return 0;
}

int mlx5swi_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
		       size_t nbytes)
{
	struct ibv_port_attr whole;
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err) {
		describe_port(&mlx5swi_context_of(context)->dev->port, &whole);
		memset(attr, 0, nbytes);
		memcpy(attr, &whole, nbytes < sizeof(whole) ? nbytes : sizeof(whole));
	}
	return mlx5swi_leave(err);
}

/* Programs built before verbs_context had query_port have a shorter structure. */
#undef ibv_query_port
int ibv_query_port(struct ibv_context *context, uint8_t port_num,
		   struct _compat_ibv_port_attr *port_attr)
{
	return mlx5swi_query_port(context, port_num, (struct ibv_port_attr *)port_attr,
				  offsetof(struct ibv_port_attr, port_cap_flags2));
}

static void describe_device(const mlx5swi_device_t *dev, struct ibv_device_attr *attr)
{
	memset(attr, 0, sizeof(*attr));
	strcpy(attr->fw_ver, "20.43.4100");
	memcpy(&attr->node_guid, &dev->port.gids[0].raw[8], sizeof(attr->node_guid));
	attr->sys_image_guid = attr->node_guid;
	attr->max_mr_size = UINT64_MAX;
	attr->page_size_cap = ~(uint64_t)(MLX5SWI_PAGE - 1);
	attr->vendor_id = VENDOR_MELLANOX;
	attr->vendor_part_id = PART_CONNECTX6;
	attr->max_qp = 1 << MLX5SWI_LOG_MAX_QP;
	attr->max_qp_wr = 1 << MLX5SWI_LOG_MAX_QP_SZ;
	attr->device_cap_flags = IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_PORT_ACTIVE_EVENT |
				 IBV_DEVICE_SYS_IMAGE_GUID;
	attr->max_sge = 30;
	attr->max_sge_rd = 30;
	attr->max_cq = 1 << MLX5SWI_LOG_MAX_CQ;
	attr->max_cqe = (1 << MLX5SWI_LOG_MAX_CQ_SZ) - 1;
	attr->max_mr = 1 << 24;
	attr->max_pd = 1 << 24;
	attr->max_qp_rd_atom = attr->max_qp_init_rd_atom = 16;
	attr->max_res_rd_atom = attr->max_qp_rd_atom * attr->max_qp;
	attr->atomic_cap = IBV_ATOMIC_HCA;
	attr->max_ah = INT32_MAX;
	attr->max_pkeys = 1;
	attr->local_ca_ack_delay = 16;
	attr->phys_port_cnt = 1;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *device_attr)
{
	mlx5swi_lock();
	describe_device(mlx5swi_context_of(context)->dev, device_attr);
	return mlx5swi_leave(0);
}

int mlx5swi_query_device_ex(struct ibv_context *context,
			    const struct ibv_query_device_ex_input *input,
			    struct ibv_device_attr_ex *attr, size_t nbytes)
{
	struct ibv_device_attr_ex whole = {.phys_port_cnt_ex = 1};
	int err = 0;

	mlx5swi_lock();
	if (input && input->comp_mask)
		err = mlx5swi_fail(EINVAL, "query_device_ex: comp_mask 0x%x", input->comp_mask);
	else if (nbytes < sizeof(whole.orig_attr))
		err = mlx5swi_fail(EINVAL, "query_device_ex: %zu bytes", nbytes);
	if (!err) {
		describe_device(mlx5swi_context_of(context)->dev, &whole.orig_attr);
		memset(attr, 0, nbytes);
		memcpy(attr, &whole, nbytes < sizeof(whole) ? nbytes : sizeof(whole));
	}
	return mlx5swi_leave(err);
}

static uint32_t gid_type(const mlx5swi_port_t *port, uint32_t index)
{
	if (!port->is_ethernet)
		return IBV_GID_TYPE_IB;
	return port->gids[index].is_v2 ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_ROCE_V1;
}

static bool is_empty(const mlx5swi_gid_t *gid)
{
	static const uint8_t zero[16];

	return memcmp(gid->raw, zero, sizeof(zero)) == 0;
}

static int check_index(const char *what, uint32_t index, uint32_t n)
{
	if (index >= n)
		return mlx5swi_fail(EINVAL, "%s index %u: the table has %u entries", what, index,
				    n);
	return 0;
}

/* An unused entry reads as zero, as the files of sysfs do. */
int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err)
		err = check_index("GID", (uint32_t)index, MLX5SWI_N_GIDS);
	if (!err)
		memcpy(gid->raw, mlx5swi_context_of(context)->dev->port.gids[index].raw, 16);
	return mlx5swi_leave(err) ? -1 : 0;
}

static void describe_gid(const mlx5swi_port_t *port, uint32_t index, struct ibv_gid_entry *entry)
{
	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid.raw, port->gids[index].raw, 16);
	entry->gid_index = index;
	entry->port_num = 1;
	entry->gid_type = gid_type(port, index);
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
		      struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	const mlx5swi_port_t *port = &mlx5swi_context_of(context)->dev->port;
	struct ibv_gid_entry whole;
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err && flags)
		err = mlx5swi_fail(EINVAL, "query_gid_ex: flags 0x%x", flags);
	if (!err)
		err = check_index("GID", gid_index, MLX5SWI_N_GIDS);
	if (!err && is_empty(&port->gids[gid_index]))
		err = mlx5swi_fail(ENODATA, "GID index %u is not in use", gid_index);
	if (!err) {
		describe_gid(port, gid_index, &whole);
		memset(entry, 0, entry_size);
		memcpy(entry, &whole, entry_size < sizeof(whole) ? entry_size : sizeof(whole));
	}
	return mlx5swi_leave(err);
}

ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries,
			     size_t max_entries, uint32_t flags, size_t entry_size)
{
	const mlx5swi_port_t *port = &mlx5swi_context_of(context)->dev->port;
	size_t n = 0;
	int err = 0;

	mlx5swi_lock();
	if (flags || entry_size != sizeof(*entries))
		err = mlx5swi_fail(EINVAL, "query_gid_table: flags 0x%x, entries of %zu bytes",
				   flags, entry_size);
	for (uint32_t i = 0; !err && i < MLX5SWI_N_GIDS && n < max_entries; i++)
		if (!is_empty(&port->gids[i]))
			describe_gid(port, i, &entries[n++]);
	return mlx5swi_leave(err) ? -err : (ssize_t)n;
}

/* A private entry point of libibverbs, which its tools call. type: as in sysfs, 1 is RoCE v2. */
MLX5SW_API int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index,
				  int *type)
{
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err)
		err = check_index("GID", index, MLX5SWI_N_GIDS);
	if (!err)
		*type = mlx5swi_context_of(context)->dev->port.gids[index].is_v2;
	return mlx5swi_leave(err) ? -1 : 0;
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err)
		err = check_index("P_Key", (uint32_t)index, 1);
	if (!err)
		*pkey = htobe16(mlx5swi_context_of(context)->dev->port.pkey);
	return mlx5swi_leave(err) ? -1 : 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	int err;

	mlx5swi_lock();
	err = check_port(port_num);
	if (!err && htobe16(mlx5swi_context_of(context)->dev->port.pkey) != pkey)
		err = mlx5swi_fail(ENOENT, "P_Key 0x%x is not in the table", be16toh(pkey));
	return mlx5swi_leave(err) ? -1 : 0;
}
