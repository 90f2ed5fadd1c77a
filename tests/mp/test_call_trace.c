/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* <shmem_host/trace.h> and trace.h: what kernels of a unit with SHMEMD_TRACE record, read from the
 * file, whose events have a line each. */
#define SHMEMD_TRACE
#include <shmem_dev/shmem_dev.h>
/* Those that call functions of shmem_dev.h, which are recorded, too. */
#include <shmem_dev/bulk.h>
#include <shmem_dev/grid.h>
#include <shmem_dev/strided.h>
#include <shmem_dev/trace.h>
#include <shmem_dev/wait_sets.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "pes.h"

#define N_THREADS 128
#define OTHER_TID 37 /* warp 1 lane 5 */
#define N_WORDS 16
#define NBYTES 1000

typedef struct trace_params {
	shmemd_ctx_t ctx;
	char *inbox, *outbox;
	uint64_t *words; /* [N_WORDS], 0 */
	shmemd_packed_t *slot;
	uint32_t *arrived;
	int *status;
	int n_puts;
} trace_params_t;

SHMEMD_FN int next_of(const trace_params_t *p)
{
	return (shmemd_my_pe(&p->ctx) + 1) % shmemd_n_pes(&p->ctx);
}

SHMEMD_KERNEL(scopes_kernel, trace_params_t, p)
{
	uint64_t begin = shmemd_trace_begin();
	int status;

	shmemd_putmem_signal_block(&p.ctx, p.inbox, p.outbox, NBYTES, &p.words[0], 7,
				   SHMEMD_SIGNAL_SET, next_of(&p));
	status = shmemd_signal_wait_until_block(&p.ctx, &p.words[0], SHMEMD_CMP_EQ, 7);
	if (shmemd_thread_index() == OTHER_TID) {
		shmemd_p_u64(&p.ctx, &p.words[1], 5, next_of(&p));
		status |= shmemd_wait_until_u64(&p.ctx, &p.words[1], SHMEMD_CMP_GE, 5);
	}
	status |= shmemd_barrier_block(&p.ctx);
	if (shmemd_thread_index() == 0)
		shmemd_trace_end(&p.ctx, begin, 1);
	if (status != SHMEMD_OK)
		*p.status = status;
}

/* Calls of each kind, by one thread. */
SHMEMD_KERNEL(kinds_kernel, trace_params_t, p)
{
	uint64_t old, packed;
	uint32_t value;
	size_t index;
	int pe = next_of(&p), done, status = SHMEMD_OK;

	shmemd_putmem(&p.ctx, p.inbox, p.outbox, 8, pe);
	shmemd_putmem_nbi(&p.ctx, p.inbox, p.outbox, 8, pe);
	shmemd_fence(&p.ctx);
	status |= shmemd_quiet(&p.ctx);
	status |= shmemd_getmem(&p.ctx, p.outbox, p.inbox, 8, pe);
	shmemd_getmem_nbi(&p.ctx, p.outbox, p.inbox, 8, pe);
	status |= shmemd_quiet(&p.ctx);
	status |= shmemd_g_u32(&p.ctx, &value, (const uint32_t *)(const void *)p.inbox, pe);
	shmemd_putmem_bulk(&p.ctx, p.inbox, p.outbox, 8, pe, NULL, 0);
	status |= shmemd_getmem_bulk(&p.ctx, p.outbox, p.inbox, 8, pe, NULL, 0);
	shmemd_iputmem(&p.ctx, p.inbox, p.outbox, 1, 1, 4, 3, pe);
	status |= shmemd_sync(&p.ctx);
	shmemd_atomic_add_u64(&p.ctx, &p.words[2], 3, pe);
	status |= shmemd_atomic_fetch_add_u64(&p.ctx, &old, &p.words[2], 4, pe);
	status |= shmemd_wait_until_u64(&p.ctx, &p.words[2], SHMEMD_CMP_GE, 7);
	shmemd_signal_op(&p.ctx, &p.words[3], 9, SHMEMD_SIGNAL_SET, pe);
	status |= shmemd_wait_until_any_u64(&p.ctx, &index, &p.words[3], 2, NULL, SHMEMD_CMP_EQ, 9);
	shmemd_put_packed(&p.ctx, p.slot, 11, 1, pe);
	status |= shmemd_wait_packed(&p.ctx, &packed, p.slot, 1);
	shmemd_channel_signal_set(&p.ctx, &p.words[5], 13, pe, SHMEMD_RING_NOW);
	do {
		shmemd_arch_spin_hint();
		done = shmemd_test_u64(&p.ctx, &p.words[5], SHMEMD_CMP_EQ, 13);
	} while (!done);
	shmemd_putmem_signal_grid(&p.ctx, shmemd_blocks(0, 1, shmemd_thread()), p.inbox, p.outbox,
				  8, &p.words[6], 15, SHMEMD_SIGNAL_ADD, pe, p.arrived);
	status |= shmemd_signal_wait_until(&p.ctx, &p.words[6], SHMEMD_CMP_EQ, 15);
	status |= shmemd_barrier_all(&p.ctx);
	if (status != SHMEMD_OK)
		*p.status = status;
}

