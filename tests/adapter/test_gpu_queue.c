/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues in GPU memory, with a stand-in for the CUDA driver (cuda/fake_cuda.h): the states that a
 * kernel may observe, and the copies that the adapter makes. The other tests of queues run once
 * more with all memory on a GPU (CMakeLists.txt, ADAPTER_CUDA). */
#include "cuda/fake_cuda.h"
#include "fixture_fault.h"
#include "mlx5sw/engine/requester.h"
#include "pair.h"

#include <endian.h>

enum { LOCAL = 0, RESULT = 16384, TARGET = 0, COUNTER = 32768 };

/* Checks that the data that a completion reports is in place; called when a CQE becomes valid. */
static void (*check_payload)(void);
static unsigned n_valid;

static int is_valid(const uint8_t *cqe)
{
	return cqe[63] >> 4 != CQE_INVALID;
}

/* A kernel may poll at any moment: a valid CQE of the first lap is complete. */
static void kernel_looks(const uint8_t *p, size_t nbytes)
{
	const uint8_t *cqes = a.cq->buf;
	const uint8_t *cqe = a.cqes + (p - cqes) / 64 * 64;

	(void)nbytes;
	if (p < cqes || p >= cqes + 64 * a.cq_entries || !is_valid(cqe))
		return;
	n_valid++;
	assert_memory_equal(cqe + 32, "\0\xab\xcd\xef", 4); /* user_index */
	assert_int_equal(cqe[56], a.sq[3]);                 /* opcode of the only WQE */
	assert_int_equal(cqe[59], a.qp->qpn & 0xff);
	assert_int_equal(cqe[61], 0); /* the counter */
	check_payload();
}

static void begin(const mlx5sw_config_t *cfg, uint8_t in_gpu, uint32_t sq_wqebbs)
{
	adapter_spec_t spec = {.sq_wqebbs = sq_wqebbs, .cq_entries = 8, .in_gpu = in_gpu};

	spec.minds_overrun = 1;
	adapter_start(cfg);
	adapter_make(&a, &spec);
	spec.host = 1;
	adapter_make(&b, &spec);
	adapter_connect(&a, &b);
	fill(a.memory + LOCAL, RESULT);
	n_valid = 0;
	fake_cuda_forget();
}

static void finish(void)
{
	fake_cuda_watch(NULL);
	end();
}

/* Execute one operation; kernel_looks runs after each store to GPU memory. */
static void watched(void (*check)(void))
{
	check_payload = check;
	fake_cuda_watch(kernel_looks);
	go();
	assert_int_equal(n_valid, 1);
	adapter_expect(&a, 0, a.sq[3]);
	finish();
}

static void read_is_there(void)
{
	assert_memory_equal(a.memory + RESULT, b.memory + TARGET, 5000);
}

static void read_before_its_completion(void **state)
{
	(void)state;
	begin(NULL, GPU_ALL, 4);
	fill(b.memory + TARGET, 5000);
	adapter_read(&a, &b, RESULT, TARGET, 5000, SIGNALLED);
	watched(read_is_there);
}

static void old_value_is_there(void)
{
	uint64_t old;

	memcpy(&old, a.memory + RESULT, sizeof(old));
	assert_int_equal(old, 77);
}

static void atomic_before_its_completion(void **state)
{
	const uint64_t start = 77, add = 5;

	(void)state;
	begin(NULL, GPU_ALL, 4);
	memcpy(b.memory + COUNTER, &start, sizeof(start));
	adapter_atomic(&a, &b, OP_FA, 8, &add, RESULT, COUNTER, SIGNALLED);
	watched(old_value_is_there);
}

static void nothing_to_check(void)
{
}

/* The owner byte may be written late: also then a valid CQE is complete. */
static void owner_byte_comes_late(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_TEAR;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		begin(&cfg, GPU_ALL, 4);
		adapter_seed = seed;
		adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
		watched(nothing_to_check);
	}
}

static void old_blocks_are_poisoned(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_POISON;
	begin(&cfg, GPU_ALL, 4);
	adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	for (unsigned i = 0; i < 64; i++)
		assert_int_equal(a.sq[i], 0xc1);
	finish();
}

