/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* CQEs and completion queues: rows C of the adapter's table. */
#include <endian.h>
#include "pair.h"

#include <stdlib.h>

static void post(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
}

/* The 64 bytes of both kinds of CQE. */
static void layout(void **state)
{
	const uint8_t head[4] = {0, 0xab, 0xcd, 0xef};
	const uint8_t *p;

	(void)state;
	start(NULL, NULL);
	p = a.cqes;
	adapter_clock = 0x0102030405060708;
	adapter_read(&a, &b, 0, 0, 300, SIGNALLED);
	adapter_ring(&a);
	adapter_step();
	assert_memory_equal(p + 32, head, 4);
	assert_memory_equal(p + 44, "\0\0\x01\x2c", 4);
	assert_memory_equal(p + 48, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
	assert_memory_equal(p + 56, ((uint8_t[8]){OP_READ, 0, 0x10, 0, 0, 0, 0, 0}), 8);
	adapter_error(&a);
	adapter_write(&a, &b, 0, 0, 8, 0);
	adapter_record(&a, a.pi);
	adapter_idle();
	p += 64;
	assert_memory_equal(p + 32, head, 4);
	assert_memory_equal(p + 52, ((uint8_t[4]){0, 0, 0xf5, 0x05}), 4);
	assert_memory_equal(p + 56, ((uint8_t[8]){OP_WRITE, 0, 0x10, 0, 0, 1, 0, 0xd0}), 8);
	adapter_stop();
}

/* From hardware: vendor 0x53, syndrome 0x04, opcode 0x0a, QPN 0x1542, counter 0x19. */
static void layout_of_a_real_error(void **state)
{
	const uint8_t real[16] = {0x00, 0x00, 0x00, 0x00, 0x9d, 0x00, 0x53, 0x04,
				  0x0a, 0x00, 0x15, 0x42, 0x00, 0x19, 0xb0, 0xd2};
	const mlx5swi_cqe_t cqe = {.opcode = 13,
				   .wqe_opcode = 0x0a,
				   .syndrome = 0x04,
				   .vendor = 0x53,
				   .wqe_counter = 0x19,
				   .qpn = 0x1542};

	(void)state;
	start(NULL, NULL);
	mlx5swi_lock();
	mlx5swi_cqe_write(a.cq, a.qp, &cqe);
	mlx5swi_unlock();
	/* Not modelled: the hardware's own syndrome (52), the signature (62), the solicited bit
	 * (63). */
	assert_memory_equal(a.cqes + 53, real + 5, 9);
	assert_int_equal(a.cqes[63], real[15] & ~2);
	adapter_stop();
}

static void device_writes_nothing_before(void **state)
{
	(void)state;
	start(NULL, NULL);
	memset(a.cqes, 0x5a, 64 * 64);
	post(1);
	for (unsigned i = 64; i < 64 * 64; i++)
		assert_int_equal(a.cqes[i], 0x5a);
	adapter_stop();
}

static void cq_overrun(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 4, .minds_overrun = 1};
	adapter_cqe_t cqe;

	(void)state;
	start(NULL, &spec);
	post(4);
	assert_int_equal(a.cq->state, MLX5SWI_CQ_GOOD);
	adapter_expect(&a, 0, OP_WRITE); /* one entry is free again */
	post(1);
	assert_int_equal(a.cq->state, MLX5SWI_CQ_GOOD);
	post(2); /* no room: the CQ goes to an error state, and the QP to ERR */
	assert_int_equal(a.cq->state, MLX5SWI_CQ_BROKEN);
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	for (uint16_t i = 1; i < 5; i++)
		adapter_expect(&a, i, OP_WRITE);
	post(1); /* the CQ stays in error after entries are freed */
	assert_false(adapter_poll(&a, &cqe));
	adapter_stop();
}

/* A CQ ring with room for the signalled WQEs only: an error writes a CQE for each WQE. */
static void errors_complete_every_wqe(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 4, .minds_overrun = 1};

	(void)state;
	start(NULL, &spec);
	for (unsigned i = 0; i < 8; i++)
		adapter_write(&a, &b, 0, 0, 8, i == 7 ? SIGNALLED : 0);
	adapter_record(&a, a.pi);
	adapter_error(&a);
	adapter_idle();
	assert_int_equal(a.cq->state, MLX5SWI_CQ_BROKEN);
	adapter_stop();
}

static void overrun_ignored_overwrites_cqes(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 4};

	(void)state;
	start(NULL, &spec);
	post(6);
	assert_int_equal(a.cq->state, MLX5SWI_CQ_GOOD);
	for (uint32_t slot = 0; slot < 4; slot++) {
		const adapter_cqe_t cqe = adapter_slot(&a, slot);

		assert_int_equal(cqe.counter, slot < 2 ? slot + 4 : slot);
		assert_int_equal(cqe.owner, slot < 2);
	}
	adapter_stop();
}

static void owner_bit(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 8};

	(void)state;
	start(NULL, &spec);
	for (uint32_t i = 0; i < 100; i++) {
		post(1);
		assert_int_equal(adapter_slot(&a, i % 8).owner, i / 8 & 1);
		adapter_expect(&a, (uint16_t)i, OP_WRITE);
		adapter_expect_none(&a);
	}
	adapter_stop();
}

