/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* From doorbells and doorbell records to WQEs in the device. */
#include <endian.h>
#include <string.h>
#include "mlx5sw/core/core.h"
#include "mlx5sw/engine/requester.h"

uint16_t mlx5swi_record(const mlx5swi_qp_t *qp)
{
	uint32_t word;

	if (qp->has_no_dbr)
		return qp->requester->last_index;
	mlx5swi_queue_load(qp->dbr_is_gpu, &word, &qp->dbr[1], sizeof(word), 0, MLX5SW_DBR);
	return (uint16_t)be32toh(word);
}

/* Returns whether index is behind other, modulo 2^16. A difference of exactly half counts as ahead:
 * the longest queue, posted at once. */
static bool is_behind(uint16_t index, uint16_t other)
{
	return (uint16_t)(index - other) > 0x8000;
}

/* Accept a producer index, unless it is behind or further ahead than the queue is long. */
static void produce(mlx5swi_qp_t *qp, uint16_t pi)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint16_t more = (uint16_t)(pi - r->fetch);

	if (more <= qp->sq_wqebbs && more > (uint16_t)(r->pi - r->fetch))
		r->pi = pi;
}

/* Report an index that is too far ahead of the completed WQEBBs, unless it more likely is behind.
 */
static void check_overrun(const mlx5swi_qp_t *qp, const char *what, uint16_t pi)
{
	const uint32_t ahead = (uint16_t)(pi - qp->requester->done);

	if (ahead > qp->sq_wqebbs && ahead < qp->sq_wqebbs + (0x10000 - qp->sq_wqebbs) / 2)
		mlx5swi_lint("R2", qp, pi,
			     "%s is %u WQEBBs after the first that is not complete: "
			     "at most %u",
			     what, ahead, qp->sq_wqebbs);
}

static void check_record(const mlx5swi_qp_t *qp, uint16_t record)
{
	const struct mlx5swi_requester *r = qp->requester;
	uint32_t word;

	check_overrun(qp, "the doorbell record", record);
	if (!r->is_rung)
		return;
	if (is_behind(record, r->last_record))
		mlx5swi_lint("D3", qp, record, "the doorbell record was %u: it never goes back",
			     r->last_record);
	if (!is_behind(record, r->last_index))
		return;
	mlx5swi_queue_load(qp->dbr_is_gpu, &word, &qp->dbr[0], sizeof(word), 0, MLX5SW_DBR);
	word = be32toh(word);
	if (!qp->rq && word && !is_behind((uint16_t)word, r->last_index))
		mlx5swi_lint("D1", qp, record,
			     "word 0 of the doorbell record is %u, but the send "
			     "counter is word 1: no completion reports errors",
			     word);
	else
		mlx5swi_lint(record == r->last_record ? "D1" : "D2", qp, record,
			     "the doorbell record is behind the doorbell before, %u: if the QP "
			     "fails, WQEs from the record on get no completion",
			     r->last_index);
}

/* Is this doorbell behind the one before? */
static bool is_late(const mlx5swi_qp_t *qp, uint16_t index)
{
	return qp->requester->is_rung && is_behind(index, qp->requester->last_index);
}

/* A late doorbell is a mistake only without a record. With one, check_record compares the record
 * with the newest doorbell, and the device executes up to the record: rdma-core's doorbells, which
 * carry the index of the last WQE, are behind as well if the device has read a newer record. */
static void check_doorbell(const mlx5swi_qp_t *qp, uint16_t index)
{
	check_overrun(qp, "the doorbell", index);
	if (qp->has_no_dbr && is_late(qp, index))
		mlx5swi_lint("D3", qp, index, "the doorbell before was %u: it never goes back",
			     qp->requester->last_index);
}

