/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A job for tests of opening a NIC, on the software adapter. */
#ifndef TESTS_UNIT_NIC_JOB_H
#define TESTS_UNIT_NIC_JOB_H

#include "boot/boot.h"
#include "ib/state.h"
#include "ib_adapter.h"

/* A job of one PE with only its options set, and the NIC that it opens. */
static shmemh_t *job;
static shmemhi_ib_t ib;
static int32_t statuses[1];
static shmemhi_err_t texts[1];

/* Start a new fabric, and set the options that select it. */
static inline void prepare_with(const mlx5sw_config_t *cfg)
{
	assert_int_equal(mlx5sw_start(cfg, NULL), 0);
	memset(&ib, 0, sizeof ib);
	memset(job, 0, sizeof *job);
	job->n_pes = 1;
	job->statuses = statuses;
	job->texts = texts;
	shmemhi_boot_self(&job->boot);
	job->opt.ib_gid_index = -1;
	job->opt.ib_depth = 1024;
	snprintf(job->opt.ib_library, sizeof job->opt.ib_library, "%s", adapter_path());
}

/* The same with so many devices. */
static inline void prepare(int link_layer, uint32_t n_devices)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = (uint8_t)link_layer;
	cfg.n_devices = n_devices;
	prepare_with(&cfg);
}

/* Find the NICs and choose one. */
static inline int open_nic(void)
{
	int status = shmemhi_ib_open_ports(job, &ib);

	if (status == SHMEMH_OK)
		status = shmemhi_ib_choose_ports(job, &ib);
	if (status != SHMEMH_OK)
		shmemhi_ib_close_ports(&ib);
	return status;
}

static inline int make_job(void **state)
{
	(void)state;
	job = calloc(1, sizeof *job);
	return job ? 0 : -1;
}

static inline int free_job(void **state)
{
	(void)state;
	free(job);
	return 0;
}

#endif
