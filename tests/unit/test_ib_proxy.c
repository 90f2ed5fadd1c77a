/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU doorbell proxy: its stores, their order, and the links that it serves, which the test
 * sets up by hand. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "ib/state.h"
#include "threads.h"

#define N_PES 3
#define N_CHANNELS 2
#define N_LINKS (N_PES * N_CHANNELS)
#define NOT_RUNG UINT64_MAX
#define QPN 0x123456u

static struct {
	shmemh_t job;
	shmemhi_ib_t ib;
	struct ibv_context context;
	shmemhi_link_t links[N_LINKS];
	uint64_t producers[N_LINKS];
	uint32_t records[N_LINKS][2];
	uint64_t *doorbells; /* [N_LINKS], on a page of their own */
	size_t page;
} t;

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof t);
	t.page = (size_t)sysconf(_SC_PAGESIZE);
	t.doorbells =
		mmap(NULL, t.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(t.doorbells != MAP_FAILED);
	t.job.n_pes = N_PES;
	t.job.ib = &t.ib;
	t.context.async_fd = -1; /* no thread */
	t.ib.home_port.context = &t.context;
	t.ib.n_channels = N_CHANNELS;
	t.ib.links = t.links;
	for (int i = 0; i < N_LINKS; i++) {
		t.doorbells[i] = NOT_RUNG;
		t.links[i] = (shmemhi_link_t){.producer = &t.producers[i],
					      .records = (char *)t.records[i],
					      .host_doorbell = &t.doorbells[i],
					      .qpn = QPN + (uint32_t)i};
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shmemhi_proxy_close(&t.job, &t.ib);
	munmap(t.doorbells, t.page);
	return 0;
}

static void open_proxy(void)
{
	assert_int_equal(shmemhi_proxy_open(&t.job, &t.ib), SHMEMH_OK);
}

static int step(void)
{
	return shmemhi_proxy_step(t.ib.proxy);
}

/* Check that the record and the doorbell of link i have this index. */
static void expect_rung(int i, uint32_t index)
{
	uint32_t qpn = QPN + (uint32_t)i;
	const uint8_t record[4] = {0, 0, (uint8_t)(index >> 8), (uint8_t)index};
	const uint8_t doorbell[8] = {0,
				     (uint8_t)(index >> 8),
				     (uint8_t)index,
				     0,
				     (uint8_t)(qpn >> 16),
				     (uint8_t)(qpn >> 8),
				     (uint8_t)qpn,
				     0};

	assert_memory_equal(&t.records[i][SHMEMD_RECORD_SEND], record, 4);
	assert_int_equal(t.records[i][0], 0);
	assert_memory_equal(&t.doorbells[i], doorbell, 8);
}

static void expect_nothing(int i)
{
	assert_int_equal(t.records[i][SHMEMD_RECORD_SEND], 0);
	assert_int_equal(t.doorbells[i], NOT_RUNG);
}

static void record_and_doorbell(void **state)
{
	(void)state;
	open_proxy();
	assert_int_equal(step(), 0);
	expect_nothing(0);
	t.producers[0] = 0x1234;
	assert_int_equal(step(), 1);
	expect_rung(0, 0x1234);
	t.doorbells[0] = NOT_RUNG;
	assert_int_equal(step(), 0); /* no new index */
	assert_int_equal(t.doorbells[0], NOT_RUNG);
	t.producers[0]++;
	assert_int_equal(step(), 1);
	expect_rung(0, 0x1235);
}

/* The NIC has 16 bits of an index, producer words 32. Higher bits are ignored. */
static void index_wraps(void **state)
{
	static const uint64_t at[] = {0xffff,     0x10000, 0x10001, 0x7fffffff,
				      0xfffffffe, 0,       1,       0x500000007};

	(void)state;
	open_proxy();
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
		t.producers[1] = at[i];
		assert_int_equal(step(), 1);
		expect_rung(1, (uint32_t)at[i] & 0xffff);
	}
}

/* Producers start from their values when the proxy opens. */
static void producers_start_anywhere(void **state)
{
	(void)state;
	t.producers[2] = 500;
	open_proxy();
	assert_int_equal(step(), 0);
	expect_nothing(2);
	t.producers[2] = 503;
	assert_int_equal(step(), 1);
	expect_rung(2, 503);
}

static void index_never_decreases(void **state)
{
	(void)state;
	open_proxy();
	t.producers[0] = 100;
	assert_int_equal(step(), 1);
	t.producers[0] = 99;
	assert_int_equal(step(), 0);
	expect_rung(0, 100);
	t.producers[0] = 101;
	assert_int_equal(step(), 1);
	expect_rung(0, 101);
}

/* The first index of a path after a switch, when the channel's index is 2^31 and more. */
static void first_index_of_a_late_path(void **state)
{
	(void)state;
	open_proxy();
	t.producers[0] = 0x80000010;
	assert_int_equal(step(), 1);
	expect_rung(0, 0x10);
	t.producers[0] = 0x8000000f;
	assert_int_equal(step(), 0);
	t.producers[0] = 0x80000011;
	assert_int_equal(step(), 1);
	expect_rung(0, 0x11);
}

