/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Doorbells and records: rows D of the adapter's table, in all three modes if the mode matters. */
#include <endian.h>
#include "fixture.h"

static adapter_end_t a, b;

static void start_as(mlx5sw_config_t cfg)
{
	adapter_start(&cfg);
	adapter_pair(&a, &b);
	memset(a.memory, 0x11, 4096);
}

static void start(int mode)
{
	mlx5sw_config_t cfg = adapter_config();

	cfg.doorbells = (uint8_t)mode;
	start_as(cfg);
}

static void post(unsigned n)
{
	while (n--)
		adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
}

/* Returns how many WQEs are executed with this doorbell and this record. */
static uint64_t executed(int mode, uint16_t doorbell, uint16_t record)
{
	uint64_t n;

	start(mode);
	post(4);
	adapter_record(&a, record);
	adapter_doorbell(&a, doorbell);
	adapter_idle();
	n = b.qp->counters.executed;
	adapter_stop();
	return n;
}

enum { HYBRID = MLX5SW_DOORBELLS_HYBRID, DBR = MLX5SW_DOORBELLS_DBR, DB = MLX5SW_DOORBELLS_DB };

static void doorbell_or_record_by_mode(void **state)
{
	(void)state;
	assert_int_equal(executed(HYBRID, 4, 4), 4);
	assert_int_equal(executed(HYBRID, 4, 0), 4);
	assert_int_equal(executed(HYBRID, 3, 4), 4); /* as rdma-core: the index of the last WQE */
	assert_int_equal(executed(HYBRID, 4, 2), 4);
	assert_int_equal(executed(DBR, 4, 4), 4);
	assert_int_equal(executed(DBR, 4, 0), 0);
	assert_int_equal(executed(DBR, 3, 4), 4);
	assert_int_equal(executed(DBR, 4, 2), 2);
	assert_int_equal(executed(DB, 4, 4), 4);
	assert_int_equal(executed(DB, 4, 0), 4);
	assert_int_equal(executed(DB, 3, 4), 3);
	assert_int_equal(executed(DB, 4, 2), 4);
}

/* An index further ahead than the queue is long, or behind, is ignored. */
static void indexes_out_of_range_are_ignored(void **state)
{
	(void)state;
	for (int mode = HYBRID; mode <= DB; mode++) {
		assert_int_equal(executed(mode, 65, 65), 0);
		assert_int_equal(executed(mode, 0xffff, 0xffff), 0);
	}
	assert_int_equal(executed(HYBRID, 1000, 4), 4);
	assert_int_equal(executed(HYBRID, 4, 1000), 4);
}

/* As GPUNetIO: doorbell, record, the same doorbell. */
static void same_doorbell_value_twice(void **state)
{
	(void)state;
	for (int mode = HYBRID; mode <= DB; mode++) {
		start(mode);
		for (unsigned i = 0; i < 10; i++) {
			post(3);
			adapter_doorbell(&a, a.pi);
			adapter_step();
			adapter_record(&a, a.pi);
			adapter_doorbell(&a, a.pi);
			adapter_step();
		}
		assert_int_equal(a.qp->counters.doorbells, 20);
		assert_int_equal(b.qp->counters.executed, 30);
		adapter_expect_clean();
		adapter_stop();
	}
}

static void record_never_written(void **state)
{
	(void)state;
	start(HYBRID);
	for (unsigned i = 0; i < 3; i++) {
		post(1);
		adapter_doorbell(&a, a.pi);
		adapter_idle();
	}
	assert_int_equal(b.qp->counters.executed, 3); /* works as long as no WQE fails */
	assert_int_equal(adapter_reported("D1"), 1);
	adapter_error(&a);
	post(1);
	adapter_doorbell(&a, a.pi);
	adapter_idle();
	for (uint16_t i = 0; i < 3; i++)
		adapter_expect(&a, i, OP_WRITE);
	adapter_expect_none(&a);
	adapter_stop();
}

