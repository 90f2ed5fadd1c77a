/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the agent publishes: the table, lines, the program's callback, the metrics file. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "fault/state.h"

#define GROUP_NS (100 * SHMEMHI_MS) /* changes within it are one line */
/* From one line to the next of the same kind about the same channels. A path that flapped was lost
 * 18 times a second. */
#define REPEAT_NS (5 * SHMEMHI_SECOND)
#define REFRESH_NS (250 * SHMEMHI_MS)
#define REFRESH_ROWS 1024u
#define METRICS_NS (5 * SHMEMHI_SECOND) /* node_exporter is asked every 15 s or so */

static uint32_t index_of(const shmemhi_fault_agent_t *agent, int pe, uint32_t k)
{
	return (uint32_t)pe * agent->core.config.n_channels + k;
}

/* Rows */

static void describe(const shmemhi_fault_agent_t *agent, int pe, uint32_t k, uint32_t path,
		     shmemhi_fault_row_t *row)
{
	const shmemhi_fault_config_t *config = &agent->core.config;
	shmemhi_fault_path_t about;

	memset(&about, 0, sizeof about);
	config->ops->describe(config->self, pe, k, path, &about);
	memcpy(row->port, about.port, sizeof row->port);
	memcpy(row->peer_port, about.peer_port, sizeof row->peer_port);
	memcpy(row->address, about.address, sizeof row->address);
	memcpy(row->peer_address, about.peer_address, sizeof row->peer_address);
	row->qpn = about.qpn;
	row->peer_qpn = about.peer_qpn;
	row->posted = about.posted;
	row->completed = about.completed;
	row->has_counts = about.has_counts != 0;
	if (row->state == SHMEMH_FAULT_RUNNING && about.is_standby)
		row->state = SHMEMH_FAULT_STANDBY;
}

static void fill_row(const shmemhi_fault_agent_t *agent, int pe, uint32_t k,
		     const shmemhi_fault_channel_t *c, shmemhi_fault_row_t *row)
{
	memset(row, 0, sizeof *row);
	row->is_there = 1;
	row->state = shmemhi_fault_state(c);
	row->status = shmemhi_fault_status(c);
	row->path = c->is_open ? c->machine.path : 0;
	row->cause = c->cause.kind;
	row->is_found_at_peer = c->is_found_at_peer;
	row->syndrome = c->cause.syndrome;
	row->vendor_syndrome = c->cause.vendor_syndrome;
	row->switches = c->switches;
	row->replayed = c->replayed;
	row->ambiguous = c->ambiguous;
	row->detected_at = c->detected_at;
	row->fenced_at = c->fenced_at;
	row->opened_at = c->opened_at;
	row->resumed_at = c->resumed_at;
	row->outage_ns = c->outage_ns;
	/* The path of the latest ORDER: until the next one, the path that was left. */
	describe(agent, pe, k, c->is_open ? c->machine.ordered : 0, row);
}

/* Lines */

/* Bits of is_in */
#define IN_CHANGES 1u /* the channel has changed since the group's last line */
#define IN_LINE 2u    /* a line of the group has counted the channel */

/* Write the group's line, if channels have changed since the last one. The group is kept for a time
 * to find out which changes are repeated. */
static void flush(shmemhi_fault_agent_t *agent, shmemhi_fault_group_t *group)
{
	const size_t n = (size_t)agent->core.config.n_pes * agent->core.config.n_channels;

	if (group->state < 0 || !group->n_changes)
		return;
	shmemhi_fault_say(agent, group);
	group->said_at = agent->core.now;
	group->n_changes = 0;
	for (size_t i = 0; i < n; i++)
		group->is_in[i] = group->is_in[i] ? IN_LINE : 0;
}

/* Only a line of repeated changes is delayed. That of an end is not, since a channel ends once. */
static int is_due(const shmemhi_fault_group_t *group, uint64_t now)
{
	if (group->has_new)
		return now - group->begin >= GROUP_NS;
	return now >= group->said_at + REPEAT_NS;
}

static void step_group(shmemhi_fault_agent_t *agent, shmemhi_fault_group_t *group, uint64_t now)
{
	if (group->state < 0)
		return;
	if (group->n_changes && is_due(group, now))
		flush(agent, group);
	else if (!group->n_changes && now >= group->said_at + REPEAT_NS)
		group->state = -1;
}

