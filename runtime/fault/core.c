/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/core.h"

#include <stdlib.h>
#include <string.h>
#include <shmem_dev/abi/ctx.h>
#include "base/clock.h"
#include "fault/cause.h"

/* PREPARE is tried again after the first, then after an eighth more each time, at most after the
 * last. */
#define RETRY_NS SHMEMHI_MS
#define RETRY_MAX_NS (256 * SHMEMHI_MS)
#define MOST_IDLE_NS (10 * SHMEMHI_SECOND) /* before a path fails without an answer */
#define MAX_LOUD 8                         /* refused events that are logged */

/* States */

static int is_running(const shmemhi_fault_channel_t *c)
{
	return c->machine.phase == SHMEMHI_RUNNING && c->machine.ordered == c->machine.path &&
	       !c->machine.is_pending;
}

int shmemhi_fault_status(const shmemhi_fault_channel_t *c)
{
	return c->is_open && c->machine.is_ended && !c->machine.is_pending ? c->machine.status : 0;
}

int shmemhi_fault_state(const shmemhi_fault_channel_t *c)
{
	if (!c->is_open)
		return SHMEMH_FAULT_RUNNING;
	if (shmemhi_fault_status(c))
		return SHMEMH_FAULT_ENDED;
	return is_running(c) ? SHMEMH_FAULT_RUNNING : SHMEMH_FAULT_SWITCHING;
}

static int is_idle(const shmemhi_fault_channel_t *c)
{
	return !c->n_todo && !c->has_prepare && !c->has_order &&
	       (is_running(c) || c->machine.phase == SHMEMHI_CLOSED ||
		(c->machine.phase == SHMEMHI_RUNNING && shmemhi_fault_status(c)));
}

static int pe_of(const shmemhi_fault_core_t *core, uint32_t index)
{
	return (int)(index / core->config.n_channels);
}

static uint32_t k_of(const shmemhi_fault_core_t *core, uint32_t index)
{
	return index % core->config.n_channels;
}

/* Events */

/* Paths on which requests get no answer are as bad as none: the time for finding one goes on from
 * the first of them. It begins anew with a path that has executed something (note_work), that ran
 * for longer than idle_ns, or that was left for a known reason. A move to the PE's other port is a
 * known reason unless a path of this channel has failed silently before. Both ends decide the same:
 * FENCE carries the cause, FENCED what was executed. */
static void lose_path(const shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c)
{
	const int is_silent = shmemhi_cause_is_silent(c->left_for);
	const int is_move = c->left_for == SHMEMH_FAULT_BY_MOVE && c->has_failed_silently;
	const int is_short = core->now - c->running_since < core->idle_ns;

	c->left_at = core->now;
	if (!c->has_lost || !(is_silent || is_move) || !is_short) {
		c->pathless_since = core->now;
		c->has_failed_silently = 0;
	}
	c->has_failed_silently |= is_silent;
	c->has_lost = 1;
}

/* The fence says that requests were executed on the path that was left. */
static void note_work(shmemhi_fault_channel_t *c, const shmemhi_switch_event_t *e)
{
	if ((e->kind == SHMEMHI_EV_QUERIED || e->kind == SHMEMHI_EV_FENCED) && e->value &&
	    e->value != SHMEMHI_SWITCH_LOST && e->path == c->machine.path) {
		c->pathless_since = c->left_at;
		c->has_failed_silently = 0;
	}
}

/* The steps of an outage. */
static void note_instants(const shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			  const shmemhi_switch_t *before, int is_out)
{
	if (is_out && !c->is_out) {
		c->detected_at = core->now;
		c->fenced_at = c->opened_at = c->resumed_at = 0;
	}
	if (before->path != c->machine.path) {
		c->fenced_at = core->now;
		c->opened_at = 0;
	}
	if (before->phase != SHMEMHI_RUNNING && c->machine.phase == SHMEMHI_RUNNING)
		c->opened_at = core->now;
	if (!is_out && c->is_out) {
		c->outage_ns = core->now - c->detected_at;
		if (is_running(c))
			c->resumed_at = core->now;
	}
}

