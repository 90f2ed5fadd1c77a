/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Host collectives of a job, and what happens when a PE is gone. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <shmem_dev/abi/ctx.h>
#include "job/job.h"

#define MAX_GATHER (1u << 20) /* what every bootstrap carries (shmem_host/boot.h) */

/* Set the line of a gather that failed, from the text of the bootstrap. */
static int fail_gather(shmemh_t *job, int status, const char *text)
{
	return shmemhi_fail(&job->err, status, "%s%s%s", job->call, job->call[0] ? ": " : "",
			    text[0] ? text : shmemh_strerror(status));
}

int shmemhi_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes)
{
	char text[SHMEMHI_ERR_NBYTES] = "";
	int status = job->boot.allgather(job->boot.state, src, dst, nbytes, text, sizeof text);

	/* The arguments are the runtime's: ERR_ARGUMENT would say that the caller of init or of a
	 * collective passed wrong ones. After ERR_ARGUMENT of init the caller closes the bootstrap,
	 * which init has closed already. */
	if (status == SHMEMH_ERR_ARGUMENT)
		status = SHMEMH_ERR_BOOTSTRAP;
	if (status != SHMEMH_OK)
		return fail_gather(job, status, text);
	return SHMEMH_OK;
}

void shmemhi_name_collective(shmemh_t *job, const char *call)
{
	snprintf(job->call, sizeof job->call, "%s", call);
}

static const char *const call_names[] = {
	[SHMEMHI_CALL_BARRIER] = "barrier",    [SHMEMHI_CALL_ALLGATHER] = "allgather",
	[SHMEMHI_CALL_FINALIZE] = "finalize",  [SHMEMHI_CALL_TRACE_WRITE] = "trace_write",
	[SHMEMHI_CALL_MALLOC] = "malloc",      [SHMEMHI_CALL_ALIGN] = "align",
	[SHMEMHI_CALL_CALLOC] = "calloc",      [SHMEMHI_CALL_FREE] = "free",
	[SHMEMHI_CALL_TAKE] = "library memory"};

const char *shmemhi_call_name(uint32_t kind)
{
	const char *name = kind < sizeof call_names / sizeof *call_names ? call_names[kind] : NULL;

	return name ? name : "an unknown call";
}

/* "allgather(64 bytes)", or the name alone. */
static void describe_call(const shmemhi_call_t *c, char *text, size_t nbytes)
{
	if (c->nbytes)
		snprintf(text, nbytes, "%s(%llu bytes)", shmemhi_call_name(c->kind),
			 (unsigned long long)c->nbytes);
	else
		snprintf(text, nbytes, "%s", shmemhi_call_name(c->kind));
}

static bool are_different_calls(const shmemhi_call_t *a, const shmemhi_call_t *b)
{
	if (a->kind >= SHMEMHI_CALL_MALLOC && b->kind >= SHMEMHI_CALL_MALLOC)
		return false;
	return a->kind != b->kind || a->nbytes != b->nbytes;
}

int shmemhi_compare_calls(shmemh_t *job, const shmemhi_call_t *all)
{
	char first[64], other[64];
	int pe = 1;

	while (pe < job->n_pes && !are_different_calls(&all[0], &all[pe]))
		pe++;
	if (pe >= job->n_pes)
		return SHMEMH_OK;
	describe_call(&all[0], first, sizeof first);
	describe_call(&all[pe], other, sizeof other);
	return shmemhi_fail(&job->err, SHMEMH_ERR_MISMATCH,
			    "PE 0 called %s, PE %d %s: all PEs of a job make the same host "
			    "collectives in the same order, with the same sizes",
			    first, pe, other);
}

int shmemhi_begin_collective(shmemh_t *job, uint32_t kind, size_t nbytes)
{
	const shmemhi_call_t mine = {.kind = kind, .nbytes = nbytes};
	shmemhi_call_t *all = (void *)job->texts; /* scratch */
	int status;

	shmemhi_name_collective(job, shmemhi_call_name(kind));
	status = shmemhi_allgather(job, &mine, all, sizeof mine);
	return status == SHMEMH_OK ? shmemhi_compare_calls(job, all) : status;
}

