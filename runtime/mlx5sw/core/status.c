/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reasons of failed commands. */
#include "mlx5sw/core/core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The thread's last refusal. Any thread may call, so each has its own. */
static _Thread_local char refusal[200];
static _Thread_local uint32_t syndrome;

/* The same mapping as in the Linux driver. */
int mlx5swi_errno_of(int status)
{
	switch (status) {
	case MLX5SWI_DONE:
		return 0;
	case MLX5SWI_BUSY:
		return EBUSY;
	case MLX5SWI_LIMIT:
		return ENOMEM;
	case MLX5SWI_NO_RESOURCES:
		return EAGAIN;
	case MLX5SWI_BAD_OP:
	case MLX5SWI_BAD_PARAM:
	case MLX5SWI_BAD_RESOURCE:
	case MLX5SWI_BAD_RESOURCE_STATE:
	case MLX5SWI_BAD_INDEX:
	case MLX5SWI_BAD_QP_STATE:
		return EINVAL;
	default:
		return EIO;
	}
}

/* FNV-1a, so that the number of one reason does not depend on the other reasons. */
static uint32_t hash(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h ? h : 1;
}

int mlx5swi_refuse(int status, const char *fmt, ...)
{
	const char *verbose = getenv("MLX5SW_VERBOSE");
	va_list args;

	va_start(args, fmt);
	vsnprintf(refusal, sizeof(refusal), fmt, args);
	va_end(args);
	syndrome = hash(fmt);
	if (verbose && strcmp(verbose, "1") == 0)
		fprintf(stderr, "mlx5sw: status 0x%x, syndrome 0x%x: %s\n", (unsigned)status,
			syndrome, refusal);
	return status;
}

const char *mlx5swi_refusal(void)
{
	return refusal;
}

uint32_t mlx5swi_syndrome(void)
{
	return syndrome;
}
