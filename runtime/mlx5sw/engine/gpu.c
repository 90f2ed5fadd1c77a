/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* GPU memory, through the functions of the CUDA driver that copies need. The driver is used only if
 * the process has already loaded it. */
#include "mlx5sw/engine/gpu.h"
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/engine/step.h"

/* As in cuda.h of all versions of CUDA. */
#define POINTER_ATTRIBUTE_MEMORY_TYPE 2
#define POINTER_ATTRIBUTE_DEVICE_ORDINAL 9
#define MEMORY_TYPE_DEVICE 2
#define STREAM_NON_BLOCKING 1
#define CAPTURE_MODE_RELAXED 2
#define NOT_READY 600
#define MAX_GPUS 64
#define OUT_NBYTES (512u << 10) /* room for the packets of one step */
#define IN_NBYTES (256u << 10)  /* room for the packets that a queue pair sends in one turn */
/* Of writes in flight; one of a read may follow. A stream queues far more without blocking. */
#define MAX_COPIES 64u
#define ALIGNMENT 64u

typedef struct gpu {
	void *ctx, *stream;
	uint8_t *out, *in; /* pinned staging buffers: for writes, for reads */
	/* out[begun, used) is to be copied to dst by one copy that has not started; the bytes
	 * before are in copies in flight. */
	size_t begun, used;
	uintptr_t dst;
	unsigned n_copies; /* in flight */
} gpu_t;

typedef struct mlx5swi_cuda {
	void *library;
	int (*attribute)(void *value, int attribute, uintptr_t p);
	int (*push)(void *ctx);
	int (*pop)(void **ctx);
	int (*exchange_capture_mode)(int *mode);
	int (*retain)(void **ctx, int gpu);
	int (*stream_create)(void **stream, unsigned flags);
	int (*stream_destroy)(void *stream);
	int (*stream_query)(void *stream);
	int (*copy)(uintptr_t dst, uintptr_t src, size_t nbytes, void *stream);
	int (*host_alloc)(void **p, size_t nbytes, unsigned flags);
	int (*host_free)(void *p);
	int (*gpu_alloc)(uintptr_t *p, size_t nbytes);
	int (*gpu_free)(uintptr_t p);
	gpu_t gpus[MAX_GPUS];
	int ahead_gpu; /* gpus[ahead_gpu].in holds the n_ahead bytes at ahead; n_ahead 0: none */
	uintptr_t ahead;
	size_t n_ahead;
	int outer_mode; /* capture mode of the thread before enter_context, for leave */
	mlx5swi_gpu_counters_t counters;
} cuda_t;

