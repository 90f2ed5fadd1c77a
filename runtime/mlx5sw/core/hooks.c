/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Access to memory, time and random choices through the hooks; the default hooks. */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include "mlx5sw/core/core.h"

void mlx5swi_load(void *dst, const void *src, size_t nbytes, int access)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;
	h->load(h->arg, dst, src, nbytes, access);
}

void mlx5swi_store(void *dst, const void *src, size_t nbytes, int access)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;
	h->store(h->arg, dst, src, nbytes, access);
}

uint64_t mlx5swi_take(void *reg)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;
	return h->take(h->arg, reg);
}

uint64_t mlx5swi_now(void)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;
	return h->now(h->arg);
}

unsigned mlx5swi_choose(unsigned n)
{
	const mlx5sw_hooks_t *h = &mlx5swi_w->hooks;
	return n > 1 ? h->choose(h->arg, n) : 0;
}

uint64_t mlx5swi_scaled(uint64_t ns)
{
	uint64_t slow = mlx5swi_w->cfg.slow;
	return ns / 1000 * slow + ns % 1000 * slow / 1000;
}

/* Plain memory, shared with other threads and with GPUs. */

static struct {
	pthread_mutex_t lock;
	uint64_t random;
} plain = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t plain_now(void *arg)
{
	struct timespec t;
	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static unsigned plain_choose(void *arg, unsigned n)
{
	(void)arg;
	plain.random ^= plain.random << 13; /* xorshift64 */
	plain.random ^= plain.random >> 7;
	plain.random ^= plain.random << 17;
	return (unsigned)((plain.random >> 32) % n);
}

static int plain_host(void *arg)
{
	(void)arg;
	return 0;
}

static uint64_t plain_take(void *arg, void *reg)
{
	uint64_t *word = reg;
	(void)arg;
	if (__atomic_load_n(word, __ATOMIC_RELAXED) == MLX5SWI_NO_DOORBELL)
		return MLX5SWI_NO_DOORBELL;
	return __atomic_exchange_n(word, MLX5SWI_NO_DOORBELL, __ATOMIC_ACQUIRE);
}

static void plain_load(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	(void)arg;
	if (nbytes == 8 && access == MLX5SW_ATOMIC) {
		uint64_t v = __atomic_load_n((const uint64_t *)src, __ATOMIC_RELAXED);
		memcpy(dst, &v, sizeof(v));
	} else if (nbytes == 4 && (access == MLX5SW_ATOMIC || access == MLX5SW_DBR)) {
		uint32_t v = __atomic_load_n((const uint32_t *)src, __ATOMIC_ACQUIRE);
		memcpy(dst, &v, sizeof(v));
	} else {
		memcpy(dst, src, nbytes);
	}
}

/* Store aligned words of payload whole, after all earlier stores: a thread that polls a flag may
 * then read what was sent before on the same queue pair. */
static void plain_store(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	(void)arg;
	if (access != MLX5SW_CQE && nbytes == 8 && (uintptr_t)dst % 8 == 0) {
		uint64_t v;
		memcpy(&v, src, sizeof(v));
		__atomic_store_n((uint64_t *)dst, v, __ATOMIC_RELEASE);
	} else if (access != MLX5SW_CQE && nbytes == 4 && (uintptr_t)dst % 4 == 0) {
		uint32_t v;
		memcpy(&v, src, sizeof(v));
		__atomic_store_n((uint32_t *)dst, v, __ATOMIC_RELEASE);
	} else {
		__atomic_thread_fence(__ATOMIC_RELEASE);
		memcpy(dst, src, nbytes);
	}
}

static void plain_lock(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&plain.lock);
}

static void plain_unlock(void *arg)
{
	(void)arg;
	pthread_mutex_unlock(&plain.lock);
}

void mlx5swi_plain_hooks(mlx5sw_hooks_t *hooks)
{
	const mlx5sw_hooks_t h = {
		.size = sizeof(h),
		.now = plain_now,
		.choose = plain_choose,
		.host = plain_host,
		.take = plain_take,
		.load = plain_load,
		.store = plain_store,
		.lock = plain_lock,
		.unlock = plain_unlock,
	};
	plain.random = 0x9e3779b97f4a7c15u;
	*hooks = h;
}
