/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The recorded operations of a run: trace.c records them, trace_text.c writes them into the report,
 * trace_file.c into a file for ui.perfetto.dev. */
#ifndef SHMEMSIMI_TRACE_H
#define SHMEMSIMI_TRACE_H

#include "sim/sim.h"

typedef struct shmemsimi_event {
	uint8_t kind; /* of the fiber */
	uint8_t op;   /* shmemsim_access, or one of the following */
	int pe;
	uint32_t grid, block, tid;
	const char *what; /* name of a host fiber or agent; for a collective: its name */
	const void *p;
	uint32_t nbytes, arg;
	uint64_t before, after; /* value at p; of a choice: the option, and their number */
	uint64_t step;
} shmemsimi_event_t;

enum { SHMEMSIMI_OP_CHOICE = 32, SHMEMSIMI_OP_MEET };

/* Events that are kept, and the k-th of them, from the oldest one, 0. */
uint64_t shmemsimi_n_events(void);
const shmemsimi_event_t *shmemsimi_event(uint64_t k);

/* Were there more, which are not kept? */
bool shmemsimi_trace_is_cut(void);

/* What the program has named the memory at p; NULL: it has no name. */
const char *shmemsimi_name_of(const void *p);

bool shmemsimi_is_same_fiber(const shmemsimi_event_t *a, const shmemsimi_event_t *b);

/* Is it a load? */
static inline bool shmemsimi_is_plain_load(const shmemsimi_event_t *e)
{
	return e->p && e->op <= SHMEMSIM_LD_ACQUIRE;
}

/* Is it a store or an atomic? */
static inline bool shmemsimi_is_write(const shmemsimi_event_t *e)
{
	return e->p && e->op >= SHMEMSIM_ST_DATA && e->op <= SHMEMSIM_RMW;
}

#define SHMEMSIMI_TEXT_NBYTES 200

void shmemsimi_event_text(const shmemsimi_event_t *e, char *text, size_t nbytes);
void shmemsimi_value_text(uint64_t v, char *text, size_t nbytes);

#endif
