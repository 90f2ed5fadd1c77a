/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Texts of statuses, and lines of error records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/mlx5.h>
#include <shmem_host/device.h>

static const char unknown[] = "unknown status";

static void every_status_has_a_sentence(void **state)
{
	(void)state;
	for (int s = SHMEMD_OK; s < SHMEMD_N_STATUSES; s++)
		assert_string_not_equal(shmemh_strerror(s), unknown);
	for (int s = SHMEMH_ERR_ARGUMENT; s <= SHMEMH_ERR_NIC; s++)
		assert_string_not_equal(shmemh_strerror(s), unknown);
	assert_string_equal(shmemh_strerror(SHMEMD_N_STATUSES), unknown);
	assert_string_equal(shmemh_strerror(SHMEMH_ERR_NIC + 1), unknown);
	assert_string_equal(shmemh_strerror(-1), unknown);
}

static const char *line(const shmemd_error_t *err)
{
	static char text[512];

	assert_ptr_equal(shmemh_error_format(err, text, sizeof text), text);
	return text;
}

static void no_error(void **state)
{
	shmemd_error_t err = {0};

	(void)state;
	assert_string_equal(line(&err), "no device error");
}

static void record_of_a_check(void **state)
{
	shmemd_error_t err = {.status = SHMEMD_ERR_BAD_PE,
			      .op = SHMEMD_OP_PUT,
			      .pe = -1,
			      .line = 42,
			      .addr = 0x1000,
			      .value = 7,
			      .wanted = 4,
			      .site = "user.cu"};

	(void)state;
	assert_string_equal(line(&err),
			    "device put: PE number outside the context's team (PE 7 of 4) at "
			    "user.cu:42");
	err.line = 0;
	assert_non_null(strstr(line(&err), "(PE 7 of 4) at user.cu"));
	assert_null(strstr(line(&err), "user.cu:"));
}

