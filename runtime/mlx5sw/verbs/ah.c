/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Addresses. These fields are checked: port_num, static_rate, sl, is_global; dlid on InfiniBand; in
 * a global address sgid_index and flow_label, on Ethernet also dgid. Hardware may ignore an error
 * here that another system refuses. */
#include "mlx5sw/verbs/entry.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SL_ETHERNET 7
#define MAX_SL_INFINIBAND 15
#define MAX_FLOW_LABEL 0xfffffu
#define ROCE_SPORT 0xc000u
#define MAX_UNICAST_LID 0xbfffu

static int check_grh(const mlx5swi_port_t *port, const struct ibv_global_route *grh)
{
	static const uint8_t zero[16];

	if (grh->sgid_index >= MLX5SWI_N_GIDS ||
	    memcmp(port->gids[grh->sgid_index].raw, zero, sizeof(zero)) == 0)
		return mlx5swi_fail(EINVAL, "address: sgid_index %u is not in use",
				    grh->sgid_index);
	if (grh->flow_label > MAX_FLOW_LABEL)
		return mlx5swi_fail(EINVAL, "address: flow_label 0x%x", grh->flow_label);
	return 0;
}

static int check(const mlx5swi_port_t *port, const struct ibv_ah_attr *a)
{
	if (a->port_num != 1)
		return mlx5swi_fail(EINVAL, "address: port_num %u: the device has port 1 only",
				    a->port_num);
	if (!mlx5swi_is_rate(a->static_rate))
		return mlx5swi_fail(EINVAL, "address: static_rate %u is no rate", a->static_rate);
	if (a->sl > (port->is_ethernet ? MAX_SL_ETHERNET : MAX_SL_INFINIBAND))
		return mlx5swi_fail(EINVAL, "address: sl %u", a->sl);
	if (a->is_global > 1 || (port->is_ethernet && !a->is_global))
		return mlx5swi_fail(EINVAL, "address: is_global %u, on %s", a->is_global,
				    port->is_ethernet ? "Ethernet" : "InfiniBand");
	if (port->requires_grh && !a->is_global)
		return mlx5swi_fail(EINVAL, "address: is_global 0: the port requires a GRH");
	if (!port->is_ethernet && (!a->dlid || a->dlid > MAX_UNICAST_LID))
		return mlx5swi_fail(EINVAL, "address: dlid 0x%x belongs to no port", a->dlid);
	return a->is_global ? check_grh(port, &a->grh) : 0;
}

/* The kernel's driver derives the UDP source port from the flow label. For a label of 0 libmlx5
 * chooses a random port; this adapter always uses the first. */
static uint16_t source_port(const mlx5swi_port_t *port, const struct ibv_global_route *grh)
{
	if (!port->gids[grh->sgid_index].is_v2)
		return 0;
	return grh->flow_label ? ibv_flow_label_to_udp_sport(grh->flow_label) : ROCE_SPORT;
}

int mlx5swi_path_of(const mlx5swi_context_t *ctx, const struct ibv_ah_attr *a, mlx5swi_path_t *path)
{
	const mlx5swi_port_t *port = &ctx->dev->port;
	int err = check(port, a);

	memset(path, 0, sizeof(*path));
	if (err)
		return err;
	path->sl = a->sl;
	path->static_rate = a->static_rate;
	path->port = a->port_num;
	path->is_global = a->is_global;
	path->dlid = a->dlid;
	if (!a->is_global)
		return 0;
	path->sgid_index = a->grh.sgid_index;
	path->hop_limit = a->grh.hop_limit;
	path->tclass = a->grh.traffic_class;
	path->dscp = a->grh.traffic_class >> 2;
	path->flow_label = a->grh.flow_label;
	memcpy(path->dgid, a->grh.dgid.raw, 16);
	if (!port->is_ethernet)
		return 0;
	path->udp_sport = source_port(port, &a->grh);
	if (mlx5swi_resolve(path->dgid, path->dmac) != 0)
		return mlx5swi_fail(EHOSTUNREACH,
				    "address: no port has the dgid that ends in "
				    "%02x%02x:%02x%02x",
				    path->dgid[12], path->dgid[13], path->dgid[14], path->dgid[15]);
	return 0;
}

