/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PE 1 of a self-test over two machines: it has end b of the pair, and carries out requests of
 * PE 0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "selftest/far.h"

typedef struct serving {
	shmemhi_rig_t *rig; /* of this PE: far is NULL there */
	shmemhi_far_t *far;
	shmemhi_pair_t pair; /* b is open; a has the name of PE 0's end */
	shmemhi_port_verdicts_t *verdicts;
	char *payload; /* [SHMEMHI_RIG_NBYTES] */
} serving_t;

static int refuse(serving_t *s, const shmemhi_far_message_t *m)
{
	return shmemhi_fail(&s->rig->err, SHMEMH_ERR_ARGUMENT,
			    "request %u: port %d, %u bytes at %llu: out of range: run the same "
			    "build on both machines",
			    m->op, m->port, m->nbytes, (unsigned long long)m->offset);
}

static int open_b(serving_t *s, const shmemhi_far_message_t *m)
{
	if (m->port < 0 || m->port >= (int)s->rig->ports.n)
		return refuse(s, m);
	shmemhi_end_close(s->rig, &s->pair.b);
	s->pair.b.port = m->port;
	s->pair.b.link.port = &s->rig->ports.ports[m->port].open;
	return shmemhi_end_place(s->rig, &s->pair.b, NULL);
}

static int create_b(serving_t *s, shmemhi_far_message_t *m)
{
	int status;

	shmemhi_end_destroy(s->rig, &s->pair.b);
	status = shmemhi_end_create(s->rig, &s->pair.b);
	m->name = (shmemhi_qp_info_t){s->pair.b.link.qpn, s->pair.b.link.psn};
	return status;
}

static int join_b(serving_t *s, const shmemhi_far_message_t *m)
{
	shmemhi_end_t *a = &s->pair.a;

	if (m->peer_port < 0 || m->peer_port >= s->far->peer.n_ports)
		return refuse(s, m);
	a->link.port = &s->far->ports[m->peer_port];
	a->link.qpn = m->name.qpn;
	a->link.psn = m->name.psn;
	return shmemhi_end_join(s->rig, &s->pair.b, a, m->flags);
}

static int store(serving_t *s, const shmemhi_far_message_t *m)
{
	if (m->offset > SHMEMHI_RIG_NBYTES || m->nbytes > SHMEMHI_RIG_NBYTES - m->offset)
		return refuse(s, m);
	memcpy(shmemhi_remote_ptr(s->rig, m->offset), s->payload, m->nbytes);
	return SHMEMH_OK;
}

static int load(serving_t *s, const shmemhi_far_message_t *m)
{
	const uint32_t n = m->piece ? m->nbytes / m->piece : 0;

	if (n == 0 || m->offset > SHMEMHI_RIG_NBYTES ||
	    (uint64_t)(n - 1) * m->stride + m->piece > SHMEMHI_RIG_NBYTES - m->offset)
		return refuse(s, m);
	for (uint32_t i = 0; i < n; i++)
		memcpy(s->payload + (size_t)i * m->piece,
		       shmemhi_remote_ptr(s->rig, m->offset + (size_t)i * m->stride), m->piece);
	return SHMEMH_OK;
}

static int fence(serving_t *s, const shmemhi_far_message_t *m)
{
	if (m->watch.ns && (m->watch.offset > SHMEMHI_RIG_NBYTES - 8 || m->watch.offset % 8))
		return refuse(s, m);
	return shmemhi_remote_fence(s->rig, &s->pair, &m->watch);
}

static int end(serving_t *s, const shmemhi_far_message_t *m)
{
	if (m->nbytes != sizeof *s->verdicts)
		return refuse(s, m);
	memcpy(s->verdicts, s->payload, sizeof *s->verdicts);
	return SHMEMH_OK;
}

/* Carry out one request; its results are written to m. */
static int carry_out(serving_t *s, shmemhi_far_message_t *m)
{
	switch (m->op) {
	case SHMEMHI_FAR_OPEN:
		return open_b(s, m);
	case SHMEMHI_FAR_CREATE:
		return create_b(s, m);
	case SHMEMHI_FAR_JOIN:
		return join_b(s, m);
	case SHMEMHI_FAR_CLOSE:
		shmemhi_end_close(s->rig, &s->pair.b);
		return SHMEMH_OK;
	case SHMEMHI_FAR_FENCE:
		return fence(s, m);
	case SHMEMHI_FAR_QUERY:
		return shmemhi_remote_query(s->rig, &s->pair, &m->state);
	case SHMEMHI_FAR_FLUSH_OPEN:
		return shmemhi_remote_flush_open(s->rig, &s->pair);
	case SHMEMHI_FAR_FLUSH:
		shmemhi_remote_flush(s->rig, &m->completion);
		return SHMEMH_OK;
	case SHMEMHI_FAR_FLUSH_CLOSE:
		shmemhi_remote_flush_close(s->rig);
		return SHMEMH_OK;
	case SHMEMHI_FAR_STORE:
		return store(s, m);
	case SHMEMHI_FAR_LOAD:
		return load(s, m);
	case SHMEMHI_FAR_END:
		return end(s, m);
	default:
		return refuse(s, m);
	}
}

int shmemhi_far_serve(shmemhi_rig_t *rig, shmemhi_far_t *far, shmemhi_port_verdicts_t *verdicts,
		      shmemhi_err_t *err)
{
	serving_t s = {.rig = rig,
		       .far = far,
		       .verdicts = verdicts,
		       .payload = malloc(SHMEMHI_RIG_NBYTES)};
	shmemhi_far_message_t m = {.op = SHMEMHI_FAR_OPEN};
	int status = SHMEMH_OK;

	if (!s.payload)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
	while (status == SHMEMH_OK && m.op != SHMEMHI_FAR_END) {
		status = shmemhi_far_receive(far, &m, s.payload, SHMEMHI_RIG_NBYTES, err);
		if (status != SHMEMH_OK)
			break;
		rig->err.text[0] = '\0'; /* of an earlier request */
		m.status = carry_out(&s, &m);
		snprintf(m.text, sizeof m.text, "%.190s", rig->err.text);
		status = shmemhi_far_reply(far, &m, s.payload, err);
	}
	shmemhi_pair_close(rig, &rig->loop);
	shmemhi_end_close(rig, &s.pair.b);
	free(s.payload);
	return status;
}