static void a_mistake_has_its_own_words(void **state)
{
	static const struct {
		uint32_t status;
		uint64_t addr, value, wanted;
		const char *words;
	} rows[] = {
		{SHMEMD_ERR_BAD_PE, 0, (uint64_t)-1, 4, "device put: PE number"},
		{SHMEMD_ERR_BAD_PE, 0, (uint64_t)-1, 4, "(PE -1 of 4)"},
		{SHMEMD_ERR_NOT_SYMMETRIC, 0x40, 24, 0, "(address 0x40, 24 bytes)"},
		{SHMEMD_ERR_UNALIGNED, 0x41, 8, 0, "(address 0x41, a word of 8 bytes)"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_ENUM, 6, 5, "(value 6, outside 0 .. 5)"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_LANES, 7, 32, "only 7 of the 32 lanes"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_THREADS, 32, 64,
		 "only 32 of the group's 64 threads"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_DIFFER, 3, 1, "lane 3 agrees with 1"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_OUTSIDER, 70, 64,
		 "thread 70 is not one of the group's 64"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_SOURCE, 16, 0, "16 bytes, was written"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_BLOCKS, 3, 2,
		 "block 3 of the kernel calls for a grid of 2 blocks"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_ARRIVED, 7, 4,
		 "held 7, with 4 blocks to arrive"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_HALVES, 3, 0, "3 elements of F16 or BF16"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_STRIDE, (uint64_t)-1, 1,
		 "a stride of -1 elements: at least 1"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_TEAM, 2, 0, "a team of 2 PEs that is not"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_GROUP, 128, 64,
		 "a block of at least 128 threads, this block has 64"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_CHANNEL, 9, 0,
		 "(channel 9, outside 0 .. 0)"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_CALLS, 32, 0,
		 "thread 32 makes this call, thread 0 of the same group another one"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_SRC, 0, 8,
		 "src is NULL or cannot be read: address 0x0, 8 bytes"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_DST, 0x40, 8,
		 "dst is NULL or cannot be accessed: address 0x40, 8 bytes"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_OVERLAP, 8, 64,
		 "8 bytes apart on this PE, and overlap: 64 bytes"},
		{SHMEMD_ERR_BAD_ARGUMENT, SHMEMD_MISTAKE_SIGNAL, (uint64_t)-4, 16,
		 "the signal word sig is inside the data, -4 bytes behind dst, of 16"},
		{SHMEMD_ERR_BAD_ARGUMENT, 99, 1, 2, "device put: bad argument at user.cu"},
		{SHMEMD_ERR_BAD_CONTEXT, 0, 0, 0, "no more at user.cu"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		shmemd_error_t err = {.status = rows[i].status,
				      .op = SHMEMD_OP_PUT,
				      .pe = -1,
				      .addr = rows[i].addr,
				      .value = rows[i].value,
				      .wanted = rows[i].wanted,
				      .site = "user.cu"};

		if (!strstr(line(&err), rows[i].words))
			fail_msg("no \"%s\" in \"%s\"", rows[i].words, line(&err));
		assert_null(strstr(line(&err), "put, PE"));
	}
}

static void errors_of_cuda(void **state)
{
	(void)state;
	assert_string_equal(shmemh_strerror(SHMEMD_STATUS_CUDA + 700),
			    "CUDA error 700: a kernel accessed an illegal address");
	assert_non_null(strstr(shmemh_strerror(SHMEMD_STATUS_CUDA + 720), "can be resident"));
	assert_string_equal(shmemh_strerror(SHMEMD_STATUS_CUDA + 4711),
			    "CUDA error 4711: cudaGetErrorString has its text");
	assert_string_equal(shmemh_strerror(SHMEMD_STATUS_CUDA), unknown);
}

static void every_operation_has_a_name(void **state)
{
	shmemd_error_t err = {.status = SHMEMD_ERR_TIMEOUT};

	(void)state;
	for (err.op = SHMEMD_OP_PUT; err.op <= SHMEMD_OP_FENCE; err.op++)
		assert_null(strstr(line(&err), "device operation"));
	assert_non_null(strstr(line(&err), "device operation"));
	err.op = SHMEMD_OP_QUIET;
	assert_non_null(strstr(line(&err), "device quiet,"));
}

static uint64_t value_of(uint32_t qpn, uint32_t opcode, uint32_t vendor, uint32_t syndrome)
{
	return (uint64_t)qpn << 32 | opcode << 16 | vendor << 8 | syndrome;
}

static void record_of_a_nic(void **state)
{
	shmemd_error_t err = {
		.status = SHMEMD_ERR_REFUSED,
		.op = SHMEMD_OP_PUT,
		.pe = 3,
		.addr = 17,
		.value = value_of(0x12a4, SHMEMD_MLX5_RDMA_WRITE, 0x88,
				  SHMEMD_SYNDROME_REMOTE_ACCESS),
		.wanted = SHMEMD_WANTED_CQE,
	};

	(void)state;
	assert_string_equal(
		line(&err),
		"device put, PE 3 of the team: the NIC or the target refused an operation: key, "
		"range, right, "
		"alignment or length (RDMA WRITE (0x08), WQE 17 of QP 0x12a4: remote access error "
		"(0x13), vendor 0x88: unknown remote key, or an address outside its memory "
		"region)");
	err.status = SHMEMD_ERR_PATH;
	err.op = SHMEMD_OP_QUIET;
	err.value = value_of(0xffffff, 0xee, 0x01, 0x77);
	assert_string_equal(
		line(&err),
		"device quiet, PE 3 of the team: the channel sends nothing any more: retries used "
		"up, port or queue pair down, nothing completed in time, or an "
		"impossible count of executed requests (unknown opcode (0xee), WQE 17 of "
		"QP 0xffffff: unknown syndrome (0x77), vendor 0x01)");
}

/* A wait for a channel that the host ended or that had failed before: there is no CQE to describe.
 * Or a barrier in which the quiet of another member has failed. */
static void record_without_a_cqe(void **state)
{
	shmemd_error_t err = {.status = SHMEMD_ERR_PATH,
			      .op = SHMEMD_OP_QUIET,
			      .pe = 1,
			      .value = 0x105,
			      .wanted = 0x107};

	(void)state;
	assert_string_equal(
		line(&err),
		"device quiet, PE 1 of the team: the channel sends nothing any more: retries used "
		"up, port or queue pair down, nothing completed in time, or an "
		"impossible count of executed requests (the channel has failed, 261 "
		"WQEBBs are complete)");
	err.op = SHMEMD_OP_BARRIER;
	err.addr = 0x7000;
	err.value = 17;
	err.wanted = 0;
	assert_string_equal(
		line(&err),
		"device barrier, PE 1 of the team: the channel sends nothing any more: retries "
		"used up, port or queue pair down, nothing completed in time, or an "
		"impossible count of executed requests (that PE's quiet failed, in sync "
		"number 17)");
}

/* Waits without success: what the values are depends on the operation. */
static void records_of_waits(void **state)
{
	static const struct {
		uint32_t status, op;
		uint64_t addr, value, wanted;
		const char *words;
	} rows[] = {
		{SHMEMD_ERR_COLLECTIVE, SHMEMD_OP_BARRIER, 0x7000, SHMEMD_OP_SYNC,
		 SHMEMD_OP_BARRIER, "(that PE called sync, this one barrier)"},
		{SHMEMD_ERR_TIMEOUT, SHMEMD_OP_BARRIER, 0x7000, 0,
		 SHMEMD_SYNC_FLAG(1, 0, 0, SHMEMD_OP_BARRIER),
		 "(the member's flag is of sync or barrier number 0, waited for number 1)"},
		{SHMEMD_ERR_PEER, SHMEMD_OP_SYNC, 0x7000, SHMEMD_SYNC_FLAG(7, 0, 0, SHMEMD_OP_SYNC),
		 SHMEMD_SYNC_FLAG(8, 0, 0, 0),
		 "(the member's flag is of sync or barrier number 7, waited for number 8)"},
		{SHMEMD_ERR_TIMEOUT, SHMEMD_OP_BARRIER, 0, 5, 9,
		 "(5 WQEBBs of the channel are complete, waited for 9)"},
		{SHMEMD_ERR_TIMEOUT, SHMEMD_OP_GET, 0, 5, 0,
		 "(5 WQEBBs of the channel are complete)"},
		{SHMEMD_ERR_UNREACHABLE, SHMEMD_OP_PUT, 0x7000, 0, 0, "(address 0x7000)"},
		{SHMEMD_ERR_TIMEOUT, SHMEMD_OP_WAIT, 0x7008, 0, 0,
		 "(address 0x7008, value 0, compared with 0)"},
		{SHMEMD_ERR_TIMEOUT, SHMEMD_OP_WAIT, 0x7008, 3, (uint64_t)-5,
		 "(address 0x7008, value 3, compared with 18446744073709551611 (-5))"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		shmemd_error_t err = {.status = rows[i].status,
				      .op = rows[i].op,
				      .pe = 1,
				      .addr = rows[i].addr,
				      .value = rows[i].value,
				      .wanted = rows[i].wanted};

		if (!strstr(line(&err), rows[i].words))
			fail_msg("no \"%s\" in \"%s\"", rows[i].words, line(&err));
		assert_non_null(strstr(line(&err), ", PE 1 of the team: "));
	}
}

static void expect_words(uint32_t opcode, uint32_t vendor, uint32_t syndrome, const char *words)
{
	shmemd_error_t err = {.status = SHMEMD_ERR_PATH,
			      .value = value_of(1, opcode, vendor, syndrome),
			      .wanted = SHMEMD_WANTED_CQE};

	if (!strstr(line(&err), words))
		fail_msg("no \"%s\" in \"%s\"", words, line(&err));
}

static void opcodes_and_syndromes_in_words(void **state)
{
	static const struct {
		uint32_t code;
		const char *words;
	} opcodes[] = {{0x00, "NOP (0x00)"},
		       {0x08, "RDMA WRITE (0x08)"},
		       {0x10, "RDMA READ (0x10)"},
		       {0x11, "(compare-and-swap (0x11)"},
		       {0x12, "(fetch-and-add (0x12)"},
		       {0x14, "masked compare-and-swap (0x14)"},
		       {0x15, "masked fetch-and-add (0x15)"},
		       {0x23, "DUMP (0x23)"}},
	  syndromes[] = {{0x01, "local length error (0x01)"},
			 {0x02, "local queue pair operation error (0x02)"},
			 {0x04, "local protection error (0x04)"},
			 {0x05, "flushed (0x05)"},
			 {0x06, "memory window bind error (0x06)"},
			 {0x10, "bad response (0x10)"},
			 {0x11, "local access error (0x11)"},
			 {0x12, "remote invalid request (0x12)"},
			 {0x13, "remote access error (0x13)"},
			 {0x14, "remote operation error (0x14)"},
			 {0x15, "transport retries exceeded (0x15)"},
			 {0x16, "receiver not ready, retries exceeded (0x16)"},
			 {0x22, "remote aborted (0x22)"}};

	(void)state;
	for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
		expect_words(opcodes[i].code, 0, 5, opcodes[i].words);
	for (size_t i = 0; i < sizeof syndromes / sizeof syndromes[0]; i++)
		expect_words(8, 0, syndromes[i].code, syndromes[i].words);
}

static void vendor_syndromes_that_are_known(void **state)
{
	(void)state;
	expect_words(8, 0x52, 0x04, "vendor 0x52: unknown local key");
	expect_words(8, 0xf9, 0x05, "vendor 0xf9: a request before it failed, or");
	expect_words(8, 0x81, 0x15, "vendor 0x81: no answer from the target");
	expect_words(8, 0x93, 0x13, "vendor 0x93: page fault at the target");
	expect_words(8, 0x81, 0x13, "vendor 0x81)"); /* has a meaning with 0x15 only */
}

/* A caller's buffer may be short: the line is cut and terminated. */
static void line_is_cut_to_the_buffer(void **state)
{
	shmemd_error_t err = {.status = SHMEMD_ERR_PATH, .wanted = SHMEMD_WANTED_CQE};
	char text[16];

	(void)state;
	memset(text, 'x', sizeof text);
	shmemh_error_format(&err, text, 10);
	assert_string_equal(text, "device op");
	assert_int_equal(text[10], 'x');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_status_has_a_sentence),
		cmocka_unit_test(no_error),
		cmocka_unit_test(record_of_a_check),
		cmocka_unit_test(a_mistake_has_its_own_words),
		cmocka_unit_test(errors_of_cuda),
		cmocka_unit_test(every_operation_has_a_name),
		cmocka_unit_test(record_of_a_nic),
		cmocka_unit_test(record_without_a_cqe),
		cmocka_unit_test(records_of_waits),
		cmocka_unit_test(opcodes_and_syndromes_in_words),
		cmocka_unit_test(vendor_syndromes_that_are_known),
		cmocka_unit_test(line_is_cut_to_the_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
