/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The parts of shmemhi_ib_open that need NIC support. */
#ifndef SHMEMHI_IB_START_H
#define SHMEMHI_IB_START_H

#include "job/job.h"

/* Open a NIC and create this PE's queues; sets job->ib. Not collective. On failure job->ib is
 * NULL, and the line says why this PE has no usable NIC. */
int shmemhi_ib_start(shmemh_t *job);

/* Connect the queues with those of the other PEs. Collective; the same result on every PE. */
int shmemhi_ib_join(shmemh_t *job);

#endif
