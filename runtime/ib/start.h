/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What shmemhi_ib_open does on this PE, once all PEs know that NICs are needed. */
#ifndef SHMEMHI_IB_START_H
#define SHMEMHI_IB_START_H

#include "job/job.h"

/* Open a NIC and make this PE's queues; sets job->ib. Not collective. Failed: job->ib is NULL, and
 * the line says why this PE has no usable NIC. */
int shmemhi_ib_start(shmemh_t *job);

/* Connect them with those of the others. Collective; the same verdict on every PE. */
int shmemhi_ib_join(shmemh_t *job);

#endif
