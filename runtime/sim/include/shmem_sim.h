/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU emulator: kernels written with shmem_dev (or in the CUDA dialect at the end) run as
 * fibers of one OS thread, under sanitizers and under a scheduler whose every choice can be
 * repeated. Two modes:
 *
 *   in one process   shmemsim_run: each PE is a host fiber, the kernels it launches are fibers
 *                    too. Time is virtual; deadlock and livelock end the run with a report.
 *   process mode     no shmemsim_run: the first launch starts the emulator in the calling thread
 *                    and the other PEs are other processes. Time is CLOCK_MONOTONIC.
 *
 * Only one OS thread of a process may use the emulator; launches from a second one are refused. */
#ifndef SHMEM_SIM_H
#define SHMEM_SIM_H

#include <shmem_dev/arch/cpu.h>
#include <shmem_host/boot.h>

#ifdef __cplusplus
extern "C" {
#endif

enum shmemsim_policy {
	SHMEMSIM_ROUND_ROBIN, /* switch only where a fiber waits: fast, always the same */
	SHMEMSIM_RANDOM,      /* switch at random accesses to a random fiber, by the seed */
	SHMEMSIM_REPLAY,      /* take the choices from a list (shmemsim_choices) */
};

/* Which lanes __activemask() finds converged. */
enum shmemsim_activemask {
	SHMEMSIM_ACTIVE_ALL,     /* all that can come */
	SHMEMSIM_ACTIVE_SINGLES, /* each lane alone */
	SHMEMSIM_ACTIVE_RANDOM,  /* a choice at each arrival */
};

#define SHMEMSIM_STRICT_EXIT 1u /* a warp collective that names an exited lane is an error */

typedef struct shmemsim_config {
	uint32_t size; /* sizeof(shmemsim_config_t) */
	int policy;    /* shmemsim_policy */
	uint64_t seed;
	uint32_t switch_per_256; /* random: mean switches in 256 accesses, 0 .. 256 */
	int activemask;          /* shmemsim_activemask */
	uint32_t flags;          /* SHMEMSIM_STRICT_EXIT */
	uint64_t max_steps;      /* fail after so many waits and, under random, accesses */
	const uint16_t *replay;  /* replay: the choices of an earlier run */
	size_t n_replay;
} shmemsim_config_t;

#define SHMEMSIM_CONFIG_INIT                                                                       \
	{                                                                                          \
		sizeof(shmemsim_config_t), SHMEMSIM_ROUND_ROBIN, 1, 64, SHMEMSIM_ACTIVE_ALL, 0,    \
			1000000000u, NULL, 0                                                       \
	}

/* Set policy, seed, switch_per_256 and activemask from SHMEMSIM_POLICY (round_robin or random),
 * SHMEMSIM_SEED, SHMEMSIM_SWITCH and SHMEMSIM_ACTIVEMASK (all, singles or random).
 * Returns 0, or 1 if one has an unusable value; shmemsim_report() then names it. */
SHMEMSIM_API int shmemsim_config_from_env(shmemsim_config_t *cfg);

/* Run pe_main as n_pes host fibers until all have returned and their kernels have ended.
 *
 * Callers  a thread that is not itself inside the emulator.
 * cfg      NULL: SHMEMSIM_CONFIG_INIT changed by the environment.
 * Returns  0, or 1: a pe_main returned non-zero, deadlock, livelock, shmemsim_fail, a warp
 *          collective used wrongly. shmemsim_report() tells. A run that failed leaves its fibers
 *          where they were: what they had allocated is not freed.
 */
SHMEMSIM_API int shmemsim_run(const shmemsim_config_t *cfg, int n_pes,
			      int (*pe_main)(int pe, int n_pes, void *arg), void *arg);

/* Text on the last failure: what, where each fiber is, policy and seed. "" after a good run. Valid
 * until the next run. */
SHMEMSIM_API const char *shmemsim_report(void);

/* Bootstrap of the calling PE, for shmemh_attr_t.boot. One job at a time: after close the next
 * call gives a new one. NULL outside of shmemsim_run. Owned by the emulator. */
SHMEMSIM_API const shmemh_boot_t *shmemsim_boot(void);

/* Start a fiber that is no PE and no CUDA thread: an adapter, an injector of faults. The run does
 * not wait for it. Returns 0, or 1 outside of shmemsim_run. name: copied. */
SHMEMSIM_API int shmemsim_agent(const char *name, void (*fn)(void *arg), void *arg);

/* One of 0 .. n-1, n <= 65535: the only source of chance. Recorded, repeated by seed or list. */
SHMEMSIM_API unsigned shmemsim_choose(unsigned n);

/* Let the other fibers run. Not for poll loops: those use shmemd_arch_spin_hint(), or the emulator
 * sees work where there is only waiting. */
SHMEMSIM_API void shmemsim_yield(void);

/* Let at least ns nanoseconds pass. */
SHMEMSIM_API void shmemsim_sleep(uint64_t ns);

/* End the run as failed, from any fiber; does not return there. On the thread that is no fiber
 * (process mode) it only notes the text, and the next shmemsim_sync returns 1. */
SHMEMSIM_API void shmemsim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Choices made in the last run, for SHMEMSIM_REPLAY. Valid until the next run: copy the list. */
SHMEMSIM_API size_t shmemsim_choices(const uint16_t **list);

/* shmemsim_launch with three-dimensional grid and block: {x, y, z}. */
SHMEMSIM_API int shmemsim_launch_3d(void (*kernel)(const void *params), const void *params,
				    size_t params_nbytes, const uint32_t grid_dim[3],
				    const uint32_t block_dim[3], size_t shared_nbytes,
				    void *stream);

#ifdef __cplusplus
}
#endif

#ifdef SHMEMSIM_CUDA_DIALECT
#include <shmem_sim_cuda.h>
#endif

#endif
