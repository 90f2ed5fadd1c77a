/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Whether fail-over is on: what each PE decides. (What the job then does: test_fault_report.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>
#include <shmem_host/fault.h>
#include "fault/policy.h"
#include "fault/results.h"

static shmemhi_fault_facts_t facts(void)
{
	return (shmemhi_fault_facts_t){.option = SHMEMHI_FT_AUTO,
				       .has_channels = true,
				       .standby = "mlx5_1:1",
				       .verdict = SHMEMHI_PASS,
				       .nic = "mlx5_0"};
}

/* The line says this. */
static void expect(shmemhi_fault_facts_t f, int policy, bool warns, const char *words)
{
	const shmemhi_fault_policy_t p = shmemhi_fault_decide(&f);

	assert_int_equal(p.policy, policy);
	assert_int_equal(p.warns, warns);
	if (!strstr(p.why, words))
		fail_msg("'%s' is not in '%s'", words, p.why);
}

static void decisions(void **state)
{
	shmemhi_fault_facts_t f = facts();

	(void)state;
	expect(f, SHMEMH_FAULT_EXACT, false, "passed the self-test");
	f.verdict = SHMEMHI_UNKNOWN;
	expect(f, SHMEMH_FAULT_OFF, true, "run shmem-info --selftest, or");
	f.verdict = SHMEMHI_FAIL;
	expect(f, SHMEMH_FAULT_OFF, true, "kind of mlx5_0 failed the self-test");
	f.is_software = true;
	expect(f, SHMEMH_FAULT_EXACT, false, "software adapter");
	f.standby = NULL;
	expect(f, SHMEMH_FAULT_OFF, true, "no stand-by port");
	f.option = SHMEMHI_FT_EXACT;
	expect(f, SHMEMH_FAULT_EXACT, false, "without a stand-by");
	f = facts();
	f.option = SHMEMHI_FT_EXACT;
	f.verdict = SHMEMHI_FAIL;
	expect(f, SHMEMH_FAULT_EXACT, false, "SHMEMH_FT=exact");
	f.has_channels = false;
	expect(f, SHMEMH_FAULT_OFF, false, "no PE is reached by a NIC");
	f = facts();
	f.is_emulated = true;
	expect(f, SHMEMH_FAULT_OFF, false, "the emulator runs");
	f.option = SHMEMHI_FT_EXACT;
	expect(f, SHMEMH_FAULT_OFF, true, "the emulator runs");
	f = facts();
	f.option = SHMEMHI_FT_OFF;
	expect(f, SHMEMH_FAULT_OFF, false, "SHMEMH_FT=off");
}

static void verdicts(void **state)
{
	const shmemhi_firmware_t nic = {0x2c9, 4129, "28.38.1002"},
				 other = {0x2c9, 4129, "28.39.0000"};
	static const char *const needed[] = {"immediate",     "cq-ring", "flush-order",
					     "read-quiet",    "prefix",  "late-write",
					     "repeated-write"};
	char path[] = "/tmp/shmem_results_XXXXXX";
	FILE *f = fdopen(mkstemp(path), "a");

	(void)state;
	assert_non_null(f);
	assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_UNKNOWN);
	shmemhi_results_put(f, &nic, "immediate", SHMEMHI_PASS);
	shmemhi_results_put(f, &nic, "cq-ring", SHMEMHI_PASS);
	shmemhi_results_put(f, &nic, "flush-order", SHMEMHI_PASS);
	shmemhi_results_put(f, &nic, "read-quiet", SHMEMHI_PASS);
	shmemhi_results_put(f, &nic, "prefix", SHMEMHI_PASS);
	fflush(f);
	assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_UNKNOWN);
	shmemhi_results_put(f, &nic, "late-write", SHMEMHI_PASS);
	fflush(f);
	assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_UNKNOWN);
	shmemhi_results_put(f, &nic, "repeated-write", SHMEMHI_FAIL);
	fflush(f);
	assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_FAIL);
	shmemhi_results_put(f, &nic, "repeated-write", SHMEMHI_PASS);
	fflush(f);
	assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_PASS);
	assert_int_equal(shmemhi_fault_verdict(path, &other), SHMEMHI_UNKNOWN);
	for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
		shmemhi_results_put(f, &nic, needed[i], SHMEMHI_FAIL);
		fflush(f);
		assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_FAIL);
		shmemhi_results_put(f, &nic, needed[i], SHMEMHI_PASS);
		fflush(f);
		assert_int_equal(shmemhi_fault_verdict(path, &nic), SHMEMHI_PASS);
	}
	fclose(f);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decisions),
		cmocka_unit_test(verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
