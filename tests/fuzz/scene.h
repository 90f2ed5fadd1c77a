/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Objects that a fuzzer has created, by small numbers, in two contexts of one device. */
#ifndef FUZZ_SCENE_H
#define FUZZ_SCENE_H

#include "fixture_devx.h"
#include "fuzz.h"

#define N_CONTEXTS 2u
#define N_SLOTS 4u /* of each kind of object */
#define SLOT_NBYTES 0x10000u

typedef struct made {
	struct mlx5dv_devx_obj *obj; /* NULL: empty */
	uint32_t number;
} made_t;

typedef struct scene {
	fuzz_input_t in;
	struct ibv_context *ctx[N_CONTEXTS];
	struct mlx5dv_devx_umem *umems[N_SLOTS];
	uint8_t *umem_memory[N_SLOTS];
	struct mlx5dv_devx_uar *uars[N_SLOTS];
	made_t pds[N_SLOTS], cqs[N_SLOTS], qps[N_SLOTS], mkeys[N_SLOTS];
	struct mlx5dv_devx_event_channel *channels[N_SLOTS];
	/* of verbs */
	struct ibv_pd *verbs_pds[N_SLOTS];
	struct ibv_mr *mrs[N_SLOTS];
	uint8_t *mr_memory[N_SLOTS];
	struct ibv_cq *verbs_cqs[N_SLOTS];
	struct ibv_qp *verbs_qps[N_SLOTS];
	struct ibv_ah *ahs[N_SLOTS];
} scene_t;

/* One entry, empty or not. */
#define SCENE_PICK(s, slots) (&(slots)[fuzz_below(&(s)->in, N_SLOTS)])
struct ibv_context *scene_context(scene_t *s); /* nearly always the first one */

typedef void scene_step_t(scene_t *s);
extern scene_step_t *const scene_devx_steps[], *const scene_verbs_steps[];
extern const uint32_t scene_n_devx_steps, scene_n_verbs_steps;

/* Destroy everything, in an order that must work. */
void scene_end_devx(scene_t *s);  /* QPs, CQs, mkeys, PDs, UARs, umems, channels */
void scene_end_verbs(scene_t *s); /* before those of DevX */

#endif
