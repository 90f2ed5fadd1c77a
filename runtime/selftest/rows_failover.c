/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows: what fail-over relies on. A burst of WRITEs, READs and adds is on its way when the
 * responder is moved to ERR. What QUERY_QP then says was executed must be what memory shows, and
 * memory must not change any more. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/thread.h"
#include "selftest/rows.h"

#define TRIALS 1000
/* n trials need n / TRIALS_PER_CUT bursts that were cut, or nothing is proven. */
#define TRIALS_PER_CUT 20
#define START_NS 50000 /* for a thread to start */
#define STEP_NS 20000  /* of the time between doorbell and command */
#define MAX_LEAD_NS 10000000
#define MAX_WATCH_NS 10000000 /* to poll for a word */
#define SLOT 2048u            /* bytes of remote memory for each request */
/* Offset of the word that adds change, one for each port. */
#define COUNTER(end) (SHMEMHI_RIG_NBYTES - 64 * (1 + (size_t)(end)->port))

enum kind { SHORT_WRITE, LONG_WRITE, READ, ADD };

/* A burst. Request i writes `tag | i` to the first word of slot i; a long one also to the last. */
typedef struct burst {
	uint64_t tag;
	uint32_t n, mtu;
	uint32_t rmsn;  /* before it */
	uint64_t added; /* value of the counter before it */
	uint8_t kinds[SHMEMHI_RIG_DEPTH];
} burst_t;

static uint64_t *word_of(const shmemhi_rig_t *rig, uint32_t i, size_t at)
{
	return (void *)shmemhi_remote_ptr(rig, (size_t)i * SLOT + at);
}

static void post_one(const shmemhi_rig_t *rig, shmemhi_pair_t *pair, const burst_t *burst,
		     uint32_t i)
{
	const shmemdi_nic_amo_t add = {.opcode = SHMEMD_MLX5_ATOMIC_FA, .value = 1};
	shmemdi_wqe_at_t at = shmemhi_at(&pair->a, 0);
	shmemdi_mem_t slot = shmemhi_remote(rig, &pair->b, (size_t)i * SLOT);
	shmemdi_mem_t local = shmemhi_local(rig, &pair->a, (size_t)i * SLOT);
	uint64_t value = burst->tag | i;
	uint32_t words[7] = {(uint32_t)value, (uint32_t)(value >> 32)};
	shmemdi_wqe_t q;

	switch (burst->kinds[i]) {
	case SHORT_WRITE:
		shmemdi_wqe_write_inline(&q, at, slot, words, 8);
		break;
	case LONG_WRITE:
		memcpy(shmemhi_local_ptr(rig, (size_t)i * SLOT), &value, 8);
		memcpy(shmemhi_local_ptr(rig, (size_t)i * SLOT + SLOT - 8), &value, 8);
		shmemdi_wqe_write(&q, at, slot, local, SLOT);
		break;
	case READ:
		shmemdi_wqe_read(&q, at, shmemhi_remote(rig, &pair->b, COUNTER(&pair->b)), local,
				 8);
		break;
	default:
		shmemdi_wqe_amo(&q, at, shmemhi_remote(rig, &pair->b, COUNTER(&pair->b)), local,
				&add, 8);
	}
	shmemhi_post(&pair->a, &q, 1);
}

static uint32_t n_psns(const burst_t *burst, uint32_t i)
{
	return burst->kinds[i] == LONG_WRITE ? (SLOT + burst->mtu - 1) / burst->mtu : 1;
}

static void post_burst(shmemhi_rig_t *rig, shmemhi_pair_t *pair, burst_t *burst)
{
	uint8_t mtu = pair->a.link.port->mtu < pair->b.link.port->mtu ? pair->a.link.port->mtu
								      : pair->b.link.port->mtu;

	burst->tag = (uint64_t)++rig->n_bursts << 32;
	burst->n = 64 + shmemhi_rig_random(rig) % (SHMEMHI_RIG_DEPTH - 64);
	burst->mtu = 128u << mtu;
	shmemhi_remote_load(rig, COUNTER(&pair->b), 8);
	memcpy(&burst->added, shmemhi_remote_ptr(rig, COUNTER(&pair->b)), sizeof burst->added);
	for (uint32_t i = 0; i < burst->n; i++) {
		uint32_t draw = shmemhi_rig_random(rig) % 16;

		burst->kinds[i] = draw < 4    ? READ
				  : draw < 8  ? ADD
				  : draw < 11 ? LONG_WRITE
					      : SHORT_WRITE;
		post_one(rig, pair, burst, i);
	}
}

static int flush_memory(shmemhi_rig_t *rig, shmemhi_outcome_t *o)
{
	shmemhi_completion_t c;

	if (shmemhi_remote_flush(rig, &c) == 0)
		return 0;
	shmemhi_row_no_success(o, "the READ on the fenced NIC", &c);
	return -1;
}

/* Spin until a time. Other threads may need the CPU. */
static void wait_until(uint64_t at)
{
	while (shmemhi_now() < at)
		sched_yield();
}

