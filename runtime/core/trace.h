/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* From the traces of all PEs to the file: the events grouped by word, from which arrows and clocks
 * are found (trace_words.c), and the offsets of the clocks (trace_clocks.c). */
#ifndef SHMEMHI_CORE_TRACE_H
#define SHMEMHI_CORE_TRACE_H

#include <shmem_dev/abi/trace.h>
#include "job/job.h"

/* A call that sent to a word, or saw it. */
typedef struct shmemhi_trace_call {
	const shmemd_trace_event_t *e;
	int pe;   /* that called */
	int home; /* the PE whose word it is */
	uint64_t
		after; /* of a signal: the value that it left, if the word was 0 before the first */
} shmemhi_trace_call_t;

/* The calls with one word: the signals by time, then the waits, those of each thread by time. */
typedef struct shmemhi_trace_word {
	shmemhi_trace_call_t *sent, *seen;
	size_t n_sent, n_seen;
} shmemhi_trace_word_t;

/* The calls of all PEs. */
typedef struct shmemhi_trace_calls {
	shmemhi_trace_call_t *at; /* [n] by word */
	size_t n;
	int n_pes;
} shmemhi_trace_calls_t;

/* The clock of a PE. */
typedef struct shmemhi_trace_clock {
	int64_t offset;      /* ns to add to its times, to compare them with those of PE 0 */
	int64_t least, most; /* bounds of it; INT64_MIN, INT64_MAX: no message gives one */
} shmemhi_trace_clock_t;

/* The duration of a slice; not 0, or no arrow could begin or end in it. */
uint64_t shmemhi_trace_slice_ns(const shmemd_trace_event_t *e);

/* The time at which the arrow to a wait ends. The signal began by then. */
uint64_t shmemhi_trace_arrow_end(const shmemd_trace_event_t *e);

/* Put the calls in order, again after a change of their times. Events of a PE are in the order of
 * threads, and of times. */
void shmemhi_trace_sort(const shmemhi_trace_calls_t *calls);

/* The word after this one; the first after {0}. False: there is none. */
bool shmemhi_trace_next_word(const shmemhi_trace_calls_t *calls, shmemhi_trace_word_t *word);

/* The signal from which the arrow to a wait leads; NULL: there is none. slack: ns by which the
 * clocks may be wrong. */
const shmemhi_trace_call_t *shmemhi_trace_signal_of(const shmemhi_trace_word_t *word,
						    const shmemd_trace_event_t *wait,
						    uint64_t slack);

/* Estimate the clocks, [n_pes], from the calls. *slack: for some of the messages that give bounds
 * the clocks are wrong by up to this many ns; 0: they are right for all of these.
 * Returns  SHMEMH_OK, or SHMEMH_ERR_NO_MEMORY. */
int shmemhi_trace_estimate_clocks(const shmemhi_trace_calls_t *calls, shmemhi_trace_clock_t *clocks,
				  uint64_t *slack, shmemhi_err_t *err);

#endif
