/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Why no scenario catches a call that is weakened: a table (table.c) beside the tool, because a
 * reader of the headers does not need it.
 *
 * A row names its call by the function that has it and by its number among the calls of the same
 * primitive there. So a row follows its call when lines move. When a call is added to that function
 * or removed, or the function is renamed, the row matches no call, which is an error. */
#ifndef WEAKEN_REASONS_H
#define WEAKEN_REASONS_H

typedef struct reason_site {
	const char *function, *call; /* call: the primitive without "shmemd_" */
	int number, count;           /* number: 1 .. count, the calls of it in the function */
} reason_site_t;

typedef struct reason {
	reason_site_t site;
	unsigned variants; /* 1 << of enum weaken_how (site.h) */
	const char *text;
	unsigned found; /* variants for which reasons_find returned the text */
} reason_t;

/* The table. A row without text ends it. */
extern reason_t reasons[];

/* The reason for this variant, of enum weaken_how, of the call, or NULL. */
const char *reasons_find(reason_t *rows, const reason_site_t *site, int how);

/* Print rows with a variant that was never found: no call is so named, or it has no such variant.
 * Returns how many. */
int reasons_print_lost(const reason_t *rows);

#endif