/* A thread that moves b to ERR at a time, or when a word is there. A command takes longer than a
 * burst, and a request to another machine too, so it must begin before the burst does. */
typedef struct fencer {
	shmemhi_rig_t *rig;
	shmemhi_pair_t *pair;
	shmemhi_watch_t watch;
	uint64_t at;
	int status;
} fencer_t;

static void *fencer_main(void *arg)
{
	fencer_t *f = arg;

	wait_until(f->at);
	f->status = shmemhi_remote_fence(f->rig, f->pair, &f->watch);
	return NULL;
}

/* Start the thread, and ring for the burst at a time. Returns 0, or -1 with the outcome. */
static int ring_and_fence(fencer_t *f, uint64_t at, shmemhi_outcome_t *o)
{
	pthread_t thread;

	if (shmemhi_thread_start(&thread, "shmem_fence", fencer_main, f) != 0) {
		shmemhi_row_unknown(o, "no thread can be started");
		return -1;
	}
	wait_until(at);
	shmemhi_ring_end(&f->pair->a);
	pthread_join(thread, NULL);
	if (f->status == SHMEMH_OK)
		return 0;
	shmemhi_row_unknown(o, "%s", f->rig->err.text);
	return -1;
}

/* Begin to fence b `lead` nanoseconds after the doorbell; if lead is negative, before it. */
static int fence_by_time(shmemhi_rig_t *rig, shmemhi_pair_t *pair, int64_t lead,
			 shmemhi_outcome_t *o)
{
	uint64_t start = shmemhi_now() + START_NS;
	fencer_t f = {.rig = rig, .pair = pair, .at = start + (uint64_t)(lead > 0 ? lead : 0)};

	return ring_and_fence(&f, start + (uint64_t)(lead < 0 ? -lead : 0), o);
}

/* Fence b when a request drawn at random has been seen in memory, if it is a WRITE, or after
 * MAX_WATCH_NS; if it is none, at once. */
static int fence_by_word(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const burst_t *burst,
			 shmemhi_outcome_t *o)
{
	uint32_t i = shmemhi_rig_random(rig) % burst->n;
	bool is_write = burst->kinds[i] != READ && burst->kinds[i] != ADD;
	fencer_t f = {.rig = rig, .pair = pair};

	f.watch = (shmemhi_watch_t){(size_t)i * SLOT, burst->tag | i, is_write ? MAX_WATCH_NS : 0};
	return ring_and_fence(&f, shmemhi_now() + START_NS, o);
}

/* Returns 0 and what b says it has executed, or -1 with the outcome. Fast NICs are cut by a command
 * that began before the burst, slow ones by a command that follows a part of it: the two kinds
 * alternate from trial to trial. */
static int fence(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const burst_t *burst, int64_t lead,
		 shmemhi_qp_state_t *state, shmemhi_outcome_t *o)
{
	if ((rig->n_bursts % 2 ? fence_by_time(rig, pair, lead, o)
			       : fence_by_word(rig, pair, burst, o)) != 0 ||
	    flush_memory(rig, o) != 0)
		return -1;
	if (shmemhi_remote_query(rig, pair, state) == SHMEMH_OK)
		return 0;
	shmemhi_row_unknown(o, "%s", rig->err.text);
	return -1;
}

/* The lead for the next trial: later if nothing was executed, earlier if everything was, and near
 * this one if the burst was cut. */
static int64_t next_lead(shmemhi_rig_t *rig, int64_t lead, uint32_t executed, uint32_t n)
{
	int64_t step = (int64_t)(shmemhi_rig_random(rig) % STEP_NS);

	if (executed == 0)
		return lead < MAX_LEAD_NS ? lead + step : lead;
	if (executed == n)
		return lead > -MAX_LEAD_NS ? lead - step : lead;
	return lead + step - STEP_NS / 2;
}

/* Before `seen`: the words of all requests, where PE 1 has them. */
static void load_words(shmemhi_rig_t *rig, const burst_t *burst)
{
	shmemhi_remote_load_words(rig, 0, SLOT, burst->n);
	shmemhi_remote_load_words(rig, SLOT - 8, SLOT, burst->n);
}

/* What memory shows of request i: 1 executed, 0 not, 2 a part, 3 nothing can be seen of it. */
static int seen(const shmemhi_rig_t *rig, const burst_t *burst, uint32_t i)
{
	uint64_t value = burst->tag | i;
	int first = *word_of(rig, i, 0) == value, last = *word_of(rig, i, SLOT - 8) == value;

	if (burst->kinds[i] == SHORT_WRITE)
		return first;
	if (burst->kinds[i] != LONG_WRITE)
		return 3;
	return first && last ? 1 : first || last ? 2 : 0;
}

