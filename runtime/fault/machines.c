/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/machines.h"

#include <stdlib.h>
#include <string.h>
#include <shmem_dev/abi/ctx.h>
#include "base/clock.h"
#include "fault/cause.h"
#include "fault/parts.h"

/* PREPARE is tried again after RETRY_NS; each delay is an eighth longer than the one before it, and
 * at most RETRY_MAX_NS. */
#define RETRY_NS SHMEMHI_MS
#define RETRY_MAX_NS (256 * SHMEMHI_MS)
#define MAX_WORKING_NS (10 * SHMEMHI_SECOND) /* bound of core.working_ns, without silence_ns */
#define MAX_LOUD 8                           /* refused events that are logged */

static int is_idle(const shmemhi_fault_channel_t *c)
{
	return !c->n_todo && !c->has_prepare && !c->has_order &&
	       (shmemhi_fault_is_running(c) || c->machine.phase == SHMEMHI_CLOSED ||
		(c->machine.phase == SHMEMHI_RUNNING && shmemhi_fault_status(c)));
}

/* Events */

/* Has the machine begun to leave its path by an event? */
static int begins_to_leave(const shmemhi_switch_t *before, const shmemhi_switch_t *after)
{
	return before->phase <= SHMEMHI_RUNNING &&
	       (after->phase >= SHMEMHI_STOPPING || before->path != after->path);
}

/* The kind of the cause for which the event makes this end leave its path. */
static uint32_t reason_to_leave(const shmemhi_switch_event_t *event, shmemhi_fault_cause_t found)
{
	return event->kind == SHMEMHI_EV_FENCE ? SHMEMHI_FENCE_LEFT_FOR(event->value)
					       : shmemhi_cause_of(event, found).kind;
}

/* Is a path left that never ran, for no reason that is known, after one that was left for a known
 * reason? Then the known reason stays the cause. */
static bool is_consequence(const shmemhi_fault_channel_t *c, const shmemhi_switch_t *before,
			   uint32_t left_for)
{
	return before->phase < SHMEMHI_RUNNING && !shmemhi_cause_is_root(left_for) &&
	       shmemhi_cause_is_root(c->cause.kind);
}

static void refuse(shmemhi_fault_core_t *core, uint32_t index, const char *what, int kind,
		   const char *why)
{
	if (core->n_refused++ < MAX_LOUD)
		shmemhi_log(&core->config.log, SHMEMHI_ERROR,
			    "fail-over: channel %u to PE %d: %s %d "
			    "ignored: a mistake in this library%s",
			    shmemhi_fault_k_of(core, index), shmemhi_fault_pe_of(core, index), what,
			    kind, why);
}

static const shmemhi_fault_cause_t no_cause;

void shmemhi_fault_feed(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_event_t event,
			shmemhi_fault_cause_t found)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	shmemhi_switch_action_t actions[SHMEMHI_SWITCH_ACTIONS];
	shmemhi_switch_t before;
	bool is_new_cause = false;
	int n;

	if (c->n_todo + SHMEMHI_SWITCH_ACTIONS > SHMEMHI_FAULT_TODO) {
		refuse(core, index, "event", event.kind,
		       ": the channel's queue of actions is full");
		return;
	}
	if (!c->is_open)
		shmemhi_switch_init(&c->machine);
	c->is_open = 1;
	if (!c->is_active)
		core->active[core->n_active++] = index;
	c->is_active = 1;
	core->is_busy = true;
	before = c->machine;
	shmemhi_fault_note_work(c, &event);
	n = shmemhi_switch_event(&c->machine, event, actions);
	if (begins_to_leave(&before, &c->machine)) {
		c->left_for = reason_to_leave(&event, found);
		is_new_cause = !is_consequence(c, &before, c->left_for);
	}
	/* What ended a direction stays its cause. */
	if (!before.status && (is_new_cause || c->machine.status)) {
		c->cause = shmemhi_cause_of(&event, found);
		c->cause_path = event.kind == SHMEMHI_EV_REFUSED ? event.path : before.path;
		c->is_found_at_peer = event.kind == SHMEMHI_EV_FENCE ||
				      event.kind == SHMEMHI_EV_FENCED ||
				      event.kind == SHMEMHI_EV_ENDED;
	}
	for (int i = 0; i < n; i++)
		c->todo[(c->first + c->n_todo++) % SHMEMHI_FAULT_TODO] = actions[i];
	shmemhi_fault_note_change(core, c, &before);
	shmemhi_fault_note_end(core, index, &before, event.kind);
}

/* The transport's events */

