/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Choosing a NIC and an address: rules on data, independent of where the data comes from. */
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

/* Does each entry name one of the n NICs? Returns SHMEMH_OK; ERR_OPTION (text: the entry, and
 * the names of the NICs). */
int shmemhi_hca_check(const shmemhi_hca_list_t *list, const char *const *names, int n,
		      shmemhi_err_t *err);

/* May that port be used? Port 0: any of its ports? */
bool shmemhi_hca_allows(const shmemhi_hca_list_t *list, const char *name, int port);

/* The place of a device in the system. */
typedef struct shmemhi_place {
	char path[PATH_MAX]; /* below /sys/devices, no links in it; "": unknown */
	int numa;            /* -1: unknown */
} shmemhi_place_t;

/* Lower is nearer: steps along the PCI tree; then via the CPU; then via another NUMA node. A
 * device at an unknown place counts as the latter, so that such NICs are equal. */
int shmemhi_distance(const shmemhi_place_t *a, const shmemhi_place_t *b);

/* Choose one of the nearest of n devices; those with a distance below 0 cannot be used. Ranks
 * are distributed evenly over devices of equal distance. -1: none can be used. */
int shmemhi_choose_nearest(const int *distances, int n, int rank);

/* Index of a RoCE v2 address in the GID table of n entries: `wanted` if not negative, otherwise
 * the first routable one, IPv4 before IPv6, otherwise the first. -1: there is none. */
int shmemhi_choose_gid(const struct ibv_gid_entry *table, int n, int wanted);

#endif
