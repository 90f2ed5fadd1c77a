/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Counters of channels, computed from words that the test sets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <shmem_host/device.h>
#include "ib/state.h"
#include "mem/state.h"

#define N_PES 3
#define N_CHANNELS 2
#define DEPTH 128
#define MANY ((uint64_t)5 << 32)

static struct {
	shmemh_t job;
	shmemhi_mem_t mem;
	shmemhi_ib_t ib;
	shmemhi_link_t links[N_CHANNELS * N_PES];
	_Alignas(128) shmemd_channel_t channels[N_CHANNELS * N_PES];
	shmemh_channel_counters_t c;
} t;

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof t);
	t.job.pid = getpid();
	t.job.n_pes = N_PES;
	t.job.mem = &t.mem;
	t.job.ib = &t.ib;
	t.ib.n_channels = N_CHANNELS;
	t.ib.depth = DEPTH;
	t.ib.links = t.links;
	t.ib.channels = t.channels;
	t.c.size = sizeof t.c;
	return 0;
}

static void all_values(void **state)
{
	shmemd_channel_t *channel = &t.channels[1 * N_PES + 2];

	(void)state;
	channel->ready = SHMEMD_READY_WORD(100, 9, SHMEMD_READY_DEFERRED | 3);
	channel->rung = SHMEMD_RUNG_WORD(90) | SHMEMD_BUSY;
	channel->done = SHMEMD_DONE_WORD(80, 7) | SHMEMD_BUSY;
	channel->doorbells = 6;
	channel->requests = 70;
	channel->path = SHMEMD_PATH_WORD(3, 0xffffff, 0xffff, SHMEMD_PATH_PROXY) |
			SHMEMD_PATH_FAILED(SHMEMD_ERR_PATH);
	t.links[1 * N_PES + 2].event = 0x11;
	assert_int_equal(shmemh_channels(&t.job), N_CHANNELS);
	assert_int_equal(shmemh_channel_counters(&t.job, 2, 1, &t.c), SHMEMH_OK);
	assert_int_equal(t.c.size, sizeof t.c);
	assert_int_equal(t.c.posted, 100);
	assert_int_equal(t.c.rung, 90);
	assert_int_equal(t.c.completed, 80);
	assert_int_equal(t.c.cqes, 7);
	assert_int_equal(t.c.doorbells, 6);
	assert_int_equal(t.c.requests, 70);
	assert_int_equal(t.c.status, SHMEMD_ERR_PATH);
	assert_int_equal(t.c.event, 0x11);
	assert_int_equal(t.c.depth, 128);
	assert_int_equal(shmemh_channel_counters(&t.job, 2, 0, &t.c), SHMEMH_OK);
	assert_int_equal(t.c.posted, 0);
	assert_int_equal(t.c.event, 0);
}

/* Words have the low 32 bits of an index, `done` has 47. */
static void wrapped(void **state)
{
	static const struct {
		uint64_t ready, low, rung, done, is_rung, is_done;
	} rows[] = {
		{MANY + 5, 0, MANY + 3, MANY + 1, MANY + 3, MANY + 1},
		{MANY + 5, 0, MANY - 2, MANY - 3, MANY - 2, MANY - 3},
		{MANY - 1, 0, MANY - 1, MANY - 128, MANY - 1, MANY - 128},
		/* RUNG: the doorbell word is old */
		{MANY + 5, SHMEMD_READY_RUNG, MANY - 90, MANY, MANY + 5, MANY},
		/* words that were read later: at most the posted ones */
		{MANY - 1, 0, MANY + 6, MANY + 6, MANY - 1, MANY - 1},
		{7, 0, 9, 9, 7, 7},
		{0x7fffffffffff, 0, 0x7ffffffffffe, 0x7fffffffff80, 0x7ffffffffffe, 0x7fffffffff80},
	};
	shmemd_channel_t *channel = &t.channels[0];

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		channel->ready = SHMEMD_READY_WORD(rows[i].ready, 0, rows[i].low);
		channel->rung = SHMEMD_RUNG_WORD(rows[i].rung);
		channel->done = SHMEMD_DONE_WORD(rows[i].done, 0xffff);
		assert_int_equal(shmemh_channel_counters(&t.job, 0, 0, &t.c), SHMEMH_OK);
		assert_int_equal(t.c.posted, rows[i].ready);
		assert_int_equal(t.c.rung, rows[i].is_rung);
		assert_int_equal(t.c.completed, rows[i].is_done);
		assert_int_equal(t.c.cqes, 0xffff);
	}
}

static void expect_refused(int pe, int k, const char *words)
{
	t.c.posted = 77;
	assert_int_equal(shmemh_channel_counters(&t.job, pe, k, &t.c), SHMEMH_ERR_ARGUMENT);
	if (!strstr(shmemh_error_text(&t.job), words))
		fail_msg("no \"%s\" in \"%s\"", words, shmemh_error_text(&t.job));
	assert_int_equal(t.c.posted, 77);
}

static void arguments(void **state)
{
	(void)state;
	expect_refused(-1, 0, "channel 0 to PE -1: there are channels 0 to 1, PEs 0 to 2");
	expect_refused(N_PES, 0, "PE 3");
	expect_refused(0, -1, "channel -1");
	expect_refused(0, N_CHANNELS, "channel 2");
	t.c.size--;
	expect_refused(0, 0, "size is ");
	t.job.ib = NULL;
	assert_int_equal(shmemh_channels(&t.job), 0);
	expect_refused(0, 0, "uses no NIC");
	assert_string_equal(shmemh_nic_event(&t.job), "");
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(all_values), TEST(wrapped), TEST(arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
