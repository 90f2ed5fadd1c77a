/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Pages of doorbell registers. A freed page is the first to be reused, also by the next world:
 * programs may have mapped it for a GPU, and creating pages is slow. */
#include "mlx5sw/control/control.h"

#include <stdlib.h>
#include <string.h>

#define BLUEFLAME 0x800u /* offset of the BlueFlame register, the one for QPs with records */

static uint8_t *page_new(void)
{
	uint8_t *page = mlx5swi_w->pages;

	if (page)
		memcpy(&mlx5swi_w->pages, page, sizeof(mlx5swi_w->pages));
	else
		page = aligned_alloc(MLX5SWI_PAGE, MLX5SWI_PAGE);
	if (page)
		memset(page, 0xff, MLX5SWI_PAGE);
	return page;
}

static void page_free(uint8_t *page)
{
	memcpy(page, &mlx5swi_w->pages, sizeof(mlx5swi_w->pages));
	mlx5swi_w->pages = page;
}

mlx5swi_uar_t *mlx5swi_uar_new(mlx5swi_context_t *ctx)
{
	mlx5swi_table_t *uars = &ctx->dev->uars;
	mlx5swi_uar_t *uar = uars->n_used < MLX5SWI_MAX_UARS ? calloc(1, sizeof(*uar)) : NULL;

	if (!uar)
		return NULL;
	uar->ctx = ctx;
	uar->page = page_new();
	if (!uar->page || mlx5swi_table_add(uars, uar, &uar->id) != 0) {
		if (uar->page)
			page_free(uar->page);
		free(uar);
		return NULL;
	}
	uar->dv.reg_addr = uar->page + BLUEFLAME;
	uar->dv.base_addr = uar->page;
	uar->dv.page_id = uar->id;
	uar->dv.mmap_off = (off_t)uar->id * MLX5SWI_PAGE;
	ctx->refs++;
	return uar;
}

int mlx5swi_uar_destroy(mlx5swi_uar_t *uar)
{
	if (uar->refs)
		return mlx5swi_refuse(MLX5SWI_BUSY, "UAR 0x%x: %u queues use it", uar->id,
				      uar->refs);
	mlx5swi_table_remove(&uar->ctx->dev->uars, uar->id);
	uar->ctx->refs--;
	page_free(uar->page);
	free(uar);
	return MLX5SWI_DONE;
}
