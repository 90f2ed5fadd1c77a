/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/boot.h"

#include <string.h>

static int self_allgather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
			  size_t errbuf_nbytes)
{
	(void)state;
	(void)errbuf;
	(void)errbuf_nbytes;
	memmove(dst, src, nbytes);
	return SHMEMH_OK;
}

static int self_gather_some(void *state, const shmemh_gather_t *g, char *errbuf,
			    size_t errbuf_nbytes)
{
	g->took_part[0] = 1;
	return self_allgather(state, g->src, g->dst, g->nbytes, errbuf, errbuf_nbytes);
}

static void self_close(void *state)
{
	(void)state;
}

void shmemhi_boot_self(shmemh_boot_t *boot)
{
	memset(boot, 0, sizeof(*boot));
	boot->size = sizeof(*boot);
	boot->n_pes = 1;
	boot->allgather = self_allgather;
	boot->close = self_close;
	boot->gather_some = self_gather_some;
}