/* The result of operation i is unique. */
static void post_number(uint32_t i)
{
	const uint64_t value = 1000 + i, add = 1;

	switch (i % 4) {
	case 0:
		memcpy(a.memory + LOCAL, &value, sizeof(value));
		adapter_write(&a, &b, LOCAL, TARGET, 8, SIGNALLED);
		break;
	case 1: {
		uint64_t many[20] = {value, [19] = value}; /* 4 WQEBBs */

		adapter_write_inline(&a, &b, TARGET + 1024, many, sizeof(many), SIGNALLED);
		break;
	}
	case 2:
		memcpy(b.memory + TARGET + 2048, &value, sizeof(value));
		adapter_read(&a, &b, RESULT, TARGET + 2048, 8, SIGNALLED);
		break;
	default:
		adapter_atomic(&a, &b, OP_MASKED_FA, 8, (uint64_t[2]){add, 0}, RESULT + 8, COUNTER,
			       SIGNALLED);
	}
}

static void check_number(uint32_t i)
{
	const uint8_t *places[] = {b.memory + TARGET, b.memory + TARGET + 1024 + 19 * 8,
				   a.memory + RESULT, a.memory + RESULT + 8};
	const uint64_t wanted = i % 4 == 3 ? i / 4 : 1000 + i;
	uint64_t value;

	memcpy(&value, places[i % 4], sizeof(value));
	assert_int_equal(value, wanted);
}

/* A ring of 8 WQEBBs, a CQ of 8 entries that detects overruns, indexes that pass 2^16: one
 * operation or four at a time, in all placements of memory. */
static void traffic_in_each_placement(void **state)
{
	static const uint8_t opcodes[] = {OP_WRITE, OP_WRITE, OP_READ, OP_MASKED_FA};
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	cfg.start_index = 0xffd8;
	for (unsigned in_gpu = 0; in_gpu <= GPU_ALL; in_gpu++) {
		uint16_t at[4];

		begin(&cfg, (uint8_t)in_gpu, 8);
		for (uint32_t i = 0; i < 64; i += 4) {
			for (uint32_t k = 0; k < 4; k++) {
				at[k] = a.pi;
				post_number(i + k);
				if (i % 8) {
					go();
					adapter_expect(&a, at[k], opcodes[k]);
					check_number(i + k);
				}
			}
			for (uint32_t k = 0; i % 8 == 0 && k < 4; k++) {
				if (k == 0)
					go();
				adapter_expect(&a, at[k], opcodes[k]);
				check_number(i + k);
			}
		}
		finish();
	}
}

/* WQEBBs in the place of earlier ones, with no other copy in between. */
static void wqebbs_are_read_anew(void **state)
{
	(void)state;
	begin(NULL, GPU_RING, 1);
	for (uint64_t i = 1; i <= 5; i++) {
		const uint16_t at = adapter_write_inline(&a, &b, TARGET, &i, sizeof(i), SIGNALLED);

		go();
		adapter_expect(&a, at, OP_WRITE);
		assert_memory_equal(b.memory + TARGET, &i, sizeof(i));
	}
	finish();
}

/* They are also read again before their completion. */
static void block_that_changes_too_early(void **state)
{
	(void)state;
	begin(NULL, GPU_RING, 8);
	adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
	adapter_record(&a, a.pi);
	mlx5swi_lock();
	mlx5swi_requester_doorbell(a.qp, a.pi);
	assert_int_equal(mlx5swi_fetch(a.qp), 1);
	a.sq[40] ^= 1;
	mlx5swi_compare(a.qp, mlx5swi_entry(a.qp, 0));
	mlx5swi_unlock();
	assert_int_equal(adapter_reported("R1"), 1);
	adapter_stop();
}

/* Software that polls a completion writes the next WQE to the same place at once, and the record:
 * the adapter has compared the old WQE in this step. */
static void post_at_completion(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	static const uint64_t value = 4711;
	mlx5sw_hooks_t plain;

	mlx5swi_plain_hooks(&plain);
	plain.store(arg, dst, src, nbytes, access);
	if (access != MLX5SW_CQE_OWNER || a.pi != 1)
		return;
	adapter_write_inline(&a, &b, TARGET, &value, sizeof(value), SIGNALLED);
	adapter_record(&a, a.pi);
}

