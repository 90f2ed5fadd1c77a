/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Lanes of a warp that post together: threads that are converged at the same call with the same
 * channel. Each posts an operation of its own, except in a flush, where one posts for all; they
 * share a reservation, a fence and a doorbell. */
#ifndef SHMEMD_IMPL_COALESCE_H
#define SHMEMD_IMPL_COALESCE_H

#include <shmem_dev/group.h>

typedef struct shmemdi_lanes {
	uint32_t mask;
	uint32_t n;     /* lanes in mask */
	uint32_t rank;  /* this lane's among them */
	uint32_t first; /* lane that reserves and publishes: the leader */
	int is_leader;
} shmemdi_lanes_t;

SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_self(void)
{
	shmemdi_lanes_t lanes = {0, 1, 0, 0, 1}; /* mask and first are not used */
	return lanes;
}

/* The lanes that are converged here with the same `key`. The caller chooses the key so that lanes
 * with equal keys can do their work together. */
SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_coalesced(uint64_t key)
{
	uint32_t lane = shmemd_arch_lane();
	uint32_t mask = shmemd_arch_match_any(shmemd_arch_activemask(), key);
	uint32_t first = shmemd_arch_lowest(mask);
	shmemdi_lanes_t lanes;

	lanes.mask = mask;
	lanes.n = shmemd_arch_popc(mask);
	lanes.rank = shmemd_arch_popc(mask & (((uint32_t)1 << lane) - 1));
	lanes.first = first;
	lanes.is_leader = lane == first;
	return lanes;
}

SHMEMD_FN int shmemdi_lanes_alone(shmemdi_lanes_t lanes)
{
	return lanes.n == 1;
}

SHMEMD_FN void shmemdi_lanes_sync(shmemdi_lanes_t lanes)
{
	if (!shmemdi_lanes_alone(lanes))
		shmemd_arch_syncwarp_mask(lanes.mask);
}

/* The leader's value, in all lanes. Orders nothing. */
SHMEMD_FN uint64_t shmemdi_lanes_broadcast(shmemdi_lanes_t lanes, uint64_t v)
{
	return shmemdi_lanes_alone(lanes) ? v : shmemd_arch_shfl_u64(lanes.mask, v, lanes.first);
}

/* The first thread of a group posts for the group. The other lanes of its warp wait in a syncwarp
 * until it has published: a quiet of one of them before that would overlook the operation. */
SHMEMD_FN void shmemdi_warp_rejoin(shmemd_group_t g)
{
	if (g.bar != SHMEMDI_BAR_NONE)
		/* It also orders memory: a lane could otherwise read an older `ready`. */
		shmemd_arch_syncwarp();
}

#endif
