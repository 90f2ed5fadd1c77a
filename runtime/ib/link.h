/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One link on any open port (link->port): create its queues, move its queue pair from state to
 * state, ask what it has done. The caller has allocated and registered the memory. A function that
 * fails leaves its line in err, if it takes one. */
#ifndef SHMEMHI_IB_LINK_H
#define SHMEMHI_IB_LINK_H

#include <stdbool.h>
#include "base/options.h"
#include "ib/connect.h"

/* Where the memory of a link is registered, and how its queues use it. */
typedef struct shmemhi_link_mem {
	const struct mlx5dv_devx_umem *queue, *records;
	uint64_t queue_offset;   /* of the send queue; the CQEs follow (SHMEMD_QUEUE_CQES_OFFSET) */
	uint64_t records_offset; /* of its record; that of the CQ is RECORD_STRIDE bytes on */
	uint32_t depth;          /* WQEBBs and CQEs, a power of two */
	uint32_t user_index;
	int has_no_record;
	int is_collapsed; /* every CQE is written to the first place: self-test only */
} shmemhi_link_mem_t;

/* Create the completion queue, then the queue pair; sets cq, cqn, qp, qpn.
 * Returns  SHMEMH_OK; ERR_NIC. */
int shmemhi_link_create_cq(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link,
			   const shmemhi_link_mem_t *mem, shmemhi_err_t *err);
int shmemhi_link_create_qp(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link,
			   const shmemhi_link_mem_t *mem, shmemhi_err_t *err);

/* RESET to INIT: sets port, RRE, RWE, RAE and atomic mode. Requests are executed from RTR on. */
int shmemhi_link_to_init(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
			 shmemhi_err_t *err);

/* INIT to RTR: requests of that peer are executed from now on. Sets link->udp_port. */
int shmemhi_link_to_rtr(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			shmemhi_link_t *link, const shmemhi_port_info_t *peer_port,
			const shmemhi_qp_info_t *peer_qp, const shmemhi_address_t *address,
			shmemhi_err_t *err);

/* RTR to RTS. */
int shmemhi_link_to_rts(const shmemhi_ib_lib_t *lib, const shmemhi_options_t *opt,
			const shmemhi_link_t *link, const shmemhi_port_info_t *peer_port,
			shmemhi_err_t *err);

/* Any state but RESET to ERR. After it returns, the queue pair executes no request that arrives. */
int shmemhi_link_to_err(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
			shmemhi_err_t *err);

/* Any state to RESET: posted WQEs are discarded. The caller sets the doorbell record to 0. */
int shmemhi_link_to_reset(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
			  shmemhi_err_t *err);

/* Destroy the queue pair, then the completion queue, and clear what is gone. False: the NIC refused
 * to destroy one, so it may still write to their memory; a later call tries that one again. */
bool shmemhi_link_destroy(const shmemhi_ib_lib_t *lib, shmemhi_link_t *link);

#define SHMEMHI_QP_RTS 3
#define SHMEMHI_QP_ERR 6

/* What QUERY_QP reports. */
typedef struct shmemhi_qp_state {
	uint32_t state;        /* SHMEMHI_QP_* */
	uint32_t next_rcv_psn; /* as responder: PSN of the next request packet; between messages,
				  that of the first request not executed */
	uint32_t rmsn;         /* requests executed, mod 2^24 */
	uint16_t hw_wqebbs;    /* in ERR == sw_wqebbs once all are flushed */
	uint16_t sw_wqebbs;    /* in ERR: the producer index in the doorbell record, whether a
				  doorbell followed or not; without a record that of the latest
				  doorbell */
} shmemhi_qp_state_t;

int shmemhi_qp_query(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link,
		     shmemhi_qp_state_t *state, shmemhi_err_t *err);

/* What peers need to know of a port. n_channels: of the job. */
shmemhi_port_info_t shmemhi_port_info_of(const shmemhi_open_port_t *port, int n_channels);

#endif
