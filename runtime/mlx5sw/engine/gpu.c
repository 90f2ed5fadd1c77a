/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The few functions of CUDA's driver that copies need, found in a process that has it loaded. */
#include "mlx5sw/engine/gpu.h"
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/engine/step.h"

/* As in cuda.h of all versions of CUDA. */
#define POINTER_ATTRIBUTE_CONTEXT 1
#define POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define POINTER_ATTRIBUTE_DEVICE_ORDINAL 9
#define MEMORY_TYPE_DEVICE 2
#define STREAM_NON_BLOCKING 1
#define MAX_GPUS 64
#define STAGE_NBYTES 4096u

typedef struct mlx5swi_cuda {
	void *library;
	int (*attribute)(void *value, int attribute, uintptr_t p);
	int (*push)(void *ctx);
	int (*pop)(void **ctx);
	int (*retain)(void **ctx, int gpu);
	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*stream_wait)(void *stream);
	int (*copy)(uintptr_t dst, uintptr_t src, size_t nbytes, void *stream);
	int (*host_alloc)(void **p, size_t nbytes, unsigned flags);
	int (*host_free)(void *p);
	int (*gpu_alloc)(uintptr_t *p, size_t nbytes);
	int (*gpu_free)(uintptr_t p);
	struct {
		void *ctx, *stream, *stage; /* stage: pinned, so that copies need nothing else */
	} gpus[MAX_GPUS];
} cuda_t;

static int find(cuda_t *c)
{
	const struct {
		void **function;
		const char *name;
	} table[] = {
		{(void **)&c->attribute, "cuPointerGetAttribute"},
		{(void **)&c->push, "cuCtxPushCurrent_v2"},
		{(void **)&c->pop, "cuCtxPopCurrent_v2"},
		{(void **)&c->retain, "cuDevicePrimaryCtxRetain"},
		{(void **)&c->stream_create, "cuStreamCreate"},
		{(void **)&c->stream_destroy, "cuStreamDestroy_v2"},
		{(void **)&c->stream_wait, "cuStreamSynchronize"},
		{(void **)&c->copy, "cuMemcpyAsync"},
		{(void **)&c->host_alloc, "cuMemHostAlloc"},
		{(void **)&c->host_free, "cuMemFreeHost"},
		{(void **)&c->gpu_alloc, "cuMemAlloc_v2"},
		{(void **)&c->gpu_free, "cuMemFree_v2"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!(*table[i].function = dlsym(c->library, table[i].name)))
			return 0;
	return 1;
}

static int is_library(struct dl_phdr_info *info, size_t nbytes, void *name)
{
	(void)nbytes;
	return strstr(info->dlpi_name, name) != NULL;
}

/* NULL: this process does not use GPUs. */
static cuda_t *cuda(void)
{
	struct mlx5swi_engine *e = mlx5swi_w->engine;
	static char name[] = "libcuda.so.1";
	/* First without a look at the file system, which RTLD_NOLOAD takes: worlds are cheap. */
	if (e->cuda || !dl_iterate_phdr(is_library, name))
		return e->cuda;
	void *library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
	if (!library)
		return NULL;
	cuda_t *c = calloc(1, sizeof(*c));
	if (c)
		c->library = library;
	if (c && find(c))
		return e->cuda = c;
	free(c);
	dlclose(library);
	return NULL;
}

/* On which GPU p is; -1: on none. */
static int gpu_of(const cuda_t *c, const void *p)
{
	unsigned type = 0;
	int gpu = -1;
	if (c->attribute(&type, POINTER_ATTRIBUTE_MEMORY_TYPE, (uintptr_t)p) ||
	    type != MEMORY_TYPE_DEVICE ||
	    c->attribute(&gpu, POINTER_ATTRIBUTE_DEVICE_ORDINAL, (uintptr_t)p))
		return -1;
	return gpu < MAX_GPUS ? gpu : -1;
}

/* The first copies of a kind may allocate, and would wait then for a kernel that waits for us. */
static int warm_up(const cuda_t *c, int gpu)
{
	void *stage = c->gpus[gpu].stage, *stream = c->gpus[gpu].stream;
	uintptr_t p;
	if (c->gpu_alloc(&p, STAGE_NBYTES))
		return 1;
	int failed = c->copy(p, (uintptr_t)stage, STAGE_NBYTES, stream) ||
		     c->copy((uintptr_t)stage, p, STAGE_NBYTES, stream) || c->stream_wait(stream);
	return c->gpu_free(p) || failed;
}

static int open_stream(cuda_t *c, int gpu)
{
	void *old;
	if (c->gpus[gpu].stream)
		return 0;
	if (c->retain(&c->gpus[gpu].ctx, gpu) || c->push(c->gpus[gpu].ctx))
		return 1;
	int failed = c->host_alloc(&c->gpus[gpu].stage, STAGE_NBYTES, 0) ||
		     c->stream_create(&c->gpus[gpu].stream, STREAM_NON_BLOCKING) || warm_up(c, gpu);
	c->pop(&old);
	return failed;
}

int mlx5swi_is_gpu(const void *p)
{
	cuda_t *c = cuda();
	int gpu = c ? gpu_of(c, p) : -1;
	return gpu >= 0 && !open_stream(c, gpu);
}

int mlx5swi_is_far(const void *p)
{
	return mlx5swi_w->has_thread && mlx5swi_is_gpu(p);
}

/* Memory that was freed under its MR gives nothing and takes nothing. */
static int begin(const cuda_t *c, const void *p)
{
	int gpu = gpu_of(c, p);
	return gpu < 0 || c->push(c->gpus[gpu].ctx) ? -1 : gpu;
}

static int move(const cuda_t *c, int gpu, uintptr_t dst, uintptr_t src, size_t nbytes)
{
	void *stream = c->gpus[gpu].stream;
	return c->copy(dst, src, nbytes, stream) || c->stream_wait(stream);
}

static size_t piece_of(size_t nbytes)
{
	return nbytes < STAGE_NBYTES ? nbytes : STAGE_NBYTES;
}

void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes)
{
	const cuda_t *c = mlx5swi_w->engine->cuda;
	uint8_t *to = dst;
	int gpu = begin(c, p);
	void *stage = gpu < 0 ? NULL : c->gpus[gpu].stage, *old;
	for (size_t n, at = 0; gpu >= 0 && at < nbytes; at += n) {
		n = piece_of(nbytes - at);
		if (move(c, gpu, (uintptr_t)stage, (uintptr_t)p + at, n))
			break;
		memcpy(to + at, stage, n);
	}
	if (gpu >= 0)
		c->pop(&old);
}

void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes)
{
	const cuda_t *c = mlx5swi_w->engine->cuda;
	const uint8_t *from = src;
	int gpu = begin(c, p);
	void *stage = gpu < 0 ? NULL : c->gpus[gpu].stage, *old;
	for (size_t n, at = 0; gpu >= 0 && at < nbytes; at += n) {
		n = piece_of(nbytes - at);
		memcpy(stage, from + at, n);
		if (move(c, gpu, (uintptr_t)p + at, (uintptr_t)stage, n))
			break;
	}
	if (gpu >= 0)
		c->pop(&old);
}

void mlx5swi_gpu_close(void)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	if (!c)
		return;
	for (int i = 0; i < MAX_GPUS; i++)
		if (c->gpus[i].stream) {
			c->stream_destroy(c->gpus[i].stream);
			c->host_free(c->gpus[i].stage);
		}
	dlclose(c->library);
	free(c);
	mlx5swi_w->engine->cuda = NULL;
}
