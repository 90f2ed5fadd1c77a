/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The parts of the device model, file by file. */
#ifndef MLX5SW_ENGINE_H
#define MLX5SW_ENGINE_H

#include "mlx5sw/engine/packet.h"

/* memory.c: keys and payload. */
enum mlx5swi_key_error {
	MLX5SWI_KEY_OK,
	MLX5SWI_KEY_UNKNOWN, /* unknown, of another PD, or its memory was lost */
	MLX5SWI_KEY_RANGE,
	MLX5SWI_KEY_RIGHTS,
};
/* Look up [va, va + nbytes) by a key, for a QP's PD. rights: IBV_ACCESS_ bits, all of which are
 * required; 0: local read. *p: the address in this process. */
int mlx5swi_key_check(mlx5swi_device_t *dev, const mlx5swi_pd_t *pd, uint32_t key, uint64_t va,
		      uint64_t nbytes, uint32_t rights, mlx5swi_mr_t **mr, uint8_t **p);
/* access: MLX5SW_GATHER or MLX5SW_PAYLOAD. ahead: this turn needs so many bytes of the region from
 * p on. GPU memory is read with one copy, which later calls use until mlx5swi_payload_forget. */
void mlx5swi_payload_read(const mlx5swi_mr_t *mr, void *dst, const uint8_t *p, size_t nbytes,
			  size_t ahead, int access);
void mlx5swi_payload_forget(void);
/* Written payload is in memory after mlx5swi_payload_flush, and may be earlier. */
void mlx5swi_payload_flush(void);
void mlx5swi_payload_write(const mlx5swi_mr_t *mr, uint8_t *p, const void *src, size_t nbytes);

/* Words of atomics, 4 or 8 bytes, in host byte order. */
uint64_t mlx5swi_word_read(const mlx5swi_mr_t *mr, const uint8_t *p, uint8_t width);
void mlx5swi_word_write(const mlx5swi_mr_t *mr, uint8_t *p, uint8_t width, uint64_t value);

/* gpu.c: returns whether p is GPU memory that the adapter can copy (mr->is_gpu). Call it at
 * registration: it allocates what copies need, which a kernel that runs later may block. */
bool mlx5swi_is_gpu(const void *p);

/* memory.c: rings, completion queues and doorbell records. is_gpu: they lie in GPU memory, and the
 * adapter copies them; otherwise the hooks load and store them.
 *
 * A load from GPU memory starts its copy when it is called, so after the adapter has taken the
 * doorbell that announces the bytes. ahead: one copy reads so many bytes from src on, and loads
 * that follow use them until the caller calls mlx5swi_payload_forget, which it does before it
 * returns. Software must not write to these bytes meanwhile. 0: read nbytes, keep nothing. Memory
 * that was freed reads as zeros.
 *
 * A store begins when the bytes of all earlier stores are in memory, payload included. An aligned
 * store of 8 bytes becomes visible at once: a CQE's last word is one, and this is all that CQEs in
 * GPU memory rely on. (Copy engines were measured never to tear 64 aligned bytes.) */
void mlx5swi_queue_load(int is_gpu, void *dst, const void *src, size_t nbytes, size_t ahead,
			int access);
void mlx5swi_queue_store(int is_gpu, void *dst, const void *src, size_t nbytes, int access);

/* wqe.c: decoding of WQEs, without side effects. */
typedef struct mlx5swi_sge {
	uint32_t nbytes, lkey;
	uint64_t addr;
} mlx5swi_sge_t;

#define MLX5SWI_MAX_SGE 62

typedef struct mlx5swi_wqe {
	uint8_t opcode, opmod, ds, ce, fm, is_solicited;
	uint16_t index; /* the index field, which the device does not use to execute */
	uint32_t qpn, imm;
	uint64_t raddr;
	uint32_t rkey;
	uint32_t nbytes;        /* bytes of the message */
	const uint8_t *inlined; /* NULL: the data is gathered from sge */
	uint8_t n_sge, width;   /* width of an atomic: 4 or 8 */
	uint64_t operands[4];   /* host byte order, as in a packet */
	mlx5swi_sge_t sge[MLX5SWI_MAX_SGE];
} mlx5swi_wqe_t;

/* Decode the WQE of ds * 16 bytes at p. Returns 0 or the syndrome of its CQE: a WQE whose ds is not
 * exactly what its operation needs (NOP: any but 0) is malformed. row: NULL, or receives the lint
 * row ("W1" for example), and *text what was expected. */
int mlx5swi_wqe_decode(const uint8_t *p, mlx5swi_wqe_t *w, const char **row, const char **text);

/* Masked and plain atomics. Returns the new value; old is the current one. No side effects. */
uint64_t mlx5swi_atomic(uint8_t opcode, uint8_t width, const uint64_t operands[4], uint64_t old);

