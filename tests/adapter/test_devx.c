/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The kernel's filter, the objects that commands may refer to, reports of failures. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture_devx.h"
#include "mlx5sw/control/control.h"

enum { BAD_OP = 2, BAD_PARAM = 3, BAD_RES = 5, BAD_IN = 0x50, BAD_OUT = 0x51 };

static int bare(devx_t *d, unsigned opcode, size_t in_nbytes, size_t out_nbytes)
{
	uint8_t in[MAILBOX_NBYTES] = {0}, out[MAILBOX_NBYTES];

	put_bits(in, 0, 16, opcode);
	errno = 0;
	assert_null(mlx5dv_devx_obj_create(d->ctx, in, in_nbytes, out, out_nbytes));
	return errno == EREMOTEIO ? -out[0] : errno;
}

/* The kernel reserves some commands and allows one function for each of the others. */
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

/* A command about an object must contain that object's number. */
static void commands_with_another_objects_number(void **state)
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

/* Numbers of another context are refused like unknown ones. */
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

/* S6: an object in use cannot be destroyed: here each object has one user. */
static void destroy_order(void **state)
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

/* Objects of verbs accept commands, and CREATE_QP accepts a CQ of verbs. */
static void commands_on_verbs_objects(void **state)
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

	/* consumer index 0x120034; its top byte is not part of it */
	d->memory[DEVX_RECORDS + 1] = 0x12;
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

/* A collapsed CQ has no consumer index. */
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

/* Equal reasons have equal syndromes, different reasons different ones. */
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

/* F19: a fault makes a command fail. */
static void commands_fail(void **state)
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

/* F20: a command is delayed, and other threads run meanwhile. */
static void commands_are_slow(void **state)
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

/* F14: on a dead device only destruction works. */
static void dead_device(void **state)
{
	devx_t *d = *state;
	char answer[200];

	assert_int_equal(mlx5sw_control("device fatal mlx5_0", answer, sizeof(answer)), 0);
	assert_int_equal(bare(d, 0x400, MAILBOX_NBYTES, 16), EIO);
}

/* F14: the device of the next world works. */
static void next_world_has_a_working_device(void **state)
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, devx_setup, devx_teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(filter_of_the_kernel),
		TEST(lengths),
		TEST(query_lengths),
		TEST(commands_with_another_objects_number),
		TEST(objects_of_another_context),
		TEST(destroy_order),
		TEST(commands_on_verbs_objects),
		TEST(query_cq_shows_what_was_made),
		TEST(query_collapsed_cq),
		TEST(syndromes),
		TEST(commands_fail),
		TEST(commands_are_slow),
		TEST(dead_device),
		cmocka_unit_test(next_world_has_a_working_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
