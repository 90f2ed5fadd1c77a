/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Internals of the engine: free packets, links, placements. */
#ifndef MLX5SW_STEP_H
#define MLX5SW_STEP_H

#include "mlx5sw/engine/engine.h"

struct mlx5swi_engine {
	mlx5swi_packet_t *free[2]; /* small and large ones */
	struct mlx5swi_shm *shm;   /* NULL: no shared memory link */
	struct mlx5swi_tcp *tcp;
	struct mlx5swi_thread *thread;
	struct mlx5swi_cuda *cuda; /* NULL: not used so far */
	uint64_t gpus_written;     /* bit mask: GPUs with writes in flight */
	int has_gpus;              /* GPU memory was registered; the thread reads it */
};

void mlx5swi_packets_free(mlx5swi_packet_t *list); /* return them to the system */

/* link/link.c */
/* Deliver to the port of this process that the header addresses; the packet is lost if there is
 * none, if that is down, or if its P_Key differs. */
void mlx5swi_deliver(mlx5swi_packet_t *p);
/* MLX5SW_FABRIC cannot be opened: print one line to stderr. Returns err. */
int mlx5swi_fabric_refuse(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* place.c: WRITEs that were accepted but are not in memory yet. */
struct mlx5swi_placement;
/* Place the packet's bytes: now, or (with MLX5SW_CHAOS_PLACE or MLX5SW_UNLIKE_READ_QUIET) later, in
 * segments. Takes the packet. */
void mlx5swi_place_write(struct mlx5swi_placement **queue, const mlx5swi_mr_t *mr, uint8_t *p,
			 mlx5swi_packet_t *packet);
/* place one segment of a WRITE that may be next */
void mlx5swi_place_one(struct mlx5swi_placement **queue);
void mlx5swi_place_queue(struct mlx5swi_placement **queue);
void mlx5swi_place_drop(struct mlx5swi_placement **queue);
bool mlx5swi_place_overlaps(const struct mlx5swi_placement *queue, const uint8_t *p, size_t nbytes);

/* link/shm.c, link/tcp.c. name: what follows "shm:" or "tcp:". Open returns 0 or an errno value. */
int mlx5swi_shm_open(const char *name);
void mlx5swi_shm_close(void);
unsigned mlx5swi_shm_poll(void);
void mlx5swi_shm_send(mlx5swi_packet_t *p);
int mlx5swi_tcp_open(const char *name);
void mlx5swi_tcp_close(void);
unsigned mlx5swi_tcp_poll(void);
void mlx5swi_tcp_send(const mlx5swi_port_t *port, mlx5swi_packet_t *p);

#endif
