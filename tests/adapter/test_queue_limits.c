/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Limits of rings: indexes that wrap, random records and doorbells, completion queues with little
 * room, the longest messages, queue pairs that end at random moments. */
#include <endian.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "../common/sanitized.h"
#include "fixture.h"
#include "fixture_fault.h"
#include "mlx5sw/inject/fault.h"

enum { GIB = 1 << 30, JUMPS = 16, N_FLUSHED = 6 };

static adapter_end_t a, b;
static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(state >> 33) % n;
}

static void connect_by(const mlx5swi_qp_attr_t *to_b, const mlx5swi_qp_attr_t *to_a)
{
	adapter_init(&a);
	adapter_init(&b);
	adapter_modify(&b, to_a);
	adapter_modify(&a, to_b);
}

/* WQEs of 1 to 5 WQEBBs across the wrap of the 16-bit index, from each offset; the smallest rings.
 */
static void wqebbs_through_the_end(void **unused)
{
	static const uint8_t bytes[256] = {1, 2, 3};

	(void)unused;
	for (uint32_t wqebbs = 8; wqebbs <= 16; wqebbs *= 2)
		for (uint32_t before = 0; before < 40; before++) {
			mlx5sw_config_t cfg = adapter_config();

			cfg.start_index = (uint16_t)-before;
			adapter_start(&cfg);
			adapter_make(&a, &(adapter_spec_t){.sq_wqebbs = wqebbs});
			adapter_make(&b, &(adapter_spec_t){.host = 1});
			adapter_connect(&a, &b);
			for (uint32_t i = 0; i < 30; i++) {
				const uint32_t n = (i * 7 + before) % 5;
				const uint16_t at = adapter_write_inline(&a, &b, 256 * i, bytes,
									 28 + 57 * n, SIGNALLED);

				adapter_ring(&a);
				adapter_idle();
				adapter_expect(&a, at, OP_WRITE);
				assert_memory_equal(b.memory + 256 * i, bytes, 28 + 57 * n);
			}
			adapter_expect_clean();
			adapter_stop();
		}
}

static uint16_t near(uint16_t pi, uint32_t n)
{
	return (uint16_t)(draw(3) ? pi + draw(n + 1) : draw(65536));
}

/* Returns the number of WQEBBs that index is ahead of pi; 0 if it is further than the queue is
 * long. */
static uint16_t ahead(uint16_t index, uint16_t pi)
{
	const uint16_t n = (uint16_t)(index - pi);

	return n > JUMPS ? 0 : n;
}

/* Returns how many WQEs were executed, from pi on. */
static uint16_t ring_anywhere(uint16_t pi)
{
	for (uint32_t n = draw(JUMPS) + 1; n && (uint16_t)(a.pi - pi) < JUMPS; n--)
		adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	const uint16_t posted = (uint16_t)(a.pi - pi);
	const uint16_t record = near(pi, posted), doorbell = near(pi, posted);
	const uint16_t n = ahead(record, pi), m = ahead(doorbell, pi);

	/* unwritten WQEBBs were produced, at once or when the record is read again */
	if (n > posted || m > posted || (uint16_t)(record - pi) - JUMPS - 1u < JUMPS)
		return 0;
	adapter_record(&a, record);
	adapter_doorbell(&a, doorbell);
	adapter_idle();
	for (int i = 0; i < (n > m ? n : m); i++)
		adapter_expect(&a, (uint16_t)(pi + i), OP_WRITE);
	adapter_expect_none(&a);
	return n > m ? n : m;
}

/* In ERR only the record counts. */
static uint16_t flush_anywhere(uint16_t pi)
{
	const uint16_t record = (uint16_t)(pi + draw(40) - 10), n = ahead(record, pi);
	adapter_cqe_t cqe;

	adapter_record(&a, record);
	adapter_doorbell(&a, (uint16_t)draw(65536));
	adapter_idle();
	for (uint16_t i = 0; i < n; i++) {
		assert_true(adapter_poll(&a, &cqe));
		assert_int_equal(cqe.opcode, CQE_REQ_ERR);
		assert_int_equal(cqe.counter, (uint16_t)(pi + i));
	}
	adapter_expect_none(&a);
	assert_int_equal(adapter_send_state(&a).hw_counter, (uint16_t)(pi + n));
	assert_int_equal(adapter_send_state(&a).sw_counter, record);
	return n;
}

