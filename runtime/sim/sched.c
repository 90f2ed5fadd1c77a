/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The scheduler: which fibers can run, which wait and for what, virtual time, and the detection of
 * deadlock and livelock.
 *
 * A fiber that polls calls shmemsim_spin, or is detected as polling (poll_loop.c). If nothing was
 * written since its last poll, it is parked until something is written. If no fiber can run, the
 * clock jumps and the parked fibers poll again. After many such jumps the run is a livelock. If no
 * fiber is parked or sleeps for a time either, it is a deadlock. */
#include <pthread.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>
#include "sim/sim.h"

/* Rounds in which every polling fiber polled once and none read the clock, until the run is a
 * livelock. Must exceed the number of iterations after which poll loops read the clock (64 in
 * shmem_dev). */
#define LIVELOCK_POLLS 512
/* The limits of a livelock in which fibers read the clock: this much virtual time, and so many
 * jumps of the clock, both without a write. A jump is twice as long as the last one if a fiber has
 * read the clock in between, up to a second; so a wait of two seconds that reads the clock every
 * 64th poll takes some 1,000 jumps, and several waits may expire one after another. */
#define LIVELOCK_NS ((uint64_t)3600 * 1000000000u)
#define LIVELOCK_JUMPS 20000
#define FIRST_JUMP_NS 1000u
#define LAST_JUMP_NS 1000000000u
/* Process mode: number of rounds that yield the CPU before rounds that sleep. */
#define YIELD_ROUNDS 64
#define NAP_NS 20000
#define NEVER UINT64_MAX /* time at which a fiber wakes that sleeps until the end of the run */

static const shmemsim_thread_t host_thread = {0,         1,         0,         1,
					      {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}};

shmemsimi_world_t shmemsimi_w = {
	.main.kind = KIND_MAIN, .main.pe = -1, .current = &shmemsimi_w.main};
const shmemsim_thread_t *shmemsim_self = &host_thread;
uint32_t shmemsim_hooks;
uint32_t shmemsim_wrote;

static uint64_t monotonic_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t time_ns(void)
{
	return shmemsimi_w.mode == MODE_RUN ? shmemsimi_w.now : monotonic_ns();
}

uint64_t shmemsim_now(void)
{
	shmemsimi_detect_poll(&shmemsimi_w.now, __builtin_return_address(0));
	shmemsimi_w.is_clock_read = 1;
	return time_ns();
}

void shmemsimi_note_writes(void)
{
	if (shmemsim_wrote) {
		shmemsim_wrote = 0;
		shmemsimi_w.epoch++;
	}
}

void shmemsim_changed(int is_changed)
{
	shmemsim_wrote |= (uint32_t)is_changed;
}

/* Queues */

static void queue_add(shmemsimi_queue_t *q, shmemsimi_fiber_t *f)
{
	if (q->n == q->capacity) {
		uint32_t more = q->capacity ? 2 * q->capacity : 1024;
		shmemsimi_fiber_t **grown = shmemsimi_alloc(more * sizeof(*grown));
		if (!grown)
			return; /* the run has failed */
		shmemsimi_copy(grown, q->fibers, q->n * sizeof(*grown));
		shmemsimi_free(q->fibers, q->capacity * sizeof(*grown));
		q->fibers = grown;
		q->capacity = more;
	}
	f->pos = q->n;
	q->fibers[q->n++] = f;
}

static void queue_drop(shmemsimi_queue_t *q, const shmemsimi_fiber_t *f)
{
	shmemsimi_fiber_t *last = q->fibers[--q->n];
	q->fibers[f->pos] = last;
	last->pos = f->pos;
}

static void make_runnable(shmemsimi_fiber_t *f)
{
	f->state = RUNNABLE;
	shmemsimi_w.n_starts++;
	queue_add(&shmemsimi_w.run, f);
	if (f->warp)
		f->warp->n_runnable++;
}

static void leave_run_queue(shmemsimi_fiber_t *f, int state)
{
	queue_drop(&shmemsimi_w.run, f);
	f->state = (uint8_t)state;
	if (f->warp && --f->warp->n_runnable == 0)
		shmemsimi_warp_stalled(f->warp);
}

static void wake_spinning(void)
{
	shmemsimi_queue_t *q = &shmemsimi_w.spin;
	for (uint32_t i = 0; i < q->n; i++)
		make_runnable(q->fibers[i]);
	q->n = 0;
}

