/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Parts of the core (machines.h), for each other. */
#ifndef SHMEMHI_FAULT_PARTS_H
#define SHMEMHI_FAULT_PARTS_H

#include "fault/machines.h"

static inline int shmemhi_fault_pe_of(const shmemhi_fault_core_t *core, uint32_t index)
{
	return (int)(index / core->config.n_channels);
}

static inline uint32_t shmemhi_fault_k_of(const shmemhi_fault_core_t *core, uint32_t index)
{
	return index % core->config.n_channels;
}

/* machines.c: pass an event to the machine, and take its actions; found: what caused it. */
void shmemhi_fault_feed(shmemhi_fault_core_t *core, uint32_t index, shmemhi_switch_event_t event,
			shmemhi_fault_cause_t found);

/* machines.c: execute SEND; queue ORDER or END. */
bool shmemhi_fault_send(shmemhi_fault_core_t *core, uint32_t index,
			const shmemhi_switch_action_t *a);
void shmemhi_fault_begin_order(shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			       const shmemhi_switch_action_t *a);

/* outage.c: does the device use the machine's path? */
int shmemhi_fault_is_running(const shmemhi_fault_channel_t *c);

/* outage.c. note_work: before the machine processes an event, as its fence may say that requests
 * were executed on the path that was left. note_change: after it. */
void shmemhi_fault_note_work(shmemhi_fault_channel_t *c, const shmemhi_switch_event_t *e);
void shmemhi_fault_note_change(const shmemhi_fault_core_t *core, shmemhi_fault_channel_t *c,
			       const shmemhi_switch_t *before);

/* ends.c: after the machine has processed an event: if its channel has ended because no path was
 * found or no order was carried out in time, end the others to that PE. */
void shmemhi_fault_note_end(shmemhi_fault_core_t *core, uint32_t index,
			    const shmemhi_switch_t *before, int event);

/* ends.c, in each step: end the channel if its time is over; execute the actions of a channel that
 * has ended; end the waits for PEs that are fenced. */
void shmemhi_fault_give_up(shmemhi_fault_core_t *core, uint32_t index);
void shmemhi_fault_act_closed(shmemhi_fault_core_t *core, uint32_t index);
void shmemhi_fault_end_waits(shmemhi_fault_core_t *core);

/* ends.c, in each step, after the orders: a channel that has ended is reported once the device has
 * carried that out, so that its line has all counts; but at once if the device carries out no
 * orders. */
void shmemhi_fault_end_over(shmemhi_fault_core_t *core, uint32_t index);

/* ends.c: no order is given to this channel yet: the endpoints to its PE are being fenced, for the
 * end of all its channels. */
bool shmemhi_fault_waits_for_fence(const shmemhi_fault_core_t *core, uint32_t index);

#endif