/* mlx5's code of a rate of verbs, as in libmlx5: rates that mlx5 does not have become "no limit".
 */
static uint8_t rate_code(uint8_t rate)
{
	static const uint8_t codes[IBV_RATE_1200_GBPS + 1] = {
		[IBV_RATE_2_5_GBPS] = 7,  [IBV_RATE_5_GBPS] = 10,  [IBV_RATE_10_GBPS] = 8,
		[IBV_RATE_20_GBPS] = 11,  [IBV_RATE_30_GBPS] = 9,  [IBV_RATE_40_GBPS] = 12,
		[IBV_RATE_60_GBPS] = 13,  [IBV_RATE_80_GBPS] = 14, [IBV_RATE_120_GBPS] = 15,
		[IBV_RATE_14_GBPS] = 11,  [IBV_RATE_56_GBPS] = 13, [IBV_RATE_112_GBPS] = 15,
		[IBV_RATE_25_GBPS] = 9,   [IBV_RATE_28_GBPS] = 9,  [IBV_RATE_50_GBPS] = 13,
		[IBV_RATE_100_GBPS] = 15,
	};

	return codes[rate];
}

static void set_av(const mlx5swi_port_t *port, const mlx5swi_path_t *path, struct mlx5_wqe_av *av)
{
	/* RoCE always has a GRH, so the bit is reserved there */
	uint32_t grh = port->is_ethernet ? 0 : 1u << 30;
	unsigned sl = port->is_ethernet ? (unsigned)path->sl << 1 : path->sl;

	av->stat_rate_sl = (uint8_t)((unsigned)rate_code(path->static_rate) << 4 | sl);
	av->rlid = htobe16(port->is_ethernet ? path->udp_sport : path->dlid);
	memcpy(av->rmac, path->dmac, 6);
	if (!path->is_global)
		return;
	av->tclass = path->tclass;
	av->hop_limit = path->hop_limit;
	av->grh_gid_fl = htobe32(grh | (uint32_t)path->sgid_index << 20 | path->flow_label);
	memcpy(av->rgid, path->dgid, 16);
}

static int ah_new(mlx5swi_pd_t *pd, const struct ibv_ah_attr *attr, mlx5swi_ah_t **out)
{
	int err = mlx5swi_check_alive(pd->ctx);
	mlx5swi_path_t path;
	mlx5swi_ah_t *ah;

	if (!err)
		err = mlx5swi_path_of(pd->ctx, attr, &path);
	if (err)
		return err;
	ah = calloc(1, sizeof(*ah));
	if (!ah || mlx5swi_table_add(&pd->ctx->dev->handles, ah, &ah->ib.handle) != 0) {
		free(ah);
		return mlx5swi_fail(ENOMEM, "no memory for an address");
	}
	ah->ib.context = pd->ib.context;
	ah->ib.pd = &pd->ib;
	ah->ctx = pd->ctx;
	set_av(&pd->ctx->dev->port, &path, &ah->av);
	pd->refs++;
	pd->ctx->refs++;
	*out = ah;
	return 0;
}

struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	mlx5swi_ah_t *ah = NULL;

	mlx5swi_lock();
	mlx5swi_leave(ah_new((mlx5swi_pd_t *)pd, attr, &ah));
	return ah ? &ah->ib : NULL;
}

int ibv_destroy_ah(struct ibv_ah *ib)
{
	mlx5swi_ah_t *ah = (mlx5swi_ah_t *)ib;

	mlx5swi_lock();
	mlx5swi_table_remove(&ah->ctx->dev->handles, ib->handle);
	((mlx5swi_pd_t *)ib->pd)->refs--;
	ah->ctx->refs--;
	free(ah);
	return mlx5swi_leave(0);
}