/* Puts of 1, 2 ... bytes, and a phase of a context that is not filled. */
SHMEMD_KERNEL(puts_kernel, trace_params_t, p)
{
	shmemd_ctx_t none = {0};

	for (int i = 1; i <= p.n_puts; i++)
		shmemd_putmem(&p.ctx, p.inbox, p.outbox, (size_t)i, next_of(&p));
	shmemd_trace_end(&none, shmemd_trace_begin(), 1);
	if (shmemd_quiet(&p.ctx) != SHMEMD_OK)
		*p.status = 1;
}

/* --- reading --- */

typedef struct lines {
	char *text[4096];
	int n;
	char all[1 << 20];
} lines_t;

static lines_t lines; /* of PE 0 */

static void path_of(const pes_t *pes, char *path, size_t nbytes)
{
	snprintf(path, nbytes, "%s/shmem_trace_%d_%d.json",
		 getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp", (int)getpid(), pes->pe);
}

/* Write the file, and on PE 0 read its lines. */
static int write_and_read(pes_t *pes)
{
	static const char *const phases[] = {"nothing", "all of \"it\""};
	char path[256], *line;
	size_t nbytes;
	FILE *f;

	path_of(pes, path, sizeof(path));
	PES_TRY(pes, shmemh_trace_write(pes->job, path, phases, 2));
	lines.n = 0;
	if (pes->pe != 0)
		return 0;
	f = fopen(path, "r");
	if (!PES_CHECK(pes, f != NULL)) {
		nbytes = fread(lines.all, 1, sizeof(lines.all) - 1, f);
		lines.all[nbytes] = '\0';
		fclose(f);
		for (line = strtok(lines.all, "\n"); line != NULL && lines.n < 4096;
		     line = strtok(NULL, "\n"))
			lines.text[lines.n++] = line;
	}
	unlink(path);
	return 0;
}

/* Lines of a PE with that text. */
static int count(int pe, const char *text)
{
	char process[32];
	int n = 0, i;

	snprintf(process, sizeof(process), "\"pid\":%d,", pe + 1);
	for (i = 0; i < lines.n; i++)
		n += strstr(lines.text[i], process) != NULL && strstr(lines.text[i], text) != NULL;
	return n;
}

static double number(const char *line, const char *name)
{
	const char *at = strstr(line, name);

	return at == NULL ? -1 : atof(at + strlen(name));
}

/* The emulator's PEs have one clock. */
static void check_clock(pes_t *pes, int pe)
{
#ifdef __CUDACC__
	PES_EQ(pes, count(pe, "\"clock offset\":"), 1);
#else
	PES_EQ(pes, count(pe, "\"clock offset\":0,"), 1);
#endif
}

/* Every arrow leads from the PE before to a later time. */
static void check_arrows(pes_t *pes)
{
	int i, k, n_ends;

	for (i = 0; i < lines.n; i++) {
		const char *to = lines.text[i];
		int want = ((int)number(to, "\"pid\":") - 2 + pes->n_pes) % pes->n_pes + 1;

		if (strstr(to, "\"ph\":\"f\"") == NULL)
			continue;
		for (n_ends = k = 0; k < lines.n; k++) {
			const char *from = lines.text[k];

			if (strstr(from, "\"ph\":\"s\"") == NULL ||
			    number(from, "\"id\":") != number(to, "\"id\":"))
				continue;
			n_ends++;
			PES_EQ(pes, number(from, "\"pid\":"), want);
			PES_CHECK(pes, number(from, "\"ts\":") <= number(to, "\"ts\":"));
		}
		PES_EQ(pes, n_ends, 1);
	}
}

static int params_of(pes_t *pes, trace_params_t *p)
{
	p->ctx = pes->ctx;
	p->status = pes->status;
	p->n_puts = 0;
	PES_ALLOC(pes, p->inbox, char, NBYTES, 0);
	PES_ALLOC(pes, p->outbox, char, NBYTES, 0);
	PES_ALLOC(pes, p->words, uint64_t, N_WORDS, 0);
	PES_ALLOC(pes, p->slot, shmemd_packed_t, 1, 0);
	PES_ALLOC(pes, p->arrived, uint32_t, 1, 0);
	return 0;
}

/* --- tests --- */

static int scopes(pes_t *pes)
{
	trace_params_t p;
	char text[64];
	int pe;

	if (params_of(pes, &p) != 0)
		return 1;
	PES_TRY(pes, shmemh_trace_start(pes->job, 1000));
	PES_RUN(pes, scopes_kernel, 1, N_THREADS, p);
	if (write_and_read(pes) != 0)
		return 1;
	for (pe = 0; lines.n > 0 && pe < pes->n_pes; pe++) {
		PES_EQ(pes, count(pe, "\"ph\":\"X\""), 8); /* 6, and 2 ends of waits */
		PES_EQ(pes, count(pe, "\"name\":\"all of \\\"it\\\"\""), 1);
		PES_EQ(pes, count(pe, "\"name\":\"barrier\""), 1);
		PES_EQ(pes, count(pe, "\"name\":\"wait\""), 2);
		snprintf(text, sizeof(text), "\"PE\":%d,", (pe + 1) % pes->n_pes);
		PES_EQ(pes, count(pe, text), 2);
		PES_EQ(pes, count(pe, "\"PE\":"), 2);
		PES_EQ(pes, count(pe, "\"bytes\":1000,"), 1);
		PES_EQ(pes, count(pe, "\"stored\":7}"), 1);
		PES_EQ(pes, count(pe, "\"stored\":5}"), 1);
		PES_EQ(pes, count(pe, "\"seen\":7}"), 1);
		PES_EQ(pes, count(pe, "\"seen\":5}"), 1);
		PES_EQ(pes, count(pe, "\"ph\":\"f\""), 2);
		check_clock(pes, pe);
		PES_EQ(pes, count(pe, "thread_name"), 2);
		PES_EQ(pes, count(pe, "\"block 0 warp 0\""), 1);
		PES_EQ(pes, count(pe, "\"block 0 warp 1 lane 5\""), 1);
	}
	check_arrows(pes);
	return 0;
}

static int kinds(pes_t *pes)
{
	static const struct {
		const char *name;
		int n;
	} want[] = {{"put", 4},  {"get", 3},        {"fence", 1},  {"quiet", 2}, {"g", 1},
		    {"sync", 1}, {"atomic", 2},     {"wait", 4},   {"test", 1},  {"signal", 3},
		    {"p", 1},    {"put_signal", 1}, {"barrier", 1}};
	trace_params_t p;
	char text[64];
	size_t i;
	int pe;

	if (params_of(pes, &p) != 0)
		return 1;
	PES_TRY(pes, shmemh_trace_start(pes->job, 1000));
	PES_RUN(pes, kinds_kernel, 1, 1, p);
	if (write_and_read(pes) != 0)
		return 1;
	for (pe = 0; lines.n > 0 && pe < pes->n_pes; pe++) {
		for (i = 0; i < sizeof(want) / sizeof(*want); i++) {
			snprintf(text, sizeof(text), "\"name\":\"%s\",\"args\":{\"status\"",
				 want[i].name);
			if (PES_EQ(pes, count(pe, text), want[i].n))
				fprintf(stderr, "PE %d: %s\n", pe, want[i].name);
		}
		PES_EQ(pes, count(pe, "\"ph\":\"f\""), 5);
		check_clock(pes, pe);
		PES_EQ(pes, count(pe, "\"bytes\":12}"), 1);
	}
	check_arrows(pes);
	return 0;
}

static int overflow(pes_t *pes)
{
	trace_params_t p;
	char text[64];
	int pe, i;

	if (params_of(pes, &p) != 0)
		return 1;
	p.n_puts = 7; /* and a quiet */
	PES_TRY(pes, shmemh_trace_start(pes->job, 3));
	PES_RUN(pes, puts_kernel, 1, 1, p);
	if (write_and_read(pes) != 0)
		return 1;
	for (pe = 0; lines.n > 0 && pe < pes->n_pes; pe++) {
		PES_EQ(pes, count(pe, "\"ph\":\"X\""), 3);
		for (i = 1; i <= 3; i++) {
			snprintf(text, sizeof(text), "\"bytes\":%d}", i);
			PES_EQ(pes, count(pe, text), 1);
		}
		PES_EQ(pes, count(pe, ": 5 later events are lost\""), 1);
	}
	return 0;
}

static int start_again(pes_t *pes)
{
	trace_params_t p;
	int pe;

	if (params_of(pes, &p) != 0)
		return 1;
	p.n_puts = 299; /* of several rounds of the gather; and a quiet */
	PES_TRY(pes, shmemh_trace_start(pes->job, 2));
	PES_RUN(pes, puts_kernel, 1, 1, p);
	PES_TRY(pes, shmemh_trace_start(pes->job, pes->pe == 1 ? 0 : 300));
	PES_RUN(pes, puts_kernel, 1, 1, p);
	if (write_and_read(pes) != 0)
		return 1;
	for (pe = 0; lines.n > 0 && pe < pes->n_pes; pe++) {
		PES_EQ(pes, count(pe, "\"ph\":\"X\""), pe == 1 ? 0 : 300);
		PES_EQ(pes, count(pe, "\"bytes\":299}"), pe == 1 ? 0 : 1);
		PES_EQ(pes, count(pe, "lost"), 0);
		PES_EQ(pes, count(pe, "process_name"), 1);
	}
	PES_EQ(pes, shmemh_trace_write(pes->job, "/nowhere/trace.json", NULL, 0),
	       SHMEMH_ERR_SYSTEM);
	PES_CHECK(pes, strstr(shmemh_error_text(pes->job), "/nowhere/trace.json cannot be written: "
							   "No such file") != NULL);
	PES_EQ(pes, shmemh_trace_write(pes->job, NULL, NULL, 0), SHMEMH_ERR_SYSTEM);
	PES_TRY(pes, shmemh_trace_start(pes->job, 0));
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {PES_TEST(scopes), PES_TEST(kinds), PES_TEST(overflow),
					   PES_TEST(start_again)};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(*tests));
}