int shmemhi_gather_some(shmemh_t *job, const shmemh_gather_t *g)
{
	char text[SHMEMHI_ERR_NBYTES] = "";
	int status;

	if (g->n_pes == 1) {
		memcpy(g->dst, g->src, g->nbytes);
		g->took_part[0] = 1;
		return SHMEMH_OK;
	}
	if (!job->boot.gather_some)
		return shmemhi_fail(
			&job->err, SHMEMH_ERR_BOOTSTRAP,
			"the job's bootstrap (attr.boot) has no gather_some: without "
			"it a program can make no team of more than one PE, and call no "
			"host collective of a team");
	status = job->boot.gather_some(job->boot.state, g, text, sizeof text);
	if (status == SHMEMH_ERR_ARGUMENT) /* as in allgather */
		status = SHMEMH_ERR_BOOTSTRAP;
	if (status != SHMEMH_OK)
		return fail_gather(job, status, text);
	return SHMEMH_OK;
}

int shmemhi_agree(shmemh_t *job, int status)
{
	/* Allocate nothing here: a PE whose allocation failed would miss the collective and be
	 * out of step with the others from then on. */
	int32_t mine = status;
	int first_failed = -1;
	shmemhi_err_t own;
	int rc;

	/* A PE that did not fail may still have the line of an earlier step whose failure was
	 * tolerated. Drop it: shmemhi_fail would keep it in place of the line of the PE that
	 * failed (test_agree). */
	if (status == SHMEMH_OK)
		job->err.text[0] = '\0';
	own = job->err;
	/* A PE whose connection to another one ended passes ERR_PEER. If the gather fails, its line
	 * replaces that of this PE: it names the PE that died or left, and is the same on all
	 * PEs. */
	if (status == SHMEMH_ERR_PEER)
		job->err.text[0] = '\0';
	rc = shmemhi_allgather(job, &mine, job->statuses, sizeof mine);
	if (rc != SHMEMH_OK)
		return rc;
	job->err = own;
	for (int pe = job->n_pes - 1; pe >= 0; pe--)
		if (job->statuses[pe] != SHMEMH_OK)
			first_failed = pe;
	if (first_failed < 0)
		return SHMEMH_OK;
	/* At least one PE failed: gather the lines in a second round, so that every PE can name
	 * the cause. */
	rc = job->statuses[first_failed];
	if (shmemhi_allgather(job, &job->err, job->texts, sizeof *job->texts) == SHMEMH_OK &&
	    status == SHMEMH_OK)
		shmemhi_fail(&job->err, rc, "PE %d: %.*s", first_failed, SHMEMHI_ERR_NBYTES - 32,
			     job->texts[first_failed].text);
	return rc;
}

#define REUSE_FROM 64 /* from so many places on, those of finalized jobs are used again */

/* A handle that init has returned. Places are added at the head and never freed, so that any thread
 * reads the list without a lock, also in a child of fork. */
typedef struct place {
	struct place *next;
	_Atomic(const shmemh_t *) job;
	atomic_int is_live;
	atomic_ulong ended; /* number of its job among those that were finalized */
} place_t;

static _Atomic(place_t *) places;
static atomic_ulong n_ended;
static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;

static place_t *place_of(const shmemh_t *job)
{
	place_t *p = atomic_load(&places);

	while (p && atomic_load(&p->job) != job)
		p = p->next;
	return p;
}

/* Returns the place of the job that was finalized first, or NULL if there are fewer than REUSE_FROM
 * places or all jobs live. The first, because a program that uses a handle after finalize most
 * likely uses that of a job that has just ended. */
static place_t *old_place(void)
{
	place_t *oldest = NULL;
	int n = 0;

	for (place_t *p = atomic_load(&places); p; p = p->next, n++)
		if (!atomic_load(&p->is_live) &&
		    (!oldest || atomic_load(&p->ended) < atomic_load(&oldest->ended)))
			oldest = p;
	return n < REUSE_FROM ? NULL : oldest;
}

int shmemhi_enlist(const shmemh_t *job)
{
	place_t *p;

	pthread_mutex_lock(&places_lock);
	p = place_of(job);
	p = p ? p : old_place();
	if (!p) {
		p = calloc(1, sizeof *p);
		if (p) {
			p->next = atomic_load(&places);
			atomic_store(&places, p);
		}
	}
	if (p) {
		atomic_store(&p->job, job);
		atomic_store(&p->is_live, 1);
	}
	pthread_mutex_unlock(&places_lock);
	return p ? 0 : -1;
}

void shmemhi_delist(const shmemh_t *job)
{
	place_t *p = place_of(job);

	if (p) {
		atomic_store(&p->ended, atomic_fetch_add(&n_ended, 1));
		atomic_store(&p->is_live, 0);
	}
}

