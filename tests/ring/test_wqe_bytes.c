/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bytes of WQEs and doorbells, compared with vectors from the PRM and from hardware, and with
 * the output of rdma-core's writers for the same values. */
#include <endian.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include <shmem_dev/impl/put.h>
#include "../common/mocka.h"

#define ROUNDS 20000

/* A WQE by rdma-core's structs; masked atomics, which they lack, by the PRM. */
typedef struct peer_wqe {
	_Alignas(16) uint8_t bytes[80];
	uint32_t nbytes;
} peer_wqe_t;

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Values whose bytes all differ, and values at the limits of fields. */
static uint64_t draw_value(void)
{
	static const uint64_t corners[] = {0,
					   1,
					   0x0102030405060708u,
					   0xff00fe00fd00fc00u,
					   UINT64_MAX,
					   0x8000000000000000u,
					   0x00000000ffffffffu,
					   0xffffffff00000000u};

	return draw() % 4 ? draw() : corners[draw() % 8];
}

/* Indexes around the wraps of 16, 32, 39 and 40 bits. */
static shmemdi_wqe_at_t draw_at(void)
{
	static const uint32_t bits[] = {16, 32, 39, 40};
	shmemdi_wqe_at_t at;

	at.index = draw() % 2 ? draw() : ((uint64_t)1 << bits[draw() % 4]) + draw() % 5 - 2;
	at.qpn_be = SHMEMD_QPN_BE((uint32_t)draw() & 0xffffff);
	at.flags = (draw() % 2 ? SHMEMD_MLX5_CQ_UPDATE : 0) |
		   (draw() % 2 ? SHMEMD_MLX5_FENCE_MODE_FENCE : 0);
	at.request = (uint32_t)draw();
	return at;
}

static shmemdi_mem_t draw_mem(void)
{
	shmemdi_mem_t m = {draw_value(), (uint32_t)draw_value()};

	return m;
}

static void peer_add(peer_wqe_t *w, const void *segment, uint32_t nbytes)
{
	memcpy(w->bytes + w->nbytes, segment, nbytes);
	w->nbytes += nbytes;
}

static void peer_begin(peer_wqe_t *w, shmemdi_wqe_at_t at, uint8_t opmod, uint8_t opcode,
		       uint8_t ds)
{
	struct mlx5_wqe_ctrl_seg control = {0};

	memset(w, 0, sizeof(*w));
	mlx5dv_set_ctrl_seg(&control, (uint16_t)at.index, opcode, opmod, SHMEMD_QPN_BE(at.qpn_be),
			    (uint8_t)at.flags, ds, 0, htobe32(at.request & 0xffffff));
	peer_add(w, &control, sizeof(control));
}

static void peer_remote(peer_wqe_t *w, shmemdi_mem_t remote)
{
	struct mlx5_wqe_raddr_seg s = {
		.raddr = htobe64(remote.addr), .rkey = htobe32(be32toh(remote.key)), .reserved = 0};

	peer_add(w, &s, sizeof(s));
}

static void peer_data(peer_wqe_t *w, shmemdi_mem_t local, uint32_t nbytes)
{
	struct mlx5_wqe_data_seg s;

	mlx5dv_set_data_seg(&s, nbytes, be32toh(local.key), (uintptr_t)local.addr);
	peer_add(w, &s, sizeof(s));
}

static void peer_inline(peer_wqe_t *w, const void *data, uint32_t nbytes)
{
	struct mlx5_wqe_inl_data_seg s = {htobe32(nbytes | MLX5_INLINE_SEG)};

	peer_add(w, &s, sizeof(s));
	peer_add(w, data, nbytes);
}

static void peer_pair(peer_wqe_t *w, uint64_t first, uint64_t second)
{
	struct mlx5_wqe_atomic_seg s = {htobe64(first), htobe64(second)};

	peer_add(w, &s, sizeof(s));
}

static void peer_four(peer_wqe_t *w, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	uint32_t words[4] = {htobe32(a), htobe32(b), htobe32(c), htobe32(d)};

	peer_add(w, words, sizeof(words));
}

