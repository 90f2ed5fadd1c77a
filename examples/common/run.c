/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "run.h"
#ifndef __CUDACC__
#include <shmem_sim.h>
#endif
#ifdef RUN_MLX5SW
#include <mlx5sw_sim.h>
#endif

#define TRACE_EVENTS 65536 /* of each PE */

typedef struct run_args {
	int argc;
	char **argv;
	int (*pe_main)(shmemh_t *job, int argc, char **argv);
} run_args_t;

/* Value of an environment variable in [lo, hi]; dflt if it is not set; -1 after a line on stderr.
 */
static long env_number(const char *name, long dflt, long lo, long hi)
{
	const char *text = getenv(name);
	char *end;
	long value;

	if (text == NULL || text[0] == '\0')
		return dflt;
	value = strtol(text, &end, 10);
	if (*end == '\0' && value >= lo && value <= hi)
		return value;
	fprintf(stderr, "%s=%s: must be a number from %ld to %ld\n", name, text, lo, hi);
	return -1;
}

const char *run_status_text(int status)
{
	return status == RUN_EMULATOR_FAILED ? "the emulator failed: its report says why"
					     : shmemh_strerror(status);
}

int run_failed(const shmemh_t *job, const char *call, int status, const char *file, int line)
{
	char text[512], who[24] = "";
	int pe;

	/* First the text: shmemh_my_pe of a finalized job returns -1 and replaces it. */
	snprintf(text, sizeof(text), "%s", shmemh_error_text(job));
	pe = job == NULL ? -1 : shmemh_my_pe(job);
	if (pe >= 0)
		snprintf(who, sizeof(who), "PE %d: ", pe);
	fprintf(stderr, "%s:%d: %s%s: %d (%s)%s%s\n", file, line, who, call, status,
		run_status_text(status), text[0] == '\0' ? "" : ": ", text);
	return 1;
}

/* Print the line of one channel, if it was used. */
static int print_channel(shmemh_t *job, int pe, int k)
{
	shmemh_channel_counters_t c;

	c.size = sizeof(c);
	RUN_TRY(job, shmemh_channel_counters(job, pe, k, &c));
	if (c.requests == 0)
		return 0;
	printf("%7d  %7d  %8llu  %7llu  %11.2f  %9llu\n", pe, k, (unsigned long long)c.requests,
	       (unsigned long long)c.posted, (double)c.posted / (double)c.requests,
	       (unsigned long long)c.doorbells);
	return 0;
}

int run_print_channels(shmemh_t *job)
{
	int pe, k;

	if (shmemh_my_pe(job) != 0 || shmemh_channels(job) == 0)
		return 0;
	printf("  to PE  channel  requests   WQEBBs  per request  doorbells\n");
	for (pe = 0; pe < shmemh_n_pes(job); pe++) {
		for (k = 0; k < shmemh_channels(job); k++) {
			if (print_channel(job, pe, k) != 0)
				return 1;
		}
	}
	return 0;
}

double run_time_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

/* Emulated PEs share one environment: set this PE's node id just before it joins. */
static int set_node(const shmemh_boot_t *boot)
{
	long n_nodes = env_number("SHMEMSIM_NODES", 0, 1, boot->n_pes);
	char text[32];

	if (n_nodes <= 0)
		return n_nodes < 0;
	snprintf(text, sizeof(text), "node %ld", boot->pe * n_nodes / boot->n_pes);
	return setenv("SHMEMH_NODE_ID", text, 1);
}

int run_join(const shmemh_boot_t *boot, shmemh_t **job)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	int status;

	if (boot != NULL && set_node(boot) != 0)
		return SHMEMH_ERR_OPTION;
	attr.boot = boot;
#ifndef __CUDACC__
	attr.heap_kind = SHMEMH_HEAP_HOST; /* kernels run on the CPU, also where there are GPUs */
#endif
	status = shmemh_init(&attr, job);
	if (status != SHMEMH_OK)
		run_failed(NULL, "shmemh_init", status, __FILE__, __LINE__);
	return status;
}

/* Run pe_main, and with RUN_TRACE=FILE write what its kernels have recorded. */
static int run_job(const run_args_t *args, shmemh_t *job)
{
	const char *trace = getenv("RUN_TRACE");
	int failed;

	if (trace == NULL || trace[0] == '\0')
		return args->pe_main(job, args->argc, args->argv) != 0;
	RUN_TRY(job, shmemh_trace_start(job, TRACE_EVENTS));
	failed = args->pe_main(job, args->argc, args->argv) != 0;
	RUN_TRY(job, shmemh_trace_write(job, trace, NULL, 0));
	return failed;
}

