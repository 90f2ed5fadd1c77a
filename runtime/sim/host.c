/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All PEs in one process: host fibers, agents, the configuration of a run. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sim/sim.h"

typedef struct pe_args {
	int (*pe_main)(int pe, int n_pes, void *arg);
	void *arg;
} pe_args_t;

static pe_args_t args;

/* Not static: its name ends back traces in reports. */
void shmemsimi_pe_entry(void *unused);

void shmemsimi_pe_entry(void *unused)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	int pe = w->current->pe;
	(void)unused;
	int result = args.pe_main(pe, w->n_pes, args.arg);
	if (result) {
		shmemsimi_report_line("PE %d returned %d", pe, result);
		w->result = 1;
	}
}

static shmemsimi_fiber_t *add_host(int kind, int pe, const char *name, void (*fn)(void *),
				   void *arg)
{
	shmemsimi_fiber_t *f = shmemsimi_alloc(sizeof(*f));
	if (!f)
		return NULL;
	f->thread.ntids = f->thread.nblocks = 1;
	for (int i = 0; i < 3; i++)
		f->thread.block_dim[i] = f->thread.grid_dim[i] = 1;
	f->kind = (uint8_t)kind;
	f->pe = pe;
	f->entry = fn;
	f->arg = arg;
	shmemsimi_format(f->name, sizeof(f->name), "%s", name);
	f->next = shmemsimi_w.hosts;
	shmemsimi_w.hosts = f;
	shmemsimi_release(&shmemsimi_w);
	shmemsimi_start(f);
	return f;
}

int shmemsim_agent(const char *name, void (*fn)(void *arg), void *arg)
{
	if (shmemsimi_w.mode != MODE_RUN) {
		shmemsimi_report_line("agent %s: agents exist only inside shmemsim_run", name);
		return 1;
	}
	return !add_host(KIND_AGENT, -1, name, fn, arg);
}

static int bad_value(const char *name, const char *value, const char *wanted)
{
	shmemsimi_report_line("%s=%s: must be %s", name, value, wanted);
	return 1;
}

static int number_from_env(const char *name, uint64_t max, uint64_t *value)
{
	const char *text = getenv(name);
	char *end;
	if (!text)
		return 0;
	errno = 0;
	unsigned long long v = strtoull(text, &end, 0);
	if (errno || end == text || *end || text[0] == '-' || v > max) {
		char wanted[48];
		snprintf(wanted, sizeof(wanted), "a number from 0 to %llu",
			 (unsigned long long)max);
		return bad_value(name, text, wanted);
	}
	*value = v;
	return 0;
}

static int word_from_env(const char *name, const char *const *words, int n, int *value)
{
	const char *text = getenv(name);
	char wanted[96] = "one of:";
	if (!text)
		return 0;
	for (int i = 0; i < n; i++) {
		size_t used = strlen(wanted);
		if (strcmp(text, words[i]) == 0) {
			*value = i;
			return 0;
		}
		snprintf(wanted + used, sizeof(wanted) - used, " %s", words[i]);
	}
	return bad_value(name, text, wanted);
}

int shmemsim_config_from_env(shmemsim_config_t *cfg)
{
	static const char *const policies[] = {"round_robin", "random"};
	static const char *const masks[] = {"all", "singles", "random"};
	uint64_t per_256 = cfg->switch_per_256;
	shmemsimi_report_begin();
	int bad = word_from_env("SHMEMSIM_POLICY", policies, 2, &cfg->policy) ||
		  word_from_env("SHMEMSIM_ACTIVEMASK", masks, 3, &cfg->activemask) ||
		  number_from_env("SHMEMSIM_SEED", UINT64_MAX, &cfg->seed) ||
		  number_from_env("SHMEMSIM_SWITCH", 256, &per_256);
	cfg->switch_per_256 = (uint32_t)per_256;
	return bad;
}

static int check(const shmemsim_config_t *cfg, int n_pes)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_report_begin();
	if (w->mode == MODE_RUN || w->n_live)
		shmemsimi_report_line("shmemsim_run inside the emulator, or with kernels that "
				      "were not waited for");
	else if (n_pes < 1)
		shmemsimi_report_line("shmemsim_run with %d PEs", n_pes);
	else if (cfg->size != sizeof(*cfg))
		shmemsimi_report_line("shmemsim_config_t of %u bytes, this library has %zu: start "
				      "from SHMEMSIM_CONFIG_INIT",
				      cfg->size, sizeof(*cfg));
	else if (!(w->policy = shmemsimi_policy_begin(&w->cfg)))
		shmemsimi_report_line("no scheduling policy %d", cfg->policy);
	else
		return 0;
	return 1;
}

/* Fibers of a failed run are dropped where they stand. */
static void end_run(void)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsimi_streams_free();
	for (shmemsimi_fiber_t *f = w->hosts, *next; f; f = next) {
		next = f->next;
		shmemsimi_fiber_discard(f);
		shmemsimi_free(f, sizeof(*f));
	}
	w->hosts = NULL;
	w->n_live = 0;
	w->run.n = w->spin.n = w->sleep.n = 0;
	shmemsimi_boot_end();
	shmemsim_hooks = 0;
	w->mode = MODE_NONE;
}

int shmemsim_run(const shmemsim_config_t *cfg, int n_pes,
		 int (*pe_main)(int pe, int n_pes, void *arg), void *arg)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsim_config_t defaults = SHMEMSIM_CONFIG_INIT;
	char name[24];
	if (!cfg && shmemsim_config_from_env(&defaults))
		return 1;
	cfg = cfg ? cfg : &defaults;
	if (w->mode != MODE_RUN && !w->n_live)
		shmemsimi_copy(&w->cfg, cfg, sizeof(*cfg));
	if (check(cfg, n_pes))
		return 1;
	w->mode = MODE_RUN;
	w->n_pes = n_pes;
	w->result = 0;
	args.pe_main = pe_main;
	args.arg = arg;
	shmemsimi_sched_begin();
	for (int pe = 0; pe < n_pes; pe++) {
		snprintf(name, sizeof(name), "PE %d", pe);
		if (!add_host(KIND_HOST, pe, name, shmemsimi_pe_entry, NULL))
			break;
	}
	shmemsimi_loop();
	shmemsimi_acquire(&w->n_live);
	end_run();
	return w->is_failed || w->result;
}
