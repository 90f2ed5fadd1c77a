/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Stacks, the switch between fibers, and the calls that inform sanitizers of both.
 *
 * Weak symbols show at run time whether address or thread sanitizer is present, so that one library
 * serves plain and sanitized programs. */
#include <execinfo.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "sim/sim.h"

#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#ifndef VALGRIND_STACK_REGISTER
#define VALGRIND_STACK_REGISTER(start, end) 0u
#define VALGRIND_STACK_DEREGISTER(id) ((void)(id))
#endif

extern void __sanitizer_start_switch_fiber(void **fake, const void *bottom, size_t nbytes)
	__attribute__((weak));
extern void __sanitizer_finish_switch_fiber(void *fake, const void **bottom, size_t *nbytes)
	__attribute__((weak));
extern void __asan_unpoison_memory_region(void const volatile *addr, size_t nbytes)
	__attribute__((weak));
extern void __lsan_register_root_region(const void *start, size_t nbytes) __attribute__((weak));
extern void __lsan_unregister_root_region(const void *start, size_t nbytes) __attribute__((weak));
extern void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
extern void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
extern void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
extern void *__tsan_get_current_fiber(void) __attribute__((weak));
extern void __tsan_acquire(void *obj) __attribute__((weak));
extern void __tsan_release(void *obj) __attribute__((weak));

#define TSAN_SYNC 0u    /* accesses before the switch happen before those after it */
#define TSAN_NO_SYNC 1u /* the switch itself orders nothing */

/* Host fibers run the host runtime and libc (name look-ups, printf); lanes only kernels. */
#define HOST_STACK_NBYTES ((size_t)1 << 20)
#define LANE_STACK_NBYTES ((size_t)64 << 10)
#define LANE_STACK_SANITIZED_NBYTES ((size_t)256 << 10)

void shmemsimi_swap(void **save_sp, void *load_sp);

/* Free stacks are linked through their last word. */
static char *free_stacks[2];

bool shmemsimi_under_tsan(void)
{
	return &__tsan_create_fiber != NULL;
}

static bool under_asan(void)
{
	return &__sanitizer_start_switch_fiber != NULL && &__asan_unpoison_memory_region != NULL;
}

void shmemsimi_tsan_release(void *obj)
{
	if (shmemsimi_under_tsan())
		__tsan_release(obj);
}

void shmemsimi_tsan_acquire(void *obj)
{
	if (shmemsimi_under_tsan())
		__tsan_acquire(obj);
}

void shmemsimi_release(void *obj)
{
	shmemsimi_tsan_release(obj);
	shmemsimi_weak_release(obj);
}

void shmemsimi_acquire(void *obj)
{
	shmemsimi_tsan_acquire(obj);
	shmemsimi_weak_acquire(obj);
}

static char **link_of(char *stack, size_t nbytes)
{
	return (char **)(void *)(stack + nbytes - sizeof(char *));
}

static size_t stack_nbytes(const shmemsimi_fiber_t *f)
{
	if (f->kind != KIND_LANE)
		return HOST_STACK_NBYTES;
	return under_asan() || shmemsimi_under_tsan() ? LANE_STACK_SANITIZED_NBYTES
						      : LANE_STACK_NBYTES;
}

