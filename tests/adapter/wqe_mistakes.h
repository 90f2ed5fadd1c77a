/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A pair of queues for mistakes in WQEs: each is posted between two valid WQEs. */
#ifndef WQE_MISTAKES_H
#define WQE_MISTAKES_H

#include "fixture.h"

static adapter_end_t a, b;
static adapter_wqe_t w;

static inline void start(const mlx5sw_config_t *cfg, const adapter_spec_t *spec)
{
	const adapter_spec_t other = {.host = 1};

	adapter_start(cfg);
	adapter_make(&a, spec);
	adapter_make(&b, &other);
	adapter_connect(&a, &b);
}

static inline uint64_t local(uint32_t offset)
{
	return (uintptr_t)a.memory + offset;
}

static inline uint64_t remote(uint32_t offset)
{
	return (uintptr_t)b.memory + offset;
}

/* A WRITE without its last segments. */
static inline void write_to(uint32_t offset)
{
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, remote(offset), b.mr->rkey);
}

/* w is posted between two valid WRITEs and fails with this error. */
static inline void fails_alone(uint8_t syndrome, uint8_t vendor)
{
	const uint32_t n = w.ds ? (w.ds + 3) / 4 : 1;

	adapter_post(&a, &w);
	adapter_write(&a, &b, 0, 2000, 8, 0);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect_error(&a, 1, syndrome, vendor);
	adapter_expect_error(&a, (uint16_t)(1 + n), 0x05, 0xf9);
	adapter_expect_none(&a);
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	assert_int_equal(b.memory[1000], 0x11);
}

/* The same, and nothing after it is executed. */
static inline void fails(uint8_t syndrome, uint8_t vendor)
{
	fails_alone(syndrome, vendor);
	assert_int_equal(b.memory[2000], 0);
}

static inline void before(void)
{
	memset(a.memory, 0x11, 4096);
	adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
}

static inline void begin(void)
{
	start(NULL, NULL);
	before();
}

static inline void ends_with(const char *row)
{
	if (row)
		assert_int_equal(adapter_reported(row), 1);
	else
		adapter_expect_clean();
	adapter_stop();
}

#endif
