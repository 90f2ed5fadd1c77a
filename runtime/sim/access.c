/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Accesses of device code that the scheduler or thread sanitizer must observe. */
#include "sim/sim.h"

/* For thread sanitizer: record the words that the fiber reads relaxed, so that a later fence
 * acquires them. If a fiber reads more words than fit, the oldest are acquired early. That may hide
 * a race, and never reports a false one. */
static void remember(shmemsimi_fiber_t *f, const void *p)
{
	for (unsigned i = 0; i < f->n_seen; i++)
		if (f->seen[i] == p)
			return;
	if (f->n_seen == SHMEMSIMI_N_SEEN) {
		shmemsimi_tsan_acquire((void *)(uintptr_t)f->seen[0]);
		f->n_seen--;
		shmemsimi_copy(f->seen, f->seen + 1, f->n_seen * sizeof(f->seen[0]));
	}
	f->seen[f->n_seen++] = p;
}

/* Call before the fiber stores to a word that it has read: the store would replace the clock that a
 * later fence must acquire. Acquires early, as above. */
static void acquire_if_seen(const shmemsimi_fiber_t *f, const void *p)
{
	for (unsigned i = 0; i < f->n_seen; i++)
		if (f->seen[i] == p)
			shmemsimi_tsan_acquire((void *)(uintptr_t)p);
}

static void fence(shmemsimi_fiber_t *f, int access)
{
	for (unsigned i = 0; i < f->n_seen && access != SHMEMSIM_FENCE_RELEASE; i++)
		shmemsimi_tsan_acquire((void *)(uintptr_t)f->seen[i]);
	if (access != SHMEMSIM_FENCE_RELEASE)
		f->n_seen = 0;
	f->is_fenced |= access != SHMEMSIM_FENCE_ACQUIRE;
}

/* Returns whether the access needs release order. */
static bool order(shmemsimi_fiber_t *f, const void *p, int access)
{
	switch (access & 0xff) {
	case SHMEMSIM_LD_RELAXED:
		remember(f, p);
		return false;
	case SHMEMSIM_ST_DATA:
		f->is_fenced = 0;
		shmemsim_wrote = 1;
		return false;
	case SHMEMSIM_ST_RELAXED:
	case SHMEMSIM_ST_RELEASE:
		acquire_if_seen(f, p);
		shmemsim_wrote |= !(access & SHMEMSIM_NO_NEWS);
		return f->is_fenced;
	case SHMEMSIM_RMW:
		remember(f, p);
		return f->is_fenced;
	case SHMEMSIM_FENCE:
	case SHMEMSIM_FENCE_ACQUIRE:
	case SHMEMSIM_FENCE_RELEASE:
	case SHMEMSIM_FENCE_SC:
		fence(f, access & 0xff);
		return false;
	default:
		return false;
	}
}

int shmemsim_access(const void *p, uint32_t nbytes, int access, void *value)
{
	shmemsimi_detect_poll(p, __builtin_return_address(0));
	if (shmemsim_hooks == SHMEMSIMI_HOOK_STEP) { /* no other hook is active */
		shmemsimi_step(access);
		return 0;
	}
	if (shmemsim_hooks)
		shmemsimi_step(access);
	if (shmemsimi_w.cfg.trace)
		shmemsimi_trace_access(p, nbytes, access);
	if (!shmemsimi_under_tsan()) /* the caller records stores */
		return shmemsimi_weak_access(p, nbytes, access, value);
	return order(shmemsimi_w.current, p, access);
}
