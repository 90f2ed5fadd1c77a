/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Jobs of several PEs for the tests of runtime/mem: threads of this process, or forked processes.
 * The bootstrap is a barrier and a table in shared memory, with a deadline. */
#ifndef TESTS_UNIT_MEM_JOB_H
#define TESTS_UNIT_MEM_JOB_H

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/clock.h"
#include "job/job.h"
#include "mem/mem.h"
#include "mem/state.h"

#define MAX_PES 4
#define SLOT_NBYTES 8192
#define DEADLINE_NS (20 * SHMEMHI_SECOND)

typedef struct world {
	int n_pes;
	_Atomic unsigned arrived;
	_Atomic unsigned passed;
	_Atomic int dead; /* PE + 1 that left the job without a report */
	char slots[MAX_PES][SLOT_NBYTES];
} world_t;

typedef struct pe_boot {
	world_t *world;
	int pe;
} pe_boot_t;

/* The kind of PEs of a test, and their differences. */
typedef struct world_kind {
	int n_pes;
	int forked;   /* processes instead of threads */
	int sockets;  /* threads that treat each other as other processes */
	uint64_t max; /* SHMEMH_SYMMETRIC_MAX */
	uint64_t chunk;
	int default_max; /* leave SHMEMH_SYMMETRIC_MAX at 0 */
	int heap_kind;   /* of shmemh_attr_t */
	/* expected status of mem_open; after a failure the test ends */
	int mem_status;
	int node_status;                       /* expected status of node_open */
	unsigned disable_p2p;                  /* bit for each PE: SHMEMH_DISABLE_P2P */
	const char *node_ids[MAX_PES];         /* NULL: SHMEMH_NODE_ID not set */
	const shmemhi_cuda_t *(*cuda)(int pe); /* NULL: no driver */
	void (*before_node)(shmemh_t *job);    /* NULL, or called between mem_open and node_open */
} world_kind_t;

typedef int (*pe_main_t)(shmemh_t *job);

static inline int boot_wait(world_t *w, char *errbuf, size_t nbytes)
{
	uint64_t deadline = shmemhi_now() + DEADLINE_NS;
	unsigned turn = atomic_load(&w->passed);

	if (atomic_fetch_add(&w->arrived, 1) + 1 == (unsigned)w->n_pes) {
		atomic_store(&w->arrived, 0);
		atomic_fetch_add(&w->passed, 1);
		return SHMEMH_OK;
	}
	while (atomic_load(&w->passed) == turn) {
		if (atomic_load(&w->dead)) {
			snprintf(errbuf, nbytes, "PE %d died", atomic_load(&w->dead) - 1);
			return SHMEMH_ERR_PEER;
		}
		if (shmemhi_now() > deadline) {
			snprintf(errbuf, nbytes, "deadline of the test's bootstrap");
			return SHMEMH_ERR_TIMEOUT;
		}
		sched_yield();
	}
	return SHMEMH_OK;
}

static inline int boot_allgather(void *state, const void *src, void *dst, size_t nbytes,
				 char *errbuf, size_t errbuf_nbytes)
{
	pe_boot_t *b = state;
	int status;

	if (nbytes > SLOT_NBYTES)
		return SHMEMH_ERR_ARGUMENT;
	memcpy(b->world->slots[b->pe], src, nbytes);
	status = boot_wait(b->world, errbuf, errbuf_nbytes);
	if (status != SHMEMH_OK)
		return status;
	for (int pe = 0; pe < b->world->n_pes; pe++)
		memcpy((char *)dst + (size_t)pe * nbytes, b->world->slots[pe], nbytes);
	return boot_wait(b->world, errbuf, errbuf_nbytes);
}

/* A job without the phases above memory. */
static inline shmemh_t *bare_job(const world_kind_t *kind, pe_boot_t *boot)
{
	shmemh_t *job = calloc(1, sizeof *job);

	job->pid = getpid();
	job->pe = boot->pe;
	job->n_pes = kind->n_pes;
	job->log = (shmemhi_log_t){SHMEMHI_OFF, boot->pe, kind->n_pes};
	job->opt.symmetric_max = kind->max ? kind->max : (uint64_t)64 << 20;
	if (kind->default_max)
		job->opt.symmetric_max = 0;
	job->opt.heap_chunk = kind->chunk ? kind->chunk : (uint64_t)1 << 20;
	job->opt.boot_timeout_ns = DEADLINE_NS;
	job->opt.disable_p2p = (int)(kind->disable_p2p >> boot->pe & 1);
	if (kind->node_ids[boot->pe])
		snprintf(job->opt.node_id, sizeof job->opt.node_id, "%s", kind->node_ids[boot->pe]);
	job->attr = (shmemh_attr_t)SHMEMH_ATTR_INIT;
	job->attr.heap_kind = kind->heap_kind;
	job->boot = (shmemh_boot_t){.size = sizeof job->boot,
				    .pe = boot->pe,
				    .n_pes = kind->n_pes,
				    .state = boot,
				    .allgather = boot_allgather};
	job->statuses = calloc((size_t)kind->n_pes, sizeof *job->statuses);
	job->texts = calloc((size_t)kind->n_pes, sizeof *job->texts);
	job->causes = calloc((size_t)kind->n_pes, sizeof *job->causes);
	return job;
}

