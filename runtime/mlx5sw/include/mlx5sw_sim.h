/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The adapter on the CPU emulator: host h is PE h, and the devices are an agent. All their loads
 * and stores go through the emulator, so that its schedules, its clock and its weak memory apply to
 * them.
 *
 * In each run, one PE calls mlx5sw_sim_start before any PE uses the adapter. */
#ifndef MLX5SW_SIM_H
#define MLX5SW_SIM_H

#include <errno.h>
#include <mlx5sw.h>
#include <shmem_sim.h>
#include <string.h>

/* State of the hooks. The caller owns it; it must outlive the adapter's world. */
typedef struct mlx5sw_sim {
	uint32_t is_locked, is_wanted;
	uint32_t chaos; /* MLX5SW_CHAOS_ */
} mlx5sw_sim_t;

static inline uint64_t mlx5sw_sim_now(void *arg)
{
	(void)arg;
	return shmemd_arch_time_ns();
}

static inline unsigned mlx5sw_sim_choose(void *arg, unsigned n)
{
	(void)arg;
	return shmemsim_choose(n);
}

static inline int mlx5sw_sim_host(void *arg)
{
	int pe = shmemsim_pe();
	(void)arg;
	return pe < 0 ? 0 : pe;
}

/* Take a doorbell. The device may read stores that are ordered before it from now on. */
static inline uint64_t mlx5sw_sim_take(void *arg, void *reg)
{
	(void)arg;
	if (shmemd_arch_ld_relaxed_u64(reg) == UINT64_MAX)
		return UINT64_MAX;
	uint64_t v = shmemd_arch_atom_exch_u64(reg, UINT64_MAX);
	shmemd_arch_fence_order();
	return v;
}

/* An atomic is one update in two calls, and no other access occurs in between. With
 * MLX5SW_CHAOS_ATOMIC it is a load and a store, and other threads may run in between. */
static inline void mlx5sw_sim_atomic_load(const mlx5sw_sim_t *s, void *dst, const void *src,
					  size_t nbytes)
{
	uint64_t word;
	shmemd_arch_fence_order();
	if (s->chaos & MLX5SW_CHAOS_ATOMIC)
		word = nbytes == 4 ? shmemd_arch_atom_add_u32((void *)(uintptr_t)src, 0)
				   : shmemd_arch_atom_add_u64((void *)(uintptr_t)src, 0);
	else {
		(void)shmemsim_access(src, (uint32_t)nbytes, SHMEMSIM_RMW, NULL);
		word = nbytes == 4 ? __atomic_load_n((const uint32_t *)src, __ATOMIC_ACQUIRE)
				   : __atomic_load_n((const uint64_t *)src, __ATOMIC_ACQUIRE);
	}
	memcpy(dst, &word, nbytes);
}

static inline void mlx5sw_sim_atomic_store(const mlx5sw_sim_t *s, void *dst, uint64_t word,
					   size_t nbytes)
{
	if (s->chaos & MLX5SW_CHAOS_ATOMIC) {
		shmemd_arch_fence_order();
		if (nbytes == 4)
			shmemd_arch_st_relaxed_u32(dst, (uint32_t)word);
		else
			shmemd_arch_st_relaxed_u64(dst, word);
		return;
	}
	if (nbytes == 4)
		__atomic_store_n((uint32_t *)dst, (uint32_t)word, __ATOMIC_RELEASE);
	else
		__atomic_store_n((uint64_t *)dst, word, __ATOMIC_RELEASE);
	shmemsim_changed(1);
	shmemsim_updated(dst, (uint32_t)nbytes, SHMEMSIM_RMW, 1);
}

/* The largest aligned word, at most nbytes, for the next step of a copy. */
static inline size_t mlx5sw_sim_width(const void *p, size_t nbytes)
{
	uintptr_t at = (uintptr_t)p;
	return at % 8 == 0 && nbytes >= 8 ? 8 : at % 4 == 0 && nbytes >= 4 ? 4 : 1;
}

/* Load n bytes, relaxed. If software must order the data before the doorbell, the device must be
 * able to read exactly one value; otherwise the run fails. A missing fence therefore shows in the
 * first schedule with weak memory that comes here. */
static inline uint64_t mlx5sw_sim_word(const void *p, size_t n, int access)
{
	int is_ordered = access == MLX5SW_WQE || access == MLX5SW_GATHER;
	uint64_t word = 0;
	if (shmemdi_cpu_hooked() &&
	    shmemsim_access(p, (uint32_t)n,
			    SHMEMSIM_LD_RELAXED | (is_ordered ? SHMEMSIM_ORDERED : 0),
			    &word) == SHMEMSIM_GIVEN)
		return word;
	return n == 8   ? __atomic_load_n((const uint64_t *)p, __ATOMIC_RELAXED)
	       : n == 4 ? __atomic_load_n((const uint32_t *)p, __ATOMIC_RELAXED)
			: __atomic_load_n((const uint8_t *)p, __ATOMIC_RELAXED);
}

