/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Gathers among some PEs of a job. A member that is gone is not waited for; its byte in the result
 * says so, also if it died after it gave its share. Since the hub alone decides who is gone, all
 * members get the same result.
 *
 * Calls with the same members and tag are matched in order: the n-th of each member belong
 * together. A gather that failed because a member did not come in time is kept for that member: its
 * late call fails, too, and does not meet the next gather of the others. Only the number of such
 * calls is kept for each member, with the latest failure: members that try again and again without
 * one that never comes do not fill the hub's memory. */
#include "boot/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"

static void free_subset(subset_t *s)
{
	if (s->result)
		hub_unref(s->result);
	if (s->fail)
		hub_unref(s->fail);
	free(s->pes);
	free(s->nbytes);
	free(s->missed);
	free(s);
}

static void unlink_subset(hub_t *hub, const subset_t *s)
{
	subset_t **at = &hub->gathers;

	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
}

static unsigned char *there_of(const subset_t *s)
{
	return s->result->bytes + sizeof(shmemhi_frame_t);
}

/* Has member `at` come to it? To gathers that failed: as often as they were missed. */
static bool has_come(const subset_t *s, int at)
{
	return s->fail ? s->missed[at] == 0 : s->nbytes[at] != 0;
}

static bool is_complete(const hub_t *hub, const subset_t *s)
{
	int i;

	for (i = 0; i < s->n_pes; i++)
		if (!has_come(s, i) && hub->by_pe[s->pes[i]])
			return false;
	return true;
}

static bool is_of(const subset_t *s, uint64_t tag, const int32_t *pes, int n_pes)
{
	return s->tag == tag && s->n_pes == n_pes &&
	       memcmp(s->pes, pes, (size_t)n_pes * sizeof(*pes)) == 0;
}

/* A gather has failed: count the members that missed it, in the record of those that failed before,
 * if there is one. That record is earlier in the list than s, and takes over the failure of s,
 * which is the latest. */
static subset_t *keep_missed(hub_t *hub, subset_t *s)
{
	subset_t *kept = hub->gathers;
	int i;

	while (kept != s && !(kept->fail && is_of(kept, s->tag, s->pes, s->n_pes)))
		kept = kept->next;
	for (i = 0; i < s->n_pes; i++)
		kept->missed[i] += s->nbytes[i] == 0;
	if (s->result)
		hub_unref(s->result);
	s->result = NULL;
	if (kept == s)
		return s;
	hub_unref(kept->fail);
	kept->fail = s->fail;
	s->fail = NULL;
	unlink_subset(hub, s);
	free_subset(s);
	return kept;
}

/* Send the failure to the members that came, and keep it for the others. */
static void fail_subset(hub_t *hub, subset_t *s, int status, const char *text)
{
	size_t nbytes = strlen(text) + 1;
	int i;

	shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: %s", text);
	s->fail = hub_blob(SHMEMHI_SUBSET_FAIL, s->tag, (uint64_t)status, nbytes);
	if (s->fail)
		memcpy(s->fail->bytes + sizeof(shmemhi_frame_t), text, nbytes);
	for (i = 0; i < s->n_pes; i++) {
		conn_t *c = hub->by_pe[s->pes[i]];

		if (s->nbytes[i] != 0 && c && s->fail)
			hub_send_blob(c, s->fail);
		else if (s->nbytes[i] != 0 && c)
			c->state = CONN_DEAD; /* as wherever memory for a frame is missing */
	}
	if (s->fail)
		s = keep_missed(hub, s);
	if (!s->fail || is_complete(hub, s)) {
		unlink_subset(hub, s);
		free_subset(s);
	}
}

