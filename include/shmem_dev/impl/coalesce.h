/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Lanes of a warp that post together: they share a reservation, a fence and a doorbell.
 *
 *   a warp           all 32 lanes post one operation; four of them store 16 bytes of a WQE each,
 *                    which leaves the GPU as one write of 64 bytes.
 *   coalesced lanes  threads of a warp that are converged at the same call with the same channel:
 *                    an operation each. */
#ifndef SHMEMD_IMPL_COALESCE_H
#define SHMEMD_IMPL_COALESCE_H

#include <shmem_dev/arch/arch.h>

typedef struct shmemdi_lanes {
	uint32_t mask;
	uint32_t n;     /* operations: lanes in mask, or 1 of a warp */
	uint32_t rank;  /* of this lane's operation */
	uint32_t first; /* lane that reserves and publishes: the leader */
	int is_leader;
	int is_warp;
} shmemdi_lanes_t;

SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_warp(void)
{
	shmemdi_lanes_t lanes = {0xffffffffu, 1, 0, 0, shmemd_arch_lane() == 0, 1};
	return lanes;
}

SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_self(void)
{
	uint32_t lane = shmemd_arch_lane();
	shmemdi_lanes_t lanes = {(uint32_t)1 << lane, 1, 0, lane, 1, 0};
	return lanes;
}

/* The lanes that are converged here with the same `key`. What they do together is the same for
 * equal keys. */
SHMEMD_FN shmemdi_lanes_t shmemdi_lanes_coalesced(uint64_t key)
{
	uint32_t lane = shmemd_arch_lane();
	uint32_t mask = shmemd_arch_match_any(shmemd_arch_activemask(), key);
	uint32_t first = shmemd_arch_lowest(mask);
	shmemdi_lanes_t lanes = {
		mask,  shmemd_arch_popc(mask), shmemd_arch_popc(mask & (((uint32_t)1 << lane) - 1)),
		first, lane == first,          0};
	return lanes;
}

SHMEMD_FN int shmemdi_lanes_alone(shmemdi_lanes_t lanes)
{
	return !lanes.is_warp && lanes.n == 1;
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

#endif
