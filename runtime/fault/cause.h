/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Kinds of causes, by which the core of the agent decides. */
#ifndef SHMEMHI_FAULT_CAUSE_H
#define SHMEMHI_FAULT_CAUSE_H

#include "fault/agent.h"

/* Is it a reason to leave a path? A refused request, a wait without progress and a time limit that
 * has passed are none. */
bool shmemhi_cause_may_switch(uint32_t cause);

/* Is it a root cause? A queue pair in ERR and flushed requests are consequences of another one. */
bool shmemhi_cause_is_root(uint32_t cause);

/* Requests got no answer, or what follows from that (RNR, which cannot occur here, counts too):
 * nothing says which part of the path failed. */
bool shmemhi_cause_is_unexplained(uint32_t cause);

/* The cause, because of this event, of what the machine does next; found: the cause that the
 * transport has reported with the event. */
shmemhi_fault_cause_t shmemhi_cause_of(const shmemhi_switch_event_t *e,
				       shmemhi_fault_cause_t found);

#endif
