/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Block barriers and block scratch. */
#include <string.h>
#include "sim/sim.h"

/* The number of threads that the barrier waits for. A barrier of the whole block does not wait
 * for threads that have exited, as on a GPU. */
static uint32_t wanted(const shmemsimi_block_t *block, const shmemsimi_bar_t *bar)
{
	return bar->nthreads ? bar->nthreads : block->live;
}

static void conclude(shmemsimi_bar_t *bar)
{
	shmemsimi_fiber_t *f = bar->first;
	shmemsimi_view_t *all = NULL;
	for (; f; f = f->next)
		shmemsimi_weak_gather(&all, f);
	f = bar->first;
	bar->first = bar->last = NULL;
	bar->arrived = 0;
	while (f) {
		shmemsimi_fiber_t *next = f->next;
		shmemsimi_weak_spread(all, f);
		f->out = (uint64_t)bar->n_preds;
		f->done = 1;
		shmemsimi_wake(f);
		f = next;
	}
	shmemsimi_view_drop(&all);
}

static void check_arguments(const shmemsimi_fiber_t *f, uint32_t id, uint32_t nthreads)
{
	if (f->kind != KIND_LANE)
		shmemsim_fail("block barrier outside of a kernel");
	else if (id >= SHMEMSIMI_N_BARS)
		shmemsim_fail("barrier %u: a block has barriers 0 .. %u", id, SHMEMSIMI_N_BARS - 1);
	else if (nthreads % 32)
		shmemsim_fail("barrier %u: %u threads are not whole warps of 32", id, nthreads);
	else if (nthreads > f->thread.ntids)
		shmemsim_fail("barrier %u: expects %u threads, the block has %u", id, nthreads,
			      f->thread.ntids);
}

static void check_agreement(const shmemsimi_bar_t *bar, const shmemsimi_fiber_t *f,
			    uint32_t nthreads, const char *site)
{
	const uint32_t all = f->thread.ntids;
	if (bar->nthreads != nthreads)
		shmemsim_fail("barrier %u: thread %u expects %u threads, thread %u expects %u",
			      f->bar, bar->first->thread.tid, bar->nthreads ? bar->nthreads : all,
			      f->thread.tid, nthreads ? nthreads : all);
	else if (bar->site && site && bar->site != site && strcmp(bar->site, site) != 0)
		shmemsim_fail("barrier %u: thread %u arrived at %s, thread %u at %s", f->bar,
			      bar->first->thread.tid, bar->site, f->thread.tid, site);
}

static void join(shmemsimi_bar_t *bar, shmemsimi_fiber_t *f, uint32_t nthreads, int pred)
{
	if (bar->arrived) {
		check_agreement(bar, f, nthreads, f->site);
		bar->last->next = f;
	} else {
		bar->nthreads = nthreads;
		bar->site = f->site;
		bar->n_preds = 0;
		bar->first = f;
	}
	bar->last = f;
	f->next = NULL;
	bar->n_preds += pred != 0;
	bar->arrived++;
}

int shmemsim_bar(uint32_t id, uint32_t nthreads, int pred, const char *site)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	f->call = __builtin_return_address(0);
	check_arguments(f, id, nthreads);
	if (!f->block)
		return 0;
	shmemsimi_step(SHMEMSIM_LD_DATA);
	if (shmemsimi_w.cfg.trace)
		shmemsimi_trace_meet("barrier", id);
	shmemsimi_bar_t *bar = &f->block->bars[id];
	f->bar = id;
	f->site = site;
	f->done = 0;
	join(bar, f, nthreads == f->thread.ntids ? 0 : nthreads, pred);
	shmemsimi_tsan_release(bar);
	if (bar->arrived >= wanted(f->block, bar))
		conclude(bar);
	if (!f->done)
		shmemsimi_block(WAIT_BAR);
	shmemsimi_tsan_acquire(bar);
	return (int)f->out;
}

void shmemsimi_block_recheck(shmemsimi_block_t *block)
{
	for (uint32_t id = 0; id < SHMEMSIMI_N_BARS; id++) {
		shmemsimi_bar_t *bar = &block->bars[id];
		if (bar->arrived && bar->arrived >= wanted(block, bar))
			conclude(bar);
	}
}

void *shmemsim_shared(const void *key, size_t nbytes)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	if (!f->block) {
		shmemsim_fail("block scratch outside of a kernel");
		return NULL;
	}
	shmemsimi_scratch_t *s = f->block->scratch;
	while (s && s->key != key)
		s = s->next;
	if (!s) {
		s = shmemsimi_alloc(sizeof(*s));
		s->key = key;
		s->nbytes = nbytes;
		s->mem = shmemsimi_scratch_alloc(nbytes);
		s->next = f->block->scratch;
		f->block->scratch = s;
	}
	if (s->nbytes != nbytes)
		shmemsim_fail("block scratch: thread %u requests %zu bytes, another thread has "
			      "requested %zu",
			      f->thread.tid, nbytes, s->nbytes);
	return s->mem;
}

void *shmemsim_dynamic_shared(void)
{
	const shmemsimi_fiber_t *f = shmemsimi_w.current;
	if (!f->block || !f->grid->shared_nbytes)
		return NULL;
	return shmemsim_shared(f->grid, f->grid->shared_nbytes);
}

void shmemsimi_block_free(shmemsimi_block_t *block)
{
	for (shmemsimi_scratch_t *s = block->scratch, *next; s; s = next) {
		next = s->next;
		shmemsimi_weak_forget(s->mem, s->nbytes);
		shmemsimi_scratch_free(s->mem, s->nbytes);
		shmemsimi_free(s, sizeof(*s));
	}
	block->scratch = NULL;
	shmemsimi_view_drop(&block->sc);
}
