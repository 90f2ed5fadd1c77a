/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The data of a scenario: the dimensions that its seed drew, and the memory of each PE. Small,
 * because weak memory records each word for each thread. */
#ifndef MEMORY_H
#define MEMORY_H

#include <shmem_dev/abi/fault.h>
#include <shmem_dev/abi/replay.h>
#include <shmem_dev/shmem_dev.h>
#include "../common/sim_check.h"
#include "scenario.h"

#define PES_MAX 4
#define N_CHANNELS 2 /* of PE 0; no NIC serves them */
#define THREADS_MAX 64
#define WORDS_MAX 48 /* of 4 bytes: more than a warp, so that a block's second warp copies too */
#define SKEW_MAX 3   /* words; the copy's width depends on it */
#define ROUNDS 3     /* enough rounds for double buffers to be reused */

enum scope { SCOPE_THREAD, SCOPE_WARP, SCOPE_BLOCK, SCOPE_WARPS, N_SCOPES };

/* How a thread or group waits until a word is at least a value. */
enum wait_form {
	WAIT_GROUP,     /* signal_wait_until_group */
	WAIT_FOR,       /* signal_wait_until_for_group, repeated after each timeout */
	WAIT_FROM,      /* signal_wait_until_from by one thread */
	WAIT_TEST,      /* test_u64 by one thread */
	WAIT_FETCH,     /* signal_fetch by one thread */
	WAIT_BY_THREAD, /* wait_until_u64, each thread separately */
	N_WAIT_FORMS
};

typedef struct dims {
	int n_pes, scope, form;
	uint32_t variant, n_blocks, n_threads, n_words, dst_skew, src_skew;
	uint64_t start; /* of counters: signal words, epochs, atomics */
} dims_t;

typedef struct heap {
	_Alignas(16) uint32_t dst[WORDS_MAX + SKEW_MAX];
	_Alignas(16) uint32_t src[WORDS_MAX + SKEW_MAX];
	uint64_t flag, ack, word, will, rounds[ROUNDS];
	uint64_t sync[SHMEMD_SYNC_WORDS(PES_MAX)];
} heap_t;

typedef struct memory {
	_Alignas(1 << SHMEMD_STRIDE_LOG_UNIT) heap_t heap; /* as mapped_stride asks */
	shmemd_peer_t peers[PES_MAX];
	uint64_t abort_word;
	uint32_t causes[PES_MAX], died;
	shmemd_latch_t latch;
	shmemd_error_t error;
	shmemd_switch_order_t order;
	shmemd_channel_t channels[N_CHANNELS];
	_Alignas(64) uint64_t faults[SHMEMD_FAULTS_NBYTES(N_CHANNELS, 1) / sizeof(uint64_t)];
	shmemd_ctx_t ctx;
	uint64_t saw[THREADS_MAX], final; /* for the check after the run */
} memory_t;

extern memory_t memories[PES_MAX];
extern dims_t dims;

/* A kernel's parameters. */
typedef struct pe {
	shmemd_ctx_t ctx;
	heap_t *heap;
	memory_t *memory;
	dims_t dims;
} pe_t;

#define EXPECT CHECK

static inline int left_of(const pe_t *p)
{
	return (p->ctx.my_pe + p->ctx.n_pes - 1) % p->ctx.n_pes;
}

static inline int right_of(const pe_t *p)
{
	return (p->ctx.my_pe + 1) % p->ctx.n_pes;
}

shmemd_group_t group_of(const pe_t *p);

/* A context of a team with this PE alone. */
shmemd_ctx_t team_of_one(const pe_t *p);

/* Word i of the data that PE pe sends in a round. */
uint32_t value_of(int pe, int round, uint32_t i);

/* Each thread of the group writes its share of n words of this PE. */
void fill(const pe_t *p, shmemd_group_t g, uint32_t *words, uint32_t n, int round);

/* Each thread checks words that other threads have written or copied: PE pe's data of that round.
 */
void check(shmemd_group_t g, const uint32_t *words, uint32_t n, int pe, int round);

/* Wait in the form that was drawn until *word, which PE from updates, is at least value. Afterwards
 * all threads of the group can read the data that it announces. */
void await(const pe_t *p, shmemd_group_t g, const uint64_t *word, uint64_t value, int from);

/* Be late, so that waits of other threads come to check the clock and the failed PEs. */
void let_turns_pass(shmemd_group_t g);

#endif
