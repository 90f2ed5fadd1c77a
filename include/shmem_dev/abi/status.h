/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Status codes that device functions return and the error record carries. shmemh_strerror
 * (include/shmem_host/status.h) has a sentence for each. */
#ifndef SHMEMD_ABI_STATUS_H
#define SHMEMD_ABI_STATUS_H

/* What device functions return. Host functions share the number space (shmemh_status). */
enum shmemd_status {
	SHMEMD_OK = 0, /* done, as the contract of the function says */
	/* The time limit of the call, or SHMEMH_TIMEOUT, passed in one of its waits. What was
	 * posted stays under way. A wait, sync, barrier or quiet may be called again; a put_signal
	 * or an atomic must not, since its update may be posted already (amo.h), except where
	 * signal.h says that nothing was sent. */
	SHMEMD_ERR_TIMEOUT = 1,
	/* A PE of the team died or left, or fail-over found no path to it (shmemd_failed_pe), or
	 * this PE was cut off from all. */
	SHMEMD_ERR_PEER = 2,
	/* The target is neither mapped nor behind a NIC that this context may use. */
	SHMEMD_ERR_UNREACHABLE = 3,
	/* The team has no mechanism for atomics that is common to all its members: neither
	 * SHMEMD_CTX_SM_ATOMICS nor SHMEMD_CTX_NIC (abi/ctx.h). */
	SHMEMD_ERR_NO_ATOMICS = 4,
	/* Only check builds (SHMEMD_CHECK) return the following, with these exceptions in every
	 * build: stream.h returns BAD_PE and BAD_ARGUMENT; strided.h, the *_all calls of sync.h and
	 * additions of tiles (bulk.h) return BAD_ARGUMENT. */
	SHMEMD_ERR_BAD_PE = 5,        /* pe outside [0, n_pes) of the context's team */
	SHMEMD_ERR_NOT_SYMMETRIC = 6, /* address range not inside one allocation of this PE's
					 symmetric heap */
	/* Not aligned to its size: a word of a p, g, atomic, signal, wait or test; a slot of
	 * packed.h; a word of a tile that is added without the engine. */
	SHMEMD_ERR_UNALIGNED = 7,
	SHMEMD_ERR_COLLECTIVE = 8,   /* members of the team called different collectives */
	SHMEMD_ERR_BAD_ARGUMENT = 9, /* see shmemd_mistake */
	/* All builds return the following. */
	/* The NIC or the target refused an operation: mostly a mistake of the program (key, range,
	 * right, alignment, length); the error record has the syndrome. That channel sends nothing
	 * any more. */
	SHMEMD_ERR_REFUSED = 10,
	/* The channel sends nothing any more. Without fail-over: its path is lost (retries used up,
	 * port or queue pair down); or SHMEMH_TIMEOUT passed while a call waited for space in its
	 * queue and nothing completed, and the error record then has ERR_TIMEOUT. With fail-over:
	 * the number of executed requests that the host passed on is impossible (impl/switch.h). */
	SHMEMD_ERR_PATH = 11,
	/* A request of this atomic was carried out at its target, once, but its path failed
	 * before the old value came back. Only this call fails; the channel goes on. By NIC an add
	 * of float or double is a loop of compare-and-swaps: it may or may not have happened. */
	SHMEMD_ERR_AMBIGUOUS = 12,
	/* The target's adapter is dead, and how much of what was posted it executed is not known:
	 * nothing is repeated. That channel sends nothing any more. */
	SHMEMD_ERR_LOST = 13,
	/* Only check builds: the context is NULL or none of shmemh_ctx_get, such as one of zeros,
	 * or its team was destroyed. The calls of stream.h return it in every build for a context
	 * that is zero. */
	SHMEMD_ERR_BAD_CONTEXT = 14,
	SHMEMD_N_STATUSES /* how many there are; itself none */
};

/* What shmemd_launch, shmemd_stream_sync and the calls on streams return if CUDA refuses or a
 * kernel fails: this plus the cudaError_t. shmemh_strerror has a sentence. */
#define SHMEMD_STATUS_CUDA 1000

