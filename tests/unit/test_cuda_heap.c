/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The GPU backend on a fake driver. tests/gpu covers what a fake driver cannot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fake_cuda.h"
#include "mem_faults.h"
#include "mem_job.h"

/* One device per PE, or one for all. */
static const shmemhi_cuda_t *own_gpu(int pe)
{
	my_device = pe;
	return &driver;
}

static const shmemhi_cuda_t *one_gpu(int pe)
{
	(void)pe;
	my_device = 0;
	return &driver;
}

static int pe_gpu(shmemh_t *job)
{
	enum { N = 3 };
	static const size_t sizes[N] = {1000, 3u << 20, 9u << 20};
	shmemh_heap_info_t info = {.size = sizeof info};
	char all[MAX_PES], mine = 0, back[8];
	void *p[N], *dev = NULL, *pinned = NULL, *too_big = NULL;

	for (int i = 0; i < N; i++) {
		PE_CHECK(shmemh_calloc(job, 1, sizes[i], &p[i]) == SHMEMH_OK);
		for (int pe = 0; pe < job->n_pes; pe++)
			((int *)shmemh_ptr(job, p[i], pe))[job->pe] += 10 * job->pe + pe + 1;
		PE_CHECK(shmemhi_allgather(job, &mine, all, 1) == SHMEMH_OK);
		for (int pe = 0; pe < job->n_pes; pe++)
			PE_CHECK(((int *)p[i])[pe] == 10 * pe + job->pe + 1);
	}
	shmemh_heap_info(job, &info);
	PE_CHECK(info.kind == SHMEMH_HEAP_GPU && info.reserved == FAKE_MEMORY);
	PE_CHECK(info.committed % FAKE_GRANULARITY == 0);
	PE_CHECK(shmemh_malloc(job, FAKE_MEMORY - (20u << 20), &too_big) == SHMEMH_ERR_NO_MEMORY);
	PE_CHECK(strstr(job->err.text, "cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY"));
	PE_CHECK(shmemhi_dev_alloc(job, 64, &dev) == SHMEMH_OK);
	PE_CHECK(shmemhi_pinned_alloc(job, 64, &pinned, &job->err) == SHMEMH_OK);
	for (int i = 0; i < 64; i++)
		PE_CHECK(((char *)dev)[i] == 0 && ((char *)pinned)[i] == 0);
	PE_CHECK(shmemhi_dev_write(job, dev, "abc", 4) == SHMEMH_OK);
	PE_CHECK(strcmp(dev, "abc") == 0);
	PE_CHECK(shmemhi_dev_read(job, back, dev, 8, &job->err) == SHMEMH_OK &&
		 strcmp(back, "abc") == 0);
	shmemhi_dev_free(job, dev);
	shmemhi_pinned_free(job, pinned);
	PE_CHECK(depth == 0);
	for (int pe = 0; pe < job->n_pes; pe++) {
		int same = job->mem->ids[pe].device == my_device;

		PE_CHECK(shmemhi_mem_same_gpu(job, pe) == same);
		PE_CHECK(shmemhi_mem_has_atomics(job, pe) == (same || p2p_atomic));
	}
	return 0;
}

static void expect_clean(void)
{
	assert_int_equal(wrong, 0);
	assert_int_equal(n_live, 0);
	assert_int_equal(n_ranges, 0);
	assert_int_equal(n_maps, 0);
	assert_int_equal(n_blocks, 0);
	assert_int_equal(n_registered, 0);
}

static world_kind_t gpu_world(int n, int sockets)
{
	return (world_kind_t){.n_pes = n, .sockets = sockets, .cuda = own_gpu, .default_max = 1};
}

static void test_gpu(void **state)
{
	(void)state;
	for (int n = 1; n <= 4; n *= 2)
		for (int sockets = 0; sockets <= 1; sockets++) {
			world_kind_t kind = gpu_world(n, sockets);

			assert_int_equal(run_world(&kind, pe_gpu), 0);
			kind.cuda = one_gpu;
			assert_int_equal(run_world(&kind, pe_gpu), 0);
			expect_clean();
		}
}

static void test_slow_atomics(void **state)
{
	world_kind_t kind = gpu_world(2, 1);

	(void)state;
	p2p_atomic = 0;
	assert_int_equal(run_world(&kind, pe_gpu), 0);
	p2p_atomic = 1;
	expect_clean();
}

