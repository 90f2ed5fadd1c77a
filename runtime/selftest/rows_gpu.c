/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows that need a GPU. */
#include "selftest/rows.h"

static void without_gpu(shmemhi_outcome_t *o)
{
	shmemhi_row_unknown(o, "no GPU");
}

void shmemhi_row_gpu_doorbell(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	(void)rig;
	(void)pair;
	without_gpu(o);
}

void shmemhi_row_gpu_queue(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	(void)rig;
	(void)pair;
	without_gpu(o);
}

void shmemhi_row_gpu_quiet(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	(void)rig;
	(void)pair;
	without_gpu(o);
}
