/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host's part in switching a channel to another path (abi/replay.h), on a rig that has_paths. By
 * a host or an agent, one at a time. */
#ifndef RING_PATHS_H
#define RING_PATHS_H

#include "fixture.h"

/* Who carries out orders beside threads that wait: service for PE 0 .. 31, a bit each. */
#define RIG_NO_SERVICE 0u
#define RIG_SERVICE UINT32_MAX

/* Stop the queue pairs of channel k between two PEs, both ways, until nothing is under way. */
void rig_fence(int pe, int peer, uint32_t k);

/* New paths with the other column of keys, both ways; returns when both PEs have acknowledged. They
 * were fenced before. */
void rig_order(int pe, int peer, uint32_t k, uint32_t service);

/* Both. */
void rig_switch(int pe, int peer, uint32_t k, uint32_t service);

/* Order the end of a channel, one way. */
void rig_order_end(int pe, int peer, uint32_t k, int status, uint32_t service);

#endif