static int pe_invisible(shmemh_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		PE_CHECK(shmemhi_mem_is_mapped(job, pe));
		PE_CHECK(shmemhi_mem_has_atomics(job, pe) == (pe == job->pe));
	}
	return 0;
}

static void test_invisible(void **state)
{
	world_kind_t kind = gpu_world(2, 1);

	(void)state;
	visible = 0;
	assert_int_equal(run_world(&kind, pe_invisible), 0);
	visible = 4;
	expect_clean();
}

static int pe_apart(shmemh_t *job)
{
	void *p = NULL;

	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK((shmemh_ptr(job, p, pe) != NULL) == (pe == job->pe));
	return 0;
}

static void test_no_peer_access(void **state)
{
	(void)state;
	p2p_access = 0;
	for (int sockets = 0; sockets <= 1; sockets++) {
		world_kind_t kind = gpu_world(2, sockets);

		assert_int_equal(run_world(&kind, pe_apart), 0);
	}
	p2p_access = 1;
	expect_clean();
}

/* PE 0 cannot map the memory of PE 2, though PE 2 could map PE 0's: both must use the same result.
 */
static void break_one(shmemh_t *job)
{
	static faults_t per_pe[MAX_PES]; /* must outlive a failed check */

	inject(job, &per_pe[job->pe]);
	if (job->pe == 0)
		per_pe[0].import = 2;
}

static int pe_all_but_2(shmemh_t *job)
{
	void *p = NULL;

	for (int pe = 0; pe < job->n_pes; pe++) {
		int mapped = (pe == 2) == (job->pe == 2);

		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == mapped);
		PE_CHECK((job->mem->peers[pe].conn >= 0) == (mapped && pe != job->pe));
	}
	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK);
	job->mem->backend = faults_of(job->mem)->real;
	return 0;
}

static void test_one_way(void **state)
{
	world_kind_t kind = gpu_world(4, 1);

	(void)state;
	kind.before_node = break_one;
	assert_int_equal(run_world(&kind, pe_all_but_2), 0);
	expect_clean();
}

static int pe_denied(shmemh_t *job)
{
	void *p = job;

	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_ERR_CUDA && p == NULL);
	PE_CHECK(strstr(job->err.text, "cuMemSetAccess failed: CUDA_ERROR_FAKE (999)"));
	return 0;
}

static void deny(shmemh_t *job)
{
	(void)job;
	fail_set_access = 0;
}

static void test_denied(void **state)
{
	world_kind_t kind = gpu_world(1, 0);

	(void)state;
	kind.before_node = deny;
	assert_int_equal(run_world(&kind, pe_denied), 0);
	fail_set_access = -1;
	expect_clean();
}

/* Host memory with a GPU: registered, and atomic between GPUs only over a native link. */
static int pe_host(shmemh_t *job)
{
	void *p = NULL;
	int remote = job->n_pes > 1 && !job->mem->peers[!job->pe].in_process;

	PE_CHECK(job->mem->backend->kind == SHMEMH_HEAP_HOST);
	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_mem_has_atomics(job, pe) == (pe == job->pe || host_native_atomic));
	PE_CHECK(job->mem->cuctx && n_registered >= (remote ? job->n_pes : 1));
	char all[MAX_PES], mine = 0;
	PE_CHECK(shmemhi_allgather(job, &mine, all, 1) == SHMEMH_OK);
	return 0;
}

static void test_host(void **state)
{
	(void)state;
	for (host_native_atomic = 0; host_native_atomic <= 1; host_native_atomic++)
		for (int sockets = 0; sockets <= 1; sockets++) {
			world_kind_t kind = gpu_world(2, sockets);

			kind.heap_kind = SHMEMH_HEAP_HOST;
			assert_int_equal(run_world(&kind, pe_host), 0);
			expect_clean();
		}
	host_native_atomic = 0;
}

/* --- choice of the heap --------------------------------------------------------------------- */

