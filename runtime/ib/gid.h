/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Choosing a RoCE address: a rule on data, independent of where the data comes from. */
#ifndef SHMEMHI_IB_GID_H
#define SHMEMHI_IB_GID_H

#include <infiniband/verbs.h>
#include <stdbool.h>

/* Index of a RoCE v2 address in the GID table of n entries: `wanted` if not negative, otherwise
 * the first routable one, IPv4 before IPv6, otherwise the first. -1: there is none. */
int shmemhi_choose_gid(const struct ibv_gid_entry *table, int n, int wanted);

/* Is the entry this RoCE v2 address? */
bool shmemhi_is_gid(const struct ibv_gid_entry *entry, const union ibv_gid *gid);

#endif
