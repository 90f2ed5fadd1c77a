/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/choose.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORT 255

/* One entry, NAME or NAME:PORT, of nbytes. Returns 0, or -1 for anything else. */
static int parse_entry(const char *text, size_t nbytes, shmemhi_hca_t *hca)
{
	const char *colon = memchr(text, ':', nbytes);
	size_t name_nbytes = colon ? (size_t)(colon - text) : nbytes;
	char *end;
	long port;

	memset(hca, 0, sizeof *hca);
	if (name_nbytes == 0 || name_nbytes >= sizeof hca->name)
		return -1;
	memcpy(hca->name, text, name_nbytes);
	if (strpbrk(hca->name, " \t^"))
		return -1;
	if (!colon)
		return 0;
	if (colon[1] < '0' || colon[1] > '9')
		return -1;
	port = strtol(colon + 1, &end, 10);
	hca->port = (int)port;
	return end == text + nbytes && port >= 1 && port <= MAX_PORT ? 0 : -1;
}

int shmemhi_hca_parse(const char *text, shmemhi_hca_list_t *list, shmemhi_err_t *err)
{
	const char *at = text;

	memset(list, 0, sizeof *list);
	if (*at == '\0')
		return SHMEMH_OK;
	list->is_exclude = *at == '^';
	at += list->is_exclude;
	for (;; at++) {
		size_t nbytes = strcspn(at, ",");

		if (list->n == SHMEMHI_HCA_MAX)
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "SHMEMH_HCA_LIST=%.80s...: more than %d entries", text,
					    SHMEMHI_HCA_MAX);
		if (parse_entry(at, nbytes, &list->entries[list->n++]) != 0)
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "SHMEMH_HCA_LIST=%.80s: '%.*s' is no entry: use names "
					    "as mlx5_0 or mlx5_0:1, by commas; ^ only at the start",
					    text, (int)(nbytes < 80 ? nbytes : 80), at);
		at += nbytes;
		if (*at == '\0')
			return SHMEMH_OK;
	}
}

static bool is_one_of(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int shmemhi_hca_check(const shmemhi_hca_list_t *list, const char *const *names, int n,
		      shmemhi_err_t *err)
{
	char all[256] = "";

	for (int i = 0; i < n; i++) {
		size_t used = strlen(all);

		snprintf(all + used, sizeof all - used, " %s", names[i]);
	}
	for (int i = 0; i < list->n; i++)
		if (!is_one_of(list->entries[i].name, names, n))
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "SHMEMH_HCA_LIST names %s, and there is no such NIC: "
					    "there are%s",
					    list->entries[i].name, n ? all : " none");
	return SHMEMH_OK;
}

bool shmemhi_hca_allows(const shmemhi_hca_list_t *list, const char *name, int port)
{
	for (int i = 0; i < list->n; i++) {
		const shmemhi_hca_t *hca = &list->entries[i];
		int fits = hca->port == 0 || hca->port == port || (port == 0 && !list->is_exclude);

		if (fits && strcmp(hca->name, name) == 0)
			return !list->is_exclude;
	}
	return list->n == 0 || list->is_exclude;
}

/* Far more than the steps of any PCI tree. */
#define VIA_CPU 1000
#define VIA_NUMA 2000

static int count_slashes(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '/';
	return n;
}

/* Length of the common part of both paths, up to and including its last slash. */
static size_t shared_nbytes(const char *a, const char *b)
{
	size_t shared = 0;

	for (size_t i = 0; a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			shared = i + 1;
	return shared;
}

int shmemhi_distance(const shmemhi_place_t *a, const shmemhi_place_t *b)
{
	static const char root[] = "/sys/devices/";
	size_t shared = shared_nbytes(a->path, b->path);
	int steps;

	if (a->path[0] == '\0' || b->path[0] == '\0')
		return VIA_NUMA;
	if (strcmp(a->path, b->path) == 0)
		return 0;
	steps = count_slashes(a->path + shared) + 1 + count_slashes(b->path + shared) + 1;
	if (shared > sizeof root - 1)
		return steps;
	/* The devices are below different host bridges: the PCI tree says nothing of their
	 * distance. */
	return a->numa >= 0 && a->numa == b->numa ? VIA_CPU : VIA_NUMA;
}

int shmemhi_choose_nearest(const int *distances, int n, int rank)
{
	int least = -1, n_least = 0, turn;

	for (int i = 0; i < n; i++) {
		if (distances[i] < 0 || (least >= 0 && distances[i] > least))
			continue;
		n_least = distances[i] == least ? n_least + 1 : 1;
		least = distances[i];
	}
	if (n_least == 0)
		return -1;
	turn = rank % n_least;
	for (int i = 0; i < n; i++)
		if (distances[i] == least && turn-- == 0)
			return i;
	return -1;
}

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
