/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "topo/hca.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_PORT 255
#define MAX_COUNT 1024

/* Read ":NUMBER" at *at, which ends at end; leave *number if there is none. Returns 0, or -1 if
 * something else is there. */
static int parse_suffix(const char **at, const char *end, long most, int *number)
{
	char *after;
	long value;

	if (*at == end)
		return 0;
	if (**at != ':' || (*at)[1] < '0' || (*at)[1] > '9')
		return -1;
	value = strtol(*at + 1, &after, 10);
	*at = after;
	*number = (int)value;
	return value >= 1 && value <= most ? 0 : -1;
}

/* One entry of nbytes: NAME, then :PORT, then :COUNT if there may be one. Returns 0, or -1 for
 * anything else. */
static int parse_entry(const char *text, size_t nbytes, bool has_count, shmemhi_hca_t *hca)
{
	const char *colon = memchr(text, ':', nbytes), *end = text + nbytes;
	size_t name_nbytes = colon ? (size_t)(colon - text) : nbytes;
	const char *at = text + name_nbytes;

	memset(hca, 0, sizeof *hca);
	hca->count = 1;
	if (name_nbytes == 0 || name_nbytes >= sizeof hca->name)
		return -1;
	memcpy(hca->name, text, name_nbytes);
	if (strpbrk(hca->name, " \t^") || parse_suffix(&at, end, MAX_PORT, &hca->port) != 0)
		return -1;
	if (has_count && parse_suffix(&at, end, MAX_COUNT, &hca->count) != 0)
		return -1;
	return at == end ? 0 : -1;
}

/* Entries by commas. usage: what the error says. */
static int parse_entries(const char *option, const char *text, const char *entries, bool has_count,
			 const char *usage, shmemhi_hca_list_t *list, shmemhi_err_t *err)
{
	for (const char *at = entries;; at++) {
		size_t nbytes = strcspn(at, ",");

		if (list->n == SHMEMHI_HCA_MAX)
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "%s=%.80s...: more than %d entries", option, text,
					    SHMEMHI_HCA_MAX);
		if (parse_entry(at, nbytes, has_count, &list->entries[list->n++]) != 0)
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "%s=%.80s: '%.*s' is no entry: use %s", option, text,
					    (int)(nbytes < 80 ? nbytes : 80), at, usage);
		at += nbytes;
		if (*at == '\0')
			return SHMEMH_OK;
	}
}

int shmemhi_hca_parse(const char *text, shmemhi_hca_list_t *list, shmemhi_err_t *err)
{
	memset(list, 0, sizeof *list);
	if (*text == '\0')
		return SHMEMH_OK;
	list->is_exclude = *text == '^';
	return parse_entries("SHMEMH_HCA_LIST", text, text + list->is_exclude, false,
			     "names as mlx5_0 or mlx5_0:1, by commas; ^ only at the start", list,
			     err);
}

int shmemhi_mapping_parse(const char *text, shmemhi_hca_list_t *mapping, shmemhi_err_t *err)
{
	memset(mapping, 0, sizeof *mapping);
	if (*text == '\0')
		return SHMEMH_OK;
	return parse_entries("SHMEMH_HCA_PE_MAPPING", text, text, true,
			     "NIC, NIC:port or NIC:port:PEs, by commas, as mlx5_0:1:2", mapping,
			     err);
}

static bool is_one_of(const char *name, const char *const *names, int n)
{
	for (int i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

int shmemhi_hca_check(const shmemhi_hca_list_t *list, const char *option, const char *const *names,
		      int n, shmemhi_err_t *err)
{
	char all[256] = "";

	for (int i = 0; i < n; i++) {
		size_t used = strlen(all);

		snprintf(all + used, sizeof all - used, " %s", names[i]);
	}
	for (int i = 0; i < list->n; i++)
		if (!is_one_of(list->entries[i].name, names, n))
			return shmemhi_fail(err, SHMEMH_ERR_OPTION,
					    "%s names %s, and there is no such NIC: there are%s",
					    option, list->entries[i].name, n ? all : " none");
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

const shmemhi_hca_t *shmemhi_mapping_entry(const shmemhi_hca_list_t *mapping, int rank)
{
	int n_pes = 0;

	for (int i = 0; i < mapping->n; i++)
		n_pes += mapping->entries[i].count;
	if (n_pes == 0)
		return NULL;
	rank %= n_pes;
	for (int i = 0;; i++) {
		rank -= mapping->entries[i].count;
		if (rank < 0)
			return &mapping->entries[i];
	}
}
