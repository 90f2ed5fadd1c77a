/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_IB_REGION_H
#define SHMEMHI_IB_REGION_H

#include "ib/state.h"

/* Register [offset, offset + nbytes) of this PE's heap; addresses within the region are offsets.
 * NULL: a line in job->err says what to check. */
struct ibv_mr *shmemhi_region_open(shmemh_t *job, shmemhi_ib_t *ib, uint64_t offset,
				   uint64_t nbytes);

#endif
