/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/hub.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/descriptors.h"

#define GOODBYE_NS (5 * SHMEMHI_SECOND) /* time to send the last texts to slow readers */

const char *hub_text_time(uint64_t ns, char text[32])
{
	if (ns % SHMEMHI_SECOND == 0)
		snprintf(text, 32, "%" PRIu64 " s", ns / SHMEMHI_SECOND);
	else if (ns % SHMEMHI_MS == 0)
		snprintf(text, 32, "%" PRIu64 " ms", ns / SHMEMHI_MS);
	else
		snprintf(text, 32, "%" PRIu64 " ns", ns);
	return text;
}

static const char *text_cause(uint32_t cause)
{
	return cause == SHMEMD_CAUSE_LEFT ? "left the job" : "died (its connection was lost)";
}

/* "PE 2, 5, 7" for the PEs for which is_there is false; long lists end in "and 31 more". */
static const char *text_missing(const hub_t *hub, bool (*is_there)(const hub_t *, int),
				char text[HUB_LIST_NBYTES])
{
	const size_t room = HUB_LIST_NBYTES - sizeof("and 2147483647 more, ");
	size_t used = 0;
	int left = 0;
	int pe;

	text[0] = '\0';
	for (pe = 0; pe < hub->n_pes; pe++) {
		if (is_there(hub, pe))
			continue;
		if (used >= room)
			left++;
		else
			used += (size_t)snprintf(text + used, HUB_LIST_NBYTES - used, "%s%d",
						 used == 0 ? "PE " : ", ", pe);
	}
	if (left > 0)
		snprintf(text + used, HUB_LIST_NBYTES - used, " and %d more", left);
	return text;
}

static bool has_connected(const hub_t *hub, int pe)
{
	return hub->by_pe[pe] != NULL;
}

static bool has_contributed(const hub_t *hub, int pe)
{
	return hub->part_nbytes[pe] != 0;
}

static void send_fail(conn_t *c, uint64_t seq, int status, const char *text)
{
	hub_send(c, SHMEMHI_FAIL, seq, (uint64_t)status, text, strlen(text) + 1);
}

__attribute__((format(printf, 3, 4))) static void set_failure(hub_t *hub, int status,
							      const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(hub->fail_text, sizeof(hub->fail_text), fmt, args);
	va_end(args);
	hub->fail_status = status;
	shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: %s", hub->fail_text);
}

/* ---- start ---- */

static void tell_start_failed(hub_t *hub, conn_t *c)
{
	send_fail(c, 0, hub->fail_status, hub->fail_text);
	if (!hub->was_told[c->pe]) {
		hub->was_told[c->pe] = 1;
		hub->n_told++;
	}
	hub_close_after_flush(c);
}

/* Send the failure to all connected PEs; hub_join sends it to those that connect before the
 * deadline. */
static void fail_start(hub_t *hub)
{
	int pe;

	hub->phase = HUB_FAILED;
	for (pe = 0; pe < hub->n_pes; pe++)
		if (hub->by_pe[pe])
			tell_start_failed(hub, hub->by_pe[pe]);
}

static void refuse(hub_t *hub, conn_t *c, const char *text)
{
	shmemhi_log(&hub->log, SHMEMHI_WARN, "hub: refused %s: %s", c->where, text);
	send_fail(c, 0, SHMEMH_ERR_BOOTSTRAP, text);
	hub_close_after_flush(c);
}

static void broadcast(hub_t *hub, blob_t *blob)
{
	int pe;

	for (pe = 0; pe < hub->n_pes; pe++)
		if (hub->by_pe[pe])
			hub_send_blob(hub->by_pe[pe], blob);
	hub_unref(blob);
}

/* All PEs are connected: start the job, and stop listening. */
static void go(hub_t *hub)
{
	int pe;

	hub->phase = HUB_RUNNING;
	hub->seq = 1;
	hub_stop_listening(hub);
	for (pe = 0; pe < hub->n_pes; pe++)
		hub_send(hub->by_pe[pe], SHMEMHI_GO, 0, 0, NULL, 0);
	shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: all %d PEs are there", hub->n_pes);
}

