/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Processes that are PEs of one job after the other, and one process whose threads are the hubs:
 * the process that directs them has no threads and may fork. A PE that was killed is replaced. */
#ifndef TESTS_FAILURES_CREW_H
#define TESTS_FAILURES_CREW_H

#include <shmem_host/shmem_host.h>
#include "inject.h"

#define CREW_PES 3  /* of a job */
#define CREW_SIZE 4 /* processes: two jobs of two PEs */
#define CREW_TEXT 400

/* What a PE does in a scene, in this order. */
enum crew_step { CREW_INIT, CREW_GROW, CREW_GROW_AGAIN, CREW_BARRIER, CREW_FINALIZE, CREW_STEPS };

/* A scene for one PE. */
typedef struct scene {
	shmemh_uniqueid_t id;
	int pe, n_pes;
	const char *timeout; /* SHMEMH_BOOT_TIMEOUT */
	int bad_option;      /* SHMEMH_HEAP has an unusable value */
	int other_version;
	int step; /* in which the fault is injected; -1: in none */
	enum inject_action action;
	int at;
} scene_t;

typedef struct outcome {
	int is_dead;
	int status[CREW_STEPS];           /* -1: the PE did not get there */
	char text[CREW_STEPS][CREW_TEXT]; /* shmemh_error_text */
	char left[CREW_TEXT];             /* "": nothing is left of the job */
	long kib;                         /* resident */
	inject_trace_t trace;             /* of the step with the fault */
} outcome_t;

/* Start the processes. by_nic: PEs map nothing and use software NICs. */
int crew_start(int by_nic);
void crew_end(void);

/* A unique id for n_pes; its hub allows that time to the start. Returns 0, or 1 after a line. */
int crew_id(int n_pes, const char *timeout, shmemh_uniqueid_t *id);

/* Run n scenes in the first n processes at the same time. The outcomes are valid until the next
 * call. Returns NULL after a line: a process hung, or ended without being told to. */
const outcome_t *crew_run(const scene_t *scenes, int n);

#endif
