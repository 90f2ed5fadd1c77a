/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Litmus tests as text: threads separated by |, operations by ;
 *
 *   st.ORDER.SCOPE x 1     ORDER weak, relaxed, release
 *   ld.ORDER.SCOPE a x     ORDER weak, relaxed, acquire; into register a .. h
 *   add.relaxed.SCOPE a x 1, fence.acq_rel.SCOPE, fence.sc.SCOPE, bar,
 *   fence.acquire.SCOPE, fence.release.SCOPE
 *
 * SCOPE is cta, gpu or sys; a weak access has none. The tested outcome is a list "a=1 b=0". */
#ifndef LITMUS_H
#define LITMUS_H

#include "sim_test.h"

enum where {
	ONE_BLOCK,  /* all threads in one block */
	BLOCKS,     /* each in its own block */
	GPUS,       /* each on its own PE */
	TWO_AND_ONE /* threads 0 and 1 in one block, thread 2 in another */
};

enum verdict {
	ALLOWED,   /* by PTX; must occur */
	FORBIDDEN, /* by PTX; must not occur */
	UNSEEN     /* allowed by PTX, but impossible here: a limit of the emulator */
};

typedef struct litmus {
	const char *name;
	int where;
	const char *program, *outcome;
	int verdict;
} litmus_t;

#define LITMUS_THREADS 4
#define LITMUS_OPS 8

enum litmus_verb { LITMUS_LOAD, LITMUS_STORE, LITMUS_ADD, LITMUS_FENCE, LITMUS_BAR };

typedef struct litmus_op {
	int verb, access;
	int reg, var; /* a, x: 0 */
	uint32_t value;
} litmus_op_t;

typedef struct litmus_parsed {
	litmus_op_t ops[LITMUS_THREADS][LITMUS_OPS];
	int n_ops[LITMUS_THREADS];
	int n_threads, where;
} litmus_parsed_t;

static litmus_parsed_t litmus_now;
static uint32_t litmus_regs[8];
static struct {
	_Alignas(64) uint32_t v;
} litmus_vars[3];

static inline int litmus_access(const char *words)
{
	static const struct {
		const char *word;
		int access;
	} parts[] = {
		{"ld.weak", SHMEMSIM_LD_DATA},
		{"ld.relaxed", SHMEMSIM_LD_RELAXED},
		{"ld.acquire", SHMEMSIM_LD_ACQUIRE},
		{"st.weak", SHMEMSIM_ST_DATA},
		{"st.relaxed", SHMEMSIM_ST_RELAXED},
		{"st.release", SHMEMSIM_ST_RELEASE},
		{"add.relaxed", SHMEMSIM_RMW},
		{"fence.acq_rel", SHMEMSIM_FENCE},
		{"fence.sc", SHMEMSIM_FENCE_SC},
		{"fence.acquire", SHMEMSIM_FENCE_ACQUIRE},
		{"fence.release", SHMEMSIM_FENCE_RELEASE},
		{".gpu", SHMEMSIM_SCOPE_GPU},
		{".cta", SHMEMSIM_SCOPE_CTA},
	};
	int access = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (strstr(words, parts[i].word))
			access |= parts[i].access;
	return access;
}

static inline litmus_op_t litmus_parse_op(const char *text)
{
	litmus_op_t op = {LITMUS_BAR, 0, 0, 0, 0};
	char words[32], first = 0, second = 0, third = 0;
	int n = sscanf(text, " %31s %c %c %c", words, &first, &second, &third);
	op.access = litmus_access(words);
	if (strncmp(words, "ld", 2) == 0)
		op.verb = LITMUS_LOAD;
	else if (strncmp(words, "st", 2) == 0)
		op.verb = LITMUS_STORE;
	else if (strncmp(words, "add", 3) == 0)
		op.verb = LITMUS_ADD;
	else if (strncmp(words, "fence", 5) == 0)
		op.verb = LITMUS_FENCE;
	else
		assert_string_equal(words, "bar");
	assert_int_equal(n, op.verb == LITMUS_ADD ? 4 : op.verb < LITMUS_FENCE ? 3 : 1);
	op.value = (uint32_t)((op.verb == LITMUS_ADD ? third : second) - '0');
	op.reg = first - 'a';
	op.var = (op.verb == LITMUS_STORE ? first : second) - 'x';
	return op;
}

