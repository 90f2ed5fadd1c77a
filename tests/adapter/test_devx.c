/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CREATE commands, field by field; what the kernel's filter lets through; how failures are told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture_devx.h"
#include "mlx5sw/control.h"

enum { OK, BAD_OP = 2, BAD_PARAM = 3, BAD_RES = 5, BAD_IN = 0x50, BAD_OUT = 0x51 };

typedef struct spoil {
	unsigned bit, width;
	uint64_t value;
	unsigned status;
} spoil_t;

static int setup(void **state)
{
	static devx_t d;
	uint8_t in[MAILBOX_NBYTES];

	devx_open(&d, NULL);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	*state = &d;
	return 0;
}

static int teardown(void **state)
{
	devx_close(*state);
	return 0;
}

/* One field after the other of a mailbox that is right. */
static void spoil(devx_t *d, const uint8_t *right, const spoil_t *s, size_t n)
{
	uint8_t in[MAILBOX_NBYTES];
	uint32_t number;

	for (size_t i = 0; i < n; i++) {
		memcpy(in, right, sizeof(in));
		put_bits(in, s[i].bit, s[i].width, s[i].value);
		if (s[i].status)
			devx_refused(d, in, sizeof(in), s[i].status);
		else
			assert_int_equal(
				mlx5dv_devx_obj_destroy(devx_create(d, in, sizeof(in), &number)),
				0);
	}
}

static void create_cq_checks_each_field(void **state)
{
	static const spoil_t fields[] = {
		{CQC + 0x06, 1, 1, OK},                /* dbr_umem_valid: the kernel's affair */
		{0x2e0, 1, 1, OK},                     /* cq_umem_valid: too */
		{CQC + 0x08, 3, 1, BAD_PARAM},         /* cqe_sz: 128 bytes */
		{CQC + 0x0b, 1, 1, OK},                /* cc */
		{CQC + 0x0e, 1, 1, OK},                /* oi */
		{CQC + 0x11, 1, 1, BAD_PARAM},         /* cqe_comp_en */
		{CQC + 0x20, 32, 0x7fff, BAD_RES},     /* dbr_umem_id */
		{CQC + 0x54, 6, 1, OK},                /* page_offset: 64 bytes further */
		{CQC + 0x63, 5, 0, OK},                /* log_cq_size: one entry */
		{CQC + 0x63, 5, 9, OK},                /* fills the umem to its end */
		{CQC + 0x63, 5, 10, BAD_RES},          /* does not fit */
		{CQC + 0x63, 5, 23, BAD_PARAM},        /* more than log_max_cq_sz */
		{CQC + 0x68, 24, 0x7fff, BAD_RES},     /* uar_page */
		{CQC + 0xb8, 8, 0xff, BAD_RES},        /* c_eqn */
		{CQC + 0xc3, 5, 4, OK},                /* log_page_size: without offset */
		{CQC + 0x1c0, 64, 0xf004, BAD_PARAM},  /* dbr_addr: not aligned */
		{CQC + 0x1c0, 64, 0xfff8, OK},         /* the last 8 bytes */
		{CQC + 0x1c0, 64, 0x10000, BAD_PARAM}, /* past the end */
		{CQC + 0x1c0, 64, UINT64_MAX - 7, BAD_PARAM},
		{0x280, 64, 0x8020, BAD_PARAM}, /* cq_umem_offset: half a block */
		{0x280, 64, 0xfc00, OK},        /* the last 16 entries */
		{0x280, 64, 0xfc40, BAD_RES},
		{0x280, 64, 0x10000, BAD_RES},
		{0x280, 64, UINT64_MAX - 63, BAD_RES},
		{0x2c0, 32, 0x7fff, BAD_RES}, /* cq_umem_id */
	};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];

	devx_cq_mailbox(d, in);
	spoil(d, in, fields, sizeof(fields) / sizeof(fields[0]));
}

