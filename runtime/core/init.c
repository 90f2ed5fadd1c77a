/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Start and end of a job as a table of phases. If a phase fails to start, the phases before it
 * are closed in reverse order, as in finalize. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "boot/boot.h"
#include "core/core.h"
#include "ib/ib.h"
#include "mem/mem.h"

/* A PE with a bad option fails after it has joined, so that the others learn why it does not take
 * part. */
static int options_up(shmemh_t *job)
{
	int status;

	job->log = (shmemhi_log_t){SHMEMHI_WARN, -1, 0};
	status = shmemhi_options_read(&job->opt, &job->log, &job->err);
	job->log.level = job->opt.debug;
	job->option_status = status;
	return SHMEMH_OK;
}

/* attr takes precedence over the environment: the program set it on purpose. */
static int boot_up(shmemh_t *job)
{
	int status = SHMEMH_OK;

	if (job->attr.boot) /* taken over by shmemh_init */
		status = SHMEMH_OK;
	else if (job->attr.uniqueid)
		status = shmemhi_boot_id(job->attr.uniqueid, job->attr.pe, job->attr.n_pes,
					 &job->opt, &job->log, &job->boot, &job->err);
	else
		status = shmemhi_boot_environment(&job->opt, &job->log, &job->boot, &job->err);
	if (status != SHMEMH_OK)
		return job->option_status != SHMEMH_OK ? job->option_status : status;
	job->pe = job->boot.pe;
	job->n_pes = job->boot.n_pes;
	job->log.pe = job->pe;
	job->log.n_pes = job->n_pes;
	return job->option_status;
}

static void tables_down(shmemh_t *job)
{
	free(job->statuses);
	free(job->texts);
	free(job->causes);
	free(job->is_unreachable);
	job->statuses = NULL;
	job->texts = NULL;
	job->causes = NULL;
	job->is_unreachable = NULL;
}

static int tables_up(shmemh_t *job)
{
	size_t n = (size_t)job->n_pes;

	job->statuses = calloc(n, sizeof *job->statuses);
	job->texts = calloc(n, sizeof *job->texts);
	job->causes = calloc(n, sizeof *job->causes);
	job->is_unreachable = calloc(n, sizeof *job->is_unreachable);
	if (job->statuses && job->texts && job->causes && job->is_unreachable)
		return SHMEMH_OK;
	tables_down(job);
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "init: no memory for %d PEs",
			    job->n_pes);
}

/* All PEs must run a runtime of the same major and minor version and of the same ABI: they exchange
 * its internal structs. Nothing is allocated here: a PE whose allocation failed would miss the
 * collective. */
static int version_up(shmemh_t *job)
{
	uint32_t mine[2] = {SHMEMD_ABI_VERSION, SHMEMH_VERSION_MAJOR << 16 | SHMEMH_VERSION_MINOR};
	uint32_t(*all)[2] = (void *)job->texts; /* scratch */
	int status = shmemhi_allgather(job, mine, all, sizeof mine);

	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if (memcmp(all[pe], mine, sizeof mine) != 0)
			status = shmemhi_fail(
				&job->err, SHMEMH_ERR_VERSION,
				"init: PE %d runs runtime %u.%u ABI %u.%u, this PE "
				"%d.%d ABI %d.%d: start all PEs with one installation",
				pe, all[pe][1] >> 16, all[pe][1] & 0xffff, all[pe][0] >> 16,
				all[pe][0] & 0xffff, SHMEMH_VERSION_MAJOR, SHMEMH_VERSION_MINOR,
				SHMEMD_ABI_MAJOR, SHMEMD_ABI_MINOR);
	return status;
}

/* The last phase, because every team must have its abort word: from now on the bootstrap reports
 * deaths, those since boot_up included. The agreement makes the start of the job atomic: no PE
 * returns from init while another one can still fail. */
static int watch_up(shmemh_t *job)
{
	if (job->boot.watch)
		job->boot.watch(job->boot.state, shmemhi_gone, job);
	return shmemhi_agree(job, SHMEMH_OK);
}

