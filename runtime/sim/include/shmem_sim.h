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

/* How the next fiber is chosen. */
enum shmemsim_policy {
	SHMEMSIM_ROUND_ROBIN, /* switch only where a fiber waits or polls, or after 65,536 accesses
				 in a row; only data choices depend on the seed */
	SHMEMSIM_RANDOM,      /* switch at random accesses to a random fiber, by the seed */
	SHMEMSIM_REPLAY,      /* take the choices from a list (shmemsim_choices) */
	SHMEMSIM_PCT,         /* random priorities that change depth - 1 times, by the seed */
	SHMEMSIM_DFS,         /* shmemsim_explore: all schedules with at most bound preemptions */
};

/* Which lanes __activemask() finds converged. */
enum shmemsim_activemask {
	SHMEMSIM_ACTIVE_ALL,     /* all lanes that can arrive */
	SHMEMSIM_ACTIVE_SINGLES, /* each lane alone */
	SHMEMSIM_ACTIVE_RANDOM,  /* a choice at each arrival */
};

#define SHMEMSIM_STRICT_EXIT 1u /* a warp collective that names an exited lane is an error */

/* Configuration of a run or of a search. */
typedef struct shmemsim_config {
	uint32_t size; /* sizeof(shmemsim_config_t) */
	int policy;    /* shmemsim_policy */
	uint64_t seed;
	uint32_t switch_per_256; /* random: accesses in 256, on average, at which the next fiber is
				    drawn (it may be the same one); 0: 8, 16 or 32, by the seed */
	int activemask;          /* shmemsim_activemask */
	uint32_t flags;          /* SHMEMSIM_STRICT_EXIT */
	uint64_t max_steps;      /* fail after so many waits and accesses */
	const uint16_t *replay;  /* replay: the choices of an earlier run */
	size_t n_replay;
	uint32_t depth;  /* pct: number of ordered accesses that a mistake needs, 1 .. 32 */
	uint32_t length; /* pct: accesses of a run; 0: shmemsim_explore learns it, else 1000 */
	uint32_t bound;  /* dfs: preemptions, 0 .. */
	uint32_t trace;  /* last operations that the report of a failed run lists */
	uint32_t weak;   /* 1: loads may return older values where the PTX memory model allows it */
} shmemsim_config_t;

/* All defaults: round robin, seed 1. */
#define SHMEMSIM_CONFIG_INIT                                                                       \
	{                                                                                          \
		sizeof(shmemsim_config_t), SHMEMSIM_ROUND_ROBIN, 1, 0, SHMEMSIM_ACTIVE_ALL, 0,     \
			1000000000u, NULL, 0, 3, 0, 2, 0, 0                                        \
	}

/* Set the fields for which the environment has a variable: SHMEMSIM_POLICY (round_robin, random,
 * pct or dfs), SHMEMSIM_SEED, SHMEMSIM_SWITCH, SHMEMSIM_DEPTH, SHMEMSIM_LENGTH, SHMEMSIM_BOUND,
 * SHMEMSIM_ACTIVEMASK (all, singles or random), SHMEMSIM_WEAK (0 or 1), SHMEMSIM_STRICT_EXIT (0 or
 * 1), SHMEMSIM_TRACE, and SHMEMSIM_REPLAY (a list as a report prints it). Returns 0, or 1 if a
 * value is not usable; shmemsim_report() then has its name. */
SHMEMSIM_API int shmemsim_config_from_env(shmemsim_config_t *cfg);

/* Run pe_main as n_pes host fibers until all have returned and their kernels have ended.
 *
 * Callers  a thread that is not inside the emulator.
 * cfg      NULL: SHMEMSIM_CONFIG_INIT changed by the environment.
 * Returns  0, or 1: a pe_main returned non-zero, deadlock, livelock, max_steps, shmemsim_fail, a
 *          mistake that the emulator found, no memory, or the run was refused. shmemsim_report()
 *          has the reason. A failed run does not free what its fibers have allocated. */
SHMEMSIM_API int shmemsim_run(const shmemsim_config_t *cfg, int n_pes,
			      int (*pe_main)(int pe, int n_pes, void *arg), void *arg);

/* The report of the last failure: its reason and, unless that is the value that a pe_main returned
 * or the run was refused, the place of each fiber, policy and seed. "" if the last run succeeded.
 * Valid until the next call of shmemsim_run, shmemsim_explore or shmemsim_config_from_env. */
SHMEMSIM_API const char *shmemsim_report(void);

/* Bootstrap of the calling PE, for shmemh_attr_t.boot. One job at a time: after close the next
 * call gives a new one. NULL outside of shmemsim_run. Owned by the emulator. */
SHMEMSIM_API const shmemh_boot_t *shmemsim_boot(void);

/* The PE whose pe_main or kernel thread is the caller; -1: an agent, not a fiber, or process
 * mode. */