static void collapsed_cq_needs_one_entry(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	uint32_t number;

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0x0b, 1, 1);
	put_bits(in, CQC + 0x63, 5, 15);
	put_bits(in, 0x280, 64, 0xffc0);
	assert_int_equal(mlx5dv_devx_obj_destroy(devx_create(d, in, sizeof(in), &number)), 0);
}

/* page_offset counts 64ths of a page of log_page_size. */
static void cq_offset_in_large_pages(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	uint32_t number;

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0xc3, 5, 4);  /* 64 KiB */
	put_bits(in, CQC + 0x54, 6, 63); /* 0xfc00 */
	put_bits(in, 0x280, 64, 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(devx_create(d, in, sizeof(in), &number)), 0);
	put_bits(in, 0x280, 64, 64);
	devx_refused(d, in, sizeof(in), BAD_RES);
	put_bits(in, 0x280, 64, 0x8000); /* the place itself is outside */
	devx_refused(d, in, sizeof(in), BAD_RES);
}

static void create_qp_checks_each_field(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x08, 8, 1, BAD_PARAM},     /* st: UC */
		{QPC + 0x13, 2, 3, OK},            /* pm_state */
		{QPC + 0x20, 1, 1, OK},            /* wq_signature */
		{QPC + 0x28, 24, 0x7fff, BAD_RES}, /* pd */
		{QPC + 0x51, 4, 9, OK},            /* log_sq_size: 32 KiB */
		{QPC + 0x51, 4, 10, OK},           /* all of the umem */
		{QPC + 0x51, 4, 11, BAD_RES},      /* R6: more than that */
		{QPC + 0x60, 8, 1, BAD_PARAM},     /* counter_set_id */
		{QPC + 0x68, 24, 0x7fff, BAD_RES}, /* uar_page */
		{QPC + 0x80, 2, 1, BAD_PARAM},     /* send_dbr_mode: no capability */
		{QPC + 0x80, 2, 2, BAD_PARAM},
		{QPC + 0xa3, 5, 4, OK},             /* log_page_size */
		{QPC + 0x3e8, 24, 0x7fff, BAD_RES}, /* cqn_snd */
		{QPC + 0x3e8, 24, 0, BAD_RES},
		{QPC + 0x494, 6, 1, OK},              /* page_offset */
		{QPC + 0x49f, 1, 1, BAD_PARAM},       /* cd_master */
		{QPC + 0x4e8, 24, 0x7fff, BAD_RES},   /* cqn_rcv: wrong even if unused */
		{QPC + 0x4e8, 24, 0, OK},             /* none, and no receive queue */
		{QPC + 0x500, 64, 0xf00c, BAD_PARAM}, /* dbr_addr */
		{QPC + 0x500, 64, 0xfff9, BAD_PARAM},
		{QPC + 0x565, 3, 1, BAD_PARAM},     /* rq_type: shared */
		{QPC + 0x565, 3, 2, BAD_PARAM},     /* XRC */
		{QPC + 0x630, 8, 0x11, BAD_PARAM},  /* cs_req */
		{QPC + 0x638, 8, 0x11, BAD_PARAM},  /* cs_res */
		{QPC + 0x683, 1, 1, OK},            /* dbr_umem_valid */
		{QPC + 0x720, 32, 0x7fff, BAD_RES}, /* dbr_umem_id */
		{0x800, 64, 0xf000, OK},            /* wq_umem_offset: the last 64 blocks */
		{0x800, 64, 0xf040, BAD_RES},
		{0x800, 64, 0x20, BAD_PARAM},
		{0x840, 32, 0x7fff, BAD_RES}, /* wq_umem_id */
		{0x860, 1, 1, OK},            /* wq_umem_valid */
	};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];

	devx_qp_mailbox(d, in);
	spoil(d, in, fields, sizeof(fields) / sizeof(fields[0]));
}

