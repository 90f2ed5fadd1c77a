/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands that create queues and change their state. A command that fails leaves a line with
 * its name, the device, the link, and the status and syndrome of the reply. */
#ifndef SHMEMHI_IB_COMMAND_H
#define SHMEMHI_IB_COMMAND_H

#include "ib/prm.h"
#include "ib/state.h"

/* in: SHMEMHI_PRM_LONG words. *number: of the QP or CQ. Returns NULL if it failed. */
struct mlx5dv_devx_obj *shmemhi_command_create(shmemh_t *job, const shmemhi_ib_t *ib,
					       const shmemhi_link_t *link, const uint32_t *in,
					       uint32_t *number);

/* A command on the link's QP; its QPN is put in here.
 * Returns  SHMEMH_OK; ERR_NIC. */
int shmemhi_command_modify(shmemh_t *job, const shmemhi_ib_t *ib, const shmemhi_link_t *link,
			   uint32_t *in, size_t n_words);

#endif
