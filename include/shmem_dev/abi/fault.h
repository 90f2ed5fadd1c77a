/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What threads of the GPU report of a channel's path to the host, where faults of paths are
 * tolerated (SHMEMD_CTX_FT). The host decides what follows: a lost path is fenced and left
 * (abi/replay.h), a suspicion is only a reason to query the queue pair.
 *
 * Each channel has one word for its latest report, in pinned host memory: a shmemd_faults_t is
 * followed by [n_channels][n_world] such words. Threads of the GPU store them, and never load them;
 * the host takes a report out by exchanging its word for 0.
 *   - A thread that finds an error CQE reports the first one of the path, which has the cause; the
 *     CQEs of flushed WQEs come after it. It reports it once.
 *   - A thread that waits for a completion reports a suspicion when SHMEMH_TIMEOUT has passed,
 *     unless an error of the path was reported. So does one that waits for space, if nothing has
 *     completed meanwhile, and one that waits for an abandoned bounce buffer and is next for it; as
 *     long as an earlier user has the buffer, only that user's wait reports. A wait for a word, and
 *     a wait for a completion with a limit of its own (`_for`), report none.
 * So the reports of a path are suspicions, then an error. A later report of a channel may overwrite
 * an earlier one before the host reads it; the last one is always read. The host processes a report
 * even if its word equals an earlier one: the epoch has 8 bits, so that after 256 paths a report
 * may be the same word again.
 *
 * A thread stores the word, then `n_reports`, one more than before, with release. The host loads
 * `n_reports` with acquire: if it has changed, so may have all words. Without the release the host
 * could see the number, but not the word, and would not look again (tests/explore, ring_failover).
 * Threads that report for several channels at once are ordered by the lock in
 * shmemd_latch_t.reports: without it the number of one thread could replace that of another, whose
 * word the host does not see yet. */
#ifndef SHMEMD_ABI_FAULT_H
#define SHMEMD_ABI_FAULT_H

#include <shmem_dev/abi/base.h>

/* The head of the reports; the words of the channels follow it. */
typedef struct shmemd_faults {
	uint64_t n_reports; /* changes with each report; 0: none yet */
	uint64_t reserved[7];
} shmemd_faults_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemd_faults_t) == 64, "ABI: shmemd_faults_t");

/* Report: bits 0-7 kind; 8-15 syndrome and 16-23 vendor syndrome of the CQE, or 8-23 number of the
 * suspicion, mod 2^16; 24-31 shmemd_mlx5_opcode of the WQE; 32-55 number of the queue pair, 0 of a
 * suspicion; 56-63 epoch of the path. 0: no report, since a kind is not 0. */
enum shmemd_fault_kind {
	SHMEMD_FAULT_PATH = 1,    /* retries used up, or flushed; threads wait for an order */
	SHMEMD_FAULT_REFUSED = 2, /* mostly a mistake of the program; the channel has failed */
	SHMEMD_FAULT_SUSPECT = 3, /* a wait reached the time limit; nothing has failed */
};

/* A report, and its parts. */
#define SHMEMD_FAULT_WORD(kind, low, opcode, qpn, epoch)                                           \
	((uint64_t)((epoch)&0xffu) << 56 | (uint64_t)((qpn)&0xffffffu) << 32 |                     \
	 (uint64_t)((opcode)&0xffu) << 24 | (uint64_t)((low)&0xffffu) << 8 | (uint64_t)(kind))
#define SHMEMD_FAULT_SYNDROMES(syndrome, vendor) ((uint32_t)(vendor) << 8 | (uint32_t)(syndrome))
#define SHMEMD_FAULT_KIND(word) ((uint32_t)(word)&0xff)
#define SHMEMD_FAULT_SYNDROME(word) ((uint32_t)((word) >> 8) & 0xff)
#define SHMEMD_FAULT_VENDOR(word) ((uint32_t)((word) >> 16) & 0xff)
#define SHMEMD_FAULT_NUMBER(word) ((uint32_t)((word) >> 8) & 0xffff)
#define SHMEMD_FAULT_OPCODE(word) ((uint32_t)((word) >> 24) & 0xff)
#define SHMEMD_FAULT_QPN(word) ((uint32_t)((word) >> 32) & 0xffffff)
#define SHMEMD_FAULT_EPOCH(word) ((uint32_t)((word) >> 56))

/* Bytes of all reports; the word of channel (k, world PE). */
#define SHMEMD_FAULTS_NBYTES(n_channels, n_world)                                                  \
	(sizeof(shmemd_faults_t) + (size_t)(n_channels) * (n_world) * sizeof(uint64_t))
#define SHMEMD_FAULT_REPORT(faults, n_world, k, pe)                                                \
	((uint64_t *)(void *)((faults) + 1) + ((size_t)(k) * (n_world) + (size_t)(pe)))

#endif
