/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Memory of the queue pair for flushes, if its NIC refuses to destroy it (ib/flush.c). No NIC. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "ib/failover.h"

#define NBYTES ((size_t)1 << 16)
#define UNTOUCHED 0xff /* also what a CQE is before the NIC writes it */
#define QP ((struct mlx5dv_devx_obj *)0x1000)
#define CQ ((struct mlx5dv_devx_obj *)0x2000)

static shmemh_t job;
static shmemhi_ib_t ib;
static shmemhi_failover_t failover;
static shmemhi_open_port_t port = {.name = "mlx5_0", .number = 1};
static shmemhi_flusher_t *const flusher = &failover.ports[0].flusher;
static char *memory;
static struct mlx5dv_devx_obj *refused; /* the object that the NIC does not destroy */
static int umem_is_kept, mr_is_kept;

static int destroy(struct mlx5dv_devx_obj *obj)
{
	return obj == refused ? EIO : 0;
}

static struct mlx5dv_devx_obj *no_obj(struct ibv_context *context, const void *in, size_t in_nbytes,
				      void *out, size_t out_nbytes)
{
	(void)context, (void)in, (void)in_nbytes, (void)out, (void)out_nbytes;
	errno = EIO;
	return NULL;
}

static int dereg_umem(struct mlx5dv_devx_umem *umem)
{
	(void)umem;
	return umem_is_kept ? EIO : 0;
}

static int dereg_mr(struct ibv_mr *mr)
{
	(void)mr;
	return mr_is_kept ? EIO : 0;
}

static int setup(void **state)
{
	static struct mlx5dv_devx_umem umem;
	static struct mlx5dv_devx_uar uar;
	static struct ibv_mr mr;

	(void)state;
	memset(&failover, 0, sizeof failover);
	refused = NULL;
	umem_is_kept = mr_is_kept = 0;
	memory = aligned_alloc(4096, NBYTES);
	assert_non_null(memory);
	memset(memory, UNTOUCHED, NBYTES);
	ib.lib.obj_destroy = destroy;
	ib.lib.obj_create = no_obj;
	ib.lib.umem_dereg = dereg_umem;
	ib.lib.dereg_mr = dereg_mr;
	failover.job = &job;
	failover.ib = &ib;
	failover.ports[0].open = &port;
	/* For READs; the port is down, so a flush makes it again for DUMPs. */
	*flusher = (shmemhi_flusher_t){.memory = memory, .umem = &umem, .mr = &mr};
	flusher->link.port = &port;
	flusher->link.uar = &uar;
	flusher->link.qp = QP;
	flusher->link.cq = CQ;
	flusher->mem =
		(shmemhi_link_mem_t){.queue = &umem, .records = &umem, .depth = SHMEMD_MIN_DEPTH};
	return 0;
}

/* The NIC may still write CQEs of the old queue. In the memory of a new one they would count. */
static void not_used_again(void **state)
{
	shmemhi_endpoint_t e = {0};

	(void)state;
	refused = QP;
	assert_int_equal(shmemhi_flush(&failover, &e), -1);
	refused = CQ;
	assert_int_equal(shmemhi_flush(&failover, &e), -1);
	for (size_t i = 0; i < NBYTES; i++)
		assert_int_equal((uint8_t)memory[i], UNTOUCHED);

	/* Destroyed at last. The NIC makes no other one, and the next attempt destroys nothing. */
	refused = NULL;
	assert_int_equal(shmemhi_flush(&failover, &e), -1);
	assert_int_equal(memory[0], 0);
	refused = QP;
	memory[0] = 1;
	assert_int_equal(shmemhi_flush(&failover, &e), -1);
	assert_int_equal(memory[0], 0);
	shmemhi_flusher_close(&failover, 0);
}

/* A second free of the memory would end the program. */
static void not_freed(void **state)
{
	(void)state;
	shmemhi_flusher_close(&failover, 0);
	assert_null(flusher->memory);
	for (size_t i = 0; i < NBYTES; i++)
		assert_int_equal((uint8_t)memory[i], UNTOUCHED);
	free(memory);
}

static void not_freed_if_the_queue_pair_is_left(void **state)
{
	refused = QP;
	not_freed(state);
}

static void not_freed_if_the_cq_is_left(void **state)
{
	refused = CQ;
	not_freed(state);
}

static void not_freed_if_the_queue_is_registered(void **state)
{
	umem_is_kept = 1;
	not_freed(state);
}

static void not_freed_if_the_page_is_registered(void **state)
{
	mr_is_kept = 1;
	not_freed(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(not_used_again, setup),
		cmocka_unit_test_setup(not_freed_if_the_queue_pair_is_left, setup),
		cmocka_unit_test_setup(not_freed_if_the_cq_is_left, setup),
		cmocka_unit_test_setup(not_freed_if_the_queue_is_registered, setup),
		cmocka_unit_test_setup(not_freed_if_the_page_is_registered, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