static inline void mlx5sw_sim_load(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	const uint8_t *from = (const uint8_t *)src;
	uint8_t *to = (uint8_t *)dst;
	if (access == MLX5SW_ATOMIC) {
		mlx5sw_sim_atomic_load((const mlx5sw_sim_t *)arg, dst, src, nbytes);
		return;
	}
	for (size_t n; nbytes; nbytes -= n, from += n, to += n) {
		n = mlx5sw_sim_width(from, nbytes);
		uint64_t word = mlx5sw_sim_word(from, n, access);
		memcpy(to, &word, n); /* little-endian, like the whole emulator */
	}
	if (access == MLX5SW_DBR)
		shmemd_arch_fence_order();
}

/* Store, ordered after the stores of all earlier calls. */
static inline void mlx5sw_sim_store(void *arg, void *dst, const void *src, size_t nbytes,
				    int access)
{
	const uint8_t *from = (const uint8_t *)src;
	uint8_t *to = (uint8_t *)dst;
	uint64_t word = 0;
	if (access == MLX5SW_ATOMIC) {
		memcpy(&word, src, nbytes);
		mlx5sw_sim_atomic_store((const mlx5sw_sim_t *)arg, dst, word, nbytes);
		return;
	}
	shmemd_arch_fence_order();
	for (size_t n; nbytes; nbytes -= n, from += n, to += n) {
		n = mlx5sw_sim_width(to, nbytes);
		memcpy(&word, from, n);
		if (n == 8)
			shmemd_arch_st_relaxed_u64(to, word);
		else if (n == 4)
			shmemd_arch_st_relaxed_u32(to, (uint32_t)word);
		else
			shmemd_arch_st_relaxed_u8(to, (uint8_t)word);
	}
}

/* Fibers switch only inside the emulator, so a test and a set are one step. */
static inline void mlx5sw_sim_lock(void *arg)
{
	mlx5sw_sim_t *s = (mlx5sw_sim_t *)arg;
	while (__atomic_load_n(&s->is_locked, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&s->is_wanted, 1, __ATOMIC_RELAXED);
		shmemd_arch_spin_hint();
	}
	__atomic_store_n(&s->is_locked, 1, __ATOMIC_RELAXED);
}

static inline void mlx5sw_sim_unlock(void *arg)
{
	mlx5sw_sim_t *s = (mlx5sw_sim_t *)arg;
	if (__atomic_load_n(&s->is_wanted, __ATOMIC_RELAXED))
		shmemsim_changed(1); /* pollers may now see a change */
	__atomic_store_n(&s->is_wanted, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->is_locked, 0, __ATOMIC_RELEASE);
}

static inline void mlx5sw_sim_devices(void *arg)
{
	(void)arg;
	for (;;)
		if (!mlx5sw_step())
			shmemd_arch_spin_hint();
}

/* Release the lock if a fiber of the last run held it at its end. */
static inline void mlx5sw_sim_reset_lock(mlx5sw_sim_t *s)
{
	__atomic_store_n(&s->is_locked, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&s->is_wanted, 0, __ATOMIC_RELAXED);
}

/* Begin a new world, and an agent that runs its devices until the run ends.
 *
 * Callers  one PE's main, once in a run.
 * s        zeroed before the first run.
 * Returns  0, or an errno value: of mlx5sw_start; EPERM: the caller is no PE.
 */
static inline int mlx5sw_sim_start(mlx5sw_sim_t *s, const mlx5sw_config_t *cfg)
{
	mlx5sw_hooks_t h;
	mlx5sw_sim_reset_lock(s);
	memset(&h, 0, sizeof(h));
	s->chaos = cfg->chaos;
	h.size = sizeof(h);
	h.arg = s;
	h.now = mlx5sw_sim_now;
	h.choose = mlx5sw_sim_choose;
	h.host = mlx5sw_sim_host;
	h.take = mlx5sw_sim_take;
	h.load = mlx5sw_sim_load;
	h.store = mlx5sw_sim_store;
	h.lock = mlx5sw_sim_lock;
	h.unlock = mlx5sw_sim_unlock;
	int err = mlx5sw_start(cfg, &h);
	return err ? err : shmemsim_agent("mlx5", mlx5sw_sim_devices, NULL) ? EPERM : 0;
}

/* mlx5sw_stop, after the last run. */
static inline void mlx5sw_sim_stop(mlx5sw_sim_t *s)
{
	mlx5sw_sim_reset_lock(s);
	mlx5sw_stop();
}

#endif