static void note_change(shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			const shmemhi_switch_t *before)
{
	const int has_no_path =
		c->machine.phase != SHMEMHI_RUNNING && c->machine.phase != SHMEMHI_CLOSED;
	const int is_out = !is_running(c) && !shmemhi_fault_status(c);

	if (has_no_path && !c->has_no_path)
		lose_path(core, c);
	if (!has_no_path && c->has_no_path)
		c->running_since = core->now;
	note_instants(core, c, before, is_out);
	c->has_no_path = (uint8_t)has_no_path;
	c->is_out = (uint8_t)is_out;
	if (before->phase != c->machine.phase || before->is_pending != c->machine.is_pending ||
	    before->status != c->machine.status)
		c->is_changed = 1;
}

/* Has the machine begun to leave its path by an event? */
static int has_left(const shmemhi_switch_t *before, const shmemhi_switch_t *after)
{
	return before->phase <= SHMEMHI_RUNNING &&
	       (after->phase >= SHMEMHI_STOPPING || before->path != after->path);
}

static void refuse(shmemhi_fault_core_t *core, uint32_t index, const char *what, int kind)
{
	if (core->n_refused++ < MAX_LOUD)
		shmemhi_log(
			&core->config.log, SHMEMHI_ERROR,
			"fail-over: channel %u to PE %d: %s %d ignored: a mistake in this library",
			k_of(core, index), pe_of(core, index), what, kind);
}

static const shmemhi_fault_cause_t no_cause;

static void end_all(shmemhi_fault_core_t *core, uint32_t index);

/* Did this event close the channel because no path was found, here or at the peer? */
static int has_given_up(const shmemhi_switch_t *before, const shmemhi_switch_t *after, int event)
{
	return before->phase != SHMEMHI_CLOSED && after->phase == SHMEMHI_CLOSED &&
	       (event == SHMEMHI_EV_GIVE_UP || event == SHMEMHI_EV_ENDED);
}

/* Pass an event to the machine, and take its actions. */
static void feed(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_event_t event,
		 shmemhi_fault_cause_t found)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	shmemhi_switch_action_t actions[SHMEMHI_SWITCH_ACTIONS];
	shmemhi_switch_t before;
	int n;

	if (c->n_todo + SHMEMHI_SWITCH_ACTIONS > SHMEMHI_FAULT_TODO) {
		refuse(core, index, "too many actions before event", event.kind);
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
	note_work(c, &event);
	n = shmemhi_switch_event(&c->machine, event, actions);
	if (has_left(&before, &c->machine))
		c->left_for = shmemhi_cause_of(&event, found).kind;
	/* What ended a direction stays its cause. */
	if (!before.status && (has_left(&before, &c->machine) || c->machine.status)) {
		c->cause = shmemhi_cause_of(&event, found);
		c->cause_path = before.path;
		c->is_cause_there = event.kind == SHMEMHI_EV_FENCE ||
				    event.kind == SHMEMHI_EV_FENCED ||
				    event.kind == SHMEMHI_EV_ENDED;
	}
	for (int i = 0; i < n; i++)
		c->todo[(c->first + c->n_todo++) % SHMEMHI_FAULT_TODO] = actions[i];
	note_change(core, c, &before);
	if (has_given_up(&before, &c->machine, event.kind))
		end_all(core, index);
}

/* A channel has ended for want of a path. All others to that PE end with it: a wait for a signal of
 * that PE does not know by which channel it comes, and must end; and what is posted on another
 * channel must not arrive after what was dropped on this one. The peer does the same. */
static void end_all(shmemhi_fault_core_t *core, uint32_t index)
{
	const int pe = pe_of(core, index);
	const uint32_t first = index - k_of(core, index);

	if (core->is_unreachable[pe])
		return;
	core->is_unreachable[pe] = 1;
	for (uint32_t i = first; i < first + core->config.n_channels; i++) {
		feed(core, i, (shmemhi_switch_event_t){SHMEMHI_EV_ENDED, 0, 0}, no_cause);
		core->channels[i].is_cause_there = core->channels[index].is_cause_there;
	}
	if (core->config.unreachable && core->config.ops->is_needed(core->config.self, pe))
		core->config.unreachable(core->config.changed_arg, pe);
}

/* The transport's events */

static void on_fault(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_event_t event,
		     shmemhi_fault_cause_t cause)
{
	shmemhi_fault_channel_t *c = &core->channels[index];

	if (!shmemhi_cause_may_switch(cause.kind)) {
		refuse(core, index, "a fault by cause", (int)cause.kind);
		return;
	}
	/* What is reported later may say why the first report came. */
	if (c->cause.kind != SHMEMH_FAULT_BY_NONE && event.path == c->cause_path &&
	    !c->is_cause_there && shmemhi_cause_says_more(cause.kind) &&
	    !shmemhi_cause_says_more(c->cause.kind)) {
		c->cause = cause;
		c->is_changed = 1;
	}
	feed(core, index, event, cause);
}

