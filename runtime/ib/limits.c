/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Limits of options that depend on NICs and queues. Built even without NIC support. */
#include <stddef.h>
#include <shmem_dev/abi/mlx5.h>
#include "ib/start.h"

typedef struct range {
	const char *name;
	size_t field; /* in shmemhi_options_t */
	int min, max;
	int is_power; /* of two */
} range_t;

#define FIELD(member) offsetof(shmemhi_options_t, member)
static const range_t ranges[] = {
	{"SHMEMH_CHANNELS", FIELD(channels), 1, 64, 0},
	{"SHMEMH_IB_DEPTH", FIELD(ib_depth), SHMEMD_MIN_DEPTH, SHMEMD_MAX_DEPTH, 1},
	{"SHMEMH_IB_BATCH", FIELD(ib_batch), 1, SHMEMD_MAX_DEPTH / 2, 1},
	{"SHMEMH_IB_INLINE", FIELD(ib_inline), 0, SHMEMD_MLX5_INLINE_MAX, 0},
	{"SHMEMH_IB_ACK_TIMEOUT", FIELD(ib_ack_timeout), 0, 31, 0},
	{"SHMEMH_IB_RETRIES", FIELD(ib_retries), 0, 7, 0},
	{"SHMEMH_IB_SL", FIELD(ib_sl), 0, 15, 0},
	{"SHMEMH_IB_TRAFFIC_CLASS", FIELD(ib_traffic_class), 0, 255, 0},
};

static int check(shmemh_t *job, const range_t *r)
{
	int value = *(const int *)(const void *)((const char *)&job->opt + r->field);

	if (value >= r->min && value <= r->max && !(r->is_power && value & (value - 1)))
		return SHMEMH_OK;
	return shmemhi_fail(&job->err, SHMEMH_ERR_OPTION, "%s=%d: must be %s, %d to %d", r->name,
			    value, r->is_power ? "a power of two" : "a number", r->min, r->max);
}

int shmemhi_ib_check_options(shmemh_t *job)
{
	int status = SHMEMH_OK;

	for (size_t i = 0; status == SHMEMH_OK && i < sizeof ranges / sizeof ranges[0]; i++)
		status = check(job, &ranges[i]);
	if (status == SHMEMH_OK && job->opt.ib_batch > job->opt.ib_depth / 2)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_OPTION,
				      "SHMEMH_IB_BATCH=%d: must be at most half of "
				      "SHMEMH_IB_DEPTH=%d",
				      job->opt.ib_batch, job->opt.ib_depth);
	return status;
}
