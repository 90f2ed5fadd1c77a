/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The offsets between the clocks of PEs, from the messages in their traces: a wait of PE b that saw
 * a signal of PE a did not end before the signal began, so
 *
 *     offset of b - offset of a  >=  begin of the signal - end of the wait,
 *
 * each by the clock of its PE. Which signal that was must not depend on the offsets. So only words
 * to which one PE alone sends are used: their signals are in the order of its clock, which gives
 * the value that each left, and each thread that waits sees these values in the same order.
 *
 * Together these bounds are difference constraints. The longest paths between all pairs of PEs
 * (Floyd and Warshall) make them as tight as they imply. Then the PEs get their offsets one after
 * another, each within its bounds against those that have one: the bounds are closed, so whatever
 * is chosen leaves offsets for the others. */
#include <stdlib.h>
#include "core/trace.h"

#define NONE INT64_MIN /* a bound that no message gives */

/* least[a * n + b]: the offset of b less that of a is at least that. */
typedef struct bounds {
	int64_t *least, *closed; /* [n * n] */
	int n;
} bounds_t;

/* --- bounds from messages --- */

static bool has_one_sender(const shmemhi_trace_word_t *word)
{
	for (size_t i = 1; i < word->n_sent; i++)
		if (word->sent[i].pe != word->sent[0].pe)
			return false;
	return true;
}

/* The value of the word before the first signal: 0, unless all signals add and a wait saw more than
 * they leave. Then the value is at most the smallest one that a wait saw, and this one is taken: a
 * wait is matched with the signal that ended it or with an earlier one, so the bound is loose and
 * not wrong. */
static uint64_t value_before(const shmemhi_trace_word_t *word)
{
	uint64_t most_left = 0, most_seen = 0, least_seen = UINT64_MAX;

	for (size_t i = 0; i < word->n_sent; i++) {
		if (word->sent[i].e->kind != SHMEMD_TRACE_ADD)
			return 0;
		if (word->sent[i].after > most_left)
			most_left = word->sent[i].after;
	}
	for (size_t i = 0; i < word->n_seen; i++) {
		uint64_t value = word->seen[i].e->value;

		most_seen = value > most_seen ? value : most_seen;
		least_seen = value < least_seen ? value : least_seen;
	}
	return most_seen > most_left ? least_seen : 0;
}

static bool is_same_thread(const shmemhi_trace_call_t *a, const shmemhi_trace_call_t *b)
{
	return a->e->block == b->e->block && a->e->thread == b->e->thread;
}

static void bound(bounds_t *bounds, const shmemhi_trace_call_t *signal,
		  const shmemhi_trace_call_t *wait)
{
	int64_t *least = &bounds->least[signal->pe * bounds->n + wait->pe];
	int64_t ns = (int64_t)(signal->e->begin - shmemhi_trace_arrow_end(wait->e));

	if (ns > *least)
		*least = ns;
}

/* The bounds from the waits for a word. The value that a wait saw may have been left more than
 * once: take the first signal that left it and is not before that of the thread's wait before. The
 * bound is then loose and not wrong. */
static void bound_by_word(bounds_t *bounds, const shmemhi_trace_word_t *word)
{
	uint64_t before = value_before(word);
	size_t next = 0, k;

	for (size_t i = 0; i < word->n_seen; i++) {
		if (i > 0 && !is_same_thread(&word->seen[i - 1], &word->seen[i]))
			next = 0;
		k = next;
		while (k < word->n_sent && word->sent[k].after + before != word->seen[i].e->value)
			k++;
		if (k == word->n_sent)
			continue;
		next = k;
		bound(bounds, &word->sent[k], &word->seen[i]);
	}
}

/* --- offsets from bounds --- */

/* Close the bounds, each lowered by the slack. Returns whether there are offsets within them: on no
 * path that leads back the bounds sum up to more than 0. */
static bool close_bounds(const bounds_t *bounds, int64_t slack)
{
	int n = bounds->n;
	int64_t *d = bounds->closed;

	for (int i = 0; i < n * n; i++)
		d[i] = bounds->least[i] == NONE ? NONE : bounds->least[i] - slack;
	for (int i = 0; i < n; i++)
		d[i * n + i] = 0;
	for (int k = 0; k < n; k++) {
		for (int i = 0; i < n; i++)
			for (int j = 0; d[i * n + k] != NONE && j < n; j++)
				if (d[k * n + j] != NONE &&
				    d[i * n + k] + d[k * n + j] > d[i * n + j])
					d[i * n + j] = d[i * n + k] + d[k * n + j];
		for (int i = 0; i < n; i++)
			if (d[i * n + i] > 0)
				return false;
	}
	return true;
}

/* The offset of a PE within its bounds against the PEs before it: 0 if the bounds include 0; else
 * the middle between both bounds, or the bound if there is only one. */
static int64_t offset_of(const bounds_t *bounds, const shmemhi_trace_clock_t *clocks, int pe)
{
	int64_t low = INT64_MIN, high = INT64_MAX;

	for (int other = 0; other < pe; other++) {
		int64_t up = bounds->closed[other * bounds->n + pe];
		int64_t down = bounds->closed[pe * bounds->n + other];

		if (up != NONE && clocks[other].offset + up > low)
			low = clocks[other].offset + up;
		if (down != NONE && clocks[other].offset - down < high)
			high = clocks[other].offset - down;
	}
	if (low <= 0 && high >= 0)
		return 0;
	if (low == INT64_MIN)
		return high;
	return high == INT64_MAX ? low : low + (high - low) / 2;
}

static void set_clocks(const bounds_t *bounds, shmemhi_trace_clock_t *clocks, int64_t slack)
{
	for (int pe = 0; pe < bounds->n; pe++) {
		int64_t up = bounds->closed[pe], down = bounds->closed[pe * bounds->n];

		clocks[pe].offset = offset_of(bounds, clocks, pe);
		clocks[pe].least = up == NONE ? INT64_MIN : up - slack;
		clocks[pe].most = down == NONE ? INT64_MAX : slack - down;
	}
}

int shmemhi_trace_estimate_clocks(const shmemhi_trace_calls_t *calls, shmemhi_trace_clock_t *clocks,
				  uint64_t *slack, shmemhi_err_t *err)
{
	size_t n = (size_t)calls->n_pes;
	bounds_t bounds = {malloc(n * n * sizeof(int64_t)), malloc(n * n * sizeof(int64_t)),
			   calls->n_pes};
	shmemhi_trace_word_t word = {0};
	int status = SHMEMH_OK;

	*slack = 0;
	if (bounds.least && bounds.closed) {
		for (size_t i = 0; i < n * n; i++)
			bounds.least[i] = NONE;
		while (shmemhi_trace_next_word(calls, &word))
			if (has_one_sender(&word))
				bound_by_word(&bounds, &word);
		/* Clocks that drift may have no offsets that are right for all messages. */
		while (!close_bounds(&bounds, (int64_t)*slack))
			*slack = *slack ? 2 * *slack : 1;
		set_clocks(&bounds, clocks, (int64_t)*slack);
	} else {
		status = shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY,
				      "trace_write: no memory for the clocks of %d PEs",
				      calls->n_pes);
	}
	free(bounds.least);
	free(bounds.closed);
	return status;
}
