/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One schedule of a scenario: draw the dimensions, set up memory, run, report. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "memory.h"

#define MAX_STEPS 20000000u /* a hundred times the length of the longest schedules */

memory_t memories[PES_MAX];
dims_t dims;

static const scenario_t *scenario;
static int is_traced;
static char report[1 << 16];
static uint64_t state; /* state of the random draws */

static const char *const scope_texts[N_SCOPES] = {"thread", "warp", "block",
						  "warps with barrier 3"};
static const char *const form_texts[N_WAIT_FORMS] = {
	"wait", "wait_for, repeated", "wait_from", "test", "signal_fetch", "wait by each thread"};

/* SplitMix64. */
uint32_t scenario_draw(uint32_t n)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (uint32_t)((x ^ x >> 31) >> 33) % n;
}

/* Counters start at 0, or so that the rounds carry them past 2^16 or 2^32. */
static uint64_t draw_start(void)
{
	static const uint64_t starts[] = {0, UINT16_MAX - 1, UINT32_MAX - 1};
	return starts[scenario_draw(3)];
}

uint32_t scenario_n_variants(const scenario_t *s)
{
	uint32_t n = 0;
	while (s->variants[n])
		n++;
	return n;
}

static int draw_dims(const scenario_t *s)
{
	static const uint32_t n_words[] = {1, 5, 20, WORDS_MAX};
	dims.n_pes = 2 + (int)scenario_draw(PES_MAX - 1);
	dims.scope = (int)scenario_draw(N_SCOPES);
	dims.form = (int)scenario_draw(N_WAIT_FORMS);
	dims.variant = scenario_draw(scenario_n_variants(s));
	dims.n_blocks = 1;
	dims.n_threads = dims.scope == SCOPE_THREAD ? 1
			 : dims.scope == SCOPE_WARP ? 32
						    : 32 + 32 * scenario_draw(2);
	dims.n_words = n_words[scenario_draw(dims.scope == SCOPE_THREAD ? 2 : 4)];
	dims.dst_skew = scenario_draw(SKEW_MAX + 1);
	dims.src_skew = scenario_draw(SKEW_MAX + 1);
	dims.start = draw_start();
	if (s->plan)
		s->plan();
	return dims.n_pes;
}

static void draw_policy(shmemsim_config_t *cfg)
{
	static const uint32_t switches[] = {8, 32, 64, 128}, lengths[] = {100, 400, 1600, 6400};
	cfg->policy = scenario_draw(2) ? SHMEMSIM_RANDOM : SHMEMSIM_PCT;
	cfg->switch_per_256 = switches[scenario_draw(4)];
	cfg->depth = 2 + scenario_draw(4);
	cfg->length = lengths[scenario_draw(4)];
	cfg->activemask = (int)scenario_draw(SHMEMSIM_ACTIVE_RANDOM + 1);
}

static void fill_memory(int pe)
{
	memory_t *m = &memories[pe];
	shmemd_ctx_t *c = &m->ctx;
	memset(m, 0, offsetof(memory_t, final) + sizeof(m->final)); /* not the padding */
	m->heap.flag = m->heap.word = dims.start;
	m->heap.sync[SHMEMD_SYNC_NUMBER] = dims.start;
	for (int i = 0; i < dims.n_pes; i++) {
		m->heap.sync[SHMEMD_SYNC_FLAGS + i] =
			SHMEMD_SYNC_FLAG(dims.start, 0, 0, SHMEMD_OP_SYNC);
		m->peers[i].base = (char *)&memories[i].heap;
		m->peers[i].world_pe = i;
	}
	c->version = SHMEMD_ABI_VERSION;
	c->size = sizeof(*c);
	c->my_pe = pe;
	c->n_pes = dims.n_pes;
	c->flags = SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_ALL_MAPPED;
	c->heap = (char *)&m->heap;
	c->heap_nbytes = sizeof(m->heap);
	c->peers = m->peers;
	c->sync = m->heap.sync;
	c->abort_word = &m->abort_word;
	c->causes = m->causes;
	c->latch = &m->latch;
	c->error = &m->error;
	c->device_copy = c;
	c->heap_committed = &c->heap_nbytes;
	c->mapped_span = (uint32_t)dims.n_pes;
	/* In some runs as equally distant heaps, in others by the table alone. */
	c->mapped_stride = (int64_t)sizeof(*m);
	c->n_strided = (dims.src_skew ^ dims.dst_skew) & 1 ? c->mapped_span : 0;
	c->n_strided_amos = c->n_strided_puts_with_signal = c->n_strided;
}

