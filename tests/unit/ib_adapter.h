/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The software adapter for tests of runtime/ib. The runtime loads it as a NIC's library, by its
 * path; the test is linked with the same library and drives it. */
#ifndef TESTS_UNIT_IB_ADAPTER_H
#define TESTS_UNIT_IB_ADAPTER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <mlx5sw.h>

static inline const char *adapter_path(void)
{
	const char *path = getenv("ADAPTER_LIBRARY");

	if (!path) {
		printf("skipped: ADAPTER_LIBRARY is not set\n");
		exit(77);
	}
	return path;
}

/* Execute a control line, which must succeed. */
static inline void adapter_control(const char *line)
{
	char answer[256] = "";

	if (mlx5sw_control(line, answer, sizeof answer) != 0)
		fail_msg("%s: %s", line, answer);
}

#endif
