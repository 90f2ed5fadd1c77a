/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows of the self-test that begin after its time is over, as when earlier rows have waited for
 * completions that did not come: they end, and do not run as if they had all the time. */
#include "ib_adapter.h"

#include "base/clock.h"
#include "selftest/rows.h"

static shmemhi_rig_t *rig;
static shmemhi_pair_t pair;

static int setup(void **state)
{
	(void)state;
	setenv("MLX5SW_LINT", "off", 1);
	rig = calloc(1, sizeof *rig);
	assert_non_null(rig);
	snprintf(rig->opt.ib_library, sizeof rig->opt.ib_library, "%s", adapter_path());
	rig->opt.ib_gid_index = -1;
	rig->opt.ib_depth = SHMEMHI_RIG_DEPTH;
	rig->opt.ib_ack_timeout = 16;
	rig->opt.ib_retries = 7;
	if (shmemhi_rig_open(rig, "") != SHMEMH_OK)
		fail_msg("%s", rig->err.text);
	if (shmemhi_pair_open(rig, 0, 1, 0, NULL, &pair) != SHMEMH_OK)
		fail_msg("%s", rig->err.text);
	rig->deadline = shmemhi_now() - 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shmemhi_pair_close(rig, &pair);
	shmemhi_rig_close(rig);
	free(rig);
	return 0;
}

static void bursts(void **state)
{
	shmemhi_outcome_t o = {0};

	(void)state;
	shmemhi_row_prefix(rig, &pair, &o);
	assert_int_equal(o.verdict, SHMEMHI_UNKNOWN);
	assert_string_equal(o.text, "only 0 of 1000 trials in the time: --minutes");
	memset(&o, 0, sizeof o);
	shmemhi_row_late_write(rig, &pair, &o);
	assert_int_equal(o.verdict, SHMEMHI_UNKNOWN);
	assert_string_equal(o.text, "only 0 of 200 trials in the time: --minutes");
}

/* The row makes so many tries in any case. */
static void reads(void **state)
{
	shmemhi_outcome_t o = {0};

	(void)state;
	shmemhi_row_read_quiet(rig, &pair, &o);
	assert_int_equal(o.verdict, SHMEMHI_PASS);
	assert_string_equal(o.text, "1000 tries");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bursts, setup, teardown),
		cmocka_unit_test_setup_teardown(reads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
