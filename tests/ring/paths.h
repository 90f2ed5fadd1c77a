/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host's part in switching a channel to another path (abi/replay.h), on a rig that has_paths.
 * Called by one host or agent at a time. Kernels of both PEs carry out the orders: each has a
 * thread that waits for a NIC, or serves (shmemdi_service_once). */
#ifndef RING_PATHS_H
#define RING_PATHS_H

#include "fixture.h"

/* Stop the queue pairs of channel k between two PEs, both directions, until nothing is in flight.
 */
void rig_fence(int pe, int peer, uint32_t k);

/* Create paths with the other column of keys, both directions; returns when both PEs have
 * acknowledged. The old paths must be fenced. */
void rig_order(int pe, int peer, uint32_t k);

/* Added to the number of executed requests that the orders give. */
extern uint32_t rig_executed_error;

/* rig_fence, then rig_order. */
void rig_switch(int pe, int peer, uint32_t k);

/* Order the end of a channel, in one direction. */
void rig_order_end(int pe, int peer, uint32_t k, int status);

/* The same, without waiting for the acknowledgement. */
void rig_give_end(int pe, int peer, uint32_t k, int status);

/* The steps of these, for hosts that take them one by one (hosts.h). */
void rig_stop(const rig_end_t *e); /* move the queue pair to ERR */
int rig_is_in_error(const rig_end_t *e);
int rig_is_drained(const rig_end_t *e);    /* are all its CQEs in memory? */
void rig_flush(int pe);                    /* place accepted data, as a READ of the adapter would */
uint32_t rig_executed(const rig_end_t *e); /* requests of the peer */
void rig_join(const rig_end_t *e, const rig_end_t *peer); /* connect e to peer */
void rig_destroy(const rig_end_t *e);

/* Make `next` the path of a channel, and order its device to switch; n: requests that the peer
 * executed on the path before. */
void rig_give(int pe, int peer, uint32_t k, const rig_end_t *next, uint32_t epoch, uint32_t n);

#endif
