/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The few functions of CUDA's driver that copies need, found in a process that has it loaded. */
#include "gpu.h"
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "step.h"

/* As in cuda.h of all versions of CUDA. */
#define POINTER_ATTRIBUTE_CONTEXT 1
#define POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define POINTER_ATTRIBUTE_DEVICE_ORDINAL 9
#define MEMORY_TYPE_DEVICE 2
#define STREAM_NON_BLOCKING 1
#define MAX_GPUS 64

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
	struct {
		void *ctx, *stream;
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

static int open_stream(cuda_t *c, int gpu)
{
	void *old;
	if (c->gpus[gpu].stream)
		return 0;
	int failed = c->retain(&c->gpus[gpu].ctx, gpu) || c->push(c->gpus[gpu].ctx);
	if (failed)
		return 1;
	failed = c->stream_create(&c->gpus[gpu].stream, STREAM_NON_BLOCKING);
	c->pop(&old);
	return failed;
}

int mlx5swi_is_gpu(const void *p)
{
	cuda_t *c = cuda();
	int gpu = c ? gpu_of(c, p) : -1;
	return gpu >= 0 && !open_stream(c, gpu);
}

static void copy(const void *gpu_memory, uintptr_t dst, const void *src, size_t nbytes)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	int gpu = gpu_of(c, gpu_memory);
	void *old;
	if (gpu < 0 || c->push(c->gpus[gpu].ctx))
		return; /* it was freed: an adapter's access ends as well nowhere */
	if (!c->copy(dst, (uintptr_t)src, nbytes, c->gpus[gpu].stream))
		c->stream_wait(c->gpus[gpu].stream);
	c->pop(&old);
}

void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes)
{
	copy(p, (uintptr_t)dst, p, nbytes);
}

void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes)
{
	copy(p, (uintptr_t)p, src, nbytes);
}

void mlx5swi_gpu_close(void)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	if (!c)
		return;
	for (int i = 0; i < MAX_GPUS; i++)
		if (c->gpus[i].stream)
			c->stream_destroy(c->gpus[i].stream);
	dlclose(c->library);
	free(c);
	mlx5swi_w->engine->cuda = NULL;
}
