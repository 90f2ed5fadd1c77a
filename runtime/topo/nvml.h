/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What NVML, loaded at run time, says of the GPUs: which ones this process sees, and NVLinks. Its
 * types and constants are its stable C ABI under names of our own. */
#ifndef SHMEMHI_TOPO_NVML_H
#define SHMEMHI_TOPO_NVML_H

#include <stdio.h>
#include "topo/machine.h"

typedef struct shmemhi_nvml_gpu {
	char addr[SHMEMHI_ADDR_NBYTES];
	char fabric[SHMEMHI_FABRIC_NBYTES];
} shmemhi_nvml_gpu_t;

typedef struct shmemhi_nvml_link {
	char from[SHMEMHI_ADDR_NBYTES];
	char to[SHMEMHI_ADDR_NBYTES]; /* of a GPU; "switch" */
	int n_lanes;
} shmemhi_nvml_link_t;

typedef struct shmemhi_nvml {
	int n_gpus, n_links;
	shmemhi_nvml_gpu_t gpus[SHMEMHI_MAX_GPUS];
	shmemhi_nvml_link_t links[SHMEMHI_MAX_NVLINKS];
} shmemhi_nvml_t;

/* Ask the library. Returns 1; 0: there is no library, or it has no GPUs. */
int shmemhi_nvml_query(shmemhi_nvml_t *found);

/* The same as text, for captures. read returns 1; 0: the file is not there; -1: it is no such
 * text. */
void shmemhi_nvml_write(const shmemhi_nvml_t *found, FILE *out);
int shmemhi_nvml_read(FILE *in, shmemhi_nvml_t *found);

/* NVML's "00000000:1B:00.0" in the form that sysfs uses: "0000:1b:00.0". */
void shmemhi_nvml_addr(const char *bus_id, char addr[SHMEMHI_ADDR_NBYTES]);

#endif