/* A wait made no progress for long. That is no reason to leave a path that works: a slow path, a
 * peer that is stopped, and one that gives no credits look the same from here. */
static void on_suspect(shmemhi_fault_core_t *core, uint32_t index, uint32_t path)
{
	const shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_fault_cause_t in_error = {SHMEMH_FAULT_BY_QP, 0, 0};
	const uint32_t in_use = c->is_open ? c->machine.path : 0;

	if (path == in_use && (!c->is_open || c->machine.phase == SHMEMHI_RUNNING) &&
	    core->config.ops->is_in_error(core->config.self, pe_of(core, index), k_of(core, index),
					  path))
		feed(core, index, (shmemhi_switch_event_t){SHMEMHI_EV_FAULT, path, 0}, in_error);
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
			feed(core, index, event, cause);
			break;
		case SHMEMHI_EV_SUSPECT:
			on_suspect(core, index, event.path);
			break;
		default:
			refuse(core, index, "event", event.kind);
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
		/* Of an earlier path, or repeated: the transport must not keep it. */
		if (!c->is_open || m->path != c->machine.path || c->machine.has_offer)
			return;
		event.value = config->ops->unpack(config->self, pe, m->k, m->path, m->offer);
	}
	feed(core, index, event, no_cause);
}

static void take_messages(shmemhi_fault_core_t *core)
{
	shmemhi_fault_message_t m;
	int pe;

	while (core->config.net.receive(core->config.net.state, &pe, &m))
		on_message(core, pe, &m);
}

static void end_peer(shmemhi_fault_core_t *core, int pe)
{
	core->is_dead[pe] = 1;
	core->config.net.forget(core->config.net.state, pe);
	for (uint32_t k = 0; k < core->config.n_channels; k++)
		feed(core, (uint32_t)pe * core->config.n_channels + k,
		     (shmemhi_switch_event_t){SHMEMHI_EV_PEER_DEAD, 0, 0}, no_cause);
}

/* Deaths come from the bootstrap alone: that a peer does not answer says nothing. */
static void take_deaths(shmemhi_fault_core_t *core)
{
	const shmemhi_fault_config_t *config = &core->config;
	const int n_gone = atomic_load(config->n_gone);

	if (n_gone == core->n_gone)
		return;
	core->n_gone = n_gone;
	for (int pe = 0; pe < config->n_pes; pe++)
		if (pe != config->pe && !core->is_dead[pe] &&
		    atomic_load(&config->causes[pe]) != SHMEMD_CAUSE_NONE &&
		    config->ops->reaches(config->self, pe))
			end_peer(core, pe);
}

/* Actions */

static bool send_message(shmemhi_fault_core_t *core, uint32_t index,
			 const shmemhi_switch_action_t *a)
{
	const shmemhi_fault_config_t *config = &core->config;
	const int pe = pe_of(core, index);
	shmemhi_fault_message_t m;

	memset(&m, 0, sizeof m);
	m.kind = (uint32_t)a->message;
	m.k = k_of(core, index);
	m.path = a->path;
	m.value = a->value;
	if (a->message == SHMEMHI_EV_FENCE)
		m.value = SHMEMHI_FENCE_VALUE(core->channels[index].cause);
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
	if (!config->ops->execute(config->self, pe_of(core, index), k_of(core, index), &a, result))
		return false;
	core->is_busy = true;
	result->path = a.path;
	return true;
}

static void feed_result(shmemhi_fault_core_t *core, uint32_t index,
			const shmemhi_switch_event_t *result)
{
	const shmemhi_fault_cause_t cause = {SHMEMH_FAULT_BY_QP, 0, 0};

	if (result->kind >= 0)
		feed(core, index, *result, cause);
}

static void begin_order(shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			const shmemhi_switch_action_t *a)
{
	c->order = *a;
	c->has_order = 1;
	c->order_place = core->n_orders++;
}

