/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The hosts of a channel's two ends, on a rig that has_paths: the state machine of the runtime
 * (fault/switch.h) at each end, and what executes its actions on the adapter. One agent acts for
 * both, a step at a time, and so may be interrupted by everything else between any two steps. */
#ifndef RING_HOSTS_H
#define RING_HOSTS_H

#include "fault/switch.h"
#include "fixture.h"

/* Begin with one channel, on the path that the rig has made; then add others. pe and peer differ.
 * Ends are numbered: pe, peer, those of the channel added next, and so on. */
void rig_hosts_open(int pe, int peer, uint32_t k);
void rig_hosts_add(int pe, int peer, uint32_t k);

/* A step of one of the hosts, if there is one to do: execute an action, receive a message, make an
 * endpoint, notice that an order is carried out or what the device reports. A queue pair is queried
 * only if the device suspects it. */
void rig_hosts_step(void);

/* Report that the path does not work, at one end: as by an event of the port. */
void rig_hosts_fault(int end);

/* Move the queue pair of the newest path to ERR, without a word to the host. */
void rig_hosts_stop(int end);

/* Do both ends run, with nothing left to do? */
int rig_hosts_are_idle(void);

uint32_t rig_hosts_orders(int end); /* that were given */
uint32_t rig_hosts_path(void);      /* of the end that is ahead: earlier ones are fenced */
int rig_hosts_phase(int end);       /* enum shmemhi_switch_phase */

#endif