static char *stack_take(int kind, size_t nbytes)
{
	char **list = &free_stacks[kind == KIND_LANE];
	char *stack = *list;
	if (stack) {
		if (under_asan()) /* clear the shadow of earlier frames */
			__asan_unpoison_memory_region(stack, nbytes);
		*list = *link_of(stack, nbytes);
		return stack;
	}
	long p = syscall(SYS_mmap, NULL, nbytes + SHMEMSIMI_GUARD_NBYTES, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
	if (p == -1)
		return NULL;
	/* Fails beyond about 32,000 fibers (vm.max_map_count): further ones have no guard page. */
	(void)!mprotect((void *)p, SHMEMSIMI_GUARD_NBYTES, PROT_NONE);
	return (char *)p + SHMEMSIMI_GUARD_NBYTES;
}

static void stack_give(char *stack, int kind, size_t nbytes)
{
	char **list = &free_stacks[kind == KIND_LANE];
	/* Thread sanitizer drops the recorded accesses to a stack only when the stack is unmapped.
	 * A happens-before edge at reuse would order fibers that nothing orders. */
	if (shmemsimi_under_tsan()) {
		munmap(stack - SHMEMSIMI_GUARD_NBYTES, nbytes + SHMEMSIMI_GUARD_NBYTES);
		return;
	}
	*link_of(stack, nbytes) = *list;
	*list = stack;
}

/* The entry point of a fiber. Reports cut back traces at its name, which has the emulator's prefix.
 */
void shmemsimi_entry(void);

static int prepare(shmemsimi_fiber_t *f)
{
	f->stack_nbytes = stack_nbytes(f);
	f->stack = stack_take(f->kind, f->stack_nbytes);
	if (!f->stack)
		return 0;
	f->stack_id = VALGRIND_STACK_REGISTER(f->stack, f->stack + f->stack_nbytes);
	uintptr_t *sp = (uintptr_t *)(void *)(f->stack + f->stack_nbytes - 64);
#if defined(__x86_64__)
	*--sp = 0; /* return address of entry: end of back traces */
	*--sp = (uintptr_t)shmemsimi_entry;
	for (int i = 0; i < 6; i++)
		*--sp = 0;
#else
	for (int i = 0; i < 20; i++)
		*--sp = 0;
	sp[11] = (uintptr_t)shmemsimi_entry; /* x30 */
#endif
	f->sp = sp;
	return 1;
}

void shmemsimi_fiber_create(shmemsimi_fiber_t *f)
{
	if (shmemsimi_under_tsan())
		f->tsan = __tsan_create_fiber(0);
}

void shmemsimi_fiber_begin(void)
{
	shmemsimi_fiber_t *f = &shmemsimi_w.main;
	f->kind = KIND_MAIN;
	shmemsimi_w.current = f;
	if (shmemsimi_under_tsan())
		f->tsan = __tsan_get_current_fiber();
}

#define N_KEPT 64

/* Keep the stack of an aborted fiber: its frames still refer to allocations, which are therefore
 * not leaks of the program. The leak check reads the list of all mappings once for each region, so
 * neighbours are merged. */
static void keep_stack(char *start, size_t nbytes)
{
	static struct kept {
		char *start, *end;
	} kept[N_KEPT];
	static unsigned next;
	char *end = start + nbytes;
	for (unsigned i = 0; i < N_KEPT; i++) {
		struct kept *k = &kept[i];
		if (!k->start || (k->end + SHMEMSIMI_GUARD_NBYTES != start &&
				  end + SHMEMSIMI_GUARD_NBYTES != k->start))
			continue;
		__lsan_unregister_root_region(k->start, (size_t)(k->end - k->start));
		start = k->start < start ? k->start : start;
		end = k->end > end ? k->end : end;
		k->start = NULL;
		i = UINT32_MAX; /* it may have a new neighbour */
	}
	__lsan_register_root_region(start, (size_t)(end - start));
	kept[next % N_KEPT].start = start;
	kept[next++ % N_KEPT].end = end;
}

static void drop_stack(shmemsimi_fiber_t *f)
{
	if (!f->stack)
		return;
	VALGRIND_STACK_DEREGISTER(f->stack_id);
	if (f->state != DONE && &__lsan_register_root_region != NULL)
		keep_stack(f->stack, f->stack_nbytes);
	else
		stack_give(f->stack, f->kind, f->stack_nbytes);
	f->stack = NULL;
}

/* A fiber that is suspended at the end of the run, such as an agent, does not continue. Switch to
 * it once more for thread sanitizer only, so that its accesses are ordered before later ones of the
 * discarding thread. */
static void order_last(const shmemsimi_fiber_t *f)
{
	__tsan_switch_to_fiber(f->tsan, TSAN_NO_SYNC);
	__tsan_switch_to_fiber(shmemsimi_w.current->tsan, TSAN_SYNC);
}

void shmemsimi_fiber_discard(shmemsimi_fiber_t *f)
{
	if (f->tsan && f->state != DONE)
		order_last(f);
	/* Not earlier: thread sanitizer reports no race with a fiber that was destroyed. */
	if (f->tsan)
		__tsan_destroy_fiber(f->tsan);
	f->tsan = NULL;
	shmemsimi_weak_leave(f);
	drop_stack(f);
}

static void take_trace(shmemsimi_fiber_t *f)
{
	void *trace[SHMEMSIMI_N_TRACE];
	f->n_trace = backtrace(trace, SHMEMSIMI_N_TRACE);
	shmemsimi_copy(f->trace, trace, sizeof(trace));
	/* The fiber does not run again: its accesses happen before those after the run. */
	shmemsimi_tsan_release(&shmemsimi_w.n_live);
	shmemsimi_switch(shmemsimi_w.reporter);
}

/* Complete the switch. Runs on the new stack. */
static void arrived(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current, *from = w->previous;
	if (under_asan()) {
		const void *bottom;
		size_t nbytes;
		__sanitizer_finish_switch_fiber(f->fake, &bottom, &nbytes);
		if (from->kind == KIND_MAIN) {
			from->stack = (char *)(uintptr_t)bottom;
			from->stack_nbytes = nbytes;
		}
	}
	if (from->state == DONE && from->kind != KIND_MAIN) {
		drop_stack(from);
		if (w->ended) {
			shmemsimi_grid_free(w->ended);
			w->ended = NULL;
		}
	}
	if (w->reporter && f != w->reporter)
		take_trace(f);
}

void shmemsimi_switch(shmemsimi_fiber_t *to)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *from = w->current;
	if (to == from)
		return;
	if (!to->stack && to->kind != KIND_MAIN && !prepare(to)) {
		shmemsimi_report_line("no memory for another fiber's stack");
		w->is_failed = 1;
		to = &w->main;
		if (to == from)
			return;
	}
	if (w->cfg.trace)
		shmemsimi_trace_finish();
	w->previous = from;
	w->current = to;
	w->n_alone = 0;
	shmemsim_self = &to->thread;
	if (under_asan())
		__sanitizer_start_switch_fiber(from->state == DONE ? NULL : &from->fake, to->stack,
					       to->stack_nbytes);
	if (shmemsimi_under_tsan())
		__tsan_switch_to_fiber(to->tsan, TSAN_NO_SYNC);
	shmemsimi_swap(&from->sp, to->sp);
	arrived();
}

void shmemsimi_entry(void)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	arrived();
	/* Do not acquire the object that ending threads release (shmemsimi_exit): threads of a
	 * kernel that run one after the other by chance are not ordered. */
	shmemsimi_acquire(f->grid ? (void *)f->grid : (void *)&shmemsimi_w);
	if (f->kind == KIND_LANE)
		shmemsimi_lane_main(f);
	else
		f->entry(f->arg);
	shmemsimi_exit();
}
