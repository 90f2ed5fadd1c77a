/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A queue pair as a program creates it: by verbs and mlx5dv only, in a process whose adapter has a
 * thread. For tests of links between processes. */
#ifndef ADAPTER_FIXTURE_VERBS_H
#define ADAPTER_FIXTURE_VERBS_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>

/* The address that the peer needs. */
typedef struct verbs_name {
	union ibv_gid gid;
	uint16_t lid;
	uint32_t qpn, psn, rkey;
	uint64_t addr;
} verbs_name_t;

typedef struct verbs_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct mlx5dv_qp dv;
	struct mlx5dv_cq dv_cq;
	uint8_t *memory; /* registered with all rights */
	verbs_name_t name, peer;
	uint8_t sgid_index;
	uint16_t pi;
	uint32_t ci;
} verbs_end_t;

/* Both return 0, or the number of the step that failed. memory is the caller's. */
int verbs_open(verbs_end_t *e, uint8_t *memory, size_t nbytes, uint32_t n_wqebbs);
int verbs_connect(verbs_end_t *e, const verbs_name_t *peer); /* to RTS */
void verbs_close(verbs_end_t *e);

/* Post an inline WRITE of 8 bytes to the peer's memory at offset; is_last: request a completion,
 * and ring. */
void verbs_write(verbs_end_t *e, uint32_t offset, uint64_t value, int is_last);
/* Wait for the next completion, at most so many seconds. Returns its opcode, or -1: none arrived.
 * *syndrome: of an error. */
int verbs_wait(verbs_end_t *e, unsigned seconds, uint8_t *syndrome);

#endif