/* Fill the WQE, so that words that no builder wrote are detected. */
static void spoil(shmemdi_wqe_t *q)
{
	memset(q, 0xa5, sizeof(*q));
}

static void same(const shmemdi_wqe_t *q, const peer_wqe_t *w)
{
	assert_memory_equal(q->w, w->bytes, w->nbytes);
}

/* The vectors */

static void vector_write(void **unused)
{
	static const uint8_t wanted[48] = {
		0x00, 0x00, 0x05, 0x08, 0x00, 0x12, 0x34, 0x03, 0x00, 0x00, 0x00, 0x08,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x7f, 0x00, 0x00, 0x00, 0x10, 0x00,
		0x00, 0xaa, 0xbb, 0xcc, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00,
		0x00, 0x11, 0x22, 0x33, 0x00, 0x00, 0x7e, 0x00, 0x00, 0x00, 0x20, 0x00};
	const shmemdi_wqe_at_t at = {5, SHMEMD_QPN_BE(0x1234), SHMEMD_MLX5_CQ_UPDATE, 0};
	const shmemdi_mem_t remote = {0x7f0000001000u, htobe32(0x00aabbcc)};
	const shmemdi_mem_t local = {0x7e0000002000u, htobe32(0x00112233)};
	shmemdi_wqe_t q;

	(void)unused;
	spoil(&q);
	shmemdi_wqe_write(&q, at, remote, local, 0x100);
	assert_memory_equal(q.w, wanted, sizeof(wanted));
}

static void vector_doorbell(void **unused)
{
	static const uint8_t wanted[8] = {0x00, 0x00, 0x06, 0x00, 0x00, 0x12, 0x34, 0x00};
	uint64_t word = shmemdi_doorbell(6, SHMEMD_QPN_BE(0x1234));

	(void)unused;
	assert_memory_equal(&word, wanted, sizeof(wanted));
}

static void vector_masked_fetch_and_add(void **unused)
{
	static const uint8_t wanted[2][4] = {{0x08, 0x00, 0x07, 0x15}, {0x09, 0x00, 0x07, 0x15}};
	const shmemdi_wqe_at_t at = {7, 1, 0, 0};
	const shmemdi_mem_t mem = {0, 0};
	const shmemdi_nic_amo_t amo = {.opcode = SHMEMD_MLX5_ATOMIC_MASKED_FA};
	shmemdi_wqe_t q;

	(void)unused;
	for (uint32_t i = 0; i < 2; i++) {
		shmemdi_wqe_amo(&q, at, mem, mem, &amo, 4 + 4 * i);
		assert_memory_equal(q.w, wanted[i], 4);
	}
}

/* Constants of the library and of rdma-core. */
static void constants(void **unused)
{
	(void)unused;
	assert_int_equal(SHMEMD_MLX5_NOP, MLX5_OPCODE_NOP);
	assert_int_equal(SHMEMD_MLX5_RDMA_WRITE, MLX5_OPCODE_RDMA_WRITE);
	assert_int_equal(SHMEMD_MLX5_RDMA_READ, MLX5_OPCODE_RDMA_READ);
	assert_int_equal(SHMEMD_MLX5_ATOMIC_CS, MLX5_OPCODE_ATOMIC_CS);
	assert_int_equal(SHMEMD_MLX5_ATOMIC_FA, MLX5_OPCODE_ATOMIC_FA);
	assert_int_equal(SHMEMD_MLX5_ATOMIC_MASKED_CS, MLX5_OPCODE_ATOMIC_MASKED_CS);
	assert_int_equal(SHMEMD_MLX5_ATOMIC_MASKED_FA, MLX5_OPCODE_ATOMIC_MASKED_FA);
	assert_int_equal(SHMEMD_MLX5_CQ_UPDATE, MLX5_WQE_CTRL_CQ_UPDATE);
	assert_int_equal(SHMEMD_MLX5_INLINE, MLX5_INLINE_SEG);
	assert_int_equal(SHMEMD_WQEBB_NBYTES, MLX5_SEND_WQE_BB);
	assert_int_equal(SHMEMD_MLX5_INLINE_MAX, MLX5_SEND_WQE_BB -
							 sizeof(struct mlx5_wqe_ctrl_seg) -
							 sizeof(struct mlx5_wqe_raddr_seg) -
							 sizeof(struct mlx5_wqe_inl_data_seg));
}

