/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The example of runtime/sim/README.md: a pipeline between two PEs as first written, with its lost
 * signal corrected, and with its missing fence corrected. The searches find what the README
 * describes.
 *
 *     test_own_kernel              all of it
 *     test_own_kernel 0|1|2        one of the three kernels, configured by the environment */
#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>
#include <shmem_sim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* snippet: kernel */
#define ROUNDS 2
#define WORDS 2

typedef struct params {
	shmemd_ctx_t ctx;
	uint64_t *tile;  /* [WORDS] on PE 1 */
	uint64_t *full;  /* on PE 1: a tile is there */
	uint64_t *taken; /* on PE 0: tiles that PE 1 has taken */
	uint64_t *sum;   /* on PE 1: of all words */
} params_t;

SHMEMD_FN void send_tile(const params_t *p, uint64_t round)
{
	for (uint64_t i = 0; i < WORDS; i++)
		shmemd_p_u64(&p->ctx, &p->tile[i], 100 * round + i, 1);
}

SHMEMD_FN void use_tile(const params_t *p, uint64_t round)
{
	for (uint64_t i = 0; i < WORDS; i++) {
		uint64_t word = 0;
		shmemd_g_u64(&p->ctx, &word, &p->tile[i], 1);
		if (word != 100 * round + i)
			shmemsim_fail("round %d: word %d is %d", (int)round, (int)i, (int)word);
		*p->sum += p->tile[i];
	}
}

SHMEMD_KERNEL(pipeline, params_t, p)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (shmemd_my_pe(&p.ctx) == 0) {
			shmemd_wait_until_u64(&p.ctx, p.taken, SHMEMD_CMP_GE, round - 1);
			send_tile(&p, round);
			shmemd_p_u64(&p.ctx, p.full, 1, 1);
		} else {
			shmemd_wait_until_u64(&p.ctx, p.full, SHMEMD_CMP_EQ, 1);
			use_tile(&p, round);
			shmemd_p_u64(&p.ctx, p.taken, round, 0);
			shmemd_p_u64(&p.ctx, p.full, 0, 1);
		}
	}
}
/* end */

/* snippet: counted */
SHMEMD_KERNEL(pipeline_counted, params_t, p)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (shmemd_my_pe(&p.ctx) == 0) {
			shmemd_wait_until_u64(&p.ctx, p.taken, SHMEMD_CMP_GE, round - 1);
			send_tile(&p, round);
			shmemd_p_u64(&p.ctx, p.full, round, 1);
		} else {
			shmemd_wait_until_u64(&p.ctx, p.full, SHMEMD_CMP_GE, round);
			use_tile(&p, round);
			shmemd_p_u64(&p.ctx, p.taken, round, 0);
		}
	}
}
/* end */

/* snippet: fenced */
SHMEMD_KERNEL(pipeline_fenced, params_t, p)
{
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		if (shmemd_my_pe(&p.ctx) == 0) {
			shmemd_wait_until_u64(&p.ctx, p.taken, SHMEMD_CMP_GE, round - 1);
			send_tile(&p, round);
			shmemd_fence(&p.ctx); /* the tile, then the word that announces it */
			shmemd_p_u64(&p.ctx, p.full, round, 1);
		} else {
			shmemd_wait_until_u64(&p.ctx, p.full, SHMEMD_CMP_GE, round);
			use_tile(&p, round);
			shmemd_fence(&p.ctx); /* reading it, then the word that frees it */
			shmemd_p_u64(&p.ctx, p.taken, round, 0);
		}
	}
}
/* end */

/* snippet: host */
typedef void kernel_t(const void *params);

static int pe_main(int pe, int n_pes, void *kernel)
{
	shmemh_attr_t attr = SHMEMH_ATTR_INIT;
	shmemh_t *job;
	params_t p;
	void *mem = NULL;

	(void)pe, (void)n_pes;
	attr.boot = shmemsim_boot();
	if (shmemh_init(&attr, &job) || shmemh_calloc(job, WORDS + 3, sizeof(uint64_t), &mem))
		return 1;
	p.tile = (uint64_t *)mem;
	p.full = p.tile + WORDS;
	p.taken = p.full + 1;
	p.sum = p.taken + 1;
	shmemsim_name(p.tile, WORDS * sizeof(uint64_t), "tile");
	shmemsim_name(p.full, sizeof(uint64_t), "full");
	shmemsim_name(p.taken, sizeof(uint64_t), "taken");
	if (shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p.ctx) ||
	    shmemd_launch(*(kernel_t **)kernel, 1, 1, 0, NULL, p) || shmemd_stream_sync(NULL))
		return 1;
	return shmemh_finalize(job);
}

static int search(kernel_t *kernel)
{
	int bad = shmemsim_explore(NULL, 1000, 2, pe_main, &kernel, NULL);
	fputs(shmemsim_report(), stderr);
	return bad;
}
/* end */

/* The expected result of a search with that kind of memory. "": nothing found. */
static int expect(kernel_t *kernel, const char *weak, const char *text)
{
	setenv("SHMEMSIM_WEAK", weak, 1);
	int bad = search(kernel);
	if (bad == (*text != 0) && strstr(shmemsim_report(), text))
		return 0;
	fprintf(stderr, "SHMEMSIM_WEAK=%s: not found as expected: %s\n", weak, text);
	return 1;
}

/* Thread sanitizer ends a program in which it has found a race with this status. */
#define RACE_SEEN 66

static int expect_status(const char *program, int which, int wanted)
{
	char command[4096];
	snprintf(command, sizeof(command), "'%s' %d 2>/dev/null", program, which);
	int status = system(command);
	if (WIFEXITED(status) && WEXITSTATUS(status) == wanted)
		return 0;
	fprintf(stderr, "%s: status %d, not exit %d\n", command, status, wanted);
	return 1;
}

int main(int argc, char **argv)
{
	static kernel_t *const kernels[] = {pipeline, pipeline_counted, pipeline_fenced};
	if (argc > 1)
		return search(kernels[atoi(argv[1]) % 3]);
	if (SHMEMDI_CPU_TSAN)
		return expect_status(argv[0], 1, RACE_SEEN) || expect_status(argv[0], 2, 0);
	return expect(pipeline, "0", "livelock") || expect(pipeline_counted, "0", "") ||
	       expect(pipeline_counted, "1", "word") || expect(pipeline_fenced, "1", "");
}
