/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All state of a PE's agent. core, links and report belong to the thread that steps it, except for
 * what follows. core.config does not change after open, so any thread reads it without a lock.
 * Other threads read report.table under its lock. shmemh_fault_watch writes report.changed and
 * changed_arg under watch_lock, under which the agent's thread calls changed. */
#ifndef SHMEMHI_FAULT_STATE_H
#define SHMEMHI_FAULT_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include "fault/machines.h"
#include "fault/links.h"
#include "fault/table.h"
#include "job/job.h"

/* Changes of the same kind that come together: one line for all of them. */
typedef struct shmemhi_fault_group {
	int state;        /* what the channels changed to: enum shmemh_fault_state; -1: unused */
	uint64_t said_at; /* the last line; 0: none yet */
	/* since that line */
	uint64_t begin;     /* of the first change */
	uint32_t n_changes; /* 0: the fields below are of the last line */
	int pe;             /* first channel, */
	uint32_t k;
	shmemhi_fault_row_t row; /* how it was then */
	uint32_t n_channels, n_pes;
	int has_new;                             /* a channel that was in no line */
	uint64_t outage_ns, replayed, ambiguous; /* longest; sums */
	uint8_t *is_in;                          /* [n_pes][n_channels]: bits of report.c */
} shmemhi_fault_group_t;

/* A path that flaps between two ports needs 4, and as many for each further cause. */
#define SHMEMHI_FAULT_GROUPS 16

/* Counts of a channel that its lines have reported so far. */
typedef struct shmemhi_fault_told {
	uint64_t replayed, ambiguous;
} shmemhi_fault_told_t;

typedef struct shmemhi_fault_report {
	shmemhi_fault_table_t table;
	shmemhi_fault_group_t groups[SHMEMHI_FAULT_GROUPS];
	shmemhi_fault_told_t *told; /* [n_pes][n_channels] */
	uint64_t refresh_at, metrics_at;
	uint32_t refreshed;         /* row that is next */
	char metrics[512];          /* file; "": none */
	char process[32];           /* the process and the number of the job in it */
	int has_failed;             /* to write it: said once */
	pthread_mutex_t watch_lock; /* recursive: changed may call shmemh_fault_watch */
	void (*changed)(void *arg, int pe, int k, int state);
	void *changed_arg;
} shmemhi_fault_report_t;

struct shmemhi_fault_agent {
	struct shmemh *job;
	shmemhi_fault_core_t core;
	shmemhi_fault_links_t links;
	shmemhi_fault_report_t report;
	pthread_t thread;
	int has_thread;
	_Atomic int is_ending;
};

/* report.c. open leaves its line in job->err; close releases what there is. */
int shmemhi_fault_report_open(shmemhi_fault_agent_t *agent);
void shmemhi_fault_report_begin(shmemhi_fault_agent_t *agent); /* publish all channels */
void shmemhi_fault_report_close(shmemhi_fault_agent_t *agent);

/* config.changed of the core; arg is the agent. */
void shmemhi_fault_report_change(void *arg, int pe, uint32_t k, const shmemhi_fault_channel_t *c);

/* What is due by time: lines, counts, the metrics file. */
void shmemhi_fault_report_step(shmemhi_fault_agent_t *agent, uint64_t now);

/* lines.c: the line of a group; and the latest fault of a channel in words. */
void shmemhi_fault_say(const shmemhi_fault_agent_t *agent, const shmemhi_fault_group_t *group);
void shmemhi_fault_text(const shmemhi_fault_row_t *row, int pe, char *text, size_t text_nbytes);

/* metrics.c: write all rows as Prometheus text to `path`, by way of path.tmp. `process` is a label:
 * the collector refuses series that are in two files. Returns 0 or an errno. */
int shmemhi_fault_metrics(const shmemhi_fault_table_t *table, const char *process,
			  const char *path);

#endif
