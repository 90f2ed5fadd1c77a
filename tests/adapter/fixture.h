/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Fabrics with connected queue pairs for tests of the adapter, and the software side of a queue:
 * WQEs, doorbells, completions. Time is a number that a test advances.
 *
 * WQEs are built here from the tables of the PRM, byte by byte: no code is shared with the adapter
 * or the library. */
#ifndef ADAPTER_FIXTURE_H
#define ADAPTER_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "mlx5sw/control/control.h"
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/events/events.h"

/* WQE opcodes, control flags, and completions, by the PRM. */
enum { OP_NOP = 0x00, OP_WRITE = 0x08, OP_WRITE_IMM = 0x09, OP_READ = 0x10, OP_CS = 0x11 };
enum { OP_FA = 0x12, OP_MASKED_CS = 0x14, OP_MASKED_FA = 0x15, OP_DUMP = 0x23, OP_UMR = 0x25 };
enum { SIGNALLED = 0x08, SOLICITED = 0x02, FENCED = 0x40 };
enum { CQE_REQ = 0, CQE_REQ_ERR = 13, CQE_INVALID = 15 };

/* The parts of an end that are in GPU memory (cuda/fake_cuda.h). The pointers below are then those
 * of a kernel; the adapter has other addresses for the same memory. */
enum { GPU_RING = 1, GPU_RECORD = 2, GPU_CQ = 4, GPU_CQ_RECORD = 8, GPU_DATA = 16, GPU_ALL = 31 };

/* How an end is created. Zero selects the value in the comment. */
typedef struct adapter_spec {
	uint32_t host, device;
	uint32_t sq_wqebbs;  /* 64 */
	uint32_t cq_entries; /* 64 */
	uint32_t rq_wqes;    /* none; of 16 bytes */
	uint8_t is_collapsed, minds_overrun, has_no_dbr, is_signed;
	uint8_t access; /* access flags of the MR; all */
	/* GPU_ bits; none, or all if ADAPTER_CUDA is in the environment */
	uint8_t in_gpu;
	struct adapter_end *with; /* shares its context, PD, CQ and memory */
	uint8_t is_rung_with;     /* shares its doorbell register, too */
} adapter_spec_t;

#define ADAPTER_NBYTES 65536u /* bytes of an end's memory */

/* A queue pair with its objects and memory. */
typedef struct adapter_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct mlx5dv_devx_uar *uar;
	mlx5swi_cq_t *cq;
	mlx5swi_qp_t *qp;
	uint8_t *sq, *rq, *cqes;
	uint32_t *dbr, *cq_dbr; /* in network byte order */
	uint32_t sq_wqebbs, cq_entries;
	uint8_t *memory; /* registered; the key's addresses are those of the adapter */
	struct ibv_mr *mr;
	uint16_t pi; /* index of the next WQEBB */
	uint32_t ci; /* index of the next completion */
} adapter_end_t;

/* Two hosts with one device each, FAST, strict, without random behaviour. */
mlx5sw_config_t adapter_config(void);
void adapter_start(const mlx5sw_config_t *cfg); /* NULL: adapter_config */
void adapter_stop(void);                        /* also frees all ends */
extern uint64_t adapter_clock;                  /* nanoseconds */
extern uint64_t adapter_seed;                   /* seed of random choices; adapter_start sets 1 */

void adapter_make(adapter_end_t *e, const adapter_spec_t *spec); /* in RESET */
void adapter_init(adapter_end_t *e);                             /* to INIT, all rights */
/* The attributes that RTR and RTS require, for a test to change; adapter_modify takes them to RTS.
 */
mlx5swi_qp_attr_t adapter_attr(const adapter_end_t *e, const adapter_end_t *peer);
void adapter_modify(adapter_end_t *e, const mlx5swi_qp_attr_t *attr);
/* connect both directions; a == b: with itself */
void adapter_connect(adapter_end_t *a, adapter_end_t *b);
void adapter_pair(adapter_end_t *a, adapter_end_t *b); /* of hosts 0 and 1, connected */
void adapter_reset(adapter_end_t *e);                  /* 2RST; zeroes the records */
void adapter_error(adapter_end_t *e);                  /* 2ERR */

