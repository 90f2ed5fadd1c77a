/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The send queue of a QP: private to requester.c, fetch.c, begin.c, send.c, answer.c and flush.c.
 *
 * WQEs are numbered from 0 after reset, in ring order; head <= acked <= at <= fresh <= fetched:
 *   head     the first that is not complete
 *   acked    the first of which something is not acknowledged
 *   at       is sent next; if it is before fresh: again
 *   fresh    the first that was not begun
 *   fetched  the first that was not fetched
 * Blocks are counted as in doorbells, modulo 2^16. */
#ifndef MLX5SW_REQUESTER_H
#define MLX5SW_REQUESTER_H

#include "mlx5sw/engine/engine.h"
#include "mlx5sw/engine/faults.h"

#define MLX5SWI_OPCODE_DUMP 0x23 /* rdma-core's headers do not name it */
#define MLX5SWI_VENDOR_FLUSH 0xf9
#define MLX5SWI_VENDOR_2ERR 0xf5 /* the first flush after a local 2ERR */

/* A WQE that was fetched and is not complete. */
typedef struct mlx5swi_entry {
	uint16_t index; /* of its first block */
	uint8_t n_blocks, opcode;
	uint8_t is_signalled, is_answered; /* is_answered: by data, an ACK is not enough */
	uint8_t syndrome, vendor;          /* it fails so, when all before it are complete */
	uint32_t psn, n_psns;              /* from when it is begun */
	uint32_t nbytes;
} mlx5swi_entry_t;

struct mlx5swi_requester {
	uint32_t head, acked, at, fresh, fetched;
	uint16_t done, fetch, pi;         /* blocks: completed, fetched, produced */
	uint16_t told;                    /* blocks: the last completion told of those before */
	uint16_t last_index, last_record; /* of doorbells, if it is_rung */
	uint8_t is_rung;
	uint8_t is_record_due;   /* of a record in GPU memory: one more look after a doorbell */
	uint8_t cause, vendor;   /* ERR: what the next completion says */
	uint32_t packet;         /* of WQE `at`: its next */
	uint32_t una, end, next; /* PSN: not acknowledged, not sent, not assigned */
	uint32_t n_reads;        /* READs and atomics in flight */
	uint32_t ssn;            /* messages begun */
	uint8_t retries, rnr, n_quick; /* left */
	uint8_t has_gap;               /* una is being sent again: an answer showed it lost */
	uint8_t is_timer_old;          /* progress, or something new in flight */
	uint8_t is_cqe_asked;          /* faults know of the completion of head */
	uint64_t deadline;             /* for una; UINT64_MAX: no timer */
	uint64_t wait;                 /* receiver not ready: nothing is sent until then; or 0 */
	uint64_t flush_due;            /* ERR: the next flush */
	uint64_t cqe_due;              /* a fault delays the completion of head; or 0 */
	uint32_t decoded;              /* number of the WQE in wqe */
	uint8_t has_blueflame;
	uint16_t blueflame_index;
	uint8_t blueflame[MLX5SWI_BLOCK]; /* a block that came with its doorbell */
	mlx5swi_wqe_t wqe;
	uint8_t linear[MLX5SWI_MAX_WQE]; /* a WQE that wraps, in one piece */
	uint8_t *shadow;                 /* what the device has fetched; as the ring */
	mlx5swi_entry_t entries[];       /* [number % blocks of the queue] */
};

static inline mlx5swi_entry_t *mlx5swi_entry(const mlx5swi_qp_t *qp, uint32_t number)
{
	return &qp->requester->entries[number & (qp->sq_blocks - 1)];
}

static inline size_t mlx5swi_block_offset(const mlx5swi_qp_t *qp, uint16_t index)
{
	return (size_t)(index & (qp->sq_blocks - 1)) * MLX5SWI_BLOCK;
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
/* Block index as it came through the register: it need not be read from memory. */
void mlx5swi_requester_blueflame(mlx5swi_qp_t *qp, uint16_t index, const uint64_t words[8]);
uint16_t mlx5swi_record(const mlx5swi_qp_t *qp); /* word 1 of the doorbell record */
uint8_t mlx5swi_n_blocks(const uint8_t *wqe);    /* by its ds, at least 1 */
/* A block as it is in the ring. One copy may load all blocks from there to end
 * (mlx5swi_queue_load); end == index: this one alone, now. */
void mlx5swi_load_block(mlx5swi_qp_t *qp, uint8_t *dst, uint16_t index, uint16_t end);
unsigned mlx5swi_fetch(mlx5swi_qp_t *qp);
void mlx5swi_fetch_again(mlx5swi_qp_t *qp, uint32_t number);      /* before it is sent again */
void mlx5swi_compare(mlx5swi_qp_t *qp, const mlx5swi_entry_t *e); /* with what was fetched */
/* The decoded WQE; its syndrome. */
int mlx5swi_decode(mlx5swi_qp_t *qp, uint32_t number, const char **row, const char **text);

/* begin.c: the first WQE that was not begun. 0: not now, or never: then its entry says why. */
bool mlx5swi_begin(mlx5swi_qp_t *qp);
void mlx5swi_key_failed(mlx5swi_qp_t *qp, mlx5swi_entry_t *e, const mlx5swi_sge_t *sge, int error);
void mlx5swi_access_refused(mlx5swi_qp_t *qp, uint32_t number); /* lint: why perhaps */

/* send.c */
bool mlx5swi_may_send(const mlx5swi_qp_t *qp);
unsigned mlx5swi_send(mlx5swi_qp_t *qp, unsigned limit); /* so many packets */
void mlx5swi_go_back(mlx5swi_qp_t *qp);                  /* to una */

/* answer.c */
void mlx5swi_progress(mlx5swi_qp_t *qp);   /* all retries are available again */
void mlx5swi_skip_local(mlx5swi_qp_t *qp); /* acked moves over what needs no answer */
void mlx5swi_restart_timer(mlx5swi_qp_t *qp);
unsigned mlx5swi_timeout(mlx5swi_qp_t *qp);

/* flush.c */
void mlx5swi_enter_error(mlx5swi_qp_t *qp);
void mlx5swi_flush_again(mlx5swi_qp_t *qp); /* a doorbell in ERR */
unsigned mlx5swi_flush(mlx5swi_qp_t *qp, unsigned limit);

#endif
