/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The symmetric heap on real GPUs: PEs as processes and as threads, on all GPUs and on one. Data
 * that one PE copies into another PE's memory arrives there, also in heap chunks that were added
 * later. Needs the CUDA runtime and the runtime's static objects.
 *
 *     test_heap_gpu [PEs]     default: one per GPU, at least 2, at most 4 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cuda_runtime_api.h>
#include <shmem_host/shmem_host.h>
#include "mem/mem.h"

#define MAX_PES 8
#define SKIPPED 77

/* The parameters of a PE: the same on all of them, except pe. */
typedef struct pe_start {
	shmemh_uniqueid_t id;
	int pe;
	int n_pes;
	int one_gpu;
	int heap_kind;
	int result;
} pe_start_t;

#define TRY(cond)                                                                                  \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: PE %d: failed: %s [%s] cuda: %s\n", __FILE__, __LINE__,     \
			       s->pe, #cond, shmemh_error_text(job),                               \
			       cudaGetErrorString(cudaPeekAtLastError()));                         \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

/* Copy a word into every PE's memory at words[own], then check what the others wrote here and what
 * is there. */
static int exchange(const pe_start_t *s, shmemh_t *job, uint64_t *words, uint64_t salt)
{
	for (int pe = 0; pe < s->n_pes; pe++) {
		uint64_t word = salt + (uint64_t)s->pe * 100 + (uint64_t)pe;
		uint64_t *theirs = shmemh_ptr(job, words, pe);

		TRY(theirs != NULL);
		TRY(cudaMemcpy(theirs + s->pe, &word, sizeof word, cudaMemcpyDefault) == 0);
	}
	TRY(cudaDeviceSynchronize() == 0 && shmemh_barrier(job) == SHMEMH_OK);
	for (int pe = 0; pe < s->n_pes; pe++) {
		uint64_t here = 0, there = 0;
		const uint64_t *theirs = shmemh_ptr(job, words, pe);

		TRY(cudaMemcpy(&here, words + pe, sizeof here, cudaMemcpyDefault) == 0);
		TRY(cudaMemcpy(&there, theirs + s->pe, sizeof there, cudaMemcpyDefault) == 0);
		TRY(here == salt + (uint64_t)pe * 100 + (uint64_t)s->pe);
		TRY(there == salt + (uint64_t)s->pe * 100 + (uint64_t)pe);
	}
	TRY(shmemh_barrier(job) == SHMEMH_OK);
	return 0;
}

/* Allocations that need their own heap chunks; the ends of all of them are used. */
static int grow(const pe_start_t *s, shmemh_t *job)
{
	enum { N = 5 };
	static const size_t sizes[N] = {4096, 3u << 20, 100u << 20, 512, 300u << 20};
	void *ptrs[N];
	shmemh_heap_info_t info = {.size = sizeof info};

	for (int i = 0; i < N; i++) {
		TRY(shmemh_calloc(job, 1, sizes[i], &ptrs[i]) == SHMEMH_OK);
		for (int k = 0; k <= i; k++)
			if (exchange(s, job, (uint64_t *)((char *)ptrs[k] + sizes[k]) - MAX_PES,
				     1000u * (unsigned)i))
				return 1;
	}
	TRY(shmemh_heap_info(job, &info) == SHMEMH_OK);
	TRY(info.kind == s->heap_kind && info.committed >= info.used);
	if (s->pe == 0)
		printf("  reserved %.1f GiB, committed %.1f MiB, atomics", info.reserved / 0x1p30,
		       info.committed / 0x1p20);
	for (int pe = 0; s->pe == 0 && pe < s->n_pes; pe++)
		printf(" %d%s", shmemhi_mem_has_atomics(job, pe),
		       shmemhi_mem_same_gpu(job, pe) ? "(same GPU)" : "");
	if (s->pe == 0)
		printf("\n");
	for (int i = 0; i < N; i++)
		TRY(shmemh_free(job, ptrs[i]) == SHMEMH_OK);
	return 0;
}

/* More memory than the device has: an error on all PEs, and the heap still works. */
static int exhaust(const pe_start_t *s, shmemh_t *job)
{
	shmemh_heap_info_t before = {.size = sizeof before}, after = {.size = sizeof after};
	void *p = job;
	uint64_t *words = NULL;

	TRY(shmemh_heap_info(job, &before) == SHMEMH_OK);
	TRY(shmemh_malloc(job, before.reserved - (4u << 20), &p) == SHMEMH_ERR_NO_MEMORY && !p);
	if (s->pe == 0)
		printf("  as it must: %s\n", shmemh_error_text(job));
	TRY(shmemh_heap_info(job, &after) == SHMEMH_OK);
	TRY(before.committed == after.committed && before.used == after.used);
	TRY(shmemh_malloc(job, 4096, (void **)&words) == SHMEMH_OK);
	return exchange(s, job, words, 77);
}

static int local_memory(const pe_start_t *s, shmemh_t *job)
{
	uint64_t word = 5, back = 1, *dev = NULL, *pinned = NULL;

	TRY(shmemhi_dev_alloc(job, sizeof word, (void **)&dev) == SHMEMH_OK);
	TRY(shmemhi_pinned_alloc(job, sizeof word, (void **)&pinned, &job->err) == SHMEMH_OK);
	TRY(cudaMemcpy(&back, dev, sizeof back, cudaMemcpyDefault) == 0 && back == 0);
	TRY(shmemhi_dev_write(job, dev, &word, sizeof word) == SHMEMH_OK);
	TRY(*pinned == 0);
	TRY(cudaMemcpy(pinned, dev, sizeof word, cudaMemcpyDefault) == 0 && *pinned == 5);
	shmemhi_dev_free(job, dev);
	shmemhi_pinned_free(job, pinned);
	return 0;
}

