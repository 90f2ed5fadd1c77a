/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Seeded mistakes: places where one wrong token breaks a promise. Each is written beside the right
 * code. A test build (-DSHMEMDI_SEEDED, CPU only) defines `int shmemdi_seeded` and sets it to one
 * of the names below; the named test must then fail. Ordinary builds contain the right code only.
 */
#ifndef SHMEMD_IMPL_SEED_H
#define SHMEMD_IMPL_SEED_H

enum shmemdi_seed {
	SHMEMDI_SEED_NONE = 0,
	SHMEMDI_SEED_SIGNAL_SYNC = 1,  /* put_signal: the leader does not wait for the others */
	SHMEMDI_SEED_SIGNAL_FENCE = 2, /* put_signal: no fence between data and signal */
	SHMEMDI_SEED_SIGNAL_ADD = 3,   /* signal: ADD stores instead of adding */
	SHMEMDI_SEED_WAIT_GE = 4,      /* wait: GE compares as GT */
	SHMEMDI_SEED_WAIT_ACQUIRE = 5, /* wait: polls relaxed, data behind it may be old */
	SHMEMDI_SEED_WAIT_ABORT = 6,   /* wait: forgets the abort word */
	SHMEMDI_SEED_WAIT_GROUP = 7,   /* wait: threads other than the leader do not wait */
	SHMEMDI_SEED_COPY_TAIL = 8,    /* copy: bytes behind the last whole unit are dropped */
	SHMEMDI_SEED_COPY_STRIDE = 9,  /* copy: group stride is one too large */
	SHMEMDI_SEED_PEER_BASE = 10,   /* mapped address: base of another PE */
	SHMEMDI_SEED_QUIET_LATCH = 11, /* quiet: ignores the error latch */
	SHMEMDI_SEED_SYNC_FENCE = 12,  /* sync: no fence before the flags */
	SHMEMDI_SEED_SYNC_EPOCH = 13,  /* sync: epoch is not advanced */
	SHMEMDI_SEED_SYNC_INDEX =
		14, /* sync: flag stored at the receiver's index, not the sender's */
	SHMEMDI_SEED_END
};

#ifdef SHMEMDI_SEEDED
extern int shmemdi_seeded;
#define SHMEMDI_SEED(id, right, wrong) (shmemdi_seeded == SHMEMDI_SEED_##id ? (wrong) : (right))
#else
#define SHMEMDI_SEED(id, right, wrong) (right)
#endif

#endif