static const struct phase {
	const char *name;
	int (*up)(shmemh_t *job);
	void (*down)(shmemh_t *job);
} phases[] = {
	{"options", options_up, NULL},
	{"bootstrap", boot_up, NULL}, /* go_down closes it */
	{"tables", tables_up, tables_down},
	{"version", version_up, NULL},
	{"memory", shmemhi_mem_open, shmemhi_mem_close},
	{"node", shmemhi_node_open, shmemhi_node_close},
	{"heap", shmemhi_heap_open, shmemhi_heap_close},
	{"NIC", shmemhi_ib_open, shmemhi_ib_close}, /* before the heap has memory to register */
	{"device state", shmemhi_latch_open, shmemhi_latch_close},
	{"teams", shmemhi_teams_open, shmemhi_teams_close},
	{"watch", watch_up, NULL},
};

#define N_PHASES ((int)(sizeof phases / sizeof phases[0]))

/* From here on PEs are expected to leave. Must come before the release of the memory that the
 * monitor writes to. */
static void expect_leaving(shmemh_t *job)
{
	pthread_mutex_lock(&job->teams_lock);
	job->closing = 1;
	pthread_mutex_unlock(&job->teams_lock);
}

static void go_down(shmemh_t *job)
{
	expect_leaving(job);
	while (job->phases_up > 0) {
		const struct phase *p = &phases[--job->phases_up];

		if (p->down)
			p->down(job);
	}
	if (job->boot.close)
		job->boot.close(job->boot.state);
}

/* "init took 812.4 ms: bootstrap 640.1, memory 3.0, ...": phases that took 0.1 ms and more. */
static void log_times(const shmemh_t *job, const uint64_t ns[N_PHASES])
{
	char text[256] = "";
	uint64_t total = 0;
	size_t used = 0;

	for (int i = 0; i < N_PHASES; i++) {
		total += ns[i];
		if (ns[i] >= SHMEMHI_MS / 10 && used < sizeof text)
			used += (size_t)snprintf(text + used, sizeof text - used, "%s %s %.1f",
						 used ? "," : ":", phases[i].name,
						 (double)ns[i] / SHMEMHI_MS);
	}
	shmemhi_log(&job->log, SHMEMHI_INFO, "init took %.1f ms%s", (double)total / SHMEMHI_MS,
		    text);
}

static int go_up(shmemh_t *job)
{
	uint64_t ns[N_PHASES] = {0};

	while (job->phases_up < N_PHASES) {
		const struct phase *p = &phases[job->phases_up];
		uint64_t begin = shmemhi_now();
		int status;

		snprintf(job->call, sizeof job->call, "init (%s)", p->name);
		status = p->up(job);

		ns[job->phases_up] = shmemhi_now() - begin;
		if (status != SHMEMH_OK) {
			shmemhi_log(&job->log, SHMEMHI_INFO, "init stopped in phase: %s", p->name);
			return status;
		}
		job->phases_up++;
	}
	log_times(job, ns);
	return SHMEMH_OK;
}

static int check_attr(const shmemh_attr_t *attr, shmemhi_err_t *err)
{
	if (attr->size != sizeof *attr)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "init: attr.size is %u, expected %zu: start from "
				    "SHMEMH_ATTR_INIT",
				    attr->size, sizeof *attr);
	if (attr->heap_kind < SHMEMH_HEAP_AUTO || attr->heap_kind > SHMEMH_HEAP_HOST)
		return shmemhi_fail(
			err, SHMEMH_ERR_ARGUMENT,
			"init: attr.heap_kind is %d: use SHMEMH_HEAP_AUTO, _GPU or _HOST",
			attr->heap_kind);
	if (attr->boot && attr->boot->size != sizeof *attr->boot)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "init: attr.boot->size is %u, expected %zu", attr->boot->size,
				    sizeof *attr->boot);
	if (attr->boot && (attr->boot->n_pes < 1 || attr->boot->pe < 0 ||
			   attr->boot->pe >= attr->boot->n_pes || !attr->boot->allgather))
		return shmemhi_fail(
			err, SHMEMH_ERR_ARGUMENT,
			"init: attr.boot is PE %d of %d, allgather %s: pe is 0 .. n_pes - 1, "
			"and allgather must be there",
			attr->boot->pe, attr->boot->n_pes, attr->boot->allgather ? "set" : "NULL");
	return SHMEMH_OK;
}

