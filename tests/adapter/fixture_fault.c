/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture_fault.h"

#include <errno.h>
#include <stdio.h>

void fault_control(const char *fmt, ...)
{
	char line[200], answer[200];
	va_list args;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (mlx5sw_control(line, answer, sizeof(answer)))
		fail_msg("%s: %s", line, answer);
}

void fault_refused(const char *line, const char *answer)
{
	char got[1000];
	assert_int_equal(mlx5sw_control(line, got, sizeof(got)), EINVAL);
	assert_string_equal(got, answer);
}

const char *fault_answer(const char *line)
{
	static char answer[4096];
	assert_int_equal(mlx5sw_control(line, answer, sizeof(answer)), 0);
	return answer;
}

void fault_event(struct ibv_context *ctx, int type)
{
	struct ibv_async_event e;
	assert_int_equal(ibv_get_async_event(ctx, &e), 0);
	assert_int_equal(e.event_type, type);
	ibv_ack_async_event(&e);
}

void fault_no_event(struct ibv_context *ctx)
{
	struct ibv_async_event e;
	assert_int_equal(ibv_get_async_event(ctx, &e), -1);
	assert_int_equal(errno, EAGAIN);
}
