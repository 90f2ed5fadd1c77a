/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_IB_REGION_H
#define SHMEMHI_IB_REGION_H

#include "ib/state.h"

/* Register [offset, offset + nbytes) of this PE's heap with that NIC. The MR's IOVA is the offset
 * from the start of the heap. NULL: a line in job->err says what to check. */
struct ibv_mr *shmemhi_region_open(shmemh_t *job, const shmemhi_ib_lib_t *lib,
				   const shmemhi_open_port_t *port, uint64_t offset,
				   uint64_t nbytes);

#endif
