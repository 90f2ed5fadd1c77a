/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The configuration from MLX5SW_ variables: for a process that does not call mlx5sw_start, and
 * for callers. */
#include "mlx5sw/control/control.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct variable {
	const char *name;
	/* "a|b|c": the value is the position of one of these words; NULL: a number */
	const char *words;
	uint32_t min, max;
} variable_t;

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

/* If the variable is not set, *value is unchanged. */
static int read_variable(const variable_t *v, uint32_t *value)
{
	const char *text = getenv(v->name);
	uint32_t n;

	if (!text)
		return 0;
	if (v->words ? parse_word(text, v->words, &n) == 0
		     : parse_number(text, &n) == 0 && n >= v->min && n <= v->max) {
		*value = n;
		return 0;
	}
	if (v->words)
		fprintf(stderr, "mlx5sw: %s=%s: must be one of %s\n", v->name, text, v->words);
	else
		fprintf(stderr, "mlx5sw: %s=%s: must be a number, %u to %u\n", v->name, text,
			v->min, v->max);
	return ENODEV;
}

int mlx5sw_config_from_env(mlx5sw_config_t *cfg)
{
	static const variable_t table[] = {
		{"MLX5SW_DEVICES", NULL, 1, MLX5SWI_MAX_DEVICES},
		{"MLX5SW_LINK", "ethernet|infiniband", 0, 0},
		{"MLX5SW_DOORBELLS", "hybrid|dbr|db", 0, 0},
		{"MLX5SW_TIMING", "spec|cx6|fast", 0, 0},
		{"MLX5SW_LINT", "off|report|strict", 0, 0},
		{"MLX5SW_CHAOS", NULL, 0, MLX5SWI_CHAOS_ALL},
		{"MLX5SW_SLOW", NULL, 0, 1000000},
		{"MLX5SW_NO_DBR", NULL, 0, 1},
		{"MLX5SW_TIMESTAMPS", "free-running|real-time|both", 0, 0},
		{"MLX5SW_GRH", NULL, 0, 1},
		{"MLX5SW_UNLIKE",
		 "none|write|inline|read|dump|fence-bit|immediate|add-8|cas-8|"
		 "masked-add-4|masked-add-8|masked-cas-4|masked-cas-8|order-4|order-8|"
		 "doorbell|wqe-wrap|cq-ring|cq-collapsed|ts-format|error-opcode|"
		 "error-local-key|error-remote-key|error-request|error-retry|flush-order|"
		 "read-quiet|prefix|late-write|two-ports|repeated-write|gpu-queue",
		 0, 0},
	};
	uint32_t value[sizeof(table) / sizeof(table[0])] = {
		cfg->n_devices,  cfg->link_layer,   cfg->doorbells, cfg->timing,
		cfg->lint,       cfg->chaos,        cfg->slow,      cfg->has_no_dbr,
		cfg->timestamps, cfg->requires_grh, cfg->unlike,
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (read_variable(&table[i], &value[i]) != 0)
			return ENODEV;
	cfg->n_devices = value[0];
	cfg->link_layer = (uint8_t)value[1];
	cfg->doorbells = (uint8_t)value[2];
	cfg->timing = (uint8_t)value[3];
	cfg->lint = (uint8_t)value[4];
	cfg->chaos = value[5];
	cfg->slow = value[6];
	cfg->has_no_dbr = (uint8_t)value[7];
	cfg->timestamps = (uint8_t)value[8];
	cfg->requires_grh = (uint8_t)value[9];
	cfg->unlike = (uint8_t)value[10];
	return 0;
}