/* One PE, from joining to leaving the job. */
static int run_pe(const run_args_t *args, const shmemh_boot_t *boot)
{
	shmemh_t *job;
	int failed, status;

	if (run_join(boot, &job) != SHMEMH_OK)
		return 1;
	failed = run_job(args, job);
	status = shmemh_finalize(job);
	if (status != SHMEMH_OK && !failed)
		return run_failed(NULL, "shmemh_finalize", status, __FILE__, __LINE__);
	return failed;
}

#ifdef __CUDACC__

#define CUDA_TRY(call)                                                                             \
	do {                                                                                       \
		cudaError_t cuda_status_ = (call);                                                 \
		if (cuda_status_ != cudaSuccess) {                                                 \
			fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,              \
				cudaGetErrorString(cuda_status_));                                 \
			return SHMEMH_ERR_CUDA;                                                    \
		}                                                                                  \
	} while (0)

int run_emulated_pes(void)
{
	return 0;
}

int run_pick_gpu(void)
{
	int n_gpus, local = shmemh_local_pe();

	if (local < 0) {
		fprintf(stderr, "%s\n", shmemh_error_text(NULL));
		return 1;
	}
	CUDA_TRY(cudaGetDeviceCount(&n_gpus));
	CUDA_TRY(cudaSetDevice(local % n_gpus));
	CUDA_TRY(cudaFree(NULL)); /* before CUDA 12.0, cudaSetDevice creates no context */
	return 0;
}

int run_pes_of_gpu(shmemh_t *job, int *n_pes)
{
	int n = shmemh_n_pes(job), pe, gpu, status;
	struct cudaDeviceProp prop;
	cudaUUID_t *each;

	CUDA_TRY(cudaGetDevice(&gpu));
	CUDA_TRY(cudaGetDeviceProperties(&prop, gpu));
	each = (cudaUUID_t *)calloc((size_t)n, sizeof(*each));
	if (each == NULL) {
		fprintf(stderr, "no memory for %d PEs\n", n);
		return SHMEMH_ERR_NO_MEMORY;
	}
	status = shmemh_allgather(job, &prop.uuid, each, sizeof(prop.uuid));
	for (*n_pes = pe = 0; status == SHMEMH_OK && pe < n; pe++)
		*n_pes += memcmp(&each[pe], &prop.uuid, sizeof(prop.uuid)) == 0;
	free(each);
	if (status != SHMEMH_OK)
		run_failed(job, "shmemh_allgather", status, __FILE__, __LINE__);
	return status;
}

const char *run_platform(char *text, size_t nbytes)
{
	struct cudaDeviceProp prop;
	int gpu;

	snprintf(text, nbytes, "unknown GPU");
	if (cudaGetDevice(&gpu) == cudaSuccess &&
	    cudaGetDeviceProperties(&prop, gpu) == cudaSuccess)
		snprintf(text, nbytes, "GPU %d, %s", gpu, prop.name);
	return text;
}

int run_copy(void *dst, const void *src, size_t nbytes)
{
	CUDA_TRY(cudaMemcpy(dst, src, nbytes, cudaMemcpyDefault));
	/* a copy from device to device returns before it is complete */
	CUDA_TRY(cudaDeviceSynchronize());
	return 0;
}

int run_host_alloc(void **ptr, size_t nbytes)
{
	CUDA_TRY(cudaHostAlloc(ptr, nbytes, cudaHostAllocDefault));
	memset(*ptr, 0, nbytes);
	return 0;
}

void run_host_free(void *ptr)
{
	cudaFreeHost(ptr);
}

int run_device(int code)
{
	if (code > 0 && code < SHMEMD_STATUS_CUDA) /* of CUDA itself */
		code += SHMEMD_STATUS_CUDA;
	if (code != 0)
		fprintf(stderr, "%s\n", shmemh_strerror(code));
	return code;
}

