/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Two PEs of the emulator with a queue pair each, and kernels that drive them. */
#ifndef ADAPTER_FIXTURE_SIM_H
#define ADAPTER_FIXTURE_SIM_H

#include <mlx5sw_sim.h>
#include "fixture_verbs.h"

#define SIM_NBYTES 4096u

/* Mistakes of the kernel. */
enum sim_mistake {
	SIM_NONE,
	/* the device may read the WQE after the doorbell and see old bytes */
	SIM_NO_FENCE_BEFORE_RECORD,
	SIM_NO_FENCE_AFTER_DATA, /* the same for the data that the WQE sends */
	SIM_SIGNAL_ON_OTHER_QP,  /* sends the signal on another queue pair than the data */
	SIM_NO_WAIT,             /* reads the data without waiting for the signal */
};

typedef struct sim_plan {
	mlx5sw_config_t cfg;
	int mistake;
} sim_plan_t;

/* PE 0 writes 8 bytes to PE 1 and adds to its signal; PE 1 waits for the signal and writes the data
 * back with a completion of its own. The run fails if data is wrong or a completion is missing. For
 * shmemsim_run and shmemsim_explore, with 2 PEs and a sim_plan_t. */
int sim_main(int pe, int n_pes, void *arg);
void sim_end(void); /* after the last run */

#endif
