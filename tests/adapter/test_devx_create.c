/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CREATE commands, field by field. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture_devx.h"
#include "mlx5sw/control/control.h"

enum { OK, BAD_PARAM = 3, BAD_RES = 5, LIMIT = 8 };

typedef struct spoil {
	unsigned bit, width;
	uint64_t value;
	unsigned status;
} spoil_t;

/* Change one field after the other of a valid mailbox. */
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
		{CQC + 0x06, 1, 1, OK},                /* set by the kernel */
		{0x2e0, 1, 1, OK},                     /* the same */
		{CQC + 0x08, 3, 1, BAD_PARAM},         /* cqe_sz: 128 bytes */
		{CQC + 0x0b, 1, 1, OK},                /* cc */
		{CQC + 0x0e, 1, 1, OK},                /* oi */
		{CQC + 0x11, 1, 1, BAD_PARAM},         /* cqe_comp_en */
		{CQC + 0x20, 32, 0x7fff, BAD_RES},     /* dbr_umem_id */
		{CQC + 0x54, 6, 1, OK},                /* 64 bytes further */
		{CQC + 0x63, 5, 0, OK},                /* log_cq_size: one entry */
		{CQC + 0x63, 5, 9, OK},                /* the ring ends at the umem's end */
		{CQC + 0x63, 5, 10, BAD_RES},          /* does not fit */
		{CQC + 0x63, 5, 23, BAD_PARAM},        /* more than log_max_cq_sz */
		{CQC + 0x68, 24, 0x7fff, BAD_RES},     /* uar_page */
		{CQC + 0xb8, 8, 0xff, BAD_RES},        /* c_eqn */
		{CQC + 0xc3, 5, 4, OK},                /* log_page_size: without offset */
		{CQC + 0x1c0, 64, 0xf004, BAD_PARAM},  /* dbr_addr: not aligned */
		{CQC + 0x1c0, 64, 0xfff8, OK},         /* the last 8 bytes */
		{CQC + 0x1c0, 64, 0x10000, BAD_PARAM}, /* past the end */
		{CQC + 0x1c0, 64, UINT64_MAX - 7, BAD_PARAM},
		{0x280, 64, 0x8020, BAD_PARAM}, /* half a WQEBB */
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

/* page_offset counts 1/64 of a page of log_page_size. */
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
	put_bits(in, 0x280, 64, 0x8000); /* the ring's start is outside */
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
		{QPC + 0x4e8, 24, 0x7fff, BAD_RES},   /* cqn_rcv: checked even if unused */
		{QPC + 0x4e8, 24, 0, OK},             /* none, and no receive queue */
		{QPC + 0x500, 64, 0xf00c, BAD_PARAM}, /* dbr_addr */
		{QPC + 0x500, 64, 0xfff9, BAD_PARAM},
		{QPC + 0x565, 3, 1, BAD_PARAM},     /* rq_type: shared */
		{QPC + 0x565, 3, 2, BAD_PARAM},     /* XRC */
		{QPC + 0x630, 8, 0x11, BAD_PARAM},  /* cs_req */
		{QPC + 0x638, 8, 0x11, BAD_PARAM},  /* cs_res */
		{QPC + 0x683, 1, 1, OK},            /* dbr_umem_valid */
		{QPC + 0x720, 32, 0x7fff, BAD_RES}, /* dbr_umem_id */
		{0x800, 64, 0xf000, OK},            /* wq_umem_offset: the last 64 WQEBBs */
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