void hub_join(hub_t *hub, conn_t *c)
{
	int pe = c->hello.pe;
	char text[SHMEMHI_MAX_TEXT];

	if (c->hello.n_pes != hub->n_pes) {
		snprintf(text, sizeof(text),
			 "PE %d was started for a job of %d PEs, but the unique id was made for %d",
			 pe, c->hello.n_pes, hub->n_pes);
		refuse(hub, c, text);
	} else if (pe < 0 || pe >= hub->n_pes) {
		snprintf(text, sizeof(text), "PE number %d is outside 0 .. %d", pe, hub->n_pes - 1);
		refuse(hub, c, text);
	} else if (hub->by_pe[pe]) {
		snprintf(text, sizeof(text),
			 "PE %d is in the job already, connected from %s: two processes were given "
			 "the same number",
			 pe, hub->by_pe[pe]->where);
		refuse(hub, c, text);
	} else if (hub->phase == HUB_FAILED) {
		c->pe = pe;
		tell_start_failed(hub, c);
	} else {
		c->pe = pe;
		c->state = CONN_IN;
		c->deadline = SHMEMHI_NEVER;
		hub->by_pe[pe] = c;
		hub->n_in++;
		shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: PE %d came from %s, %d of %d are there",
			    pe, c->where, hub->n_in, hub->n_pes);
		if (hub->n_in == hub->n_pes)
			go(hub);
	}
}

/* ---- host collectives ---- */

static void next_collective(hub_t *hub)
{
	hub->seq++;
	hub->n_parts = 0;
	hub->coll_deadline = SHMEMHI_NEVER;
	hub->coll_ns = SHMEMHI_NEVER;
	memset(hub->part_nbytes, 0, (size_t)hub->n_pes * sizeof(*hub->part_nbytes));
	if (hub->result)
		hub_unref(hub->result);
	hub->result = NULL;
}

/* Send the failure to the PEs that contributed; hub_part sends it to the others when they
 * contribute. */
static void fail_collective(hub_t *hub)
{
	int pe;

	for (pe = 0; pe < hub->n_pes; pe++)
		if (hub->by_pe[pe] && hub->part_nbytes[pe] != 0)
			send_fail(hub->by_pe[pe], hub->seq, hub->fail_status, hub->fail_text);
	next_collective(hub);
}

static void set_gone_failure(hub_t *hub)
{
	char text[HUB_LIST_NBYTES] = "";
	size_t used = 0;
	int pe;

	if (hub->reported_status != SHMEMH_OK) {
		set_failure(hub, hub->reported_status, "%s", hub->reported_text);
		return;
	}
	for (pe = 0; pe < hub->n_pes && used + 64 < sizeof(text); pe++)
		if (hub->causes[pe] != SHMEMD_CAUSE_NONE)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%sPE %d %s",
						 used ? "; " : "", pe, text_cause(hub->causes[pe]));
	set_failure(hub, SHMEMH_ERR_PEER, "host collective %" PRIu64 " cannot complete: %s",
		    hub->seq, text);
}

/* "PE 0: 8, PE 3: 16": the first PE of each run of equal sizes, as many as fit. */
static void set_mismatch_failure(hub_t *hub)
{
	char text[HUB_LIST_NBYTES] = "";
	size_t used = 0;
	int pe;

	for (pe = 0; pe < hub->n_pes && used + 40 < sizeof(text); pe++)
		if (pe == 0 || hub->part_nbytes[pe] != hub->part_nbytes[pe - 1])
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "%sPE %d: %" PRIu64, used ? ", " : "", pe,
						 hub->part_nbytes[pe]);
	set_failure(hub, SHMEMH_ERR_MISMATCH,
		    "PEs came to host collective %" PRIu64
		    " with different sizes in bytes (first PE of each run): %s",
		    hub->seq, text);
}