/* The receive queue lies in front of the send queue. */
static void qp_with_receive_queue(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x49, 4, 9, OK},        /* log_rq_size: 512 entries of 64 bytes */
		{QPC + 0x49, 4, 10, BAD_RES},  /* nothing is left to send from */
		{QPC + 0x49, 4, 11, BAD_RES},  /* does not fit itself */
		{QPC + 0x4d, 3, 7, OK},        /* log_rq_stride: 2 KiB */
		{QPC + 0x4e8, 24, 0, BAD_RES}, /* cqn_rcv */
		{QPC + 0x50, 1, 1, OK},        /* no_sq */
	};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *qp;
	mlx5swi_qp_t *made;
	uint32_t qpn;

	devx_qp_mailbox(d, in);
	put_bits(in, QPC + 0x565, 3, 0);
	put_bits(in, QPC + 0x49, 4, 4);
	put_bits(in, QPC + 0x4d, 3, 2);
	spoil(d, in, fields, sizeof(fields) / sizeof(fields[0]));
	qp = devx_create(d, in, sizeof(in), &qpn);
	devx_query_qp(qp, qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x49, 4), 4);
	assert_int_equal(get_bits(out, QPC + 0x4d, 3), 2);
	assert_int_equal(get_bits(out, QPC + 0x565, 3), 0);
	made = mlx5swi_table_get(&mlx5swi_device(0, 0)->qps, qpn);
	assert_ptr_equal(made->rq, d->memory);
	assert_ptr_equal(made->sq, d->memory + 16 * 64);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
}

/* What CREATE_QP was given, QUERY_QP shows. */
static void query_shows_what_was_made(void **state)
{
	static const struct {
		unsigned bit, width;
	} same[] = {
		{0x08, 8},  {0x28, 24},  {0x50, 1},   {0x51, 4},   {0x68, 24}, {0x80, 2},
		{0x88, 24}, {0x3e8, 24}, {0x4e8, 24}, {0x500, 64}, {0x565, 3}, {0x720, 32},
	};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *qp;
	uint32_t qpn;

	devx_qp_mailbox(d, in);
	qp = devx_create(d, in, sizeof(in), &qpn);
	memset(out, 0xa5, sizeof(out));
	devx_query_qp(qp, qpn, out);
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		assert_int_equal(get_bits(out, QPC + same[i].bit, same[i].width),
				 get_bits(in, QPC + same[i].bit, same[i].width));
	assert_int_equal(get_bits(out, QPC, 4), 0);         /* state: RESET */
	assert_int_equal(get_bits(out, QPC + 0x13, 2), 3);  /* pm_state: migrated */
	assert_int_equal(get_bits(out, QPC + 0x20, 1), 0);  /* wq_signature */
	assert_int_equal(get_bits(out, QPC + 0x683, 1), 1); /* dbr_umem_valid */
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
}

static void no_dbr_mode_by_capability(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	uint8_t in[MAILBOX_NBYTES];
	uint32_t number;
	devx_t d;

	(void)state;
	cfg.has_no_dbr = 1;
	devx_open(&d, &cfg);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	devx_qp_mailbox(&d, in);
	put_bits(in, QPC + 0x80, 2, 1);
	put_bits(in, QPC + 0x720, 32, 0); /* no record is needed */
	assert_int_equal(mlx5dv_devx_obj_destroy(devx_create(&d, in, sizeof(in), &number)), 0);
	put_bits(in, QPC + 0x80, 2, 2);
	devx_refused(&d, in, sizeof(in), BAD_PARAM);
	devx_close(&d);
}

static void mkey_mailbox(const devx_t *d, uint8_t in[MAILBOX_NBYTES])
{
	memset(in, 0, MAILBOX_NBYTES);
	put_bits(in, 0, 16, 0x200);
	put_bits(in, 0x80 + 0x12, 4, 0xf); /* rw, rr, lw, lr */
	put_bits(in, 0x80 + 0x16, 2, 1);   /* access_mode: MTT */
	put_bits(in, 0x80 + 0x20, 24, 0xffffff);
	put_bits(in, 0x80 + 0x38, 8, 0x5a); /* mkey_7_0 */
	put_bits(in, 0x80 + 0x68, 24, d->pdn);
	put_bits(in, 0x80 + 0x80, 64, 0x100000);
	put_bits(in, 0x80 + 0xc0, 64, 0x1000);
	put_bits(in, 0x320, 32, d->umem->umem_id);
	put_bits(in, 0x340, 64, 0x4000);
}

