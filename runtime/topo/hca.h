/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The options that name NICs: SHMEMH_HCA_LIST and SHMEMH_HCA_PE_MAPPING. */
#ifndef SHMEMHI_TOPO_HCA_H
#define SHMEMHI_TOPO_HCA_H

#include <stdbool.h>
#include "base/err.h"

#define SHMEMHI_HCA_MAX 32
#define SHMEMHI_HCA_NBYTES 64

typedef struct shmemhi_hca {
	char name[SHMEMHI_HCA_NBYTES];
	int port;  /* 0: all; mapping: the first that can be used */
	int count; /* mapping: PEs in a row that get it */
} shmemhi_hca_t;

typedef struct shmemhi_hca_list {
	int is_exclude;
	int n; /* 0: all NICs; mapping: not set */
	shmemhi_hca_t entries[SHMEMHI_HCA_MAX];
} shmemhi_hca_list_t;

/* "mlx5_0,mlx5_1:2" or "^mlx5_2"; empty: all.
 * Returns  SHMEMH_OK; ERR_OPTION (text: the entry and what is allowed). */
int shmemhi_hca_parse(const char *text, shmemhi_hca_list_t *list, shmemhi_err_t *err);

/* "mlx5_0,mlx5_1:2,mlx5_2:1:3": NIC, port (without: the first that can be used), number of PEs
 * (without: 1). Empty: not set. Returns  as hca_parse. */
int shmemhi_mapping_parse(const char *text, shmemhi_hca_list_t *mapping, shmemhi_err_t *err);

/* Does each entry name one of the n NICs? Returns SHMEMH_OK; ERR_OPTION (text: the option, the
 * entry, and the names of the NICs). */
int shmemhi_hca_check(const shmemhi_hca_list_t *list, const char *option, const char *const *names,
		      int n, shmemhi_err_t *err);

/* May that port be used? Port 0: any of its ports? */
bool shmemhi_hca_allows(const shmemhi_hca_list_t *list, const char *name, int port);

/* The entry of a mapping for the PE with that rank on its host; after the last entry the first
 * follows. NULL: no mapping is set. */
const shmemhi_hca_t *shmemhi_mapping_entry(const shmemhi_hca_list_t *mapping, int rank);

#endif