bool shmemhi_is_finalized(const shmemh_t *job)
{
	place_t *p = place_of(job);

	return p && !atomic_load(&p->is_live);
}

/* What follows from a forgotten finalize. In the emulator all PEs of a job are in this process, and
 * those of a failed run cannot call finalize. */
static const char *loss_of(const shmemh_t *job, int n_handles)
{
	if (n_handles >= job->n_pes || job->attr.boot)
		return "call it on each PE, unless this follows a failed run of the emulator";
	return "other processes of the job see this one die, and its last operations may be lost";
}

/* The process ends, or unloads this library. One line, also for many PEs of the emulator. */
__attribute__((destructor)) static void tell_forgotten(void)
{
	const shmemh_t *forgotten = NULL;
	int n = 0;

	for (place_t *p = atomic_load(&places); p; p = p->next) {
		const shmemh_t *job = atomic_load(&p->job);

		if (!atomic_load(&p->is_live) || job->pid != getpid())
			continue;
		forgotten = job;
		n++;
	}
	if (forgotten)
		shmemhi_log(&forgotten->log, SHMEMHI_WARN,
			    "the process ends, or unloads this library, without shmemh_finalize "
			    "(handles left: %d): %s",
			    n, loss_of(forgotten, n));
}

int shmemhi_refused(const shmemh_t *job, const char *call)
{
	if (!job)
		return shmemhi_fail_thread(SHMEMH_ERR_ARGUMENT,
					   "%s: job is NULL: pass the handle that shmemh_init gave",
					   call);
	if (shmemhi_is_finalized(job))
		return shmemhi_fail_thread(
			SHMEMH_ERR_ARGUMENT,
			"%s: this job was finalized, and its handle is no longer "
			"valid",
			call);
	if (job->pid == getpid())
		return SHMEMH_OK;
	shmemhi_fail_thread(SHMEMH_ERR_ARGUMENT,
			    "%s: this job belongs to process %ld, of which process %ld is a forked "
			    "child: call it in the parent, or make a job of its own in the child "
			    "with shmemh_init",
			    call, (long)job->pid, (long)getpid());
	shmemhi_log(&job->log, SHMEMHI_ERROR, "%s", shmemhi_thread_err()->text);
	return SHMEMH_ERR_ARGUMENT;
}

int shmemhi_done(shmemh_t *job, int status)
{
	if (status != SHMEMH_OK) {
		job->last = job->err;
		shmemhi_log(&job->log, SHMEMHI_ERROR, "%s", job->err.text);
	}
	return status;
}

void shmemhi_begin(shmemh_t *job)
{
	job->err.text[0] = '\0';
	job->call[0] = '\0';
}

