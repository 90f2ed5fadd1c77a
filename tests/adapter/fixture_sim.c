/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture_sim.h"
#include <endian.h>

#define N_WQEBBS 8u
#define SIGNALLED 0x08u
#define DATA 0u
#define SIGNAL 64u
#define BACK 128u
#define OLD 192u   /* the old value of the signal */
#define REPLY 256u /* the data that PE 1 sends back */

static mlx5sw_sim_t adapter;
static verbs_end_t ends[2], others[2]; /* others: a second pair of ends */
static uint8_t memories[2][SIM_NBYTES] __attribute__((aligned(64)));

/* A WQE of one WQEBB: control, remote address, two or three more segments. */
typedef struct wqe {
	uint32_t words[16];
} wqe_t;

static wqe_t begin(const verbs_end_t *e, uint32_t opcode, uint32_t ds, uint32_t flags, uint32_t to)
{
	uint64_t addr = e->peer.addr + to;
	wqe_t w = {{(uint32_t)e->pi << 8 | opcode, e->qp->qp_num << 8 | ds, flags, 0,
		    (uint32_t)(addr >> 32), (uint32_t)addr, e->peer.rkey, 0}};
	return w;
}

static void post(verbs_end_t *e, const wqe_t *w)
{
	uint8_t *wqebb = (uint8_t *)e->dv.sq.buf + (e->pi & (e->dv.sq.wqe_cnt - 1)) * 64u;
	for (uint32_t i = 0; i < 16; i += 2)
		shmemd_arch_st_relaxed_u64(wqebb + 4 * i, (uint64_t)htobe32(w->words[i + 1]) << 32 |
								  htobe32(w->words[i]));
	e->pi++;
}

static void post_write(verbs_end_t *e, uint32_t to, uint64_t value, uint32_t flags)
{
	wqe_t w = begin(e, MLX5_OPCODE_RDMA_WRITE, 3, flags, to);
	w.words[8] = 8 | MLX5_INLINE_SEG;
	w.words[9] = htobe32((uint32_t)value);
	w.words[10] = htobe32((uint32_t)(value >> 32));
	post(e, &w);
}

/* WRITE the 8 bytes at an offset of the PE's own memory. */
static void post_gather(verbs_end_t *e, uint32_t to, uint32_t from, uint32_t flags)
{
	uint64_t addr = (uintptr_t)e->memory + from;
	wqe_t w = begin(e, MLX5_OPCODE_RDMA_WRITE, 3, flags, to);
	w.words[8] = 8;
	w.words[9] = e->mr->lkey;
	w.words[10] = (uint32_t)(addr >> 32);
	w.words[11] = (uint32_t)addr;
	post(e, &w);
}

static void post_add(verbs_end_t *e, uint32_t to, uint64_t value, uint32_t flags)
{
	uint64_t addr = (uintptr_t)e->memory + OLD;
	wqe_t w = begin(e, MLX5_OPCODE_ATOMIC_FA, 4, flags, to);
	w.words[8] = (uint32_t)(value >> 32);
	w.words[9] = (uint32_t)value;
	w.words[12] = 8;
	w.words[13] = e->mr->lkey;
	w.words[14] = (uint32_t)(addr >> 32);
	w.words[15] = (uint32_t)addr;
	post(e, &w);
}

static void ring(verbs_end_t *e, int mistake)
{
	uint64_t doorbell =
		(uint64_t)htobe32(e->qp->qp_num << 8) << 32 | htobe32((uint32_t)e->pi << 8);
	if (mistake != SIM_NO_FENCE_BEFORE_RECORD)
		shmemd_arch_fence_quiet();
	shmemd_arch_st_relaxed_u32(&e->dv.dbrec[MLX5_SND_DBR], htobe32(e->pi));
	if (mistake != SIM_NO_FENCE_BEFORE_RECORD)
		shmemd_arch_fence_quiet();
	if (mistake == SIM_NO_FENCE_AFTER_DATA)
		shmemd_arch_st_relaxed_u64(e->memory + REPLY, 77);
	shmemd_arch_st_relaxed_u64(e->dv.bf.reg, doorbell);
}

