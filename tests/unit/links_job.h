/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Jobs whose PEs are connected by software adapters, one each, in this process. The devices have no
 * thread: a waiting thread steps them. */
#ifndef TESTS_UNIT_LINKS_JOB_H
#define TESTS_UNIT_LINKS_JOB_H

#include <errno.h>
#include <mlx5sw.h>
#include "ib/state.h"
#include "ib_adapter.h"
#include "mem_job.h"

#define N_CHANNELS 3

static inline void set_options(shmemh_t *job)
{
	shmemhi_options_t *opt = &job->opt;

	snprintf(opt->ib_library, sizeof opt->ib_library, "%s", adapter_path());
	snprintf(opt->hca_list, sizeof opt->hca_list, "mlx5_%d", job->pe);
	opt->ib_gid_index = -1;
	opt->channels = N_CHANNELS;
	opt->ib_depth = SHMEMD_MIN_DEPTH;
	opt->ib_batch = 32;
	opt->ib_inline = SHMEMD_MLX5_INLINE_MAX;
	opt->ib_ack_timeout = 16;
	opt->ib_retries = 7;
}

/* Start a fabric with a strict adapter for each PE. */
static inline void start_adapters_of(mlx5sw_config_t cfg, int n)
{
	cfg.n_devices = (uint32_t)n;
	cfg.timing = MLX5SW_TIMING_FAST;
	cfg.lint = MLX5SW_LINT_STRICT;
	assert_int_equal(mlx5sw_start(&cfg, NULL), 0);
}

static inline void start_adapters(int link_layer, int n)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.link_layer = (uint8_t)link_layer;
	start_adapters_of(cfg, n);
}

/* Check that lint has reported nothing. */
static inline void stop_adapters(void)
{
	if (mlx5sw_failed())
		fail_msg("%s", mlx5sw_report(0));
	mlx5sw_stop();
}

/* Execute a control line; the test's threads cannot use cmocka's asserts. */
static inline int control(shmemh_t *job, const char *line)
{
	char answer[256];

	PE_CHECK(mlx5sw_control(line, answer, sizeof answer) == 0);
	return 0;
}

/* Make job->ib with an open NIC, and without links. */
static inline int plug_in(shmemh_t *job)
{
	set_options(job);
	job->ib = calloc(1, sizeof *job->ib);
	PE_CHECK(shmemhi_ib_open_ports(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_ib_choose_ports(job, job->ib) == SHMEMH_OK);
	return 0;
}

/* A context with remaining objects cannot be closed. */
static inline int unplug(shmemh_t *job)
{
	shmemhi_ib_t *ib = job->ib;

	shmemhi_links_close(job, ib);
	PE_CHECK(!ib->links && !ib->queue_mem);
	PE_CHECK(ib->lib.dealloc_pd(ib->home_port.pd) == 0);
	PE_CHECK(ib->lib.close_device(ib->home_port.context) == 0);
	ib->home_port.pd = NULL;
	ib->home_port.context = NULL;
	shmemhi_ib_close_ports(ib);
	free(ib);
	job->ib = NULL;
	return 0;
}

/* Run pe_main on each of n PEs. */
static inline void with_adapters(int link_layer, int n, pe_main_t pe_main)
{
	const world_kind_t kind = {.n_pes = n};

	start_adapters(link_layer, n);
	assert_int_equal(run_world(&kind, pe_main), 0);
	stop_adapters();
}

/* The same with adapters that offer queue pairs without doorbell records. */
static inline void with_no_records(int n, pe_main_t pe_main)
{
	const world_kind_t kind = {.n_pes = n};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.has_no_dbr = 1;
	start_adapters_of(cfg, n);
	assert_int_equal(run_world(&kind, pe_main), 0);
	stop_adapters();
}

#endif
