/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bytes of a CQE: decoded by the library, written with rdma-core's struct, and one from
 * hardware. The classification of errors into those of the program and those of the path. */
#include <endian.h>
#include <string.h>
#include <infiniband/mlx5dv.h>
#include <shmem_dev/impl/cqe.h>
#include "../common/mocka.h"

static uint64_t tail_of(const struct mlx5_cqe64 *cqe)
{
	uint64_t tail;

	memcpy(&tail, (const char *)cqe + SHMEMD_CQE_TAIL, sizeof(tail));
	return tail;
}

static uint64_t tail(uint8_t op_own, uint8_t opcode, uint32_t qpn, uint16_t counter,
		     uint8_t signature)
{
	struct mlx5_cqe64 cqe;

	memset(&cqe, 0xff, sizeof(cqe));
	cqe.sop_drop_qpn = htobe32((uint32_t)opcode << 24 | qpn);
	cqe.wqe_counter = htobe16(counter);
	cqe.signature = signature;
	cqe.op_own = op_own;
	return tail_of(&cqe);
}

static void layout(void **unused)
{
	(void)unused;
	assert_int_equal(SHMEMD_CQE_NBYTES, sizeof(struct mlx5_cqe64));
	assert_int_equal(SHMEMD_CQE_TAIL, offsetof(struct mlx5_cqe64, sop_drop_qpn));
	assert_int_equal(SHMEMD_CQE_REQ, MLX5_CQE_REQ);
	assert_int_equal(SHMEMD_CQE_REQ_ERR, MLX5_CQE_REQ_ERR);
	assert_int_equal(SHMEMD_CQE_INVALID, MLX5_CQE_INVALID);
}

/* Bytes 48 to 63 from hardware (Juniper/warp17#81). */
static void vector_error(void **unused)
{
	static const uint8_t seen[16] = {0x00, 0x00, 0x00, 0x00, 0x9d, 0x00, 0x53, 0x04,
					 0x0a, 0x00, 0x15, 0x42, 0x00, 0x19, 0xb0, 0xd2};
	uint64_t t;

	(void)unused;
	memcpy(&t, seen + 8, sizeof(t));
	assert_int_equal(shmemdi_cqe_opcode(t), SHMEMD_CQE_REQ_ERR);
	assert_int_equal(shmemdi_cqe_counter(t), 0x19);
	assert_int_equal(shmemdi_cqe_wqe_opcode(t), 0x0a);
	assert_int_equal(shmemdi_cqe_qpn(t), 0x1542);
	assert_true(shmemdi_cqe_is(t, 0, 64));
	assert_false(shmemdi_cqe_is(t, 64, 64));
	assert_int_equal(SHMEMD_CQE_SYNDROMES, 48);
	assert_int_equal(shmemdi_syndrome_status(seen[7]), SHMEMD_ERR_REFUSED);
}

/* Every byte has a distinct value. */
static void fields(void **unused)
{
	(void)unused;
	for (unsigned opcode = 0; opcode < 16; opcode++)
		for (unsigned low = 0; low < 16; low++) {
			const uint64_t t =
				tail((uint8_t)(opcode << 4 | low), 0x12, 0x345678, 0x9abc, 0xde);

			assert_int_equal(shmemdi_cqe_opcode(t), opcode);
			assert_int_equal(shmemdi_cqe_wqe_opcode(t), 0x12);
			assert_int_equal(shmemdi_cqe_qpn(t), 0x345678);
			assert_int_equal(shmemdi_cqe_counter(t), 0x9abc);
		}
	for (unsigned counter = 0; counter < 65536; counter++)
		assert_int_equal(shmemdi_cqe_counter(tail(0, 0xff, 0, (uint16_t)counter, 0xff)),
				 counter);
}

/* A ring filled with ones has no valid CQE, in any lap. */
static void empty_ring_has_no_cqe(void **unused)
{
	(void)unused;
	for (uint32_t cqe = 0; cqe < 512; cqe++) {
		assert_false(shmemdi_cqe_is(UINT64_MAX, cqe, 64));
		assert_false(shmemdi_cqe_is(tail(0xf0, 0, 0, 0, 0), cqe, 64));
	}
}

/* The owner bit changes with each lap: the CQE of the current lap is valid, that of the previous
 * lap is not. Numbers of CQEs have 24 bits. */