/* Wait for the next completion of a ring, which must be a success. */
static void wait(verbs_end_t *e)
{
	const uint8_t *cqe = (const uint8_t *)e->dv_cq.buf + (e->ci & (e->dv_cq.cqe_cnt - 1)) * 64u;
	uint64_t turn = e->ci / e->dv_cq.cqe_cnt & 1, last;
	for (;;) {
		last = shmemd_arch_ld_relaxed_u64(cqe + 56) >> 56;
		if (last >> 4 != MLX5_CQE_INVALID && (last & 1) == turn)
			break;
		shmemd_arch_spin_hint();
	}
	if (last >> 4 != MLX5_CQE_REQ)
		shmemsim_fail("a completion with an error");
	e->ci++;
	shmemd_arch_fence_quiet();
}

static uint64_t load(const verbs_end_t *e, uint32_t offset)
{
	return shmemd_arch_ld_relaxed_u64(e->memory + offset);
}

static void first(int mistake)
{
	verbs_end_t *e = &ends[0];
	post_write(e, DATA, 77, 0);
	if (mistake == SIM_SIGNAL_ON_OTHER_QP) {
		ring(e, mistake);
		e = &others[0];
	}
	post_add(e, SIGNAL, 1, SIGNALLED);
	ring(e, mistake);
	wait(e);
	while (load(e, BACK) != 77)
		shmemd_arch_spin_hint();
}

static void second(int mistake)
{
	verbs_end_t *e = &ends[1];
	while (mistake != SIM_NO_WAIT && load(e, SIGNAL) == 0)
		shmemd_arch_spin_hint();
	shmemd_arch_fence_quiet();
	uint64_t data = load(e, DATA);
	if (data != 77)
		shmemsim_fail("the signal arrived before the data");
	if (mistake != SIM_NO_FENCE_AFTER_DATA)
		shmemd_arch_st_relaxed_u64(e->memory + REPLY, data);
	post_gather(e, BACK, REPLY, SIGNALLED);
	ring(e, mistake);
	wait(e);
}

typedef struct params {
	int pe, mistake;
} params_t;

static void kernel(const void *params)
{
	const params_t *p = params;
	(p->pe ? second : first)(p->mistake);
}

/* Create a queue pair on each PE, and connect them. */
static int connect_ends(const shmemh_boot_t *boot, verbs_end_t *pair)
{
	verbs_name_t names[2];
	verbs_end_t *e = &pair[boot->pe];
	if (verbs_open(e, memories[boot->pe], SIM_NBYTES, N_WQEBBS) ||
	    boot->allgather(boot->state, &e->name, names, sizeof(names[0]), NULL, 0))
		return 1;
	return verbs_connect(e, &names[1 - boot->pe]);
}

int sim_main(int pe, int n_pes, void *arg)
{
	const sim_plan_t *plan = arg;
	const shmemh_boot_t *boot = shmemsim_boot();
	params_t params = {pe, plan->mistake};
	char byte = 0, bytes[2];
	(void)n_pes;
	if ((pe == 0 && mlx5sw_sim_start(&adapter, &plan->cfg)) ||
	    boot->allgather(boot->state, &byte, bytes, 1, NULL, 0))
		return 1;
	memset(memories[pe], 0, SIM_NBYTES); /* the devices of the last run do not exist any more */
	if (connect_ends(boot, ends))
		return 1;
	if (plan->mistake == SIM_SIGNAL_ON_OTHER_QP && connect_ends(boot, others))
		return 2;
	if (boot->allgather(boot->state, &byte, bytes, 1, NULL, 0))
		return 3;
	return shmemsim_launch(kernel, &params, sizeof(params), 1, 1, 0, NULL) ||
	       shmemsim_sync(NULL);
}

void sim_end(void)
{
	mlx5sw_sim_stop(&adapter);
}
