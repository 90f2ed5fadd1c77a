/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How long traffic stops when a path is lost: a thread of PE 0 puts 8 bytes to PE 1 and waits for
 * them, again and again, and notes its longest wait while
 *   port  the port that PE 0 uses goes down: detected by the port's event; or
 *   cqe   a request fails as if its retries were used up: detected by its CQE.
 * Then how long it took from the failure until all channels of PE 0 had gone on that left their
 * paths: with the port all of them do, those to further PEs and to PE 0 itself too. The NICs are
 * software adapters, by which the failures are made; on hardware the times until a port's event and
 * until retries are used up come first. CPU only; 2 PEs, or more of which the others only wait:
 *
 *     export SHMEMH_DISABLE_P2P=1 SHMEMH_IB_LIBRARY=build/plain/runtime/libshmem_mlx5sw.so.0
 *     SHMEMH_CHANNELS=64 build/plain/runtime/shmem-launch -n 2 build/plain/bench/failover_gap
 *
 * 1,024 channels of PE 0, as a job has them: 64 to each of 16 PEs. 5 tries of each:
 *
 *     SHMEMH_CHANNELS=64 SHMEMH_IB_DEPTH=128 \
 *         build/plain/runtime/shmem-launch -n 16 build/plain/bench/failover_gap 5
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <mlx5sw.h>
#include "run.h"

#define TRIES 100
#define PATIENCE_MS 10000
#define SETTLE_MS 20 /* between two failures */

typedef struct gap_params {
	shmemd_ctx_t ctx;
	uint64_t *word;    /* symmetric; PE 0 writes PE 1's; all ones: the end */
	uint64_t *longest; /* ns; the host sets it to 0 */
	uint64_t *rounds;  /* puts that PE 0 has waited for */
	uint64_t *stop;    /* by the host */
	int *status;
} gap_params_t;

SHMEMD_KERNEL(gap_kernel, gap_params_t, p)
{
	uint64_t n = 0, before = shmemd_arch_time_ns(), now;
	int status = SHMEMD_OK;

	if (shmemd_my_pe(&p.ctx) != 0) {
		*p.status = shmemd_signal_wait_until(&p.ctx, p.word, SHMEMD_CMP_EQ, ~(uint64_t)0);
		return;
	}
	while (status == SHMEMD_OK && !shmemd_arch_ld_relaxed_u64(p.stop)) {
		shmemd_p_u64(&p.ctx, p.word, ++n, 1);
		status = shmemd_quiet(&p.ctx);
		now = shmemd_arch_time_ns();
		if (now - before > shmemd_arch_ld_relaxed_u64(p.longest))
			shmemd_arch_st_relaxed_u64(p.longest, now - before);
		shmemd_arch_st_relaxed_u64(p.rounds, n);
		before = now;
	}
	for (int pe = 1; pe < shmemd_n_pes(&p.ctx); pe++)
		shmemd_p_u64(&p.ctx, p.word, ~(uint64_t)0, pe);
	*p.status = shmemd_quiet(&p.ctx);
}

/* ---- failures ---- */

enum { PORT, CQE, N_CAUSES };

typedef struct series {
	shmemh_t *job;
	const gap_params_t *p;
	int n, is_missing;
	uint64_t *gaps[N_CAUSES];   /* ns: the longest wait */
	uint64_t *totals[N_CAUSES]; /* ns: from the failure until all channels had gone on */
} series_t;

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t switches(const series_t *s, char port[32], uint32_t *qpn)
{
	shmemh_fault_info_t info = {.size = sizeof info};

	shmemh_fault_get(s->job, 1, 0, &info);
	*qpn = info.qpn;
	snprintf(port, 32, "%.31s", info.port);
	port[strcspn(port, ":")] = '\0';
	return info.switches;
}

/* Returns 1 and when the last channel went on after the failure at `begin`; 0: not all have. */
static int have_gone_on(const series_t *s, uint64_t begin, uint64_t *last)
{
	*last = begin;
	for (int pe = 0; pe < shmemh_n_pes(s->job); pe++)
		for (int k = 0; k < shmemh_channels(s->job); k++) {
			shmemh_fault_info_t info = {.size = sizeof info};

			shmemh_fault_get(s->job, pe, k, &info);
			if (info.state == SHMEMH_FAULT_SWITCHING)
				return 0;
			if (info.resumed_at > *last)
				*last = info.resumed_at;
		}
	return 1;
}

static void control(series_t *s, const char *fmt, const char *port, uint32_t qpn)
{
	char line[96], answer[256];

	snprintf(line, sizeof line, fmt, port, qpn);
	if (mlx5sw_control(line, answer, sizeof answer) == 0)
		return;
	fprintf(stderr, "failover_gap: %s: %s\n", line, answer);
	s->is_missing = 1;
}

