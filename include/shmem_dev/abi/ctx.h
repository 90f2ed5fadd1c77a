/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The context: everything a kernel needs to reach the members of one team.
 *
 * The host runtime builds it (shmemh_ctx_get); a kernel receives it by value, as a member of its
 * const __grid_constant__ parameter struct, and passes `const shmemd_ctx_t *` down. It holds only
 * what cannot change while a kernel runs. Whatever changes (failed PEs, the error latch, the words
 * of channels, among them the epochs of their paths) lives behind a pointer and is read with
 * system-scope loads: parameter banks do not change under a running kernel.
 *
 * Fields are appended, never moved: `size` tells how many bytes the host filled. */
#ifndef SHMEMD_ABI_CTX_H
#define SHMEMD_ABI_CTX_H

#include <shmem_dev/abi/fault.h>
#include <shmem_dev/abi/queue.h>
#include <shmem_dev/abi/status.h>
#include <shmem_dev/abi/trace.h>

/* One member of the context's team, indexed by its PE number in that team. Immutable. */
typedef struct shmemd_peer {
	/* Where this PE maps the peer's heap; for itself its own heap, or NULL with
	 * SHMEMH_DISABLE_P2P=1. NULL: not mapped, so reached by NIC or not at all. */
	char *base;
	int32_t world_pe;  /* the same PE's number in the world team */
	uint32_t reserved; /* 0 */
} shmemd_peer_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_peer_t) == 16, "ABI: shmemd_peer_t");

/* Team sync memory: an array of 64-bit words in the symmetric heap, at the same offset on every
 * member. Each flag word has exactly one remote writer, so no atomics are needed. SHMEMD_SYNC_LAST
 * is the flag of this PE's last sync whose wait for the others' flags succeeded or timed out. In a
 * team without SHMEMD_CTX_NIC only a unit with SHMEMD_NO_NIC writes it
 * (shmemdi_flags_have_status). */
#define SHMEMD_SYNC_NUMBER 0 /* syncs completed by this PE; written by this PE only */
#define SHMEMD_SYNC_LAST 1   /* a flag, as said above; written by this PE only */
#define SHMEMD_SYNC_FLAGS 8  /* [team pe]: SHMEMD_SYNC_FLAG; written by that PE */
#define SHMEMD_SYNC_WORDS(n_pes) (SHMEMD_SYNC_FLAGS + (n_pes))
/* Flag of a sync: bits 0-7 shmemd_op, 8-11 shmemd_status of the sender's quiet, 12-15 that of the
 * sync before, 16-63 number. */
#define SHMEMD_SYNC_FLAG(number, before, status, op)                                               \
	((uint64_t)(number) << 16 | (uint64_t)((uint32_t)(before)&0xf) << 12 |                     \
	 (uint64_t)((uint32_t)(status)&0xf) << 8 | (uint64_t)(op))
#define SHMEMD_SYNC_FLAG_NUMBER(flag) ((uint64_t)(flag) >> 16)
#define SHMEMD_SYNC_FLAG_BEFORE(flag) ((uint32_t)(flag) >> 12 & 0xf)
#define SHMEMD_SYNC_FLAG_STATUS(flag) ((uint32_t)(flag) >> 8 & 0xf)
#define SHMEMD_SYNC_FLAG_STATUSES(flag) ((uint32_t)(flag)&0xff00) /* 0: both SHMEMD_OK */
#define SHMEMD_SYNC_FLAG_OP(flag) ((uint32_t)(flag)&0xff)

SHMEMD_STATIC_ASSERT(SHMEMD_N_STATUSES <= 16, "a flag of a sync has 4 bits for a status");

/* Abort word of a team, in host-pinned memory, stored by threads of the host:
 * 0, or cause << 32 | (team pe + 1). A wait for any PE of the team ends when it is not 0; a wait
 * for one PE ends when the word of that PE in `causes` is not 0. */
#define SHMEMD_ABORT_WORD(pe, cause) ((uint64_t)(cause) << 32 | (uint32_t)((pe) + 1))
#define SHMEMD_ABORT_PE(word) ((int32_t)(uint32_t)(word)-1)
#define SHMEMD_ABORT_CAUSE(word) ((uint32_t)((word) >> 32))

