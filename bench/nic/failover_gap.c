/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How long traffic stops when a path is lost: a thread of PE 0 puts 8 bytes to PE 1 and waits for
 * them, again and again, and notes its longest wait while
 *   port  the port that PE 0 uses goes down: detected by the port's event; or
 *   cqe   a request fails as if its retries were used up: detected by its CQE.
 * The NICs are software adapters, by which the failures are made; on hardware the times until a
 * port's event and until retries are used up come first. CPU only:
 *
 *     SHMEMH_DISABLE_P2P=1 SHMEMH_IB_LIBRARY=build/plain/runtime/libshmem_mlx5sw.so.0 \
 *         build/plain/runtime/shmem-launch -n 2 build/plain/bench/failover_gap [tries]
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
#define SETTLE_MS 20 /* between two failures, and after the switch */

typedef struct gap_params {
	shmemd_ctx_t ctx;
	uint64_t *word;    /* symmetric; PE 0 writes PE 1's; all ones: the end */
	uint64_t *longest; /* ns; the host sets it to 0 */
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
		before = now;
	}
	shmemd_p_u64(&p.ctx, p.word, ~(uint64_t)0, 1);
	*p.status = shmemd_quiet(&p.ctx);
}

/* ---- failures ---- */

typedef struct series {
	shmemh_t *job;
	const gap_params_t *p;
	int n, is_missing;
	uint64_t *gaps[2]; /* port, cqe */
} series_t;

static void pause_ms(long ms)
{
	const struct timespec time = {.tv_nsec = ms * 1000000};

	nanosleep(&time, NULL);
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

static void control(series_t *s, const char *fmt, const char *port, uint32_t qpn)
{
	char line[96], answer[256];

	snprintf(line, sizeof line, fmt, port, qpn);
	if (mlx5sw_control(line, answer, sizeof answer) == 0)
		return;
	fprintf(stderr, "failover_gap: %s: %s\n", line, answer);
	s->is_missing = 1;
}

/* One failure; returns the longest wait. */
static uint64_t fail_once(series_t *s, const char *down, const char *up)
{
	char port[32], other[32];
	uint32_t qpn, other_qpn;
	uint64_t before = switches(s, port, &qpn), gap;

	__atomic_store_n(s->p->longest, 0, __ATOMIC_RELAXED);
	control(s, down, port, qpn);
	for (int ms = 0; switches(s, other, &other_qpn) == before && ms < PATIENCE_MS; ms++)
		pause_ms(1);
	s->is_missing |= switches(s, other, &other_qpn) == before;
	pause_ms(SETTLE_MS);
	gap = __atomic_load_n(s->p->longest, __ATOMIC_RELAXED);
	if (up)
		control(s, up, port, qpn);
	pause_ms(SETTLE_MS);
	return gap;
}

static void *series_main(void *arg)
{
	series_t *s = arg;

	pause_ms(SETTLE_MS);
	for (int i = 0; i < s->n && !s->is_missing; i++) {
		s->gaps[0][i] = fail_once(s, "port down %s", "port up %s");
		s->gaps[1][i] =
			fail_once(s, "fail wqe %s syndrome=0x15 vendor=0x81 qp=0x%x n=1", NULL);
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

static void print(const char *name, uint64_t *gaps, int n)
{
	qsort(gaps, (size_t)n, sizeof *gaps, compare);
	printf("%-5s %4d tries: median %7.2f ms, lowest %7.2f ms, highest %7.2f ms\n", name, n,
	       (double)gaps[n / 2] / 1e6, (double)gaps[0] / 1e6, (double)gaps[n - 1] / 1e6);
}

static int measure(shmemh_t *job, gap_params_t p, int n)
{
	series_t s = {.job = job, .p = &p, .n = n};
	int is_sender = shmemh_my_pe(job) == 0;
	pthread_t thread;

	for (int i = 0; i < 2; i++)
		s.gaps[i] = calloc((size_t)n, sizeof *s.gaps[i]);
	if (!s.gaps[0] || !s.gaps[1])
		return 1;
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
	if (is_sender) {
		print("port", s.gaps[0], n);
		print("cqe", s.gaps[1], n);
	}
	free(s.gaps[0]);
	free(s.gaps[1]);
	return 0;
}

static int pe_main(shmemh_t *job, int argc, char **argv)
{
	gap_params_t p;
	char why[256] = "";

	if (shmemh_n_pes(job) != 2 ||
	    shmemh_fault_policy(job, why, sizeof why) != SHMEMH_FAULT_EXACT) {
		fprintf(stderr, "failover_gap: needs 2 PEs and fail-over, which is %s\n", why);
		return 1;
	}
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.word));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.longest));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.stop));
	RUN_TRY(job, shmemh_calloc(job, 1, 64, (void **)&p.status));
	RUN_TRY(job, shmemh_barrier(job));
	return measure(job, p, argc > 1 ? atoi(argv[1]) : TRIES);
}

int main(int argc, char **argv)
{
	setenv("SHMEMH_DEBUG", "error", 0); /* each switch would be a line */
	return run_main(argc, argv, pe_main);
}
