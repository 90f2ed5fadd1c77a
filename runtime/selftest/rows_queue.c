/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows: doorbells, send queues, completion queues, time stamps. */
#include <string.h>
#include "base/clock.h"
#include "ib/caps.h"
#include "selftest/rows.h"

#define N_TWICE 20u /* doorbells that are rung twice */

/* WRITE the number i to word i of the remote memory. */
static void post_number(const shmemhi_rig_t *rig, shmemhi_pair_t *pair, uint32_t i, uint32_t flags)
{
	uint32_t words[7] = {i};
	shmemdi_wqe_t q;

	shmemdi_wqe_write_inline(&q, shmemhi_at(&pair->a, flags),
				 shmemhi_remote(rig, &pair->b, 4 * (size_t)i), words, 4);
	shmemhi_post(&pair->a, &q, 1);
}

static bool has_number(const shmemhi_rig_t *rig, uint32_t i)
{
	uint32_t word;

	memcpy(&word, shmemhi_remote_ptr(rig, 4 * (size_t)i), sizeof word);
	return word == i;
}

/* One doorbell for many WQEs; the same doorbell twice; a doorbell after that. */
void shmemhi_row_doorbell(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	const uint32_t n = 100;
	shmemhi_completion_t c;

	memset(shmemhi_remote_ptr(rig, 0), 0, 4 * (size_t)n + 8);
	shmemhi_remote_store(rig, 0, 4 * (size_t)n + 8);
	for (uint32_t i = 1; i <= n; i++)
		post_number(rig, pair, i, i == n ? SHMEMD_MLX5_CQ_UPDATE : 0);
	if (shmemhi_finish(&pair->a, &c) != 0) {
		shmemhi_row_no_success(o, "100 WRITEs by one doorbell", &c);
		return;
	}
	shmemhi_remote_load(rig, 0, 4 * (size_t)n + 8);
	for (uint32_t i = 1; i <= n; i++)
		if (!has_number(rig, i))
			shmemhi_row_fails(o, "one doorbell for %u WQEs: number %u was not sent", n,
					  i);
	for (uint32_t i = 0; i < N_TWICE && !o->verdict; i++) {
		shmemhi_ring_end(&pair->a);
		nanosleep(&pause, NULL); /* or the next doorbell may replace it in its register */
		post_number(rig, pair, n + 1, SHMEMD_MLX5_CQ_UPDATE);
		if (shmemhi_finish(&pair->a, &c) != 0)
			shmemhi_row_no_success(o, "a WRITE after a doorbell that was rung twice",
					       &c);
		else if (c.counter != n + i)
			shmemhi_row_fails(o,
					  "after a doorbell that was rung twice WQEBB %u "
					  "completed, not %u",
					  c.counter, n + i);
	}
}

/* A WQE of two WQEBBs that begins in the last WQEBB of the queue. */
void shmemhi_row_wrap(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const shmemdi_nic_amo_t swap = {
		.opcode = SHMEMD_MLX5_ATOMIC_MASKED_CS, .value = 7, .swap_mask = UINT64_MAX};
	const size_t at = 64 * (1 + (size_t)pair->b.port); /* a word of the port */
	shmemhi_completion_t c;
	uint64_t word;
	shmemdi_wqe_t q;

	for (uint32_t i = 1; i < SHMEMHI_RIG_DEPTH; i++)
		post_number(rig, pair, i, i == SHMEMHI_RIG_DEPTH - 1 ? SHMEMD_MLX5_CQ_UPDATE : 0);
	if (shmemhi_finish(&pair->a, &c) != 0) {
		shmemhi_row_no_success(o, "WRITEs that fill the queue but for one WQEBB", &c);
		return;
	}
	memset(shmemhi_remote_ptr(rig, at), 0, 8);
	shmemhi_remote_store(rig, at, 8);
	shmemdi_wqe_amo(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
			shmemhi_remote(rig, &pair->b, at), shmemhi_local(rig, &pair->a, 0), &swap,
			8);
	shmemhi_post(&pair->a, &q, 2);
	if (shmemhi_finish(&pair->a, &c) != 0) {
		shmemhi_row_no_success(o, "a WQE across the end of the queue", &c);
		return;
	}
	shmemhi_remote_load(rig, at, 8);
	memcpy(&word, shmemhi_remote_ptr(rig, at), sizeof word);
	if (word != 7)
		shmemhi_row_fails(o, "a WQE across the end of the queue wrote 0x%llx, not 7",
				  (unsigned long long)word);
}

/* Three laps of the completion queue, one CQE for each WQE, consumer index never written. */
void shmemhi_row_ring(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (uint32_t i = 0; i < 3 * SHMEMHI_RIG_DEPTH && !o->verdict; i++) {
		shmemhi_completion_t c;

		post_number(rig, pair, 1, SHMEMD_MLX5_CQ_UPDATE);
		if (shmemhi_finish(&pair->a, &c) != 0)
			shmemhi_row_no_success(o, "a WRITE with a CQE of its own", &c);
		else if (c.counter != (i & 0xffff))
			shmemhi_row_fails(o, "CQE %u names WQEBB %u", i, c.counter);
	}
}

/* Wait for a collapsed CQ to name a WQEBB. Returns 0; -1: it did not. */
static int await_first(const shmemhi_end_t *end, uint16_t counter)
{
	const uint64_t *at =
		(const void *)(end->link.queue + SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH) +
			       SHMEMD_CQE_TAIL);
	uint64_t deadline = shmemhi_deadline(2 * SHMEMHI_SECOND);

	do {
		uint64_t tail = __atomic_load_n(at, __ATOMIC_ACQUIRE);

		if (shmemdi_cqe_opcode(tail) == SHMEMD_CQE_REQ &&
		    shmemdi_cqe_counter(tail) == counter)
			return 0;
	} while (shmemhi_now() < deadline);
	return -1;
}

void shmemhi_row_collapsed(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (uint16_t i = 0; i < 100 && !o->verdict; i++) {
		post_number(rig, pair, 1, SHMEMD_MLX5_CQ_UPDATE);
		shmemhi_ring_end(&pair->a);
		if (await_first(&pair->a, i) != 0)
			shmemhi_row_fails(o, "the first CQE does not name WQEBB %u", i);
	}
}

/* Create a queue pair with each format of time stamps that the NIC says it has. */
void shmemhi_row_ts_format(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	shmemhi_open_port_t port = *pair->a.link.port;
	const uint8_t used = port.ts_format;
	uint8_t formats[3];
	int n = shmemhi_caps_ts_formats(&rig->lib, &port, formats, &rig->err);

	for (int i = 0; i < n && !o->verdict; i++) {
		shmemhi_link_t link = pair->a.link;

		port.ts_format = formats[i];
		link.port = &port;
		rig->err.text[0] = '\0';
		if (shmemhi_link_create_qp(&rig->lib, &link, &pair->a.mem, &rig->err) == SHMEMH_OK)
			rig->lib.obj_destroy(link.qp);
		else
			shmemhi_row_fails(o, "format %u: %.150s", formats[i], rig->err.text);
	}
	if (n <= 0)
		shmemhi_row_unknown(o, "%s", rig->err.text);
	rig->err.text[0] = '\0';
	shmemhi_row_note(o, "%d offered; jobs use format %u", n, used);
}