static void finish_collective(hub_t *hub)
{
	int pe;

	for (pe = 1; pe < hub->n_pes; pe++)
		if (hub->part_nbytes[pe] != hub->part_nbytes[0]) {
			set_mismatch_failure(hub);
			fail_collective(hub);
			return;
		}
	if (!hub->result) {
		set_failure(hub, SHMEMH_ERR_NO_MEMORY,
			    "the hub has no memory for %d shares of %" PRIu64 " bytes", hub->n_pes,
			    hub->share_nbytes);
		fail_collective(hub);
		return;
	}
	broadcast(hub, hub->result);
	hub->result = NULL;
	next_collective(hub);
}

/* Compare the sizes when all PEs have contributed, so that the text can name every size. */
static void hub_part(hub_t *hub, conn_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;
	uint64_t at;

	if (f->seq < hub->seq) { /* it failed before this PE came; others may have since */
		send_fail(c, f->seq, hub->fail_status, hub->fail_text);
		return;
	}
	if (hub->n_parts == 0) {
		hub->share_nbytes = f->nbytes;
		hub->result = hub_blob(SHMEMHI_RESULT, hub->seq, 0, hub->share_nbytes * hub->n_pes);
	}
	hub->part_nbytes[c->pe] = f->nbytes;
	hub->n_parts++;
	if (hub->result && f->nbytes == hub->share_nbytes)
		memcpy(hub->result->bytes + sizeof(*f) + hub->share_nbytes * (uint64_t)c->pe,
		       c->in.body, f->nbytes);
	at = shmemhi_deadline(f->arg);
	if (at < hub->coll_deadline) {
		hub->coll_deadline = at;
		hub->coll_ns = f->arg;
	}
	if (hub->n_gone > 0) {
		set_gone_failure(hub);
		fail_collective(hub);
	} else if (hub->n_parts == hub->n_pes) {
		finish_collective(hub);
	}
}

/* ---- PEs that go ---- */

/* c->pe died or left a running job: notify the others, and end collectives that cannot complete. */
static void gone(hub_t *hub, conn_t *c, uint32_t cause)
{
	blob_t *blob = hub_blob(SHMEMHI_GONE, 0, SHMEMHI_GONE_ARG(c->pe, cause), 0);

	shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: PE %d (%s) %s", c->pe, c->where,
		    text_cause(cause));
	hub->by_pe[c->pe] = NULL;
	hub->causes[c->pe] = cause;
	hub->n_in--;
	hub->n_gone++;
	if (blob)
		broadcast(hub, blob);
	if (hub->n_parts > 0) {
		set_gone_failure(hub);
		fail_collective(hub);
	}
	hub_subset_gone(hub);
}

void hub_lost(hub_t *hub, conn_t *c)
{
	if (c->pe < 0 || hub->by_pe[c->pe] != c)
		return;
	if (hub->phase == HUB_RUNNING) {
		gone(hub, c, SHMEMD_CAUSE_DIED);
		return;
	}
	hub->by_pe[c->pe] = NULL;
	hub->n_in--;
	if (hub->phase == HUB_FAILED)
		return;
	hub->was_told[c->pe] = 1;
	hub->n_told++;
	if (hub->reported_status != SHMEMH_OK)
		set_failure(hub, hub->reported_status, "%s", hub->reported_text);
	else
		set_failure(hub, SHMEMH_ERR_PEER,
			    "PE %d (%s) connected, and was lost before all %d PEs were there",
			    c->pe, c->where, hub->n_pes);
	fail_start(hub);
}