static void ring_reused_at_once(void **state)
{
	uint64_t value = 1;

	(void)state;
	begin(NULL, GPU_RING, 1);
	mlx5swi_w->hooks.store = post_at_completion;
	adapter_write_inline(&a, &b, TARGET, &value, sizeof(value), SIGNALLED);
	go();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_WRITE);
	memcpy(&value, b.memory + TARGET, sizeof(value));
	assert_int_equal(value, 4711);
	finish();
}

/* Bytes that were read ahead are kept until they are forgotten, other bytes are not. */
static void loads_and_what_they_keep(void **state)
{
	uint32_t word;

	(void)state;
	begin(NULL, GPU_ALL, 8);
	mlx5swi_lock();
	for (uint32_t i = 0; i < 3; i++) {
		a.dbr[0] = i;
		mlx5swi_queue_load(1, &word, a.qp->dbr, sizeof(word), 0, MLX5SW_DBR);
		assert_int_equal(word, i);
	}
	for (uint32_t i = 0; i < 3; i++) {
		a.dbr[0] = a.dbr[1] = i;
		mlx5swi_queue_load(1, &word, a.qp->dbr, sizeof(word), 8, MLX5SW_DBR);
		assert_int_equal(word, i);
		a.dbr[1] = 77;
		mlx5swi_queue_load(1, &word, a.qp->dbr + 1, sizeof(word), 4, MLX5SW_DBR);
		assert_int_equal(word, i);
		mlx5swi_payload_forget();
	}
	mlx5swi_unlock();
	adapter_stop();
}

static void wqe_across_the_end_of_the_ring(void **state)
{
	uint8_t many[200]; /* 4 WQEBBs */

	(void)state;
	begin(NULL, GPU_ALL, 8);
	fill(many, sizeof(many));
	for (unsigned i = 0; i < 6; i++)
		adapter_nop(&a, i == 5 ? SIGNALLED : 0);
	go();
	adapter_expect(&a, 5, OP_NOP);
	const uint16_t at = adapter_write_inline(&a, &b, TARGET, many, sizeof(many), SIGNALLED);
	go();
	adapter_expect(&a, at, OP_WRITE);
	assert_memory_equal(b.memory + TARGET, many, sizeof(many));
	finish();
}

/* One copy for the WQEBBs of a doorbell, and one to check that they are unchanged. */
static void wqebbs_in_one_copy(void **state)
{
	(void)state;
	begin(NULL, GPU_ALL, 64);
	for (unsigned i = 0; i < 40; i++)
		adapter_nop(&a, i == 39 ? SIGNALLED : 0);
	fake_cuda_waits();
	go();
	assert_in_range(fake_cuda_waits(), 4, 8);
	adapter_expect(&a, 39, OP_NOP);
	for (unsigned i = 0; i < 40; i++)
		assert_in_range(fake_cuda_reads(a.qp->sq + i * 64), 1, 2);
	assert_int_equal(fake_cuda_reads(a.qp->sq + 40 * 64), 0);
	finish();
}

static unsigned reads_of_records(void)
{
	return fake_cuda_reads((uint8_t *)&a.qp->dbr[0]) +
	       fake_cuda_reads((uint8_t *)&a.qp->dbr[1]) + fake_cuda_reads((uint8_t *)a.cq->dbr);
}

/* A doorbell costs two reads of the record; an idle queue none, whatever packets arrive. */
static void idle_queues_cost_no_copies(void **state)
{
	(void)state;
	begin(NULL, GPU_ALL, 8);
	adapter_write(&a, &b, LOCAL, TARGET, 64, 0);
	go();
	assert_int_equal(reads_of_records(), 2);
	fake_cuda_forget();
	fake_cuda_waits();
	for (unsigned i = 0; i < 100; i++)
		mlx5sw_step();
	assert_int_equal(fake_cuda_waits(), 0);
	adapter_nop(&b, 0);
	for (unsigned i = 0; i < 5; i++)
		adapter_write(&b, &a, LOCAL, TARGET, 64, i == 4 ? SIGNALLED : 0);
	adapter_ring(&b);
	adapter_idle();
	adapter_expect(&b, 5, OP_WRITE);
	assert_int_equal(reads_of_records(), 0);
	finish();
}

