/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "crew.h"

#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "left.h"

#define GROWTH (3 << 20) /* bytes; more than a chunk, so that the heap grows */
#define HANG_S 100       /* a scene takes longer than this only if it hangs */
#define N_ENDS 500       /* looks, 10 ms apart, before a process is killed in the end */
#define HUB CREW_SIZE

typedef struct member {
	sem_t go, done;
	pid_t pid;
	scene_t scene;
	outcome_t outcome;
	int status;  /* of the hub's last call */
	int is_over; /* the process ends in good order */
} member_t;

static struct {
	int by_nic;
	member_t *members; /* [CREW_SIZE + 1] in shared memory; the last one is the hub */
	char dir[64];
} crew;

/* ---- in the processes ---- */

static void note(outcome_t *o, enum crew_step step, int status, const char *text)
{
	o->status[step] = status;
	snprintf(o->text[step], CREW_TEXT, "%s", status == SHMEMH_OK ? "" : text);
}

static void begin_step(member_t *m, enum crew_step step)
{
	if (m->scene.step == (int)step)
		inject_begin(m->scene.action, m->scene.at, &m->outcome.trace);
}

static void grow(member_t *m, shmemh_t *job, enum crew_step step)
{
	void *p = NULL;
	int status;

	begin_step(m, step);
	status = shmemh_malloc(job, GROWTH, &p);
	inject_end();
	note(&m->outcome, step, status, shmemh_error_text(job));
}

