/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "paths.h"

#include "mlx5sw/engine/engine.h"
#include <shmem_dev/arch/arch.h>

uint32_t rig_executed_error;

/* Fence */

/* Has the queue pair completed all that its doorbell covers? */
static int has_stopped(const rig_end_t *e)
{
	mlx5swi_send_state_t s;

	mlx5swi_lock();
	mlx5swi_requester_query(e->qp, &s);
	mlx5swi_unlock();
	return s.hw_counter == s.sw_counter;
}

/* Is the last CQE in memory, and so earlier ones? Then a thread that reads the order can read them.
 * */
static int has_cqes(const rig_end_t *e)
{
	const uint32_t depth = rig_planned()->depth, last = e->cq->pi - 1;
	const char *cqe = e->cqes + (size_t)(last & (depth - 1)) * SHMEMD_CQE_NBYTES;
	uint64_t tail;

	if (e->cq->pi == e->first_cqe)
		return 1;
	tail = shmemd_arch_ld_acquire_u64(cqe + SHMEMD_CQE_TAIL);
	return tail >> 60 != SHMEMD_CQE_INVALID && (tail >> 56 & 1) == ((last & depth) != 0);
}

int rig_is_drained(const rig_end_t *e)
{
	return has_stopped(e) && has_cqes(e);
}

void rig_stop(const rig_end_t *e)
{
	mlx5swi_lock();
	mlx5swi_qp_error(e->qp, 0, 0);
	mlx5swi_unlock();
}

int rig_is_in_error(const rig_end_t *e)
{
	int is;

	mlx5swi_lock();
	is = e->qp->state == MLX5SWI_ERR;
	mlx5swi_unlock();
	return is;
}

void rig_flush(int pe)
{
	mlx5swi_lock();
	mlx5swi_place_all(mlx5swi_device((uint32_t)pe, 0));
	mlx5swi_unlock();
}

void rig_fence(int pe, int peer, uint32_t k)
{
	const rig_end_t *there = rig_channel(pe, peer, k), *back = rig_channel(peer, pe, k);

	rig_stop(there);
	rig_stop(back);
	while (!rig_is_drained(there) || !rig_is_drained(back))
		shmemd_arch_spin_hint();
	rig_flush(pe);
	rig_flush(peer);
}

uint32_t rig_executed(const rig_end_t *e)
{
	mlx5swi_receive_state_t s;

	mlx5swi_lock();
	mlx5swi_responder_query(e->qp, &s);
	mlx5swi_unlock();
	return s.rmsn;
}

/* Creating another path. */

void rig_destroy(const rig_end_t *e)
{
	int failed;

	mlx5swi_lock();
	failed = mlx5swi_qp_destroy(e->qp) || mlx5swi_cq_destroy(e->cq);
	mlx5swi_unlock();
	mlx5dv_devx_free_uar(e->uar);
	if (failed)
		shmemsim_fail("a path cannot be destroyed: %s", mlx5swi_refusal());
}

static int may_reclaim(const rig_end_t *e, uint32_t memory)
{
	const uint64_t ready = shmemd_arch_ld_acquire_u64(&e->words->ready);

	return (int32_t)(SHMEMD_READY_INDEX(ready) - e->retired[memory]) >= 0;
}

/* Create the path after e's, in the next memory area. */
static void make_next(int pe, const rig_end_t *e, rig_end_t *next)
{
	const uint32_t n = ++next->n_switches % rig_planned()->n_queues;

	next->column = !e->column;
	next->queue = e->queues + n * rig_queue_nbytes();
	while (next->n_switches >= rig_planned()->n_queues && !may_reclaim(e, n))
		shmemd_arch_spin_hint();
	if (rig_make_path(&rig_pes[pe], next, rig_device_index(0), 0))
		shmemsim_fail("a path cannot be created: %s", mlx5swi_refusal());
}