static void fail_sizes(hub_t *hub, subset_t *s, int a, int b)
{
	char text[SHMEMHI_MAX_TEXT];

	snprintf(text, sizeof(text),
		 "members of a team came to one of its host collectives with different sizes in "
		 "bytes: PE %d: %" PRIu64 ", PE %d: %" PRIu64,
		 s->pes[a], s->nbytes[a], s->pes[b], s->nbytes[b]);
	fail_subset(hub, s, SHMEMH_ERR_MISMATCH, text);
}

/* All members came or are gone. */
static void finish_subset(hub_t *hub, subset_t *s)
{
	int first = -1, i;

	if (s->fail) {
		unlink_subset(hub, s);
		free_subset(s);
		return;
	}
	for (i = 0; i < s->n_pes; i++) {
		if (s->nbytes[i] == 0)
			continue;
		first = first < 0 ? i : first;
		if (s->nbytes[i] != s->nbytes[first]) {
			fail_sizes(hub, s, first, i);
			return;
		}
	}
	if (!s->result) {
		fail_subset(hub, s, SHMEMH_ERR_NO_MEMORY, "the hub has no memory for the shares");
		return;
	}
	for (i = 0; i < s->n_pes; i++)
		if (!hub->by_pe[s->pes[i]])
			there_of(s)[i] = 0;
	for (i = 0; i < s->n_pes; i++)
		if (hub->by_pe[s->pes[i]])
			hub_send_blob(hub->by_pe[s->pes[i]], s->result);
	unlink_subset(hub, s);
	free_subset(s);
}

/* The oldest gather of these members and tag to which member `at` has not come. */
static subset_t *find_subset(hub_t *hub, uint64_t tag, const int32_t *pes, int n_pes, int at)
{
	subset_t *s = hub->gathers;

	while (s && (!is_of(s, tag, pes, n_pes) || has_come(s, at)))
		s = s->next;
	return s;
}

/* NULL: no memory. */
static subset_t *new_subset(hub_t *hub, uint64_t tag, const int32_t *pes, int n_pes,
			    uint64_t share_nbytes)
{
	uint64_t nbytes = (uint64_t)n_pes * (1 + share_nbytes);
	subset_t *s = calloc(1, sizeof(*s)), **end = &hub->gathers;

	if (!s)
		return NULL;
	s->tag = tag;
	s->n_pes = n_pes;
	s->pes = malloc((size_t)n_pes * sizeof(*s->pes));
	s->nbytes = calloc((size_t)n_pes, sizeof(*s->nbytes));
	s->missed = calloc((size_t)n_pes, sizeof(*s->missed));
	if (!s->pes || !s->nbytes || !s->missed) {
		free_subset(s);
		return NULL;
	}
	memcpy(s->pes, pes, (size_t)n_pes * sizeof(*pes));
	s->ns = SHMEMHI_NEVER;
	s->deadline = SHMEMHI_NEVER;
	s->share_nbytes = share_nbytes;
	s->result = hub_blob(SHMEMHI_SUBSET_RESULT, tag, 0, nbytes);
	if (s->result)
		memset(there_of(s), 0, nbytes);
	while (*end)
		end = &(*end)->next;
	*end = s;
	return s;
}

/* The place of pe among members that are PEs of the job in ascending order; -1: they are not, or
 * pe is not one of them. */
static int place_of(const hub_t *hub, const int32_t *pes, int n_pes, int pe)
{
	int at = -1, i;

	for (i = 0; i < n_pes; i++) {
		if (pes[i] < 0 || pes[i] >= hub->n_pes || (i > 0 && pes[i] <= pes[i - 1]))
			return -1;
		if (pes[i] == pe)
			at = i;
	}
	return at;
}

/* A PE waits for one gather at a time. */
static bool is_waiting(const hub_t *hub, int pe)
{
	const subset_t *s;
	int i;

	for (s = hub->gathers; s; s = s->next)
		for (i = 0; i < s->n_pes; i++)
			if (s->pes[i] == pe && s->nbytes[i] != 0 && !s->fail)
				return true;
	return false;
}

