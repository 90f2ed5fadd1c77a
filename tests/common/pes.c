/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mocka.h"
#include "pes.h"
#include "sanitized.h"
#ifndef __CUDACC__
#include <shmem_sim.h>
#endif

/* The program; cmocka passes it to the tests as their initial state. */
typedef struct program {
	pes_t pes; /* this process's PE, for the life of the program; not used for emulated PEs */
	int n_emulated;
	int n_seeds; /* random schedules for each test */
	int n_skipped;
} program_t;

typedef struct one_test {
	program_t *program;
	const pes_test_t *test;
} one_test_t;

/* 0: passed on all PEs; otherwise the bits that any PE has set. */
enum { FAILED = 1, SKIPPED = 2 };

#define DEFAULT_SEEDS (SANITIZED ? 2 : 20)

/* Record a failure. Only the first failure of a PE is printed. */
static void record_failure(pes_t *pes, const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void record_failure(pes_t *pes, const char *file, int line, const char *fmt, ...)
{
	char text[512];
	va_list args;

	if (pes->failed)
		return;
	pes->failed = 1;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fprintf(stderr, "%s:%d: PE %d of %d, seed %llu: %s\n", file, line, pes->pe, pes->n_pes,
		(unsigned long long)pes->seed, text);
}

int pes_equal(pes_t *pes, uint64_t got, uint64_t want, const char *what, const char *file, int line)
{
	if (got == want)
		return 0;
	record_failure(pes, file, line, "%s: %#llx (%lld) == %#llx (%lld)", what,
		       (unsigned long long)got, (long long)got, (unsigned long long)want,
		       (long long)want);
	return 1;
}

int pes_true(pes_t *pes, int ok, const char *what, const char *file, int line)
{
	if (ok)
		return 0;
	record_failure(pes, file, line, "not true: %s", what);
	return 1;
}

int pes_bytes(pes_t *pes, const void *got, const void *want, size_t nbytes, const char *what,
	      const char *file, int line)
{
	const unsigned char *g = (const unsigned char *)got, *w = (const unsigned char *)want;
	size_t i;

	for (i = 0; i < nbytes && g[i] == w[i]; i++)
		;
	if (i == nbytes)
		return 0;
	record_failure(pes, file, line, "%s: byte %zu of %zu: %#x == %#x", what, i, nbytes, g[i],
		       w[i]);
	return 1;
}

int pes_status(pes_t *pes, int status, const char *what, const char *file, int line)
{
	if (status == 0)
		return 0;
	record_failure(pes, file, line, "%s: %d (%s): %s", what, status, run_status_text(status),
		       shmemh_error_text(pes->job));
	return 1;
}

int pes_skip(pes_t *pes, const char *reason)
{
	if (pes->world_pe == 0 && pes->seed == 0)
		printf("skipped: %s\n", reason);
	return PES_SKIP;
}

void *pes_alloc(pes_t *pes, size_t nbytes, unsigned char value)
{
	void *host = malloc(nbytes), *dev = NULL;

	if (host == NULL || pes->n_allocs == PES_ALLOCS_MAX) {
		record_failure(pes, __FILE__, __LINE__,
			       "%zu bytes: no host memory, or over %d buffers", nbytes,
			       PES_ALLOCS_MAX);
		free(host);
		return NULL;
	}
	memset(host, value, nbytes);
	if (pes_status(pes, shmemh_malloc(pes->job, nbytes, &dev), "pes_alloc", __FILE__,
		       __LINE__) == 0) {
		pes->allocs[pes->n_allocs++] = dev;
		if (pes_status(pes, run_copy(dev, host, nbytes), "pes_alloc", __FILE__, __LINE__) ||
		    pes_status(pes, shmemh_barrier(pes->job), "pes_alloc", __FILE__, __LINE__))
			dev = NULL;
	}
	free(host);
	return dev;
}

void *pes_read(pes_t *pes, const void *dev, size_t nbytes)
{
	void *host = malloc(nbytes);

	if (host == NULL || pes->n_reads == PES_ALLOCS_MAX ||
	    pes_status(pes, run_copy(host, dev, nbytes), "pes_read", __FILE__, __LINE__)) {
		record_failure(pes, __FILE__, __LINE__,
			       "%zu bytes: no host memory, or over %d buffers", nbytes,
			       PES_ALLOCS_MAX);
		free(host);
		return NULL;
	}
	pes->reads[pes->n_reads++] = host;
	return host;
}

int pes_maps(const pes_t *pes, int pe)
{
	return (int)(pes->mapped >> pe & 1);
}

int pes_maps_all(const pes_t *pes)
{
	int pe = 0;

	while (pe < pes->n_pes && pes_maps(pes, pe))
		pe++;
	return pe == pes->n_pes;
}

void pes_release(pes_t *pes)
{
	while (pes->n_reads > 0)
		free(pes->reads[--pes->n_reads]);
	while (pes->n_allocs > 0)
		pes_status(pes, shmemh_free(pes->job, pes->allocs[--pes->n_allocs]), "free",
			   __FILE__, __LINE__);
}

int pes_finish(pes_t *pes, const char *file, int line)
{
	static const int zero[PES_STATUS_NELEMS] = {0};
	int status[PES_STATUS_NELEMS], i;
	shmemd_error_t err;
	char text[256] = "";

	pes_status(pes, run_device(shmemd_stream_sync(NULL)), "kernel", file, line);
	pes_status(pes, run_copy(status, pes->status, sizeof(status)), "kernel", file, line);
	for (i = 0; i < PES_STATUS_NELEMS && status[i] == 0; i++)
		;
	if (i < PES_STATUS_NELEMS) {
		if (shmemh_error_get(pes->job, &err) != 0)
			shmemh_error_format(&err, text, sizeof(text));
		record_failure(pes, file, line, "the kernel reports status[%d] = %d (%s) %s", i,
			       status[i], shmemh_strerror(status[i]), text);
		run_copy(pes->status, zero, sizeof(zero));
	}
	return pes_status(pes, shmemh_barrier(pes->job), "barrier after the kernel", file, line);
}

/* Make the team of $PES_TEAM. */
static int split(pes_t *pes, const char *how)
{
	int n = pes->n_pes, stride = strcmp(how, "reversed") == 0 ? 1 : 2, of;
	shmemh_team_t made;

	if (pes_true(pes, stride == 1 || strcmp(how, "evens") == 0, "PES_TEAM is evens or reversed",
		     __FILE__, __LINE__) ||
	    pes_true(pes, n % stride == 0, "an even number of PEs", __FILE__, __LINE__))
		return 1;
	for (of = stride - 1; of >= 0; of--) {
		PES_TRY(pes, shmemh_team_split_strided(pes->job, SHMEMH_TEAM_WORLD, n - 1 - of,
						       -stride, n / stride, &made));
		if (made != SHMEMH_TEAM_INVALID)
			pes->team = made;
	}
	pes->pe = shmemh_team_my_pe(pes->job, pes->team);
	pes->n_pes = shmemh_team_n_pes(pes->job, pes->team);
	return 0;
}

/* Set up what a PE's tests use, on top of its job. */
static int open_pe(pes_t *pes)
{
	const char *slow = getenv("PES_SLOW"), *team = getenv("PES_TEAM");
	shmemd_peer_t peers[64];
	int pe;

	pes->is_slow = slow != NULL && strcmp(slow, "1") == 0;
	pes->pe = pes->world_pe = shmemh_my_pe(pes->job);
	pes->n_pes = shmemh_n_pes(pes->job);
	if (pes_true(pes, pes->n_pes <= 64, "at most 64 PEs", __FILE__, __LINE__))
		return 1;
	if (team != NULL && split(pes, team))
		return 1;
	PES_TRY(pes, shmemh_ctx_get(pes->job, pes->team, &pes->ctx));
	PES_TRY(pes, run_copy(peers, pes->ctx.peers, (size_t)pes->n_pes * sizeof(*peers)));
	for (pe = 0; pe < pes->n_pes; pe++)
		pes->mapped |= (uint64_t)(peers[pe].base != NULL) << pe;
	PES_TRY(pes,
		shmemh_calloc(pes->job, PES_STATUS_NELEMS, sizeof(int), (void **)&pes->status));
	return 0;
}

/* Run a test on this PE and free its memory. */
static int call_test(pes_t *pes, pes_fn fn)
{
	int result;

	pes->failed = 0;
	result = fn(pes);
	pes_release(pes);
	if (result == 1 && !pes->failed)
		record_failure(pes, __FILE__, __LINE__,
			       "the test returned early without a failed check");
	return pes->failed ? FAILED : result == PES_SKIP ? SKIPPED : 0;
}

/* One process is one PE: run the test, then combine the results of all PEs. */
static int run_process(program_t *program, const pes_test_t *test)
{
	pes_t *pes = &program->pes;
	int mine = call_test(pes, test->fn), all = 0, n = shmemh_n_pes(pes->job), pe;
	int *results = (int *)calloc((size_t)n, sizeof(*results));

	if (results == NULL ||
	    pes_status(pes, shmemh_allgather(pes->job, &mine, results, sizeof(mine)), test->name,
		       __FILE__, __LINE__))
		mine |= FAILED;
	for (pe = 0; results != NULL && pe < n; pe++)
		all |= results[pe];
	free(results);
	return mine | all;
}

#ifndef __CUDACC__

typedef struct emulated {
	const pes_test_t *test;
	uint64_t seed;
	int result; /* of all PEs, combined by OR */
} emulated_t;

static int emulated_pe(int pe, int n_pes, void *arg)
{
	emulated_t *run = (emulated_t *)arg;
	pes_t *pes = (pes_t *)calloc(1, sizeof(*pes)); /* fibers have small stacks */
	int status;

	(void)n_pes;
	if (pes == NULL || run_join(shmemsim_boot(), &pes->job) != SHMEMH_OK) {
		run->result |= FAILED;
		free(pes);
		return 1;
	}
	pes->is_emulated = 1;
	pes->seed = run->seed;
	pes->pe = pe;
	run->result |= open_pe(pes) != 0 ? FAILED : call_test(pes, run->test->fn);
	status = shmemh_finalize(pes->job);
	if (pes_status(pes, status, "shmemh_finalize", __FILE__, __LINE__))
		run->result |= FAILED;
	free(pes);
	return 0;
}

/* All PEs in this process: round robin, then on random schedules, until a test fails. */
static int run_emulated(const program_t *program, const pes_test_t *test)
{
	emulated_t run = {test, 0, 0};
	int i;

	for (i = 0; i <= program->n_seeds && run.result == 0; i++) {
		shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;

		cfg.policy = i == 0 ? SHMEMSIM_ROUND_ROBIN : SHMEMSIM_RANDOM;
		cfg.seed = (uint64_t)i;
		run.seed = (uint64_t)i;
		if (shmemsim_config_from_env(&cfg) != 0 || /* for SHMEMSIM_WEAK=1 and others */
		    run_emulate(&cfg, program->n_emulated, emulated_pe, &run) != 0) {
			fprintf(stderr, "%s failed, seed %d\n", test->name, i);
			run.result |= FAILED;
		}
	}
	return run.result;
}

#else

static int run_emulated(const program_t *program, const pes_test_t *test)
{
	(void)program, (void)test;
	return FAILED;
}

#endif

static int run_one(program_t *program, const pes_test_t *test)
{
	return program->n_emulated > 0 ? run_emulated(program, test) : run_process(program, test);
}

static void cmocka_test(void **state)
{
	const one_test_t *one = (const one_test_t *)*state;
	int result = run_one(one->program, one->test);

	if (result & FAILED)
		fail_msg("%s failed", one->test->name);
	if (result & SKIPPED) {
		one->program->n_skipped++;
		skip();
	}
}

/* The PE that prints runs the tests through cmocka. Returns the number of failed tests. */
static int run_cmocka(program_t *program, const pes_test_t *tests, size_t n_tests)
{
	struct CMUnitTest *units = (struct CMUnitTest *)calloc(n_tests + 1, sizeof(*units));
	one_test_t *ones = (one_test_t *)calloc(n_tests + 1, sizeof(*ones));
	int n_failed = 1;
	size_t i;

	for (i = 0; units != NULL && ones != NULL && i < n_tests; i++) {
		ones[i].program = program;
		ones[i].test = &tests[i];
		units[i].name = tests[i].name;
		units[i].test_func = cmocka_test;
		units[i].initial_state = &ones[i];
	}
	if (units != NULL && ones != NULL)
		n_failed = _cmocka_run_group_tests("pes", units, n_tests, NULL, NULL);
	free(units);
	free(ones);
	return n_failed;
}

/* The other PEs run the same tests in step. Returns the number of failed tests. */
static int run_silent(program_t *program, const pes_test_t *tests, size_t n_tests)
{
	int n_failed = 0, result;
	size_t i;

	for (i = 0; i < n_tests; i++) {
		result = run_one(program, &tests[i]);
		n_failed += (result & FAILED) != 0;
		program->n_skipped += result == SKIPPED;
	}
	return n_failed;
}

/* Join once for all tests, unless they are emulated. Returns 0, or 1 after printing a line. */
static int open_program(program_t *program)
{
	const char *seeds = getenv("PES_SEEDS");

	setenv("SHMEMH_DEBUG", "off", 0); /* failures are recorded with their text */
	program->n_seeds = seeds == NULL ? DEFAULT_SEEDS : atoi(seeds);
	program->n_emulated = run_emulated_pes();
	if (program->n_emulated != 0)
		return program->n_emulated < 0;
	if (run_pick_gpu() != 0 || run_join(NULL, &program->pes.job) != SHMEMH_OK)
		return 1;
	return open_pe(&program->pes);
}

int pes_main(int argc, char **argv, const pes_test_t *tests, size_t n_tests)
{
	program_t *program = (program_t *)calloc(1, sizeof(*program));
	pes_test_t *wanted = (pes_test_t *)calloc(n_tests, sizeof(*wanted));
	size_t n_wanted = 0, i;
	int failed = 1, status;

	for (i = 0; wanted != NULL && i < n_tests; i++) {
		if (argc < 2 || fnmatch(argv[1], tests[i].name, 0) == 0)
			wanted[n_wanted++] = tests[i];
	}
	if (program != NULL && n_wanted > 0 && open_program(program) == 0) {
		failed = program->pes.world_pe == 0 ? run_cmocka(program, wanted, n_wanted)
						    : run_silent(program, wanted, n_wanted);
		status = shmemh_finalize(program->pes.job);
		if (status != SHMEMH_OK)
			failed |= run_failed(NULL, "shmemh_finalize", status, __FILE__, __LINE__);
		if (failed == 0 && program->n_skipped == (int)n_wanted)
			failed = 77;
		else
			failed = failed != 0;
	} else if (n_wanted == 0) {
		fprintf(stderr, "no test is named %s\n", argc < 2 ? "" : argv[1]);
	}
	free(wanted);
	free(program);
	return failed;
}
