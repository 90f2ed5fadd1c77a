/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Tests that every PE of a job runs. A test is a function that is called once on each PE. A failed
 * check is recorded, so that all PEs continue to call the same collectives, and asserted in cmocka
 * on the main stack after the test.
 *
 * The same program runs in three ways (examples/common/run.h): as one PE of several processes; with
 * SHMEMSIM_PES=n as n PEs in this process, each test in its own job, first round robin and then on
 * PES_SEEDS random schedules (default 20, fewer under sanitizers); on GPUs.
 *
 * With PES_TEAM a test runs on a team of the job in place of the world: PE numbers and the context
 * are those of the team. `evens`: the even PEs in descending order are one team, the odd ones
 * another; both run the test at the same time. `reversed`: all PEs in descending order. */
#ifndef TESTS_PES_H
#define TESTS_PES_H

#include "run.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PES_STATUS_NELEMS 256
#define PES_ALLOCS_MAX 64

/* One PE in one run of one test. */
typedef struct pes {
	shmemh_t *job;
	shmemd_ctx_t ctx; /* of the team that the test runs on */
	shmemh_team_t team;
	int pe, n_pes; /* in that team */
	int world_pe;
	uint64_t mapped; /* a bit for each PE */
	int is_emulated; /* all PEs in this process; its clock is virtual */
	int is_slow;     /* PES_SLOW=1: each operation by RDMA is slow, so do fewer of one kind */
	uint64_t seed;   /* 0: all sizes; otherwise one random schedule of many: keep it small */
	/* [PES_STATUS_NELEMS] device memory, zeroed: statuses that kernels report */
	int *status;
	int failed;                   /* a check of this PE failed; only the first is printed */
	void *allocs[PES_ALLOCS_MAX]; /* memory of pes_alloc, freed when the test ends */
	void *reads[PES_ALLOCS_MAX];  /* memory of pes_read, freed when the test ends */
	int n_allocs, n_reads;
} pes_t;

#define PES_LIMIT_NS 30000000000ull /* limit of waits that must succeed */

#define PES_SKIP 2 /* a test returns it, on all PEs, after pes_skip */

typedef int (*pes_fn)(pes_t *pes); /* returns 0, 1 (cannot continue; recorded) or PES_SKIP */

typedef struct pes_test {
	const char *name;
	pes_fn fn;
} pes_test_t;

#define PES_TEST(fn)                                                                               \
	{                                                                                          \
#fn, fn                                                                            \
	}

/* Run the tests; with an argument only those whose names match that pattern (* and ?). Returns the
 * exit status of the program: 0, 1, or 77 if every test was skipped. */
int pes_main(int argc, char **argv, const pes_test_t *tests, size_t n_tests);

/* Give the reason for returning PES_SKIP. Returns PES_SKIP. */
int pes_skip(pes_t *pes, const char *reason);

/* Record a difference. Returns 1 if there was one. */
int pes_equal(pes_t *pes, uint64_t got, uint64_t want, const char *what, const char *file,
	      int line);
int pes_true(pes_t *pes, int ok, const char *what, const char *file, int line);

/* Compare bytes and record the first difference, with its offset. Returns 1 if there was one. */
int pes_bytes(pes_t *pes, const void *got, const void *want, size_t nbytes, const char *what,
	      const char *file, int line);

/* Record a status that is not 0, with the job's line of text. Returns 1 if it was not 0. */
int pes_status(pes_t *pes, int status, const char *what, const char *file, int line);

/* Symmetric memory, filled with value on every PE before any PE returns; freed when the test ends.
 * NULL after recording a failure. */
void *pes_alloc(pes_t *pes, size_t nbytes, unsigned char value);

/* Copy of nbytes of device memory in host memory, freed when the test ends. NULL after recording a
 * failure. */
void *pes_read(pes_t *pes, const void *dev, size_t nbytes);

/* Returns whether kernels have the memory of PE pe mapped. The host always has its own. */
int pes_maps(const pes_t *pes, int pe);
int pes_maps_all(const pes_t *pes);

/* Free the memory of pes_alloc and pes_read; the harness calls it after each test. */
void pes_release(pes_t *pes);

/* Wait for the PE's kernels, record words of status that are not 0 (and set them to 0), and wait
 * for all PEs. Returns 0, or 1 after recording if the PEs cannot continue together. */
int pes_finish(pes_t *pes, const char *file, int line);

/* A pattern that differs between neighbours, PEs and runs. */
static inline unsigned char pes_pattern(int pe, size_t i)
{
	return (unsigned char)(((uint32_t)i * 2654435761u >> 13) + (uint32_t)pe * 31u + 7u);
}

#ifdef __cplusplus
}
#endif

/* Continue after a difference. */
#define PES_EQ(pes, got, want)                                                                     \
	pes_equal(pes, (uint64_t)(got), (uint64_t)(want), #got " == " #want, __FILE__, __LINE__)
#define PES_CHECK(pes, cond) pes_true(pes, (cond) != 0, #cond, __FILE__, __LINE__)

/* Leave the test if call fails: nothing after it can work. */
#define PES_TRY(pes, call)                                                                         \
	do {                                                                                       \
		if (pes_status(pes, (call), #call, __FILE__, __LINE__))                            \
			return 1;                                                                  \
	} while (0)

/* Launch a kernel over params.ctx, wait for it and for all PEs. */
#define PES_RUN(pes, kernel, n_blocks, n_threads, params)                                          \
	do {                                                                                       \
		PES_TRY(pes,                                                                       \
			run_device(shmemd_launch(kernel, n_blocks, n_threads, 0, NULL, params)));  \
		if (pes_finish(pes, __FILE__, __LINE__) != 0)                                      \
			return 1;                                                                  \
	} while (0)

#define PES_ALLOC(pes, ptr, type, nelems, value)                                                   \
	do {                                                                                       \
		(ptr) = (type *)pes_alloc(pes, (nelems) * sizeof(type), value);                    \
		if ((ptr) == NULL)                                                                 \
			return 1;                                                                  \
	} while (0)

#endif