/* Record and doorbell have random values; only a value that is ahead, and not too far, produces
 * WQEs. */
static void random_records_and_doorbells(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= (SANITIZED ? 800 : 2000); seed++) {
		mlx5sw_config_t cfg = adapter_config();
		uint16_t pi;

		state = seed * 0x9e3779b97f4a7c15u;
		cfg.lint = MLX5SW_LINT_OFF;
		cfg.start_index = pi = (uint16_t)draw(65536);
		cfg.chaos = draw(2) ? MLX5SW_CHAOS_ORDER : 0;
		adapter_start(&cfg);
		adapter_make(&a, &(adapter_spec_t){.sq_wqebbs = JUMPS, .cq_entries = 512});
		adapter_make(&b, &(adapter_spec_t){.host = 1});
		adapter_connect(&a, &b);
		for (uint32_t turn = 0; turn < 20; turn++)
			pi = (uint16_t)(pi + ring_anywhere(pi));
		adapter_error(&a);
		for (uint32_t turn = 0; turn < 5; turn++)
			pi = (uint16_t)(pi + flush_anywhere(pi));
		adapter_stop();
	}
}

static void expect_broken(const adapter_end_t *other)
{
	fault_event(a.ctx, IBV_EVENT_CQ_ERR);
	assert_int_equal(other->qp->state, MLX5SWI_ERR);
	assert_int_equal(a.cq->state, MLX5SWI_CQ_BROKEN);
	assert_int_equal(a.cq->pi, 8);
}

static void expect_reported(const adapter_end_t *other, uint32_t first)
{
	assert_int_equal(other->qp->state, MLX5SWI_INIT);
	assert_int_equal(a.cq->pi, first + N_FLUSHED);
	for (uint32_t i = first; i < first + N_FLUSHED; i++) {
		const adapter_cqe_t cqe = adapter_slot(&a, i % 8);

		assert_int_equal(cqe.opcode, CQE_REQ_ERR);
		assert_int_equal(cqe.syndrome, i == first ? 0x13 : 0x05);
		assert_int_equal(cqe.owner, i / 8);
	}
}

/* An error in a completion queue with room for `room` of 8 entries. With oi = 0 the CQ goes to an
 * error state if they do not suffice, and all queue pairs that use it end; with oi = 1 the oldest
 * entries are overwritten. */
static void error_with_little_room(uint32_t room, int minds)
{
	adapter_end_t other;
	adapter_wqe_t w;

	adapter_start(NULL);
	adapter_make(&a, &(adapter_spec_t){.cq_entries = 8, .minds_overrun = (uint8_t)minds});
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	adapter_make(&other, &(adapter_spec_t){.with = &a});
	adapter_connect(&a, &b);
	adapter_init(&other);
	for (uint32_t i = 0; i < 8 - room; i++)
		adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_control(&w, &a, OP_WRITE, 0, 0);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey ^ 0xff);
	adapter_data(&w, 8, a.mr->lkey, (uintptr_t)a.memory);
	adapter_post(&a, &w);
	for (uint32_t i = 1; i < N_FLUSHED; i++)
		adapter_write(&a, &b, 0, 0, 8, 0);
	adapter_ring(&a);
	adapter_idle();
	assert_int_equal(a.qp->state, MLX5SWI_ERR);
	assert_int_equal(adapter_send_state(&a).hw_counter, a.pi);
	if (minds && room < N_FLUSHED)
		expect_broken(&other);
	else
		expect_reported(&other, 8 - room);
	adapter_stop();
}

static void errors_with_little_room(void **unused)
{
	(void)unused;
	for (uint32_t room = 0; room <= 8; room++) {
		error_with_little_room(room, 0);
		error_with_little_room(room, 1);
	}
}

