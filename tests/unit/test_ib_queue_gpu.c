/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues in GPU memory, or in host memory if that is not possible, on a fake driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <endian.h>
#include "fake_cuda.h"
#include "ib/ib.h"
#include "links_memory.h"
#include "mem/state.h"

static const shmemhi_cuda_t *one_gpu(int pe)
{
	(void)pe;
	my_device = 0;
	return &driver;
}

enum { OWNER = SHMEMHI_CU_RDMA_ORDERING_OWNER };

/* The requested and the actual place of queues, and the number of allocations: on the GPU (queues,
 * bounce buffers), and pinned (both if they are not on the GPU, producer words, records). */
static struct {
	int queue, doorbell, heap_kind;
	int is_gpu, n_gpu, n_pinned;
} gpu_row;

/* A READ returns into a bounce buffer, and a thread that has polled the CQE reads it: both must be
 * in one memory. */
static int are_bounces_registered(shmemh_t *job)
{
	const struct ibv_mr *mr = job->ib->queue_mem->bounce_mr;
	size_t nbytes = (size_t)N_CHANNELS * (size_t)job->n_pes * SHMEMD_BOUNCES_NBYTES;

	PE_CHECK(mr && job->ib->bounce_keys[0] == htobe32(mr->lkey));
	PE_CHECK(mr->addr == job->ib->bounces && mr->length >= nbytes);
	return 0;
}

static int pe_gpu_memory(shmemh_t *job)
{
	int n_pinned = n_blocks, n_gpu = n_live;
	int has_flag = gpu_row.is_gpu && gpu_row.doorbell != WORD_CPU;
	int is_split = !gpu_row.is_gpu && gpu_row.heap_kind == SHMEMH_HEAP_GPU;
	int has_dumps = gpu_row.heap_kind == SHMEMH_HEAP_GPU && (is_split || rdma_ordering < OWNER);

	if (plug_in(job))
		return 1;
	job->opt.ib_queue = gpu_row.queue;
	job->opt.ib_doorbell = gpu_row.doorbell;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(job->ib->has_gpu_queues == gpu_row.is_gpu);
	PE_CHECK(!!(shmemhi_ib_ctx_flags(job) & SHMEMD_CTX_NIC_GPU_SCOPE) == has_flag);
	PE_CHECK(!!(shmemhi_ib_ctx_flags(job) & SHMEMD_CTX_DUMP_AFTER_READ) == has_dumps);
	PE_CHECK(shmemhi_ib_warn_of_order(job) ==
		 (gpu_row.heap_kind == SHMEMH_HEAP_GPU && rdma_ordering < OWNER));
	PE_CHECK(n_blocks == n_pinned + gpu_row.n_pinned && n_live == n_gpu + gpu_row.n_gpu);
	if (are_bounces_registered(job))
		return 1;
	for (int i = 0; i < N_CHANNELS; i++)
		if (is_fresh(job, &job->ib->links[i]) || is_aligned(job, &job->ib->links[i]))
			return 1;
	if (unplug(job))
		return 1;
	PE_CHECK(n_blocks == n_pinned && n_live == n_gpu && wrong == 0);
	return 0;
}

static void queues_are_in_the_requested_memory(void **state)
{
	static const struct {
		int queue, doorbell, heap_kind;
		int is_gpu, n_gpu, n_pinned;
	} rows[] = {
		{WORD_AUTO, WORD_AUTO, SHMEMH_HEAP_GPU, 1, 2, 0},
		{WORD_AUTO, WORD_CPU, SHMEMH_HEAP_GPU, 1, 2, 2},
		{WORD_AUTO, WORD_AUTO, SHMEMH_HEAP_HOST, 0, 0, 2},
		{WORD_GPU, WORD_AUTO, SHMEMH_HEAP_GPU, 1, 2, 0},
		{WORD_HOST, WORD_AUTO, SHMEMH_HEAP_GPU, 0, 0, 2},
		{WORD_HOST, WORD_CPU, SHMEMH_HEAP_GPU, 0, 0, 3},
	};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof rows / sizeof rows[0]; i++) {
		world_kind_t kind = {
			.n_pes = 1, .cuda = one_gpu, .heap_kind = rows[i / 2].heap_kind};

		memcpy(&gpu_row, &rows[i / 2], sizeof gpu_row);
		rdma_ordering = i % 2 ? OWNER : 0;
		start_adapters(MLX5SW_ETHERNET, 1);
		assert_int_equal(run_world(&kind, pe_gpu_memory), 0);
		stop_adapters();
		assert_int_equal(n_ranges, 0);
	}
}

static struct mlx5dv_devx_umem *no_umem(struct ibv_context *context, void *ptr, size_t nbytes,
					uint32_t access)
{
	(void)context;
	(void)ptr;
	(void)nbytes;
	(void)access;
	errno = ENOMEM;
	return NULL;
}

/* A function of CUDA 11.7's driver, found by name in the program itself. */
static int n_dmabufs;
__attribute__((visibility("default"))) int cuMemGetHandleForAddressRange(int *fd,
									 shmemhi_cu_ptr_t ptr,
									 size_t nbytes, int type,
									 unsigned long long flags);

int cuMemGetHandleForAddressRange(int *fd, shmemhi_cu_ptr_t ptr, size_t nbytes, int type,
				  unsigned long long flags)
{
	EXPECT(ptr % 4096 == 0 && nbytes % 4096 == 0 && type == 1 && flags == 0 && depth > 0);
	n_dmabufs++;
	*fd = memfd_create("dmabuf", MFD_CLOEXEC);
	return 0;
}

