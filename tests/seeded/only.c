/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Runs one cmocka test of a program, selected by the environment. */
#include <stdlib.h>
#include "../common/mocka.h"

__attribute__((constructor)) static void read_test(void)
{
	cmocka_set_test_filter(getenv("SEEDED_TEST"));
}