static int use_job(const pe_start_t *s, shmemh_t *job)
{
	if (grow(s, job) || local_memory(s, job))
		return 1;
	return s->heap_kind == SHMEMH_HEAP_GPU ? exhaust(s, job) : 0;
}

static int run_pe(const pe_start_t *s)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job = NULL;
	int n_gpus = 0;

	if (cudaGetDeviceCount(&n_gpus) != cudaSuccess || n_gpus == 0)
		return SKIPPED;
	/* cudaFree creates the context where cudaSetDevice does not yet (CUDA 11). */
	TRY(cudaSetDevice(s->one_gpu ? 0 : s->pe % n_gpus) == 0 && cudaFree(NULL) == 0);
	attr.heap_kind = s->heap_kind == SHMEMH_HEAP_GPU ? SHMEMH_HEAP_AUTO : s->heap_kind;
	attr.pe = s->pe;
	attr.n_pes = s->n_pes;
	attr.uniqueid = &s->id;
	TRY(shmemh_init(&attr, &job) == SHMEMH_OK);
	TRY(use_job(s, job) == 0);
	TRY(shmemh_finalize(job) == SHMEMH_OK);
	return 0;
}

static void *pe_thread(void *arg)
{
	pe_start_t *s = arg;

	s->result = run_pe(s);
	return NULL;
}

static int run_threads(pe_start_t s)
{
	pe_start_t starts[MAX_PES];
	pthread_t threads[MAX_PES];
	int result = 0;

	if (shmemh_get_uniqueid(s.n_pes, &s.id) != SHMEMH_OK)
		return 1;
	for (s.pe = 0; s.pe < s.n_pes; s.pe++) {
		starts[s.pe] = s;
		pthread_create(&threads[s.pe], NULL, pe_thread, &starts[s.pe]);
	}
	for (int pe = 0; pe < s.n_pes; pe++) {
		pthread_join(threads[pe], NULL);
		result = starts[pe].result ? starts[pe].result : result;
	}
	return result;
}

/* CUDA and the hub are used only after the forks: neither works across a fork. */
static int run_processes(pe_start_t s)
{
	pid_t pids[MAX_PES];
	int pipes[MAX_PES][2], status, result = 0;

	fflush(NULL);
	for (s.pe = 0; s.pe < s.n_pes; s.pe++) {
		if (pipe(pipes[s.pe]) != 0)
			return 1;
		pids[s.pe] = fork();
		if (pids[s.pe] == 0) {
			if (read(pipes[s.pe][0], &s.id, sizeof s.id) != (ssize_t)sizeof s.id)
				_exit(1);
			status = run_pe(&s);
			fflush(NULL);
			_exit(status);
		}
	}
	if (shmemh_get_uniqueid(s.n_pes, &s.id) != SHMEMH_OK)
		return 1;
	for (int pe = 0; pe < s.n_pes; pe++)
		if (write(pipes[pe][1], &s.id, sizeof s.id) != (ssize_t)sizeof s.id)
			return 1;
	for (int pe = 0; pe < s.n_pes; pe++) {
		waitpid(pids[pe], &status, 0);
		status = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
		result = status ? status : result;
	}
	return result;
}

/* Run each case in its own process, so that it starts without CUDA. */
static int run_case(const char *name, int (*run)(pe_start_t), pe_start_t s)
{
	int status = 1;
	pid_t pid;

	if (name)
		printf("%s, %d PEs\n", name, s.n_pes);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		status = run(s);
		fflush(NULL);
		_exit(status);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

static int count_gpus(pe_start_t s)
{
	int n = 0;

	(void)s;
	return cudaGetDeviceCount(&n) == cudaSuccess ? n : 0;
}

int main(int argc, char **argv)
{
	pe_start_t s = {.heap_kind = SHMEMH_HEAP_GPU};
	int failed = 0;

	setenv("SHMEMH_HEAP_CHUNK", "4m", 0);
	s.n_pes = run_case(NULL, count_gpus, s);
	if (s.n_pes == 0) {
		printf("skipped: no GPU\n");
		return SKIPPED;
	}
	s.n_pes = argc > 1 ? atoi(argv[1]) : s.n_pes < 2 ? 2 : s.n_pes > 4 ? 4 : s.n_pes;
	if (s.n_pes < 1 || s.n_pes > MAX_PES) {
		printf("PEs: 1 to %d\n", MAX_PES);
		return 2;
	}
	failed += run_case("GPU heap, processes", run_processes, s) != 0;
	failed += run_case("GPU heap, threads", run_threads, s) != 0;
	s.one_gpu = 1;
	failed += run_case("GPU heap, processes on one GPU", run_processes, s) != 0;
	s.one_gpu = 0;
	s.heap_kind = SHMEMH_HEAP_HOST;
	failed += run_case("host heap, processes", run_processes, s) != 0;
	failed += run_case("host heap, threads", run_threads, s) != 0;
	printf("%s\n", failed ? "FAILED" : "passed");
	return failed != 0;
}