/* Latch, in memory local to the device: cheap to read in every quiet. */
typedef struct shmemd_latch {
	uint32_t status;  /* first error of an operation that returns nothing; quiet returns it */
	uint32_t record;  /* 0, or 1 once a thread has claimed the error record */
	uint64_t reports; /* bit 0: lock of the reports to the host (abi/fault.h), bits 1-63 their
			     number */
	shmemd_trace_t *trace; /* where calls are recorded (abi/trace.h); NULL: nowhere */
} shmemd_latch_t;

#define SHMEMD_SITE_NBYTES 48 /* of shmemd_error_t.site */

#define SHMEMD_STRIDE_LOG_UNIT 21 /* of shmemd_ctx_t.mapped_stride */

#define SHMEMD_WANTED_CQE (~(uint64_t)0) /* shmemd_error_t.wanted of an error CQE */

/* First error in full, in host-pinned memory: the host reads it while kernels run. The thread
 * that claimed latch.record writes the fields, then `status` last, with a release store. */
typedef struct shmemd_error {
	uint32_t status; /* shmemd_status; 0: none, the other fields are not valid */
	uint32_t op;     /* shmemd_op */
	int32_t pe;      /* team PE the operation addressed, or the dead one; -1: none */
	uint32_t line;   /* call site's line; 0 in C, where `site` is the function called */
	/* The three values depend on what failed:
	 *   BAD_ARGUMENT     shmemd_mistake; the value refused; a limit, or 0.
	 *                    SHMEMD_MISTAKE_DIFFER: a lane; how many lanes agree with it.
	 *                    SHMEMD_MISTAKE_CALLS: a thread; the first thread of its group.
	 *                    SHMEMD_MISTAKE_SRC, _DST: the address; bytes
	 *   BAD_PE           0; PE; n_pes
	 *   NOT_SYMMETRIC, UNALIGNED  address; bytes; 0
	 *   UNREACHABLE, NO_ATOMICS   address; 0; 0
	 *   COLLECTIVE       `sync` of the context; op in the member's flag; op of this call
	 *   a member's quiet (barrier)  `sync`; number of the sync in the member's flag; 0
	 *   wait for a word  its address; its value as last loaded; the value compared with, of a
	 *                    packed value the epoch. In sync and barrier the word is a member's
	 *                    flag in `sync`
	 *   wait for a completion, space or a bounce buffer; call on a failed channel; AMBIGUOUS
	 *                    0; WQEBBs completed; index waited for, 0 for a buffer
	 *   error CQE        its WQE counter; QPN << 32 | opcode << 16 | vendor syndrome << 8 |
	 *                    syndrome; SHMEMD_WANTED_CQE */
	uint64_t addr, value, wanted;
	char site[SHMEMD_SITE_NBYTES]; /* end of the call site's file or function name; "" unless
					  SHMEMD_CHECK */
} shmemd_error_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_error_t) == 88, "ABI: shmemd_error_t");

/* Sizes of the queues and of the heap's registration in one word, which a call passes on as it is.
 * Bits
 *   0-7    log2 of a granule's bytes, at most 30, since a message has at most 1 GiB;
 *   8-15   log2 of a queue's WQEBBs, SHMEMD_MIN_DEPTH .. SHMEMD_MAX_DEPTH;
 *   16-23  log2 of SHMEMH_IB_BATCH, less than that of the WQEBBs: a poster whose reservation
 *          reaches or crosses a multiple of SHMEMH_IB_BATCH WQEBBs does not leave its doorbell to
 *          the next poster, unless all WQEBBs that no doorbell covers yet were posted with a
 *          deferred doorbell;
 *   24-31  inline bytes, at most SHMEMD_MLX5_INLINE_MAX: the WQE carries the data of blocking puts
 *          of up to so many bytes. In a put that takes the general path (impl/put.h) it carries
 *          what is left, once that is no more than so many bytes. */
#define SHMEMD_GEOMETRY(log_granule, log_depth, log_batch, inline_nbytes)                          \
	((uint32_t)(log_granule) | (uint32_t)(log_depth) << 8 | (uint32_t)(log_batch) << 16 |      \
	 (uint32_t)(inline_nbytes) << 24)