/* requester.c, fetch.c, flush.c: the send queue of a QP. */
struct mlx5swi_requester *mlx5swi_requester_new(mlx5swi_qp_t *qp);
void mlx5swi_requester_free(mlx5swi_qp_t *qp);
void mlx5swi_requester_reset(mlx5swi_qp_t *qp); /* 2RST: sets the counters to cfg.start_index */
void mlx5swi_requester_state(mlx5swi_qp_t *qp); /* qp->state has changed: RTS, ERR */
void mlx5swi_requester_doorbell(mlx5swi_qp_t *qp, uint16_t index);
void mlx5swi_requester_packet(mlx5swi_qp_t *qp, mlx5swi_packet_t *p); /* a response */
/* Fetch, send, complete, flush and retry: one turn, of at most 64 packets or flushes. Returns the
 * amount of work done. */
unsigned mlx5swi_requester_run(mlx5swi_qp_t *qp);
uint64_t mlx5swi_requester_deadline(const mlx5swi_qp_t *qp); /* UINT64_MAX: none */
/* lint: reports that a WQE still needs the MR */
void mlx5swi_requester_mr_ends(mlx5swi_qp_t *qp, uint32_t key);
/* let the next run write the completion that a fault delays; returns 1, or 0: there is none */
unsigned mlx5swi_requester_release(mlx5swi_qp_t *qp);
typedef struct mlx5swi_send_state {
	uint16_t hw_counter, sw_counter; /* hw_sq_wqebb_counter, sw_sq_wqebb_counter */
	uint32_t next_send_psn, last_acked_psn, ssn;
	uint8_t retries_left, rnr_left;
} mlx5swi_send_state_t;
void mlx5swi_requester_query(const mlx5swi_qp_t *qp, mlx5swi_send_state_t *s);

/* Move the QP to ERR. The first WQE that is not complete gets this syndrome and vendor code. A
 * syndrome of 0 is a local 2ERR. */
void mlx5swi_qp_error(mlx5swi_qp_t *qp, uint8_t syndrome, uint8_t vendor);

/* responder.c: requests from the peer. */
struct mlx5swi_responder *mlx5swi_responder_new(mlx5swi_qp_t *qp);
void mlx5swi_responder_free(mlx5swi_qp_t *qp);
void mlx5swi_responder_reset(mlx5swi_qp_t *qp);
/* qp->state has changed: RTR: take next_rcv_psn and log_rra_max; ERR: drop responses, flush
 * receives */
void mlx5swi_responder_state(mlx5swi_qp_t *qp);
void mlx5swi_responder_packet(mlx5swi_qp_t *qp, mlx5swi_packet_t *p); /* a request */
/* Responses of READs and atomics, gathered ACKs, delayed placement. Returns the amount of work. */
unsigned mlx5swi_responder_run(mlx5swi_qp_t *qp);
uint64_t mlx5swi_responder_deadline(const mlx5swi_qp_t *qp);
typedef struct mlx5swi_receive_state {
	uint32_t next_rcv_psn, rmsn;
} mlx5swi_receive_state_t;
void mlx5swi_responder_query(const mlx5swi_qp_t *qp, mlx5swi_receive_state_t *s);

/* cqe.c: completions. */
typedef struct mlx5swi_cqe {
	uint8_t opcode;     /* 0 requester, 1 write with immediate, 13 and 14 errors */
	uint8_t wqe_opcode; /* byte 56 */
	uint8_t syndrome, vendor;
	uint16_t wqe_counter;
	uint32_t qpn, user_index, nbytes, imm;
} mlx5swi_cqe_t;
void mlx5swi_cqe_write(mlx5swi_cq_t *cq, mlx5swi_qp_t *qp, const mlx5swi_cqe_t *cqe);

/* Store the accepted WRITEs of all queue pairs to memory, and the pending half of an atomic: before
 * an MR is destroyed, and before some reads (responder.c). Does nothing when the world ends. */
void mlx5swi_place_all(mlx5swi_device_t *dev);

/* step.c, thread.c: scheduling. */
int mlx5swi_engine_start(void);                     /* world->engine; 0 or ENOMEM */
void mlx5swi_engine_stop(void);                     /* also frees the packets */
void mlx5swi_qp_wake(mlx5swi_qp_t *qp);             /* the QP has work */
void mlx5swi_qp_forget(mlx5swi_qp_t *qp);           /* the QP will be freed */
void mlx5swi_doorbells_poll(mlx5swi_device_t *dev); /* doorbell.c */
void mlx5swi_doorbells_take(mlx5swi_uar_t *uar);    /* those of one page */
int mlx5swi_thread_start(void);
void mlx5swi_thread_stop(void);

/* Links between processes, implemented by link/. */
/* As MLX5SW_FABRIC selects: sets the places of this process. 0 or an errno value. */
int mlx5swi_links_open(void);
void mlx5swi_links_close(void);
unsigned mlx5swi_links_poll(void); /* packets that have arrived are passed to mlx5swi_port_arrive */

#endif
