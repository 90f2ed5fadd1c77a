/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The mistake of a program, from the environment: a number of seeded.h. */
#include <stdlib.h>

int seeded;

__attribute__((constructor)) static void read_seed(void)
{
	const char *text = getenv("SEEDED");

	seeded = text == NULL ? 0 : atoi(text);
}
