/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_IB_CHANNELS_H
#define SHMEMHI_IB_CHANNELS_H

#include "ib/state.h"

/* Allocate and initialise, in device memory, the words of all channels and the words that record
 * the channels in use. Links are connected. Not collective. */
int shmemhi_channels_open(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_channels_close(shmemh_t *job, shmemhi_ib_t *ib);

#endif
