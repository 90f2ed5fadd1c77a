/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Signals of stream.h and grid.h to PEs behind NICs, and to PEs that are reached both ways: they
 * are ordered after what was sent on the context's channel to their PE, are not sent if that
 * failed, and wait for no other PE. The kernels of stream.h are called as functions. Also the tiles
 * of bulk.h that NICs add, for the order after what was stored. */
#include <shmem_dev/arch/arch.h>

static unsigned n_fences; /* of the system's scope, before signals */

static inline void count_fence(void)
{
	__atomic_fetch_add(&n_fences, 1, __ATOMIC_RELAXED);
	shmemd_arch_fence_before_signal();
}

#define shmemd_arch_fence_before_signal count_fence
#include <shmem_dev/bulk.h>
#include <shmem_dev/grid.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/stream.h>
#include "run.h"

enum { SIGNAL, ADDED, DATA, SOURCE, ARRIVED, BAD_GRANULE, TILE };
enum { SMALL, LARGE, OF_GRID, ALONE, N_WAYS };

#define NBYTES 64

/* A signal with or without data in one of the ways, by all threads of a block. */
static void send_signal(const rig_params_t *p, int way, int op, int pe)
{
	const shmemdi_stream_t s = {p->ctx,
				    word_of(&p->ctx, DATA),
				    word_of(&p->ctx, SOURCE),
				    NBYTES,
				    word_of(&p->ctx, SIGNAL),
				    1,
				    op,
				    pe};
	int is_leader = shmemd_thread_index() == 0;

	if (way == SMALL) {
		shmemdi_stream_put_signal(&s);
	} else if (way == LARGE) {
		shmemdi_stream_put_data(&s);
		shmemd_group_sync(shmemd_block());
		if (is_leader)
			shmemdi_stream_fence_signal(&s);
	} else if (way == OF_GRID) {
		shmemd_signal_op_grid(&p->ctx, shmemd_grid(), s.sig, s.value, op, pe,
				      (uint32_t *)(void *)word_of(&p->ctx, ARRIVED));
	} else if (is_leader) {
		shmemdi_stream_signal(&s);
	}
}

/* The channel fails, and with it an add is lost. */
static void signals_after_failure(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	if (shmemd_thread_index() == 0) {
		shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, BAD_GRANULE), 1, 1);
		shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, ADDED), 1, 1);
		CHECK_IS(shmemd_quiet(&p->ctx), SHMEMD_ERR_REFUSED);
	}
	shmemd_group_sync(shmemd_block());
	send_signal(p, (int)p->arg / 2, p->arg % 2 ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET, 1);
}

static void look_unsent(void)
{
	CHECK_IS(*word_of(&rig_pes[1].ctx, ADDED), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, SIGNAL), 0);
}

static void after_failure(uint64_t way)
{
	for (uint64_t arg = 2 * way; arg < 2 * way + 2; arg++)
		for (uint32_t mapped = 0; mapped < 4; mapped += 3) {
			rig_test_t t = {.plan = rig_plan(),
					.kernel = signals_after_failure,
					.n_blocks = 1,
					.n_threads = 32,
					.final_check = look_unsent,
					.may_report = 1,
					.arg = arg};

			t.plan.mapped = mapped;
			t.plan.unregistered = 1u << BAD_GRANULE;
			run_once(&t);
		}
}

static void no_signal_of_small_after_failure(void **state)
{
	(void)state;
	after_failure(SMALL);
}

static void no_signal_of_large_after_failure(void **state)
{
	(void)state;
	after_failure(LARGE);
}

static void no_signal_of_grid_after_failure(void **state)
{
	(void)state;
	after_failure(OF_GRID);
}

static void no_signal_alone_after_failure(void **state)
{
	(void)state;
	after_failure(ALONE);
}

/* An earlier kernel has posted an add. */
static void signals_after_add(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0) {
		CHECK_IS(shmemd_signal_wait_until_block(&p->ctx, word_of(&p->ctx, SIGNAL),
							SHMEMD_CMP_GE, 1),
			 0);
		CHECK_IS(shmemd_arch_ld_relaxed_u64(word_of(&p->ctx, ADDED)), 1);
		return;
	}
	if (shmemd_thread_index() == 0)
		shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, ADDED), 1, 1);
	shmemd_group_sync(shmemd_block());
	send_signal(p, (int)p->arg / 2, p->arg % 2 ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET, 1);
}