/* The receive queue precedes the send queue. */
static void qp_with_receive_queue(void **state)
{
	static const spoil_t fields[] = {
		{QPC + 0x49, 4, 9, OK},        /* log_rq_size: 512 entries of 64 bytes */
		{QPC + 0x49, 4, 10, BAD_RES},  /* no room remains for the send queue */
		{QPC + 0x49, 4, 11, BAD_RES},  /* the receive queue does not fit */
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

/* QUERY_QP returns the attributes of CREATE_QP. */
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

/* ts_format 0: free-running, 1: the device's default, 2: real time, 3: reserved. A device with
 * free-running stamps only does not have the field. */
static void ts_format_by_capability(void **state)
{
	static const unsigned status[3][4] = {
		[MLX5SW_TIMESTAMPS_FREE_RUNNING] = {OK, BAD_PARAM, BAD_PARAM, BAD_PARAM},
		[MLX5SW_TIMESTAMPS_REAL_TIME] = {BAD_PARAM, OK, OK, BAD_PARAM},
		[MLX5SW_TIMESTAMPS_BOTH] = {OK, OK, OK, BAD_PARAM},
	};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	uint8_t in[MAILBOX_NBYTES];
	devx_t d;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		cfg.timestamps = (uint8_t)(i % 3);
		cfg.link_layer = i < 3 ? MLX5SW_ETHERNET : MLX5SW_INFINIBAND;
		devx_open(&d, &cfg);
		devx_cq_mailbox(&d, in);
		d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
		devx_qp_mailbox(&d, in);
		for (unsigned format = 0; format < 4; format++)
			spoil(&d, in, &(spoil_t){QPC + 0x58, 2, format, status[i % 3][format]}, 1);
		devx_close(&d);
	}
}

/* QUERY_QP returns it, also for a QP of verbs: the driver selects the default if there is a choice.
 */
static void ts_format_of_a_qp(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
					.cap = {.max_send_wr = 4, .max_send_sge = 1}};
	uint8_t in[MAILBOX_NBYTES] = {0}, out[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *obj;
	struct ibv_pd *pd;
	struct ibv_qp *qp;
	uint32_t qpn;
	devx_t d;

	(void)state;
	cfg.timestamps = MLX5SW_TIMESTAMPS_REAL_TIME;
	devx_open(&d, &cfg);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	devx_qp_mailbox(&d, in);
	put_bits(in, QPC + 0x58, 2, 2);
	obj = devx_create(&d, in, sizeof(in), &qpn);
	devx_query_qp(obj, qpn, out);
	assert_int_equal(get_bits(out, QPC + 0x58, 2), 2);
	assert_int_equal(mlx5dv_devx_obj_destroy(obj), 0);
	pd = ibv_alloc_pd(d.ctx);
	attr.send_cq = attr.recv_cq = ibv_create_cq(d.ctx, 4, NULL, NULL, 0);
	assert_non_null(qp = ibv_create_qp(pd, &attr));
	memset(in, 0, 16);
	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, qp->qp_num);
	assert_int_equal(mlx5dv_devx_qp_query(qp, in, 16, out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, QPC + 0x58, 2), 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(attr.send_cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
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

/* log_max_qp, log_max_cq: the test pretends that so many exist. */
static void limits(void **state)
{
	devx_t *d = *state;
	mlx5swi_device_t *dev = mlx5swi_device(0, 0);
	uint8_t in[MAILBOX_NBYTES];

	devx_qp_mailbox(d, in);
	dev->qps.n_used += 1u << 18;
	devx_refused(d, in, sizeof(in), LIMIT);
	dev->qps.n_used -= 1u << 18;
	devx_cq_mailbox(d, in);
	dev->cqs.n_used += 1u << 24;
	devx_refused(d, in, sizeof(in), LIMIT);
	dev->cqs.n_used -= 1u << 24;
}

/* C11: a second sender of a collapsed CQ is refused or reported. */
static void collapsed_cq_of_two_senders(void **state)
{
	devx_t *d = *state;
	uint8_t in[MAILBOX_NBYTES];
	struct mlx5dv_devx_obj *cq, *qp[2];
	uint32_t number, unused;

	devx_cq_mailbox(d, in);
	put_bits(in, CQC + 0x0b, 1, 1);
	cq = devx_create(d, in, sizeof(in), &number);
	devx_qp_mailbox(d, in);
	for (int i = 0; i < 2; i++) /* two senders of a CQ ring are allowed */
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, devx_setup, devx_teardown)

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
		cmocka_unit_test(ts_format_by_capability),
		cmocka_unit_test(ts_format_of_a_qp),
		TEST(create_mkey_checks_each_field),
		TEST(limits),
		TEST(collapsed_cq_of_two_senders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
