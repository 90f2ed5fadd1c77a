/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rigs for schedules: the seed draws all parameters, and the scheduler makes the devices' choices.
 */
#include <stdio.h>
#include "ring.h"

/* Without MLX5SW_CHAOS_POISON: a queue keeps its WQEs until their WQEBBs are reused, and the thread
 * that reads a completion reads the length of the WQE there. */
#define ALL_CHAOS 63u
#define GRANULES (N_AREAS + 1) /* the last one: sync words */

ring_dims_t ring_dims;
ring_notes_t ring_notes;

static mlx5sw_config_t config; /* of this schedule */
static const scenario_t *scenario;

/* Indexes begin below the values where their fields wrap. Tickets of bounce buffers begin so that
 * few tickets reach the wrap. */
static void draw_starts(rig_plan_t *plan)
{
	static const unsigned bits[] = {0, 16, 31, 32, 47, 63};
	static const uint32_t epochs[] = {0, 1, 127, 255};
	const unsigned which = scenario_draw(6);

	plan->first = which ? ((uint64_t)1 << bits[which]) - 3 : 0;
	plan->base = which ? scenario_draw(65536) : 0;
	plan->epoch = epochs[scenario_draw(4)];
	plan->first_cqe = which ? (1u << 16) - 2 : 0;
	plan->first_request = which ? (1u << 24) - 2 : 0;
	plan->first_ticket = which ? ((uint64_t)1 << 23) - 4 : 0;
}

/* Threads: several blocks of one thread, lanes of one warp that may post together, or both. A queue
 * has room for the WQEs of coalesced lanes, but not for all. */
static void draw_threads(ring_dims_t *d)
{
	const uint32_t shape = scenario_draw(8);

	d->n_blocks = shape < 5 ? 2 + scenario_draw(2) : shape == 7 ? 2 : 1;
	d->n_threads = shape < 5 ? 1 : shape == 7 ? 2 + scenario_draw(2) : 2 + scenario_draw(3);
	d->plan.depth = (d->n_threads == 1 ? 4u : 16u) << scenario_draw(2);
	d->plan.batch = 1u << scenario_draw(d->n_threads == 1 ? 2 : 4);
}

static void draw_adapter(rig_plan_t *plan)
{
	plan->nic.doorbells = (uint8_t)scenario_draw(MLX5SW_DOORBELLS_DB + 1);
	plan->nic.chaos = scenario_draw(4) ? scenario_draw(ALL_CHAOS + 1) : ALL_CHAOS;
	plan->by_host = !scenario_draw(4);
	plan->path_flags = (scenario_draw(2) ? SHMEMD_PATH_OWN_STANDBY : 0) |
			   (scenario_draw(4) ? 0 : SHMEMD_PATH_NO_RECORD);
	plan->log_reads = scenario_draw(2) ? 4 : 0;
	plan->flags = scenario_draw(4) ? 0 : SHMEMD_CTX_DUMP_AFTER_READ;
	plan->inline_nbytes = scenario_draw(2) ? SHMEMD_MLX5_INLINE_MAX : 0;
	plan->granules_per_mr = 1 + scenario_draw(2);
}

static int draw(const scenario_t *s)
{
	ring_dims_t *d = &ring_dims;

	scenario = s;
	memset(d, 0, sizeof(*d));
	d->plan = rig_plan();
	d->plan.n_granules = GRANULES;
	d->variant = scenario_draw(scenario_n_variants(s));
	d->plan.n_pes = scenario_draw(8) ? 2 : 3;
	d->target = scenario_draw(12) ? d->plan.n_pes - 1 : 0;
	draw_starts(&d->plan);
	draw_threads(d);
	draw_adapter(&d->plan);
	if (s->plan)
		s->plan();
	config = d->plan.nic;
	return d->plan.n_pes;
}

/* The rig gives each bounce buffer of a production build its first owner; here there are fewer
 * buffers. */
static void mend(int pe, int peer)
{
	const uint64_t ticket = ring_dims.plan.first_ticket;

	for (uint64_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++)
		rig_words(pe, peer, 0)->owners[(ticket + i) % SHMEMD_BOUNCE_BUFFERS] =
			2 * (ticket + i);
}

static void mend_all(void)
{
	for (int pe = 0; pe < ring_dims.plan.n_pes; pe++)
		for (int peer = 0; peer < ring_dims.plan.n_pes; peer++)
			mend(pe, peer);
}

