/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Machines of tests/topo/machines. */
#ifndef TESTS_TOPO_TOPO_TEST_H
#define TESTS_TOPO_TOPO_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "topo/text.h"

static inline void machine_path(const char *name, const char *suffix, char path[512])
{
	const char *folder = getenv("TOPO_MACHINES");

	if (!folder) {
		printf("skipped: TOPO_MACHINES is not set\n");
		exit(77);
	}
	snprintf(path, 512, "%s/%s%s", folder, name, suffix);
}

static inline void load_machine(const char *name, shmemhi_machine_t *m)
{
	shmemhi_err_t err = {""};
	char path[512];
	FILE *in;

	machine_path(name, ".txt", path);
	in = fopen(path, "r");
	if (!in || shmemhi_machine_parse(in, path, m, &err) != SHMEMH_OK)
		fail_msg("%s: %s", path, err.text);
	fclose(in);
}

#endif
