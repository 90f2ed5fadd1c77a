/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue memory of earlier paths (ib/slots.c), and the CQEs in it (ib/endpoint.c). No NIC, no GPU:
 * the functions that query a queue pair and read GPU memory are replaced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cuda/ctx.h"
#include "ib/failover.h"
#include "ib/prm.h"
#include "mem/state.h"

static struct shmemhi_mem mem;
static shmemh_t job = {.mem = &mem};
static shmemhi_ib_t ib;
static shmemhi_failover_t failover = {.job = &job, .ib = &ib};

/* A slot is looked at before the channel's index has gone so far that the comparison with `retired`
 * turns round. */
static void slot_of_a_busy_channel(void **state)
{
	shmemhi_slot_block_t *block = calloc(1, sizeof *block + sizeof block->slots[0]);
	shmemd_channel_t channel = {.ready = SHMEMD_READY_WORD(99, 0, 0)};

	(void)state;
	assert_non_null(block);
	block->n_slots = 1;
	block->slots[0] = (shmemhi_slot_t){.channel = &channel, .retired = 100};
	failover.blocks = block;
	shmemhi_slots_reclaim(&failover);
	assert_false(shmemhi_slots_have_one(&failover));
	channel.ready = SHMEMD_READY_WORD(101, 0, 0);
	shmemhi_slots_reclaim(&failover);
	channel.ready = SHMEMD_READY_WORD(0x80000100, 0, 0);
	assert_true(shmemhi_slots_have_one(&failover));
	free(block);
	failover.blocks = NULL;
}

static int query_drained(struct mlx5dv_devx_obj *obj, const void *in, size_t in_nbytes, void *out,
			 size_t out_nbytes)
{
	(void)obj, (void)in, (void)in_nbytes, (void)out_nbytes;
	shmemhi_prm_put(out, SHMEMHI_QPC_HW_SQ_WQEBB_COUNTER, 3);
	shmemhi_prm_put(out, SHMEMHI_QPC_SW_SQ_WQEBB_COUNTER, 3);
	return 0;
}

static shmemhi_cu_result_t no_context(shmemhi_cu_context_t context)
{
	(void)context;
	return 2;
}

static shmemhi_cu_result_t name_of_error(shmemhi_cu_result_t error, const char **name)
{
	(void)error;
	*name = "CUDA_ERROR_INVALID_CONTEXT";
	return 0;
}

/* CQEs that cannot be read are not taken for CQEs that are missing: a request that the responder
 * refused might be among them, and would be repeated on the next path. */
static void queue_that_cannot_be_read(void **state)
{
	shmemhi_cuctx_t cuctx = {
		.cuda = {.ctx_push_current = no_context, .get_error_name = name_of_error}};
	shmemhi_endpoint_t e = {.link = &e.own, .drain_since = 1}; /* long ago */
	uint32_t refused;

	(void)state;
	mem.cuctx = &cuctx;
	ib.depth = SHMEMD_MIN_DEPTH;
	ib.has_gpu_queues = 1;
	ib.lib.obj_query = query_drained;
	assert_int_equal(shmemhi_endpoint_is_drained(&failover, &e, &refused), -1);
	mem.cuctx = NULL;
	ib.has_gpu_queues = 0;
}

/* ---- memory ---- */

static int n_allocated, n_freed, n_before_failure;

static shmemhi_cu_result_t enter(shmemhi_cu_context_t context)
{
	(void)context;
	return 0;
}

static shmemhi_cu_result_t leave(shmemhi_cu_context_t *context)
{
	(void)context;
	return 0;
}

static shmemhi_cu_result_t exchange_mode(int *mode)
{
	(void)mode;
	return 0;
}

static shmemhi_cu_result_t alloc_some(void **ptr, size_t nbytes, unsigned flags)
{
	(void)flags;
	if (n_before_failure-- == 0)
		return 2;
	*ptr = malloc(nbytes);
	n_allocated++;
	return *ptr ? 0 : 2;
}

static shmemhi_cu_result_t release(void *ptr)
{
	free(ptr);
	n_freed++;
	return 0;
}

/* There is memory for queues, but none for the words of the CPU doorbell proxy. What was allocated
 * is released: the agent tries again and again. */
static void block_that_is_half_made(void **state)
{
	shmemhi_cuctx_t cuctx = {.cuda = {.ctx_push_current = enter,
					  .ctx_pop_current = leave,
					  .exchange_capture_mode = exchange_mode,
					  .get_error_name = name_of_error,
					  .mem_host_alloc = alloc_some,
					  .mem_free_host = release}};
	shmemhi_queue_mem_t queue_mem = {0};
	shmemhi_link_t first = {0}; /* without a doorbell: the proxy rings */

	(void)state;
	mem.cuctx = &cuctx;
	ib.depth = SHMEMD_MIN_DEPTH;
	ib.queue_mem = &queue_mem;
	ib.links = &first;
	for (int i = 1; i <= 3; i++) {
		n_before_failure = 1;
		failover.err.text[0] = '\0';
		assert_null(shmemhi_slot_take(&failover, 0));
		assert_string_not_equal(failover.err.text, "");
		assert_null(failover.blocks);
		assert_int_equal(n_allocated, i);
		assert_int_equal(n_freed, i);
	}
	mem.cuctx = NULL;
	ib.queue_mem = NULL;
	ib.links = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slot_of_a_busy_channel),
		cmocka_unit_test(queue_that_cannot_be_read),
		cmocka_unit_test(block_that_is_half_made),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