/* The wait that the failure made longer is over, and noted, two rounds later. Returns ms. */
static int wait_rounds(const series_t *s, int ms)
{
	const uint64_t end = __atomic_load_n(s->p->rounds, __ATOMIC_RELAXED) + 2;

	for (; __atomic_load_n(s->p->rounds, __ATOMIC_RELAXED) < end && ms <= PATIENCE_MS; ms++)
		pause_ms(1);
	return ms;
}

/* The failure number i. */
static void fail_once(series_t *s, int cause, int i, const char *down, const char *up)
{
	char port[32], other[32];
	uint32_t qpn, other_qpn;
	uint64_t before = switches(s, port, &qpn), begin = now_ns(), last = 0;
	int ms = 0;

	__atomic_store_n(s->p->longest, 0, __ATOMIC_RELAXED);
	control(s, down, port, qpn);
	while ((switches(s, other, &other_qpn) == before || !have_gone_on(s, begin, &last)) &&
	       ms++ < PATIENCE_MS)
		pause_ms(1);
	s->is_missing |= wait_rounds(s, ms) > PATIENCE_MS;
	s->gaps[cause][i] = __atomic_load_n(s->p->longest, __ATOMIC_RELAXED);
	s->totals[cause][i] = last - begin;
	if (up)
		control(s, up, port, qpn);
	pause_ms(SETTLE_MS);
}

static void *series_main(void *arg)
{
	series_t *s = arg;

	pause_ms(SETTLE_MS);
	for (int i = 0; i < s->n && !s->is_missing; i++) {
		fail_once(s, PORT, i, "port down %s", "port up %s");
		fail_once(s, CQE, i, "fail wqe %s syndrome=0x15 vendor=0x81 qp=0x%x n=1", NULL);
	}
	__atomic_store_n(s->p->stop, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* ---- results ---- */

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void print(const char *name, const char *what, uint64_t *times, int n)
{
	qsort(times, (size_t)n, sizeof *times, compare);
	printf("%-4s %-12s %4d tries: median %7.2f ms, lowest %7.2f ms, highest %7.2f ms\n", name,
	       what, n, (double)times[n / 2] / 1e6, (double)times[0] / 1e6,
	       (double)times[n - 1] / 1e6);
}

static int measure(shmemh_t *job, gap_params_t p, int n)
{
	series_t s = {.job = job, .p = &p, .n = n};
	int is_sender = shmemh_my_pe(job) == 0;
	pthread_t thread;

	for (int i = 0; i < N_CAUSES; i++) {
		s.gaps[i] = calloc((size_t)n, sizeof *s.gaps[i]);
		s.totals[i] = calloc((size_t)n, sizeof *s.totals[i]);
		if (!s.gaps[i] || !s.totals[i])
			return 1;
	}
	RUN_TRY(job, run_device(shmemd_launch(gap_kernel, 1, 1, 0, NULL, p)));
	if (is_sender)
		RUN_TRY(job, pthread_create(&thread, NULL, series_main, &s));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	if (is_sender)
		pthread_join(thread, NULL);
	RUN_TRY(job, *p.status);
	if (is_sender && s.is_missing) {
		fprintf(stderr,
			"failover_gap: a failure could not be made, or no switch followed\n");
		return 1;
	}
	for (int i = 0; i < N_CAUSES; i++) {
		if (is_sender) {
			print(i == PORT ? "port" : "cqe", "longest wait", s.gaps[i], n);
			print(i == PORT ? "port" : "cqe", "all channels", s.totals[i], n);
		}
		free(s.gaps[i]);
		free(s.totals[i]);
	}
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	gap_params_t p;
	char why[256] = "";

	if (shmemh_n_pes(job) < 2 ||
	    shmemh_fault_policy(job, why, sizeof why) != SHMEMH_FAULT_EXACT) {
		fprintf(stderr, "failover_gap: needs 2 PEs or more and fail-over, which is %s\n",
			why);
		return 1;
	}
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.word));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.longest));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.rounds));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.stop));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.status));
	RUN_TRY(job, shmemh_barrier(job));
	if (shmemh_my_pe(job) == 0)
		printf("%d channels to each of %d PEs\n", shmemh_channels(job), shmemh_n_pes(job));
	return measure(job, p, argc > 1 ? atoi(argv[1]) : TRIES);
}

int main(int argc, char **argv)
{
	setenv("SHMEMH_DEBUG", "error", 0); /* each switch would be a line */
	return run_main(argc, argv, pe_main);
}