/* Not registered by the address if there is a dma-buf. */
static int pe_dmabuf(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->mem->cuctx->cuda.library = dlopen(NULL, RTLD_NOW);
	job->ib->lib.umem_reg = no_umem;
	n_dmabufs = 0;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(job->ib->has_gpu_queues && n_dmabufs == 2); /* queues, bounce buffers */
	if (unplug(job))
		return 1;
	PE_CHECK(wrong == 0);
	return 0;
}

/* A libmlx5 that cannot register queues by a dma-buf: they are registered by address. */
static int pe_old_library(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->mem->cuctx->cuda.library = dlopen(NULL, RTLD_NOW);
	job->ib->lib.umem_reg_ex = NULL;
	n_dmabufs = 0;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(job->ib->has_gpu_queues && n_dmabufs == 1); /* bounce buffers */
	shmemhi_links_close(job, job->ib);
	job->ib->lib.umem_reg = no_umem;
	job->opt.ib_queue = WORD_GPU;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_OPTION);
	PE_CHECK(has_text(job,
			  "by dma-buf: libmlx5 has no mlx5dv_devx_umem_reg_ex: use rdma-core 43 "
			  "or newer; by mlx5dv_devx_umem_reg: Cannot allocate memory"));
	return unplug(job);
}

static void gpu_queues_are_registered_by_dmabuf(void **state)
{
	const world_kind_t kind = {.n_pes = 1, .cuda = one_gpu};

	(void)state;
	start_adapters(MLX5SW_ETHERNET, 1);
	assert_int_equal(run_world(&kind, pe_dmabuf), 0);
	assert_int_equal(run_world(&kind, pe_old_library), 0);
	stop_adapters();
	assert_int_equal(n_ranges, 0);
}

/* The NIC cannot register GPU memory. */
static shmemhi_ib_lib_t whole;

static struct mlx5dv_devx_umem *no_gpu_umem(struct ibv_context *context, void *ptr, size_t nbytes,
					    uint32_t access)
{
	if (n_live) {
		errno = EFAULT;
		return NULL;
	}
	return whole.umem_reg(context, ptr, nbytes, access);
}

static int pe_not_on_gpu(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	whole = job->ib->lib;
	job->ib->lib.umem_reg = no_gpu_umem;
	job->opt.ib_queue = WORD_GPU;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_OPTION);
	PE_CHECK(has_text(job, "SHMEMH_IB_QUEUE=gpu: mlx5_0 cannot have queues in memory of the "
			       "GPU: by dma-buf: the CUDA driver is older than 11.7; by "
			       "mlx5dv_devx_umem_reg: Bad address: set SHMEMH_IB_QUEUE=host"));
	PE_CHECK(n_live == 0 && n_ranges == 1);
	job->err.text[0] = '\0';
	job->opt.ib_queue = WORD_AUTO;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(!job->ib->has_gpu_queues && job->err.text[0] == '\0');
	PE_CHECK(n_live == 0 && n_ranges == 1);
	if (is_fresh(job, &job->ib->links[0]))
		return 1;
	return unplug(job);
}

/* If bounce buffers cannot be on the GPU, neither are the queues. */
static struct ibv_mr *no_gpu_mr(struct ibv_pd *pd, void *ptr, size_t nbytes, int access)
{
	if (n_live) {
		errno = EFAULT;
		return NULL;
	}
	return whole.reg_mr(pd, ptr, nbytes, access);
}

static int pe_no_bounces_on_gpu(shmemh_t *job)
{
	int n_gpu = n_live, n_pinned = n_blocks;

	if (plug_in(job))
		return 1;
	whole = job->ib->lib;
	job->ib->lib.reg_mr = no_gpu_mr;
	job->opt.ib_queue = WORD_GPU;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_OPTION);
	PE_CHECK(has_text(job, "bounce buffers: by dma-buf: the CUDA driver is older than 11.7; by "
			       "ibv_reg_mr: Bad address: set SHMEMH_IB_QUEUE=host"));
	PE_CHECK(n_live == n_gpu && n_blocks == n_pinned);
	job->err.text[0] = '\0';
	job->opt.ib_queue = WORD_AUTO;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(!job->ib->has_gpu_queues && n_live == n_gpu && n_blocks == n_pinned + 2);
	if (are_bounces_registered(job))
		return 1;
	return unplug(job);
}

static int pe_no_gpu_heap(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->opt.ib_queue = WORD_GPU;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_OPTION);
	PE_CHECK(has_text(job, "SHMEMH_IB_QUEUE=gpu: the heap is in host memory"));
	return unplug(job);
}

static void queues_that_cannot_be_on_a_gpu(void **state)
{
	world_kind_t kind = {.n_pes = 1, .cuda = one_gpu};

	(void)state;
	start_adapters(MLX5SW_ETHERNET, 1);
	assert_int_equal(run_world(&kind, pe_not_on_gpu), 0);
	assert_int_equal(run_world(&kind, pe_no_bounces_on_gpu), 0);
	kind.heap_kind = SHMEMH_HEAP_HOST;
	assert_int_equal(run_world(&kind, pe_no_gpu_heap), 0);
	stop_adapters();
	with_adapters(MLX5SW_ETHERNET, 1, pe_no_gpu_heap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_are_in_the_requested_memory),
		cmocka_unit_test(gpu_queues_are_registered_by_dmabuf),
		cmocka_unit_test(queues_that_cannot_be_on_a_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