static void record_in_word_0(void **state)
{
	(void)state;
	start(HYBRID);
	for (unsigned i = 0; i < 2; i++) {
		post(1);
		a.dbr[0] = htobe32(a.pi);
		adapter_doorbell(&a, a.pi);
		adapter_step();
	}
	assert_int_equal(adapter_reported("D1"), 1);
	assert_non_null(strstr(mlx5sw_report(0), "word 0"));
	adapter_stop();
}

static void record_behind(void **state)
{
	(void)state;
	start(HYBRID);
	post(4);
	adapter_record(&a, 2);
	adapter_doorbell(&a, 4);
	adapter_idle();
	adapter_expect_clean(); /* the record may still be written */
	post(1);
	adapter_record(&a, 3);
	adapter_doorbell(&a, 5);
	adapter_idle();
	assert_int_equal(adapter_reported("D2"), 1);
	adapter_stop();
}

static void record_goes_back(void **state)
{
	(void)state;
	start(HYBRID);
	post(4);
	adapter_ring(&a);
	adapter_idle();
	adapter_record(&a, 2);
	adapter_doorbell(&a, 4);
	adapter_idle();
	assert_int_equal(b.qp->counters.executed, 4);
	assert_int_equal(adapter_reported("D3"), 1);
	post(1);
	adapter_ring(&a);
	adapter_idle();
	assert_int_equal(b.qp->counters.executed, 5);
	adapter_stop();
}

/* Of two posters, the later one's doorbell arrives first. Its record is there: nothing is wrong,
 * and later records are still compared with the greater of the two doorbells. */
static void late_doorbell_with_a_record(void **state)
{
	(void)state;
	for (int mode = HYBRID; mode <= DB; mode++) {
		start(mode);
		post(4);
		adapter_ring(&a);
		adapter_idle();
		adapter_doorbell(&a, 2);
		adapter_idle();
		assert_int_equal(b.qp->counters.executed, 4);
		post(1);
		adapter_ring(&a);
		adapter_idle();
		assert_int_equal(b.qp->counters.executed, 5);
		adapter_expect_clean();
		adapter_doorbell(&a, 3);
		adapter_idle();
		adapter_record(&a, 4);
		adapter_doorbell(&a, 4);
		adapter_idle();
		assert_int_equal(adapter_reported("D2"), 1);
		adapter_stop();
	}
}

/* A doorbell of these words at this place of the page is dropped and reported. */
static void dropped(const mlx5sw_config_t *cfg, uint32_t reg, uint32_t first, uint32_t second,
		    const char *row)
{
	start_as(*cfg);
	post(1);
	adapter_record(&a, a.pi);
	adapter_register(a.uar->base_addr, reg, first, second);
	adapter_idle();
	assert_int_equal(a.qp->counters.doorbells, 0);
	assert_int_equal(b.qp->counters.executed, 0);
	if (row)
		assert_int_equal(adapter_reported(row), 1);
	else
		adapter_expect_clean();
	adapter_stop();
}

static void unknown_qpn(void **state)
{
	const mlx5sw_config_t cfg = adapter_config();

	(void)state;
	dropped(&cfg, 0x800, 1 << 8, 0x777777 << 8, "D4");
}

/* The doorbell is of another QP with its own register: that QP is not rung, either. */
static void register_of_another(void **state)
{
	const adapter_spec_t with = {.with = &a};
	adapter_end_t c;

	(void)state;
	start(HYBRID);
	adapter_make(&c, &with);
	adapter_connect(&c, &c);
	post(1);
	adapter_record(&a, a.pi);
	adapter_write(&c, &c, 0, 3000, 8, 0);
	adapter_record(&c, c.pi);
	adapter_register(c.uar->base_addr, 0x800, 1 << 8, a.qp->qpn << 8);
	adapter_idle();
	assert_int_equal(a.qp->counters.dropped, 1);
	assert_int_equal(a.qp->counters.doorbells + c.qp->counters.doorbells, 0);
	assert_int_equal(adapter_reported("D5"), 1);
	adapter_stop();
}

