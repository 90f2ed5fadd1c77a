/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The thread that runs the devices of a process, unless a scheduler does. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/step.h"

/* Without work the thread yields so many times, then sleeps for SLEEP_NS at a time: other threads
 * share the cores, and a doorbell need not be faster than a system call. With a GPU there are
 * enough cores, and a kernel that waits for each response would pay one or two sleeps for each
 * request: the thread then yields for tens of milliseconds first. */
#define N_YIELDS 256u
#define N_YIELDS_GPU 65536u
#define SLEEP_NS 20000

#define MAX_YIELDS_TO_OTHERS 100

typedef struct mlx5swi_thread {
	pthread_t id;
	pid_t pid; /* of the process that has it: forked children have only this structure */
	int is_wanted_end;
} thread_t;

static unsigned n_yields(void)
{
	return __atomic_load_n(&mlx5swi_w->engine->has_gpus, __ATOMIC_RELAXED) ? N_YIELDS_GPU
									       : N_YIELDS;
}

static void pause_after(unsigned n_idle)
{
	const struct timespec t = {0, SLEEP_NS};
	if (n_idle < n_yields())
		sched_yield();
	else
		nanosleep(&t, NULL);
}

/* Let commands begin between two steps: a mutex favours the thread that has just released it. */
static void let_others_in(void)
{
	for (int i = 0; i < MAX_YIELDS_TO_OTHERS && mlx5swi_lock_is_wanted(); i++)
		sched_yield();
}

static void *main_loop(void *arg)
{
	const thread_t *t = arg;
	unsigned n_idle = 0;
	while (!__atomic_load_n(&t->is_wanted_end, __ATOMIC_RELAXED)) {
		let_others_in();
		n_idle = mlx5sw_step() ? 0 : n_idle + (n_idle < N_YIELDS_GPU);
		if (n_idle)
			pause_after(n_idle);
	}
	return NULL;
}

int mlx5swi_thread_start(void)
{
	thread_t *t = calloc(1, sizeof(*t));
	if (!t)
		return ENOMEM;
	t->pid = getpid();
	mlx5swi_w->engine->thread = t;
	sigset_t all, before;
	sigfillset(&all);
	/* signals are handled by the program's threads */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int err = pthread_create(&t->id, NULL, main_loop, t);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		mlx5swi_w->engine->thread = NULL;
		free(t);
	}
	return err;
}

void mlx5swi_thread_stop(void)
{
	thread_t *t = mlx5swi_w->engine->thread;
	__atomic_store_n(&t->is_wanted_end, 1, __ATOMIC_RELAXED);
	if (t->pid == getpid())
		pthread_join(t->id, NULL);
	mlx5swi_w->engine->thread = NULL;
	free(t);
}
