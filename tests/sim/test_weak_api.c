/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the device API promises about order, on random schedules with weak memory: the right code
 * keeps it, and each mistake of order in impl/seed.h is found. */
#define SHMEMDI_SEEDED
#include <shmem_dev/shmem_dev.h>
#include "sim_test.h"

#if defined(__SANITIZE_ADDRESS__)
#define N_SCHEDULES 300
#else
#define N_SCHEDULES 2000 /* of each operation and scope */
#endif
#define N_PES_MAX 3
#define N_WORDS 40

extern int shmemdi_seeded;
int shmemdi_seeded;

typedef struct heap {
	uint64_t dst[N_WORDS], src[N_WORDS], flag, sync[SHMEMD_SYNC_WORDS(N_PES_MAX)];
} heap_t;

typedef struct pe_state {
	heap_t heap;
	shmemd_peer_t peers[N_PES_MAX];
	uint64_t abort_word, saw;
	uint32_t causes[N_PES_MAX];
	shmemd_latch_t latch;
	shmemd_error_t error;
	shmemd_ctx_t ctx;
} pe_state_t;

static pe_state_t pes[N_PES_MAX];

typedef struct params {
	shmemd_ctx_t ctx;
	heap_t *heap;
	uint64_t *saw;
	uint32_t n_threads;
} params_t;

static shmemd_group_t group_of(const params_t *p)
{
	if (p->n_threads == 1)
		return shmemd_thread();
	return p->n_threads == 32 ? shmemd_warp() : shmemd_block();
}

#define VALUE(pe, i) ((uint64_t)(pe)*1000 + (i) + 1)

static void fill(const params_t *p, shmemd_group_t g)
{
	for (uint32_t i = g.rank; i < N_WORDS; i += g.size)
		shmemd_arch_st_data_u64(&p->heap->src[i], VALUE(p->ctx.my_pe, i));
	shmemd_group_sync(g);
}

/* Every thread looks at words that others have written and copied. */
static void check(const uint64_t *words, shmemd_group_t g, int pe)
{
	for (uint32_t i = g.size - 1 - g.rank; i < N_WORDS; i += g.size) {
		uint64_t v = shmemd_arch_ld_data_u64(&words[i]);
		if (v != VALUE(pe, i))
			shmemsim_fail("word %u is %llu", i, (unsigned long long)v);
	}
}

static int left_of(const params_t *p)
{
	return (p->ctx.my_pe + p->ctx.n_pes - 1) % p->ctx.n_pes;
}

static int right_of(const params_t *p)
{
	return (p->ctx.my_pe + 1) % p->ctx.n_pes;
}

static void put_signal(const void *params)
{
	const params_t *p = params;
	shmemd_group_t g = group_of(p);
	int op = p->n_threads == 32 ? SHMEMD_SIGNAL_ADD : SHMEMD_SIGNAL_SET;
	fill(p, g);
	shmemd_putmem_signal_group(&p->ctx, g, p->heap->dst, p->heap->src, sizeof(p->heap->dst),
				   &p->heap->flag, 1, op, right_of(p));
	CHECK(!shmemd_signal_wait_until_group(&p->ctx, g, &p->heap->flag, SHMEMD_CMP_GE, 1));
	check(p->heap->dst, g, left_of(p));
}

static void sync_(const void *params)
{
	const params_t *p = params;
	shmemd_group_t g = group_of(p);
	fill(p, g);
	CHECK(!shmemd_sync_group(&p->ctx, g));
	check(shmemd_ptr(&p->ctx, p->heap->src, left_of(p)), g, left_of(p));
	CHECK(!shmemd_sync_group(&p->ctx, g));
	fill(p, g); /* nobody reads any more */
}

static void barrier(const void *params)
{
	const params_t *p = params;
	shmemd_group_t g = group_of(p);
	fill(p, g);
	shmemd_putmem_nbi_group(&p->ctx, g, p->heap->dst, p->heap->src, sizeof(p->heap->dst),
				right_of(p));
	CHECK(!shmemd_barrier_group(&p->ctx, g));
	check(p->heap->dst, g, left_of(p));
}

/* The flag is sent by another thread than the group's leader. */
static void fence(const void *params)
{
	const params_t *p = params;
	shmemd_group_t g = group_of(p);
	fill(p, g);
	shmemd_putmem_nbi_group(&p->ctx, g, p->heap->dst, p->heap->src, sizeof(p->heap->dst),
				right_of(p));
	shmemd_fence_group(&p->ctx, g);
	if (g.rank == g.size - 1)
		shmemd_p_u64(&p->ctx, &p->heap->flag, 1, right_of(p));
	CHECK(!shmemd_signal_wait_until_group(&p->ctx, g, &p->heap->flag, SHMEMD_CMP_EQ, 1));
	check(p->heap->dst, g, left_of(p));
}

/* Store buffering: not everybody misses the put of the neighbour. */
static void quiet(const void *params)
{
	const params_t *p = params;
	shmemd_group_t g = group_of(p);
	uint64_t seen = 0;
	if (g.rank == 0)
		shmemd_p_u64(&p->ctx, &p->heap->flag, 1, right_of(p));
	CHECK(!shmemd_quiet_group(&p->ctx, g));
	if (g.rank == g.size - 1) {
		CHECK(!shmemd_g_u64(&p->ctx, &seen, &p->heap->flag, p->ctx.my_pe));
		*p->saw = seen;
	}
}