static void create_mkey_checks_each_field(void **state)
{
	static const spoil_t fields[] = {
		{0x61, 1, 1, OK},                   /* mkey_umem_valid */
		{0x80 + 0x11, 1, 1, OK},            /* a */
		{0x80 + 0x15, 1, 0, BAD_PARAM},     /* lr */
		{0x80 + 0x16, 2, 0, BAD_PARAM},     /* physical addresses */
		{0x80 + 0x16, 2, 2, BAD_PARAM},     /* KLM */
		{0x80 + 0x20, 24, 5, BAD_PARAM},    /* qpn */
		{0x80 + 0x60, 1, 1, BAD_PARAM},     /* length64 */
		{0x80 + 0x68, 24, 0x7fff, BAD_RES}, /* pd */
		{0x80 + 0xc0, 64, 0xc000, OK},      /* len: to the end */
		{0x80 + 0xc0, 64, 0xc001, BAD_RES},
		{0x320, 32, 0x7fff, BAD_RES},
		{0x340, 64, 0x10001, BAD_RES},
	};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *mkey;
	mlx5swi_mr_t *mr;
	uint32_t index;

	mkey_mailbox(d, in);
	spoil(d, in, fields, sizeof(fields) / sizeof(fields[0]));
	mkey = devx_create(d, in, sizeof(in), &index);
	mr = mlx5swi_table_get(&mlx5swi_device(0, 0)->mrs, index);
	assert_int_equal(mr->key, index << 8 | 0x5a);
	assert_int_equal(mr->iova, 0x100000);
	assert_ptr_equal(mr->p, d->memory + 0x4000);
	assert_int_equal(mlx5dv_devx_umem_dereg(d->umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->pd), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(mkey), 0);
}

/* S6: what is in use cannot go: here each object has one user. */
static void s6_destroy_order(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	struct mlx5dv_devx_umem *umems[4];
	struct mlx5dv_devx_uar *uars[2];
	struct mlx5dv_devx_obj *cqs[2], *qp;
	uint32_t cqns[2], qpn;

	for (int i = 0; i < 4; i++)
		umems[i] = mlx5dv_devx_umem_reg(d->ctx, d->memory, 0x10000, 1);
	for (int i = 0; i < 2; i++) {
		uars[i] = mlx5dv_devx_alloc_uar(d->ctx, 0);
		devx_cq_mailbox(d, in);
		put_bits(in, CQC + 0x20, 32, umems[0]->umem_id);
		put_bits(in, CQC + 0x68, 24, uars[0]->page_id);
		put_bits(in, 0x2c0, 32, umems[1]->umem_id);
		cqs[i] = devx_create(d, in, sizeof(in), &cqns[i]);
	}
	devx_qp_mailbox(d, in);
	put_bits(in, QPC + 0x68, 24, uars[1]->page_id);
	put_bits(in, QPC + 0x3e8, 24, cqns[0]);
	put_bits(in, QPC + 0x4e8, 24, cqns[1]);
	put_bits(in, QPC + 0x720, 32, umems[2]->umem_id);
	put_bits(in, 0x840, 32, umems[3]->umem_id);
	qp = devx_create(d, in, sizeof(in), &qpn);
	for (int i = 0; i < 4; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umems[i]), EBUSY);
	for (int i = 0; i < 2; i++) {
		errno = 0;
		mlx5dv_devx_free_uar(uars[i]);
		assert_int_equal(errno, EBUSY);
		assert_int_equal(mlx5dv_devx_obj_destroy(cqs[i]), EBUSY);
	}
	assert_int_equal(mlx5dv_devx_obj_destroy(d->pd), EBUSY);
	assert_int_equal(ibv_close_device(d->ctx), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_obj_destroy(cqs[i]), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(mlx5dv_devx_umem_dereg(umems[i]), 0);
	for (int i = 0; i < 2; i++)
		mlx5dv_devx_free_uar(uars[i]);
}