static void doorbell_halves_swapped(void **state)
{
	const mlx5sw_config_t cfg = adapter_config();
	const uint32_t qpn = 0x1000 << 8, index = 1 << 8;

	(void)state;
	dropped(&cfg, 0x800, qpn, index, "D6");
	dropped(&cfg, 0x800, htobe32(index), htobe32(qpn), "D6");
}

static void halves(const mlx5sw_config_t *cfg, uint32_t first_half)
{
	const uint32_t word[2] = {htobe32((uint32_t)a.pi << 8), htobe32(a.qp->qpn << 8)};
	uint32_t *reg = (uint32_t *)((uint8_t *)a.uar->base_addr + 0x800);

	(void)cfg;
	reg[first_half] = word[first_half];
	adapter_idle();
	reg[!first_half] = word[!first_half];
	adapter_idle();
}

static void doorbell_in_two_stores(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	for (uint32_t first = 0; first < 2; first++) {
		start_as(cfg);
		for (unsigned i = 1; i <= 3; i++) {
			post(1);
			adapter_record(&a, a.pi);
			halves(&cfg, first);
			assert_int_equal(a.qp->counters.doorbells, i);
			assert_int_equal(b.qp->counters.executed, i);
		}
		assert_int_equal(adapter_reported("D7"), 1);
		adapter_stop();
	}
}

/* The device may take each half as a doorbell: neither contains this queue's number. */
static void half_taken_as_a_doorbell(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	unsigned n = 0;

	(void)state;
	cfg.chaos = MLX5SW_CHAOS_ORDER;
	start_as(cfg);
	for (unsigned i = 0; i < 50; i++) {
		post(1);
		adapter_record(&a, a.pi);
		halves(&cfg, 0);
		n += a.qp->counters.doorbells > n;
	}
	assert_in_range(n, 1, 49);
	adapter_stop();
}

static void record_after_the_only_doorbell(void **state)
{
	static const uint64_t expected[] = {[HYBRID] = 1, [DBR] = 0, [DB] = 1};

	(void)state;
	for (int mode = HYBRID; mode <= DB; mode++) {
		start(mode);
		post(1);
		adapter_doorbell(&a, a.pi);
		adapter_idle();
		adapter_record(&a, a.pi);
		adapter_idle();
		assert_int_equal(b.qp->counters.executed, expected[mode]);
		post(1);
		adapter_ring(&a); /* the next doorbell wakes the queue */
		adapter_idle();
		assert_int_equal(b.qp->counters.executed, 2);
		adapter_stop();
	}
}

/* The record advances without a doorbell while the device works. Returns the executed WQEs. */
static uint64_t moved_on(const mlx5sw_config_t *cfg, uint64_t seed)
{
	uint64_t n;

	start_as(*cfg);
	adapter_seed = seed;
	post(2);
	adapter_record(&a, 1);
	adapter_doorbell(&a, 1);
	mlx5sw_step();
	adapter_record(&a, 2);
	adapter_idle();
	n = b.qp->counters.executed;
	adapter_stop();
	return n;
}

static void record_read_again_or_not(void **state)
{
	static const uint64_t expected[] = {[HYBRID] = 2, [DBR] = 1, [DB] = 1};
	mlx5sw_config_t cfg = adapter_config();
	uint64_t n = 0;

	(void)state;
	for (cfg.doorbells = HYBRID; cfg.doorbells <= DB; cfg.doorbells++)
		assert_int_equal(moved_on(&cfg, 1), expected[cfg.doorbells]);
	cfg.doorbells = HYBRID;
	cfg.chaos = MLX5SW_CHAOS_FETCH;
	for (uint64_t seed = 1; seed <= 100; seed++)
		n += moved_on(&cfg, seed) - 1;
	assert_in_range(n, 10, 90);
}

/* A WQE that is written through the register need not be in memory yet. */
static void blueflame(uint8_t *page, const adapter_wqe_t *w, unsigned first, unsigned last)
{
	for (unsigned i = first; i <= last; i++)
		memcpy(page + 0x800 + 8 * i, w->bytes + 8 * i, 8);
}

