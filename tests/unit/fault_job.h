/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Two job handles with agents, in one process and stepped by the test. The transport does every
 * action at once; faults are those that the test injects. */
#ifndef TESTS_UNIT_FAULT_JOB_H
#define TESTS_UNIT_FAULT_JOB_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <pthread.h>
#include <unistd.h>
#include "base/clock.h"
#include "fault/state.h"

#define N_PES 2
#define N_CHANNELS 3u

/* A PE. Its home port is mlx5_0:1; paths with odd numbers use the stand-by, mlx5_1:1. */
typedef struct fault_pe {
	shmemh_t job;
	shmemhi_switch_event_t event; /* kind -1: none */
	shmemhi_fault_cause_t cause;
	uint32_t k;
	int n_left; /* event is also one of so many following channels */
	bool is_blocked;
} fault_pe_t;

static fault_pe_t fault_pes[N_PES];

/* Collectives of two threads. */
static pthread_barrier_t fault_barrier;
static unsigned char fault_shares[N_PES][1 << 12];

static int fault_allgather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
			   size_t errbuf_nbytes)
{
	const int pe = (int)((fault_pe_t *)state - fault_pes);

	(void)errbuf, (void)errbuf_nbytes;
	memcpy(fault_shares[pe], src, nbytes);
	pthread_barrier_wait(&fault_barrier);
	for (int i = 0; i < N_PES; i++)
		memcpy((char *)dst + (size_t)i * nbytes, fault_shares[i], nbytes);
	pthread_barrier_wait(&fault_barrier);
	return SHMEMH_OK;
}

static bool fault_reaches(void *self, int pe)
{
	return self != &fault_pes[pe];
}

static bool fault_execute(void *self, int pe, uint32_t k, const shmemhi_switch_action_t *a,
			  shmemhi_switch_event_t *result)
{
	static const int results[] = {
		[SHMEMHI_ACT_STOP] = SHMEMHI_EV_STOPPED,
		[SHMEMHI_ACT_DRAIN] = SHMEMHI_EV_DRAINED,
		[SHMEMHI_ACT_FLUSH] = SHMEMHI_EV_FLUSHED,
		[SHMEMHI_ACT_QUERY] = SHMEMHI_EV_QUERIED,
		[SHMEMHI_ACT_PREPARE] = SHMEMHI_EV_PREPARED,
		[SHMEMHI_ACT_CONNECT] = SHMEMHI_EV_CONNECTED,
		[SHMEMHI_ACT_ORDER] = SHMEMHI_EV_CARRIED_OUT,
		[SHMEMHI_ACT_END] = SHMEMHI_EV_CARRIED_OUT,
	};

	(void)pe, (void)k;
	if (a->kind == SHMEMHI_ACT_PREPARE && ((fault_pe_t *)self)->is_blocked)
		return false;
	result->kind = results[a->kind];
	if (a->kind == SHMEMHI_ACT_ORDER)
		result->value = SHMEMHI_FAULT_CARRIED(17, 1);
	return true;
}

static bool fault_next_event(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			     shmemhi_fault_cause_t *cause)
{
	fault_pe_t *p = self;

	if (p->event.kind < 0)
		return false;
	*pe = 1 - (int)(p - fault_pes);
	*k = p->k++;
	*event = p->event;
	*cause = p->cause;
	if (p->n_left-- == 0)
		p->event.kind = -1;
	return true;
}

static bool fault_is_never_stuck(void *self)
{
	(void)self;
	return false;
}

static bool fault_is_in_error(void *self, int pe, uint32_t k, uint32_t path)
{
	(void)self, (void)pe, (void)k, (void)path;
	return false;
}

static void fault_pack(void *self, int pe, uint32_t k, uint32_t path, uint64_t endpoint,
		       unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	(void)self, (void)pe, (void)k, (void)path, (void)endpoint;
	memset(bytes, 1, SHMEMHI_FAULT_OFFER_NBYTES);
}

static uint64_t fault_unpack(void *self, int pe, uint32_t k, uint32_t path,
			     const unsigned char bytes[SHMEMHI_FAULT_OFFER_NBYTES])
{
	(void)self, (void)pe, (void)k, (void)path;
	return bytes[0];
}

