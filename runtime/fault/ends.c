/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Channels that end because no path was found, or because no thread of the device carries out an
 * order. With one channel all others to that PE end: a wait for a signal of that PE names no
 * channel, and must end; and what is posted on another channel must not arrive
 * after what was dropped on this one. The peer does the same.
 *
 * So this end fences all its endpoints to that PE first. Then the waits of teams with that PE end,
 * unless the PE's memory is mapped, with atomics. In either case the device is then ordered to end
 * the channels. From the fence on the peer writes nothing more by these endpoints, so the program
 * may use the memory again, and nothing is sent that could overtake what is dropped. If a NIC does
 * not execute the commands, waits and channels end FENCE_NS after the first channel closed. */
#include "fault/cause.h"
#include "fault/parts.h"
#include "base/clock.h"

#define FENCE_NS SHMEMHI_SECOND

static const shmemhi_fault_cause_t no_cause;

/* Did this event close the channel because no path was found or no order was carried out in time,
 * here or at the peer? */
static int has_given_up(const shmemhi_switch_t *before, const shmemhi_switch_t *after, int event)
{
	return before->phase != SHMEMHI_CLOSED && after->phase == SHMEMHI_CLOSED &&
	       (event == SHMEMHI_EV_GIVE_UP || event == SHMEMHI_EV_ENDED);
}

void shmemhi_fault_note_end(shmemhi_fault_core_t *core, uint32_t index,
			    const shmemhi_switch_t *before, int event)
{
	const int pe = shmemhi_fault_pe_of(core, index);
	const uint32_t first = index - shmemhi_fault_k_of(core, index);

	if (!has_given_up(before, &core->channels[index].machine, event) ||
	    core->ends[pe].has_begun)
		return;
	core->ends[pe].has_begun = core->ends[pe].is_fencing = 1;
	core->ends[pe].begin = core->now;
	core->n_fencing++;
	for (uint32_t i = first; i < first + core->config.n_channels; i++) {
		shmemhi_fault_feed(core, i, (shmemhi_switch_event_t){SHMEMHI_EV_ENDED, 0, 0},
				   no_cause);
		core->channels[i].is_found_at_peer = core->channels[index].is_found_at_peer;
	}
}

/* Is an endpoint of this channel not fenced yet? */
static bool is_fencing(const shmemhi_fault_channel_t *c)
{
	for (uint32_t i = 0; i < c->n_todo; i++) {
		const int kind = c->todo[(c->first + i) % SHMEMHI_FAULT_TODO].kind;

		if (kind == SHMEMHI_ACT_STOP || kind == SHMEMHI_ACT_FLUSH)
			return true;
	}
	return false;
}

static bool is_pe_fencing(const shmemhi_fault_core_t *core, int pe)
{
	const shmemhi_fault_channel_t *c = &core->channels[(size_t)pe * core->config.n_channels];

	for (uint32_t k = 0; k < core->config.n_channels; k++)
		if (is_fencing(&c[k]))
			return true;
	return false;
}

void shmemhi_fault_end_waits(shmemhi_fault_core_t *core)
{
	const shmemhi_fault_config_t *config = &core->config;

	for (int pe = 0; core->n_fencing && pe < config->n_pes; pe++) {
		shmemhi_fault_end_t *end = &core->ends[pe];

		if (!end->is_fencing ||
		    (is_pe_fencing(core, pe) && core->now - end->begin < FENCE_NS))
			continue;
		end->is_fencing = 0;
		core->n_fencing--;
		core->is_busy = true;
		if (config->unreachable && config->ops->is_needed(config->self, pe))
			config->unreachable(config->arg, pe);
	}
}

void shmemhi_fault_end_over(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];

	if (c->machine.phase != SHMEMHI_CLOSED || !c->machine.is_pending || c->is_unanswered ||
	    shmemhi_fault_waits_for_fence(core, index) ||
	    !core->config.ops->is_order_stuck(core->config.self))
		return;
	c->is_unanswered = c->is_changed = 1;
	shmemhi_fault_note_change(core, c, &c->machine);
}

bool shmemhi_fault_waits_for_fence(const shmemhi_fault_core_t *core, uint32_t index)
{
	return core->ends[shmemhi_fault_pe_of(core, index)].is_fencing;
}

/* An action that cannot be done must not delay the end of a channel. SEND, ORDER and END are
 * executed before earlier actions that are not done, and no path is opened any more; STOP and FLUSH
 * keep their order. */
void shmemhi_fault_act_closed(shmemhi_fault_core_t *core, uint32_t index)
{
	shmemhi_fault_channel_t *c = &core->channels[index];
	const uint32_t n = c->n_todo;
	uint32_t first = c->first;

	c->n_todo = 0;
	for (uint32_t i = 0; i < n; i++) {
		const shmemhi_switch_action_t a = c->todo[(first + i) % SHMEMHI_FAULT_TODO];

		if (a.kind == SHMEMHI_ACT_PREPARE || a.kind == SHMEMHI_ACT_CONNECT ||
		    (a.kind == SHMEMHI_ACT_SEND && shmemhi_fault_send(core, index, &a)))
			continue;
		if (a.kind == SHMEMHI_ACT_ORDER || a.kind == SHMEMHI_ACT_END)
			shmemhi_fault_begin_order(core, c, &a);
		else
			c->todo[(first + c->n_todo++) % SHMEMHI_FAULT_TODO] = a;
	}
}

/* Has an order waited so long that waits for that PE must end? The device has one order at a time:
 * those behind it have the same limit. */
static bool is_overdue(const shmemhi_fault_core_t *core, const shmemhi_fault_channel_t *c)
{
	return c->has_order && c->machine.phase == SHMEMHI_RUNNING &&
	       core->now - c->order_since >= core->config.giveup_ns &&
	       core->config.ops->is_order_stuck(core->config.self);
}

void shmemhi_fault_give_up(shmemhi_fault_core_t *core, uint32_t index)
{
	const shmemhi_fault_channel_t *c = &core->channels[index];
	const shmemhi_switch_event_t event = {SHMEMHI_EV_GIVE_UP, c->machine.path, 0};

	/* While the path is fenced it is not known whether it worked. */
	const uint64_t since =
		c->machine.phase <= SHMEMHI_CONNECTED ? c->pathless_since : c->left_at;

	if (c->has_no_path && core->now - since >= core->config.giveup_ns)
		shmemhi_fault_feed(core, index, event, no_cause);
	else if (is_overdue(core, c)) {
		shmemhi_log(&core->config.log, SHMEMHI_ERROR,
			    "fail-over: no thread has switched channel %u to PE %d for %g s "
			    "(SHMEMH_FT_GIVEUP): on a GPU, kernels may fill it and not wait for a "
			    "NIC, or none can be launched: communication with that PE ends",
			    shmemhi_fault_k_of(core, index), shmemhi_fault_pe_of(core, index),
			    (double)core->config.giveup_ns / (double)SHMEMHI_SECOND);
		shmemhi_fault_feed(core, index, event, no_cause);
	}
}