/* 2^30 bytes and a page of address space, backed by little memory. */
static uint8_t *much_memory(size_t nbytes)
{
	enum { PIECE = 1 << 24 };
	uint8_t *p =
		mmap(NULL, nbytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	FILE *f = tmpfile();

	assert_ptr_not_equal(p, MAP_FAILED);
	assert_non_null(f);
	assert_int_equal(ftruncate(fileno(f), PIECE), 0);
	for (size_t at = 0; at < nbytes; at += PIECE)
		assert_ptr_equal(mmap(p + at, nbytes - at < PIECE ? nbytes - at : PIECE,
				      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fileno(f), 0),
				 p + at);
	(void)fclose(f);
	return p;
}

static void post_long(uint8_t opcode, uint32_t nbytes, const uint8_t *memory, uint32_t lkey,
		      uint32_t rkey)
{
	adapter_wqe_t w;

	adapter_control(&w, &a, opcode, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)memory, rkey);
	adapter_data(&w, nbytes, lkey, (uintptr_t)memory);
	adapter_post(&a, &w);
}

/* 2^30 bytes are one message, one byte more is refused; both directions, with the smallest packets.
 */
static void longest_messages(void **unused)
{
	const size_t nbytes = (size_t)GIB + 4096;
	uint8_t *memory = much_memory(nbytes);
	mlx5swi_receive_state_t r;

	(void)unused;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &(adapter_spec_t){.host = 1});
	mlx5swi_qp_attr_t to_b = adapter_attr(&a, &b), to_a = adapter_attr(&b, &a);
	to_a.mtu = to_b.mtu = 1;
	to_b.next_send_psn = to_a.next_rcv_psn = 0xffffff;
	connect_by(&to_b, &to_a);
	const uint32_t rkey = ibv_reg_mr(b.pd, memory, nbytes,
					 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
						 IBV_ACCESS_LOCAL_WRITE)
				      ->rkey;
	const uint32_t lkey = ibv_reg_mr(a.pd, memory, nbytes, IBV_ACCESS_LOCAL_WRITE)->lkey;
	post_long(OP_WRITE, GIB, memory, lkey, rkey);
	post_long(OP_READ, GIB, memory, lkey, rkey);
	post_long(OP_READ, GIB + 1u, memory, lkey, rkey);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_READ);
	adapter_expect_error(&a, 2, 0x01, 0);
	mlx5swi_responder_query(b.qp, &r);
	assert_int_equal(r.next_rcv_psn, (0xffffff + (2u << 22)) & 0xffffff);
	assert_int_equal(r.rmsn, 2);
	adapter_stop();
	munmap(memory, nbytes);
}

static void lose_packets(uint32_t n)
{
	while (n--) {
		const mlx5swi_rule_t rule = {.fault = draw(2) ? MLX5SWI_DROP : MLX5SWI_DUPLICATE,
					     .host = MLX5SWI_ANY,
					     .device = MLX5SWI_ANY,
					     .qpn = MLX5SWI_ANY,
					     .index = MLX5SWI_ANY,
					     .opcode = MLX5SWI_ANY,
					     .after = draw(60),
					     .left = 1 + draw(2)};

		assert_int_equal(mlx5swi_rule_add(&rule), 0);
	}
}

static uint16_t post_imm(uint32_t to, uint32_t nbytes)
{
	adapter_wqe_t w;

	adapter_control(&w, &a, OP_WRITE_IMM, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory + to, b.mr->rkey);
	adapter_data(&w, nbytes, a.mr->lkey, (uintptr_t)a.memory);
	return adapter_post(&a, &w);
}

/* A queue pair to itself, or to a slow receiver: WRITEs with immediate data, atomics and READs in
 * turn, while packets are lost and duplicated. */