static inline void free_job(shmemh_t *job)
{
	free(job->statuses);
	free(job->texts);
	free(job->causes);
	free(job);
}

typedef struct pe_start {
	const world_kind_t *kind;
	pe_boot_t boot;
	pe_main_t pe_main;
	int result;
} pe_start_t;

/* Print the failed condition with its line, and return 1: a forked PE cannot use cmocka's asserts.
 */
#define PE_CHECK(cond)                                                                             \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: PE %d: failed: %s [%s]\n", __FILE__, __LINE__,     \
				job->pe, #cond, job->err.text);                                    \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static inline int bring_up(const world_kind_t *kind, shmemh_t *job)
{
	const shmemhi_cuda_t *cuda = kind->cuda ? kind->cuda(job->pe) : NULL;

	PE_CHECK(shmemhi_mem_open_with(job, cuda) == kind->mem_status);
	if (kind->mem_status != SHMEMH_OK)
		return 0;
	if (kind->sockets)
		job->mem->id.process[0] ^= (unsigned char)(job->pe + 1);
	if (kind->before_node)
		kind->before_node(job);
	PE_CHECK(shmemhi_node_open(job) == kind->node_status);
	if (kind->node_status != SHMEMH_OK) {
		shmemhi_mem_close(job);
		return 0;
	}
	PE_CHECK(shmemhi_heap_open(job) == SHMEMH_OK);
	return 0;
}

/* The barrier before taking down corresponds to finalize; after a death there is none. */
static inline void take_down(shmemh_t *job)
{
	char all[MAX_PES], mine = 0;

	if (!shmemhi_broken(job))
		shmemhi_allgather(job, &mine, all, 1);
	shmemhi_heap_close(job);
	shmemhi_node_close(job);
	shmemhi_mem_close(job);
}

static inline void *pe_thread(void *arg)
{
	pe_start_t *s = arg;
	shmemh_t *job = bare_job(s->kind, &s->boot);

	s->result = bring_up(s->kind, job);
	if (s->result == 0 && s->kind->mem_status == SHMEMH_OK &&
	    s->kind->node_status == SHMEMH_OK) {
		s->result = s->pe_main(job);
		if (s->result) /* the other PEs must not wait for this one */
			atomic_store(&s->boot.world->dead, job->pe + 1);
		take_down(job);
	} else if (s->result) {
		atomic_store(&s->boot.world->dead, job->pe + 1);
	}
	free_job(job);
	return NULL;
}

static inline void *pe_process(pe_start_t *s)
{
	pid_t pid = fork();

	if (pid == 0) {
		pe_thread(s);
		fflush(NULL);
		exit(s->result);
	}
	return (void *)(intptr_t)pid;
}

/* Run pe_main on every PE of a fresh job. Returns how many PEs failed. */
static inline int run_world(const world_kind_t *kind, pe_main_t pe_main)
{
	world_t *w =
		mmap(NULL, sizeof *w, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pe_start_t starts[MAX_PES];
	pthread_t threads[MAX_PES];
	void *pids[MAX_PES];
	int failed = 0;

	w->n_pes = kind->n_pes;
	fflush(NULL);
	for (int pe = 0; pe < kind->n_pes; pe++) {
		starts[pe] = (pe_start_t){kind, {w, pe}, pe_main, 0};
		if (kind->forked)
			pids[pe] = pe_process(&starts[pe]);
		else
			pthread_create(&threads[pe], NULL, pe_thread, &starts[pe]);
	}
	for (int pe = 0; pe < kind->n_pes; pe++) {
		int wait_status = 0;

		if (kind->forked) {
			waitpid((pid_t)(intptr_t)pids[pe], &wait_status, 0);
			failed += wait_status != 0;
		} else {
			pthread_join(threads[pe], NULL);
			failed += starts[pe].result != 0;
		}
	}
	munmap(w, sizeof *w);
	return failed;
}

static inline int has_text(const shmemh_t *job, const char *part)
{
	return strstr(job->err.text, part) != NULL;
}

/* Run pe_main with each kind of PEs. */
static inline void everywhere(pe_main_t pe_main, world_kind_t kind)
{
	static const int sizes[] = {1, 2, 4};

	for (size_t i = 0; i < 3; i++) {
		kind.n_pes = sizes[i];
		kind.forked = 0;
		kind.sockets = 0;
		assert_int_equal(run_world(&kind, pe_main), 0);
		kind.sockets = 1;
		assert_int_equal(run_world(&kind, pe_main), 0);
		kind.sockets = 0;
		kind.forked = 1;
		assert_int_equal(run_world(&kind, pe_main), 0);
	}
}

#endif