static int open_and_close(int attr_kind, int option, const shmemhi_cuda_t *cuda, int *kind,
			  char *text)
{
	world_t *w = calloc(1, sizeof *w);
	pe_boot_t boot = {w, 0};
	world_kind_t one = {.n_pes = 1};
	shmemh_t *job = bare_job(&one, &boot);
	int status;

	w->n_pes = 1;
	job->attr.heap_kind = attr_kind;
	job->opt.heap_kind = option;
	status = shmemhi_mem_open_with(job, cuda);
	if (status == SHMEMH_OK)
		*kind = job->mem->backend->kind;
	strcpy(text, job->err.text);
	shmemhi_mem_close(job);
	free_job(job);
	free(w);
	return status;
}

static void test_choice(void **state)
{
	char text[SHMEMHI_ERR_NBYTES];
	int kind = -1;

	(void)state;
	my_device = 0;
	for (no_context = 0; no_context <= 2; no_context++) {
		int natural = no_context ? SHMEMH_HEAP_HOST : SHMEMH_HEAP_GPU;

		assert_int_equal(open_and_close(0, 0, &driver, &kind, text), SHMEMH_OK);
		assert_int_equal(kind, natural);
		/* The attribute wins over the option, unless it is AUTO. */
		assert_int_equal(
			open_and_close(SHMEMH_HEAP_HOST, SHMEMH_HEAP_GPU, &driver, &kind, text),
			SHMEMH_OK);
		assert_int_equal(kind, SHMEMH_HEAP_HOST);
		assert_int_equal(open_and_close(0, SHMEMH_HEAP_HOST, &driver, &kind, text),
				 SHMEMH_OK);
		assert_int_equal(kind, SHMEMH_HEAP_HOST);
		assert_int_equal(
			open_and_close(SHMEMH_HEAP_GPU, SHMEMH_HEAP_HOST, &driver, &kind, text),
			no_context ? SHMEMH_ERR_CUDA : SHMEMH_OK);
		if (no_context)
			assert_non_null(strstr(text, "call cudaSetDevice before shmemh_init"));
	}
	no_context = 0;
	assert_int_equal(open_and_close(SHMEMH_HEAP_GPU, 0, NULL, &kind, text), SHMEMH_ERR_CUDA);
	assert_non_null(strstr(text, "cudaSetDevice"));
	expect_clean();
}

/* The stack is reserved when a job is opened, and a larger one is left alone. What another thread
 * captures does not matter while it is made, and the thread's own mode is as before afterwards. */
static void test_stack(void **state)
{
	char text[SHMEMHI_ERR_NBYTES];
	int kind;

	(void)state;
	my_device = 0;
	capture_mode = 1;
	assert_int_equal(open_and_close(0, 0, &driver, &kind, text), SHMEMH_OK);
	assert_int_equal(stack_nbytes, 2048);
	stack_nbytes = 4096;
	assert_int_equal(open_and_close(SHMEMH_HEAP_HOST, 0, &driver, &kind, text), SHMEMH_OK);
	assert_int_equal(stack_nbytes, 4096);
	assert_int_equal(capture_mode, 1);
	stack_nbytes = 1024;
	fail_set_limit = 1;
	assert_int_equal(open_and_close(0, 0, &driver, &kind, text), SHMEMH_ERR_NO_MEMORY);
	assert_non_null(strstr(text, "cuCtxSetLimit"));
	fail_set_limit = capture_mode = 0;
	expect_clean();
}

static const shmemhi_cuda_t *gpu_of_pe_0(int pe)
{
	return pe == 0 ? own_gpu(pe) : NULL;
}

static void test_mixed(void **state)
{
	world_kind_t kind = gpu_world(2, 0);

	(void)state;
	kind.cuda = gpu_of_pe_0;
	kind.mem_status = SHMEMH_ERR_MISMATCH;
	assert_int_equal(run_world(&kind, pe_host), 0);
	kind.heap_kind = SHMEMH_HEAP_GPU;
	kind.mem_status = SHMEMH_ERR_CUDA;
	assert_int_equal(run_world(&kind, pe_host), 0);
	expect_clean();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu),       cmocka_unit_test(test_slow_atomics),
		cmocka_unit_test(test_invisible), cmocka_unit_test(test_no_peer_access),
		cmocka_unit_test(test_one_way),   cmocka_unit_test(test_denied),
		cmocka_unit_test(test_host),      cmocka_unit_test(test_choice),
		cmocka_unit_test(test_stack),     cmocka_unit_test(test_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
