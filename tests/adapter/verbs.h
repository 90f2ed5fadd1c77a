/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A device of verbs for tests of entry points: the headers that programs include, and checks of
 * refusals. */
#ifndef ADAPTER_VERBS_H
#define ADAPTER_VERBS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "mlx5sw/events/events.h"
#include "mlx5sw/verbs/entry.h"

static struct ibv_context *ctx;
static struct ibv_pd *pd;

/* Open two hosts, otherwise as configured by cfg. */
static inline void fabric_open_with(mlx5sw_config_t *cfg)
{
	struct ibv_device **list;

	cfg->n_hosts = 2;
	assert_int_equal(mlx5sw_start(cfg, NULL), 0);
	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	assert_non_null(ctx = ibv_open_device(list[0]));
	assert_non_null(pd = ibv_alloc_pd(ctx));
	ibv_free_device_list(list);
}

static inline int fabric_open(uint8_t link_layer)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = link_layer;
	fabric_open_with(&cfg);
	return 0;
}

static inline int fabric_setup(void **state)
{
	(void)state;
	return fabric_open(MLX5SW_ETHERNET);
}

static inline int fabric_teardown(void **state)
{
	(void)state;
	mlx5sw_stop();
	return 0;
}

/* The address of host 1's mlx5_0, for host 0's mlx5_0. */
static inline struct ibv_ah_attr good_address(void)
{
	struct ibv_ah_attr a = {.is_global = 1, .port_num = 1, .sl = 3, .static_rate = 7};

	a.grh.sgid_index = 3;
	a.grh.hop_limit = 255;
	a.grh.traffic_class = 0x68;
	a.grh.flow_label = 0x12345;
	memcpy(a.grh.dgid.raw, mlx5swi_device(1, 0)->port.gids[3].raw, 16);
	return a;
}

/* Check that the last call failed with err, and that its line contains text. */
static inline void expect_refusal(int err, const char *text)
{
	assert_int_equal(errno, err);
	if (!strstr(mlx5swi_refusal(), text))
		fail_msg("unexpected refusal: %s", mlx5swi_refusal());
	errno = 0;
}

/* For a call that returns NULL, and for one that returns the errno value. */
#define REFUSED(call, err, text)                                                                   \
	do {                                                                                       \
		assert_null(call);                                                                 \
		expect_refusal(err, text);                                                         \
	} while (0)
#define FAILED(call, err, text)                                                                    \
	do {                                                                                       \
		assert_int_equal(call, err);                                                       \
		expect_refusal(err, text);                                                         \
	} while (0)

#endif
