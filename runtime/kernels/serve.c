/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "kernels/serve.h"

#include <dlfcn.h>
#include <string.h>

extern const char shmemhi_service_ptx[]; /* ptx.S */

/* Of libshmem_sim (shmem_sim.h). Weak: programs for GPUs do not load it. */
extern int shmemsim_serve(const struct shmemd_ctx *ctx) __attribute__((weak));

typedef shmemhi_cu_result_t query_t(shmemhi_cu_stream_t stream);

#define NOT_READY 600 /* CUDA_ERROR_NOT_READY */

/* *idle: receives whether every launch of the kernel so far has ended. One that waits for an SM has
 * not. */
static int is_idle(const shmemhi_service_t *s, shmemhi_err_t *err, int *idle)
{
	void *found = dlsym(s->c->cuda.library, "cuStreamQuery");
	shmemhi_cu_result_t result;
	query_t *query;
	int status;

	memcpy(&query, &found, sizeof query);
	if (!query)
		return shmemhi_fail(err, SHMEMH_ERR_CUDA, "no cuStreamQuery");
	status = shmemhi_cuctx_enter(s->c, err);
	if (status != SHMEMH_OK)
		return status;
	result = query(s->stream);
	shmemhi_cuctx_leave(s->c);
	*idle = result != NOT_READY;
	return *idle ? shmemhi_cuda_check(&s->c->cuda, err, "cuStreamQuery", result) : SHMEMH_OK;
}

static int launch(shmemhi_service_t *s, shmemhi_err_t *err)
{
	return shmemhi_kernel_launch(s->c, &s->kernel, 32, &s->job, s->stream, err);
}

static int make_stream(shmemhi_service_t *s, shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_enter(s->c, err);

	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_cuda_check(
		&s->c->cuda, err, "cuStreamCreate",
		s->c->cuda.stream_create(&s->stream, SHMEMHI_CU_STREAM_NON_BLOCKING));
	shmemhi_cuctx_leave(s->c);
	return status;
}

/* Wait for the kernel's end. */
static int join(shmemhi_service_t *s, shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_enter(s->c, err);

	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_cuda_check(&s->c->cuda, err, "cuStreamSynchronize",
				    s->c->cuda.stream_synchronize(s->stream));
	shmemhi_cuctx_leave(s->c);
	return status;
}

static int open_gpu(shmemhi_service_t *s, shmemhi_err_t *err)
{
	int status = shmemhi_cuctx_pinned_alloc(s->c, sizeof *s->stop, (void **)&s->stop, err);

	if (status == SHMEMH_OK)
		status = make_stream(s, err);
	if (status == SHMEMH_OK)
		status = shmemhi_kernel_load(s->c, shmemhi_service_ptx, SHMEMHI_SERVICE_NAME,
					     &s->kernel, err);
	s->job.stop = s->stop;
	if (status == SHMEMH_OK)
		status = launch(s, err);
	return status == SHMEMH_OK ? join(s, err) : status;
}

int shmemhi_service_open(shmemhi_service_t *s, shmemhi_cuctx_t *c, const shmemd_ctx_t *ctx,
			 shmemhi_err_t *err)
{
	int status = SHMEMH_OK;

	memset(s, 0, sizeof *s);
	s->c = c;
	s->job.ctx = ctx;
	if (c)
		status = open_gpu(s, err);
	else if (!shmemsim_serve)
		status = shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				      "no GPU, and the process has not loaded libshmem_sim: link "
				      "the program with it");
	if (status != SHMEMH_OK)
		shmemhi_service_close(s);
	return status;
}

int shmemhi_service_step(shmemhi_service_t *s, shmemhi_err_t *err)
{
	int idle = 0, status;

	if (!s->c) {
		(void)shmemsim_serve(s->job.ctx);
		return SHMEMH_OK;
	}
	status = is_idle(s, err, &idle);
	return status == SHMEMH_OK && idle ? launch(s, err) : status;
}

void shmemhi_service_close(shmemhi_service_t *s)
{
	shmemhi_err_t ignored = {""};

	if (!s->c)
		return;
	if (s->stop)
		__atomic_store_n(s->stop, 1, __ATOMIC_RELAXED);
	if (s->stream && join(s, &ignored) == SHMEMH_OK &&
	    shmemhi_cuctx_enter(s->c, &ignored) == SHMEMH_OK) {
		s->c->cuda.stream_destroy(s->stream);
		shmemhi_cuctx_leave(s->c);
	}
	shmemhi_kernel_unload(s->c, &s->kernel);
	if (s->stop)
		shmemhi_cuctx_pinned_free(s->c, s->stop);
	memset(s, 0, sizeof *s);
}
