/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Commands that create queues and change their state. A command that fails leaves a line with
 * its name, the device, the link, and the status and syndrome of the reply. */
#ifndef SHMEMHI_IB_COMMAND_H
#define SHMEMHI_IB_COMMAND_H

#include "ib/prm.h"
#include "ib/state.h"

/* in: SHMEMHI_PRM_LONG words. *number: of the QP or CQ. Returns NULL if it failed. */
struct mlx5dv_devx_obj *shmemhi_command_create(const shmemhi_ib_lib_t *lib,
					       const shmemhi_link_t *link, const uint32_t *in,
					       uint32_t *number, shmemhi_err_t *err);

/* A command on the link's QP; its QPN is put in here.
 * Returns  SHMEMH_OK; ERR_NIC. */
int shmemhi_command_modify(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link, uint32_t *in,
			   size_t n_words, shmemhi_err_t *err);

/* QUERY_QP of the link's QP. out: the first n_words of the reply.
 * Returns  SHMEMH_OK; ERR_NIC. */
int shmemhi_command_query(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link, uint32_t *out,
			  size_t n_words, shmemhi_err_t *err);

#endif
