/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kernel launches, streams, the end of threads, and process mode's implicit world. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
#include "sim/sim.h"

#define MAX_THREADS 1024u /* in a block: the limit of every GPU */
#define MAX_FIBERS (1u << 22)

/* Are launches possible? Starts process mode. */
static bool world_ready(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->mode == MODE_NONE) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
		shmemsimi_copy(&w->cfg, &cfg, sizeof(cfg));
		w->policy = shmemsimi_policy_begin(&w->cfg);
		w->mode = MODE_PROCESS;
		shmemsimi_report_begin();
		shmemsimi_sched_begin();
	}
	if (w->thread != (unsigned long)pthread_self()) {
		shmemsimi_report_line("the emulator runs in another thread of this process; only "
				      "one may launch and sync");
		return false;
	}
	return !w->is_failed;
}

static shmemsimi_stream_t *stream_of(int pe, void *key, int is_made)
{
	shmemsimi_stream_t *s = shmemsimi_w.streams;
	while (s && (s->pe != pe || s->key != key))
		s = s->next;
	if (!s && is_made && (s = shmemsimi_alloc(sizeof(*s)))) {
		s->pe = pe;
		s->key = key;
		s->next = shmemsimi_w.streams;
		shmemsimi_w.streams = s;
	}
	return s;
}

static void split(uint32_t linear, const uint32_t dim[3], uint32_t at[3])
{
	at[0] = linear % dim[0];
	at[1] = linear / dim[0] % dim[1];
	at[2] = linear / dim[0] / dim[1];
}

static void lane_init(shmemsimi_grid_t *g, shmemsimi_warp_t *warp, uint32_t b, uint32_t t)
{
	shmemsimi_fiber_t *f = &g->fibers[(size_t)b * g->n_threads + t];
	shmemsim_thread_t *id = &f->thread;
	id->tid = t;
	id->ntids = g->n_threads;
	id->block = b;
	id->nblocks = g->n_blocks;
	for (int i = 0; i < 3; i++) {
		id->block_dim[i] = g->block_dim[i];
		id->grid_dim[i] = g->grid_dim[i];
	}
	split(t, g->block_dim, id->thread_idx);
	split(b, g->grid_dim, id->block_idx);
	f->kind = KIND_LANE;
	f->lane = (uint8_t)(t % 32);
	f->pe = g->pe;
	f->grid = g;
	f->block = &g->blocks[b];
	f->warp = warp;
	shmemsimi_start(f);
}

static void block_init(shmemsimi_grid_t *g, uint32_t b)
{
	uint32_t n_warps = (g->n_threads + 31) / 32;
	shmemsimi_block_t *block = &g->blocks[b];
	block->live = g->n_threads;
	block->warps = &g->warps[(size_t)b * n_warps];
	for (uint32_t i = 0; i < n_warps; i++) {
		shmemsimi_warp_t *warp = &block->warps[i];
		uint32_t n = g->n_threads - i * 32;
		warp->n_lanes = n < 32 ? n : 32;
		warp->live = n < 32 ? (1u << n) - 1 : 0xffffffffu;
		warp->lanes = &g->fibers[(size_t)b * g->n_threads + (size_t)i * 32];
		for (uint32_t lane = 0; lane < warp->n_lanes; lane++)
			lane_init(g, warp, b, i * 32 + lane);
	}
}

static size_t n_fibers(const shmemsimi_grid_t *g)
{
	return (size_t)g->n_blocks * g->n_threads;
}

static size_t n_warps(const shmemsimi_grid_t *g)
{
	return (size_t)g->n_blocks * ((g->n_threads + 31) / 32);
}

/* All blocks of a grid are resident at once: kernels that wait for other blocks need that. */
static void grid_start(shmemsimi_grid_t *g)
{
	g->live = g->n_blocks;
	g->blocks = shmemsimi_alloc(g->n_blocks * sizeof(*g->blocks));
	g->warps = shmemsimi_alloc(n_warps(g) * sizeof(*g->warps));
	g->fibers = shmemsimi_alloc(n_fibers(g) * sizeof(*g->fibers));
	if (!g->blocks || !g->warps || !g->fibers)
		return; /* the run has failed */
	for (uint32_t b = 0; b < g->n_blocks; b++)
		block_init(g, b);
}

