/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Counters of channels, from rings made by hand. */
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
#define MANY ((uint64_t)5 << SHMEMD_DONE_SLOT_BITS)

static struct {
	shmemh_t job;
	shmemhi_mem_t mem;
	shmemhi_ib_t ib;
	shmemhi_link_t links[N_CHANNELS * N_PES];
	shmemd_ring_t rings[N_CHANNELS * N_PES];
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
	t.ib.depth = 128;
	t.ib.links = t.links;
	for (int i = 0; i < N_CHANNELS * N_PES; i++)
		t.links[i].ring = &t.rings[i];
	t.c.size = sizeof t.c;
	return 0;
}

static void all_values(void **state)
{
	shmemd_ring_t *ring = &t.rings[1 * N_PES + 2];

	(void)state;
	ring->ready = 100;
	ring->rung = SHMEMD_RUNG_WORD(90);
	ring->done = SHMEMD_DONE_WORD(7, 80);
	ring->doorbells = 6;
	ring->requests = 70;
	ring->dead = SHMEMD_ERR_PATH;
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

/* The completion word has 40 bits of a slot's number. */
static void completed(void **state)
{
	static const struct {
		uint64_t ready, done, completed;
	} rows[] = {{MANY + 5, MANY + 5, MANY + 5},
		    {MANY + 5, MANY - 3, MANY - 3}, /* the word has wrapped for one only */
		    {MANY, MANY - 128, MANY - 128},
		    {MANY - 1, MANY + 6, MANY - 1}, /* done was read later: no more than posted */
		    {7, 9, 7}};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		t.rings[0].ready = rows[i].ready;
		t.rings[0].done = SHMEMD_DONE_WORD(0x7fffff, rows[i].done);
		assert_int_equal(shmemh_channel_counters(&t.job, 0, 0, &t.c), SHMEMH_OK);
		assert_int_equal(t.c.completed, rows[i].completed);
		assert_int_equal(t.c.cqes, 0x7fffff);
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
	const struct CMUnitTest tests[] = {TEST(all_values), TEST(completed), TEST(arguments)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