SHMEMSIM_API int shmemsim_pe(void);

/* Start a fiber that is neither a PE nor a CUDA thread: an adapter, a fault injector. The run does
 * not wait for it. Returns 0, or 1 outside of shmemsim_run. name is copied. */
SHMEMSIM_API int shmemsim_agent(const char *name, void (*fn)(void *arg), void *arg);

/* In process mode, by a thread that is not the emulator's: carry out a pending order to switch a
 * channel (shmem_dev/abi/replay.h), as a kernel of the host would on a GPU. Returns whether it is
 * still pending. */
struct shmemd_ctx;
SHMEMSIM_API int shmemsim_serve(const struct shmemd_ctx *ctx);

/* How many kernels of the calling PE have not ended, without those that an earlier call counted.
 * shmemh_finalize calls it, and prints a line. 0 on a thread that is not the emulator's, and after
 * a failure.
 * name     receives the name of the one that was launched first, if there is one; [nbytes] */
SHMEMSIM_API int shmemsim_unfinished(char *name, size_t nbytes);

/* Returns one of 0 .. n-1, n <= 65535: the only source of random choices. Recorded, and repeated by
 * seed or list. */
SHMEMSIM_API unsigned shmemsim_choose(unsigned n);

/* Let the other fibers run. Poll loops must use shmemd_arch_spin_hint() instead: the emulator
 * counts a yield as work. */
SHMEMSIM_API void shmemsim_yield(void);

/* Let at least ns nanoseconds pass; UINT64_MAX: until the end of the run. Returns at once on the
 * thread that is not a fiber (process mode). */
SHMEMSIM_API void shmemsim_sleep(uint64_t ns);

/* Suspend the calling fiber until the run has executed `step` operations (waits and accesses, as
 * max_steps counts them) or another fiber calls shmemsim_ring. Then it continues before any fiber
 * executes a further operation. Until then the schedule does not depend on `step`, so a caller can
 * put a fault before each operation of one schedule. If another fiber is suspended by this call,
 * the call returns at once. Returns the number of operations of the run so far. */
SHMEMSIM_API uint64_t shmemsim_await_step(uint64_t step);
SHMEMSIM_API void shmemsim_ring(void);

/* End the run as failed; does not return to a fiber. On the thread that is not a fiber (process
 * mode, after the first launch) it records the text, and the next shmemsim_sync returns 1. */
SHMEMSIM_API void shmemsim_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Choices made in the last run, for SHMEMSIM_REPLAY: the policy, then pairs (number of default
 * decisions, option taken). Option 0 is the default: the current fiber continues, the next fiber in
 * turn runs, shmemsim_choose returns 0. After the end of a list all decisions are the default.
 * Valid until the next run: copy the list. */
SHMEMSIM_API size_t shmemsim_choices(const uint16_t **list);

/* Results of shmemsim_explore. */
typedef struct shmemsim_explored {
	uint64_t n_schedules; /* run, the failed one included */
	uint64_t n_steps;     /* waits and accesses of all of them */
	uint64_t ns;          /* processor time, without shrinking */
	uint64_t seed;        /* of the failed schedule */
	/* dfs: all schedules within the bound ran, and none failed; else 0 */
	int is_exhausted;
} shmemsim_explored_t;

/* Run many schedules, with seeds cfg->seed, cfg->seed + 1 and so on (dfs: all with the first seed),
 * until one fails.
 *
 * A failed schedule is shrunk: choices are removed as long as it fails in the same way. The
 * shortest list is then run once more with a trace. shmemsim_report() has the failure, each fiber's
 * place (unless the failure is the value that a pe_main returned), the last cfg->trace operations
 * (0: 100), seed and policy, and the SHMEMSIM_REPLAY list.
 *
 * Callers  as shmemsim_run. pe_main must start from the same state each time: it sets up all memory
 *          that the kernels and agents use.
 * cfg      as shmemsim_run, but NULL without SHMEMSIM_POLICY means random; SHMEMSIM_REPLAY: one
 *          schedule. Round robin makes no choice between fibers, and is refused for more than one
 *          schedule (only shmemsim_choose and weak memory would differ).
 * explored may be NULL.
 * Returns  0: no schedule failed. 1: one did, dfs found that the program does not repeat, or the
 *          configuration was refused. */
SHMEMSIM_API int shmemsim_explore(const shmemsim_config_t *cfg, uint64_t n_schedules, int n_pes,
				  int (*pe_main)(int pe, int n_pes, void *arg), void *arg,
				  shmemsim_explored_t *explored);

/* Set the name of nbytes of memory at p for traces: "name+offset". Static variables need none.
 * Valid until the end of the run; the text must exist as long. Later names hide earlier ones. */
SHMEMSIM_API void shmemsim_name(const void *p, size_t nbytes, const char *name);

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