static void on_fault(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_event_t event,
		     shmemhi_fault_cause_t cause)
{
	shmemhi_fault_channel_t *c = &core->channels[index];

	if (!shmemhi_cause_may_switch(cause.kind)) {
		refuse(core, index, "a fault by cause", (int)cause.kind, "");
		return;
	}
	/* A later report of this path may name the root cause of the first one. */
	if (c->cause.kind != SHMEMH_FAULT_BY_NONE && event.path == c->cause_path &&
	    !c->is_found_at_peer && shmemhi_cause_is_root(cause.kind) &&
	    !shmemhi_cause_is_root(c->cause.kind)) {
		c->cause = cause;
		c->is_changed = 1;
	}
	shmemhi_fault_feed(core, index, event, cause);
}

/* A wait made no progress for long. That is no reason to leave a path that works: with a slow path,
 * a stopped peer, or a peer that gives no credits a wait makes no progress either. */
static void on_suspect(shmemhi_fault_core_t *core, uint32_t index, uint32_t path)
{
	const shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_fault_cause_t in_error = {SHMEMH_FAULT_BY_QP, 0, 0};
	const uint32_t in_use = c->is_open ? c->machine.path : 0;

	if (path == in_use && (!c->is_open || c->machine.phase == SHMEMHI_RUNNING) &&
	    core->config.ops->is_in_error(core->config.self, shmemhi_fault_pe_of(core, index),
					  shmemhi_fault_k_of(core, index), path))
		shmemhi_fault_feed(core, index, (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, path, 0},
				   in_error);
}

static void take_events(shmemhi_fault_core_t *core)
{
	shmemhi_fault_cause_t cause = no_cause;
	shmemhi_switch_event_t event;
	uint32_t k;
	int pe;

	while (core->config.ops->next_event(core->config.self, &pe, &k, &event, &cause)) {
		const uint32_t index = (uint32_t)pe * core->config.n_channels + k;

		switch (event.kind) {
		case SHMEMHI_EV_FAULT:
			on_fault(core, index, event, cause);
			break;
		case SHMEMHI_EV_REFUSED:
		case SHMEMHI_EV_DEAD:
			shmemhi_fault_feed(core, index, event, cause);
			break;
		case SHMEMHI_EV_SUSPECT:
			on_suspect(core, index, event.path);
			break;
		default:
			refuse(core, index, "event", event.kind, "");
		}
		cause = no_cause;
	}
}

/* The peers */

static void on_message(shmemhi_fault_core_t *core, int pe, const shmemhi_fault_message_t *m)
{
	const shmemhi_fault_config_t *config = &core->config;
	const uint32_t index = (uint32_t)pe * config->n_channels + m->k;
	const shmemhi_fault_channel_t *c = &core->channels[index];
	shmemhi_switch_event_t event = {(int)m->kind, m->path, m->value};

	if (event.kind == SHMEMHI_EV_OFFER) {
		/* The transport must not keep an offer of an earlier path, or a repeated one. */
		if (!c->is_open || m->path != c->machine.path || c->machine.has_offer)
			return;
		event.value = config->ops->unpack(config->self, pe, m->k, m->path, m->offer);
	}
	shmemhi_fault_feed(core, index, event, no_cause);
}

static void take_messages(shmemhi_fault_core_t *core)
{
	shmemhi_fault_message_t m;
	int pe;

	while (core->config.net.receive(core->config.net.state, &pe, &m))
		on_message(core, pe, &m);
}

static void end_peer(shmemhi_fault_core_t *core, int pe, uint32_t reason)
{
	const shmemhi_fault_cause_t cause = {reason == SHMEMD_CAUSE_CUT_OFF
						     ? SHMEMH_FAULT_BY_CUT_OFF
						     : SHMEMH_FAULT_BY_PEER_DEAD,
					     0, 0};

	core->is_dead[pe] = 1;
	core->config.net.forget(core->config.net.state, pe);
	for (uint32_t k = 0; k < core->config.n_channels; k++)
		shmemhi_fault_feed(core, (uint32_t)pe * core->config.n_channels + k,
				   (shmemhi_switch_event_t){SHMEMHI_EV_PEER_DEAD, 0, 0}, cause);
}

/* The bootstrap alone tells which PEs died or left, and that this PE is cut off from it, which is
 * recorded for all other PEs. That a peer does not answer says nothing. */
static void take_deaths(shmemhi_fault_core_t *core)
{
	const shmemhi_fault_config_t *config = &core->config;
	const int n_gone = atomic_load(config->n_gone);

	if (n_gone == core->n_gone)
		return;
	core->n_gone = n_gone;
	for (int pe = 0; pe < config->n_pes; pe++) {
		const uint32_t reason = atomic_load(&config->causes[pe]);

		if (pe != config->pe && !core->is_dead[pe] && reason != SHMEMD_CAUSE_NONE &&
		    config->ops->reaches(config->self, pe))
			end_peer(core, pe, reason);
	}
}

