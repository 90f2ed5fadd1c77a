// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
#include <string.h>
#include "peer.h"

#define N_QPS (POST_MAX_CHANNELS * POST_N_PES)

// Device memory that all placements share.
typedef struct store {
	peer_qp_t *qps;
	peer_cq_t *cqs;
	char *cqes;
	uint8_t *switches;
	char **remote;
	char *bounce;
} store_t;

static int make(store_t *s)
{
	s->qps = (peer_qp_t *)post_alloc(N_QPS * sizeof(peer_qp_t), 0);
	s->cqs = (peer_cq_t *)post_alloc(N_QPS * sizeof(peer_cq_t), 0);
	s->cqes = (char *)post_alloc(N_QPS * POST_WQEBB_NBYTES, 0);
	s->switches = (uint8_t *)post_alloc(POST_MAX_WARPS, 0);
	s->remote = (char **)post_alloc(POST_N_PES * sizeof(char *), 0);
	s->bounce = (char *)post_alloc(N_QPS * POST_WQEBB_NBYTES, 0);
	return s->qps && s->cqs && s->cqes && s->switches && s->remote && s->bounce ? 0 : 1;
}

static peer_cq_t make_cq(const store_t *s, uint32_t i)
{
	peer_words_t *words = &s->qps[i].words;
	peer_cq_t cq;

	memset(&cq, 0, sizeof(cq));
	cq.type = PEER_QP_RC;
	cq.cqe = s->cqes + i * POST_WQEBB_NBYTES;
	cq.posted = &words->posted;
	cq.consumed = &words->consumed;
	cq.reserved = &words->reserved;
	cq.ready = &words->ready;
	cq.n_cqes = POST_DEPTH;
	return cq;
}

// The i-th queue pair, for channel k. Those to the caller itself are not used.
static peer_qp_t make_qp(const store_t *s, const post_memory_t *m, uint32_t i, uint32_t k)
{
	peer_qp_t qp;

	memset(&qp, 0, sizeof(qp));
	qp.type = PEER_QP_RC;
	qp.qpn = POST_QPN(k);
	qp.bounce.buffer = s->bounce + i * POST_WQEBB_NBYTES;
	qp.sq.depth = POST_DEPTH;
	qp.sq.wqes = post_wqes(m, k);
	qp.sq.record = post_record(m, k);
	qp.sq.doorbell = post_doorbell(m, k);
	qp.sq.cq = &s->cqs[i];
	qp.sq.posted = &s->qps[i].words.posted;
	qp.words.reserved = PEER_FIRST;
	qp.words.ready = PEER_FIRST;
	qp.words.posted = PEER_FIRST;
	qp.words.consumed = PEER_FIRST;
	return qp;
}

static void make_state(peer_state_t *state, const store_t *s, const post_memory_t *m)
{
	memset(state, 0, sizeof(*state));
	state->n_devices = 1;
	state->n_groups = POST_MAX_WARPS;
	state->batch = 32;
	state->log_granule = POST_LOG_GRANULE;
	state->map = PEER_MAP_WARP;
	state->is_queue_on_gpu = !m->is_pinned;
	for (uint32_t i = 0; i < PEER_MAX_KEYS; i++) {
		state->lkeys[i].end = (uint64_t)m->heap + POST_HEAP_NBYTES;
		state->rkeys[i].end = POST_HEAP_NBYTES;
	}
	state->switches = s->switches;
	state->qps = s->qps;
	state->heap = m->heap;
	state->heap_nbytes = POST_HEAP_NBYTES;
	state->remote = s->remote;
	state->n_pes = POST_N_PES;
}

peer_state_t *peer_reset(const post_memory_t *m, uint32_t n_channels)
{
	static store_t s;
	static peer_state_t state;
	static peer_qp_t qps[N_QPS];
	static peer_cq_t cqs[N_QPS];

	if (s.qps == NULL && make(&s))
		return NULL;
	for (uint32_t i = 0; i < n_channels * POST_N_PES; i++) {
		qps[i] = make_qp(&s, m, i, i % n_channels);
		cqs[i] = make_cq(&s, i);
	}
	make_state(&state, &s, m);
	state.n_qps = n_channels;
	if (post_failed(cudaMemcpy(s.qps, qps, sizeof(qps), cudaMemcpyHostToDevice),
			"queue pairs") ||
	    post_failed(cudaMemcpy(s.cqs, cqs, sizeof(cqs), cudaMemcpyHostToDevice),
			"queue pairs") ||
	    post_failed(cudaMemset(s.switches, 0, POST_MAX_WARPS), "queue pairs"))
		return NULL;
	return &state;
}
