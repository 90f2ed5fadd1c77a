/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/gid.h"

#include <string.h>

static bool is_ipv4(const uint8_t raw[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(raw, prefix, sizeof prefix) == 0;
}

/* 169.254.0.0/16 and fe80::/10 */
static bool is_link_local(const uint8_t raw[16])
{
	if (is_ipv4(raw))
		return raw[12] == 169 && raw[13] == 254;
	return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80;
}

/* Preference of an address; 0: unusable. */
static int gid_rank(const struct ibv_gid_entry *entry)
{
	static const uint8_t zero[16];
	const uint8_t *raw = entry->gid.raw;

	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2 || memcmp(raw, zero, sizeof zero) == 0)
		return 0;
	if (is_link_local(raw))
		return 1;
	return is_ipv4(raw) ? 3 : 2;
}

int shmemhi_choose_gid(const struct ibv_gid_entry *table, int n, int wanted)
{
	int best = -1, best_rank = 0;

	for (int i = 0; i < n; i++) {
		int rank = gid_rank(&table[i]);

		if (wanted >= 0 && (uint32_t)wanted != table[i].gid_index)
			continue;
		if (rank > best_rank) {
			best = (int)table[i].gid_index;
			best_rank = rank;
		}
	}
	return best;
}

bool shmemhi_is_gid(const struct ibv_gid_entry *entry, const union ibv_gid *gid)
{
	return gid_rank(entry) > 0 && memcmp(&entry->gid, gid, sizeof *gid) == 0;
}