int shmemh_init(const shmemh_attr_t *attr, shmemh_t **out)
{
	static const shmemh_attr_t defaults = SHMEMH_ATTR_INIT;
	static const shmemhi_err_t none = {""};
	shmemhi_err_t *err = shmemhi_thread_err();
	shmemh_t *job;
	int status;

	shmemhi_keep_thread_err(&none);
	if (!out)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "init: job, which receives the handle, is NULL");
	*out = NULL;
	attr = attr ? attr : &defaults;
	status = check_attr(attr, err);
	if (status != SHMEMH_OK)
		return status;
	job = calloc(1, sizeof *job);
	if (!job) {
		if (attr->boot && attr->boot->close)
			attr->boot->close(attr->boot->state);
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "init: no memory for the handle");
	}
	job->pid = getpid();
	job->attr = *attr;
	if (attr->boot)
		job->boot = *attr->boot;
	pthread_mutex_init(&job->teams_lock, NULL);
	status = go_up(job);
	if (status == SHMEMH_OK) {
		/* If there is no memory for the entry, later misuse of this handle is not detected;
		 * init still succeeds. */
		shmemhi_enlist(job);
		shmemhi_log_setup(job);
		*out = job;
		return SHMEMH_OK;
	}
	shmemhi_done(job, status);
	shmemhi_keep_thread_err(&job->err);
	shmemhi_boot_set_failure(&job->boot, status, job->err.text);
	go_down(job);
	pthread_mutex_destroy(&job->teams_lock);
	free(job);
	return status;
}

/* Free the copy of the job in a forked child. Close nothing: fork has closed the connections
 * (base/sockets.h), and memory mapped by a GPU or NIC, and the lock that a thread of the parent may
 * have held, belong to the parent. */
static void free_copy(shmemh_t *job)
{
	shmemhi_teams_free_copy(job);
	tables_down(job);
	free(job);
}

/* Of libshmem_sim (shmem_sim.h). Weak: programs for GPUs do not load it. */
extern int shmemsim_unfinished(char *name, size_t nbytes) __attribute__((weak));

/* In the emulator such kernels would go on with memory that this job has released, or never end. A
 * line, and no failure: they need not use this job. */
static void warn_unfinished(const shmemh_t *job)
{
	char name[128] = "";
	int n = shmemsim_unfinished ? shmemsim_unfinished(name, sizeof name) : 0;

	if (n > 0)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "finalize: kernels of this PE that have not ended in the emulator: %d "
			    "(the first is %s): call shmemd_stream_sync before shmemh_finalize; a "
			    "kernel must not use contexts or memory of the job after it",
			    n, name);
}

int shmemh_finalize(shmemh_t *job)
{
	int status = SHMEMH_OK;

	if (!job)
		return SHMEMH_OK;
	if (shmemhi_is_finalized(job))
		return shmemhi_refused(job, "finalize");
	if (job->pid != getpid()) {
		shmemhi_delist(job);
		free_copy(job);
		return SHMEMH_OK;
	}
	warn_unfinished(job);
	shmemhi_log_unread_error(job);
	/* No PE may unmap memory before all PEs have stopped using it. If a PE died or left, the
	 * PEs cannot agree on that moment: close at once, without waiting for the failed PE. */
	if (shmemhi_broken(job)) {
		shmemhi_begin(job);
		status = shmemhi_done(
			job, shmemhi_fail_broken(job, "finalize released what this PE had"));
	} else {
		/* Before the barrier: a PE that leaves the barrier first may be gone before this
		 * one does. */
		expect_leaving(job);
		shmemhi_begin(job);
		status = shmemhi_done(job, shmemhi_begin_collective(job, SHMEMHI_CALL_FINALIZE, 0));
	}
	if (status != SHMEMH_OK)
		shmemhi_keep_thread_err(&job->err);
	shmemhi_delist(job);
	go_down(job);
	pthread_mutex_destroy(&job->teams_lock);
	free(job);
	return status;
}