static bool find(cuda_t *c)
{
	const struct {
		void **function;
		const char *name;
	} table[] = {
		{(void **)&c->attribute, "cuPointerGetAttribute"},
		{(void **)&c->push, "cuCtxPushCurrent_v2"},
		{(void **)&c->pop, "cuCtxPopCurrent_v2"},
		{(void **)&c->exchange_capture_mode, "cuThreadExchangeStreamCaptureMode"},
		{(void **)&c->retain, "cuDevicePrimaryCtxRetain"},
		{(void **)&c->stream_create, "cuStreamCreate"},
		{(void **)&c->stream_destroy, "cuStreamDestroy_v2"},
		{(void **)&c->stream_query, "cuStreamQuery"},
		{(void **)&c->copy, "cuMemcpyAsync"},
		{(void **)&c->host_alloc, "cuMemHostAlloc"},
		{(void **)&c->host_free, "cuMemFreeHost"},
		{(void **)&c->gpu_alloc, "cuMemAlloc_v2"},
		{(void **)&c->gpu_free, "cuMemFree_v2"},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (!(*table[i].function = dlsym(c->library, table[i].name)))
			return false;
	return true;
}

static int is_library(struct dl_phdr_info *info, size_t nbytes, void *name)
{
	(void)nbytes;
	return strstr(info->dlpi_name, name) != NULL;
}

/* The CUDA driver; NULL: this process does not use GPUs. */
static cuda_t *cuda(void)
{
	struct mlx5swi_engine *e = mlx5swi_w->engine;
	static char name[] = "libcuda.so.1";
	/* Check without access to the file system, which RTLD_NOLOAD needs: starting a world must
	 * be cheap. */
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

/* Returns the GPU that p is on, or -1. */
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

/* Wait until the stream's copies are complete, or one has failed. By queries: with
 * cuStreamSynchronize here, beside that of the program's thread, a run of test_stream took twice as
 * long (H200, 4 PEs, MPS). */
static int wait_for_copies(const cuda_t *c, const gpu_t *g)
{
	int result;
	do
		result = c->stream_query(g->stream);
	while (result == NOT_READY);
	return result;
}

/* Do the first copies of each kind now. They may allocate, and an allocation would later wait for a
 * running kernel that in turn waits for the adapter. The same holds for copies that exceed a
 * stream's queue, so as many are started here as can ever be in flight. */
static int warm_up(const cuda_t *c, const gpu_t *g)
{
	static const size_t sizes[] = {8, 4096, IN_NBYTES};
	uintptr_t p;
	int failed = 0;
	if (c->gpu_alloc(&p, OUT_NBYTES))
		return 1;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		failed |= c->copy(p, (uintptr_t)g->out, sizes[i], g->stream) ||
			  c->copy((uintptr_t)g->in, p, sizes[i], g->stream);
	failed |= c->copy(p, (uintptr_t)g->out, OUT_NBYTES, g->stream) || wait_for_copies(c, g);
	for (unsigned i = 0; i < MAX_COPIES + 1; i++)
		failed |= c->copy(p, (uintptr_t)g->out, 8, g->stream);
	failed |= wait_for_copies(c, g);
	return c->gpu_free(p) || failed;
}

/* Make the context current, and set the thread's capture mode to RELAXED. In the default mode,
 * while a thread of the program captures a stream in mode GLOBAL, the adapter's waits and
 * allocations fail, and each of them invalidates that capture. */
static int enter_context(cuda_t *c, const gpu_t *g)
{
	if (c->push(g->ctx))
		return 1;
	c->outer_mode = CAPTURE_MODE_RELAXED;
	c->exchange_capture_mode(&c->outer_mode);
	return 0;
}

static void leave(cuda_t *c)
{
	void *old;
	c->exchange_capture_mode(&c->outer_mode);
	c->pop(&old);
}

/* Requires that the context is current. */
static void close_stream(cuda_t *c, gpu_t *g)
{
	if (g->stream)
		c->stream_destroy(g->stream);
	if (g->out)
		c->host_free(g->out);
	if (g->in)
		c->host_free(g->in);
	g->stream = NULL;
	g->out = g->in = NULL;
}

/* The GPU has a stream only if all of this has succeeded; otherwise the next call tries again. */
static int open_stream(cuda_t *c, int gpu)
{
	gpu_t *g = &c->gpus[gpu];
	if (g->stream)
		return 0;
	if ((!g->ctx && c->retain(&g->ctx, gpu)) || enter_context(c, g))
		return 1;
	int failed = c->host_alloc((void **)&g->out, OUT_NBYTES, 0) ||
		     c->host_alloc((void **)&g->in, IN_NBYTES, 0) ||
		     c->stream_create(&g->stream, STREAM_NON_BLOCKING) || warm_up(c, g);
	if (failed)
		close_stream(c, g);
	leave(c);
	if (!failed)
		__atomic_store_n(&mlx5swi_w->engine->has_gpus, 1, __ATOMIC_RELAXED);
	return failed;
}

bool mlx5swi_is_gpu(const void *p)
{
	cuda_t *c = cuda();
	int gpu = c ? gpu_of(c, p) : -1;
	return gpu >= 0 && !open_stream(c, gpu);
}

/* Makes the context of the GPU that p is on current, and returns the GPU. NULL: the memory was
 * freed while its MR or queue exists, or the context cannot be made current: reads return zeros and
 * writes are dropped. */
static gpu_t *enter(cuda_t *c, uintptr_t p)
{
	int gpu = gpu_of(c, (const void *)p);
	return gpu < 0 || enter_context(c, &c->gpus[gpu]) ? NULL : &c->gpus[gpu];
}

/* Start the copy of the bytes collected in out. Their destination may have been freed since. */
static void start_copy(cuda_t *c, gpu_t *g)
{
	size_t nbytes = g->used - g->begun;
	if (nbytes && gpu_of(c, (const void *)g->dst) == (int)(g - c->gpus)) {
		c->copy(g->dst, (uintptr_t)g->out + g->begun, nbytes, g->stream);
		c->counters.n_copies++;
		g->n_copies++;
	}
	g->begun = g->used = (g->used + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Wait until all started copies are complete, reads included. */
static void wait(cuda_t *c, gpu_t *g)
{
	if (g->n_copies) {
		uint64_t start = mlx5swi_now();
		wait_for_copies(c, g);
		c->counters.n_waits++;
		c->counters.waited_ns += mlx5swi_now() - start;
	}
	g->n_copies = 0;
	g->begun = g->used = 0;
	mlx5swi_w->engine->gpus_written &= ~(1ull << (g - c->gpus));
}

void mlx5swi_gpu_flush_all(void)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	while (mlx5swi_w->engine->gpus_written) {
		gpu_t *g = &c->gpus[__builtin_ctzll(mlx5swi_w->engine->gpus_written)];
		int failed = enter_context(c, g);
		start_copy(c, g);
		wait(c, g);
		if (!failed)
			leave(c);
	}
}

void mlx5swi_gpu_forget(void)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	if (c)
		c->n_ahead = 0;
}

/* Copy GPU memory from p on into in: one wait completes this copy and all earlier writes. */
static int fetch(cuda_t *c, gpu_t *g, uintptr_t p, size_t nbytes)
{
	start_copy(c, g);
	int failed = c->copy((uintptr_t)g->in, p, nbytes, g->stream);
	c->counters.n_copies++;
	g->n_copies++;
	wait(c, g);
	c->ahead_gpu = (int)(g - c->gpus);
	c->ahead = p;
	c->n_ahead = failed ? 0 : nbytes;
	return failed;
}

static bool is_ahead(const cuda_t *c, const gpu_t *g, uintptr_t p, size_t nbytes)
{
	return g == &c->gpus[c->ahead_gpu] && p >= c->ahead && nbytes <= c->n_ahead &&
	       p - c->ahead <= c->n_ahead - nbytes;
}

void mlx5swi_gpu_read(void *dst, const void *p, size_t nbytes, size_t ahead)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	uintptr_t from = (uintptr_t)p;
	gpu_t *g = enter(c, from);
	memset(dst, 0, nbytes);
	if (!g)
		return;
	for (size_t n, at = 0; at < nbytes; at += n) {
		size_t more = ahead > nbytes ? ahead - at : nbytes - at;
		n = nbytes - at < IN_NBYTES ? nbytes - at : IN_NBYTES;
		if (!is_ahead(c, g, from + at, n) &&
		    fetch(c, g, from + at, more < IN_NBYTES ? more : IN_NBYTES))
			break;
		memcpy((uint8_t *)dst + at, g->in + (from + at - c->ahead), n);
	}
	leave(c);
}

/* Adjacent bytes (the packets of a message) share one copy. */
static void append(cuda_t *c, gpu_t *g, uintptr_t p, const uint8_t *src, size_t nbytes)
{
	if (g->dst + (g->used - g->begun) != p)
		start_copy(c, g);
	if (g->used + nbytes > OUT_NBYTES || g->n_copies == MAX_COPIES) {
		start_copy(c, g);
		wait(c, g);
	}
	if (g->used == g->begun)
		g->dst = p;
	memcpy(g->out + g->used, src, nbytes);
	g->used += nbytes;
	mlx5swi_w->engine->gpus_written |= 1ull << (g - c->gpus);
}

void mlx5swi_gpu_write(void *p, const void *src, size_t nbytes)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	gpu_t *g = enter(c, (uintptr_t)p);
	if (!g)
		return;
	c->n_ahead = 0;
	for (size_t n, at = 0; at < nbytes; at += n) {
		n = nbytes - at < OUT_NBYTES ? nbytes - at : OUT_NBYTES;
		append(c, g, (uintptr_t)p + at, (const uint8_t *)src + at, n);
	}
	leave(c);
}

