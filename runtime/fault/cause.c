/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/cause.h"

bool shmemhi_cause_may_switch(uint32_t cause)
{
	return cause >= SHMEMH_FAULT_BY_RETRIES && cause <= SHMEMH_FAULT_BY_MOVE;
}

bool shmemhi_cause_is_unexplained(uint32_t cause)
{
	return cause >= SHMEMH_FAULT_BY_RETRIES && cause <= SHMEMH_FAULT_BY_QP;
}

bool shmemhi_cause_is_root(uint32_t cause)
{
	return cause != SHMEMH_FAULT_BY_NONE && cause != SHMEMH_FAULT_BY_FLUSH &&
	       cause != SHMEMH_FAULT_BY_QP;
}

shmemhi_fault_cause_t shmemhi_cause_of(const shmemhi_switch_event_t *e, shmemhi_fault_cause_t found)
{
	switch (e->kind) {
	case SHMEMHI_EV_FENCE:
		return (shmemhi_fault_cause_t){e->value & 0xff, e->value >> 8 & 0xff,
					       e->value >> 16 & 0xff};
	case SHMEMHI_EV_FENCED: /* LOST */
	case SHMEMHI_EV_DEAD:
		return (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_DEVICE, 0, 0};
	case SHMEMHI_EV_REFUSED:
		return (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_PROGRAM, found.syndrome,
					       found.vendor_syndrome};
	case SHMEMHI_EV_GIVE_UP:
	case SHMEMHI_EV_ENDED:
		return (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_GIVEUP, 0, 0};
	default:
		return found;
	}
}
