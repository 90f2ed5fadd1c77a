/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The configuration from MLX5SW_ variables: for a process that does not call mlx5sw_start, and for
 * programs that call mlx5sw_config_from_env. */
#include "mlx5sw/control/control.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

#define PREFIX "MLX5SW_"

typedef struct variable {
	const char *name;
	size_t offset, nbytes; /* of the field in mlx5sw_config_t: uint8_t or uint32_t */
	/* "a|b|c": the value is the position of one of these words; NULL: a number */
	const char *words;
	uint32_t min, max;
} variable_t;

static const variable_t table[] = {
#define FIELD(field) offsetof(mlx5sw_config_t, field), sizeof(((mlx5sw_config_t *)0)->field)
	{PREFIX "DEVICES", FIELD(n_devices), NULL, 1, MLX5SWI_MAX_DEVICES},
	{PREFIX "LINK", FIELD(link_layer), "ethernet|infiniband", 0, 0},
	{PREFIX "DOORBELLS", FIELD(doorbells), "hybrid|dbr|db", 0, 0},
	{PREFIX "TIMING", FIELD(timing), "spec|cx6|fast", 0, 0},
	{PREFIX "LINT", FIELD(lint), "off|report|strict", 0, 0},
	{PREFIX "CHAOS", FIELD(chaos), NULL, 0, MLX5SWI_CHAOS_ALL},
	{PREFIX "SLOW", FIELD(slow), NULL, 0, 1000000},
	{PREFIX "NO_DBR", FIELD(has_no_dbr), NULL, 0, 1},
	{PREFIX "TIMESTAMPS", FIELD(timestamps), "free-running|real-time|both", 0, 0},
	{PREFIX "GRH", FIELD(requires_grh), NULL, 0, 1},
	{PREFIX "UNLIKE", FIELD(unlike),
	 "none|write|inline|read|dump|fence-bit|immediate|add-8|cas-8|"
	 "masked-add-4|masked-add-8|masked-cas-4|masked-cas-8|order-4|order-8|"
	 "doorbell|wqe-wrap|cq-ring|cq-collapsed|ts-format|error-opcode|"
	 "error-local-key|error-remote-key|error-request|error-retry|flush-order|"
	 "read-quiet|prefix|late-write|two-ports|repeated-write|gpu-queue",
	 0, 0},
#undef FIELD
};

#define N_VARIABLES (sizeof(table) / sizeof(table[0]))

/* Read by other files. */
static const char *const others[] = {PREFIX "FABRIC", PREFIX "SCRIPT", PREFIX "DIR",
				     PREFIX "VERBOSE"};

/* Digits only. */
static int parse_number(const char *text, uint32_t *value)
{
	uint64_t n = 0;
	const char *at = text;

	for (; *at >= '0' && *at <= '9' && n <= UINT32_MAX; at++)
		n = 10 * n + (uint64_t)(*at - '0');
	*value = (uint32_t)n;
	return at == text || *at || n > UINT32_MAX ? EINVAL : 0;
}

static int parse_word(const char *text, const char *words, uint32_t *value)
{
	size_t nbytes;

	*value = 0;
	for (const char *word = words;; word += nbytes + 1) {
		nbytes = strcspn(word, "|");
		if (strlen(text) == nbytes && strncmp(text, word, nbytes) == 0)
			return 0;
		if (!word[nbytes])
			return EINVAL;
		(*value)++;
	}
}

static void store(const variable_t *v, uint32_t value, mlx5sw_config_t *cfg)
{
	char *field = (char *)cfg + v->offset;

	if (v->nbytes == sizeof(uint8_t))
		*(uint8_t *)field = (uint8_t)value;
	else
		*(uint32_t *)(void *)field = value;
}

/* If the variable is not set, its field is unchanged. */
static int read_variable(const variable_t *v, mlx5sw_config_t *cfg)
{
	const char *text = getenv(v->name);
	uint32_t n;

	if (!text)
		return 0;
	if (v->words ? parse_word(text, v->words, &n) == 0
		     : parse_number(text, &n) == 0 && n >= v->min && n <= v->max) {
		store(v, n, cfg);
		return 0;
	}
	if (v->words)
		fprintf(stderr, "mlx5sw: %s=%s: must be one of %s\n", v->name, text, v->words);
	else
		fprintf(stderr, "mlx5sw: %s=%s: must be a number, %u to %u\n", v->name, text,
			v->min, v->max);
	return ENODEV;
}

static bool is_known(const char *name, size_t name_nbytes)
{
	for (size_t i = 0; i < N_VARIABLES; i++)
		if (strlen(table[i].name) == name_nbytes &&
		    memcmp(table[i].name, name, name_nbytes) == 0)
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strlen(others[i]) == name_nbytes && memcmp(others[i], name, name_nbytes) == 0)
			return true;
	return false;
}

static void warn_unknown(void)
{
	for (char **entry = environ; entry && *entry; entry++) {
		size_t name_nbytes = strcspn(*entry, "=");

		if (strncmp(*entry, PREFIX, strlen(PREFIX)) == 0 && !is_known(*entry, name_nbytes))
			fprintf(stderr,
				"mlx5sw: %.*s is not an option and has no effect: its README.md "
				"lists all\n",
				(int)(name_nbytes < 80 ? name_nbytes : 80), *entry);
	}
}

int mlx5sw_config_from_env(mlx5sw_config_t *cfg)
{
	mlx5sw_config_t all = *cfg; /* cfg stays as it is if one is wrong */

	warn_unknown();
	for (size_t i = 0; i < N_VARIABLES; i++)
		if (read_variable(&table[i], &all) != 0)
			return ENODEV;
	*cfg = all;
	return 0;
}