void shmemsimi_grid_free(shmemsimi_grid_t *g)
{
	for (uint32_t b = 0; g->blocks && b < g->n_blocks; b++)
		shmemsimi_block_free(&g->blocks[b]);
	for (size_t i = 0; g->fibers && i < n_fibers(g); i++) {
		shmemsimi_bulk_discard(&g->fibers[i]);
		shmemsimi_fiber_discard(&g->fibers[i]);
	}
	shmemsimi_free(g->blocks, g->n_blocks * sizeof(*g->blocks));
	shmemsimi_free(g->warps, n_warps(g) * sizeof(*g->warps));
	shmemsimi_free(g->fibers, n_fibers(g) * sizeof(*g->fibers));
	shmemsimi_free(g->params, g->params_nbytes);
	shmemsimi_weak_forget(g, sizeof(*g));
	shmemsimi_free(g, sizeof(*g));
}

void shmemsimi_streams_free(void)
{
	for (shmemsimi_stream_t *s = shmemsimi_w.streams, *next; s; s = next) {
		next = s->next;
		for (shmemsimi_grid_t *g = s->first, *after; g; g = after) {
			after = g->next;
			shmemsimi_acquire(&g->live); /* threads that ended before the failure */
			shmemsimi_grid_free(g);
		}
		shmemsimi_free(s, sizeof(*s));
	}
	shmemsimi_w.streams = NULL;
	shmemsimi_w.ended = NULL;
}

static int refuse(const char *what, uint32_t value)
{
	shmemsimi_report_line("kernel launch refused: %s (%u)", what, value);
	return 1;
}

static int refuse_empty(const uint32_t grid[3], const uint32_t block[3])
{
	shmemsimi_report_line("kernel launch refused: %u x %u x %u blocks of %u x %u x %u threads: "
			      "each dimension is at least 1",
			      grid[0], grid[1], grid[2], block[0], block[1], block[2]);
	return 1;
}

/* The product of the dimensions, at most UINT32_MAX. */
static uint64_t product(const uint32_t dims[3])
{
	uint64_t n = 1;
	for (int i = 0; i < 3; i++) {
		n *= dims[i];
		if (n > UINT32_MAX)
			n = UINT32_MAX;
	}
	return n;
}

static int check(void (*kernel)(const void *), const uint32_t grid[3], const uint32_t block[3])
{
	uint64_t threads = product(block), blocks = product(grid);
	if (!kernel)
		return refuse("no kernel", 0);
	if (!blocks || !threads)
		return refuse_empty(grid, block);
	if (block[0] > MAX_THREADS || block[1] > MAX_THREADS || threads > MAX_THREADS)
		return refuse("more than 1024 threads in a block", (uint32_t)threads);
	if (blocks > MAX_FIBERS || blocks * threads > MAX_FIBERS)
		return refuse("more than 4194304 threads in a grid; blocks", (uint32_t)blocks);
	if (shmemsimi_w.current->kind == KIND_LANE)
		return refuse("from within a kernel; threads", (uint32_t)threads);
	return !world_ready();
}

static void append(shmemsimi_stream_t *s, shmemsimi_grid_t *g)
{
	g->stream = s;
	if (s->first) {
		s->last->next = g;
		s->last = g;
	} else {
		s->first = s->last = g;
		grid_start(g);
	}
}

int shmemsim_launch_3d(void (*kernel)(const void *params), const void *params, size_t params_nbytes,
		       const uint32_t grid_dim[3], const uint32_t block_dim[3],
		       size_t shared_nbytes, void *stream)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (check(kernel, grid_dim, block_dim))
		return 1;
	shmemsimi_stream_t *s = stream_of(w->current->pe, stream, 1);
	shmemsimi_grid_t *g = shmemsimi_alloc(sizeof(*g));
	void *copy = params_nbytes ? shmemsimi_alloc(params_nbytes) : NULL;
	if (!s || !g || (params_nbytes && !copy))
		return 1;
	g->id = w->n_grids++;
	g->pe = w->current->pe;
	if (g->pe >= 0 && g->pe < SHMEMSIMI_N_COUNTED)
		w->n_launches[g->pe]++;
	g->kernel = kernel;
	g->params = copy;
	g->params_nbytes = params_nbytes;
	g->shared_nbytes = shared_nbytes;
	g->n_blocks = grid_dim[0] * grid_dim[1] * grid_dim[2];
	g->n_threads = block_dim[0] * block_dim[1] * block_dim[2];
	for (int i = 0; i < 3; i++) {
		g->grid_dim[i] = grid_dim[i];
		g->block_dim[i] = block_dim[i];
	}
	shmemsimi_copy(g->params, params, params_nbytes);
	g->name[0] = '\0';
	/* For crash.c, whose signal handler cannot look it up. It is not installed under thread
	 * sanitizer, which would take the mapping of the program's file for an access to memory
	 * that PEs map later. */
	if (!shmemsimi_under_tsan())
		(void)shmemsimi_kernel_name(g);
	shmemsimi_release(g);
	append(s, g);
	if (w->mode == MODE_PROCESS) {
		/* The host may not call the emulator again soon: run the kernel's threads now until
		 * all have ended or wait. */
		w->is_eager = 1;
		shmemsimi_loop();
		w->is_eager = 0;
	}
	return w->is_failed;
}

