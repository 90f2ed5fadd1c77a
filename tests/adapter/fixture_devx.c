/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture_devx.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define MEMORY 0x10000

void devx_open_device(devx_t *d, int index)
{
	uint8_t in[16] = {0};
	int n = 0;

	memset(d, 0, sizeof(*d));
	d->list = ibv_get_device_list(&n);
	assert_non_null(d->list);
	assert_true(index < n);
	d->ctx = ibv_open_device(d->list[index]);
	assert_non_null(d->ctx);
	d->memory = aligned_alloc(4096, MEMORY);
	assert_non_null(d->memory);
	memset(d->memory, 0, MEMORY);
	d->umem = mlx5dv_devx_umem_reg(d->ctx, d->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(d->umem);
	d->uar = mlx5dv_devx_alloc_uar(d->ctx, 0);
	assert_non_null(d->uar);
	assert_int_equal(mlx5dv_devx_query_eqn(d->ctx, 0, &d->eqn), 0);
	put_bits(in, 0, 16, 0x800);
	d->pd = devx_create(d, in, sizeof(in), &d->pdn);
}

void devx_open(devx_t *d, const mlx5sw_config_t *cfg)
{
	mlx5sw_config_t plain = MLX5SW_CONFIG_INIT;

	assert_int_equal(mlx5sw_start(cfg ? cfg : &plain, NULL), 0);
	devx_open_device(d, 0);
}

void devx_close_device(devx_t *d)
{
	if (d->cq)
		assert_int_equal(mlx5dv_devx_obj_destroy(d->cq), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->pd), 0);
	mlx5dv_devx_free_uar(d->uar);
	assert_int_equal(mlx5dv_devx_umem_dereg(d->umem), 0);
	assert_int_equal(ibv_close_device(d->ctx), 0);
	ibv_free_device_list(d->list);
	free(d->memory);
}

void devx_close(devx_t *d)
{
	devx_close_device(d);
	mlx5sw_stop();
}

struct mlx5dv_devx_obj *devx_create(devx_t *d, const uint8_t *in, size_t nbytes, uint32_t *number)
{
	uint8_t out[16];
	struct mlx5dv_devx_obj *obj;

	memset(out, 0xa5, sizeof(out));
	obj = mlx5dv_devx_obj_create(d->ctx, in, nbytes, out, sizeof(out));
	assert_non_null(obj);
	assert_int_equal(get_bits(out, 0, 8), 0);
	assert_int_equal(get_bits(out, 0x20, 32), 0);
	*number = (uint32_t)get_bits(out, 0x48, 24);
	return obj;
}

uint32_t devx_refused(devx_t *d, const uint8_t *in, size_t nbytes, unsigned status)
{
	uint8_t out[16];

	memset(out, 0xa5, sizeof(out));
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(d->ctx, in, nbytes, out, sizeof(out)));
	assert_int_equal(errno, EREMOTEIO);
	assert_int_equal(get_bits(out, 0, 8), status);
	assert_int_not_equal(get_bits(out, 0x20, 32), 0);
	assert_int_equal(get_bits(out, 0x40, 64), 0);
	return (uint32_t)get_bits(out, 0x20, 32);
}

int devx_setup(void **state)
{
	static devx_t d;
	uint8_t in[MAILBOX_NBYTES];

	devx_open(&d, NULL);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	*state = &d;
	return 0;
}

int devx_teardown(void **state)
{
	devx_close(*state);
	return 0;
}

void devx_cq_mailbox(const devx_t *d, uint8_t in[MAILBOX_NBYTES])
{
	memset(in, 0, MAILBOX_NBYTES);
	put_bits(in, 0, 16, 0x400);
	put_bits(in, CQC + 0x20, 32, d->umem->umem_id); /* dbr_umem_id */
	put_bits(in, CQC + 0x63, 5, 4);                 /* log_cq_size */
	put_bits(in, CQC + 0x68, 24, d->uar->page_id);
	put_bits(in, CQC + 0xb8, 8, d->eqn);
	put_bits(in, CQC + 0x1c0, 64, DEVX_RECORDS);
	put_bits(in, 0x280, 64, DEVX_CQ);
	put_bits(in, 0x2c0, 32, d->umem->umem_id);
}

void devx_qp_mailbox(const devx_t *d, uint8_t in[MAILBOX_NBYTES])
{
	memset(in, 0, MAILBOX_NBYTES);
	put_bits(in, 0, 16, 0x500);
	put_bits(in, QPC + 0x28, 24, d->pdn);
	put_bits(in, QPC + 0x51, 4, 6); /* log_sq_size */
	put_bits(in, QPC + 0x68, 24, d->uar->page_id);
	put_bits(in, QPC + 0x88, 24, 0x123456); /* user_index */
	put_bits(in, QPC + 0x3e8, 24, d->cqn);
	put_bits(in, QPC + 0x4e8, 24, d->cqn);
	put_bits(in, QPC + 0x500, 64, DEVX_RECORDS + 8);
	put_bits(in, QPC + 0x565, 3, 3); /* rq_type: none */
	put_bits(in, QPC + 0x720, 32, d->umem->umem_id);
	put_bits(in, 0x800, 64, DEVX_QUEUES);
	put_bits(in, 0x840, 32, d->umem->umem_id);
}