/* The same holds for a queue in ERR whose WQEs are all flushed. */
static void flushed_queues_cost_no_copies(void **state)
{
	(void)state;
	begin(NULL, GPU_ALL, 8);
	adapter_write(&a, &b, LOCAL, TARGET, 64, 0);
	adapter_write(&a, &b, LOCAL, TARGET, 64, 0);
	adapter_record(&a, a.pi);
	adapter_error(&a);
	adapter_idle();
	adapter_expect_error(&a, 0, LOCAL_STOP);
	adapter_expect_error(&a, 1, FLUSHED);
	fake_cuda_waits();
	for (unsigned i = 0; i < 100; i++)
		mlx5sw_step();
	assert_int_equal(fake_cuda_waits(), 0);
	adapter_write(&a, &b, LOCAL, TARGET, 64, 0);
	go(); /* a doorbell: the record is read again */
	adapter_expect_error(&a, 2, FLUSHED);
	finish();
}

/* The record advances after its doorbell, without another one: the device reads it when the queue
 * is idle. */
static void record_is_read_once_more(void **state)
{
	(void)state;
	begin(NULL, GPU_ALL, 8);
	adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
	adapter_ring(&a);
	mlx5sw_step(); /* takes the doorbell */
	const uint16_t at = adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
	adapter_record(&a, a.pi);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, at, OP_WRITE);
	finish();
}

/* The record is read for each message, even with no other copy in between. */
static void receive_with(uint8_t in_gpu)
{
	adapter_spec_t spec = {.host = 1, .rq_wqes = 4, .in_gpu = in_gpu};
	adapter_wqe_t w;
	adapter_cqe_t cqe;

	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_make(&b, &spec);
	adapter_connect(&a, &b);
	for (uint16_t i = 0; i < 3; i++) {
		b.dbr[0] = htobe32(i + 1u);
		adapter_control(&w, &a, OP_WRITE_IMM, 0, SIGNALLED);
		adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
		adapter_data(&w, 100, a.mr->lkey, (uintptr_t)a.memory);
		adapter_post(&a, &w);
		adapter_ring(&a);
		adapter_step(); /* no time for a second attempt */
		adapter_expect(&a, i, OP_WRITE_IMM);
		assert_true(adapter_poll(&b, &cqe));
		assert_int_equal(cqe.opcode, 1);
		assert_int_equal(cqe.nbytes, 100);
	}
	finish();
}

static void receive_record(void **state)
{
	(void)state;
	receive_with(GPU_ALL);
	receive_with(GPU_RECORD);
}

/* Freed memory reads as zeros, and writes to it are dropped. */
static void queue_memory_freed_early(void **state)
{
	uint32_t word = 0x5a5a5a5a;

	(void)state;
	begin(NULL, GPU_ALL, 8);
	adapter_write(&a, &b, LOCAL, TARGET, 64, SIGNALLED);
	adapter_record(&a, a.pi);
	fake_cuda_free(a.cq->buf);
	adapter_doorbell(&a, a.pi);
	adapter_idle();
	assert_int_equal(a.qp->counters.cqes, 1);
	fake_cuda_free(a.qp->sq);
	adapter_record(&a, 2);
	adapter_doorbell(&a, 2);
	adapter_idle();
	fake_cuda_free((uint8_t *)a.qp->dbr);
	adapter_doorbell(&a, 2);
	adapter_idle();
	mlx5swi_lock();
	mlx5swi_queue_load(1, &word, a.qp->dbr, sizeof(word), 0, MLX5SW_DBR);
	mlx5swi_unlock();
	assert_int_equal(word, 0);
	adapter_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_before_its_completion),
		cmocka_unit_test(atomic_before_its_completion),
		cmocka_unit_test(owner_byte_comes_late),
		cmocka_unit_test(old_blocks_are_poisoned),
		cmocka_unit_test(traffic_in_each_placement),
		cmocka_unit_test(wqebbs_are_read_anew),
		cmocka_unit_test(block_that_changes_too_early),
		cmocka_unit_test(ring_reused_at_once),
		cmocka_unit_test(loads_and_what_they_keep),
		cmocka_unit_test(wqe_across_the_end_of_the_ring),
		cmocka_unit_test(wqebbs_in_one_copy),
		cmocka_unit_test(idle_queues_cost_no_copies),
		cmocka_unit_test(flushed_queues_cost_no_copies),
		cmocka_unit_test(record_is_read_once_more),
		cmocka_unit_test(receive_record),
		cmocka_unit_test(queue_memory_freed_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
