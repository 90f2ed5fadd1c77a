/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* All PEs in one process: host fibers, agents, the start and end of a run. */
#include <stdio.h>
#include "sim/sim.h"

#define FILE_EVENTS 100000u /* kept for the file of a trace */

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
		w->failure = &args;
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

int shmemsim_pe(void)
{
	return shmemsimi_w.current->pe;
}

int shmemsim_agent(const char *name, void (*fn)(void *arg), void *arg)
{
	if (shmemsimi_w.mode != MODE_RUN) {
		shmemsimi_report_line("agent %s: agents exist only inside shmemsim_run", name);
		return 1;
	}
	return !add_host(KIND_AGENT, -1, name, fn, arg);
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
	else if (cfg->weak && shmemsimi_under_tsan())
		shmemsimi_report_line("weak memory cannot be combined with thread sanitizer: unset "
				      "SHMEMSIM_WEAK");
	else if (!(w->policy = shmemsimi_policy_begin(&w->cfg)) && cfg->policy == SHMEMSIM_REPLAY)
		shmemsimi_report_line("replay: the list begins with %d, which is no policy",
				      cfg->replay[0]);
	else if (!w->policy)
		shmemsimi_report_line("no scheduling policy %d", cfg->policy);
	else
		return 0;
	return 1;
}

/* Discard the fibers that are left, wherever they are suspended: agents, and all others of a failed
 * run. */
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
	shmemsimi_weak_end();
	w->n_live = 0;
	w->run.n = w->spin.n = w->sleep.n = 0;
	shmemsimi_boot_end();
	shmemsimi_check_end();
	shmemsim_hooks = 0;
	w->mode = MODE_NONE;
}

int shmemsim_run(const shmemsim_config_t *cfg, int n_pes,
		 int (*pe_main)(int pe, int n_pes, void *arg), void *arg)
{
	shmemsimi_world_t *w = &shmemsimi_w;
	shmemsim_config_t defaults = SHMEMSIM_CONFIG_INIT;
	const char *file;
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
	w->trace_lines = w->cfg.trace;
	file = shmemsimi_trace_file();
	if (file)
		w->cfg.trace = FILE_EVENTS;
	args.pe_main = pe_main;
	args.arg = arg;
	shmemsimi_sched_begin();
	shmemsimi_trace_begin();
	shmemsimi_weak_begin();
	for (int pe = 0; pe < n_pes; pe++) {
		snprintf(name, sizeof(name), "PE %d", pe);
		if (!add_host(KIND_HOST, pe, name, shmemsimi_pe_entry, NULL))
			break;
	}
	shmemsimi_loop();
	shmemsimi_acquire(&w->n_live);
	if (w->trace_lines && (w->is_failed || w->result))
		shmemsimi_trace_report();
	if (file)
		shmemsimi_trace_write(file);
	w->cfg.trace = w->trace_lines;
	end_run();
	return w->is_failed || w->result;
}
