/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Two ends for tests of a queue: creation, and the checks at the end. */
#ifndef ADAPTER_PAIR_H
#define ADAPTER_PAIR_H

#include "fixture.h"

static adapter_end_t a, b; /* a sends */

static inline void start(const mlx5sw_config_t *cfg, const adapter_spec_t *spec)
{
	const adapter_spec_t other = {.host = 1};

	adapter_start(cfg);
	adapter_make(&a, spec);
	adapter_make(&b, &other);
	adapter_connect(&a, &b);
}

/* Check that no completion is unread and that lint has reported nothing, then stop. */
static inline void end(void)
{
	adapter_expect_none(&a);
	adapter_expect_clean();
	adapter_stop();
}

static inline void go(void)
{
	adapter_ring(&a);
	adapter_idle();
}

static inline void fill(uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		p[i] = (uint8_t)(i * 31 + i / 251);
}

#endif
