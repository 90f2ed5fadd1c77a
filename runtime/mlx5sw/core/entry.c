/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The end of an entry point. */
#include "mlx5sw/core/core.h"

#include <stdarg.h>
#include <stdio.h>

int mlx5swi_fail(int err, const char *fmt, ...)
{
	char text[160];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	mlx5swi_refuse(MLX5SWI_BAD_PARAM, "%s", text);
	return err;
}

int mlx5swi_leave(int err)
{
	mlx5swi_unlock();
	if (err)
		errno = err;
	return err;
}

int mlx5swi_check_alive(const mlx5swi_context_t *ctx)
{
	if (ctx->dev->is_fatal)
		return mlx5swi_fail(EIO, "%s: the device has failed", ctx->dev->ib.name);
	return 0;
}