static void play(member_t *m)
{
	const scene_t *s = &m->scene;
	outcome_t *o = &m->outcome;
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	int status;

	attr.uniqueid = &s->id;
	attr.pe = s->pe;
	attr.n_pes = s->n_pes;
	begin_step(m, CREW_INIT);
	status = shmemh_init(&attr, &job);
	inject_end();
	note(o, CREW_INIT, status, shmemh_error_text(NULL));
	if (status != SHMEMH_OK)
		return;
	grow(m, job, CREW_GROW);
	if (o->status[CREW_GROW] != SHMEMH_OK)
		grow(m, job, CREW_GROW_AGAIN);
	begin_step(m, CREW_BARRIER);
	status = shmemh_barrier(job);
	inject_end();
	note(o, CREW_BARRIER, status, shmemh_error_text(job));
	begin_step(m, CREW_FINALIZE);
	status = shmemh_finalize(job);
	inject_end();
	note(o, CREW_FINALIZE, status, shmemh_error_text(NULL));
}

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, resident = 0;

	if (f && fscanf(f, "%ld %ld", &size, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* A job of this process alone: what a process keeps from its first job on, as the NIC library with
 * its threads and files, is not left by a failure. */
static void first_job(void)
{
	shmemh_t *job;

	if (shmemh_init(NULL, &job) == SHMEMH_OK)
		shmemh_finalize(job);
}

static void pe_main(member_t *m)
{
	char tmp[96];

	snprintf(tmp, sizeof tmp, "%s/%d", crew.dir, (int)(m - crew.members));
	mkdir(tmp, 0700);
	setenv("TMPDIR", tmp, 1);
	first_job();
	for (;;) {
		left_t before;

		while (sem_wait(&m->go) != 0)
			continue;
		if (m->is_over)
			exit(0); /* the adapter removes its file */
		setenv("SHMEMH_BOOT_TIMEOUT", m->scene.timeout, 1);
		setenv("SHMEMH_HEAP", m->scene.bad_option ? "nowhere" : "host", 1);
		inject_version(m->scene.other_version);
		left_look(&before);
		play(m);
		left_since(&before, !crew.by_nic, m->outcome.left, sizeof m->outcome.left);
		m->outcome.kib = resident_kib();
		sem_post(&m->done);
	}
}

static void hub_main(member_t *m)
{
	for (;;) {
		while (sem_wait(&m->go) != 0)
			continue;
		if (m->is_over)
			_exit(0);
		setenv("SHMEMH_BOOT_TIMEOUT", m->scene.timeout, 1);
		m->status = shmemh_get_uniqueid(m->scene.n_pes, &m->scene.id);
		sem_post(&m->done);
	}
}

/* ---- in the process that directs ---- */

static int start_member(int i)
{
	member_t *m = &crew.members[i];
	pid_t director = getpid(), pid;

	sem_init(&m->go, 1, 0);
	sem_init(&m->done, 1, 0);
	pid = fork();
	if (pid < 0) {
		perror("failures: fork");
		return 1;
	}
	if (pid > 0) {
		m->pid = pid; /* in memory that the child shares */
		return 0;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != director)
		_exit(1);
	if (i == HUB)
		hub_main(m);
	else
		pe_main(m);
	_exit(0);
}

int crew_start(int by_nic)
{
	const char *tmp = getenv("TMPDIR");

	crew.by_nic = by_nic;
	snprintf(crew.dir, sizeof crew.dir, "%.40s/failures-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(crew.dir)) {
		perror("failures: mkdtemp");
		return 1;
	}
	crew.members = mmap(NULL, (CREW_SIZE + 1) * sizeof *crew.members, PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crew.members == MAP_FAILED) {
		perror("failures: mmap");
		return 1;
	}
	for (int i = 0; i <= CREW_SIZE; i++)
		if (start_member(i) != 0)
			return 1;
	return 0;
}

static void end_member(member_t *m)
{
	m->is_over = 1;
	sem_post(&m->go);
	for (int turn = 0; turn < N_ENDS; turn++) {
		if (waitpid(m->pid, NULL, WNOHANG) == m->pid)
			return;
		usleep(10000);
	}
	kill(m->pid, SIGKILL);
	waitpid(m->pid, NULL, 0);
}

void crew_end(void)
{
	char tmp[96];

	for (int i = 0; i <= CREW_SIZE; i++) {
		if (crew.members[i].pid > 0)
			end_member(&crew.members[i]);
		snprintf(tmp, sizeof tmp, "%s/%d", crew.dir, i);
		rmdir(tmp);
	}
	if (rmdir(crew.dir) != 0)
		perror(crew.dir);
	munmap(crew.members, (CREW_SIZE + 1) * sizeof *crew.members);
}

/* Wait until the process is done or dead. Returns 0, or 1 after a line. */
static int await(int i)
{
	member_t *m = &crew.members[i];
	int is_expected = i != HUB && m->scene.action == INJECT_DEATH;
	int ended = 0;

	for (long turn = 0; turn < HANG_S * 2000L; turn++) {
		if (sem_trywait(&m->done) == 0)
			return 0;
		if (waitpid(m->pid, &ended, WNOHANG) == m->pid) {
			m->outcome.is_dead = 1;
			m->pid = 0;
			if (is_expected)
				return start_member(i);
			fprintf(stderr, "failures: process %d ended by itself, wait status %d\n", i,
				ended);
			return 1;
		}
		usleep(500);
	}
	fprintf(stderr, "failures: process %d hangs, pid %d\n", i, (int)m->pid);
	return 1;
}

int crew_id(int n_pes, const char *timeout, shmemh_uniqueid_t *id)
{
	member_t *hub = &crew.members[HUB];

	hub->scene.n_pes = n_pes;
	hub->scene.timeout = timeout;
	sem_post(&hub->go);
	if (await(HUB) != 0 || hub->status != SHMEMH_OK) {
		fprintf(stderr, "failures: no unique id, status %d\n", hub->status);
		return 1;
	}
	*id = hub->scene.id;
	return 0;
}

const outcome_t *crew_run(const scene_t *scenes, int n)
{
	static outcome_t outcomes[CREW_SIZE];
	int failed = 0;

	for (int i = 0; i < n; i++) {
		member_t *m = &crew.members[i];

		m->scene = scenes[i];
		memset(&m->outcome, 0, sizeof m->outcome);
		for (int step = 0; step < CREW_STEPS; step++)
			m->outcome.status[step] = -1;
		sem_post(&m->go);
	}
	for (int i = 0; i < n; i++)
		failed |= await(i);
	for (int i = 0; i < n; i++)
		outcomes[i] = crew.members[i].outcome;
	return failed ? NULL : outcomes;
}