/* For traces. */
static void name_memory(int pe)
{
#define FIELD(name)                                                                                \
	{                                                                                          \
#name, offsetof(memory_t, name), sizeof(memories[0].name)                          \
	}
	static const struct {
		const char *name;
		size_t at, nbytes;
	} fields[] = {FIELD(heap.dst),   FIELD(heap.src),  FIELD(heap.flag), FIELD(heap.ack),
		      FIELD(heap.word),  FIELD(heap.will), FIELD(heap.sync), FIELD(heap.rounds),
		      FIELD(abort_word), FIELD(causes),    FIELD(died),      FIELD(latch),
		      FIELD(error),      FIELD(order),     FIELD(channels),  FIELD(faults)};
#undef FIELD
	static char names[PES_MAX][sizeof(fields) / sizeof(fields[0])][32];
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		snprintf(names[pe][i], sizeof(names[pe][i]), "PE %d %s", pe, fields[i].name);
		shmemsim_name((char *)&memories[pe] + fields[i].at, fields[i].nbytes, names[pe][i]);
	}
}

static int set_up(int pe, int with_names)
{
	fill_memory(pe);
	if (with_names)
		name_memory(pe);
	return 0;
}

static int launch(int pe)
{
	pe_t p;
	p.ctx = memories[pe].ctx;
	p.heap = &memories[pe].heap;
	p.memory = &memories[pe];
	p.dims = dims;
	return shmemsim_launch(scenario->kernel, &p, sizeof(p), dims.n_blocks, dims.n_threads, 0,
			       NULL);
}

/* Barrier of the PEs' hosts. */
static int gather(void)
{
	const shmemh_boot_t *boot = shmemsim_boot();
	char mine = 0, all[PES_MAX];
	return boot->allgather(boot->state, &mine, all, sizeof(mine), NULL, 0);
}

static uint32_t is_agent_done;

static void agent(void *unused)
{
	(void)unused;
	scenario->agent();
	shmemd_arch_st_release_u32(&is_agent_done, 1);
}

/* Wait for the agent before the run ends, so that all its checks are executed. */
static void await_agent(void)
{
	while (!shmemd_arch_ld_acquire_u32(&is_agent_done))
		shmemd_arch_spin_hint();
}

static int start_agent(void)
{
	is_agent_done = !scenario->agent;
	return scenario->agent && shmemsim_agent("the host's monitor", agent, NULL);
}

static int pe_main(int pe, int n_pes, void *arg)
{
	const scenario_world_t *world = arg;
	(void)n_pes;
	if (world->set_up(pe, is_traced) || gather() || (pe == 0 && start_agent()))
		return 1;
	if (world->launch(pe) || shmemsim_sync(NULL) || gather())
		return 1;
	if (pe == 0)
		await_agent();
	if (pe == 0 && scenario->final_check)
		scenario->final_check();
	return 0;
}

static void describe(char *text, size_t nbytes)
{
	snprintf(text, nbytes,
		 "%s; %d PEs, %s of %u threads, %s, counters from %llu, %u words, skews %u and %u",
		 scenario->variants[dims.variant], dims.n_pes, scope_texts[dims.scope],
		 dims.n_threads, form_texts[dims.form], (unsigned long long)dims.start,
		 dims.n_words, dims.dst_skew, dims.src_skew);
}

static const char *no_trouble(void)
{
	return NULL;
}

static const scenario_world_t mapped = {draw_dims, set_up, launch, no_trouble, describe};

static void write_report(const scenario_world_t *world, const shmemsim_config_t *cfg, int is_bad)
{
	const char *trouble = is_bad ? shmemsim_report() : world->trouble();
	char text[1000];
	world->describe(text, sizeof(text));
	snprintf(report, sizeof(report), "%s: %s, %s memory, %s, seed %llu\n%s", scenario->name,
		 text, cfg->weak ? "weak" : "SC", cfg->policy == SHMEMSIM_PCT ? "PCT" : "random",
		 (unsigned long long)cfg->seed, trouble ? trouble : "");
}

int scenario_run(const scenario_t *s, const shmemsim_config_t *cfg)
{
	shmemsim_config_t mine = SHMEMSIM_CONFIG_INIT;
	const scenario_world_t *world = s->world ? s->world : &mapped;
	int is_bad, n_pes;
	scenario = s;
	is_traced = cfg->trace != 0;
	state = cfg->seed;
	n_pes = world->draw(s);
	draw_policy(&mine);
	mine.seed = cfg->seed;
	mine.weak = cfg->weak;
	mine.trace = cfg->trace;
	mine.max_steps = MAX_STEPS;
	if (cfg->trace)
		is_bad = shmemsim_explore(&mine, 1, n_pes, pe_main, (void *)(uintptr_t)world, NULL);
	else
		is_bad = shmemsim_run(&mine, n_pes, pe_main, (void *)(uintptr_t)world);
	write_report(world, &mine, is_bad);
	return is_bad || world->trouble() != NULL;
}

const char *scenario_report(void)
{
	return report;
}