/* Actions */

/* The cause that the peer's lines name. It is `cause`, which has details, if that is of the kind of
 * left_for, or if a NIC has refused a request on this path and left_for is only a consequence of
 * that, such as a queue pair in ERR. Otherwise it is left_for alone: `cause` may then be that of an
 * earlier path, what ended a direction, or what was reported later. */
static uint64_t fence_value(const shmemhi_fault_channel_t *c, uint32_t path)
{
	const shmemhi_fault_cause_t left_for = {c->left_for, 0, 0};
	const int is_refusal = c->cause.kind == SHMEMH_FAULT_BY_PROGRAM && c->cause_path == path &&
			       !shmemhi_cause_is_root(c->left_for);

	return SHMEMHI_FENCE_VALUE(c->cause.kind == c->left_for || is_refusal ? c->cause : left_for,
				   c->left_for);
}

bool shmemhi_fault_send(shmemhi_fault_core_t *core, uint32_t index,
			const shmemhi_switch_action_t *a)
{
	const shmemhi_fault_config_t *config = &core->config;
	const int pe = shmemhi_fault_pe_of(core, index);
	shmemhi_fault_message_t m;

	memset(&m, 0, sizeof m);
	m.kind = (uint32_t)a->message;
	m.k = shmemhi_fault_k_of(core, index);
	m.path = a->path;
	m.value = a->value;
	if (a->message == SHMEMHI_EV_FENCE)
		m.value = fence_value(&core->channels[index], a->path);
	if (a->message == SHMEMHI_EV_OFFER)
		config->ops->pack(config->self, pe, m.k, a->path, a->value, m.offer);
	return config->net.send(config->net.state, pe, &m);
}

/* Execute an action of the transport. Returns whether it is done. */
static bool execute(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_action_t a,
		    shmemhi_switch_event_t *result)
{
	const shmemhi_fault_config_t *config = &core->config;

	memset(result, 0, sizeof *result);
	result->kind = -1;
	if (a.kind == SHMEMHI_ACT_STOP)
		a.value = core->channels[index].left_for;
	if (!config->ops->execute(config->self, shmemhi_fault_pe_of(core, index),
				  shmemhi_fault_k_of(core, index), &a, result))
		return false;
	core->is_busy = true;
	result->path = a.path;
	return true;
}

static void feed_result(shmemhi_fault_core_t *core, uint32_t index,
			const shmemhi_switch_event_t *result)
{
	/* The result of a CONNECT that failed may have the cause as its value. */
	const int is_told = result->kind == SHMEMHI_EV_FAULT &&
			    shmemhi_cause_may_switch((uint32_t)result->value);
	const shmemhi_fault_cause_t cause = {is_told ? (uint32_t)result->value : SHMEMH_FAULT_BY_QP,
					     0, 0};

	if (result->kind >= 0)
		shmemhi_fault_feed(core, index, *result, cause);
}

void shmemhi_fault_begin_order(shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			       const shmemhi_switch_action_t *a)
{
	c->order = *a;
	c->has_order = 1;
	c->order_place = core->n_orders++;
	c->order_since = core->now;
}

/* Begin or finish the first action of a channel. Returns whether the next one may follow. */
static bool act(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_switch_action_t a = c->todo[c->first];
	shmemhi_switch_event_t result = {-1, 0, 0};

	switch (a.kind) {
	case SHMEMHI_ACT_SEND:
		if (!shmemhi_fault_send(core, index, &a))
			return false;
		break;
	case SHMEMHI_ACT_PREPARE:
		c->prepare = a;
		c->has_prepare = 1;
		c->prepare_at = core->now;
		c->prepare_delay = RETRY_NS;
		break;
	case SHMEMHI_ACT_ORDER:
	case SHMEMHI_ACT_END:
		shmemhi_fault_begin_order(core, c, &a);
		break;
	default:
		/* If the path is left already, skip CONNECT: the fence must not wait until the
		 * peer's address is found. */
		if (a.kind == SHMEMHI_ACT_CONNECT && c->machine.phase != SHMEMHI_CONNECTING)
			break;
		if (!execute(core, index, a, &result))
			return false;
	}
	core->is_busy = true;
	c->first = (c->first + 1) % SHMEMHI_FAULT_TODO;
	c->n_todo--;
	feed_result(core, index, &result);
	return true;
}

