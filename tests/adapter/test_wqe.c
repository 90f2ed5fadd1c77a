/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The decoder: WQEs of other encoders, all sizes, all opcodes. */
#include <endian.h>
#include <infiniband/mlx5dv.h>
#include "fixture.h"

#define MALFORMED 0x02

/* Written with rdma-core: QPN 0x1234, index 5, signalled, 0x7f0000001000 by rkey 0x00aabbcc, from
 * 0x7e0000002000 by lkey 0x00112233, 0x100 bytes. */
static const uint8_t golden[48] = {
	0x00, 0x00, 0x05, 0x08, 0x00, 0x12, 0x34, 0x03, 0x00, 0x00, 0x00, 0x08,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
	0x00, 0xaa, 0xbb, 0xcc, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
	0x00, 0x11, 0x22, 0x33, 0x00, 0x00, 0x7e, 0x00, 0x00, 0x00, 0x20, 0x00,
};

static mlx5swi_wqe_t wqe;

static int decode(const void *p)
{
	const char *row, *text;
	const int syndrome = mlx5swi_wqe_decode(p, &wqe, &row, &text);

	assert_true(syndrome == 0 || (row && text));
	return syndrome;
}

static void golden_write(void **state)
{
	(void)state;
	assert_int_equal(decode(golden), 0);
	assert_int_equal(wqe.opcode, 0x08);
	assert_int_equal(wqe.opmod, 0);
	assert_int_equal(wqe.ds, 3);
	assert_int_equal(wqe.ce, 2);
	assert_int_equal(wqe.fm, 0);
	assert_int_equal(wqe.index, 5);
	assert_int_equal(wqe.qpn, 0x1234);
	assert_int_equal(wqe.raddr, 0x7f0000001000);
	assert_int_equal(wqe.rkey, 0x00aabbcc);
	assert_int_equal(wqe.nbytes, 0x100);
	assert_int_equal(wqe.n_sge, 1);
	assert_int_equal(wqe.sge[0].nbytes, 0x100);
	assert_int_equal(wqe.sge[0].lkey, 0x00112233);
	assert_int_equal(wqe.sge[0].addr, 0x7e0000002000);
}

/* The WQEs that the other tests post have the same bytes. */
static void test_encoder_matches_golden(void **state)
{
	mlx5swi_qp_t qp = {.qpn = 0x1234};
	adapter_end_t e = {.qp = &qp, .pi = 5};
	const uint8_t fa_4[4] = {0x08, 0x00, 0x07, 0x15}, fa_8[4] = {0x09, 0x00, 0x07, 0x15};
	adapter_wqe_t w;

	(void)state;
	adapter_control(&w, &e, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, 0x7f0000001000, 0x00aabbcc);
	adapter_data(&w, 0x100, 0x00112233, 0x7e0000002000);
	assert_memory_equal(w.bytes, golden, sizeof(golden));
	e.pi = 7;
	adapter_control(&w, &e, OP_MASKED_FA, 0x08, 0);
	assert_memory_equal(w.bytes, fa_4, sizeof(fa_4));
	adapter_control(&w, &e, OP_MASKED_FA, 0x09, 0);
	assert_memory_equal(w.bytes, fa_8, sizeof(fa_8));
}

static void golden_doorbell(void **state)
{
	const uint8_t bytes[8] = {0x00, 0x00, 0x06, 0x00, 0x00, 0x12, 0x34, 0x00};
	const uint8_t record[4] = {0x00, 0x00, 0x00, 0x06};
	uint32_t dbr[2] = {0, 0};
	adapter_end_t e = {.dbr = dbr};
	uint64_t reg;

	(void)state;
	adapter_register((uint8_t *)&reg, 0, 6 << 8, 0x1234 << 8);
	assert_memory_equal(&reg, bytes, sizeof(bytes));
	adapter_record(&e, 6);
	assert_int_equal(dbr[0], 0);
	assert_memory_equal(&dbr[1], record, sizeof(record));
}