int run_stream_open(shmemd_stream_t *stream)
{
	CUDA_TRY(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
	return 0;
}

void run_stream_close(shmemd_stream_t stream)
{
	cudaStreamDestroy(stream);
}

int run_main(int argc, char **argv, int (*pe_main)(shmemh_t *job, int argc, char **argv))
{
	run_args_t args = {argc, argv, pe_main};

	return run_pick_gpu() != 0 ? 1 : run_pe(&args, NULL);
}

#else

int run_emulated_pes(void)
{
	return (int)env_number("SHMEMSIM_PES", 0, 1, 1024);
}

int run_pick_gpu(void)
{
	return 0;
}

int run_pes_of_gpu(shmemh_t *job, int *n_pes)
{
	(void)job;
	*n_pes = 1;
	return 0;
}

const char *run_platform(char *text, size_t nbytes)
{
	snprintf(text, nbytes, "CPU emulator, %s",
		 run_emulated_pes() > 0 ? "all PEs in one process" : "a process per PE");
	return text;
}

int run_copy(void *dst, const void *src, size_t nbytes)
{
	memcpy(dst, src, nbytes);
	return 0;
}

int run_host_alloc(void **ptr, size_t nbytes)
{
	*ptr = calloc(1, nbytes);
	if (*ptr != NULL)
		return 0;
	fprintf(stderr, "no memory for %zu bytes\n", nbytes);
	return SHMEMH_ERR_NO_MEMORY;
}

void run_host_free(void *ptr)
{
	free(ptr);
}

int run_device(int code)
{
	if (code == 0)
		return 0;
	fprintf(stderr, "%s\n", shmemsim_report());
	return RUN_EMULATOR_FAILED;
}

int run_stream_open(shmemd_stream_t *stream)
{
	*stream = NULL;
	return 0;
}

void run_stream_close(shmemd_stream_t stream)
{
	(void)stream;
}

/* ---- NICs of emulated PEs ---- */

typedef struct emulated {
	int (*pe_main)(int pe, int n_pes, void *arg);
	void *arg;
	int wants_adapter, has_adapter;
} emulated_t;

#ifdef RUN_MLX5SW

static mlx5sw_sim_t adapter;

/* Start the adapter for all PEs of this run. Returns 0, or 1 after printing a line. */
static int adapter_start(int n_pes)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	int err = mlx5sw_config_from_env(&cfg);

	if (err != 0)
		return 1;
	cfg.n_hosts = (uint32_t)n_pes;
	err = mlx5sw_sim_start(&adapter, &cfg);
	if (err != 0)
		fprintf(stderr, "mlx5sw_sim_start, %d hosts: %s\n", n_pes, strerror(err));
	return err != 0;
}

/* Called after the run. Returns 1 after a line if MLX5SW_LINT=strict has found a mistake. */
static int adapter_stop(void)
{
	int failed = mlx5sw_failed();

	if (failed)
		fprintf(stderr, "the adapter found mistakes: see its lines above\n");
	mlx5sw_sim_stop(&adapter);
	return failed;
}

#else

static int adapter_start(int n_pes)
{
	fprintf(stderr,
		"SHMEMH_IB_LIBRARY, %d emulated PEs: build run.c with -DRUN_MLX5SW and link it "
		"with shmem_mlx5sw\n",
		n_pes);
	return 1;
}

static int adapter_stop(void)
{
	return 0;
}

#endif

/* The first PE starts the adapter: PEs are not switched during the start. */
static int emulated_fiber(int pe, int n_pes, void *arg)
{
	emulated_t *e = (emulated_t *)arg;

	if (e->wants_adapter && !e->has_adapter) {
		if (adapter_start(n_pes) != 0)
			return 1;
		e->has_adapter = 1;
	}
	return e->pe_main(pe, n_pes, e->arg);
}

int run_emulate(const shmemsim_config_t *cfg, int n_pes,
		int (*pe_main)(int pe, int n_pes, void *arg), void *arg)
{
	const char *library = getenv("SHMEMH_IB_LIBRARY");
	emulated_t e = {pe_main, arg, library != NULL && library[0] != '\0', 0};
	int failed = shmemsim_run(cfg, n_pes, emulated_fiber, &e) != 0;

	if (failed)
		fprintf(stderr, "%s\n", shmemsim_report());
	if (e.has_adapter)
		failed |= adapter_stop();
	return failed;
}

static int run_fiber(int pe, int n_pes, void *arg)
{
	(void)pe;
	(void)n_pes;
	return run_pe((const run_args_t *)arg, shmemsim_boot());
}

int run_main(int argc, char **argv, int (*pe_main)(shmemh_t *job, int argc, char **argv))
{
	run_args_t args = {argc, argv, pe_main};
	int n_pes = run_emulated_pes();

	if (n_pes < 0)
		return 1;
	if (n_pes == 0)
		return run_pe(&args, NULL);
	return run_emulate(NULL, n_pes, run_fiber, &args);
}

#endif