/* A WQE under construction. */
typedef struct adapter_wqe {
	uint8_t bytes[1024];
	uint32_t ds; /* number of segments so far */
} adapter_wqe_t;

void adapter_control(adapter_wqe_t *w, const adapter_end_t *e, uint8_t opcode, uint8_t opmod,
		     uint8_t flags);
void adapter_remote(adapter_wqe_t *w, uint64_t raddr, uint32_t rkey);
void adapter_data(adapter_wqe_t *w, uint32_t nbytes, uint32_t lkey, uint64_t addr);
void adapter_inline(adapter_wqe_t *w, const void *src, uint32_t nbytes);
void adapter_operands(adapter_wqe_t *w, const uint64_t *operands, uint32_t n, uint32_t width);
void adapter_set_ds(adapter_wqe_t *w, uint32_t ds); /* set another ds than the actual one */
/* Store the WQE in the ring with its ds. Returns the index of its first WQEBB. */
uint16_t adapter_post(adapter_end_t *e, adapter_wqe_t *w);

/* Common operations: local memory at `from`, remote memory at `to`; both are offsets. */
uint16_t adapter_write(adapter_end_t *e, const adapter_end_t *peer, uint32_t from, uint32_t to,
		       uint32_t nbytes, uint8_t flags);
uint16_t adapter_write_inline(adapter_end_t *e, const adapter_end_t *peer, uint32_t to,
			      const void *src, uint32_t nbytes, uint8_t flags);
uint16_t adapter_read(adapter_end_t *e, const adapter_end_t *peer, uint32_t to_local,
		      uint32_t from_remote, uint32_t nbytes, uint8_t flags);
/* width: 4 or 8; operands as in the WQE; the old value is written to local memory at `to_local`. */
uint16_t adapter_atomic(adapter_end_t *e, const adapter_end_t *peer, uint8_t opcode, uint32_t width,
			const uint64_t *operands, uint32_t to_local, uint32_t remote,
			uint8_t flags);
uint16_t adapter_nop(adapter_end_t *e, uint8_t flags);

/* Doorbells. */
void adapter_record(adapter_end_t *e, uint16_t index);   /* the doorbell record */
void adapter_doorbell(adapter_end_t *e, uint16_t index); /* the register */
void adapter_ring(adapter_end_t *e);                     /* both, for everything that was posted */
void adapter_register(uint8_t *page, uint32_t offset, uint32_t first, uint32_t second);

void adapter_step(void); /* step until the devices have no work; the clock does not advance */
void adapter_idle(void); /* step until the devices have no work and no timer runs */

/* A completion: the next one of a ring, or the current one of a collapsed CQ. */
typedef struct adapter_cqe {
	uint8_t opcode, wqe_opcode, syndrome, vendor, owner;
	uint16_t counter;
	uint32_t qpn, user_index, nbytes, imm;
} adapter_cqe_t;
adapter_cqe_t adapter_slot(const adapter_end_t *e, uint32_t slot);
/* returns 1 if it has polled a completion */
int adapter_poll(adapter_end_t *e, adapter_cqe_t *cqe);

/* Check that the next completion has these fields. */
void adapter_expect(adapter_end_t *e, uint16_t counter, uint8_t wqe_opcode);
void adapter_expect_error(adapter_end_t *e, uint16_t counter, uint8_t syndrome, uint8_t vendor);
void adapter_expect_none(adapter_end_t *e);

/* Add a rule for packets of all hosts: mlx5swi_fault; bits 1 << mlx5swi_kind, 0: all. */
void adapter_packets(int fault, uint32_t kinds, uint64_t after, uint64_t left);
void adapter_release(void); /* remove all rules and send the held packets */

int adapter_reported(const char *row); /* number of queues with a report of this lint row */
void adapter_expect_clean(void);       /* lint has no reports */
mlx5swi_send_state_t adapter_send_state(const adapter_end_t *e);

#endif