/* The builders */

static void write_and_read(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		const shmemdi_wqe_at_t at = draw_at();
		const shmemdi_mem_t remote = draw_mem(), local = draw_mem();
		const uint32_t nbytes = 1 + (uint32_t)(draw() % SHMEMD_MLX5_MAX_MSG);
		shmemdi_wqe_t q;
		peer_wqe_t w;

		spoil(&q);
		if (i % 2)
			shmemdi_wqe_write(&q, at, remote, local, nbytes);
		else
			shmemdi_wqe_read(&q, at, remote, local, nbytes);
		peer_begin(&w, at, 0, i % 2 ? MLX5_OPCODE_RDMA_WRITE : MLX5_OPCODE_RDMA_READ, 3);
		peer_remote(&w, remote);
		peer_data(&w, local, nbytes);
		same(&q, &w);
	}
}

/* All lengths, with data whose bytes are not symmetric. */
static void write_inline(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		const uint32_t nbytes = 1 + (uint32_t)i % SHMEMD_MLX5_INLINE_MAX;
		const uint8_t segments = (uint8_t)(2 + (4 + nbytes + 15) / 16);
		const shmemdi_wqe_at_t at = draw_at();
		const shmemdi_mem_t remote = draw_mem();
		uint32_t words[7];
		shmemdi_wqe_t q;
		peer_wqe_t w;

		for (int k = 0; k < 7; k++)
			words[k] = (uint32_t)draw();
		spoil(&q);
		shmemdi_wqe_write_inline(&q, at, remote, words, nbytes);
		peer_begin(&w, at, 0, MLX5_OPCODE_RDMA_WRITE, segments);
		peer_remote(&w, remote);
		peer_inline(&w, words, nbytes);
		same(&q, &w);
		assert_in_range(segments, 3, 4);
	}
}

/* A DUMP always waits for earlier READs. */
static void dump(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		const shmemdi_mem_t local = draw_mem();
		const uint32_t nbytes = 1 + (uint32_t)(draw() % SHMEMD_MLX5_MAX_MSG);
		shmemdi_wqe_at_t at = draw_at();
		shmemdi_wqe_t q;
		peer_wqe_t w;

		spoil(&q);
		shmemdi_wqe_dump(&q, at, local, nbytes);
		at.flags |= 0x40;
		peer_begin(&w, at, 0, 0x23, 2);
		peer_data(&w, local, nbytes);
		same(&q, &w);
	}
}

static shmemdi_nic_amo_t draw_amo(uint32_t opcode)
{
	shmemdi_nic_amo_t amo = {opcode,       draw_value(), draw_value(),
				 draw_value(), draw_value(), draw_value()};

	return amo;
}

static void peer_operands(peer_wqe_t *w, const shmemdi_nic_amo_t *a, uint32_t width)
{
	switch (a->opcode * 10 + width) {
	case MLX5_OPCODE_ATOMIC_CS * 10 + 8:
		peer_pair(w, a->value, a->compare);
		break;
	case MLX5_OPCODE_ATOMIC_FA * 10 + 8:
		peer_pair(w, a->value, 0);
		break;
	case MLX5_OPCODE_ATOMIC_MASKED_FA * 10 + 8:
		peer_pair(w, a->value, a->boundary);
		break;
	case MLX5_OPCODE_ATOMIC_MASKED_FA * 10 + 4:
		peer_four(w, (uint32_t)a->value, (uint32_t)a->boundary, 0, 0);
		break;
	case MLX5_OPCODE_ATOMIC_MASKED_CS * 10 + 8:
		peer_pair(w, a->value, a->compare);
		peer_pair(w, a->swap_mask, a->compare_mask);
		break;
	default:
		peer_four(w, (uint32_t)a->value, (uint32_t)a->compare, (uint32_t)a->swap_mask,
			  (uint32_t)a->compare_mask);
	}
}

