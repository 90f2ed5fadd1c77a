/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include <stdio.h>
#include <string.h>
#include "reasons.h"

static int is_same(const reason_site_t *a, const reason_site_t *b)
{
	return !strcmp(a->function, b->function) && !strcmp(a->call, b->call) &&
	       a->number == b->number && a->count == b->count;
}

const char *reasons_find(reason_t *rows, const reason_site_t *site, int how)
{
	for (reason_t *r = rows; r->text; r++)
		if (r->variants >> how & 1 && is_same(&r->site, site)) {
			r->found |= 1U << how;
			return r->text;
		}
	return NULL;
}

int reasons_print_lost(const reason_t *rows)
{
	int n = 0;
	for (const reason_t *r = rows; r->text; r++)
		if (r->variants & ~r->found) {
			printf("tests/weaken/table.c: a row explains call %d of %d of %s in %s, "
			       "which does not exist or has no such variant\n    %s\n",
			       r->site.number, r->site.count, r->site.call, r->site.function,
			       r->text);
			n++;
		}
	return n;
}
