/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A device and the objects that DevX commands need, created by the entry points only; valid
 * mailboxes, which tests then modify. */
#ifndef FIXTURE_DEVX_H
#define FIXTURE_DEVX_H

#include <infiniband/mlx5dv.h>
#include <mlx5sw.h>
#include "mailbox.h"

#define MAILBOX_NBYTES 0x110
#define EXTENDED_NBYTES 0x1d0
#define CQC 0x80u /* bit offsets of the contexts in their commands */
#define QPC 0xc0u
#define ADS 0x180u
#define DEVX_QUEUES 0 /* bytes of devx_t.memory: rings */
#define DEVX_CQ 0x8000
#define DEVX_RECORDS 0xf000

typedef struct devx {
	struct ibv_device **list;
	struct ibv_context *ctx;
	uint8_t *memory; /* 64 KiB, one umem */
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *pd, *cq;
	uint32_t pdn, cqn, eqn;
} devx_t;

/* Open the first device of a fabric of one host with two devices, or of the fabric of cfg. */
void devx_open(devx_t *d, const mlx5sw_config_t *cfg);
void devx_open_device(devx_t *d, int index); /* of a running fabric */
void devx_close_device(devx_t *d);
void devx_close(devx_t *d);
/* Setup and teardown of a test whose state is a devx_t with a CQ. */
int devx_setup(void **state);
int devx_teardown(void **state);

/* Check that the command succeeds; returns the new object and its number. */
struct mlx5dv_devx_obj *devx_create(devx_t *d, const uint8_t *in, size_t nbytes, uint32_t *number);
/* Check that the command creates nothing: out has this status and a syndrome. Returns the syndrome.
 */
uint32_t devx_refused(devx_t *d, const uint8_t *in, size_t nbytes, unsigned status);

void devx_cq_mailbox(const devx_t *d, uint8_t in[MAILBOX_NBYTES]);
void devx_qp_mailbox(const devx_t *d, uint8_t in[MAILBOX_NBYTES]);

enum { INIT = 1, RTR = 2, RTS = 3, ERR = 6 };
/* The command of a transition: RST2INIT 0x502, INIT2RTR 0x503, RTR2RTS 0x504 with all required
 * fields, to a peer qpn on the same port; others without fields. */
void devx_state_mailbox(const devx_t *d, uint8_t in[EXTENDED_NBYTES], unsigned opcode, uint32_t qpn,
			uint32_t peer);
/* Returns the status of the device; 0: success. */
unsigned devx_modify(struct mlx5dv_devx_obj *qp, const uint8_t *in, size_t nbytes);
void devx_query_qp(struct mlx5dv_devx_obj *qp, uint32_t qpn, uint8_t out[MAILBOX_NBYTES]);
/* From RESET to state, connected to peer. */
void devx_bring(const devx_t *d, struct mlx5dv_devx_obj *qp, uint32_t qpn, uint32_t peer,
		int state);

#endif