static void only_advanced_links_are_rung(void **state)
{
	(void)state;
	open_proxy();
	t.producers[1] = 7;
	t.producers[5] = 9;
	assert_int_equal(step(), 2);
	expect_rung(1, 7);
	expect_rung(5, 9);
	expect_nothing(0);
	expect_nothing(2);
	expect_nothing(3);
	expect_nothing(4);
}

static void links_that_the_gpu_rings(void **state)
{
	(void)state;
	t.links[3].producer = NULL;
	t.links[4].producer = NULL;
	open_proxy();
	for (int i = 0; i < N_LINKS; i++)
		t.producers[i] = 1;
	assert_int_equal(step(), N_LINKS - 2);
	expect_nothing(3);
	expect_nothing(4);
	expect_rung(5, 1);
}

static void no_links_for_the_proxy(void **state)
{
	(void)state;
	for (int i = 0; i < N_LINKS; i++)
		t.links[i].producer = NULL;
	open_proxy();
	assert_null(t.ib.proxy);
}

static volatile uint32_t record_at_doorbell;

/* The store to a doorbell traps: record the value of the doorbell record at that moment. */
static void on_doorbell(int sig)
{
	(void)sig;
	record_at_doorbell = t.records[0][SHMEMD_RECORD_SEND];
	mprotect(t.doorbells, t.page, PROT_READ | PROT_WRITE);
}

static void record_comes_first(void **state)
{
	struct sigaction action = {.sa_handler = on_doorbell}, old;

	(void)state;
	open_proxy();
	record_at_doorbell = 0;
	sigaction(SIGSEGV, &action, &old);
	mprotect(t.doorbells, t.page, PROT_READ);
	t.producers[0] = 5;
	assert_int_equal(step(), 1);
	sigaction(SIGSEGV, &old, NULL);
	expect_rung(0, 5);
	assert_int_equal(record_at_doorbell, t.records[0][SHMEMD_RECORD_SEND]);
}

static void wait_for(const uint64_t *doorbell)
{
	while (__atomic_load_n(doorbell, __ATOMIC_ACQUIRE) == NOT_RUNG)
		usleep(100);
}

static void thread_rings_and_ends(void **state)
{
	(void)state;
	t.context.async_fd = 0;
	open_proxy();
	assert_int_equal(n_threads("shmem_proxy"), 1);
	__atomic_store_n(&t.producers[0], 1, __ATOMIC_RELEASE);
	wait_for(&t.doorbells[0]);
	usleep(20000); /* the proxy may sleep by now: the store must wake it up */
	__atomic_store_n(&t.producers[5], 2, __ATOMIC_RELEASE);
	wait_for(&t.doorbells[5]);
	shmemhi_proxy_close(&t.job, &t.ib);
	assert_null(t.ib.proxy);
	wait_for_no_thread("shmem_proxy");
	expect_rung(0, 1);
	expect_rung(5, 2);
	expect_nothing(1);
	shmemhi_proxy_close(&t.job, &t.ib); /* a second close has no effect */
}

#define N_ADDED 500

static uint64_t added_producers[2][N_ADDED], added_doorbells[2][N_ADDED];
static uint32_t added_records[2][N_ADDED][2];
static shmemhi_link_t added_links[2][N_ADDED];

static void *add_links(void *arg)
{
	const size_t thread = (size_t)(uintptr_t)arg;

	for (size_t i = 0; i < N_ADDED; i++) {
		added_links[thread][i] =
			(shmemhi_link_t){.producer = &added_producers[thread][i],
					 .records = (char *)added_records[thread][i],
					 .host_doorbell = &added_doorbells[thread][i]};
		if (shmemhi_proxy_add(&t.job, &t.ib, &added_links[thread][i]) != SHMEMH_OK)
			return arg;
	}
	return NULL;
}

/* Two threads add links, and each makes room for them. */
static void links_are_added_by_two_threads(void **state)
{
	pthread_t threads[2];
	void *failed;

	(void)state;
	open_proxy();
	for (uintptr_t i = 0; i < 2; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_links, (void *)i), 0);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], &failed);
		assert_null(failed);
	}
	for (int i = 0; i < N_ADDED; i++)
		added_producers[0][i] = added_producers[1][i] = 1;
	assert_int_equal(step(), 2 * N_ADDED);
}

static void no_thread_where_a_scheduler_drives(void **state)
{
	(void)state;
	open_proxy();
	assert_int_equal(n_threads("shmem_proxy"), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(record_and_doorbell),
		TEST(index_wraps),
		TEST(producers_start_anywhere),
		TEST(index_never_decreases),
		TEST(first_index_of_a_late_path),
		TEST(only_advanced_links_are_rung),
		TEST(links_that_the_gpu_rings),
		TEST(no_links_for_the_proxy),
		TEST(record_comes_first),
		TEST(thread_rings_and_ends),
		TEST(links_are_added_by_two_threads),
		TEST(no_thread_where_a_scheduler_drives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
