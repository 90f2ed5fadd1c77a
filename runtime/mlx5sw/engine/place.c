/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* WRITEs that the responder has accepted and not yet placed in memory.
 *
 * With MLX5SW_CHAOS_PLACE or MLX5SW_UNLIKE_READ_QUIET a WRITE that was accepted, and perhaps
 * acknowledged, is placed in segments, in any order, at some later turn. WRITEs of one queue pair
 * stay in order, except that a WRITE to a relaxed-ordering MR may pass others. Aligned words of 8
 * bytes are not split. */
#include <stdlib.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/step.h"

#define MAX_SEGMENTS 4u

typedef struct mlx5swi_placement {
	struct mlx5swi_placement *next;
	const mlx5swi_mr_t *mr;
	uint8_t *p;
	mlx5swi_packet_t *packet;
	uint32_t n_segments, left; /* left: bits of the segments that are not placed */
} placement_t;

/* Offset of segment i in the packet's data. */
static uint32_t edge(const placement_t *w, uint32_t i)
{
	uint32_t nbytes = w->packet->dma_nbytes;
	if (i == 0 || i == w->n_segments)
		return i ? nbytes : 0;
	uint32_t skew = (uint32_t)((uintptr_t)w->p % 8);
	return ((nbytes + skew) / 8 * i / w->n_segments) * 8 - skew;
}

static uint32_t split(const uint8_t *p, uint32_t nbytes)
{
	uint32_t words = (uint32_t)((uintptr_t)p % 8 + nbytes) / 8;
	return words < 2 ? 1 : words < MAX_SEGMENTS ? words : MAX_SEGMENTS;
}

void mlx5swi_place_write(placement_t **queue, const mlx5swi_mr_t *mr, uint8_t *p,
			 mlx5swi_packet_t *packet)
{
	placement_t *w = NULL, **end = queue;
	if (packet->flags & MLX5SWI_FIRST) /* messages are placed one after the other */
		mlx5swi_payload_flush();
	if (packet->dma_nbytes && (mlx5swi_w->cfg.chaos & MLX5SW_CHAOS_PLACE ||
				   mlx5swi_is_unlike(MLX5SW_UNLIKE_READ_QUIET)))
		w = malloc(sizeof(*w));
	if (!w) {
		if (packet->dma_nbytes)
			mlx5swi_payload_write(mr, p, packet->data, packet->dma_nbytes);
		mlx5swi_packet_free(packet);
		return;
	}
	w->next = NULL;
	w->mr = mr;
	w->p = p;
	w->packet = packet;
	w->n_segments = split(p, packet->dma_nbytes);
	w->left = (1u << w->n_segments) - 1;
	while (*end)
		end = &(*end)->next;
	*end = w;
}

/* Bit number of the n-th bit that is set. */
static uint32_t nth_bit(uint32_t bits, uint32_t n)
{
	while (n--)
		bits &= bits - 1;
	return (uint32_t)__builtin_ctz(bits);
}

static void remove_first(placement_t **at)
{
	placement_t *w = *at;
	*at = w->next;
	mlx5swi_packet_free(w->packet);
	free(w);
}

static void place_segment(placement_t **at)
{
	placement_t *w = *at;
	uint32_t n_left = (uint32_t)__builtin_popcount(w->left);
	uint32_t i = nth_bit(w->left, mlx5swi_choose(n_left));
	uint32_t from = edge(w, i), to = edge(w, i + 1);
	w->left &= ~(1u << i);
	mlx5swi_payload_flush();
	mlx5swi_payload_write(w->mr, w->p + from, w->packet->data + from, to - from);
	if (!w->left)
		remove_first(at);
}

/* A WRITE to a strictly ordered MR waits for all earlier ones. */
static bool may_place(const placement_t *first, const placement_t *w)
{
	return w == first || w->mr->is_relaxed;
}

void mlx5swi_place_one(placement_t **queue)
{
	uint32_t n = 0;
	for (const placement_t *w = *queue; w; w = w->next)
		n += (uint32_t)may_place(*queue, w);
	uint32_t k = mlx5swi_choose(n);
	placement_t **at = queue;
	while (!may_place(*queue, *at) || k--)
		at = &(*at)->next;
	place_segment(at);
}

void mlx5swi_place_queue(placement_t **queue)
{
	while (*queue)
		place_segment(queue);
}

void mlx5swi_place_drop(placement_t **queue)
{
	while (*queue)
		remove_first(queue);
}

bool mlx5swi_place_overlaps(const placement_t *w, const uint8_t *p, size_t nbytes)
{
	for (; w; w = w->next)
		if (w->p < p + nbytes && p < w->p + w->packet->dma_nbytes)
			return true;
	return false;
}
