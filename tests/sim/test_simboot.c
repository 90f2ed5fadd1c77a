/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Bootstrap of PEs in one process: gathers, misuse, PEs that leave or return. */
#include <shmem_dev/abi/ctx.h>
#include "sim_test.h"

#define N 4

static char text[N][200];

static int gather(const shmemh_boot_t *b, const void *src, void *dst, size_t nbytes)
{
	return b->allgather(b->state, src, dst, nbytes, text[b->pe], sizeof(text[0]));
}

static int rounds(int pe, int n_pes, void *arg)
{
	(void)arg;
	for (int job = 0; job < 3; job++) {
		const shmemh_boot_t *b = shmemsim_boot();
		CHECK(b->size == sizeof(*b) && b->pe == pe && b->n_pes == n_pes);
		CHECK(b == shmemsim_boot());
		for (uint32_t i = 0; i < 10; i++) {
			uint32_t mine[2] = {(uint32_t)pe + 100 * i, ~i}, all[N][2];
			CHECK(gather(b, mine, all, sizeof(mine)) == SHMEMH_OK);
			for (int p = 0; p < n_pes; p++)
				CHECK(all[p][0] == (uint32_t)p + 100 * i && all[p][1] == ~i);
		}
		b->close(b->state);
		CHECK(gather(b, &job, text[0], 4) == SHMEMH_ERR_ARGUMENT);
	}
	return 0;
}

static void test_rounds(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		for (int n = 1; n <= N; n++)
			assert_good(shmemsim_run(&cfg, n, rounds, NULL));
	assert_null(shmemsim_boot());
}

static int sizes_differ(int pe, int n_pes, void *arg)
{
	char src[16] = {0}, dst[N * 16];
	const shmemh_boot_t *b = shmemsim_boot();
	(void)n_pes;
	(void)arg;
	CHECK(gather(b, src, dst, pe == 2 ? 16 : 8) == SHMEMH_ERR_MISMATCH);
	CHECK(strstr(text[pe], "PE 2 passes 16 bytes, PE 0 passes 8"));
	/* the failure has no effect on the next gather */
	CHECK(gather(b, src, dst, 8) == SHMEMH_OK);
	CHECK(gather(b, src, dst, 0) == SHMEMH_ERR_ARGUMENT);
	CHECK(gather(b, src, dst, ((size_t)1 << 20) + 1) == SHMEMH_ERR_ARGUMENT);
	return 0;
}

static const shmemh_boot_t *boot_of_0;

static int foreign(int pe, int n_pes, void *arg)
{
	int dst[N];
	(void)n_pes;
	(void)arg;
	if (pe == 0)
		__atomic_store_n(&boot_of_0, shmemsim_boot(), __ATOMIC_RELEASE);
	while (!__atomic_load_n(&boot_of_0, __ATOMIC_ACQUIRE))
		shmemsim_yield();
	if (pe == 1)
		CHECK(gather(boot_of_0, &pe, dst, 4) == SHMEMH_ERR_ARGUMENT);
	return 0;
}

static void test_misuse(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	assert_good(shmemsim_run(&cfg, N, sizes_differ, NULL));
	assert_good(shmemsim_run(&cfg, 2, foreign, NULL));
}

static uint32_t reported[N][N]; /* [receiver][PE]: cause */

static void gone(void *arg, int pe, uint32_t cause)
{
	uint32_t *mine = arg;
	/* a second call would store a cause that does not exist */
	uint32_t value = __atomic_load_n(&mine[pe], __ATOMIC_RELAXED) ? 99 : cause;
	__atomic_store_n(&mine[pe], value, __ATOMIC_RELEASE);
}

/* PE 1 closes, PE 2 returns without close, PE 3 returns without opening a bootstrap. */
static int departures(int pe, int n_pes, void *arg)
{
	uint32_t dst[N];
	(void)arg;
	if (pe == 3)
		return 0;
	const shmemh_boot_t *b = shmemsim_boot();
	b->watch(b->state, gone, reported[pe]);
	int status = gather(b, &pe, dst, 4);
	CHECK(status == SHMEMH_ERR_PEER);
	CHECK(strstr(text[pe], "PE 3 has returned") || strstr(text[pe], "PE 2 has returned") ||
	      strstr(text[pe], "PE 1 has left"));
	if (pe == 1)
		b->close(b->state);
	if (pe != 0)
		return 0;
	for (int p = 1; p < n_pes; p++)
		while (!shmemd_arch_ld_acquire_u32(&reported[0][p]))
			shmemd_arch_spin_hint();
	CHECK(gather(b, &pe, dst, 4) == SHMEMH_ERR_PEER);
	b->close(b->state);
	return 0;
}

