/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Control lines: refusals, answers, and scripts. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "fixture_fault.h"
#include "mlx5sw/inject/fault.h"

static adapter_end_t a, b;

static int setup(void **state)
{
	(void)state;
	adapter_start(NULL);
	adapter_pair(&a, &b);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	adapter_stop();
	return 0;
}

/* Each line is wrong, and its answer names the mistake. */
static void wrong_lines(void **state)
{
	static const char *const lines[][2] = {
		{"drop", "'drop' is not a command\n"},
		{"drop qp=1", "'drop qp=1' is not a command\n"},
		{"port sideways", "'port sideways' is not a command\n"},
		{"Port down", "'Port' is not a command\n"},
		{"drop packet n", "'drop packet' takes no 'n'\n"},
		{"drop packet n=1 n=2", "'drop packet' takes no second 'n'\n"},
		{"drop packet mlx5_0 device=1", "'drop packet' takes no second 'device'\n"},
		{"drop packet wqebb=7", "'drop packet' takes no 'wqebb'\n"},
		{"port down qp=1", "'port down' takes no 'qp'\n"},
		{"list rules mlx5_0", "'list rules' takes no 'device'\n"},
		{"drop packet n=0", "n=0: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet n=-1", "n=-1: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet n=+1", "n=+1: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet n=", "n=: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet n=1x", "n=1x: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet n=99999999999999999999",
		 "n=99999999999999999999: must be a number, 1 to 18446744073709551615\n"},
		{"drop packet qp=0x1000000", "qp=0x1000000: must be a number, 0 to 16777215\n"},
		{"drop packet kind=send",
		 "kind=send: must be write, read, atomic, request, ack, response\n"},
		{"port down mlx5_256", "device=256: must be a number, 0 to 255\n"},
		{"port down mlx5_7", "'port down': no object matches\n"},
		{"drop packet host=7", "'drop packet': no object matches\n"},
		{"status host=7", "'status': no object matches\n"},
		{"qp err qp=0x77", "'qp err': no object matches\n"},
		{"mr lose key=0x77", "'mr lose': no object matches\n"},
		{"delay packet", "'delay packet' needs ns=\n"},
		{"delay cqe n=1", "'delay cqe' needs ns=\n"},
		{"delay command", "'delay command' needs ns=\n"},
		{"cut write", "'cut write' needs nbytes=\n"},
		{"fail wqe", "'fail wqe' needs syndrome=\n"},
		{"fail wqe syndrome=0x115", "syndrome=0x115: must be a number, 1 to 255\n"},
		{"fail command", "'fail command' needs status=\n"},
		{"fail command status=0", "status=0: must be a number, 1 to 255\n"},
		{"host kill host=1", "'host kill' needs first=\n"},
		{"host kill first=cq", "first=cq: must be qp, mr\n"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fault_refused(lines[i][0], lines[i][1]);
	assert_string_equal(fault_answer("list rules"), "");
	assert_int_equal(a.qp->state, MLX5SWI_RTS);
}

static void lines_have_a_length(void **state)
{
	char line[600];
	(void)state;
	memset(line, ' ', sizeof(line));
	memcpy(line, "status", 6);
	line[511] = 0;
	assert_non_null(strstr(fault_answer(line), "host 0 mlx5_0: port up\n"));
	line[511] = ' ';
	line[512] = 0;
	fault_refused(line, "a line has at most 511 characters\n");
}

static void empty_lines_do_nothing(void **state)
{
	(void)state;
	assert_string_equal(fault_answer(""), "");
	assert_string_equal(fault_answer(" \t\n"), "");
}

/* Answers are cut to the buffer and terminated. */
static void answers_are_cut(void **state)
{
	char answer[8] = "zzzzzzz";
	(void)state;
	assert_int_equal(mlx5sw_control("status", answer, 5), 0);
	assert_string_equal(answer, "host");
	assert_int_equal(answer[5], 'z');
	assert_int_equal(mlx5sw_control("status", NULL, 0), 0);
}

static void status_of_all_and_of_one(void **state)
{
	char line[64], want[400];
	(void)state;
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	fault_control("port down host=1");
	fault_control("device fatal host=1");
	snprintf(want, sizeof(want),
		 "host 0 mlx5_0: port up\n"
		 "  QP 0x%06x RTS to 0x%06x: doorbells 1, WQEs 1, packets 1 + 0 again, executed 0, "
		 "CQEs 1 + 0 with errors\n"
		 "host 1 mlx5_0: port down, device dead\n"
		 "  QP 0x%06x RTS to 0x%06x: doorbells 0, WQEs 0, packets 0 + 0 again, executed 1, "
		 "CQEs 0 + 0 with errors\n",
		 a.qp->qpn, b.qp->qpn, b.qp->qpn, a.qp->qpn);
	assert_string_equal(fault_answer("status"), want);
	snprintf(line, sizeof(line), "status mlx5_0 host=1 qp=0x%x", a.qp->qpn);
	assert_string_equal(fault_answer(line), "host 1 mlx5_0: port down, device dead\n");
}

static void rules_are_listed_and_cleared(void **state)
{
	(void)state;
	fault_control("drop packet kind=write n=2 after=1");
	fault_control("lose cqe");
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	assert_string_equal(fault_answer("list rules"),
			    "drop packet kind=write n=2 after=1: hit 2, used up\n"
			    "lose cqe: hit 2, goes on\n");
	fault_control("clear rules");
	assert_string_equal(fault_answer("list rules"), "");
	const uint16_t at = adapter_write(&a, &b, 0, 0, 8, SIGNALLED);
	adapter_ring(&a);
	adapter_idle();
	adapter_expect(&a, at, OP_WRITE);
}

static void reports_are_listed(void **state)
{
	char want[100];
	(void)state;
	assert_string_equal(fault_answer("list reports"), "");
	adapter_ring(&a);
	mlx5swi_lint("W5", a.qp, 70000, "one");
	mlx5swi_lint("W5", a.qp, 3, "another of the same row and queue");
	mlx5swi_lint("D4", NULL, -1, "two");
	snprintf(want, sizeof(want),
		 "W5: host 0 mlx5_0 QP 0x%x WQEBB 4464: one (2 times)\nD4: two (1 times)\n",
		 a.qp->qpn);
	assert_string_equal(fault_answer("list reports"), want);
	assert_string_equal(mlx5sw_report(1), "D4: two (1 times)");
	assert_null(mlx5sw_report(2));
}

/* Only strict mode reports a failure; with off, nothing is checked. */
static void lint_modes(void **state)
{
	static const uint8_t modes[] = {MLX5SW_LINT_OFF, MLX5SW_LINT_REPORT, MLX5SW_LINT_STRICT};
	(void)state;
	for (size_t i = 0; i < sizeof(modes); i++) {
		mlx5sw_config_t cfg = adapter_config();
		cfg.lint = modes[i];
		adapter_stop();
		adapter_start(&cfg);
		assert_false(mlx5sw_failed());
		mlx5swi_lint("W5", NULL, -1, "one");
		assert_int_equal(mlx5sw_report(0) != NULL, modes[i] != MLX5SW_LINT_OFF);
		assert_int_equal(mlx5sw_failed(), modes[i] == MLX5SW_LINT_STRICT);
	}
}

/* Further reports are dropped. */
static void reports_have_a_limit(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 1100; i++) {
		char row[8];
		snprintf(row, sizeof(row), "X%u", i);
		mlx5swi_lint(row, NULL, -1, "one");
	}
	assert_non_null(mlx5sw_report(1023));
	assert_null(mlx5sw_report(1024));
}

/* Scripts */

static int open_script(const char *text)
{
	char path[] = "/tmp/adapter_scriptXXXXXX";
	const int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	const int bad = mlx5swi_script_open(path);
	unlink(path);
	return bad;
}

static void script_lines_have_times(void **state)
{
	const mlx5swi_port_t *port = &a.qp->dev->port;
	(void)state;
	const uint64_t start = adapter_clock;
	assert_int_equal(open_script("# of two ports\n"
				     "  port down host=0 # at once\n"
				     "\n"
				     "@2 port up host=0\n"
				     "port down host=1\n"
				     "@3\tport up host=1"),
			 0);
	adapter_step();
	assert_false(port->is_up);
	assert_int_equal(mlx5sw_next_time(), start + 2000000);
	adapter_clock = start + 1999999;
	adapter_step();
	assert_false(port->is_up);
	adapter_clock++;
	adapter_step();
	assert_true(port->is_up);
	assert_false(b.qp->dev->port.is_up); /* a line without a time follows the previous one */
	adapter_idle();
	assert_true(b.qp->dev->port.is_up);
	assert_int_equal(adapter_clock, start + 3000000);
}

static void script_times_are_scaled(void **state)
{
	mlx5sw_config_t cfg = adapter_config();
	(void)state;
	adapter_stop();
	cfg.slow = 100;
	adapter_start(&cfg);
	assert_int_equal(open_script("@50 port down"), 0);
	assert_int_equal(mlx5sw_next_time(), 1000 + 5000000);
}

/* No line of a wrong script is executed. */
static void wrong_scripts(void **state)
{
	static const char *const texts[] = {
		"port sideways\n",
		"port down\n@x port up\n",
		"port down\n@-1 port up\n",
		"port down\n@5port up\n",
		"port down\n@5\n",
		"port down\n@1000000000001 port up\n",
		"port down\ndrop packet n=0\n",
	};
	char text[700];
	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(open_script(texts[i]), EINVAL);
	memset(text, ' ', sizeof(text)); /* the rest would otherwise be a line of its own */
	memcpy(text + 520, "port down", sizeof("port down"));
	assert_int_equal(open_script(text), EINVAL);
	assert_int_equal(mlx5swi_script_open("/nonexistent/script"), ENOENT);
	assert_int_equal(mlx5sw_next_time(), UINT64_MAX);
	adapter_step();
	assert_true(a.qp->dev->port.is_up);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(wrong_lines),
		TEST(lines_have_a_length),
		TEST(empty_lines_do_nothing),
		TEST(answers_are_cut),
		TEST(status_of_all_and_of_one),
		TEST(rules_are_listed_and_cleared),
		TEST(reports_are_listed),
		TEST(lint_modes),
		TEST(reports_have_a_limit),
		TEST(script_lines_have_times),
		TEST(script_times_are_scaled),
		TEST(wrong_scripts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