static adapter_wqe_t inline_wqe(const adapter_end_t *e, const char *text)
{
	adapter_wqe_t w;

	adapter_control(&w, e, OP_WRITE, 0, SIGNALLED);
	adapter_remote(&w, (uintptr_t)b.memory, b.mr->rkey);
	adapter_inline(&w, text, 28);
	return w;
}

static void blueflame_is_executed(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	adapter_wqe_t w;

	(void)state;
	cfg.lint = MLX5SW_LINT_OFF;
	start_as(cfg);
	w = inline_wqe(&a, "through the register, whole.");
	memset(a.sq, 0xee, 64);
	adapter_record(&a, 1);
	blueflame(a.uar->base_addr, &w, 0, 7);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	assert_memory_equal(b.memory, "through the register, whole.", 28);
	adapter_stop();
}

/* While a word is missing, the write counts as a doorbell; words that come later are ignored. */
static void blueflame_with_late_words(void **state)
{
	adapter_wqe_t w;

	(void)state;
	for (unsigned first = 0; first < 7; first++) {
		start(HYBRID);
		w = inline_wqe(&a, "through the register, later.");
		adapter_post(&a, &w);
		adapter_record(&a, a.pi);
		blueflame(a.uar->base_addr, &w, 0, first);
		adapter_idle();
		blueflame(a.uar->base_addr, &w, first + 1, 7);
		adapter_idle();
		adapter_expect(&a, 0, OP_WRITE);
		assert_memory_equal(b.memory, "through the register, later.", 28);
		w = inline_wqe(&a, "and the next one is its own.");
		adapter_post(&a, &w);
		adapter_record(&a, a.pi);
		blueflame(a.uar->base_addr, &w, 0, first);
		adapter_idle();
		blueflame(a.uar->base_addr, &w, first + 1, 7);
		adapter_idle();
		adapter_expect(&a, 1, OP_WRITE);
		assert_memory_equal(b.memory, "and the next one is its own.", 28);
		adapter_expect_clean();
		adapter_stop();
	}
}

/* A BlueFlame write covers one WQEBB: not those before, nor one with the same index much later. */
static void blueflame_of_one_wqebb(void **state)
{
	adapter_wqe_t w;

	(void)state;
	start(HYBRID);
	adapter_write(&a, &b, 0, 1000, 8, SIGNALLED);
	w = inline_wqe(&a, "through the register, second");
	adapter_post(&a, &w);
	adapter_record(&a, a.pi);
	blueflame(a.uar->base_addr, &w, 0, 7);
	adapter_idle();
	adapter_expect(&a, 0, OP_WRITE);
	adapter_expect(&a, 1, OP_WRITE);
	assert_memory_equal(b.memory + 1000, a.memory, 8);
	assert_memory_equal(b.memory, "through the register, second", 28);
	w = inline_wqe(&a, "through the register, third.");
	adapter_post(&a, &w);
	adapter_record(&a, a.pi);
	blueflame(a.uar->base_addr, &w, 0, 7);
	adapter_idle();
	adapter_expect(&a, 2, OP_WRITE);
	for (unsigned i = 3; i < 65536 + 2; i++) {
		adapter_nop(&a, 0);
		if (i % 32 == 0)
			adapter_ring(&a);
		if (i % 32 == 0)
			adapter_idle();
	}
	w = inline_wqe(&a, "of the same index, as usual.");
	adapter_post(&a, &w);
	adapter_ring(&a);
	adapter_idle();
	assert_memory_equal(b.memory, "of the same index, as usual.", 28);
	adapter_stop();
}

static void blueflame_halves_in_turn(void **state)
{
	uint8_t *page;

	(void)state;
	start(HYBRID);
	page = a.uar->base_addr;
	for (unsigned i = 0; i < 4; i++) {
		adapter_wqe_t w = inline_wqe(&a, i & 1 ? "through the register, second"
						       : "through the register, first.");

		adapter_post(&a, &w);
		adapter_record(&a, a.pi);
		blueflame(page + 0x100 * (i & 1), &w, 0, 7);
		adapter_idle();
		adapter_expect(&a, (uint16_t)i, OP_WRITE);
		assert_memory_equal(b.memory, w.bytes + 36, 28);
	}
	adapter_stop();
}