static void put_address(const devx_t *d, uint8_t *in)
{
	struct ibv_port_attr port;
	union ibv_gid gid;

	assert_int_equal(ibv_query_port(d->ctx, 1, &port), 0);
	if (port.link_layer == IBV_LINK_LAYER_INFINIBAND) {
		put_bits(in, ADS + 0x30, 16, port.lid);
		return;
	}
	assert_int_equal(ibv_query_gid(d->ctx, 1, 3, &gid), 0);
	put_bits(in, ADS + 0x48, 8, 3);   /* src_addr_index */
	put_bits(in, ADS + 0x58, 8, 255); /* hop_limit */
	memcpy(in + (ADS + 0x80) / 8, gid.raw, 16);
	put_bits(in, ADS + 0x110, 16, 0xc000);
	assert_int_equal(ibv_query_gid(d->ctx, 1, 0, &gid), 0); /* has the MAC, RFC 4291 */
	put_bits(in, ADS + 0x130, 8, gid.raw[8] ^ 2u);
	put_bits(in, ADS + 0x138, 8, gid.raw[9]);
	put_bits(in, ADS + 0x140, 8, gid.raw[10]);
	memcpy(in + (ADS + 0x148) / 8, gid.raw + 13, 3);
}

void devx_state_mailbox(const devx_t *d, uint8_t in[EXTENDED_NBYTES], unsigned opcode, uint32_t qpn,
			uint32_t peer)
{
	memset(in, 0, EXTENDED_NBYTES);
	put_bits(in, 0, 16, opcode);
	put_bits(in, 0x48, 24, qpn);
	if (opcode == 0x502) {
		put_bits(in, QPC + 0x13, 2, 3);  /* pm_state */
		put_bits(in, QPC + 0x48c, 4, 3); /* atomic_mode */
		put_bits(in, QPC + 0x490, 3, 7); /* rre, rwe, rae */
		put_bits(in, ADS + 0x128, 8, 1); /* port */
	} else if (opcode == 0x503) {
		put_bits(in, QPC + 0x40, 3, 3);  /* mtu */
		put_bits(in, QPC + 0x43, 5, 30); /* log_msg_max */
		put_bits(in, QPC + 0xa8, 24, peer);
		put_bits(in, QPC + 0x488, 3, 4);  /* log_rra_max */
		put_bits(in, QPC + 0x4a3, 5, 12); /* min_rnr_nak */
		put_bits(in, QPC + 0x4a8, 24, 0x1234);
		put_address(d, in);
	} else if (opcode == 0x504) {
		put_bits(in, QPC + 0x388, 3, 4); /* log_sra_max */
		put_bits(in, QPC + 0x38d, 3, 7); /* retry_count */
		put_bits(in, QPC + 0x390, 3, 6); /* rnr_retry */
		put_bits(in, QPC + 0x3c8, 24, 0x1234);
		put_bits(in, ADS + 0x40, 5, 20); /* ack_timeout */
	}
}

unsigned devx_modify(struct mlx5dv_devx_obj *qp, const uint8_t *in, size_t nbytes)
{
	uint8_t out[16];
	unsigned status;
	int err;

	memset(out, 0xa5, sizeof(out));
	err = mlx5dv_devx_obj_modify(qp, in, nbytes, out, sizeof(out));
	status = (unsigned)get_bits(out, 0, 8);
	assert_int_equal(err, status ? EREMOTEIO : 0);
	assert_int_equal(get_bits(out, 0x20, 32) != 0, status != 0);
	return status;
}

void devx_query_qp(struct mlx5dv_devx_obj *qp, uint32_t qpn, uint8_t out[MAILBOX_NBYTES])
{
	uint8_t in[16] = {0};

	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, qpn);
	assert_int_equal(mlx5dv_devx_obj_query(qp, in, sizeof(in), out, MAILBOX_NBYTES), 0);
	assert_int_equal(out[0], 0);
}

void devx_bring(const devx_t *d, struct mlx5dv_devx_obj *qp, uint32_t qpn, uint32_t peer, int state)
{
	uint8_t in[EXTENDED_NBYTES];
	int last = state == ERR ? INIT : state;

	for (int s = INIT; s <= last; s++) {
		devx_state_mailbox(d, in, 0x501u + (unsigned)s, qpn, peer);
		assert_int_equal(devx_modify(qp, in, MAILBOX_NBYTES), 0);
	}
	if (state == ERR) {
		devx_state_mailbox(d, in, 0x507, qpn, peer);
		assert_int_equal(devx_modify(qp, in, 16), 0);
	}
}
