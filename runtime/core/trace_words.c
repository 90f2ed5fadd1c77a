/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The calls in traces by the words that they sent to or saw, and which signal ended a wait. */
#include <stdlib.h>
#include "core/trace.h"

uint64_t shmemhi_trace_slice_ns(const shmemd_trace_event_t *e)
{
	return e->end > e->begin ? e->end - e->begin : 1;
}

uint64_t shmemhi_trace_arrow_end(const shmemd_trace_event_t *e)
{
	return e->begin + shmemhi_trace_slice_ns(e) - 1;
}

static bool is_seen(const shmemhi_trace_call_t *c)
{
	return c->e->kind == SHMEMD_TRACE_SEEN;
}

static bool is_same_word(const shmemhi_trace_call_t *a, const shmemhi_trace_call_t *b)
{
	return a->home == b->home && a->e->word == b->e->word;
}

static int by_word(const void *a, const void *b)
{
	const shmemhi_trace_call_t *x = a, *y = b;

	if (x->home != y->home)
		return x->home < y->home ? -1 : 1;
	if (x->e->word != y->e->word)
		return x->e->word < y->e->word ? -1 : 1;
	if (is_seen(x) != is_seen(y))
		return is_seen(x) ? 1 : -1;
	if (!is_seen(x) && x->e->begin != y->e->begin)
		return x->e->begin < y->e->begin ? -1 : 1;
	return (x->e > y->e) - (x->e < y->e); /* waits are of one PE */
}

void shmemhi_trace_sort(const shmemhi_trace_calls_t *calls)
{
	qsort(calls->at, calls->n, sizeof *calls->at, by_word);
}

bool shmemhi_trace_next_word(const shmemhi_trace_calls_t *calls, shmemhi_trace_word_t *word)
{
	const shmemhi_trace_call_t *end = calls->at + calls->n;
	shmemhi_trace_call_t *first = word->seen ? word->seen + word->n_seen : calls->at, *c;
	uint64_t after = 0;

	word->sent = first;
	for (c = first; c < end && !is_seen(c) && is_same_word(first, c); c++) {
		after = c->e->kind == SHMEMD_TRACE_ADD ? after + c->e->value : c->e->value;
		c->after = after;
	}
	word->n_sent = (size_t)(c - first);
	word->seen = c;
	while (c < end && is_same_word(first, c))
		c++;
	word->n_seen = (size_t)(c - word->seen);
	return c > first;
}

/* Returns the latest signal that began before the wait ended and left the value that the wait saw.
 * If no signal left that value, returns the latest of all before the end of the wait: the word was
 * not 0 when the trace began, or signals are not in it. Returns NULL if a signal left the value but
 * began, by its PE's clock, up to `slack` after the wait ended: that signal ended the wait, so no
 * other may have the arrow, and its own arrow would lead back in time. */
const shmemhi_trace_call_t *shmemhi_trace_signal_of(const shmemhi_trace_word_t *word,
						    const shmemd_trace_event_t *wait,
						    uint64_t slack)
{
	const shmemhi_trace_call_t *latest = NULL;
	uint64_t end = shmemhi_trace_arrow_end(wait);
	size_t low = 0, high = word->n_sent;

	while (low < high) { /* the first that began later, also with the slack */
		size_t half = low + (high - low) / 2;

		if (word->sent[half].e->begin <= end + slack)
			low = half + 1;
		else
			high = half;
	}
	for (const shmemhi_trace_call_t *c = word->sent + low; c-- > word->sent;) {
		bool is_before = c->e->begin <= end;

		if (c->after == wait->value)
			return is_before ? c : NULL;
		if (is_before && !latest)
			latest = c;
	}
	return latest;
}
