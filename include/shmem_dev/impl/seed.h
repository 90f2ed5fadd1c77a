/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Seeded mistakes: places where one wrong token breaks a promise. Each is written beside the right
 * code. A test build (-DSHMEMDI_SEEDED, CPU only) defines `int shmemdi_seeded` and sets it to one
 * of the names below; the named test must then fail. Ordinary builds contain the right code only.
 *
 * These are mistakes of logic. Those of memory order are made by tests/weaken, at every call that
 * orders. */
#ifndef SHMEMD_IMPL_SEED_H
#define SHMEMD_IMPL_SEED_H

enum shmemdi_seed {
	SHMEMDI_SEED_NONE = 0,
	SHMEMDI_SEED_COPY_HEAD,    /* copy: head as long as the misalignment, not what it lacks */
	SHMEMDI_SEED_COPY_TAIL,    /* copy: bytes behind the last whole unit are dropped */
	SHMEMDI_SEED_COPY_STRIDE,  /* copy: group stride is one too large */
	SHMEMDI_SEED_COPY_SKEW,    /* copy: units wider than the addresses' common alignment */
	SHMEMDI_SEED_COPY_SHORT,   /* copy: units although the head may be longer than all bytes */
	SHMEMDI_SEED_PEER_BASE,    /* mapped address: base of another PE */
	SHMEMDI_SEED_P_WIDTH,      /* p: 16-bit values cut to 8 */
	SHMEMDI_SEED_G_WIDTH,      /* g: likewise */
	SHMEMDI_SEED_AMO_CAS,      /* atomics: compare-and-swap compares with the new value */
	SHMEMDI_SEED_AMO_OLD,      /* atomics: fetch-add fetches the new value */
	SHMEMDI_SEED_AMO_OR,       /* atomics: fetch-or toggles */
	SHMEMDI_SEED_AMO_HALF,     /* atomics: 64-bit operands cut to 32 */
	SHMEMDI_SEED_AMO_FLAG,     /* atomics: mapped is taken for atomic */
	SHMEMDI_SEED_SIGNAL_ADD,   /* signal: ADD stores instead of adding */
	SHMEMDI_SEED_WAIT_GE,      /* wait: GE compares as GT */
	SHMEMDI_SEED_WAIT_HALF,    /* wait: EQ compares 32 bits */
	SHMEMDI_SEED_WAIT_SIGN,    /* wait: a negative 32-bit word is not sign-extended */
	SHMEMDI_SEED_WAIT_FLIP,    /* wait: sign bit at the wrong place */
	SHMEMDI_SEED_WAIT_GROUP,   /* wait: threads other than the leader do not wait */
	SHMEMDI_SEED_WAIT_ABORT,   /* wait: forgets the abort word */
	SHMEMDI_SEED_WAIT_LAST,    /* wait: the end of a PE hides the signal that it sent before */
	SHMEMDI_SEED_WAIT_FROM,    /* wait: for one PE, ends when another is gone */
	SHMEMDI_SEED_GONE_PE,      /* wait: the record names another PE than the one gone */
	SHMEMDI_SEED_LIMIT_ZERO,   /* limit: a named 0 waits for ever */
	SHMEMDI_SEED_LIMIT_WRAP,   /* limit: the deadline of a long one wraps */
	SHMEMDI_SEED_AGREE_DROP,   /* agreement: joins two statuses to one that nobody has */
	SHMEMDI_SEED_LATCH_LAST,   /* latch: the last error wins */
	SHMEMDI_SEED_RECORD_CLAIM, /* record: two threads write it at once */
	SHMEMDI_SEED_QUIET_LATCH,  /* quiet: ignores the error latch */
	SHMEMDI_SEED_QUIET_OWN,    /* quiet: a thread learns of its own errors only */
	SHMEMDI_SEED_CHECK_WRAP,   /* check: the room behind an address outside wraps */
	SHMEMDI_SEED_SYNC_EPOCH,   /* sync: epoch is not advanced */
	SHMEMDI_SEED_SYNC_TIMEOUT, /* sync: epoch is advanced by a timeout, too */
	SHMEMDI_SEED_SYNC_INDEX,   /* sync: flag stored at the receiver's index, not the sender's */
	SHMEMDI_SEED_SYNC_FAST,    /* sync: a peer that is one ahead is overlooked */
	SHMEMDI_SEED_WORLD_PE,     /* team: a member's number there is taken for the world's */
	SHMEMDI_SEED_END
};

#ifdef SHMEMDI_SEEDED
extern int shmemdi_seeded;
#define SHMEMDI_SEED(id, right, wrong) (shmemdi_seeded == SHMEMDI_SEED_##id ? (wrong) : (right))
#else
#define SHMEMDI_SEED(id, right, wrong) (right)
#endif

#endif