/* The bytes that rdma-core's inline functions write. */
typedef struct rdma_core_wqe {
	struct mlx5_wqe_ctrl_seg ctrl;
	struct mlx5_wqe_raddr_seg raddr;
	union {
		struct mlx5_wqe_data_seg data;
		struct mlx5_wqe_atomic_seg atomic;
		uint8_t bytes[32];
	};
} rdma_core_wqe_t;

static rdma_core_wqe_t rdma_core(uint8_t opcode, uint8_t opmod, uint8_t flags, uint8_t ds)
{
	rdma_core_wqe_t w = {.raddr = {htobe64(0x1122334455667788), htobe32(0xcafe), 0}};

	mlx5dv_set_ctrl_seg(&w.ctrl, 0xfffe, opcode, opmod, 0xabcde, flags, ds, 0, htobe32(0x99));
	return w;
}

static void check_rdma_core(const rdma_core_wqe_t *w, uint32_t nbytes)
{
	assert_int_equal(decode(w), 0);
	assert_int_equal(wqe.index, 0xfffe);
	assert_int_equal(wqe.qpn, 0xabcde);
	assert_int_equal(wqe.raddr, 0x1122334455667788);
	assert_int_equal(wqe.rkey, 0xcafe);
	assert_int_equal(wqe.nbytes, nbytes);
	assert_int_equal(wqe.n_sge, 1);
	assert_int_equal(wqe.sge[0].lkey, 0xbeef);
	assert_int_equal(wqe.sge[0].addr, 0x123456789abc);
}

static void rdma_core_segments(void **state)
{
	const uint8_t flags =
		MLX5_WQE_CTRL_CQ_UPDATE | MLX5_WQE_CTRL_FENCE | MLX5_WQE_CTRL_SOLICITED;
	rdma_core_wqe_t w = rdma_core(MLX5_OPCODE_RDMA_WRITE_IMM, 0, flags, 3);

	(void)state;
	mlx5dv_set_data_seg(&w.data, 77, 0xbeef, 0x123456789abc);
	check_rdma_core(&w, 77);
	assert_int_equal(wqe.ce, 2);
	assert_int_equal(wqe.fm, 4);
	assert_int_equal(wqe.is_solicited, 1);
	assert_int_equal(be32toh(wqe.imm), 0x99);
	w = rdma_core(MLX5_OPCODE_RDMA_READ, 0, MLX5_WQE_CTRL_INITIATOR_SMALL_FENCE, 3);
	mlx5dv_set_data_seg(&w.data, 78, 0xbeef, 0x123456789abc);
	check_rdma_core(&w, 78);
	assert_int_equal(wqe.ce, 0);
	assert_int_equal(wqe.fm, 1);
	assert_int_equal(wqe.is_solicited, 0);
}

static void rdma_core_atomics(void **state)
{
	static const uint8_t opcodes[2] = {MLX5_OPCODE_ATOMIC_CS, MLX5_OPCODE_ATOMIC_FA};

	(void)state;
	for (int i = 0; i < 2; i++) {
		rdma_core_wqe_t w = rdma_core(opcodes[i], 0, 0, 4);

		w.atomic.swap_add = htobe64(0x0102030405060708);
		w.atomic.compare = htobe64(0x1112131415161718);
		mlx5dv_set_data_seg((struct mlx5_wqe_data_seg *)(void *)&w.bytes[16], 8, 0xbeef,
				    0x123456789abc);
		check_rdma_core(&w, 8);
		assert_int_equal(wqe.width, 8);
		assert_int_equal(wqe.operands[0], 0x0102030405060708);
		if (i == 0)
			assert_int_equal(wqe.operands[1], 0x1112131415161718);
	}
}

