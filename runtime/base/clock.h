/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Monotonic time and deadlines, in nanoseconds. */
#ifndef SHMEMHI_BASE_CLOCK_H
#define SHMEMHI_BASE_CLOCK_H

#include <limits.h>
#include <stdint.h>
#include <time.h>

#define SHMEMHI_SECOND UINT64_C(1000000000)
#define SHMEMHI_MS UINT64_C(1000000)
#define SHMEMHI_NEVER UINT64_MAX

static inline uint64_t shmemhi_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * SHMEMHI_SECOND + (uint64_t)t.tv_nsec;
}

/* The time ns from now; NEVER if that does not fit. */
static inline uint64_t shmemhi_deadline(uint64_t ns)
{
	uint64_t at;

	return __builtin_add_overflow(shmemhi_now(), ns, &at) ? SHMEMHI_NEVER : at;
}

/* Timeout argument of poll() for a deadline: rounded up, so that the deadline has passed when the
 * poll times out. INT_MAX for one that is further away than that many ms; -1 for NEVER. */
static inline int shmemhi_poll_ms(uint64_t deadline)
{
	uint64_t now = shmemhi_now();
	uint64_t ms;

	if (deadline == SHMEMHI_NEVER)
		return -1;
	if (deadline <= now)
		return 0;
	ms = (deadline - now) / SHMEMHI_MS + 1;
	return ms > INT_MAX ? INT_MAX : (int)ms;
}

#endif
