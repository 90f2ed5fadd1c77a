/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which NIC, which address: rules on data, whoever got it and from where. */
#ifndef SHMEMHI_IB_CHOOSE_H
#define SHMEMHI_IB_CHOOSE_H

#include <limits.h>
#include <stdbool.h>
#include <infiniband/verbs.h>
#include "base/err.h"

/* SHMEMH_HCA_LIST */
#define SHMEMHI_HCA_MAX 32
#define SHMEMHI_HCA_NBYTES 64

typedef struct shmemhi_hca {
	char name[SHMEMHI_HCA_NBYTES];
	int port; /* 0: all */
} shmemhi_hca_t;

typedef struct shmemhi_hca_list {
	int is_exclude;
	int n; /* 0: all NICs */
	shmemhi_hca_t entries[SHMEMHI_HCA_MAX];
} shmemhi_hca_list_t;

/* "mlx5_0,mlx5_1:2" or "^mlx5_2"; empty: all.
 * Returns  SHMEMH_OK; ERR_OPTION (text: the entry and what is allowed). */
int shmemhi_hca_parse(const char *text, shmemhi_hca_list_t *list, shmemhi_err_t *err);

/* Does each entry name one of the n NICs? Returns SHMEMH_OK; ERR_OPTION (text: the entry, and what
 * there is). */
int shmemhi_hca_check(const shmemhi_hca_list_t *list, const char *const *names, int n,
		      shmemhi_err_t *err);

/* May that port be used? Port 0: any of its ports? */
bool shmemhi_hca_allows(const shmemhi_hca_list_t *list, const char *name, int port);

/* Where a device sits. */
typedef struct shmemhi_place {
	char path[PATH_MAX]; /* below /sys/devices, no links in it; "": unknown */
	int numa;            /* -1: unknown */
} shmemhi_place_t;

/* Lower is nearer: steps along the PCI tree; then via the CPU; then via another NUMA node. Unknown:
 * as far as that, so that such NICs are equal. */
int shmemhi_distance(const shmemhi_place_t *a, const shmemhi_place_t *b);

/* One of n, of which those with distances below 0 cannot be used: among the nearest, which rank
 * shares out evenly. -1: none can be used. */
int shmemhi_choose_nearest(const int *distances, int n, int rank);

/* The index in the GID table, of n entries, of a RoCE v2 address: wanted if not negative, else the
 * first that can be routed, IPv4 before IPv6; else the first at all. -1: there is none. */
int shmemhi_choose_gid(const struct ibv_gid_entry *table, int n, int wanted);

#endif