static void test_departures(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		for (cfg.seed = 0; cfg.seed < 10; cfg.seed++) {
			memset(reported, 0, sizeof(reported));
			assert_good(shmemsim_run(&cfg, N, departures, NULL));
			assert_int_equal(reported[0][1], SHMEMD_CAUSE_LEFT);
			assert_int_equal(reported[0][2], SHMEMD_CAUSE_DIED);
			assert_int_equal(reported[0][3], SHMEMD_CAUSE_DIED);
			assert_int_equal(reported[0][0], 0);
		}
}

static int gather_some(const shmemh_boot_t *b, const int32_t *pes, int n, int value, int *dst,
		       unsigned char *there)
{
	shmemh_gather_t g = {pes, n, 7, &value, dst, sizeof(value), there};
	return b->gather_some(b->state, &g, text[b->pe], sizeof(text[0]));
}

/* Two sets of PEs gather at the same time. Then a PE of each leaves in place of its second gather,
 * and the other one goes on without it. */
static int in_sets(int pe, int n_pes, void *arg)
{
	const shmemh_boot_t *b = shmemsim_boot();
	int32_t pes[] = {pe % 2, pe % 2 + 2};
	unsigned char there[2];
	int dst[2];
	(void)n_pes;
	(void)arg;
	CHECK(gather_some(b, pes, 2, 10 + pe, dst, there) == SHMEMH_OK);
	CHECK(dst[0] == 10 + pes[0] && dst[1] == 10 + pes[1] && there[0] && there[1]);
	if (pe == 1)
		b->close(b->state);
	if (pe == 1 || pe == 2) /* PE 2 returns without close */
		return 0;
	CHECK(gather_some(b, pes, 2, 20 + pe, dst, there) == SHMEMH_OK);
	CHECK(there[pe / 2] && !there[!(pe / 2)] && dst[pe / 2] == 20 + pe);
	b->close(b->state);
	return 0;
}

static void test_sets(void **state)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	for (cfg.policy = SHMEMSIM_ROUND_ROBIN; cfg.policy <= SHMEMSIM_RANDOM; cfg.policy++)
		for (cfg.seed = 0; cfg.seed < 10; cfg.seed++)
			assert_good(shmemsim_run(&cfg, 4, in_sets, NULL));
}

static int one_of_a_set_stays_away(int pe, int n_pes, void *arg)
{
	static uint32_t never;
	const shmemh_boot_t *b = shmemsim_boot();
	int32_t pes[] = {0, 2};
	unsigned char there[2];
	int dst[2];
	(void)n_pes;
	(void)arg;
	while (pe != 0 && !shmemd_arch_ld_acquire_u32(&never))
		shmemd_arch_spin_hint();
	int status = gather_some(b, pes, 2, pe, dst, there);
	return status ? status : dst[0]; /* not a tail call: the frame remains */
}

static int one_stays_away(int pe, int n_pes, void *arg)
{
	static uint32_t never;
	uint32_t dst[N];
	(void)n_pes;
	(void)arg;
	while (pe == 2 && !shmemd_arch_ld_acquire_u32(&never))
		shmemd_arch_spin_hint();
	const shmemh_boot_t *b = shmemsim_boot();
	int status = gather(b, &pe, dst, 4);
	return status ? status : (int)dst[0]; /* not a tail call: the frame remains */
}

static void test_missing_is_named(void **state)
{
	const shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	(void)state;
	int result = shmemsim_run(&cfg, N, one_stays_away, NULL);
	assert_bad(result, "host of PE 0: in a gather of the bootstrap, missing PE 2");
	assert_bad(result, "one_stays_away");
	result = shmemsim_run(&cfg, N, one_of_a_set_stays_away, NULL);
	assert_bad(result, "host of PE 0: in a gather of the bootstrap, missing PE 2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rounds),           cmocka_unit_test(test_misuse),
		cmocka_unit_test(test_departures),       cmocka_unit_test(test_sets),
		cmocka_unit_test(test_missing_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
