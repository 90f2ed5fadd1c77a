/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bootstrap for the PEs of one process. They are fibers, and each waits for the others.
 *
 * The n-th job of the world consists of the n-th bootstraps of all PEs, so that programs may
 * finalize and initialize again. */
#include <stdio.h>
#include <shmem_dev/abi/ctx.h>
#include "sim/sim.h"

#define MAX_GATHER_NBYTES ((size_t)1 << 20)
#define TEXT_NBYTES 200

enum seat_state { SEAT_EMPTY, SEAT_IN, SEAT_LEFT, SEAT_DIED };

/* One PE's end of a job. */
typedef struct seat {
	struct job *job;
	shmemh_boot_t boot;
	shmemsimi_fiber_t *fiber;
	int state;
	int is_arrived; /* in the current gather */
	int status;     /* result of its last gather */
	const void *src;
	void *dst;
	size_t nbytes;
	const shmemh_gather_t *some; /* the gather among some PEs that it waits in; NULL: none */
	void (*gone)(void *arg, int pe, uint32_t cause);
	void *gone_arg;
} seat_t;

typedef struct job {
	struct job *next; /* the job after this one */
	int n_pes, n_arrived;
	char text[TEXT_NBYTES]; /* of the last failure */
	seat_t seats[];
} job_t;

static job_t *jobs;

static size_t job_nbytes(int n_pes)
{
	return sizeof(job_t) + (size_t)n_pes * sizeof(seat_t);
}

/* Complete the gather with this status for all PEs that have arrived. */
static void conclude(job_t *job, int status)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		seat_t *s = &job->seats[pe];
		if (!s->is_arrived)
			continue;
		s->is_arrived = 0;
		s->status = status;
		shmemsimi_wake(s->fiber);
	}
	job->n_arrived = 0;
}

static int refuse_gone(job_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		int state = job->seats[pe].state;
		if (state != SEAT_LEFT && state != SEAT_DIED)
			continue;
		shmemsimi_format(
			job->text, sizeof(job->text),
			state == SEAT_LEFT
				? "PE %d has left the job"
				: "PE %d has returned from its main without leaving the job",
			pe);
		return SHMEMH_ERR_PEER;
	}
	return SHMEMH_OK;
}

static void deliver(job_t *job)
{
	size_t nbytes = job->seats[0].nbytes;
	for (int pe = 0; pe < job->n_pes; pe++)
		if (job->seats[pe].nbytes != nbytes) {
			shmemsimi_format(job->text, sizeof(job->text),
					 "allgather: PE %d passes %zu bytes, PE 0 passes %zu", pe,
					 job->seats[pe].nbytes, nbytes);
			conclude(job, SHMEMH_ERR_MISMATCH);
			return;
		}
	for (int to = 0; to < job->n_pes; to++)
		for (int from = 0; from < job->n_pes; from++)
			shmemsimi_copy((char *)job->seats[to].dst + (size_t)from * nbytes,
				       job->seats[from].src, nbytes);
	conclude(job, SHMEMH_OK);
}

static int refuse(char *errbuf, size_t errbuf_nbytes, int status, const char *text)
{
	if (errbuf && errbuf_nbytes)
		snprintf(errbuf, errbuf_nbytes, "%s", text);
	return status;
}

static int allgather(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
		     size_t errbuf_nbytes)
{
	seat_t *s = state;
	job_t *job = s->job;
	if (shmemsimi_w.current != s->fiber || s->state != SEAT_IN)
		return refuse(errbuf, errbuf_nbytes, SHMEMH_ERR_ARGUMENT,
			      "allgather: called by another PE than the one that opened this "
			      "bootstrap, or after close");
	if (!nbytes || nbytes > MAX_GATHER_NBYTES)
		return refuse(errbuf, errbuf_nbytes, SHMEMH_ERR_ARGUMENT,
			      "allgather: nbytes is outside 1 .. 1 MiB");
	if (refuse_gone(job))
		return refuse(errbuf, errbuf_nbytes, SHMEMH_ERR_PEER, job->text);
	s->fiber->call = __builtin_return_address(0);
	s->src = src;
	s->dst = dst;
	s->nbytes = nbytes;
	s->is_arrived = 1;
	shmemsimi_release(job);
	if (++job->n_arrived == job->n_pes)
		deliver(job);
	else
		shmemsimi_block(WAIT_GATHER);
	shmemsimi_acquire(job);
	return s->status ? refuse(errbuf, errbuf_nbytes, s->status, job->text) : SHMEMH_OK;
}