static void try_prepare(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_switch_action_t a = c->prepare;
	shmemhi_switch_event_t result;

	if (c->machine.phase == SHMEMHI_CLOSED)
		c->has_prepare = 0;
	if (!c->has_prepare || core->now < c->prepare_at)
		return;
	if (execute(core, index, a, &result)) {
		c->has_prepare = 0;
		feed_result(core, index, &result);
		return;
	}
	c->prepare_at = core->now + c->prepare_delay;
	c->prepare_delay += c->prepare_delay / 8;
	if (c->prepare_delay > RETRY_MAX_NS)
		c->prepare_delay = RETRY_MAX_NS;
}

/* Orders */

/* The channel whose order comes next, -1: none. It stays the same one until its order is carried
 * out. */
static int64_t next_order(const shmemhi_fault_core_t *core)
{
	uint64_t place = UINT64_MAX;
	int64_t next = -1;

	if (core->ordering >= 0)
		return core->ordering;
	for (uint32_t i = 0; i < core->n_active; i++) {
		const shmemhi_fault_channel_t *c = &core->channels[core->active[i]];

		if (c->has_order && c->order_place < place &&
		    !shmemhi_fault_waits_for_fence(core, core->active[i])) {
			place = c->order_place;
			next = core->active[i];
		}
	}
	return next;
}

static void count_order(shmemhi_fault_channel_t *c, const shmemhi_switch_action_t *a,
			uint64_t carried)
{
	c->switches += a->kind == SHMEMHI_ACT_ORDER;
	c->replayed += carried & UINT32_MAX;
	c->ambiguous += carried >> 32;
}

/* The device has one order at a time. */
static void give_orders(shmemhi_fault_core_t *core)
{
	int64_t index;

	while ((index = next_order(core)) >= 0) {
		shmemhi_fault_channel_t *c = &core->channels[index];
		const shmemhi_switch_action_t a = c->order;
		shmemhi_switch_event_t result;

		core->ordering = index;
		if (!execute(core, (uint32_t)index, a, &result))
			return;
		core->ordering = -1;
		c->has_order = 0;
		count_order(c, &a, result.value);
		feed_result(core, (uint32_t)index, &result);
	}
}

/* The step */

static void report(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];

	/* If a channel is ending, report only its end, and not that it has left its path. */
	if (!c->is_changed ||
	    (c->machine.phase == SHMEMHI_CLOSED && c->machine.is_pending && !c->is_unanswered))
		return;
	c->is_changed = 0;
	if (core->config.changed)
		core->config.changed(core->config.arg, shmemhi_fault_pe_of(core, index),
				     shmemhi_fault_k_of(core, index), c);
}

static void forget_idle(shmemhi_fault_core_t *core)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < core->n_active; i++) {
		const uint32_t index = core->active[i];

		if (is_idle(&core->channels[index]))
			core->channels[index].is_active = 0;
		else
			core->active[n++] = index;
	}
	core->n_active = n;
}

bool shmemhi_fault_core_step(shmemhi_fault_core_t *core, uint64_t now)
{
	core->now = now;
	core->is_busy = false;
	take_deaths(core);
	take_messages(core);
	take_events(core);
	for (uint32_t i = 0; i < core->n_active; i++) {
		const uint32_t index = core->active[i];

		shmemhi_fault_give_up(core, index);
		try_prepare(core, index);
		if (core->channels[index].machine.phase == SHMEMHI_CLOSED)
			shmemhi_fault_act_closed(core, index);
		while (core->channels[index].n_todo && act(core, index))
			;
	}
	shmemhi_fault_end_waits(core);
	give_orders(core);
	for (uint32_t i = 0; i < core->n_active; i++) {
		shmemhi_fault_end_over(core, core->active[i]);
		report(core, core->active[i]);
	}
	forget_idle(core);
	return core->is_busy;
}

int shmemhi_fault_core_open(shmemhi_fault_core_t *core, const shmemhi_fault_config_t *config)
{
	const size_t n = (size_t)config->n_pes * config->n_channels;

	memset(core, 0, sizeof *core);
	core->config = *config;
	core->working_ns = config->giveup_ns < MAX_WORKING_NS ? config->giveup_ns : MAX_WORKING_NS;
	core->working_ns += config->silence_ns;
	/* A page of `channels` is used once something happens to one of them. */
	core->channels = calloc(n, sizeof *core->channels);
	core->active = calloc(n, sizeof *core->active);
	core->is_dead = calloc((size_t)config->n_pes, 1);
	core->ends = calloc((size_t)config->n_pes, sizeof *core->ends);
	core->ordering = -1;
	return core->channels && core->active && core->is_dead && core->ends ? SHMEMH_OK
									     : SHMEMH_ERR_NO_MEMORY;
}

void shmemhi_fault_core_close(shmemhi_fault_core_t *core)
{
	free(core->channels);
	free(core->active);
	free(core->is_dead);
	free(core->ends);
	memset(core, 0, sizeof *core);
}