/* The valid ds of an operation: min .. max, by the PRM's tables of segments. */
static const struct format {
	uint8_t opcode, opmod, min, max, width;
} formats[] = {
	{OP_NOP, 0, 1, 63, 0},         {OP_WRITE, 0, 2, 63, 0},       {OP_WRITE_IMM, 0, 2, 63, 0},
	{OP_READ, 0, 3, 3, 0},         {OP_CS, 0, 4, 4, 8},           {OP_FA, 0, 4, 4, 8},
	{OP_MASKED_CS, 0x08, 4, 4, 4}, {OP_MASKED_CS, 0x09, 5, 5, 8}, {OP_MASKED_FA, 0x08, 4, 4, 4},
	{OP_MASKED_FA, 0x09, 4, 4, 8}, {OP_DUMP, 0, 2, 2, 0},
};
#define N_FORMATS (sizeof(formats) / sizeof(formats[0]))

static const struct format *format_of(unsigned opcode, unsigned opmod)
{
	for (size_t i = 0; i < N_FORMATS; i++)
		if (formats[i].opcode == opcode && formats[i].opmod == opmod)
			return &formats[i];
	return NULL;
}

/* All segments look like data segments with the size of an atomic of this kind. */
static void segments(uint8_t *p, const struct format *f)
{
	memset(p, 0, 1024);
	for (unsigned i = 0; i < 63; i++)
		p[16 * i + 3] = f && f->width ? f->width : 8;
}

static void decoder_over_all_ds(void **state)
{
	(void)state;
	for (unsigned opcode = 0; opcode < 256; opcode++)
		for (unsigned opmod = 0; opmod < 256; opmod++) {
			const struct format *f = format_of(opcode, opmod);
			uint8_t p[1024];

			segments(p, f);
			p[0] = (uint8_t)opmod;
			p[3] = (uint8_t)opcode;
			for (unsigned ds = 0; ds < 256; ds++) {
				p[7] = (uint8_t)ds; /* 6 bits */
				assert_int_equal(decode(p),
						 f && (ds & 63) >= f->min && (ds & 63) <= f->max
							 ? 0
							 : MALFORMED);
			}
		}
}

static void inline_of_each_length(void **state)
{
	(void)state;
	for (uint32_t n = 0; n <= 1000; n++) {
		uint8_t p[1024];

		segments(p, NULL);
		p[3] = OP_WRITE;
		p[32] = 0x80;
		p[34] = (uint8_t)(n >> 8);
		p[35] = (uint8_t)n;
		for (uint32_t ds = 3; ds < 64; ds++) {
			const uint32_t needed = 2 + (4 + n + 15) / 16;

			p[7] = (uint8_t)ds;
			assert_int_equal(decode(p), ds == needed ? 0 : MALFORMED);
			if (ds != needed)
				continue;
			assert_ptr_equal(wqe.inlined, p + 36);
			assert_int_equal(wqe.nbytes, n);
		}
	}
}

/* The lengths of a list are added, even beyond the longest message. */
static void list_of_62(void **state)
{
	uint8_t p[1024];

	(void)state;
	segments(p, NULL);
	p[3] = OP_WRITE;
	p[7] = 63;
	assert_int_equal(decode(p), 0);
	assert_int_equal(wqe.n_sge, 61);
	assert_int_equal(wqe.nbytes, 61 * 8);
	for (unsigned i = 2; i < 63; i++)
		p[16 * i] = 0x7f;
	assert_int_equal(decode(p), 0);
	assert_int_equal(wqe.nbytes, 0x80000001);
	p[16 * 7 + 6] = 0x01; /* lkey 0x100 ends a list */
	assert_int_equal(decode(p), 0);
	assert_int_equal(wqe.n_sge, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_write),
		cmocka_unit_test(test_encoder_matches_golden),
		cmocka_unit_test(golden_doorbell),
		cmocka_unit_test(rdma_core_segments),
		cmocka_unit_test(rdma_core_atomics),
		cmocka_unit_test(decoder_over_all_ds),
		cmocka_unit_test(inline_of_each_length),
		cmocka_unit_test(list_of_62),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
