/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue of a QP: private to requester.c, fetch.c, begin.c, send.c, answer.c and flush.c,
 * but that doorbell.c reads last_index and is_rung, and calls mlx5swi_record and
 * mlx5swi_requester_blueflame. doorbell.c and cqe.c use mlx5swi_has_chaos, wqe.c uses
 * MLX5SWI_OPCODE_DUMP.
 *
 * WQEs are numbered from 0 after reset, in ring order; head <= acked <= at <= fresh <= fetched:
 *   head     the first that is not complete
 *   acked    the first that is not fully acknowledged
 *   at       the next to send; before fresh: it has begun, and its other packets follow, or it
 *            is sent again
 *   fresh    the first that has not begun
 *   fetched  the first that is not fetched
 * WQEBBs are counted as in doorbells, modulo 2^16. */
#ifndef MLX5SW_REQUESTER_H
#define MLX5SW_REQUESTER_H

#include "mlx5sw/engine/engine.h"
#include "mlx5sw/engine/faults.h"

#define MLX5SWI_OPCODE_DUMP 0x23 /* rdma-core's headers do not name it */
#define MLX5SWI_VENDOR_FLUSH 0xf9
#define MLX5SWI_VENDOR_2ERR 0xf5 /* the first flushed WQE after a local 2ERR */

/* A WQE that was fetched and is not complete. */
typedef struct mlx5swi_entry {
	uint16_t index; /* index of its first WQEBB */
	uint8_t n_wqebbs, opcode;
	/* returns_data: a READ or an atomic: an ACK does not complete it */
	uint8_t is_signalled, returns_data;
	uint8_t syndrome, vendor; /* its CQE, when all earlier WQEs are complete */
	uint32_t psn, n_psns;     /* assigned when it begins */
	uint32_t nbytes;
} mlx5swi_entry_t;

struct mlx5swi_requester {
	uint32_t head, acked, at, fresh, fetched;
	uint16_t done, fetch, pi; /* WQEBB indexes: completed, fetched, produced */
	uint16_t reported;        /* index after the last completed WQE that asked for a CQE */
	/* Of the last doorbell in RTS, if is_rung. With a record, a doorbell that is behind the one
	 * before does not change last_index. In ERR each doorbell sets last_index. */
	uint16_t last_index, last_record;
	uint8_t is_rung;
	uint8_t is_record_due;   /* a record in GPU memory: read it once more after a doorbell */
	uint8_t cause, vendor;   /* ERR: content of the next CQE */
	uint32_t packet;         /* the next packet of WQE `at` */
	uint32_t una, end, next; /* PSNs: not acknowledged, not sent, not assigned */
	uint32_t n_reads;        /* READs and atomics in flight */
	uint32_t ssn;            /* messages begun */
	uint8_t retries, rnr, n_quick; /* remaining attempts */
	uint8_t has_gap;               /* una is being sent again: a response showed its loss */
	uint8_t is_timer_old;          /* there was progress, or a new packet is in flight */
	uint8_t has_consulted_faults; /* the fault rules were consulted for the CQE of head, once */
	uint64_t deadline;            /* timeout of una; UINT64_MAX: no timer */
	uint64_t wait;                /* receiver not ready: send nothing until then; or 0 */
	uint64_t flush_due;           /* ERR: time of the next flush */
	uint64_t cqe_due;             /* a fault delays the CQE of head until then; or 0 */
	uint32_t decoded;             /* number of the WQE that is decoded in wqe */
	uint8_t has_blueflame;
	uint16_t blueflame_index;
	uint8_t blueflame[MLX5SWI_WQEBB]; /* a WQEBB that came with its doorbell */
	mlx5swi_wqe_t wqe;
	uint8_t linear[MLX5SWI_MAX_WQE]; /* contiguous copy of a WQE that wraps */
	uint8_t *shadow;                 /* copy of the ring as the device has fetched it */
	mlx5swi_entry_t entries[];       /* [number % WQEBBs of the queue] */
};

static inline mlx5swi_entry_t *mlx5swi_entry(const mlx5swi_qp_t *qp, uint32_t number)
{
	return &qp->requester->entries[number & (qp->sq_wqebbs - 1)];
}

static inline size_t mlx5swi_wqebb_offset(const mlx5swi_qp_t *qp, uint16_t index)
{
	return (size_t)(index & (qp->sq_wqebbs - 1)) * MLX5SWI_WQEBB;
}

static inline bool mlx5swi_has_chaos(uint32_t bit)
{
	return (mlx5swi_w->cfg.chaos & bit) != 0;
}

static inline uint32_t mlx5swi_mtu(const mlx5swi_qp_t *qp)
{
	return 128u << qp->attr.mtu;
}

/* fetch.c */
/* Store WQEBB index as it came through the register: it need not be read from memory. */
void mlx5swi_requester_blueflame(mlx5swi_qp_t *qp, uint16_t index, const uint64_t words[8]);
/* word 1 of the doorbell record; without a record, the index of the latest doorbell */
uint16_t mlx5swi_record(const mlx5swi_qp_t *qp);
uint8_t mlx5swi_n_wqebbs(const uint8_t *wqe); /* number of WQEBBs by its ds, at least 1 */
/* Load a WQEBB from the ring. One copy may load all WQEBBs up to end (mlx5swi_queue_load); end ==
 * index: only this one, without reuse. */
void mlx5swi_load_wqebb(mlx5swi_qp_t *qp, uint8_t *dst, uint16_t index, uint16_t end);
unsigned mlx5swi_fetch(mlx5swi_qp_t *qp);
void mlx5swi_fetch_again(mlx5swi_qp_t *qp, uint32_t number); /* before the WQE is sent again */
/* compare with what was fetched */
void mlx5swi_compare(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e);
/* Decode the WQE. Returns its syndrome. */
int mlx5swi_decode(mlx5swi_qp_t *qp, uint32_t number, const char **row, const char **text);

/* begin.c: begin the first WQE that has not begun. Returns false if it must wait, has failed (its
 * entry then has the syndrome), or a fault has stopped the QP. */
bool mlx5swi_begin(mlx5swi_qp_t *qp);
void mlx5swi_key_failed(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_sge_t *sge, int error);
void mlx5swi_access_refused(mlx5swi_qp_t *qp, uint32_t number); /* lint: report the likely cause */

/* send.c */
bool mlx5swi_may_send(const mlx5swi_qp_t *qp);
unsigned mlx5swi_send(mlx5swi_qp_t *qp, unsigned limit); /* at most limit packets */
void mlx5swi_go_back(mlx5swi_qp_t *qp);                  /* send again from una on */

/* answer.c */
void mlx5swi_progress(mlx5swi_qp_t *qp);   /* make all retries available again */
void mlx5swi_skip_local(mlx5swi_qp_t *qp); /* advance acked over WQEs that need no response */
void mlx5swi_restart_timer(mlx5swi_qp_t *qp);
unsigned mlx5swi_timeout(mlx5swi_qp_t *qp);

/* flush.c */
void mlx5swi_enter_error(mlx5swi_qp_t *qp);
void mlx5swi_flush_again(mlx5swi_qp_t *qp); /* called for a doorbell in ERR */
unsigned mlx5swi_flush(mlx5swi_qp_t *qp, unsigned limit);

#endif
