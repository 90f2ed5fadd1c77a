/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The parts of shmemhi_ib_open. All but the first need NIC support. */
#ifndef SHMEMHI_IB_START_H
#define SHMEMHI_IB_START_H

#include "job/job.h"

/* Check options whose values NICs or queues limit. Not collective; before anything else: a port
 * that cannot do what an option out of range asks for would count as unusable, and the job would
 * go on without NICs. Returns SHMEMH_OK; ERR_OPTION. */
int shmemhi_ib_check_options(shmemh_t *job);

/* Load the RDMA libraries and open all ports that this PE can use; sets job->ib. Not collective. On
 * failure job->ib is NULL, and the line says why this PE has no usable NIC. */
int shmemhi_ib_load_and_open(shmemh_t *job);

/* Choose the NICs of all PEs and create this PE's queues. Collective; the same result on every
 * PE. */
int shmemhi_ib_choose_and_create(shmemh_t *job);

/* Connect this PE's queues with those of the other PEs, and make the rest. In this order: what
 * fail-over needs before the queues are connected; the queue pairs of all links to RTS; the table
 * of keys; the channels; the CPU doorbell proxy, if kernels do not ring; the thread that waits for
 * events of the NIC; with fail-over, the agent, whose thread shmemhi_ib_start_failover starts.
 * Collective; the same result on every PE. */
int shmemhi_ib_connect_and_start(shmemh_t *job);

#endif