static void losses(uint64_t seed, int is_itself)
{
	enum { N = 12, MTU = 1024 };
	mlx5sw_config_t cfg = adapter_config();
	uint64_t word;

	state = seed * 0x9e3779b97f4a7c15u;
	cfg.chaos = seed % 2 ? MLX5SWI_CHAOS_ALL & ~MLX5SW_CHAOS_DUP_WRITE : 0;
	adapter_start(&cfg);
	adapter_seed = seed;
	adapter_make(&a, &(adapter_spec_t){.rq_wqes = 16, .cq_entries = 128});
	if (!is_itself)
		adapter_make(&b, &(adapter_spec_t){.host = 1, .rq_wqes = 16, .cq_entries = 128});
	else
		b = a;
	adapter_connect(&a, is_itself ? &a : &b);
	memset(a.memory, 0xaa, 4096);
	lose_packets(draw(4));
	for (uint32_t i = 0; i < N; i++) {
		post_imm(8192 + 8 * i, 1 + draw(8));
		adapter_atomic(&a, &b, OP_FA, 8, (uint64_t[4]){1}, 32768 + 8 * i, 16384, SIGNALLED);
		adapter_read(&a, &b, 40000, 8192, 1 + draw(3 * MTU), SIGNALLED);
	}
	adapter_ring(&a);
	for (uint32_t i = 1; i <= N; i++) {
		for (uint32_t n = draw(20); n; n--)
			mlx5sw_step();
		b.dbr[0] = htobe32(i);
	}
	adapter_idle();
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
	mlx5swi_place_all(b.qp->dev);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(b.memory[8192 + 8 * i], 0xaa);
		memcpy(&word, a.memory + 32768 + 8 * i, 8);
		assert_int_equal(word, i);
	}
	assert_int_equal(b.qp->counters.executed, 3 * N);
	assert_int_equal(a.qp->counters.cqes + (is_itself ? 0 : b.qp->counters.cqes), 4 * N);
	adapter_expect_clean();
	adapter_stop();
}

static void losses_to_itself_and_to_slow_receivers(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		losses(seed, 0);
		losses(seed, 1);
	}
}

static void traffic(adapter_end_t *e, const adapter_end_t *peer)
{
	adapter_write(e, peer, 0, 0, draw(4000), SIGNALLED);
	adapter_read(e, peer, 5000, 0, 1 + draw(4000), SIGNALLED);
	adapter_atomic(e, peer, OP_FA, 8, (uint64_t[4]){1}, 9000, 9000, SIGNALLED);
}

static void something(adapter_end_t *e, const adapter_end_t *peer)
{
	mlx5swi_qp_attr_t attr;

	if (!e->qp)
		return;
	switch (draw(12)) {
	case 0:
		mlx5swi_qp_destroy(e->qp);
		e->qp = NULL;
		return;
	case 1:
		adapter_reset(e);
		break;
	case 2:
		if (e->qp->state != MLX5SWI_RST)
			adapter_error(e);
		break;
	case 3:
		if (e->qp->state != MLX5SWI_RST || !peer->qp)
			break;
		attr = adapter_attr(e, peer);
		adapter_init(e);
		adapter_modify(e, &attr);
		break;
	default:
		traffic(e, peer);
	}
	adapter_ring(e);
}

/* Queue pairs end at random moments: destroyed, reset, connected again. The results are random, but
 * the device stays consistent and becomes idle. */
static void queue_pairs_end_at_random_moments(void **unused)
{
	(void)unused;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		mlx5sw_config_t cfg = adapter_config();
		adapter_end_t more[4];

		state = seed * 0x9e3779b97f4a7c15u;
		cfg.lint = MLX5SW_LINT_OFF;
		cfg.chaos = draw(2) ? MLX5SWI_CHAOS_ALL : 0;
		cfg.link_layer = draw(2) ? MLX5SW_INFINIBAND : MLX5SW_ETHERNET;
		adapter_start(&cfg);
		adapter_seed = seed;
		adapter_make(&a, &(adapter_spec_t){.cq_entries = 512});
		adapter_make(&b, &(adapter_spec_t){.host = draw(2), .cq_entries = 512});
		for (uint32_t i = 0; i < 4; i++)
			adapter_make(&more[i], &(adapter_spec_t){.with = i % 2 ? &b : &a});
		adapter_connect(&more[0], &more[1]);
		adapter_connect(&more[2], &more[3]);
		for (uint32_t turn = 0; turn < 10; turn++) {
			for (uint32_t i = 0; i < 4; i++)
				something(&more[i], &more[i ^ 1]);
			for (uint32_t n = draw(30); n; n--)
				mlx5sw_step();
		}
		adapter_idle();
		adapter_stop();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wqebbs_through_the_end),
		cmocka_unit_test(random_records_and_doorbells),
		cmocka_unit_test(errors_with_little_room),
		cmocka_unit_test(longest_messages),
		cmocka_unit_test(losses_to_itself_and_to_slow_receivers),
		cmocka_unit_test(queue_pairs_end_at_random_moments),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
