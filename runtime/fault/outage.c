/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What the core notes of each outage of a channel: since when it has no path, and when the steps
 * were done. */
#include "fault/cause.h"
#include "fault/parts.h"

int shmemhi_fault_is_running(const shmemhi_fault_channel_t *c)
{
	return c->machine.phase == SHMEMHI_RUNNING && c->machine.ordered == c->machine.path &&
	       !c->machine.is_pending;
}

int shmemhi_fault_status(const shmemhi_fault_channel_t *c)
{
	if (c->is_unanswered)
		return c->machine.status;
	return c->is_open && c->machine.is_ended && !c->machine.is_pending ? c->machine.status : 0;
}

int shmemhi_fault_state(const shmemhi_fault_channel_t *c)
{
	if (!c->is_open)
		return SHMEMH_FAULT_RUNNING;
	if (shmemhi_fault_status(c))
		return SHMEMH_FAULT_ENDED;
	return shmemhi_fault_is_running(c) ? SHMEMH_FAULT_RUNNING : SHMEMH_FAULT_SWITCHING;
}

/* The channel has lost a path. The time of give-up counts from the loss of the last path that
 * worked: it starts now, unless the path that is lost now has not worked either. It has not if
 *   - it ran for less than working_ns; and
 *   - it executed no request (only the fence finds that out: if it has executed one,
 *     shmemhi_fault_note_work lets the time start at the loss of this path after all); and
 *   - requests on it got no answer, or it is left for the PE's other port after requests on an
 *     earlier path of this outage got none.
 * Both ends decide the same: FENCE carries the cause, FENCED what was executed. */
static void lose_path(const shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c)
{
	const int is_silent = shmemhi_cause_is_unexplained(c->left_for);
	const int is_move = c->left_for == SHMEMH_FAULT_BY_MOVE && c->has_failed_silently;
	const int is_short = core->now - c->running_since < core->working_ns;

	c->left_at = core->now;
	if (!c->has_left || !(is_silent || is_move) || !is_short) {
		c->pathless_since = core->now;
		c->has_failed_silently = 0;
	}
	c->has_failed_silently |= is_silent;
	c->has_left = 1;
}

void shmemhi_fault_note_work(shmemhi_fault_channel_t *c, const shmemhi_switch_event_t *e)
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
		if (shmemhi_fault_is_running(c))
			c->resumed_at = core->now;
	}
}

void shmemhi_fault_note_change(const shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			       const shmemhi_switch_t *before)
{
	const int has_no_path =
		c->machine.phase != SHMEMHI_RUNNING && c->machine.phase != SHMEMHI_CLOSED;
	const int is_out = !shmemhi_fault_is_running(c) && !shmemhi_fault_status(c);

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