/* Wake the fibers whose time has come; record the earliest time of the others. */
static void wake_sleeping(void)
{
	shmemsimi_queue_t *q = &shmemsimi_w.sleep;
	uint64_t now = time_ns(), next = NEVER;
	for (uint32_t i = 0; i < q->n;) {
		shmemsimi_fiber_t *f = q->fibers[i];
		if (f->wake <= now) {
			queue_drop(q, f);
			make_runnable(f);
		} else {
			next = f->wake < next ? f->wake : next;
			i++;
		}
	}
	shmemsimi_w.next_wake = next;
}

/* Does a fiber sleep that the clock will wake? */
static bool has_sleeper(void)
{
	return shmemsimi_w.sleep.n && shmemsimi_w.next_wake != NEVER;
}

/* No fiber can run. */

static bool stuck(const char *what)
{
	shmemsimi_report_line("%s", what);
	shmemsimi_w.is_failed = 1;
	shmemsimi_w.is_stuck = 1;
	shmemsimi_w.failure = what;
	return false;
}

static bool idle_in_process(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	const struct timespec nap = {0, NAP_NS};
	/* Not a deadlock: another process, or the runtime's monitor thread, may write. */
	if (w->idle_polls++ < YIELD_ROUNDS)
		sched_yield();
	else
		nanosleep(&nap, NULL);
	wake_spinning();
	return true;
}

static bool idle_in_run(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->is_clock_read) {
		w->is_clock_read = 0;
		w->idle_polls = 0;
		w->idle_step = w->idle_step ? 2 * w->idle_step : FIRST_JUMP_NS;
		if (w->idle_step > LAST_JUMP_NS)
			w->idle_step = LAST_JUMP_NS;
	} else {
		w->idle_polls++;
	}
	uint64_t next = w->now + (w->idle_step ? w->idle_step : FIRST_JUMP_NS);
	if (has_sleeper() &&
	    (!w->spin.n || w->idle_polls > LIVELOCK_POLLS || w->next_wake < next)) {
		next = w->next_wake;
		w->idle_polls = 0;
	}
	w->now = next;
	w->idle_jumps++;
	if (w->idle_polls > LIVELOCK_POLLS)
		return stuck("livelock: all fibers that can run poll, and nothing is written");
	if (w->spin.n && w->now - w->idle_since > LIVELOCK_NS && w->idle_jumps > LIVELOCK_JUMPS)
		return stuck("livelock: nothing was written for hours of virtual time");
	wake_spinning();
	return true;
}

/* Returns whether another round can make progress. */
static bool idle(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->is_eager)
		return false;
	if (!w->spin.n && !has_sleeper())
		return stuck("deadlock: every fiber waits for another one");
	return w->mode == MODE_RUN ? idle_in_run() : idle_in_process();
}

static void progress(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	w->spin_epoch = w->epoch;
	w->idle_since = w->now;
	w->idle_jumps = 0;
	w->idle_step = 0;
	w->idle_polls = 0;
	wake_spinning();
}

void shmemsimi_wake_due(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_note_writes();
	if (w->epoch != w->spin_epoch)
		progress();
	if (w->sleep.n && time_ns() >= w->next_wake)
		wake_sleeping();
}

static shmemsimi_fiber_t *next_fiber(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	for (;;) {
		shmemsimi_wake_due();
		if (w->is_failed || w->is_wanted_main)
			return &w->main;
		if (w->run.n)
			return shmemsimi_pick();
		if (!idle())
			return &w->main;
	}
}

/* Entry points for fibers. */

void shmemsimi_too_long(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->alarm) {
		shmemsim_ring();
		shmemsimi_switch(w->run.fibers[w->run.n - 1]);
	} else if (w->mode == MODE_RUN) {
		shmemsim_fail("more than %llu steps (max_steps)",
			      (unsigned long long)w->cfg.max_steps);
	}
}

uint64_t shmemsim_await_step(uint64_t step)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->current->kind == KIND_MAIN || w->alarm)
		return w->steps;
	w->alarm = w->current;
	w->last_step = step < w->cfg.max_steps ? step : w->cfg.max_steps;
	shmemsimi_block(WAIT_SLEEP);
	return w->steps;
}

void shmemsim_ring(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->alarm;
	w->alarm = NULL;
	w->last_step = w->cfg.max_steps;
	if (f)
		make_runnable(f);
}

/* Process mode: host code polls. Run the kernels meanwhile. */
static void main_spins(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	if (w->n_live) {
		w->is_eager = 1;
		shmemsimi_loop();
		w->is_eager = 0;
	}
	sched_yield();
}

/* Run other fibers; if is_parked, until something is written or no fiber can run. */
static void spin(shmemsimi_fiber_t *f, int is_parked, const void *call)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	f->call = call;
	f->wait = WAIT_SPIN;
	w->n_alone = 0;
	if (is_parked) {
		leave_run_queue(f, SPINNING);
		queue_add(&w->spin, f);
	}
	shmemsimi_switch(next_fiber());
	shmemsimi_note_writes();
	/* Read the epoch here, not at the call: a write between two loads of one iteration must
	 * keep this fiber runnable. */
	f->spun = w->epoch;
	f->wait = WAIT_NONE;
}

