/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What rows do at end b of a pair, which is in this process, or on PE 1 (rig->far). */
#include <sched.h>
#include <string.h>
#include "base/clock.h"
#include "selftest/far.h"

static shmemhi_far_message_t ask(enum shmemhi_far_op op)
{
	return (shmemhi_far_message_t){.op = op};
}

static int call(shmemhi_rig_t *rig, shmemhi_far_message_t *m)
{
	return shmemhi_far_call(rig->far, m, NULL, NULL, &rig->err);
}

/* ---- the end itself ---- */

int shmemhi_remote_open(shmemhi_rig_t *rig, shmemhi_end_t *b)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_OPEN);

	if (!rig->far)
		return shmemhi_end_place(rig, b, NULL);
	m.port = b->port;
	return call(rig, &m);
}

int shmemhi_remote_create(shmemhi_rig_t *rig, shmemhi_end_t *b)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_CREATE);
	int status;

	if (!rig->far)
		return shmemhi_end_create(rig, b);
	status = call(rig, &m);
	b->link.qpn = m.name.qpn;
	b->link.psn = m.name.psn;
	return status;
}

int shmemhi_remote_join(shmemhi_rig_t *rig, shmemhi_pair_t *pair, int flags)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_JOIN);

	if (!rig->far)
		return shmemhi_end_join(rig, &pair->b, &pair->a, flags);
	m.name = (shmemhi_qp_info_t){pair->a.link.qpn, pair->a.link.psn};
	m.peer_port = pair->a.port;
	m.flags = flags;
	return call(rig, &m);
}

void shmemhi_remote_close(shmemhi_rig_t *rig, shmemhi_end_t *b)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_CLOSE);

	if (rig->far)
		call(rig, &m);
	else
		shmemhi_end_close(rig, b);
}

/* Wait for the word that a request of the burst writes. Other threads may need the CPU. */
static void await_word(const shmemhi_rig_t *rig, const shmemhi_watch_t *watch)
{
	uint64_t until = shmemhi_deadline(watch->ns);
	const uint64_t *word = (const void *)shmemhi_remote_ptr(rig, watch->offset);

	while (shmemhi_now() < until && __atomic_load_n(word, __ATOMIC_RELAXED) != watch->expected)
		sched_yield();
}

int shmemhi_remote_fence(shmemhi_rig_t *rig, shmemhi_pair_t *pair, const shmemhi_watch_t *watch)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_FENCE);

	m.watch = *watch;
	if (rig->far)
		return call(rig, &m);
	if (watch->ns)
		await_word(rig, watch);
	return shmemhi_link_to_err(&rig->lib, &pair->b.link, &rig->err);
}

int shmemhi_remote_query(shmemhi_rig_t *rig, const shmemhi_pair_t *pair, shmemhi_qp_state_t *state)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_QUERY);
	int status;

	if (!rig->far)
		return shmemhi_qp_query(&rig->lib, &pair->b.link, state, &rig->err);
	status = call(rig, &m);
	*state = m.state;
	return status;
}

/* ---- READs on the NIC of end b ---- */

int shmemhi_remote_flush_open(shmemhi_rig_t *rig, const shmemhi_pair_t *pair)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_FLUSH_OPEN);

	return rig->far ? call(rig, &m)
			: shmemhi_pair_open(rig, pair->b.port, pair->b.port, 0, NULL, &rig->loop);
}

void shmemhi_remote_flush_close(shmemhi_rig_t *rig)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_FLUSH_CLOSE);

	if (rig->far)
		call(rig, &m);
	else
		shmemhi_pair_close(rig, &rig->loop);
}

int shmemhi_remote_flush(shmemhi_rig_t *rig, shmemhi_completion_t *c)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_FLUSH);
	shmemhi_pair_t *loop = &rig->loop;
	shmemdi_wqe_t q;

	if (rig->far) {
		if (call(rig, &m) != SHMEMH_OK)
			m.completion = (shmemhi_completion_t){.opcode = SHMEMD_CQE_INVALID};
		*c = m.completion;
		return c->opcode == SHMEMD_CQE_REQ ? 0 : -1;
	}
	shmemdi_wqe_read(&q, shmemhi_at(&loop->a, SHMEMD_MLX5_CQ_UPDATE),
			 shmemhi_remote(rig, &loop->b, SHMEMHI_RIG_NBYTES - 64),
			 shmemhi_local(rig, &loop->a, SHMEMHI_RIG_NBYTES - 64), 8);
	shmemhi_post(&loop->a, &q, 1);
	return shmemhi_finish(&loop->a, c);
}

/* ---- memory ---- */

void shmemhi_remote_store(shmemhi_rig_t *rig, size_t offset, size_t nbytes)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_STORE);

	if (!rig->far)
		return;
	m.offset = offset;
	m.nbytes = (uint32_t)nbytes;
	shmemhi_far_call(rig->far, &m, shmemhi_remote_ptr(rig, offset), NULL, &rig->err);
}

void shmemhi_remote_load(shmemhi_rig_t *rig, size_t offset, size_t nbytes)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_LOAD);

	if (!rig->far)
		return;
	m.offset = offset;
	m.nbytes = m.piece = m.stride = (uint32_t)nbytes;
	shmemhi_far_call(rig->far, &m, NULL, shmemhi_remote_ptr(rig, offset), &rig->err);
}

void shmemhi_remote_load_words(shmemhi_rig_t *rig, size_t offset, size_t stride, uint32_t n)
{
	shmemhi_far_message_t m = ask(SHMEMHI_FAR_LOAD);
	uint64_t words[SHMEMHI_RIG_DEPTH];

	if (!rig->far)
		return;
	m.offset = offset;
	m.nbytes = n * 8;
	m.piece = 8;
	m.stride = (uint32_t)stride;
	if (shmemhi_far_call(rig->far, &m, NULL, words, &rig->err) != SHMEMH_OK)
		return;
	for (uint32_t i = 0; i < n; i++)
		memcpy(shmemhi_remote_ptr(rig, offset + i * stride), &words[i], 8);
}
