/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Status codes that device functions return and the error record carries. shmemh_strerror
 * (include/shmem_host/status.h) has a sentence for each. */
#ifndef SHMEMD_ABI_STATUS_H
#define SHMEMD_ABI_STATUS_H

enum shmemd_status {
	SHMEMD_OK = 0,
	/* The time limit of the call, or SHMEMH_TIMEOUT, passed first. What was posted stays under
	 * way. A wait, sync, barrier or quiet may be called again; a put_signal or an atomic must
	 * not, since its update may be posted already (signal.h, amo.h). */
	SHMEMD_ERR_TIMEOUT = 1,
	/* A PE of the team died or left (shmemd_failed_pe), or this PE was cut off from all. */
	SHMEMD_ERR_PEER = 2,
	/* The target is neither mapped nor behind a NIC that this context may use. */
	SHMEMD_ERR_UNREACHABLE = 3,
	/* The word's target has no mechanism that makes this update atomic (abi/ctx.h, SM_ATOMICS).
	 */
	SHMEMD_ERR_NO_ATOMICS = 4,
	/* Only check builds (SHMEMD_CHECK) return the following. */
	SHMEMD_ERR_BAD_PE = 5,        /* pe outside [0, n_pes) of the context's team */
	SHMEMD_ERR_NOT_SYMMETRIC = 6, /* address range not inside this PE's symmetric heap */
	SHMEMD_ERR_UNALIGNED = 7,     /* a p, g, atomic or wait on a word not aligned to its size */
	SHMEMD_ERR_COLLECTIVE = 8,    /* members of the team called different collectives */
	SHMEMD_ERR_BAD_ARGUMENT = 9,  /* enumerator outside its list; warp with lanes missing */
	/* All builds return the following. */
	/* The NIC or the target refused an operation: mostly a mistake of the program (key, range,
	 * right, alignment, length); the error record has the syndrome. That channel sends nothing
	 * any more. */
	SHMEMD_ERR_REFUSED = 10,
	/* No way through: retries used up, port or queue pair down. That channel sends nothing any
	 * more. */
	SHMEMD_ERR_PATH = 11,
	/* This fetching atomic was carried out at its target, once, but its path failed before the
	 * old value came back. Of this call alone: the channel goes on. */
	SHMEMD_ERR_AMBIGUOUS = 12,
	/* The target's adapter is dead, and how much of what was posted it executed is not known:
	 * nothing is repeated. That channel sends nothing any more. */
	SHMEMD_ERR_LOST = 13,
};

/* Comparisons of wait_until and test. */
enum shmemd_cmp {
	SHMEMD_CMP_EQ = 0,
	SHMEMD_CMP_NE = 1,
	SHMEMD_CMP_GT = 2,
	SHMEMD_CMP_GE = 3,
	SHMEMD_CMP_LT = 4,
	SHMEMD_CMP_LE = 5,
};

/* How put_signal and signal_op change the signal word. */
enum shmemd_signal {
	SHMEMD_SIGNAL_SET = 0,
	SHMEMD_SIGNAL_ADD = 1,
};

/* When a channel's doorbell is rung for what is posted (channel.h). */
enum shmemd_ring_mode {
	/* Rings, unless the poster had to wait for its turn, another has reserved behind it, no
	 * batch ends here, and nothing that it publishes asked for RING_NOW: then that poster
	 * rings. */
	SHMEMD_RING_DEFAULT = 0,
	SHMEMD_RING_NOW = 1,
	SHMEMD_RING_DEFERRED = 2, /* by a later call, or by a wait */
};

/* The operation an error record speaks of. */
enum shmemd_op {
	SHMEMD_OP_NONE = 0,
	SHMEMD_OP_PUT = 1,
	SHMEMD_OP_GET = 2,
	SHMEMD_OP_P = 3,
	SHMEMD_OP_G = 4,
	SHMEMD_OP_PUT_SIGNAL = 5,
	SHMEMD_OP_SIGNAL = 6,
	SHMEMD_OP_ATOMIC = 7,
	SHMEMD_OP_WAIT = 8,
	SHMEMD_OP_TEST = 9,
	SHMEMD_OP_SYNC = 10,
	SHMEMD_OP_BARRIER = 11,
	SHMEMD_OP_QUIET = 12,
};

#endif