/* Compare the prefix that the responder names with memory. */
static void compare(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, const burst_t *burst,
		    const shmemhi_qp_state_t *state, shmemhi_outcome_t *o)
{
	const uint32_t executed = (state->rmsn - burst->rmsn) & 0xffffff;
	uint32_t psns = (state->next_rcv_psn - pair->a.link.psn) & 0xffffff, before = 0;
	uint64_t adds = 0, counter;

	if (executed > burst->n) {
		shmemhi_row_fails(o, "rmsn is %u, of %u requests", executed, burst->n);
		return;
	}
	load_words(rig, burst);
	for (uint32_t i = 0; i < burst->n; i++) {
		int is = seen(rig, burst, i);

		if (i < executed && (is == 0 || is == 2))
			shmemhi_row_fails(o, "rmsn is %u, but request %u is not in memory",
					  executed, i);
		if (i > executed && (is == 1 || is == 2))
			shmemhi_row_fails(o, "rmsn is %u, but request %u is in memory", executed,
					  i);
		if (i == executed && is == 1)
			shmemhi_row_fails(o, "rmsn is %u, but that request is in memory", executed);
		before += i < executed ? n_psns(burst, i) : 0;
		adds += i < executed && burst->kinds[i] == ADD;
	}
	shmemhi_remote_load(rig, COUNTER(&pair->b), 8);
	memcpy(&counter, shmemhi_remote_ptr(rig, COUNTER(&pair->b)), sizeof counter);
	if (counter - burst->added != adds)
		shmemhi_row_fails(o, "rmsn is %u, with %llu adds; memory shows %llu", executed,
				  (unsigned long long)adds,
				  (unsigned long long)(counter - burst->added));
	if (psns < before ||
	    (executed < burst->n ? psns >= before + n_psns(burst, executed) : psns != before))
		shmemhi_row_fails(o,
				  "PSNs received: %u by next_rcv_psn, at least %u by rmsn "
				  "(requests executed: %u)",
				  psns, before, executed);
}

/* What a row does after b was fenced. */
typedef void check_t(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, const burst_t *burst,
		     const shmemhi_qp_state_t *state, shmemhi_outcome_t *o);

/* Run n trials, and more until enough of them have cut their burst, for at most one `share`-th of
 * the time that is left. */
static void run_trials(shmemhi_rig_t *rig, shmemhi_pair_t *pair, int n, uint64_t share,
		       shmemhi_outcome_t *o, check_t *check)
{
	uint64_t end = shmemhi_rig_end_of_row(rig, share);
	burst_t *burst = calloc(1, sizeof *burst);
	int i = 0, n_cut = 0;
	int64_t lead = 0;

	if (!burst || shmemhi_remote_flush_open(rig, pair) != SHMEMH_OK) {
		shmemhi_row_unknown(o, "%s", burst ? rig->err.text : "out of memory");
		free(burst);
		return;
	}
	for (; (i < n || n_cut < n / TRIALS_PER_CUT) && !o->verdict && shmemhi_now() < end; i++) {
		shmemhi_qp_state_t state = {0};

		if (shmemhi_remote_query(rig, pair, &state) != SHMEMH_OK)
			shmemhi_row_unknown(o, "%s", rig->err.text);
		burst->rmsn = state.rmsn;
		post_burst(rig, pair, burst);
		if (fence(rig, pair, burst, lead, &state, o) == 0) {
			uint32_t executed = (state.rmsn - burst->rmsn) & 0xffffff;

			n_cut += executed > 0 && executed < burst->n;
			if (rig->n_bursts % 2)
				lead = next_lead(rig, lead, executed, burst->n);
			check(rig, pair, burst, &state, o);
		}
		if (!o->verdict && shmemhi_pair_renew(rig, pair) != SHMEMH_OK)
			shmemhi_row_unknown(o, "%s", rig->err.text);
	}
	shmemhi_remote_flush_close(rig);
	free(burst);
	if (i < n)
		shmemhi_row_unknown(o, "only %d of %d trials in the time: --minutes", i, n);
	else if (n_cut < n / TRIALS_PER_CUT)
		shmemhi_row_unknown(o, "only %d of %d bursts were cut", n_cut, i);
	shmemhi_row_note(o, "%d trials, %d in the middle of a burst", i, n_cut);
}

void shmemhi_row_prefix(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	run_trials(rig, pair, TRIALS, 3, o, compare);
}

/* Look at memory once more after a while, in which the requester sends again. */
static void check_late(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, const burst_t *burst,
		       const shmemhi_qp_state_t *state, shmemhi_outcome_t *o)
{
	const struct timespec pause = {.tv_nsec = 3000000};
	uint8_t before[SHMEMHI_RIG_DEPTH];

	(void)pair;
	load_words(rig, burst);
	for (uint32_t i = 0; i < burst->n; i++)
		before[i] = (uint8_t)seen(rig, burst, i);
	nanosleep(&pause, NULL);
	if (flush_memory(rig, o) != 0)
		return;
	load_words(rig, burst);
	for (uint32_t i = 0; i < burst->n; i++)
		if (before[i] != seen(rig, burst, i))
			shmemhi_row_fails(o,
					  "request %u landed after the fence, which had cut "
					  "the burst at %u",
					  i, (state->rmsn - burst->rmsn) & 0xffffff);
}

void shmemhi_row_late_write(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	run_trials(rig, pair, TRIALS / 5, 3, o, check_late);
}
