/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A site: one call, in a device header, of something that orders. Every one that is compiled is in
 * the section weaken_sites, called or not. */
#ifndef WEAKEN_SITE_H
#define WEAKEN_SITE_H

#include <stdint.h>

/* What can be done to a site; which of them apply depends on its kind (weaken.c). */
enum weaken_how {
	WEAKEN_NOT,
	WEAKEN_REMOVED,   /* a barrier: nobody waits, each thread keeps its own predicate */
	WEAKEN_UNORDERED, /* a barrier: the threads meet, as at a shuffle, and order nothing */
	WEAKEN_GPU,       /* scope too narrow: for threads of this GPU only */
	WEAKEN_CTA,       /* scope too narrow: for threads of this block only */
	WEAKEN_ACQ_REL,   /* a fence: not sequentially consistent */
	WEAKEN_RELAXED,   /* a load or store: orders nothing */
	WEAKEN_N_HOW
};

enum weaken_kind {
	WEAKEN_FENCE,
	WEAKEN_FENCE_GPU, /* of that scope already */
	WEAKEN_FENCE_SC,
	WEAKEN_ACQUIRE,
	WEAKEN_RELEASE,
	WEAKEN_LOCK, /* try_lock, unlock: of the GPU's scope */
	WEAKEN_BARRIER,
	WEAKEN_N_KINDS
};

typedef struct weaken_site {
	const char *file, *function, *call; /* call: its text, name first */
	uint32_t line;
	int kind, how, is_executed;
} weaken_site_t;

/* Barrier id of nthreads of the block, without order. Returns whether any passed a pred. */
int weaken_meet(uint32_t id, uint32_t nthreads, int pred);

#endif
