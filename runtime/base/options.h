/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Environment options: one table, from which the parser, the defaults, the warning about unknown
 * names and the help text all come. */
#ifndef SHMEMHI_BASE_OPTIONS_H
#define SHMEMHI_BASE_OPTIONS_H

#include <stdint.h>
#include <stdio.h>
#include "base/err.h"

/* X(field, kind, name, default text, help). Kinds: SIZE (bytes; k m g t), TIME (to nanoseconds;
 * ns us ms s, a bare number is seconds), INT, WORD (one of a list; the field is its index), TEXT.
 * For WORD the help starts with the list: "a|b|c: ...". */
#define SHMEMHI_OPTIONS(X)                                                                         \
	X(heap_kind, WORD, "SHMEMH_HEAP", "auto",                                                  \
	  "auto|gpu|host: where the symmetric heap lives; auto: on the GPU if the calling "        \
	  "thread has a CUDA context")                                                             \
	X(symmetric_max, SIZE, "SHMEMH_SYMMETRIC_MAX", "0",                                        \
	  "address space for the heap; 0: the GPU's memory size, the smallest of all PEs, or 4g "  \
	  "for a host heap")                                                                       \
	X(heap_chunk, SIZE, "SHMEMH_HEAP_CHUNK", "64m",                                            \
	  "the heap grows by whole chunks of this size, which is rounded up to a power of "        \
	  "two and to the granularity of allocations; a chunk larger than SHMEMH_SYMMETRIC_MAX "   \
	  "is halved until it fits or is the granularity. SHMEMH_SYMMETRIC_MAX is rounded up to "  \
	  "whole chunks")                                                                          \
	X(timeout_ns, TIME, "SHMEMH_TIMEOUT", "0",                                                 \
	  "time limit of device waits whose call gives none; 0: no limit")                         \
	X(boot_timeout_ns, TIME, "SHMEMH_BOOT_TIMEOUT", "120s",                                    \
	  "time limit for all PEs to connect, and of each host collective, those of init "         \
	  "included; more than 0")                                                                 \
	X(debug, WORD, "SHMEMH_DEBUG", "warn", "off|error|warn|info: what is logged to stderr")    \
	X(ifname, TEXT, "SHMEMH_IFNAME", "",                                                       \
	  "network interface of the hub (with torchrun's variables the hub is at MASTER_ADDR) "    \
	  "and of the agents of fail-over; empty: all that are up, loopback if there is no other") \
	X(node_id, TEXT, "SHMEMH_NODE_ID", "",                                                     \
	  "PEs with equal text count as on one host, and try to map each other's memory: those "   \
	  "that can are one node; empty: boot id and network namespace tell hosts apart")          \
	X(disable_p2p, WORD, "SHMEMH_DISABLE_P2P", "0",                                            \
	  "0|1: 1: map no memory of other PEs; operations use NICs, also those on this PE's own "  \
	  "memory, which shmemd_ptr still returns")                                                \
	X(ib, WORD, "SHMEMH_IB", "auto",                                                           \
	  "auto|off: auto: use a NIC if memory is not mapped or has no native atomics")            \
	X(ib_library, TEXT, "SHMEMH_IB_LIBRARY", "",                                               \
	  "path of one library to load in place of libibverbs and libmlx5; empty: those "          \
	  "two")                                                                                   \
	X(hca_list, TEXT, "SHMEMH_HCA_LIST", "",                                                   \
	  "NICs to choose from: NIC or NIC:port, comma-separated; a leading ^: all "               \
	  "others")                                                                                \
	X(hca_pe_mapping, TEXT, "SHMEMH_HCA_PE_MAPPING", "",                                       \
	  "NIC:port:count, comma-separated: the first count PEs of each host use the "             \
	  "first entry, the next ones the second, and so on, cyclically; empty: by "               \
	  "distance")                                                                              \
	X(ib_gid_index, INT, "SHMEMH_IB_GID_INDEX", "-1",                                          \
	  "RoCE: entry of the GID table; -1: the best RoCE v2 address: IPv4, then global "         \
	  "IPv6, then link-local")                                                                 \
	X(ib_traffic_class, INT, "SHMEMH_IB_TRAFFIC_CLASS", "0", "traffic class, 0 to 255")        \
	X(ib_sl, INT, "SHMEMH_IB_SL", "0", "service level, 0 to 15; RoCE: priority, 0 to 7")       \
	X(ib_ack_timeout, INT, "SHMEMH_IB_ACK_TIMEOUT", "16",                                      \
	  "a request without acknowledgement is sent again after about 4.096 us * 2^this, "        \
	  "1 to 31; 0: never")                                                                     \
	X(ib_retries, INT, "SHMEMH_IB_RETRIES", "7",                                               \
	  "how often a request is sent again, 0 to 7, before its path is lost")                    \
	X(channels, INT, "SHMEMH_CHANNELS", "1", "channels to each PE, 1 to 64")                   \
	X(ib_depth, INT, "SHMEMH_IB_DEPTH", "1024",                                                \
	  "WQEBBs, of 64 bytes each, in each send queue: a power of two, 64 to 32768")             \
	X(ib_batch, INT, "SHMEMH_IB_BATCH", "32",                                                  \
	  "when several threads post on a channel at once, a thread may leave the "                \
	  "doorbell to the next one, unless the WQEBBs that it publishes reach or "                \
	  "cross a multiple of this number, counted on the channel: a power of "                   \
	  "two, at most half of SHMEMH_IB_DEPTH")                                                  \
	X(ib_inline, INT, "SHMEMH_IB_INLINE", "28",                                                \
	  "blocking puts of at most this many bytes, and some others, are inline in "              \
	  "their WQE, 0 to 28")                                                                    \
	X(ib_doorbell, WORD, "SHMEMH_IB_DOORBELL", "auto",                                         \
	  "auto|gpu|cpu: who rings the NIC's doorbells; auto: the GPU if it can")                  \
	X(ib_queue, WORD, "SHMEMH_IB_QUEUE", "auto",                                               \
	  "auto|gpu|host: memory of queues and bounce buffers; auto: the GPU's if the heap is "    \
	  "there and the NIC can register it")                                                     \
	X(ft, WORD, "SHMEMH_FT", "auto",                                                           \
	  "auto|off|exact: exact: when a port or cable fails, channels go on over "                \
	  "another port, and puts, signals and atomics take effect exactly once; auto: "           \
	  "exact if each PE has a stand-by, and its NICs have passed `shmem-info "                 \
	  "--selftest` or are the software adapter")                                               \
	X(ft_giveup_ns, TIME, "SHMEMH_FT_GIVEUP", "30s",                                           \
	  "how long a channel waits for a path, or for the GPU to switch to it, before it ends "   \
	  "with SHMEMD_ERR_PEER")                                                                  \
	X(ft_metrics, TEXT, "SHMEMH_FT_METRICS", "",                                               \
	  "folder in which each PE keeps a .prom file on its paths, for node_exporter's "          \
	  "textfile collector; empty: none")                                                       \
	X(uniqueid, TEXT, "SHMEMH_UNIQUEID", "", "text form of the unique id, set by a launcher")  \
	X(pe, INT, "SHMEMH_PE", "-1", "this PE's number, set by a launcher")                       \
	X(n_pes, INT, "SHMEMH_NPES", "-1", "PEs in the job, set by a launcher")

#define SHMEMHI_FIELD_SIZE(f) uint64_t f;
#define SHMEMHI_FIELD_TIME(f) uint64_t f;
#define SHMEMHI_FIELD_INT(f) int f;
#define SHMEMHI_FIELD_WORD(f) int f;
#define SHMEMHI_FIELD_TEXT(f) char f[320];

typedef struct shmemhi_options {
#define X_(field, kind, name, dflt, help) SHMEMHI_FIELD_##kind(field)
	SHMEMHI_OPTIONS(X_)
#undef X_
} shmemhi_options_t;

/* Read the environment. Warns through log about SHMEMH_* names that are not options. All fields are
 * valid also after a failure: an option with an unusable value has its default.
 * Returns  SHMEMH_OK; ERR_OPTION (text, of the first such option: its name, its value or, of a text
 *          that is too long, the length, and what is allowed). */
int shmemhi_options_read(shmemhi_options_t *opt, const shmemhi_log_t *log, shmemhi_err_t *err);

/* Print the table: name, default, value in force, help. */
void shmemhi_options_print(const shmemhi_options_t *opt, FILE *out);

#endif