/* What SHMEMD_ERR_BAD_ARGUMENT means; `addr` of the error record. */
enum shmemd_mistake {
	SHMEMD_MISTAKE_ENUM = 0,     /* an enumerator outside its list */
	SHMEMD_MISTAKE_LANES = 1,    /* lanes of a warp are missing, or not in the block */
	SHMEMD_MISTAKE_THREADS = 2,  /* threads of a block, or of another group, are missing */
	SHMEMD_MISTAKE_DIFFER = 3,   /* threads of a group pass different arguments */
	SHMEMD_MISTAKE_OUTSIDER = 4, /* the caller is no thread of the group that it names */
	SHMEMD_MISTAKE_SOURCE = 5,   /* CPU builds: the source of an nbi operation was written
					before quiet */
	SHMEMD_MISTAKE_BLOCKS = 6,   /* the calling block is none of those of a grid call, or they
					are more than the kernel has */
	SHMEMD_MISTAKE_ARRIVED = 7,  /* a counter of arrivals held the number of blocks, or more */
	SHMEMD_MISTAKE_HALVES = 8,   /* an odd number of F16 or BF16 elements is added */
	SHMEMD_MISTAKE_STRIDE = 9,   /* a stride below 1 */
	SHMEMD_MISTAKE_TEAM = 10,    /* a call for the world team, with the context of a team that
					has not all PEs with their world numbers */
	SHMEMD_MISTAKE_GROUP = 11,   /* a group needs more warps than the block has */
	SHMEMD_MISTAKE_CHANNEL = 12, /* a channel number that the job does not have */
	SHMEMD_MISTAKE_CALLS = 13,   /* threads of a group are in calls of different functions */
	SHMEMD_MISTAKE_SRC = 14,     /* src of a put is NULL; on the CPU, or cannot be read */
	SHMEMD_MISTAKE_DST = 15,     /* the same of dst of a get */
	SHMEMD_MISTAKE_OVERLAP = 16, /* src and dst of a transfer to the PE itself overlap */
	SHMEMD_MISTAKE_SIGNAL = 17,  /* the signal word of a put_signal is inside the data */
};

/* Comparisons of wait_until and test. */
enum shmemd_cmp {
	SHMEMD_CMP_EQ = 0, /* equal */
	SHMEMD_CMP_NE = 1, /* not equal */
	SHMEMD_CMP_GT = 2, /* greater */
	SHMEMD_CMP_GE = 3, /* greater or equal */
	SHMEMD_CMP_LT = 4, /* less */
	SHMEMD_CMP_LE = 5, /* less or equal */
};

/* How put_signal and signal_op change the signal word. */
enum shmemd_signal {
	SHMEMD_SIGNAL_SET = 0, /* store the value */
	SHMEMD_SIGNAL_ADD = 1, /* add it */
};

/* Elements that shmemd_add_tile_bulk adds. */
enum shmemd_bulk_element {
	SHMEMD_BULK_F32 = 0,  /* float */
	SHMEMD_BULK_F16 = 1,  /* __half */
	SHMEMD_BULK_BF16 = 2, /* __nv_bfloat16 */
	SHMEMD_BULK_U32 = 3,  /* uint32_t */
	SHMEMD_BULK_U64 = 4,  /* uint64_t */
};

/* When a channel's doorbell is rung for what is posted (channel.h). */
enum shmemd_ring_mode {
	/* Rings, unless all of this holds: the poster had to wait for its turn, or an earlier
	 * poster left its doorbell to it; another poster has reserved behind it; no batch ends
	 * here. Then the poster behind it rings for both, or leaves both to the next one under the
	 * same conditions. */
	SHMEMD_RING_DEFAULT = 0,
	SHMEMD_RING_NOW = 1, /* before this call returns */
	/* Left to a later call on this channel that is not deferred, or to a thread that waits for
	 * a completion or for space of this channel. Waits for signals and words do not ring. As
	 * RING_DEFAULT if an earlier doorbell that was not deferred was left to this call, or if
	 * its poster rang it after its turn, as posters do that share a channel. */
	SHMEMD_RING_DEFERRED = 2,
};

/* The operation that an error record names. */
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
	SHMEMD_OP_FENCE = 13,
};

/* Why a PE is gone. */
enum shmemd_cause {
	SHMEMD_CAUSE_NONE = 0,    /* it is in the job */
	SHMEMD_CAUSE_DIED = 1,    /* its bootstrap connection broke: process killed, host down */
	SHMEMD_CAUSE_LEFT = 2,    /* it finalized while others were still in the job */
	SHMEMD_CAUSE_CUT_OFF = 3, /* this PE lost its own bootstrap connection, and cannot find
				     out which other PEs are alive */
	SHMEMD_CAUSE_NO_PATH = 4  /* fail-over gave up: the PE may be alive, but no path to it was
				     found, or the device carried out no order, within
				     SHMEMH_FT_GIVEUP. Its channels end, or have ended: the
				     device is ordered to end them after waits have ended */
};

#endif
