/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The map of a machine, as shmem-info shows it: one PE for each GPU. */
#ifndef SHMEMHI_TOOLS_INFO_TOPO_H
#define SHMEMHI_TOOLS_INFO_TOPO_H

#include <stdio.h>
#include "base/options.h"
#include "topo/choose.h"

typedef struct info_map {
	shmemhi_machine_t m;
	int n; /* PEs: as many as GPUs, or one */
	shmemhi_row_t rows[SHMEMHI_MAX_GPUS];
	shmemhi_pick_t picks[SHMEMHI_MAX_GPUS];
	shmemhi_offer_t offers[SHMEMHI_MAX_GPUS][SHMEMHI_MAX_PORTS];
} info_map_t;

/* Write the map as a drawing (SVG). */
void info_map_draw(const info_map_t *map, FILE *out);

/* Node of the GPU of a PE; -1: it has none. */
int info_gpu_node(const info_map_t *map, int pe);

/* Commands of shmem-info. path: a text, a captured folder, NULL: this system. Return the exit
 * status. */
int info_topo(const shmemhi_options_t *opt, const char *path);
int info_text(const shmemhi_options_t *opt, const char *path);
int info_svg(const shmemhi_options_t *opt, const char *path, const char *svg);
int info_capture(const char *folder);
int info_peers(void);

#endif
