/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_IB_TABLES_H
#define SHMEMHI_IB_TABLES_H

#include "ib/state.h"

/* Channels and paths as kernels find them, written to the device. Links are connected, and the
 * tables of keys are there. Not collective. */
int shmemhi_tables_open(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_tables_close(shmemh_t *job, shmemhi_ib_t *ib);

#endif