void mlx5swi_requester_doorbell(mlx5swi_qp_t *qp, uint16_t index)
{
	struct mlx5swi_requester *r = qp->requester;
	const int mode = qp->has_no_dbr ? MLX5SW_DOORBELLS_DB : mlx5swi_w->cfg.doorbells;

	qp->counters.doorbells++;
	if (qp->state == MLX5SWI_ERR) {
		r->last_index = index;
		mlx5swi_flush_again(qp);
		return;
	}
	if (!qp->sq || qp->state != MLX5SWI_RTS) {
		mlx5swi_lint("D11", qp, index, "rung in state %u: only RTS sends", qp->state);
		return;
	}
	if (r->is_rung && index == r->last_index && mlx5swi_is_unlike(MLX5SW_UNLIKE_DOORBELL)) {
		mlx5swi_qp_error(qp, 0, 0);
		return;
	}
	check_doorbell(qp, index);
	if (!qp->has_no_dbr) {
		const uint16_t record = mlx5swi_record(qp);

		check_record(qp, record);
		r->last_record = record;
		if (mode != MLX5SW_DOORBELLS_DB)
			produce(qp, record);
	}
	if (mode != MLX5SW_DOORBELLS_DBR)
		produce(qp, index);
	if (qp->has_no_dbr || !is_late(qp, index))
		r->last_index = index;
	r->is_rung = 1;
	r->is_record_due = 1;
	mlx5swi_qp_wake(qp);
}

uint8_t mlx5swi_n_wqebbs(const uint8_t *wqe)
{
	const uint32_t ds = wqe[7] & 0x3f;

	return (uint8_t)(ds ? (ds + 3) / 4 : 1);
}

/* Bytes of the WQEBBs from index to end, up to the end of the ring. */
static size_t run_of(const mlx5swi_qp_t *qp, uint16_t index, uint16_t end)
{
	const size_t room = qp->sq_wqebbs * MLX5SWI_WQEBB - mlx5swi_wqebb_offset(qp, index);
	const size_t nbytes = (size_t)(uint16_t)(end - index) * MLX5SWI_WQEBB;

	return nbytes < room ? nbytes : room;
}

void mlx5swi_load_wqebb(mlx5swi_qp_t *qp, uint8_t *dst, uint16_t index, uint16_t end)
{
	mlx5swi_queue_load(qp->ring_is_gpu, dst, qp->sq + mlx5swi_wqebb_offset(qp, index),
			   MLX5SWI_WQEBB, run_of(qp, index, end), MLX5SW_WQE);
}

static uint8_t *shadow(const mlx5swi_qp_t *qp, uint16_t index)
{
	return qp->requester->shadow + mlx5swi_wqebb_offset(qp, index);
}

void mlx5swi_requester_blueflame(mlx5swi_qp_t *qp, uint16_t index, const uint64_t words[8])
{
	struct mlx5swi_requester *r = qp->requester;

	memcpy(r->blueflame, words, sizeof(r->blueflame));
	r->blueflame_index = index;
	r->has_blueflame = 1;
}

static void load_first(mlx5swi_qp_t *qp, uint8_t *dst, uint16_t index)
{
	struct mlx5swi_requester *r = qp->requester;

	if (r->has_blueflame && r->blueflame_index == index)
		memcpy(dst, r->blueflame, MLX5SWI_WQEBB);
	else
		mlx5swi_load_wqebb(qp, dst, index, r->pi);
	r->has_blueflame = 0;
}

/* Fetch one WQE. Returns false if there is no room. */
static bool fetch_one(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint16_t index = r->fetch, used = (uint16_t)(index - r->done);
	uint8_t *first = shadow(qp, index), n, is_too_long;

	if (used == qp->sq_wqebbs)
		return false;
	load_first(qp, first, index);
	n = mlx5swi_n_wqebbs(first);
	is_too_long = n > qp->sq_wqebbs;
	if (is_too_long)
		n = (uint8_t)qp->sq_wqebbs;
	if (used + n > (int)qp->sq_wqebbs)
		return false;
	for (uint8_t i = 1; i < n; i++) {
		const uint16_t next = (uint16_t)(index + i);

		mlx5swi_load_wqebb(qp, shadow(qp, next), next, r->pi);
	}
	r->fetch = (uint16_t)(index + n);
	if (n > (uint16_t)(r->pi - index)) {
		mlx5swi_lint("W2", qp, index, "its ds is that of %u WQEBBs, %u were produced", n,
			     (uint16_t)(r->pi - index));
		r->pi = r->fetch;
	}
	*mlx5swi_entry(qp, r->fetched++) = (mlx5swi_entry_t){
		.index = index,
		.n_wqebbs = n,
		.opcode = first[3],
		.syndrome = is_too_long ? MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR : 0,
		.is_signalled = (first[11] >> 2 & 3) >= 2,
	};
	qp->counters.wqes++;
	qp->counters.wqebbs += n;
	return true;
}