int shmemh_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes)
{
	int status;

	if (shmemhi_refused(job, "allgather"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	if (!src || !dst)
		return shmemhi_done(job,
				    shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
						 "allgather: %s is NULL: pass memory for "
						 "nbytes of %s",
						 src ? "dst" : "src", src ? "each PE" : "this PE"));
	if (nbytes < 1 || nbytes > MAX_GATHER)
		return shmemhi_done(
			job, shmemhi_fail(&job->err, SHMEMH_ERR_ARGUMENT,
					  "allgather: nbytes=%zu: it gathers 1 .. %u bytes of each "
					  "PE; split what is longer",
					  nbytes, MAX_GATHER));
	status = shmemhi_begin_collective(job, SHMEMHI_CALL_ALLGATHER, nbytes);
	if (status == SHMEMH_OK)
		status = shmemhi_allgather(job, src, dst, nbytes);
	return shmemhi_done(job, status);
}

int shmemh_barrier(shmemh_t *job)
{
	if (shmemhi_refused(job, "barrier"))
		return SHMEMH_ERR_ARGUMENT;
	shmemhi_begin(job);
	return shmemhi_done(job, shmemhi_begin_collective(job, SHMEMHI_CALL_BARRIER, 0));
}

int shmemh_my_pe(const shmemh_t *job)
{
	return shmemhi_refused(job, "my_pe") ? -1 : job->pe;
}

int shmemh_n_pes(const shmemh_t *job)
{
	return shmemhi_refused(job, "n_pes") ? -1 : job->n_pes;
}

const char *shmemh_error_text(const shmemh_t *job)
{
	return job && !shmemhi_is_finalized(job) && job->pid == getpid()
		       ? job->last.text
		       : shmemhi_thread_err()->text;
}

int shmemh_pe_cause(const shmemh_t *job, int world_pe)
{
	if (shmemhi_refused(job, "pe_cause"))
		return -1;
	if (world_pe < 0 || world_pe >= job->n_pes)
		return 0;
	return (int)atomic_load(&job->causes[world_pe]);
}

/* The first cause stays, except that any other replaces NO_PATH: a PE may lose its paths first, and
 * be reported dead later. */
static void set_cause(uint32_t *place, uint32_t cause)
{
	const uint32_t before = __atomic_load_n(place, __ATOMIC_RELAXED);

	if (before == SHMEMD_CAUSE_NONE || before == SHMEMD_CAUSE_NO_PATH)
		__atomic_store_n(place, cause, __ATOMIC_RELEASE);
}

/* Set the abort word of one team, which ends the waits of its kernels. The causes are stored
 * before the abort word, which is stored with release: a device wait that reads the abort word
 * also reads the causes. pe -1: this PE lost the bootstrap. The state of all other PEs is
 * unknown then, so waits for any of them end too. */
static void abort_team(shmemhi_team_t *team, int pe, uint32_t cause)
{
	uint64_t none = 0;

	if (!team->abort_word)
		return;
	for (int i = 0; i < team->n_pes; i++)
		if (i == pe || (pe < 0 && i != team->my_pe))
			set_cause(&team->causes[i], cause);
	if (!__atomic_compare_exchange_n(team->abort_word, &none, SHMEMD_ABORT_WORD(pe, cause), 0,
					 __ATOMIC_RELEASE, __ATOMIC_RELAXED) &&
	    none == SHMEMD_ABORT_WORD(pe, SHMEMD_CAUSE_NO_PATH))
		__atomic_store_n(team->abort_word, SHMEMD_ABORT_WORD(pe, cause), __ATOMIC_RELEASE);
}

void shmemhi_team_apply_gone(shmemh_t *job, shmemhi_team_t *team)
{
	for (int i = 0; i < team->n_pes; i++) {
		uint32_t cause = atomic_load(&job->causes[team->world_pe[i]]);

		if (cause != SHMEMD_CAUSE_NONE)
			abort_team(team, cause == SHMEMD_CAUSE_CUT_OFF ? -1 : i, cause);
		else if (job->is_unreachable[team->world_pe[i]])
			abort_team(team, i, SHMEMD_CAUSE_NO_PATH);
	}
}

static void record_cause(shmemh_t *job, int pe, uint32_t cause)
{
	uint32_t none = SHMEMD_CAUSE_NONE;

	atomic_compare_exchange_strong(&job->causes[pe], &none, cause);
}

/* Of all teams with that PE; -1: of all. */
static void abort_teams(shmemh_t *job, int pe, uint32_t cause)
{
	for (int t = 0; t < SHMEMHI_MAX_TEAMS; t++) {
		shmemhi_team_t *team = &job->teams[t];
		int team_pe = -1;

		for (int i = 0; i < team->n_pes; i++)
			if (team->world_pe[i] == pe)
				team_pe = i;
		if (team_pe >= 0 || pe < 0)
			abort_team(team, team_pe, cause);
	}
}

void shmemhi_unreachable(shmemh_t *job, int pe)
{
	pthread_mutex_lock(&job->teams_lock);
	job->is_unreachable[pe] = 1; /* for teams that are made later */
	if (!job->closing)
		abort_teams(job, pe, SHMEMD_CAUSE_NO_PATH);
	pthread_mutex_unlock(&job->teams_lock);
}

void shmemhi_gone(void *arg, int pe, uint32_t cause)
{
	shmemh_t *job = arg;

	pthread_mutex_lock(&job->teams_lock);
	/* During finalize PEs leave normally; the barrier in finalize reports real deaths. */
	if (job->closing) {
		pthread_mutex_unlock(&job->teams_lock);
		return;
	}
	for (int i = 0; i < job->n_pes; i++)
		if (i == pe || (pe < 0 && i != job->pe))
			record_cause(job, i, cause);
	atomic_fetch_add(&job->n_gone, 1);
	abort_teams(job, pe, cause);
	pthread_mutex_unlock(&job->teams_lock);
	if (pe >= 0)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "PE %d %s: waits of its teams end with status %d, except those that "
			    "name another PE",
			    pe, cause == SHMEMD_CAUSE_LEFT ? "left" : "died", SHMEMD_ERR_PEER);
	else
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "bootstrap lost: this PE is cut off and its waits end with status %d",
			    SHMEMD_ERR_PEER);
}