#define SHMEMD_LOG_GRANULE(geometry) ((uint32_t)(geometry)&0xff)
#define SHMEMD_LOG_DEPTH(geometry) ((uint32_t)(geometry) >> 8 & 0xff)
#define SHMEMD_LOG_BATCH(geometry) ((uint32_t)(geometry) >> 16 & 0xff)
#define SHMEMD_INLINE_NBYTES(geometry) ((uint32_t)(geometry) >> 24)

/* The context of one team: see the top of this file. A program copies it and passes it on; it does
 * not change its fields. */
typedef struct shmemd_ctx {
	uint32_t version;           /* SHMEMD_ABI_VERSION of the host runtime */
	uint32_t size;              /* bytes of this struct that the host runtime filled */
	int32_t my_pe;              /* this PE's number in the team */
	int32_t n_pes;              /* PEs in the team */
	uint32_t channel;           /* k: operations of one channel keep their order */
	uint32_t flags;             /* SHMEMD_CTX_* */
	char *heap;                 /* this PE's symmetric heap: [heap, heap + heap_nbytes) */
	uint64_t heap_nbytes;       /* bytes of address space reserved; grown chunks lie inside */
	const shmemd_peer_t *peers; /* [n_pes] */
	uint64_t *sync;             /* [SHMEMD_SYNC_WORDS(n_pes)], symmetric */
	const uint64_t *abort_word; /* SHMEMD_ABORT_WORD, pinned host memory */
	const uint32_t *causes;     /* [n_pes] shmemd_cause of each PE, pinned host memory */
	shmemd_latch_t *latch;
	shmemd_error_t *error;
	uint64_t timeout_ns; /* limit of waits whose call gives none; 0: no limit */
	/* Of this context, in device memory, with channel 0: a kernel may have set another channel
	 * in its own copy. */
	const struct shmemd_ctx *device_copy;
	/* Bytes of the heap that have memory; pinned host memory. With SHMEMD_CTX_CHECKABLE it is
	 * the first field of a shmemd_allocs_t, and check builds read the others through it. */
	const uint64_t *heap_committed;
	/* Channels: the fields down to `geometry`. Without a NIC all of them but n_world are 0. */
	struct shmemd_channel *channels; /* [n_channels][n_world] */
	const shmemd_key_t *keys;        /* SHMEMD_LKEY_INDEX, SHMEMD_RKEY_INDEX */
	char *bounces;                   /* [n_channels][n_world]; SHMEMD_BOUNCES_NBYTES each */
	uint64_t *used; /* [n_channels][SHMEMD_USED_WORDS(n_world)]: bit per world PE: something was
			   posted on that channel */
	uint32_t n_channels; /* to each PE: values of k */
	uint32_t n_world;    /* PEs in the world team */
	uint32_t n_granules; /* registration granules of a heap */
	uint32_t geometry;   /* SHMEMD_GEOMETRY */
	/* [first_mapped, first_mapped + mapped_span) is the shortest range of members that includes
	 * every mapped one, this PE among them. A member in it may be unmapped: its `base` in
	 * `peers` is then NULL. A NIC reaches every member outside of it. If this PE reaches no
	 * member by NIC, the range has all members; else it is empty with SHMEMH_DISABLE_P2P. */
	int32_t first_mapped;
	uint32_t mapped_span;
	/* mapped_span if this PE maps the heap of each member pe of that range at
	 * heap + (pe - my_pe) * mapped_stride, which `peers` has, too; else 0. */
	uint32_t n_strided;
	/* Each is n_strided, or 0 if the team's flags say that the calling threads do not carry out
	 * these operations themselves. So one comparison decides (shmemdi_is_at_stride). */
	uint32_t n_strided_amos;             /* atomics, signals that add, and puts with such a
						signal: 0 without SHMEMD_CTX_SM_ATOMICS */
	uint32_t n_strided_puts_with_signal; /* puts with a signal that is stored: 0 with
						SHMEMD_CTX_MIXED_TRANSPORT */
	uint32_t reserved;
	/* To switch a channel (abi/replay.h), pinned host memory; NULL without SHMEMD_CTX_FT. */
	struct shmemd_switch_order *switch_order;
	/* Bytes, a multiple of 2^SHMEMD_STRIDE_LOG_UNIT; may be negative. From this PE's heap to
	 * that of each member of the range it is at most 2^31 such units, 2^52 bytes: mmap and
	 * CUDA place ranges closer together if the caller requests no address. */
	int64_t mapped_stride;
	shmemd_faults_t *faults; /* count of reports to the host, followed by a report for each
				    channel, pinned host memory; NULL without SHMEMD_CTX_FT */
} shmemd_ctx_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_ctx_t) == 208, "ABI: shmemd_ctx_t");
/* Words of `used` for one channel number k. */
#define SHMEMD_USED_WORDS(n_world) (((n_world) + 63) / 64)
SHMEMD_ASSERT_AT(shmemd_ctx_t, peers, 40);
SHMEMD_ASSERT_AT(shmemd_ctx_t, channels, 112);