/* log_max_qp, log_max_cq: as if so many had been made. */
static void limits(void **state)
{
	devx_t *d = *state;
	mlx5swi_device_t *dev = mlx5swi_device(0, 0);
	uint8_t in[MAILBOX_NBYTES];

	devx_qp_mailbox(d, in);
	dev->qps.n_used += 1u << 18;
	devx_refused(d, in, sizeof(in), 8);
	dev->qps.n_used -= 1u << 18;
	devx_cq_mailbox(d, in);
	dev->cqs.n_used += 1u << 24;
	devx_refused(d, in, sizeof(in), 8);
	dev->cqs.n_used -= 1u << 24;
}

/* C11: what hides completions is reported. */
static void c11_collapsed_cq_of_two_senders(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *cq, *qp[2];
	uint32_t number, unused;

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0x0b, 1, 1);
	cq = devx_create(d, in, sizeof(in), &number);
	devx_qp_mailbox(d, in);
	for (int i = 0; i < 2; i++) /* of a ring: no harm */
		qp[i] = devx_create(d, in, sizeof(in), &unused);
	for (int i = 0; i < 2; i++)
		assert_int_equal(mlx5dv_devx_obj_destroy(qp[i]), 0);
	put_bits(in, QPC + 0x3e8, 24, number);
	qp[0] = devx_create(d, in, sizeof(in), &number);
	assert_null(mlx5sw_report(0));
	qp[1] = devx_create(d, in, sizeof(in), &number);
	assert_non_null(strstr(mlx5sw_report(0), "C11"));
	assert_null(mlx5sw_report(1));
	assert_int_equal(mlx5dv_devx_obj_destroy(qp[0]), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp[1]), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq), 0);
}

/* Another context's numbers are as good as none. */
static void objects_of_another_context(void **state)
{
	devx_t *d = *state, other;
	uint8_t in[MAILBOX_NBYTES];

	devx_open_device(&other, 0);
	devx_qp_mailbox(d, in);
	put_bits(in, QPC + 0x28, 24, other.pdn);
	devx_refused(d, in, sizeof(in), BAD_RES);
	devx_qp_mailbox(d, in);
	put_bits(in, QPC + 0x68, 24, other.uar->page_id);
	devx_refused(d, in, sizeof(in), BAD_RES);
	devx_qp_mailbox(d, in);
	put_bits(in, 0x840, 32, other.umem->umem_id);
	devx_refused(d, in, sizeof(in), BAD_RES);
	devx_qp_mailbox(&other, in);
	put_bits(in, QPC + 0x3e8, 24, d->cqn);
	devx_refused(&other, in, sizeof(in), BAD_RES);
	devx_close_device(&other);
}

static int bare(devx_t *d, unsigned opcode, size_t in_nbytes, size_t out_nbytes)
{
	uint8_t in[MAILBOX_NBYTES] = {0}, out[MAILBOX_NBYTES];

	put_bits(in, 0, 16, opcode);
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(d->ctx, in, in_nbytes, out, out_nbytes));
	return errno == EREMOTEIO ? -out[0] : errno;
}

/* The kernel keeps some commands for itself and has a function for each of the rest. */
static void filter_of_the_kernel(void **state)
{
	static const unsigned elsewhere[] = {0x802, 0xa08, 0x401, 0x501, 0x801, 0x202,
					     0x100, 0x50b, 0x502, 0x507, 0x402};
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES];

	for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		assert_int_equal(bare(d, elsewhere[i], MAILBOX_NBYTES, 16), EINVAL);
	assert_int_equal(bare(d, 0x3ff, MAILBOX_NBYTES, 16), -BAD_OP);
	devx_cq_mailbox(d, in);
	assert_int_equal(mlx5dv_devx_general_cmd(d->ctx, in, sizeof(in), out, sizeof(out)), EINVAL);
	put_bits(in, 0, 16, 0x3ff);
	assert_int_equal(mlx5dv_devx_general_cmd(d->ctx, in, sizeof(in), out, sizeof(out)),
			 EREMOTEIO);
	assert_int_equal(out[0], BAD_OP);
}

