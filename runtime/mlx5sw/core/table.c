/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Numbers of objects. */
#include "mlx5sw/core/core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_N 64u

static int grow(mlx5swi_table_t *t)
{
	uint32_t n = t->n ? 2 * t->n : FIRST_N;
	void **at = realloc(t->at, n * sizeof(*at));

	if (!at)
		return ENOMEM;
	memset(at + t->n, 0, (n - t->n) * sizeof(*at));
	t->at = at;
	t->next = t->n;
	t->n = n;
	return 0;
}

int mlx5swi_table_add(mlx5swi_table_t *t, void *object, uint32_t *index)
{
	if (t->n_used == t->n && grow(t) != 0)
		return ENOMEM;
	while (t->at[t->next])
		t->next = (t->next + 1) % t->n;
	t->at[t->next] = object;
	*index = t->first + t->next;
	t->next = (t->next + 1) % t->n;
	t->n_used++;
	return 0;
}

void *mlx5swi_table_get(const mlx5swi_table_t *t, uint32_t index)
{
	return index >= t->first && index - t->first < t->n ? t->at[index - t->first] : NULL;
}

void mlx5swi_table_remove(mlx5swi_table_t *t, uint32_t index)
{
	if (mlx5swi_table_get(t, index)) {
		t->at[index - t->first] = NULL;
		t->n_used--;
	}
}

/* Assign numbers in the same order as a new table does, so that runs are repeatable. */
void mlx5swi_table_reuse(mlx5swi_table_t *t)
{
	if (t->n > FIRST_N) {
		free(t->at);
		t->at = NULL;
		t->n = 0;
	}
	t->next = 0;
}

void mlx5swi_table_free(mlx5swi_table_t *t)
{
	free(t->at);
	memset(t, 0, sizeof(*t));
}