static int is_of_group(const shmemhi_fault_group_t *group, const shmemhi_fault_row_t *row)
{
	return group->state == row->state && group->row.cause == row->cause &&
	       group->row.is_found_at_peer == row->is_found_at_peer &&
	       group->row.status == row->status && strcmp(group->row.port, row->port) == 0;
}

/* The group that the change belongs to; else an unused one, or the oldest, after its line. */
static shmemhi_fault_group_t *group_of(shmemhi_fault_agent_t *agent, const shmemhi_fault_row_t *row)
{
	shmemhi_fault_group_t *groups = agent->report.groups, *other = &groups[0];

	for (int i = 0; i < SHMEMHI_FAULT_GROUPS; i++)
		if (groups[i].state >= 0 && is_of_group(&groups[i], row))
			return &groups[i];
	for (int i = 0; i < SHMEMHI_FAULT_GROUPS; i++)
		if (other->state >= 0 && (groups[i].state < 0 || groups[i].begin < other->begin))
			other = &groups[i];
	flush(agent, other);
	other->state = -1;
	return other;
}

/* A channel that has changed to the same state twice since the last line counts once. */
static void count(const shmemhi_fault_agent_t *agent, shmemhi_fault_group_t *group, int pe,
		  uint32_t k)
{
	const uint32_t n_channels = agent->core.config.n_channels;
	uint8_t *is_in = &group->is_in[(size_t)pe * n_channels];
	int has_pe = 0;

	group->n_changes++;
	if (is_in[k] & IN_CHANGES)
		return;
	for (uint32_t i = 0; i < n_channels; i++)
		has_pe |= is_in[i] & IN_CHANGES;
	group->has_new |= !is_in[k];
	is_in[k] |= IN_CHANGES;
	group->n_channels++;
	group->n_pes += !has_pe;
}

static void begin_group(const shmemhi_fault_agent_t *agent, shmemhi_fault_group_t *group, int pe,
			uint32_t k, const shmemhi_fault_row_t *row)
{
	const size_t n = (size_t)agent->core.config.n_pes * agent->core.config.n_channels;

	if (group->state < 0) {
		group->said_at = 0;
		memset(group->is_in, 0, n);
	}
	group->state = row->state;
	group->begin = agent->core.now;
	group->pe = pe;
	group->k = k;
	group->row = *row;
	group->n_changes = group->n_channels = group->n_pes = 0;
	group->has_new = 0;
	group->outage_ns = group->replayed = group->ambiguous = 0;
}

/* A line gives the counts since the channel's last line with counts. They are kept in `told`, since
 * the table's row may already include them if the change was not reported at once (machines.c: a
 * channel that ends). */
static void add_line(shmemhi_fault_agent_t *agent, int pe, uint32_t k,
		     const shmemhi_fault_row_t *row)
{
	shmemhi_fault_told_t *told = &agent->report.told[index_of(agent, pe, k)];
	shmemhi_fault_group_t *group = group_of(agent, row);

	if (group->state < 0 || !group->n_changes)
		begin_group(agent, group, pe, k, row);
	count(agent, group, pe, k);
	if (row->state != SHMEMH_FAULT_SWITCHING) { /* its line has no counts */
		group->replayed += row->replayed - told->replayed;
		group->ambiguous += row->ambiguous - told->ambiguous;
		*told = (shmemhi_fault_told_t){row->replayed, row->ambiguous};
	}
	if (row->outage_ns > group->outage_ns)
		group->outage_ns = row->outage_ns;
}

void shmemhi_fault_report_change(void *arg, int pe, uint32_t k, const shmemhi_fault_channel_t *c)
{
	shmemhi_fault_agent_t *agent = arg;
	shmemhi_fault_report_t *report = &agent->report;
	shmemhi_fault_row_t before, row;

	shmemhi_fault_table_read(&report->table, index_of(agent, pe, k), &before);
	fill_row(agent, pe, k, c, &row);
	shmemhi_fault_table_write(&report->table, index_of(agent, pe, k), &row);
	if (before.state == row.state && before.path == row.path && before.status == row.status)
		return;
	if (before.state != row.state || row.state == SHMEMH_FAULT_STANDBY)
		add_line(agent, pe, k, &row);
	pthread_mutex_lock(&report->watch_lock);
	if (report->changed)
		report->changed(report->changed_arg, pe, (int)k, row.state);
	pthread_mutex_unlock(&report->watch_lock);
}

/* By time */