/* Keep the reason for which c->pe leaves, if it gives one. Returns false if it is none. */
static bool keep_failure(hub_t *hub, const conn_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;
	const char *text = (const char *)c->in.body;

	if (f->nbytes == 0)
		return true;
	if (!SHMEMHI_IS_STATUS(f->arg) || f->nbytes > SHMEMHI_MAX_TEXT ||
	    text[f->nbytes - 1] != '\0')
		return false;
	if (hub->reported_status != SHMEMH_OK)
		return true;
	hub->reported_status = (int)f->arg;
	snprintf(hub->reported_text, sizeof(hub->reported_text), "PE %d: %.*s", c->pe,
		 SHMEMHI_MAX_TEXT - 32, text);
	return true;
}

/* Returns false if the frame breaks the protocol. */
static bool hub_bye(hub_t *hub, conn_t *c)
{
	if (!keep_failure(hub, c))
		return false;
	if (hub->phase == HUB_RUNNING) {
		gone(hub, c, SHMEMD_CAUSE_LEFT);
		hub_close_after_flush(c);
	} else { /* the start fails because of it */
		c->state = CONN_DEAD;
	}
	return true;
}

void hub_frame(hub_t *hub, conn_t *c)
{
	const shmemhi_frame_t *f = &c->in.head;

	if (hub->phase == HUB_RUNNING && f->type == SHMEMHI_SUBSET && hub_subset_part(hub, c))
		return;
	if (f->type == SHMEMHI_BYE && (hub->phase == HUB_RUNNING || f->nbytes > 0) &&
	    hub_bye(hub, c))
		return;
	if (hub->phase == HUB_RUNNING && f->type == SHMEMHI_PART && f->nbytes > 0 &&
	    f->seq <= hub->seq && !(f->seq == hub->seq && hub->part_nbytes[c->pe] != 0)) {
		hub_part(hub, c);
	} else {
		shmemhi_log(&hub->log, SHMEMHI_WARN,
			    "hub: PE %d (%s) broke the protocol (frame type %u, collective %" PRIu64
			    " of %" PRIu64 "): cut off",
			    c->pe, c->where, (unsigned)f->type, f->seq, hub->seq);
		c->state = CONN_DEAD;
	}
}

/* ---- time ---- */

static void set_missing_failure(hub_t *hub)
{
	char list[HUB_LIST_NBYTES];
	char time[32];
	char why[128] = "";
	int error = hub->accept_error;

	if (error)
		snprintf(why, sizeof(why), "; the process with the hub could not accept them: %s%s",
			 strerror(error), shmemhi_descriptor_advice(error));
	set_failure(hub, SHMEMH_ERR_TIMEOUT, "%s of %d did not connect within %s%s",
		    text_missing(hub, has_connected, list), hub->n_pes,
		    hub_text_time(hub->start_ns, time), why);
}

void hub_timers(hub_t *hub)
{
	uint64_t now = shmemhi_now();
	char list[HUB_LIST_NBYTES];
	char time[32];

	if (hub->phase == HUB_STARTING && now >= hub->deadline) {
		set_missing_failure(hub);
		hub->deadline = now + GOODBYE_NS;
		fail_start(hub);
	}
	if (hub->phase == HUB_RUNNING && now >= hub->coll_deadline) {
		set_failure(hub, SHMEMH_ERR_TIMEOUT,
			    "%s of %d did not come to host collective %" PRIu64 " within %s",
			    text_missing(hub, has_contributed, list), hub->n_pes, hub->seq,
			    hub_text_time(hub->coll_ns, time));
		fail_collective(hub);
	}
	hub_subset_timers(hub);
}

uint64_t hub_next_timer(const hub_t *hub)
{
	uint64_t subset = hub_subset_next_timer(hub);

	if (hub->phase == HUB_RUNNING)
		return subset < hub->coll_deadline ? subset : hub->coll_deadline;
	return hub_is_done(hub) ? SHMEMHI_NEVER : hub->deadline;
}

bool hub_is_done(const hub_t *hub)
{
	if (hub->phase == HUB_RUNNING)
		return hub->n_in == 0;
	return hub->phase == HUB_FAILED &&
	       (hub->n_told >= hub->n_pes || shmemhi_now() >= hub->deadline);
}