/* The device may read the record again before it fetches or sleeps, or skip that. A record in
 * GPU memory costs a copy: read it again once after each doorbell, when all WQEs known so far
 * are complete, and not when packets wake an idle queue. */
static bool may_read_again(mlx5swi_qp_t *qp)
{
	struct mlx5swi_requester *r = qp->requester;

	if (!r->is_rung || qp->has_no_dbr || mlx5swi_w->cfg.doorbells != MLX5SW_DOORBELLS_HYBRID ||
	    (r->fetch == r->pi && r->head != r->fetched) ||
	    (mlx5swi_has_chaos(MLX5SW_CHAOS_FETCH) && mlx5swi_choose(2)))
		return false;
	if (!qp->dbr_is_gpu)
		return true;
	if (r->fetch != r->pi || !r->is_record_due)
		return false;
	r->is_record_due = 0;
	return true;
}

unsigned mlx5swi_fetch(mlx5swi_qp_t *qp)
{
	const struct mlx5swi_requester *r = qp->requester;
	const int is_late = mlx5swi_has_chaos(MLX5SW_CHAOS_FETCH);
	unsigned n = 0;

	if (may_read_again(qp))
		produce(qp, mlx5swi_record(qp));
	while (r->fetch != r->pi && (!is_late || r->fresh == r->fetched) && fetch_one(qp))
		n++;
	mlx5swi_payload_forget();
	return n;
}

int mlx5swi_decode(mlx5swi_qp_t *qp, uint32_t number, const char **row, const char **text)
{
	struct mlx5swi_requester *r = qp->requester;
	const uint16_t index = mlx5swi_entry(qp, number)->index;
	const uint8_t *p = shadow(qp, index);
	const uint32_t n = mlx5swi_n_wqebbs(p);

	if ((index & (qp->sq_wqebbs - 1)) + n > qp->sq_wqebbs) {
		if (mlx5swi_is_unlike(MLX5SW_UNLIKE_WQE_WRAP))
			return MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
		for (uint32_t i = 0; i < n; i++)
			memcpy(r->linear + i * MLX5SWI_WQEBB, shadow(qp, (uint16_t)(index + i)),
			       MLX5SWI_WQEBB);
		p = r->linear;
	}
	r->decoded = number;
	return mlx5swi_wqe_decode(p, &r->wqe, row, text);
}

static void check_wqebb(const mlx5swi_qp_t *qp, uint16_t index, const uint8_t *now,
			const char *when)
{
	const uint8_t *then = shadow(qp, index);

	if (memcmp(now, then, MLX5SWI_WQEBB) == 0)
		return;
	for (uint32_t i = 0; i < MLX5SWI_WQEBB; i++)
		if (now[i] != then[i]) {
			mlx5swi_lint("R1", qp, index,
				     "byte %u was 0x%02x when the WQEBB was "
				     "fetched, and is 0x%02x when %s",
				     i, then[i], now[i], when);
			return;
		}
}

void mlx5swi_compare(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e)
{
	uint8_t now[MLX5SWI_WQEBB];

	for (uint8_t i = 0; i < e->n_wqebbs; i++) {
		const uint16_t index = (uint16_t)(e->index + i);

		mlx5swi_load_wqebb(qp, now, index, qp->requester->fetch);
		check_wqebb(qp, index, now, "it is complete");
	}
}

/* Fetch the WQE again; its current content is then sent. It must be the same operation with as many
 * bytes. */
void mlx5swi_fetch_again(mlx5swi_qp_t *qp, uint32_t number)
{
	mlx5swi_entry_t *e = mlx5swi_entry(qp, number);
	const mlx5swi_wqe_t *w = &qp->requester->wqe;

	for (uint8_t i = 0; i < e->n_wqebbs; i++) {
		const uint16_t index = (uint16_t)(e->index + i);
		uint8_t now[MLX5SWI_WQEBB];

		mlx5swi_load_wqebb(qp, now, index, index);
		check_wqebb(qp, index, now, "it is fetched again");
		memcpy(shadow(qp, index), now, sizeof(now));
	}
	if (mlx5swi_decode(qp, number, NULL, NULL) || w->opcode != e->opcode ||
	    w->nbytes != e->nbytes)
		e->syndrome = MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR;
}