static void lengths(void **state)
{
	devx_t *d = *state;

	assert_int_equal(bare(d, 0x400, 15, 16), EINVAL);
	assert_int_equal(bare(d, 0x400, 0x110, 15), EINVAL);
	assert_int_equal(bare(d, 0x400, 0x10f, 16), -BAD_IN);
	assert_int_equal(bare(d, 0x500, 0x10f, 16), -BAD_IN);
	assert_int_equal(bare(d, 0x200, 0x10f, 16), -BAD_IN);
}

static void query_lengths(void **state)
{
	devx_t *d = *state;
	uint8_t in[16] = {0}, out[MAILBOX_NBYTES];

	put_bits(in, 0, 16, 0x402);
	put_bits(in, 0x48, 24, d->cqn);
	assert_int_equal(mlx5dv_devx_obj_query(d->cq, in, 16, out, 0x10f), EREMOTEIO);
	assert_int_equal(out[0], BAD_OUT);
	assert_int_equal(mlx5dv_devx_obj_query(d->cq, in, 16, out, 0x110), 0);
}

/* A command about an object names that one. */
static void other_numbers(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES], query[16] = {0};
	struct mlx5dv_devx_obj *qp;
	uint32_t qpn;

	devx_qp_mailbox(d, in);
	qp = devx_create(d, in, sizeof(in), &qpn);
	put_bits(query, 0, 16, 0x50b);
	put_bits(query, 0x48, 24, qpn + 1);
	assert_int_equal(mlx5dv_devx_obj_query(qp, query, 16, out, sizeof(out)), EINVAL);
	put_bits(query, 0, 16, 0x50a);
	assert_int_equal(mlx5dv_devx_obj_modify(qp, query, 16, out, sizeof(out)), EINVAL);
	put_bits(query, 0x48, 24, qpn);
	assert_int_equal(mlx5dv_devx_obj_modify(d->cq, query, 16, out, sizeof(out)), EINVAL);
	assert_int_equal(mlx5dv_devx_obj_query(qp, query, 16, out, sizeof(out)), EINVAL);
	put_bits(query, 0, 16, 0x402);
	assert_int_equal(mlx5dv_devx_obj_query(qp, query, 16, out, sizeof(out)), EINVAL);
	put_bits(query, 0x48, 24, d->cqn + 1);
	assert_int_equal(mlx5dv_devx_obj_query(d->cq, query, 16, out, sizeof(out)), EINVAL);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
}