static int are_equal(const shmemh_gather_t *a, const shmemh_gather_t *b)
{
	if (a->tag != b->tag || a->n_pes != b->n_pes)
		return 0;
	for (int i = 0; i < a->n_pes; i++)
		if (a->pes[i] != b->pes[i])
			return 0;
	return 1;
}

/* Has every member of g that is in the job arrived? */
static int is_complete(const job_t *job, const shmemh_gather_t *g)
{
	for (int i = 0; i < g->n_pes; i++) {
		const seat_t *s = &job->seats[g->pes[i]];
		if (s->state == SEAT_LEFT || s->state == SEAT_DIED)
			continue;
		if (!s->some || !are_equal(s->some, g))
			return 0;
	}
	return 1;
}

/* Complete a gather among some PEs for all members that have arrived. */
static void deliver_some(job_t *job, const shmemh_gather_t *g)
{
	int status = SHMEMH_OK;
	for (int to = 0; to < g->n_pes; to++) {
		seat_t *t = &job->seats[g->pes[to]];
		if (!t->some)
			continue;
		for (int from = 0; from < g->n_pes; from++) {
			const shmemh_gather_t *s = job->seats[g->pes[from]].some;
			t->some->took_part[from] = s != NULL;
			if (s && s->nbytes != t->some->nbytes)
				status = SHMEMH_ERR_MISMATCH;
			else if (s)
				shmemsimi_copy((char *)t->some->dst + (size_t)from * s->nbytes,
					       s->src, s->nbytes);
		}
	}
	for (int i = 0; i < g->n_pes; i++) {
		seat_t *s = &job->seats[g->pes[i]];
		if (!s->some)
			continue;
		s->status = status;
		s->some = NULL;
		shmemsimi_wake(s->fiber);
	}
}

static int gather_some(void *state, const shmemh_gather_t *g, char *errbuf, size_t errbuf_nbytes)
{
	seat_t *s = state;
	job_t *job = s->job;
	if (shmemsimi_w.current != s->fiber || s->state != SEAT_IN)
		return refuse(errbuf, errbuf_nbytes, SHMEMH_ERR_ARGUMENT,
			      "gather_some: called by another PE than the one that opened this "
			      "bootstrap, or after close");
	s->fiber->call = __builtin_return_address(0);
	s->some = g;
	shmemsimi_release(job);
	if (is_complete(job, g))
		deliver_some(job, g);
	else
		shmemsimi_block(WAIT_GATHER);
	shmemsimi_acquire(job);
	return s->status ? refuse(errbuf, errbuf_nbytes, s->status,
				  "members of a team pass different numbers of bytes to one of "
				  "its host collectives")
			 : SHMEMH_OK;
}

/* Complete the gathers among some PEs that waited only for one that is gone. */
static void conclude_gathers(job_t *job)
{
	for (int pe = 0; pe < job->n_pes; pe++) {
		const seat_t *s = &job->seats[pe];
		if (s->some && is_complete(job, s->some))
			deliver_some(job, s->some);
	}
}

/* Handle the death or departure of a PE: the others stop waiting for it, and the watch callbacks
 * are called. */
static void leave_seat(job_t *job, int pe, int state, uint32_t cause)
{
	job->seats[pe].state = state;
	if (job->n_arrived) {
		refuse_gone(job);
		conclude(job, SHMEMH_ERR_PEER);
	}
	conclude_gathers(job);
	shmemsimi_acquire(&job->n_pes); /* orders these calls as if one thread made them */
	for (int i = 0; i < job->n_pes; i++) {
		seat_t *s = &job->seats[i];
		if (s->state == SEAT_IN && s->gone)
			s->gone(s->gone_arg, pe, cause);
	}
	shmemsimi_release(&job->n_pes);
	shmemsim_wrote = 1; /* the callback writes words that fibers poll */
}