static void signals_are_ordered(void **state)
{
	(void)state;
	for (uint64_t arg = 0; arg < 2 * N_WAYS; arg++)
		for (uint32_t mapped = 0; mapped < 4; mapped += 3) {
			rig_test_t t = {.plan = rig_plan(),
					.kernel = signals_after_add,
					.n_blocks = 1,
					.n_threads = 32,
					.arg = arg};

			t.plan.mapped = mapped;
			run_once(&t);
			run_schedules(&t, 10);
		}
}

/* An add to PE 2 is under way, too. */
static void signals_beside_another(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	if (shmemd_thread_index() == 0) {
		shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, ADDED), 1, 1);
		shmemd_atomic_add_u64(&p->ctx, word_of(&p->ctx, ADDED), 1, 2);
	}
	shmemd_group_sync(shmemd_block());
	send_signal(p, (int)p->arg, SHMEMD_SIGNAL_SET, 1);
}

static void look_not_flushed(void)
{
	CHECK_IS(*word_of(&rig_pes[1].ctx, SIGNAL), 1);
	CHECK_IS(rig_requests(0, 1, 0), 2); /* the add, and a READ that flushes it */
	CHECK_IS(rig_requests(0, 2, 0), 1);
}

static void others_are_not_waited_for(void **state)
{
	(void)state;
	for (uint64_t way = 0; way < N_WAYS; way++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = signals_beside_another,
				.n_blocks = 1,
				.n_threads = 32,
				.final_check = look_not_flushed,
				.arg = way};

		t.plan.n_pes = 3;
		t.plan.mapped = 7;
		run_once(&t);
	}
}

/* What was stored to any memory is covered, also if the fences before the doorbell have the scope
 * of this GPU. */
static void signals_by_nic(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0)
		send_signal(p, (int)p->arg, SHMEMD_SIGNAL_SET, 1);
}

static void look_fenced(void)
{
	/* The NIC stored it; no kernel has waited for it. */
	CHECK_IS(__atomic_load_n(word_of(&rig_pes[1].ctx, SIGNAL), __ATOMIC_ACQUIRE), 1);
	CHECK_IS(__atomic_load_n(&n_fences, __ATOMIC_RELAXED), 1);
}

static void stores_to_all_memory_are_covered(void **state)
{
	(void)state;
	for (uint64_t way = OF_GRID; way <= ALONE; way++) {
		rig_test_t t = {.plan = rig_plan(),
				.kernel = signals_by_nic,
				.n_blocks = 4,
				.n_threads = 32,
				.final_check = look_fenced,
				.arg = way};

		if (way == ALONE)
			t.n_blocks = 1;
		t.plan.flags = SHMEMD_CTX_NIC_GPU_SCOPE;
		__atomic_store_n(&n_fences, 0, __ATOMIC_RELAXED);
		run_once(&t);
	}
}

/* Each thread adds a word of the tile by NIC. Any thread of its warp may have stored to the word
 * before. */
static void adds_tile_by_nic(const void *params)
{
	SHMEMD_SHARED(uint64_t, 32, tile);
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	tile[shmemd_thread_index()] = 5;
	shmemd_add_tile_bulk_warp(&p->ctx, word_of(&p->ctx, TILE), tile, 32, SHMEMD_BULK_U64, 1);
}

static void look_added(void)
{
	for (uint32_t i = 0; i < 32; i++)
		CHECK_IS(__atomic_load_n(word_of(&rig_pes[1].ctx, TILE) + i, __ATOMIC_ACQUIRE), 5);
	CHECK_IS(__atomic_load_n(&n_fences, __ATOMIC_RELAXED), 32);
}

static void stores_are_before_tiles(void **state)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = adds_tile_by_nic,
			.n_blocks = 1,
			.n_threads = 32,
			.final_check = look_added};

	(void)state;
	t.plan.mapped = 3;
	t.plan.flags = SHMEMD_CTX_NIC_GPU_SCOPE;
	__atomic_store_n(&n_fences, 0, __ATOMIC_RELAXED);
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_signal_of_small_after_failure),
		cmocka_unit_test(no_signal_of_large_after_failure),
		cmocka_unit_test(no_signal_of_grid_after_failure),
		cmocka_unit_test(no_signal_alone_after_failure),
		cmocka_unit_test(signals_are_ordered),
		cmocka_unit_test(others_are_not_waited_for),
		cmocka_unit_test(stores_to_all_memory_are_covered),
		cmocka_unit_test(stores_are_before_tiles),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