/* Verbs objects take commands, and CREATE_QP takes a CQ of verbs. */
static void commands_and_verbs_mix(void **state)
{
	devx_t *d = *state;
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	struct ibv_pd *pd = ibv_alloc_pd(d->ctx);
	struct ibv_cq *cq = ibv_create_cq(d->ctx, 15, NULL, NULL, 0);
	struct mlx5dv_cq dcq = {0};
	struct mlx5dv_obj obj = {.cq = {.in = cq, .out = &dcq}};
	uint8_t in[MAILBOX_NBYTES] = {0}, out[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *mixed;
	struct ibv_qp *qp;
	uint32_t qpn;

	attr.send_cq = attr.recv_cq = cq;
	qp = ibv_create_qp(pd, &attr);
	assert_non_null(qp);
	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, qp->qp_num);
	assert_int_equal(mlx5dv_devx_qp_query(qp, in, 16, out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, QPC + 0x3e8, 24), dcq.cqn);
	put_bits(in, 0x48, 24, qp->qp_num + 1);
	assert_int_equal(mlx5dv_devx_qp_query(qp, in, 16, out, sizeof(out)), EINVAL);
	put_bits(in, 0, 16, 0x502);
	put_bits(in, 0x48, 24, qp->qp_num);
	put_bits(in, ADS + 0x128, 8, 1);
	assert_int_equal(mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, 16), 0);
	assert_int_equal(mlx5dv_devx_qp_modify(qp, in, sizeof(in), out, 16), EREMOTEIO);
	assert_int_equal(out[0], 0x10);
	put_bits(in, 0, 16, 0x402);
	put_bits(in, 0x48, 24, dcq.cqn);
	assert_int_equal(mlx5dv_devx_cq_query(cq, in, 16, out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, CQC + 0x63, 5), 4);
	assert_int_equal(ibv_destroy_qp(qp), 0);

	devx_qp_mailbox(d, in);
	put_bits(in, QPC + 0x3e8, 24, dcq.cqn);
	mixed = devx_create(d, in, sizeof(in), &qpn);
	assert_int_equal(ibv_destroy_cq(cq), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(mixed), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

static void query_cq_shows_what_was_made(void **state)
{
	devx_t *d = *state;
	uint8_t in[16] = {0}, out[MAILBOX_NBYTES];

	d->memory[DEVX_RECORDS + 1] = 0x12; /* consumer 0x120034, top byte not of it */
	d->memory[DEVX_RECORDS + 3] = 0x34;
	d->memory[DEVX_RECORDS] = 0xff;
	put_bits(in, 0, 16, 0x402);
	put_bits(in, 0x48, 24, d->cqn);
	assert_int_equal(mlx5dv_devx_obj_query(d->cq, in, 16, out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, CQC, 4), 0);
	assert_int_equal(get_bits(out, CQC + 0x0b, 1), 0);
	assert_int_equal(get_bits(out, CQC + 0x63, 5), 4);
	assert_int_equal(get_bits(out, CQC + 0x68, 24), d->uar->page_id);
	assert_int_equal(get_bits(out, CQC + 0xb8, 8), d->eqn);
	assert_int_equal(get_bits(out, CQC + 0x148, 24), 0x120034);
	assert_int_equal(get_bits(out, CQC + 0x168, 24), 0);
	assert_int_equal(get_bits(out, CQC + 0x1c0, 64), DEVX_RECORDS);
}

/* Nobody counts in a collapsed CQ. */
static void query_collapsed_cq(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES], out[MAILBOX_NBYTES], query[16] = {0};
	struct mlx5dv_devx_obj *cq;
	uint32_t cqn;

	d->memory[DEVX_RECORDS + 3] = 0x34;
	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0x0b, 1, 1);
	put_bits(in, CQC + 0x0e, 1, 1);
	cq = devx_create(d, in, sizeof(in), &cqn);
	put_bits(query, 0, 16, 0x402);
	put_bits(query, 0x48, 24, cqn);
	assert_int_equal(mlx5dv_devx_obj_query(cq, query, 16, out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, CQC + 0x0b, 1), 1);
	assert_int_equal(get_bits(out, CQC + 0x0e, 1), 1);
	assert_int_equal(get_bits(out, CQC + 0x148, 24), 0);
	assert_int_equal(get_bits(out, CQC + 0x168, 24), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(cq), 0);
}

/* The same reason has the same syndrome, another reason another one. */
static void syndromes(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	uint32_t eqn, size;

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0xb8, 8, 0xff);
	eqn = devx_refused(d, in, sizeof(in), BAD_RES);
	put_bits(in, CQC + 0xb8, 8, 0xfe);
	assert_int_equal(devx_refused(d, in, sizeof(in), BAD_RES), eqn);
	put_bits(in, CQC + 0x63, 5, 23);
	size = devx_refused(d, in, sizeof(in), BAD_PARAM);
	assert_int_not_equal(size, eqn);
	mlx5swi_refuse(BAD_PARAM, "ab");
	size = mlx5swi_syndrome();
	mlx5swi_refuse(BAD_PARAM, "ba");
	assert_int_not_equal(size, mlx5swi_syndrome());
}