void shmemsimi_park(const void *call)
{
	shmemsimi_count();
	spin(shmemsimi_w.current, 1, call);
}

void shmemsim_spin(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current;
	if (f->kind == KIND_MAIN) {
		main_spins();
		return;
	}
	shmemsimi_count();
	shmemsimi_note_writes();
	f->poll_detector.max_turns = 0; /* the fiber announces its polls: no detection is needed */
	spin(f, f->spun == w->epoch, __builtin_return_address(0));
}

void shmemsimi_yield(const void *call)
{
	shmemsimi_w.current->call = call;
	shmemsimi_w.n_alone = 0;
	shmemsimi_count();
	shmemsimi_switch(next_fiber());
}

void shmemsim_yield(void)
{
	if (shmemsimi_w.current->kind == KIND_MAIN)
		main_spins();
	else
		shmemsimi_yield(__builtin_return_address(0));
}

void shmemsim_sleep(uint64_t ns)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current;
	if (f->kind == KIND_MAIN)
		return;
	f->call = __builtin_return_address(0);
	f->wait = WAIT_SLEEP;
	if (__builtin_add_overflow(time_ns(), ns, &f->wake))
		f->wake = NEVER;
	shmemsimi_count();
	if (!w->sleep.n || f->wake < w->next_wake)
		w->next_wake = f->wake;
	leave_run_queue(f, SLEEPING);
	queue_add(&w->sleep, f);
	shmemsimi_switch(next_fiber());
	f->wait = WAIT_NONE;
}

void shmemsimi_block(int wait)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	f->wait = (uint8_t)wait;
	leave_run_queue(f, BLOCKED);
	shmemsimi_switch(next_fiber());
	f->wait = WAIT_NONE;
}

void shmemsimi_wake(shmemsimi_fiber_t *f)
{
	if (f->kind == KIND_MAIN)
		shmemsimi_w.is_wanted_main = 1;
	else if (f->state == BLOCKED)
		make_runnable(f);
}

void shmemsimi_start(shmemsimi_fiber_t *f)
{
	f->spun = UINT64_MAX;
	if (f->kind != KIND_AGENT)
		shmemsimi_w.n_live++;
	shmemsimi_fiber_create(f);
	make_runnable(f);
}

void shmemsimi_exit(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_fiber_t *f = w->current;
	shmemsimi_release(f->grid ? (void *)&f->grid->live : (void *)&w->n_live);
	leave_run_queue(f, DONE);
	if (f->kind != KIND_AGENT)
		w->n_live--;
	if (f->kind == KIND_LANE)
		shmemsimi_lane_exited(f);
	if (f->kind == KIND_HOST)
		shmemsimi_boot_left(f->pe);
	if (!w->n_live && w->mode == MODE_RUN)
		w->is_wanted_main = 1;
	for (;;)
		shmemsimi_switch(next_fiber());
}

void shmemsimi_loop(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	w->is_wanted_main = 0;
	shmemsimi_crash_begin();
	shmemsimi_switch(next_fiber());
	shmemsimi_crash_end();
	if (w->is_failed)
		shmemsimi_report_fibers();
}

void shmemsimi_sched_begin(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	w->run.n = w->spin.n = w->sleep.n = 0;
	w->main.thread = host_thread;
	w->main.state = RUNNABLE;
	w->main.pe = -1;
	w->n_live = w->n_grids = 0;
	for (int pe = 0; pe < SHMEMSIMI_N_COUNTED; pe++)
		w->n_launches[pe] = 0;
	w->is_failed = w->is_stuck = w->is_wanted_main = w->is_eager = w->is_clock_read = 0;
	w->epoch = w->spin_epoch = 0;
	w->n_starts = w->n_points = 0;
	w->failure = NULL;
	w->steps = w->now = w->idle_since = w->idle_step = 0;
	w->last_step = w->cfg.max_steps;
	w->alarm = NULL;
	w->idle_jumps = 0;
	w->idle_polls = 0;
	w->thread = (unsigned long)pthread_self();
	w->pid = (long)getpid();
	shmemsim_wrote = 0;
	w->n_alone = 0;
	shmemsim_hooks = SHMEMSIMI_HOOK_STEP;
	if (w->cfg.trace || shmemsimi_under_tsan())
		shmemsim_hooks |= SHMEMSIMI_HOOK_MORE;
	shmemsimi_fiber_begin();
}