/* Two threads write one register without a lock: the executed bytes are a mixture. */
static void blueflame_mixed(void **state)
{
	adapter_wqe_t w, other;

	(void)state;
	start(HYBRID);
	w = inline_wqe(&a, "the bytes of the first one..");
	other = inline_wqe(&a, "THE BYTES OF THE OTHER ONE..");
	adapter_post(&a, &w);
	adapter_record(&a, a.pi);
	blueflame(a.uar->base_addr, &w, 0, 5);
	blueflame(a.uar->base_addr, &other, 6, 7);
	adapter_idle();
	assert_memory_equal(b.memory, "the bytes of", 12);
	assert_memory_equal(b.memory + 12, "THE OTHER ONE..", 0);
	assert_memory_not_equal(b.memory, "the bytes of the first one..", 28);
	assert_int_equal(adapter_reported("R1"), 1);
	adapter_stop();
}

static void not_in_rts(void **state)
{
	mlx5swi_qp_attr_t attr;

	(void)state;
	adapter_start(NULL);
	adapter_make(&a, NULL);
	adapter_write(&a, &a, 0, 1000, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_init(&a);
	adapter_ring(&a);
	adapter_idle();
	attr = adapter_attr(&a, &a);
	adapter_modify(&a, &attr);
	adapter_idle();
	assert_int_equal(adapter_reported("D11"), 1);
	assert_int_equal(a.qp->counters.executed, 0); /* the WQE waits for a doorbell in RTS */
	adapter_doorbell(&a, 0);                      /* the record covers the rest */
	adapter_idle();
	assert_int_equal(a.qp->counters.executed, 1);
	adapter_stop();
}

static void record_not_zeroed_after_reset(void **state)
{
	(void)state;
	start(HYBRID);
	post(5);
	adapter_ring(&a);
	adapter_idle();
	adapter_reset(&a);
	adapter_reset(&b);
	adapter_record(&a, 5); /* the program did not zero it */
	adapter_connect(&a, &b);
	adapter_idle();
	assert_int_equal(b.qp->counters.executed, 5);
	post(1);
	adapter_doorbell(&a, a.pi);
	adapter_idle();
	assert_int_equal(b.qp->counters.executed, 10); /* stale WQEBBs 1 to 4 are executed again */
	adapter_stop();
}

static void wrong_register(void **state)
{
	mlx5sw_config_t cfg = adapter_config();

	(void)state;
	dropped(&cfg, 0x600, 1 << 8, 0x1000 << 8, NULL); /* not read */
	cfg.has_no_dbr = 1;
	dropped(&cfg, 0x600, 1 << 8, 0x1000 << 8, "D13");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(doorbell_or_record_by_mode),
		cmocka_unit_test(indexes_out_of_range_are_ignored),
		cmocka_unit_test(same_doorbell_value_twice),
		cmocka_unit_test(record_never_written),
		cmocka_unit_test(record_in_word_0),
		cmocka_unit_test(record_behind),
		cmocka_unit_test(record_goes_back),
		cmocka_unit_test(late_doorbell_with_a_record),
		cmocka_unit_test(unknown_qpn),
		cmocka_unit_test(register_of_another),
		cmocka_unit_test(doorbell_halves_swapped),
		cmocka_unit_test(doorbell_in_two_stores),
		cmocka_unit_test(half_taken_as_a_doorbell),
		cmocka_unit_test(record_after_the_only_doorbell),
		cmocka_unit_test(record_read_again_or_not),
		cmocka_unit_test(blueflame_is_executed),
		cmocka_unit_test(blueflame_with_late_words),
		cmocka_unit_test(blueflame_of_one_wqebb),
		cmocka_unit_test(blueflame_halves_in_turn),
		cmocka_unit_test(blueflame_mixed),
		cmocka_unit_test(not_in_rts),
		cmocka_unit_test(record_not_zeroed_after_reset),
		cmocka_unit_test(wrong_register),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