static inline void litmus_parse(const litmus_t *l)
{
	char text[400], *rest = text;
	litmus_parsed_t *p = &litmus_now;
	memset(p, 0, sizeof(*p));
	p->where = l->where;
	assert_true(strlen(l->program) < sizeof(text));
	strcpy(text, l->program);
	for (char *thread; (thread = strsep(&rest, "|")); p->n_threads++)
		for (char *op; (op = strsep(&thread, ";"));)
			p->ops[p->n_threads][p->n_ops[p->n_threads]++] = litmus_parse_op(op);
}

static inline void litmus_do(const litmus_op_t *op)
{
	uint32_t *p = op->verb < LITMUS_FENCE ? &litmus_vars[op->var].v : NULL, v = op->value;
	switch (op->verb) {
	case LITMUS_LOAD:
		if (shmemsim_access(p, 4, op->access, &v) != SHMEMSIM_GIVEN)
			v = *p;
		litmus_regs[op->reg] = v;
		break;
	case LITMUS_STORE:
		(void)shmemsim_access(p, 4, op->access, &v);
		*p = v;
		break;
	case LITMUS_ADD:
		(void)shmemsim_access(p, 4, op->access, NULL);
		litmus_regs[op->reg] = *p;
		*p += v;
		shmemsim_updated(p, 4, op->access, 1);
		break;
	case LITMUS_FENCE:
		(void)shmemsim_access(NULL, 0, op->access, NULL);
		break;
	default:
		(void)shmemsim_bar(0, 0, 0, NULL);
	}
}

static inline void litmus_kernel(const void *params)
{
	int thread = *(const int *)params;
	if (thread < 0)
		thread = (int)(shmemd_arch_block() * shmemd_arch_ntids() + shmemd_arch_tid());
	for (int i = 0; thread < litmus_now.n_threads && i < litmus_now.n_ops[thread]; i++)
		litmus_do(&litmus_now.ops[thread][i]);
}

static inline int litmus_pe(int pe, int n_pes, void *arg)
{
	static const uint32_t grids[][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 2}};
	uint32_t blocks = grids[litmus_now.where][0], threads = grids[litmus_now.where][1];
	int thread = litmus_now.where == GPUS ? pe : -1;
	(void)n_pes;
	(void)arg;
	blocks = blocks ? blocks : (uint32_t)litmus_now.n_threads;
	threads = threads ? threads : (uint32_t)litmus_now.n_threads;
	return shmemsim_launch(litmus_kernel, &thread, sizeof(thread), blocks, threads, 0, NULL) ||
	       shmemsim_sync(NULL);
}

static inline int litmus_is_outcome(const char *outcome)
{
	for (; *outcome; outcome++)
		if (*outcome == '=' &&
		    litmus_regs[outcome[-1] - 'a'] != (uint32_t)(outcome[1] - '0'))
			return 0;
	return 1;
}

/* Number of schedules, of n, with the outcome. */
static inline int litmus_count(const litmus_t *l, shmemsim_config_t cfg, int n)
{
	int seen = 0;
	litmus_parse(l);
	for (cfg.seed = 1; cfg.seed <= (uint64_t)n; cfg.seed++) {
		memset(litmus_regs, 0, sizeof(litmus_regs));
		memset(litmus_vars, 0, sizeof(litmus_vars));
		assert_good(shmemsim_run(&cfg, l->where == GPUS ? litmus_now.n_threads : 1,
					 litmus_pe, NULL));
		seen += litmus_is_outcome(l->outcome);
	}
	return seen;
}

#endif
