/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_BASE_THREAD_H
#define SHMEMHI_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Start a thread with all signals blocked: signals belong to the program's own threads.
 *
 * name     at most 15 characters; ps -L and debuggers show it.
 * Returns  0 or an errno value. */
static inline int shmemhi_thread_start(pthread_t *thread, const char *name,
				       void *(*main)(void *arg), void *arg)
{
	sigset_t all;
	sigset_t old;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	error = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!error)
		pthread_setname_np(*thread, name);
	return error;
}

#endif