/* Fill the sources of gets and puts. */
static void fill_sources(void)
{
	for (int pe = 0; pe < ring_dims.plan.n_pes; pe++)
		for (uint32_t w = 0; w < RING_THREADS_MAX; w++) {
			*word_on(pe, AREA_RESULT, 32 + w) = value_of(w, 9);
			for (uint32_t i = 0; i < RING_OPS; i++)
				*word_on(pe, AREA_SOURCE, place_of(w, i)) = value_of(w, i);
		}
}

static void name_memory(void)
{
	static const struct {
		const char *name;
		size_t at, nbytes;
	} words[] = {
#define WORD(name) {#name, offsetof(shmemd_channel_t, name), sizeof(((shmemd_channel_t *)0)->name)}
		WORD(resv), WORD(ready), WORD(rung),   WORD(path),  WORD(queue), WORD(doorbell),
		WORD(done), WORD(flush), WORD(ticket), WORD(owners)
#undef WORD
	};
	static const char *const heaps[RIG_PES_MAX] = {"PE 0's heap", "PE 1's heap", "PE 2's heap",
						       "PE 3's heap"};
	rig_end_t *e = rig_channel(0, ring_dims.target, 0);

	for (int pe = 0; pe < ring_dims.plan.n_pes; pe++)
		shmemsim_name(rig_pes[pe].heap, GRANULES * RIG_GRANULE, heaps[pe]);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		shmemsim_name((char *)e->words + words[i].at, words[i].nbytes, words[i].name);
	shmemsim_name(e->wqes, ring_dims.plan.depth * SHMEMD_WQEBB_NBYTES, "WQEs");
	shmemsim_name(e->cqes, ring_dims.plan.depth * SHMEMD_CQE_NBYTES, "CQEs");
	shmemsim_name(rig_pes[0].bounces, 5 * SHMEMD_BOUNCE_NBYTES, "bounce buffers");
	shmemsim_name(e->record, 4, "doorbell record");
	if (ring_dims.plan.by_host)
		shmemsim_name(e->producer, 8, "proxy's word");
	else
		shmemsim_name(e->qp->reg, 8, "doorbell");
}

static int set_up(int pe, int is_traced)
{
	if (pe)
		return 0;
	memset(&ring_notes, 0, sizeof(ring_notes));
	if (rig_make(&ring_dims.plan))
		return 1;
	mend_all();
	fill_sources();
	if (is_traced)
		name_memory();
	return 0;
}

static int launch(int pe)
{
	const ring_pe_t p = {rig_pes[pe].ctx, pe, ring_dims.target, ring_dims.variant};

	return shmemsim_launch(scenario->kernel, &p, sizeof(p), ring_dims.n_blocks,
			       ring_dims.n_threads, 0, NULL);
}

static const char *trouble(void)
{
	return mlx5sw_failed() && !ring_dims.is_bad_for_lint ? mlx5sw_report(0) : NULL;
}

static void describe(char *text, size_t nbytes)
{
	static const char *const doorbells[] = {"hybrid", "by record", "by doorbell"};
	const rig_plan_t *p = &ring_dims.plan;

	snprintf(text, nbytes,
		 "%s; %d PEs, to PE %d, %u blocks of %u threads, queue of %u, batches of %u, from "
		 "0x%llx, base %u, epoch %u, %s%s%s, chaos %u, inline %u, flags 0x%x, %u under way",
		 scenario->variants[ring_dims.variant], p->n_pes, ring_dims.target,
		 ring_dims.n_blocks, ring_dims.n_threads, p->depth, p->batch,
		 (unsigned long long)p->first, p->base, p->epoch, doorbells[config.doorbells],
		 p->path_flags & SHMEMD_PATH_NO_RECORD ? " without record" : "",
		 p->by_host ? " by the host" : "", config.chaos, p->inline_nbytes, p->flags,
		 1u << p->log_reads);
}

const scenario_world_t ring_world = {draw, set_up, launch, trouble, describe};

void ring_plan_threads(void)
{
	ring_dims.n_threads = 1;
	ring_dims.n_blocks = ring_dims.n_blocks < 3 ? 2 : 3;
}

void ring_plan_two_channels(void)
{
	ring_dims.plan.n_channels = 2;
}