/* Publish the next n_rows channels: their counts change while nothing else does. */
static void refresh(shmemhi_fault_agent_t *agent, uint32_t n_rows)
{
	const shmemhi_fault_config_t *config = &agent->core.config;
	const uint32_t n = (uint32_t)config->n_pes * config->n_channels;
	shmemhi_fault_report_t *report = &agent->report;
	shmemhi_fault_row_t row;

	for (uint32_t i = 0; i < n && i < n_rows; i++) {
		const uint32_t index = report->refreshed++ % n;
		const int pe = (int)(index / config->n_channels);

		if (!config->ops->reaches(config->self, pe))
			continue;
		fill_row(agent, pe, index % config->n_channels, &agent->core.channels[index], &row);
		shmemhi_fault_table_write(&report->table, index, &row);
	}
	report->table.head->alive_at = agent->core.now;
}

static void write_metrics(shmemhi_fault_agent_t *agent)
{
	shmemhi_fault_report_t *report = &agent->report;
	const int error = shmemhi_fault_metrics(&report->table, report->process, report->metrics);

	if (error && !report->has_failed)
		shmemhi_log(&agent->job->log, SHMEMHI_WARN,
			    "SHMEMH_FT_METRICS: %s cannot be written: %s: the folder must be there "
			    "and this user's to write",
			    report->metrics, strerror(error));
	report->has_failed = error != 0;
}

void shmemhi_fault_report_step(shmemhi_fault_agent_t *agent, uint64_t now)
{
	shmemhi_fault_report_t *report = &agent->report;

	for (int i = 0; i < SHMEMHI_FAULT_GROUPS; i++)
		step_group(agent, &report->groups[i], now);
	if (now >= report->refresh_at) {
		report->refresh_at = now + REFRESH_NS;
		refresh(agent, REFRESH_ROWS);
	}
	if (report->metrics[0] && now >= report->metrics_at) {
		report->metrics_at = now + METRICS_NS;
		write_metrics(agent);
	}
}

/* A process may have several jobs, and in each of them the same PE number. */
static void name_metrics(shmemhi_fault_agent_t *agent)
{
	static _Atomic unsigned n_jobs;
	shmemhi_fault_report_t *report = &agent->report;

	snprintf(report->process, sizeof report->process, "%ld_%u", (long)getpid(),
		 atomic_fetch_add(&n_jobs, 1));
	snprintf(report->metrics, sizeof report->metrics, "%s/shmem_host_pe%d_%s.prom",
		 agent->job->opt.ft_metrics, agent->core.config.pe, report->process);
}

int shmemhi_fault_report_open(shmemhi_fault_agent_t *agent)
{
	const shmemhi_fault_config_t *config = &agent->core.config;
	shmemhi_fault_report_t *report = &agent->report;
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&report->watch_lock, &attr);
	pthread_mutexattr_destroy(&attr);
	for (int i = 0; i < SHMEMHI_FAULT_GROUPS; i++) {
		report->groups[i].state = -1;
		report->groups[i].is_in = calloc((size_t)config->n_pes, config->n_channels);
		if (!report->groups[i].is_in)
			return shmemhi_fail(&agent->job->err, SHMEMH_ERR_NO_MEMORY,
					    "fail-over: no memory for lines on %d PEs",
					    config->n_pes);
	}
	report->told = calloc((size_t)config->n_pes * config->n_channels, sizeof *report->told);
	if (!report->told)
		return shmemhi_fail(&agent->job->err, SHMEMH_ERR_NO_MEMORY,
				    "fail-over: no memory for lines on %d PEs", config->n_pes);
	if (agent->job->opt.ft_metrics[0])
		name_metrics(agent);
	return shmemhi_fault_table_open(&report->table, config->pe, config->n_pes,
					config->n_channels, &agent->job->err);
}

void shmemhi_fault_report_begin(shmemhi_fault_agent_t *agent)
{
	refresh(agent, UINT32_MAX);
}

void shmemhi_fault_report_close(shmemhi_fault_agent_t *agent)
{
	shmemhi_fault_report_t *report = &agent->report;

	for (int i = 0; i < SHMEMHI_FAULT_GROUPS && report->groups[i].is_in; i++) {
		flush(agent, &report->groups[i]);
		free(report->groups[i].is_in);
	}
	free(report->told);
	if (report->metrics[0])
		unlink(report->metrics);
	shmemhi_fault_table_close(&report->table);
	pthread_mutex_destroy(&report->watch_lock);
}