static void reset_keeps_the_queue(void **state)
{
	(void)state;
	start(NULL, NULL);
	post(3);
	adapter_reset(&a);
	adapter_reset(&b);
	adapter_connect(&a, &b);
	for (uint16_t i = 0; i < 3; i++)
		adapter_expect(&a, i, OP_WRITE);
	post(1);
	/* the counter restarts; the CQ's producer index does not */
	assert_int_equal(adapter_slot(&a, 3).counter, 0);
	adapter_expect(&a, 0, OP_WRITE);
	adapter_stop();
}

/* A collapsed CQ has no consumer index. */
static void collapsed(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 1, .is_collapsed = 1, .minds_overrun = 1};

	(void)state;
	start(NULL, &spec);
	for (uint16_t i = 0; i < 70; i++) {
		post(1);
		assert_int_equal(adapter_slot(&a, 0).counter, i);
		assert_int_equal(adapter_slot(&a, 0).opcode, CQE_REQ);
	}
	adapter_stop();
}

static void two_senders_hide_each_other(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 1, .is_collapsed = 1};
	const adapter_spec_t with = {.with = &a};
	const adapter_spec_t other = {.host = 1};
	adapter_end_t c, d;

	(void)state;
	start(NULL, &spec);
	adapter_make(&c, &with);
	assert_int_equal(adapter_reported("C11"), 1);
	adapter_make(&d, &other);
	adapter_connect(&c, &d);
	post(3);
	adapter_write(&c, &d, 0, 0, 8, SIGNALLED);
	adapter_ring(&c);
	adapter_idle();
	assert_int_equal(adapter_slot(&a, 0).qpn, c.qp->qpn);
	assert_int_equal(adapter_slot(&a, 0).counter, 0);
	adapter_stop();
}

/* Intermediate states of the stores of a completion. */
#define MAX_STORES 64
static struct {
	uint32_t at, nbytes;
	int access;
	uint8_t last; /* last byte of the CQE */
} stores[MAX_STORES];
static unsigned n_stores;

/* Hooks cover host memory only: test_gpu_queue.c checks the order of copies. */
static void need_hooks(void)
{
	if (getenv("ADAPTER_CUDA")) {
		print_message("skipped: hooks cover host memory only\n");
		skip();
	}
}

static void record_store(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	const uint8_t *p = dst;

	(void)arg;
	memcpy(dst, src, nbytes);
	if (access < MLX5SW_CQE || p < a.cqes || n_stores == MAX_STORES)
		return;
	stores[n_stores].at = (uint32_t)(p - a.cqes);
	stores[n_stores].nbytes = (uint32_t)nbytes;
	stores[n_stores].access = access;
	stores[n_stores++].last = p[nbytes - 1];
}

static void order_of_stores(void **state)
{
	(void)state;
	need_hooks();
	start(NULL, NULL);
	mlx5swi_w->hooks.store = record_store;
	n_stores = 0;
	post(1);
	assert_int_equal(n_stores, 2);
	assert_true(stores[0].at == 0 && stores[0].nbytes == 56 && stores[0].access == MLX5SW_CQE);
	assert_true(stores[1].at == 56 && stores[1].nbytes == 8 &&
		    stores[1].access == MLX5SW_CQE_OWNER);
	adapter_stop();
}

static void owner_byte_comes_late(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	unsigned n_torn = 0;

	(void)state;
	need_hooks();
	cfg.chaos = MLX5SW_CHAOS_TEAR;
	start(&cfg, NULL);
	mlx5swi_w->hooks.store = record_store;
	for (uint32_t i = 0; i < 200; i++) {
		n_stores = 0;
		post(1);
		adapter_expect(&a, (uint16_t)i, OP_WRITE);
		if (n_stores == 2)
			continue;
		n_torn++;
		assert_int_equal(n_stores, 3);
		assert_int_equal(stores[1].at % 64, 56);
		assert_int_equal(stores[1].last >> 4, CQE_INVALID);
		assert_int_not_equal(stores[1].last & 1, i / 64 & 1);
	}
	assert_in_range(n_torn, 50, 150);
	adapter_stop();
}

/* In a collapsed CQ the counter makes the entry valid, not the owner bit. */
static void collapsed_cq_is_not_torn(void **state)
{
	const adapter_spec_t spec = {.cq_entries = 1, .is_collapsed = 1};
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	need_hooks();
	cfg.chaos = MLX5SW_CHAOS_TEAR;
	start(&cfg, &spec);
	mlx5swi_w->hooks.store = record_store;
	n_stores = 0;
	post(20);
	assert_int_equal(n_stores, 40);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test(layout_of_a_real_error),
		cmocka_unit_test(device_writes_nothing_before),
		cmocka_unit_test(cq_overrun),
		cmocka_unit_test(errors_complete_every_wqe),
		cmocka_unit_test(overrun_ignored_overwrites_cqes),
		cmocka_unit_test(owner_bit),
		cmocka_unit_test(reset_keeps_the_queue),
		cmocka_unit_test(collapsed),
		cmocka_unit_test(two_senders_hide_each_other),
		cmocka_unit_test(order_of_stores),
		cmocka_unit_test(owner_byte_comes_late),
		cmocka_unit_test(collapsed_cq_is_not_torn),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