void rig_join(const rig_end_t *e, const rig_end_t *peer)
{
	int failed;

	mlx5swi_lock();
	failed = rig_connect(e, peer);
	mlx5swi_unlock();
	if (failed)
		shmemsim_fail("a path cannot be connected: %s", mlx5swi_refusal());
}

/* Orders */

/* Write an order. n: requests that the peer executed. */
static void give(int pe, int peer, uint32_t k, uint64_t path, uint32_t n)
{
	const rig_end_t *e = rig_channel(pe, peer, k);
	const uint32_t epoch = SHMEMD_TAG(path);
	const void *doorbell = rig_planned()->by_host ? (const void *)e->producer : e->qp->reg;
	shmemd_switch_order_t *o = &rig_pes[pe].order;

	shmemd_arch_st_relaxed_u32(&o->announced, (uint32_t)o->number + 1);
	shmemd_arch_fence_order();
	shmemd_arch_st_relaxed_u64(&o->path, path);
	shmemd_arch_st_relaxed_u64(&o->queue, SHMEMD_TAGGED(epoch, e->queue));
	shmemd_arch_st_relaxed_u64(&o->doorbell, SHMEMD_TAGGED(epoch, doorbell));
	shmemd_arch_st_relaxed_u32(&o->k, k);
	shmemd_arch_st_relaxed_u32(&o->world_pe, (uint32_t)peer);
	shmemd_arch_st_relaxed_u32(&o->start, rig_device_index(0));
	shmemd_arch_st_relaxed_u32(&o->executed, (n + rig_executed_error) & 0xffffff);
	shmemd_arch_st_release_u64(&o->number, o->number + 1);
}

static void await(int pe)
{
	const shmemd_switch_order_t *o = &rig_pes[pe].order;

	while (shmemd_arch_ld_acquire_u64(&o->carried_out) != o->number)
		shmemd_arch_spin_hint();
}

void rig_give(int pe, int peer, uint32_t k, const rig_end_t *next, uint32_t epoch, uint32_t n)
{
	rig_change_path(rig_channel(pe, peer, k), next);
	give(pe, peer, k, SHMEMD_PATH_WORD(epoch & 0xff, next->qp->qpn, 0, rig_path_flags(next)),
	     n);
}

static void order_one(int pe, int peer, uint32_t k, rig_end_t *next, uint32_t n)
{
	rig_end_t *e = rig_channel(pe, peer, k);
	const rig_end_t old = rig_path(e);

	memcpy(next->retired, e->retired, sizeof(e->retired));
	rig_give(pe, peer, k, next, rig_planned()->epoch + next->n_switches, n);
	await(pe);
	e->retired[old.n_switches % rig_planned()->n_queues] = rig_pes[pe].order.retired;
	rig_destroy(&old);
}

void rig_order(int pe, int peer, uint32_t k)
{
	rig_end_t *there = rig_channel(pe, peer, k), *back = rig_channel(peer, pe, k);
	const uint32_t n_there = rig_executed(back), n_back = rig_executed(there);
	rig_end_t next_there = rig_path(there), next_back = rig_path(back);

	make_next(pe, there, &next_there);
	if (there == back) {
		rig_join(&next_there, &next_there);
		order_one(pe, pe, k, &next_there, n_there);
		return;
	}
	make_next(peer, back, &next_back);
	rig_join(&next_there, &next_back);
	rig_join(&next_back, &next_there);
	order_one(pe, peer, k, &next_there, n_there);
	order_one(peer, pe, k, &next_back, n_back);
}

void rig_switch(int pe, int peer, uint32_t k)
{
	rig_fence(pe, peer, k);
	rig_order(pe, peer, k);
}

void rig_give_end(int pe, int peer, uint32_t k, int status)
{
	give(pe, peer, k, SHMEMD_PATH_FAILED(status), 0);
}

void rig_order_end(int pe, int peer, uint32_t k, int status)
{
	rig_give_end(pe, peer, k, status);
	await(pe);
}