static void check_amo(uint8_t opcode, uint32_t width)
{
	const int is_long = opcode == MLX5_OPCODE_ATOMIC_MASKED_CS && width == 8;
	const int is_masked = opcode >= MLX5_OPCODE_ATOMIC_MASKED_CS;
	const uint8_t opmod = is_masked ? (uint8_t)(0x08 | (width == 8)) : 0;

	assert_int_equal(shmemdi_nic_amo_wqebbs(opcode, width), is_long ? 2 : 1);
	for (int i = 0; i < ROUNDS; i++) {
		const shmemdi_wqe_at_t at = draw_at();
		const shmemdi_mem_t remote = draw_mem(), local = draw_mem();
		const shmemdi_nic_amo_t amo = draw_amo(opcode);
		shmemdi_wqe_t q;
		peer_wqe_t w;

		spoil(&q);
		shmemdi_wqe_amo(&q, at, remote, local, &amo, width);
		peer_begin(&w, at, opmod, opcode, is_long ? 5 : 4);
		peer_remote(&w, remote);
		peer_operands(&w, &amo, width);
		peer_data(&w, local, width);
		assert_int_equal(w.nbytes, is_long ? 80 : 64);
		same(&q, &w);
	}
}

static void atomics(void **unused)
{
	(void)unused;
	check_amo(MLX5_OPCODE_ATOMIC_CS, 8);
	check_amo(MLX5_OPCODE_ATOMIC_FA, 8);
	check_amo(MLX5_OPCODE_ATOMIC_MASKED_CS, 8);
	check_amo(MLX5_OPCODE_ATOMIC_MASKED_FA, 8);
	check_amo(MLX5_OPCODE_ATOMIC_MASKED_CS, 4);
	check_amo(MLX5_OPCODE_ATOMIC_MASKED_FA, 4);
}

/* The reservation's WQEBBs, which are known before the opcode, are those that it will take. */
static void words(void **unused)
{
	(void)unused;
	for (uint32_t width = 4; width <= 8; width += 4)
		for (int kind = SHMEMDI_AMO_SET; kind <= SHMEMDI_AMO_CAS; kind++) {
			const shmemdi_word_t word = {NULL, 0, width, kind};
			const shmemdi_nic_amo_t amo = shmemdi_nic_amo(kind, 0, 0, width);

			assert_int_equal(shmemdi_word_wqebbs(word),
					 shmemdi_nic_amo_wqebbs(amo.opcode, width));
		}
	for (uint32_t width = 1; width <= 8; width *= 2) {
		const shmemdi_word_t word = {NULL, 0, width, SHMEMDI_WORD_STORE};

		assert_int_equal(shmemdi_word_wqebbs(word), 1);
	}
}

static void doorbells(void **unused)
{
	(void)unused;
	for (int i = 0; i < ROUNDS; i++) {
		const shmemdi_wqe_at_t at = draw_at();
		const uint32_t wanted[2] = {htobe32((uint32_t)(uint16_t)at.index << 8),
					    htobe32(SHMEMD_QPN_BE(at.qpn_be) << 8)};
		const uint64_t word = shmemdi_doorbell(at.index, at.qpn_be);

		assert_memory_equal(&word, wanted, sizeof(wanted));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(vector_write),
		cmocka_unit_test(vector_doorbell),
		cmocka_unit_test(vector_masked_fetch_and_add),
		cmocka_unit_test(constants),
		cmocka_unit_test(write_and_read),
		cmocka_unit_test(write_inline),
		cmocka_unit_test(dump),
		cmocka_unit_test(atomics),
		cmocka_unit_test(words),
		cmocka_unit_test(doorbells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