static void add_share(subset_t *s, int at, const unsigned char *share, uint64_t nbytes,
		      uint64_t timeout_ns)
{
	uint64_t deadline = shmemhi_deadline(timeout_ns);

	s->nbytes[at] = nbytes;
	if (s->result && nbytes == s->share_nbytes) {
		there_of(s)[at] = 1;
		memcpy(there_of(s) + s->n_pes + (uint64_t)at * nbytes, share, nbytes);
	}
	if (deadline < s->deadline) {
		s->deadline = deadline;
		s->ns = timeout_ns;
	}
}

bool hub_subset_part(hub_t *hub, conn_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;
	const int32_t *pes = (const int32_t *)(const void *)(c->in.body + sizeof(shmemhi_subset_t));
	shmemhi_subset_t head;
	uint64_t before;
	subset_t *s;
	int at;

	if (f->nbytes <= sizeof(head))
		return false;
	memcpy(&head, c->in.body, sizeof(head));
	before = sizeof(head) + (uint64_t)head.n_pes * sizeof(*pes);
	if (f->nbytes <= before || f->nbytes - before > SHMEMHI_MAX_SUBSET_PART ||
	    is_waiting(hub, c->pe))
		return false;
	at = place_of(hub, pes, (int)head.n_pes, c->pe);
	if (at < 0)
		return false;
	s = find_subset(hub, f->seq, pes, (int)head.n_pes, at);
	if (!s)
		s = new_subset(hub, f->seq, pes, (int)head.n_pes, f->nbytes - before);
	if (!s) {
		static const char text[] = "the hub has no memory for a gather";

		hub_send(c, SHMEMHI_SUBSET_FAIL, f->seq, SHMEMH_ERR_NO_MEMORY, text, sizeof(text));
		return true;
	}
	if (s->fail) {
		s->missed[at]--;
		hub_send_blob(c, s->fail);
	} else {
		add_share(s, at, c->in.body + before, f->nbytes - before, f->arg);
	}
	if (is_complete(hub, s))
		finish_subset(hub, s);
	return true;
}

/* Gathers that waited for the PE only are complete now. */
void hub_subset_gone(hub_t *hub)
{
	subset_t *s = hub->gathers, *next;

	for (; s; s = next) {
		next = s->next;
		if (is_complete(hub, s))
			finish_subset(hub, s);
	}
}

static void fail_late(hub_t *hub, subset_t *s)
{
	char text[SHMEMHI_MAX_TEXT], list[HUB_LIST_NBYTES] = "", time[32];
	size_t used = 0;
	int i, n_more = 0;

	for (i = 0; i < s->n_pes; i++) {
		if (s->nbytes[i] != 0 || !hub->by_pe[s->pes[i]])
			continue;
		if (used + 32 > sizeof(list))
			n_more++;
		else
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%d",
						 used ? ", " : "PE ", s->pes[i]);
	}
	if (n_more)
		snprintf(list + used, sizeof(list) - used, " and %d more", n_more);
	snprintf(text, sizeof(text), "%s did not come to a host collective of a team within %s",
		 list, hub_text_time(s->ns, time));
	fail_subset(hub, s, SHMEMH_ERR_TIMEOUT, text);
}

void hub_subset_timers(hub_t *hub)
{
	uint64_t now = shmemhi_now();
	subset_t *s = hub->gathers, *next;

	for (; s; s = next) {
		next = s->next;
		if (!s->fail && now >= s->deadline)
			fail_late(hub, s);
	}
}

uint64_t hub_subset_next_timer(const hub_t *hub)
{
	uint64_t at = SHMEMHI_NEVER;
	const subset_t *s;

	for (s = hub->gathers; s; s = s->next)
		at = !s->fail && s->deadline < at ? s->deadline : at;
	return at;
}

void hub_subset_free(hub_t *hub)
{
	while (hub->gathers) {
		subset_t *s = hub->gathers;

		hub->gathers = s->next;
		free_subset(s);
	}
}