/* Returns the last written word if its copy has not started; NULL: otherwise, or if it is another
 * word. Consecutive atomics on one word then need one read and one write of GPU memory. */
static uint8_t *last_word(const void *p, size_t width)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	uint64_t written = mlx5swi_w->engine->gpus_written;
	gpu_t *g = written ? &c->gpus[__builtin_ctzll(written)] : NULL;
	if (!g || g->dst != (uintptr_t)p || g->used - g->begun != width)
		return NULL;
	return g->out + g->begun;
}

void mlx5swi_gpu_word_read(void *dst, const void *p, size_t width)
{
	const uint8_t *last = last_word(p, width);
	if (last)
		memcpy(dst, last, width);
	else
		mlx5swi_gpu_read(dst, p, width, width);
	mlx5swi_gpu_forget();
}

void mlx5swi_gpu_word_write(void *p, const void *src, size_t width)
{
	uint8_t *last = last_word(p, width);
	if (last) {
		memcpy(last, src, width);
		return;
	}
	mlx5swi_gpu_flush();
	mlx5swi_gpu_write(p, src, width);
}

mlx5swi_gpu_counters_t mlx5swi_gpu_query(void)
{
	const cuda_t *c = mlx5swi_w->engine->cuda;
	return c ? c->counters : (mlx5swi_gpu_counters_t){0};
}

void mlx5swi_gpu_close(void)
{
	cuda_t *c = mlx5swi_w->engine->cuda;
	if (!c)
		return;
	for (int i = 0; i < MAX_GPUS; i++)
		if (c->gpus[i].stream) {
			int failed = enter_context(c, &c->gpus[i]);
			close_stream(c, &c->gpus[i]);
			if (!failed)
				leave(c);
		}
	dlclose(c->library);
	free(c);
	mlx5swi_w->engine->cuda = NULL;
	mlx5swi_w->engine->gpus_written = 0;
}