/* F19: a fault has a command fail. */
static void f19_commands_fail(void **state)
{
	devx_t *d = *state;
	char answer[200];
	uint8_t in[MAILBOX_NBYTES];
	uint32_t number;

	devx_cq_mailbox(d, in);
	assert_int_equal(mlx5sw_control("fail command opcode=0x400 status=15 syndrome=0x1234 "
					"after=1 n=1",
					answer, sizeof(answer)),
			 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(devx_create(d, in, sizeof(in), &number)), 0);
	assert_int_equal(devx_refused(d, in, sizeof(in), 15), 0x1234);
	assert_int_equal(mlx5dv_devx_obj_destroy(devx_create(d, in, sizeof(in), &number)), 0);
	assert_int_equal(
		mlx5sw_control("fail command opcode=0x401 status=6 n=1", answer, sizeof(answer)),
		0);
	assert_int_equal(mlx5dv_devx_obj_destroy(d->cq), EBUSY);
}

static uint64_t tick(void *ticks)
{
	return ++*(uint64_t *)ticks;
}

static void nothing(void *ticks)
{
	(void)ticks;
}

/* F20: a command takes its time, and lets others run. */
static void f20_commands_are_slow(void **state)
{
	devx_t *d = *state;
	char answer[200];
	uint64_t ticks = 0;
	uint8_t in[MAILBOX_NBYTES];

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0xb8, 8, 0xff);
	mlx5swi_w->hooks.arg = &ticks;
	mlx5swi_w->hooks.now = tick;
	mlx5swi_w->hooks.lock = mlx5swi_w->hooks.unlock = nothing;
	assert_int_equal(
		mlx5sw_control("delay command opcode=0x400 ns=100 n=1", answer, sizeof(answer)), 0);
	ticks = 0;
	devx_refused(d, in, sizeof(in), BAD_RES);
	assert_true(ticks >= 100);
	ticks = 0;
	devx_refused(d, in, sizeof(in), BAD_RES);
	assert_true(ticks < 100);
}

/* F14: nothing works on a dead device but ending. */
static void f14_dead_device(void **state)
{
	devx_t *d = *state;
	char answer[200];

	assert_int_equal(mlx5sw_control("device fatal mlx5_0", answer, sizeof(answer)), 0);
	assert_int_equal(bare(d, 0x400, MAILBOX_NBYTES, 16), EIO);
}

/* The next world's device lives. */
static void f14_not_for_ever(void **state)
{
	char answer[200];
	devx_t first, second;

	(void)state;
	devx_open(&first, NULL);
	assert_int_equal(mlx5sw_control("device fatal mlx5_0", answer, sizeof(answer)), 0);
	devx_close_device(&first);
	devx_open(&second, NULL);
	devx_close(&second);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(create_cq_checks_each_field),
		TEST(collapsed_cq_needs_one_entry),
		TEST(cq_offset_in_large_pages),
		TEST(create_qp_checks_each_field),
		TEST(qp_with_receive_queue),
		TEST(query_shows_what_was_made),
		cmocka_unit_test(no_dbr_mode_by_capability),
		TEST(create_mkey_checks_each_field),
		TEST(s6_destroy_order),
		TEST(limits),
		TEST(c11_collapsed_cq_of_two_senders),
		TEST(objects_of_another_context),
		TEST(filter_of_the_kernel),
		TEST(lengths),
		TEST(query_lengths),
		TEST(other_numbers),
		TEST(commands_and_verbs_mix),
		TEST(query_cq_shows_what_was_made),
		TEST(query_collapsed_cq),
		TEST(syndromes),
		TEST(f19_commands_fail),
		TEST(f20_commands_are_slow),
		TEST(f14_dead_device),
		cmocka_unit_test(f14_not_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