static void watch(void *state, void (*gone)(void *arg, int pe, uint32_t cause), void *arg)
{
	seat_t *s = state;
	job_t *job = s->job;
	s->gone = gone;
	s->gone_arg = arg;
	shmemsimi_acquire(&job->n_pes);
	for (int pe = 0; pe < job->n_pes; pe++)
		if (job->seats[pe].state == SEAT_LEFT)
			gone(arg, pe, SHMEMD_CAUSE_LEFT);
		else if (job->seats[pe].state == SEAT_DIED)
			gone(arg, pe, SHMEMD_CAUSE_DIED);
	shmemsimi_release(&job->n_pes);
}

static void leave(void *state)
{
	seat_t *s = state;
	if (s->state == SEAT_IN)
		leave_seat(s->job, s->boot.pe, SEAT_LEFT, SHMEMD_CAUSE_LEFT);
}

static job_t *new_job(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	job_t *job = shmemsimi_alloc(job_nbytes(w->n_pes));
	job->n_pes = w->n_pes;
	for (const shmemsimi_fiber_t *f = w->hosts; f; f = f->next)
		if (f->kind == KIND_HOST && f->state == DONE)
			job->seats[f->pe].state = SEAT_DIED;
	return job;
}

static const shmemh_boot_t *join_job(job_t *job, shmemsimi_fiber_t *f)
{
	seat_t *s = &job->seats[f->pe];
	s->job = job;
	s->fiber = f;
	s->state = SEAT_IN;
	s->boot.size = sizeof(s->boot);
	s->boot.pe = f->pe;
	s->boot.n_pes = job->n_pes;
	s->boot.state = s;
	s->boot.allgather = allgather;
	s->boot.watch = watch;
	s->boot.close = leave;
	s->boot.gather_some = gather_some;
	return &s->boot;
}

const shmemh_boot_t *shmemsim_boot(void)
{
	shmemsimi_fiber_t *f = shmemsimi_w.current;
	if (f->kind != KIND_HOST)
		return NULL;
	for (job_t **at = &jobs;; at = &(*at)->next) {
		if (!*at)
			*at = new_job();
		seat_t *s = &(*at)->seats[f->pe];
		if (s->state == SEAT_IN)
			return &s->boot;
		if (s->state == SEAT_EMPTY)
			return join_job(*at, f);
	}
}

void shmemsimi_boot_left(int pe)
{
	for (job_t *job = jobs; job; job = job->next) {
		int state = job->seats[pe].state;
		if (state == SEAT_EMPTY || state == SEAT_IN)
			leave_seat(job, pe, SEAT_DIED, SHMEMD_CAUSE_DIED);
	}
}

/* Has PE i arrived in the gather in which seat `by` waits, or is it no member of that gather? */
static int has_arrived(const job_t *job, const seat_t *by, int i)
{
	const seat_t *s = &job->seats[i];
	if (!by->some)
		return s->is_arrived;
	for (int k = 0; k < by->some->n_pes; k++)
		if (by->some->pes[k] == i)
			return s->some && are_equal(s->some, by->some);
	return 1;
}

void shmemsimi_boot_missing(int pe, char *text, size_t nbytes)
{
	size_t n = 0;
	const job_t *job = jobs;
	while (job && !job->seats[pe].is_arrived && !job->seats[pe].some)
		job = job->next;
	text[0] = '\0';
	for (int i = 0; job && i < job->n_pes && n < nbytes; i++)
		if (!has_arrived(job, &job->seats[pe], i))
			n += (size_t)snprintf(text + n, nbytes - n, "%sPE %d", n ? ", " : "", i);
}

void shmemsimi_boot_end(void)
{
	for (job_t *job = jobs, *next; job; job = next) {
		next = job->next;
		shmemsimi_free(job, job_nbytes(job->n_pes));
	}
	jobs = NULL;
}