static void laps(void **unused)
{
	static const uint32_t starts[] = {0, 32768, (1u << 24) - 200, 65536 - 100};

	(void)unused;
	for (uint32_t n = 1; n <= SHMEMD_MAX_DEPTH; n *= 2)
		for (unsigned s = 0; s < 4; s++)
			for (uint32_t i = 0; i < 300; i++) {
				const uint32_t number = (starts[s] + i) & 0xffffff;
				const uint8_t owner = (uint8_t)(number / n % 2);

				assert_true(shmemdi_cqe_is(tail(owner, 0, 0, 0, 0), number, n));
				assert_false(shmemdi_cqe_is(tail(!owner, 0, 0, 0, 0), number, n));
				assert_true(shmemdi_cqe_is(
					tail((uint8_t)(0xd2 | owner), 0, 0, 0, 0), number, n));
			}
}

static void syndromes(void **unused)
{
	static const uint8_t refused[] = {0x01, 0x02, 0x04, 0x06, 0x10,
					  0x11, 0x12, 0x13, 0x14, 0x22};
	static const uint8_t path[] = {0x05, 0x15, 0x16};

	(void)unused;
	for (size_t i = 0; i < sizeof(refused); i++)
		assert_int_equal(shmemdi_syndrome_status(refused[i]), SHMEMD_ERR_REFUSED);
	for (size_t i = 0; i < sizeof(path); i++)
		assert_int_equal(shmemdi_syndrome_status(path[i]), SHMEMD_ERR_PATH);
	/* An unknown syndrome never leads to a repetition. */
	for (unsigned s = 0x23; s < 256; s++)
		assert_int_equal(shmemdi_syndrome_status(s), SHMEMD_ERR_REFUSED);
	assert_int_equal(SHMEMD_SYNDROME_LOCAL_LENGTH, MLX5_CQE_SYNDROME_LOCAL_LENGTH_ERR);
	assert_int_equal(SHMEMD_SYNDROME_LOCAL_QP_OP, MLX5_CQE_SYNDROME_LOCAL_QP_OP_ERR);
	assert_int_equal(SHMEMD_SYNDROME_LOCAL_PROT, MLX5_CQE_SYNDROME_LOCAL_PROT_ERR);
	assert_int_equal(SHMEMD_SYNDROME_WR_FLUSH, MLX5_CQE_SYNDROME_WR_FLUSH_ERR);
	assert_int_equal(SHMEMD_SYNDROME_MW_BIND, MLX5_CQE_SYNDROME_MW_BIND_ERR);
	assert_int_equal(SHMEMD_SYNDROME_BAD_RESP, MLX5_CQE_SYNDROME_BAD_RESP_ERR);
	assert_int_equal(SHMEMD_SYNDROME_LOCAL_ACCESS, MLX5_CQE_SYNDROME_LOCAL_ACCESS_ERR);
	assert_int_equal(SHMEMD_SYNDROME_REMOTE_INVAL_REQ, MLX5_CQE_SYNDROME_REMOTE_INVAL_REQ_ERR);
	assert_int_equal(SHMEMD_SYNDROME_REMOTE_ACCESS, MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR);
	assert_int_equal(SHMEMD_SYNDROME_REMOTE_OP, MLX5_CQE_SYNDROME_REMOTE_OP_ERR);
	assert_int_equal(SHMEMD_SYNDROME_RETRY_EXC, MLX5_CQE_SYNDROME_TRANSPORT_RETRY_EXC_ERR);
	assert_int_equal(SHMEMD_SYNDROME_RNR_RETRY_EXC, MLX5_CQE_SYNDROME_RNR_RETRY_EXC_ERR);
	assert_int_equal(SHMEMD_SYNDROME_REMOTE_ABORTED, MLX5_CQE_SYNDROME_REMOTE_ABORTED_ERR);
}

static void operations(void **unused)
{
	(void)unused;
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_RDMA_WRITE), SHMEMD_OP_PUT);
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_RDMA_READ), SHMEMD_OP_GET);
	assert_int_equal(shmemdi_wqe_op(0x23), SHMEMD_OP_QUIET); /* DUMP */
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_ATOMIC_CS), SHMEMD_OP_ATOMIC);
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_ATOMIC_FA), SHMEMD_OP_ATOMIC);
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_ATOMIC_MASKED_CS), SHMEMD_OP_ATOMIC);
	assert_int_equal(shmemdi_wqe_op(MLX5_OPCODE_ATOMIC_MASKED_FA), SHMEMD_OP_ATOMIC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),     cmocka_unit_test(vector_error),
		cmocka_unit_test(fields),     cmocka_unit_test(empty_ring_has_no_cqe),
		cmocka_unit_test(laps),       cmocka_unit_test(syndromes),
		cmocka_unit_test(operations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