int shmemsim_launch(void (*kernel)(const void *params), const void *params, size_t params_nbytes,
		    uint32_t n_blocks, uint32_t n_threads, size_t shared_nbytes, void *stream)
{
	const uint32_t grid[3] = {n_blocks, 1, 1}, block[3] = {n_threads, 1, 1};
	return shmemsim_launch_3d(kernel, params, params_nbytes, grid, block, shared_nbytes,
				  stream);
}

int shmemsim_sync(void *stream)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current;
	f->call = __builtin_return_address(0);
	if (!world_ready())
		return 1;
	shmemsimi_stream_t *s = stream_of(f->pe, stream, 0);
	while (s && s->first && !w->is_failed) {
		s->waiter = f;
		if (f->kind == KIND_MAIN)
			shmemsimi_loop();
		else
			shmemsimi_block(WAIT_SYNC);
		s->waiter = NULL;
	}
	if (s)
		shmemsimi_acquire(s);
	return w->is_failed;
}

void shmemsimi_lane_main(shmemsimi_fiber_t *f)
{
	f->grid->kernel(f->grid->params);
	shmemsimi_bulk_end();
}

static void grid_ended(shmemsimi_grid_t *g)
{
	shmemsimi_stream_t *s = g->stream;
	shmemsimi_acquire(&g->live); /* all its threads have released the word */
	shmemsimi_release(s);
	s->first = g->next;
	shmemsimi_w.ended = g; /* the caller still runs on a stack of it */
	if (s->first) {
		shmemsimi_release(s->first); /* kernels of one stream run in order */
		grid_start(s->first);
	} else if (s->waiter) {
		shmemsimi_wake(s->waiter);
	}
	/* The host may poll words that the kernel wrote. */
	shmemsimi_w.epoch++;
}

void shmemsimi_lane_exited(shmemsimi_fiber_t *f)
{
	shmemsimi_block_t *block = f->block;
	f->warp->live &= ~(1u << f->lane);
	block->live--;
	if (f->warp->n_meetings)
		shmemsimi_warp_recheck(f->warp);
	shmemsimi_block_recheck(block);
	if (!block->live && --f->grid->live == 0)
		grid_ended(f->grid);
}

/* Kernels of a PE that have not ended, without those that an earlier call counted. name: of the
 * one that was launched first. */
static int count_unfinished(int pe, char *name, size_t nbytes)
{
	shmemsimi_grid_t *first = NULL;
	int n = 0;
	for (shmemsimi_stream_t *s = shmemsimi_w.streams; s; s = s->next)
		for (shmemsimi_grid_t *g = s->pe == pe ? s->first : NULL; g; g = g->next) {
			if (g->is_counted)
				continue;
			g->is_counted = 1;
			n++;
			first = first && first->id < g->id ? first : g;
		}
	if (first)
		shmemsimi_format(name, nbytes, "%s", shmemsimi_kernel_name(first));
	return n;
}

int shmemsim_unfinished(char *name, size_t nbytes)
{
	const shmemsimi_world_t *w = &shmemsimi_w;
	int is_mine = w->thread == (unsigned long)pthread_self() && w->pid == (long)getpid();
	return is_mine && !w->is_failed ? count_unfinished(w->current->pe, name, nbytes) : 0;
}

/* Process mode: kernels run only while the program calls the emulator. */
__attribute__((destructor)) static void warn_unfinished(void)
{
	const shmemsimi_world_t *w = &shmemsimi_w;
	char name[128] = "";
	int n;
	if (w->mode != MODE_PROCESS || w->is_failed || w->pid != (long)getpid())
		return;
	n = count_unfinished(-1, name, sizeof(name));
	if (n)
		fprintf(stderr,
			"shmem_sim: the process ends, and kernels of it have not ended: %d (the "
			"first is %s): wait for them by shmemd_stream_sync\n",
			n, name);
}
