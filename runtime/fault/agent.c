/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/agent.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/thread.h"
#include "fault/state.h"

/* For this time after a step that did something, the thread yields in place of sleeping for a
 * millisecond: the next event of a switch (a CQE, a message, an order that is carried out) often
 * follows within microseconds. Orders are given one after the other, so a sleep during each of them
 * would delay all channels whose orders wait (bench/README.md has the times). */
#define AWAKE_NS (SHMEMHI_MS / 4)

/* What the PEs gather: where the agent of each listens, and the secret of the job. */
typedef struct meeting {
	unsigned char secret[SHMEMHI_ID_SECRET_NBYTES]; /* that of PE 0 counts */
	shmemhi_fault_listener_t listener;
} meeting_t;

static void free_agent(shmemhi_fault_agent_t *agent)
{
	shmemhi_fault_report_close(agent);
	shmemhi_fault_links_close(&agent->links);
	shmemhi_fault_core_close(&agent->core);
	free(agent);
}

uint64_t shmemhi_fault_silence_ns(const shmemhi_options_t *opt)
{
	const uint64_t once = (uint64_t)4096 << opt->ib_ack_timeout;

	return opt->ib_ack_timeout ? 4 * once * ((uint64_t)opt->ib_retries + 1) : 0;
}

/* config.unreachable of the core. */
static void end_waits(void *arg, int pe)
{
	const shmemhi_fault_agent_t *agent = arg;

	shmemhi_unreachable(agent->job, pe);
}

/* Make the parts of the agent that need no other PE. */
static int make_agent(shmemh_t *job, uint32_t n_channels, const shmemhi_fault_ops_t *ops,
		      void *self, meeting_t *mine)
{
	shmemhi_fault_agent_t *agent = calloc(1, sizeof *agent);
	shmemhi_fault_config_t config = {.pe = job->pe,
					 .n_pes = job->n_pes,
					 .n_channels = n_channels,
					 .giveup_ns = job->opt.ft_giveup_ns,
					 .silence_ns = shmemhi_fault_silence_ns(&job->opt),
					 .ops = ops,
					 .self = self,
					 .causes = job->causes,
					 .n_gone = &job->n_gone,
					 .log = job->log,
					 .changed = shmemhi_fault_report_change,
					 .unreachable = end_waits,
					 .arg = agent};
	int status;

	if (!agent || sodium_init() < 0) {
		free(agent);
		return shmemhi_fail(
			&job->err, SHMEMH_ERR_NO_MEMORY,
			"fail-over: no memory for its agent, or libsodium cannot start");
	}
	job->fault = agent;
	agent->job = job;
	randombytes_buf(mine->secret, sizeof mine->secret);
	status = shmemhi_fault_links_open(&agent->links, job->opt.ifname, job->pe, job->n_pes,
					  n_channels, &job->log, &mine->listener, &job->err);
	config.net = shmemhi_fault_links_net(&agent->links);
	if (shmemhi_fault_core_open(&agent->core, &config) != SHMEMH_OK && status == SHMEMH_OK)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				      "fail-over: no memory for %u channels to %d PEs", n_channels,
				      job->n_pes);
	if (shmemhi_fault_report_open(agent) != SHMEMH_OK && status == SHMEMH_OK)
		status = SHMEMH_ERR_SYSTEM;
	return status;
}

/* Exchange the addresses of the agents' listeners. Collective. */
static int meet(shmemh_t *job, const meeting_t *mine)
{
	const size_t n = (size_t)job->n_pes;
	shmemhi_fault_listener_t *listeners = calloc(n, sizeof *listeners);
	meeting_t *all = calloc(n, sizeof *all);
	int status = SHMEMH_OK;

	if (!all || !listeners)
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				      "fail-over: no memory for addresses of %d PEs", job->n_pes);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, mine, all, sizeof *mine);
	if (status == SHMEMH_OK) {
		for (size_t pe = 0; pe < n; pe++)
			listeners[pe] = all[pe].listener;
		shmemhi_fault_links_meet(&job->fault->links, listeners, all[0].secret);
		sodium_memzero(all, n * sizeof *all);
	}
	free(all);
	free(listeners);
	return status;
}

int shmemhi_fault_agent_open(shmemh_t *job, uint32_t n_channels, const shmemhi_fault_ops_t *ops,
			     void *self)
{
	meeting_t mine;
	int status;

	memset(&mine, 0, sizeof mine);
	status = shmemhi_agree(job, make_agent(job, n_channels, ops, self, &mine));
	if (status == SHMEMH_OK)
		status = meet(job, &mine);
	sodium_memzero(&mine, sizeof mine);
	if (status == SHMEMH_OK)
		shmemhi_fault_report_begin(job->fault);
	else
		shmemhi_fault_agent_close(job);
	return status;
}

/* Steps */

bool shmemhi_fault_agent_step(shmemhi_fault_agent_t *agent)
{
	bool is_busy;

	shmemhi_fault_links_poll(&agent->links, 0);
	is_busy = shmemhi_fault_core_step(&agent->core, shmemhi_now());
	shmemhi_fault_report_step(agent, agent->core.now);
	return is_busy;
}

static void *agent_main(void *arg)
{
	shmemhi_fault_agent_t *agent = arg;
	uint64_t busy_at = 0;

	while (!atomic_load(&agent->is_ending))
		if (shmemhi_fault_agent_step(agent))
			busy_at = agent->core.now;
		else if (agent->core.now - busy_at < AWAKE_NS)
			sched_yield();
		else
			shmemhi_fault_links_poll(&agent->links, 1);
	return NULL;
}

int shmemhi_fault_agent_start(shmemh_t *job)
{
	shmemhi_fault_agent_t *agent = job->fault;
	const int error = shmemhi_thread_start(&agent->thread, "shmem_fault", agent_main, agent);

	if (error)
		return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
				    "fail-over: its thread cannot start: %s", strerror(error));
	agent->has_thread = 1;
	return SHMEMH_OK;
}

void shmemhi_fault_agent_close(shmemh_t *job)
{
	shmemhi_fault_agent_t *agent = job->fault;

	if (!agent)
		return;
	job->fault = NULL;
	atomic_store(&agent->is_ending, 1);
	if (agent->has_thread)
		pthread_join(agent->thread, NULL);
	free_agent(agent);
}
