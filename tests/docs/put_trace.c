/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What one put does to memory, in the order of the emulator: a line for each access of device code
 * and of the software adapter, with the code addresses of the functions it is made in.
 * put_trace.py turns them into the table of DESIGN.md. Compiled without optimisation, so that each
 * function has a frame of its own. */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdio.h>
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { NBYTES = 256, FRAMES_MAX = 48 };

static int is_tracing;

typedef int access_t(const void *p, uint32_t nbytes, int access, void *value);

static int is_within(const void *p, const void *start, size_t nbytes)
{
	return (uintptr_t)p - (uintptr_t)start < nbytes;
}

/* A word of the channel, by its offset. */
static const char *channel_word(size_t at)
{
	static const char *const words[] = {"ready", "done",  "path",   "queue",     "doorbell",
					    "rung",  "flush", "ticket", "doorbells", "requests"};
	size_t first = offsetof(shmemd_channel_t, ready);

	if (at == 0)
		return "resv";
	return at >= first && at < first + sizeof(words) ? words[(at - first) / 8] : "channel";
}

/* What PE 0 finds at an address. */
static const char *place(const void *p)
{
	const rig_end_t *e = rig_channel(0, 1, 0);
	size_t queue = (size_t)rig_planned()->depth * SHMEMD_WQEBB_NBYTES;

	if (is_within(p, e->words, sizeof(*e->words)))
		return channel_word((size_t)((const char *)p - (const char *)e->words));
	if (is_within(p, e->wqes, queue))
		return "WQEBB";
	if (is_within(p, e->cqes, queue))
		return "CQE";
	if (is_within(p, e->record, sizeof(*e->record)))
		return "doorbell record";
	if ((uintptr_t)p == SHMEMD_ADDRESS(e->words->doorbell))
		return "doorbell register";
	if (is_within(p, rig_pes[0].keys, sizeof(rig_pes[0].keys)))
		return "keys";
	if (is_within(p, rig_pes[0].heap, rig_pes[0].heap_nbytes))
		return "source";
	return is_within(p, rig_pes[1].heap, rig_pes[1].heap_nbytes) ? "target" : "other";
}

/* Instead of the emulator's own, which it calls. */
int shmemsim_access(const void *p, uint32_t nbytes, int access, void *value)
{
	static access_t *next;
	void *frames[FRAMES_MAX];
	int n;

	if (!next)
		*(void **)&next = dlsym(RTLD_NEXT, "shmemsim_access");
	if (is_tracing) {
		n = backtrace(frames, FRAMES_MAX);
		printf("%d|%s|", access & 0xff, p ? place(p) : "");
		for (int i = 1; i < n; i++)
			printf(" %p", frames[i]);
		printf("\n");
	}
	return next(p, nbytes, access, value);
}

/* The first put finds an idle queue, the second one what most puts find. */
static void kernel(const void *params)
{
	const rig_params_t *p = params;
	char *dst = (char *)word_of(&p->ctx, 1), *src = (char *)word_of(&p->ctx, 2);

	if (p->pe != 0)
		return;
	shmemd_putmem_nbi(&p->ctx, dst, src, NBYTES, p->peer);
	is_tracing = 1;
	shmemd_putmem(&p->ctx, dst, src, NBYTES, p->peer);
	is_tracing = 0;
}

int main(void)
{
	rig_test_t test = {.plan = rig_plan(), .kernel = kernel, .n_blocks = 1, .n_threads = 1};

	run_once(&test);
	rig_end();
	return 0;
}