/* Begin or finish the first action of a channel. Returns whether the next one may follow. */
static bool act(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_switch_action_t a = c->todo[c->first];
	shmemhi_switch_event_t result = {-1, 0, 0};

	switch (a.kind) {
	case SHMEMHI_ACT_SEND:
		if (!send_message(core, index, &a))
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
		begin_order(core, c, &a);
		break;
	default:
		if (!execute(core, index, a, &result))
			return false;
	}
	core->is_busy = true;
	c->first = (c->first + 1) % SHMEMHI_FAULT_TODO;
	c->n_todo--;
	feed_result(core, index, &result);
	return true;
}

/* A channel that has ended: what cannot be done must not hold up its end. Messages and END go on
 * past actions that are not done, and no path is opened any more; STOP and FLUSH stay in their
 * order. */
static void act_closed(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	const uint32_t n = c->n_todo;
	uint32_t first = c->first;

	c->n_todo = 0;
	for (uint32_t i = 0; i < n; i++) {
		const shmemhi_switch_action_t a = c->todo[(first + i) % SHMEMHI_FAULT_TODO];

		if (a.kind == SHMEMHI_ACT_PREPARE || a.kind == SHMEMHI_ACT_CONNECT ||
		    (a.kind == SHMEMHI_ACT_SEND && send_message(core, index, &a)))
			continue;
		if (a.kind == SHMEMHI_ACT_ORDER || a.kind == SHMEMHI_ACT_END)
			begin_order(core, c, &a);
		else
			c->todo[(first + c->n_todo++) % SHMEMHI_FAULT_TODO] = a;
	}
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
 * out, since later ones have higher places. */
static int64_t next_order(const shmemhi_fault_core_t *core)
{
	uint64_t place = UINT64_MAX;
	int64_t next = -1;

	for (uint32_t i = 0; i < core->n_active; i++) {
		const shmemhi_fault_channel_t *c = &core->channels[core->active[i]];

		if (c->has_order && c->order_place < place) {
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

		if (!execute(core, (uint32_t)index, a, &result))
			return;
		c->has_order = 0;
		count_order(c, &a, result.value);
		feed_result(core, (uint32_t)index, &result);
	}
}

/* The step */

static void give_up(shmemhi_fault_core_t *core, uint32_t index)
{
	const shmemhi_fault_channel_t *c = &core->channels[index];

	/* While the path is fenced it is not known whether it worked. */
	const uint64_t since =
		c->machine.phase <= SHMEMHI_CONNECTED ? c->pathless_since : c->left_at;

	if (c->has_no_path && core->now - since >= core->config.giveup_ns)
		feed(core, index, (shmemhi_switch_event_t){SHMEMHI_EV_GIVE_UP, c->machine.path, 0},
		     no_cause);
}

static void report(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];

	/* Of a channel that ends, the end is told, and not that it has left its path. */
	if (!c->is_changed || (c->machine.phase == SHMEMHI_CLOSED && c->machine.is_pending))
		return;
	c->is_changed = 0;
	if (core->config.changed)
		core->config.changed(core->config.changed_arg, pe_of(core, index),
				     k_of(core, index), c);
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

		give_up(core, index);
		try_prepare(core, index);
		if (core->channels[index].machine.phase == SHMEMHI_CLOSED)
			act_closed(core, index);
		while (core->channels[index].n_todo && act(core, index))
			;
	}
	give_orders(core);
	for (uint32_t i = 0; i < core->n_active; i++)
		report(core, core->active[i]);
	forget_idle(core);
	return core->is_busy;
}

int shmemhi_fault_core_open(shmemhi_fault_core_t *core, const shmemhi_fault_config_t *config)
{
	const size_t n = (size_t)config->n_pes * config->n_channels;

	memset(core, 0, sizeof *core);
	core->config = *config;
	core->idle_ns = config->giveup_ns < MOST_IDLE_NS ? config->giveup_ns : MOST_IDLE_NS;
	core->idle_ns += config->silence_ns;
	/* A page of `channels` is used once something happens to one of them. */
	core->channels = calloc(n, sizeof *core->channels);
	core->active = calloc(n, sizeof *core->active);
	core->is_dead = calloc((size_t)config->n_pes, 1);
	core->is_unreachable = calloc((size_t)config->n_pes, 1);
	return core->channels && core->active && core->is_dead && core->is_unreachable
		       ? SHMEMH_OK
		       : SHMEMH_ERR_NO_MEMORY;
}

void shmemhi_fault_core_close(shmemhi_fault_core_t *core)
{
	free(core->channels);
	free(core->active);
	free(core->is_dead);
	free(core->is_unreachable);
	memset(core, 0, sizeof *core);
}
