/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Linked to programs built with SHMEMDI_SEEDED: the mistake to make, from the environment. */
#include <stdlib.h>

extern int shmemdi_seeded;
int shmemdi_seeded;

__attribute__((constructor)) static void read_seed(void)
{
	const char *text = getenv("SEEDED");

	shmemdi_seeded = text == NULL ? 0 : atoi(text);
}
