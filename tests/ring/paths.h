/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host's part in switching a channel to another path (abi/replay.h), on a rig that has_paths.
 * By a host or an agent, one at a time. Kernels of both PEs carry out the orders: each has a thread
 * that waits in the library, or serves (shmemdi_service_once). */
#ifndef RING_PATHS_H
#define RING_PATHS_H

#include "fixture.h"

/* Stop the queue pairs of channel k between two PEs, both ways, until nothing is under way. */
void rig_fence(int pe, int peer, uint32_t k);

/* New paths with the other column of keys, both ways; returns when both PEs have acknowledged. They
 * were fenced before. */
void rig_order(int pe, int peer, uint32_t k);

/* Added to the number of executed requests that the orders give. */
extern uint32_t rig_executed_error;

/* Both. */
void rig_switch(int pe, int peer, uint32_t k);

/* Order the end of a channel, one way. */
void rig_order_end(int pe, int peer, uint32_t k, int status);

#endif