static void fault_describe(void *self, int pe, uint32_t k, uint32_t path, shmemhi_fault_path_t *out)
{
	const int own = (int)((fault_pe_t *)self - fault_pes);

	snprintf(out->port, sizeof out->port, "mlx5_%u:1", path % 2);
	snprintf(out->peer_port, sizeof out->peer_port, "mlx5_%u:1", path % 2);
	snprintf(out->address, sizeof out->address, "10.0.%u.%d", path % 2, own);
	snprintf(out->peer_address, sizeof out->peer_address, "10.0.%u.%d", path % 2, pe);
	out->qpn = 0x100 * (uint32_t)own + 0x10 * k + path;
	out->peer_qpn = 0x100 * (uint32_t)pe + 0x10 * k + path;
	out->is_standby = path % 2;
	out->has_counts = 1;
	out->posted = 1000;
	out->completed = 990;
}

static const shmemhi_fault_ops_t fault_ops = {.reaches = fault_reaches,
					      .is_needed = fault_reaches,
					      .execute = fault_execute,
					      .next_event = fault_next_event,
					      .is_order_stuck = fault_is_never_stuck,
					      .is_in_error = fault_is_in_error,
					      .pack = fault_pack,
					      .unpack = fault_unpack,
					      .describe = fault_describe};

static void *open_main(void *arg)
{
	fault_pe_t *p = arg;

	return (void *)(intptr_t)shmemhi_fault_agent_open(&p->job, N_CHANNELS, &fault_ops, p);
}

/* metrics: SHMEMH_FT_METRICS. */
static void open_jobs(const char *metrics)
{
	pthread_t threads[N_PES];
	void *status;

	pthread_barrier_init(&fault_barrier, NULL, N_PES);
	memset(fault_pes, 0, sizeof fault_pes);
	for (int pe = 0; pe < N_PES; pe++) {
		shmemh_t *job = &fault_pes[pe].job;

		fault_pes[pe].event.kind = -1;
		job->pid = getpid();
		job->pe = pe;
		job->n_pes = N_PES;
		job->log = (shmemhi_log_t){SHMEMHI_WARN, pe, N_PES};
		job->opt.ft_giveup_ns = 30 * SHMEMHI_SECOND;
		snprintf(job->opt.ifname, sizeof job->opt.ifname, "lo");
		snprintf(job->opt.ft_metrics, sizeof job->opt.ft_metrics, "%s", metrics);
		job->boot.state = &fault_pes[pe];
		job->boot.allgather = fault_allgather;
		job->statuses = calloc(N_PES, sizeof *job->statuses);
		job->texts = calloc(N_PES, sizeof *job->texts);
		job->causes = calloc(N_PES, sizeof *job->causes);
		job->is_unreachable = calloc(N_PES, sizeof *job->is_unreachable);
		pthread_create(&threads[pe], NULL, open_main, &fault_pes[pe]);
	}
	for (int pe = 0; pe < N_PES; pe++) {
		pthread_join(threads[pe], &status);
		assert_int_equal((intptr_t)status, SHMEMH_OK);
	}
}

static void close_jobs(void)
{
	for (int pe = 0; pe < N_PES; pe++) {
		shmemh_t *job = &fault_pes[pe].job;

		shmemhi_fault_agent_close(job);
		free(job->statuses);
		free(job->texts);
		free((void *)job->causes);
		free(job->is_unreachable);
	}
	pthread_barrier_destroy(&fault_barrier);
}

/* Step both agents until none has anything to do for some time. */
static void settle(void)
{
	for (int idle = 0; idle < 300; idle++)
		for (int pe = 0; pe < N_PES; pe++) {
			if (shmemhi_fault_agent_step(fault_pes[pe].job.fault))
				idle = 0;
			usleep(200);
		}
}

/* A fault of channels k .. k + n - 1 at a PE, on the path that channel k uses. */
static void fault_inject(int pe, uint32_t k, uint32_t n, shmemhi_fault_cause_t cause)
{
	fault_pe_t *p = &fault_pes[pe];
	const shmemhi_fault_channel_t *c =
		&p->job.fault->core.channels[(uint32_t)(1 - pe) * N_CHANNELS + k];

	p->event = (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, c->machine.path, 0};
	p->cause = cause;
	p->k = k;
	p->n_left = (int)n - 1;
	settle();
}

#endif