/* Every member is mapped and the links carry native atomics: read-modify-writes of this team's
 * words are done by the SMs (DESIGN.md: one mechanism per word for atomics). */
#define SHMEMD_CTX_SM_ATOMICS 1u

/* Every member is mapped: sync and barrier are flags in mapped memory. */
#define SHMEMD_CTX_ALL_MAPPED 2u

/* NICs are in use. They reach every member. */
#define SHMEMD_CTX_NIC 4u

/* NICs are in use, some member is mapped, and the team lacks SM_ATOMICS: as soon as one member is
 * not mapped, or a link has no native atomics, all atomics of the team go by NIC, also those to
 * mapped members and to the PE itself. This is the normal case on several nodes. A mapped PE is
 * then reached by stores and by NIC, and shmemd_fence makes the order between the two. */
#define SHMEMD_CTX_MIXED_TRANSPORT 8u

/* The CQE of a READ or of a fetching atomic may become visible to this GPU before the result does.
 * A DUMP follows each of them but the READ of a quiet, whose result no thread reads: its read of
 * that memory is ordered after the NIC's writes there. Set if the heap is on the GPU, and the GPU
 * does not observe a NIC's writes in their order (GPUDirect RDMA writes ordering: none, of which
 * init warns) or completions are in host memory. */
#define SHMEMD_CTX_DUMP_AFTER_READ 16u

/* The team has all PEs of the job, with their numbers in the world team. */
#define SHMEMD_CTX_WORLD_NUMBERS 32u

/* The heap, send queues, completion queues, doorbell records and bounce buffers lie in memory of
 * this GPU, whose threads ring the doorbells: fences towards the NIC need the GPU's scope only. */
#define SHMEMD_CTX_NIC_GPU_SCOPE 64u

/* Faults of paths are tolerated: a lost path fails nothing, and is reported to the host
 * (abi/fault.h). What was posted waits until the host orders a switch to another path, or the end
 * of the channel. */
#define SHMEMD_CTX_FT 128u

/* Check builds can find addresses outside of every allocation, since heap_committed points to a
 * shmemd_allocs_t. They can also find contexts of destroyed teams: the host clears the copy at
 * `device_copy` when it destroys the team, and SHMEMD_CTX_GENERATION numbers the teams that have
 * used that copy. */
#define SHMEMD_CTX_CHECKABLE 256u
#define SHMEMD_CTX_GENERATION(n) ((uint32_t)(n) << 16)

/* An allocation, of the size that the program asked for. */
typedef struct shmemd_range {
	uint64_t offset, nbytes;
} shmemd_range_t;

/* Live allocations of a PE's heap, made by the program; pinned host memory. The host changes them
 * also while kernels run: `sequence` is odd meanwhile, and a reader that finds it changed reads
 * again. `ranges` that were replaced by more stay readable until the end of the job. */
typedef struct shmemd_allocs {
	uint64_t committed; /* *shmemd_ctx.heap_committed */
	uint64_t sequence;
	uint64_t n;
	const shmemd_range_t *ranges; /* [n] by offset */
} shmemd_allocs_t;

#endif