typedef struct scenario {
	const char *name;
	void (*kernel)(const void *params);
} scenario_t;

static const scenario_t scenarios[] = {
	{"put_signal", put_signal}, {"sync", sync_},  {"barrier", barrier},
	{"fence", fence},           {"quiet", quiet},
};

typedef struct setting {
	const scenario_t *scenario;
	uint32_t n_threads;
} setting_t;

static void reset(int n_pes)
{
	memset(pes, 0, sizeof(pes));
	for (int pe = 0; pe < n_pes; pe++) {
		pe_state_t *s = &pes[pe];
		shmemd_ctx_t *c = &s->ctx;
		c->my_pe = pe;
		c->n_pes = n_pes;
		c->flags = SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_ALL_MAPPED;
		c->heap = (char *)&s->heap;
		c->heap_nbytes = sizeof(s->heap);
		c->peers = s->peers;
		c->sync = s->heap.sync;
		c->abort_word = &s->abort_word;
		c->causes = s->causes;
		c->latch = &s->latch;
		c->error = &s->error;
		for (int to = 0; to < n_pes; to++) {
			s->peers[to].base = (char *)&pes[to].heap;
			s->peers[to].world_pe = to;
		}
	}
}

static int pe_main(int pe, int n_pes, void *arg)
{
	const setting_t *s = arg;
	pe_state_t *mine = &pes[pe];
	params_t p = {mine->ctx, &mine->heap, &mine->saw, s->n_threads};
	(void)n_pes;
	return shmemsim_launch(s->scenario->kernel, &p, sizeof(p), 1, s->n_threads, 0, NULL) ||
	       shmemsim_sync(NULL);
}

/* One schedule. Returns 1 if it broke a promise. */
static int is_broken(setting_t *s, uint64_t seed)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	int n_pes = 2 + (int)(seed % (N_PES_MAX - 1)), n_saw = 0;
	cfg.policy = SHMEMSIM_RANDOM;
	cfg.seed = seed;
	cfg.weak = 1;
	reset(n_pes);
	if (shmemsim_run(&cfg, n_pes, pe_main, s))
		return 1;
	for (int pe = 0; pe < n_pes; pe++)
		n_saw += pes[pe].saw != 0;
	return s->scenario->kernel == quiet && !n_saw;
}

static void test_right_code(void **state)
{
	static const uint32_t threads[] = {1, 32, 64};
	(void)state;
	shmemdi_seeded = SHMEMDI_SEED_NONE;
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		for (int scope = 0; scope < 3; scope++) {
			setting_t s = {&scenarios[i], threads[scope]};
			for (uint64_t seed = 1; seed <= N_SCHEDULES; seed++)
				if (is_broken(&s, seed))
					fail_msg("%s, %u threads, seed %d\n%s", s.scenario->name,
						 s.n_threads, (int)seed, shmemsim_report());
		}
}

static void test_mistakes(void **state)
{
	static const struct {
		const char *name;
		int seed, scenario;
		uint32_t n_threads;
	} mistakes[] = {
		{"SIGNAL_FENCE", SHMEMDI_SEED_SIGNAL_FENCE, 0, 1},
		{"SIGNAL_FENCE", SHMEMDI_SEED_SIGNAL_FENCE, 0, 32},
		{"SIGNAL_FENCE", SHMEMDI_SEED_SIGNAL_FENCE, 0, 64},
		{"SIGNAL_SYNC", SHMEMDI_SEED_SIGNAL_SYNC, 0, 32},
		{"SIGNAL_SYNC", SHMEMDI_SEED_SIGNAL_SYNC, 0, 64},
		{"WAIT_ACQUIRE", SHMEMDI_SEED_WAIT_ACQUIRE, 0, 1},
		{"WAIT_ACQUIRE", SHMEMDI_SEED_WAIT_ACQUIRE, 0, 64},
		{"WAIT_ACQUIRE", SHMEMDI_SEED_WAIT_ACQUIRE, 2, 32},
		{"WAIT_ACQUIRE", SHMEMDI_SEED_WAIT_ACQUIRE, 3, 32},
		{"SYNC_FENCE", SHMEMDI_SEED_SYNC_FENCE, 1, 1},
		{"SYNC_FENCE", SHMEMDI_SEED_SYNC_FENCE, 1, 32},
		{"SYNC_FENCE", SHMEMDI_SEED_SYNC_FENCE, 1, 64},
	};
	int missed = 0;
	(void)state;
	for (size_t i = 0; i < sizeof(mistakes) / sizeof(mistakes[0]); i++) {
		setting_t s = {&scenarios[mistakes[i].scenario], mistakes[i].n_threads};
		uint64_t seed = 1;
		shmemdi_seeded = mistakes[i].seed;
		while (seed <= N_SCHEDULES && !is_broken(&s, seed))
			seed++;
		print_message("%-13s %-10s %2u threads: %s %d\n", mistakes[i].name,
			      s.scenario->name, s.n_threads,
			      seed > N_SCHEDULES ? "NOT FOUND in" : "found in schedule", (int)seed);
		missed += seed > N_SCHEDULES;
	}
	shmemdi_seeded = SHMEMDI_SEED_NONE;
	assert_int_equal(missed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_code),
		cmocka_unit_test(test_mistakes),
	};
#if SHMEMDI_CPU_TSAN
	print_message("skipped: weak memory does not go with thread sanitizer\n");
	return 77;
#endif
	return cmocka_run_group_tests(tests, NULL, NULL);
}
