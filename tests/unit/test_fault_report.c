/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What is known of faults: shmem_host/fault.h, lines, the metrics file, the table that shmem-info
 * --watch reads. Two agents over TCP, in one process. */
#include "fault_job.h"
#include <shmem_host/shmem_host.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include "fault/policy.h"
#include "stderr_log.h"

#define PORT_DOWN ((shmemhi_fault_cause_t){SHMEMH_FAULT_BY_PORT, 0, 0})

static char metrics_folder[] = "/tmp/shmem_metrics_XXXXXX";

static int set_up(void **state)
{
	(void)state;
	strcpy(metrics_folder, "/tmp/shmem_metrics_XXXXXX");
	assert_non_null(mkdtemp(metrics_folder));
	log_begin();
	open_jobs(metrics_folder);
	settle();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_jobs();
	log_end();
	assert_int_equal(rmdir(metrics_folder), 0); /* close left no file there */
	return 0;
}

static shmemh_fault_info_t info_of(int pe, int k)
{
	shmemh_fault_info_t info = {.size = sizeof info};

	assert_int_equal(shmemh_fault_get(&fault_pes[pe].job, 1 - pe, k, &info), SHMEMH_OK);
	return info;
}

static void states(void **state)
{
	shmemh_fault_info_t info = info_of(0, 1);
	const uint64_t before = shmemhi_now();

	(void)state;
	assert_int_equal(info.state, SHMEMH_FAULT_RUNNING);
	assert_int_equal(info.detected_at, 0);
	assert_string_equal(info.port, "mlx5_0:1");
	assert_int_equal(info.switches, 0);
	assert_string_equal(info.text, "");
	fault_inject(0, 1, 1, (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_RETRIES, 0x15, 0x81});
	info = info_of(0, 1);
	assert_int_equal(info.state, SHMEMH_FAULT_STANDBY);
	assert_int_equal(info.path, 1);
	assert_int_equal(info.switches, 1);
	assert_int_equal(info.replayed, 17);
	assert_int_equal(info.ambiguous, 1);
	assert_int_equal(info.syndrome, 0x15);
	assert_true(info.outage_ns > 0);
	assert_true(info.detected_at > before && info.fenced_at >= info.detected_at);
	assert_true(info.opened_at >= info.fenced_at && info.resumed_at >= info.opened_at);
	assert_int_equal(info.outage_ns, info.resumed_at - info.detected_at);
	assert_string_equal(info.port, "mlx5_1:1");
	assert_string_equal(info.text,
			    "requests got no acknowledgement (CQE syndrome 0x15, transport retries "
			    "exceeded; vendor 0x81)");
	info = info_of(1, 1);
	assert_int_equal(info.state, SHMEMH_FAULT_STANDBY);
	assert_true(info.is_found_at_peer);
	assert_non_null(strstr(info.text, "PE 0 reports: requests got no acknowledgement"));
	assert_int_equal(info_of(0, 0).state, SHMEMH_FAULT_RUNNING);
	/* and back home */
	fault_inject(1, 1, 1, (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_MOVE, 0, 0});
	assert_int_equal(info_of(0, 1).state, SHMEMH_FAULT_RUNNING);
	assert_int_equal(info_of(0, 1).switches, 2);
}

static void no_path(void **state)
{
	shmemh_fault_info_t info;

	(void)state;
	fault_pes[0].is_blocked = true;
	fault_inject(0, 0, 1, PORT_DOWN);
	info = info_of(0, 0);
	assert_int_equal(info.state, SHMEMH_FAULT_SWITCHING);
	assert_string_equal(info.port, "mlx5_0:1"); /* that was left */
	assert_true(info.outage_ns > 0);
	assert_true(info.detected_at && info.fenced_at && !info.opened_at && !info.resumed_at);
	assert_int_equal(info_of(1, 0).state, SHMEMH_FAULT_SWITCHING);
	for (int pe = 0; pe < N_PES; pe++)
		fault_pes[pe].job.fault->core.config.giveup_ns = 0;
	settle();
	info = info_of(0, 0);
	assert_int_equal(info.state, SHMEMH_FAULT_ENDED);
	assert_int_equal(info.status, SHMEMD_ERR_PEER);
	assert_int_equal(info.resumed_at, 0);
	assert_true(log_has("path ended: mlx5_0:1 QP 0x0 (10.0.0.0) -> mlx5_0:1 QP 0x100 "
			    "(10.0.0.1): no path was found, or no order was carried out, within "
			    "SHMEMH_FT_GIVEUP: 3 channels to PE 1: nothing is sent any more, quiet "
			    "returns 2 (SHMEMD_ERR_PEER)"));
}

/* The NIC of PE 1 is dead: what it executed of PE 0's requests is not known. */
static void dead_adapter(void **state)
{
	(void)state;
	fault_pes[1].event = (shmemhi_switch_event_t){SHMEMHI_EV_DEAD, 0, 0};
	fault_pes[1].cause = (shmemhi_fault_cause_t){SHMEMH_FAULT_BY_DEVICE, 0, 0};
	settle();
	assert_int_equal(info_of(0, 0).state, SHMEMH_FAULT_ENDED);
	assert_int_equal(info_of(0, 0).status, SHMEMD_ERR_LOST);
	assert_true(log_has("quiet returns 13 (SHMEMD_ERR_LOST)"));
}

static void arguments(void **state)
{
	static const int bad[][2] = {{-1, 0}, {N_PES, 0}, {1, -1}, {1, N_CHANNELS}};
	shmemh_fault_info_t info = {.size = 1};
	shmemh_t *job = &fault_pes[0].job;

	(void)state;
	assert_int_equal(shmemh_fault_get(job, 1, 0, &info), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_fault_get(job, 1, 0, NULL), SHMEMH_ERR_ARGUMENT);
	info.size = sizeof info;
	info.path = 99;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(shmemh_fault_get(job, bad[i][0], bad[i][1], &info),
				 SHMEMH_ERR_ARGUMENT);
	assert_int_equal(info.path, 99);
	assert_non_null(strstr(shmemh_error_text(NULL), "there are 3 channels to each of 2 PEs"));
	assert_int_equal(shmemh_fault_get(NULL, 1, 0, &info), SHMEMH_ERR_ARGUMENT);
	assert_int_equal(shmemh_fault_policy(NULL, NULL, 0), -1);
	assert_int_equal(shmemh_fault_watch(NULL, NULL, NULL), SHMEMH_ERR_ARGUMENT);
	for (int cause = -1; cause <= SHMEMH_FAULT_N_CAUSES; cause++)
		assert_non_null(shmemh_fault_cause_text(cause));
}

/* One line for the channels of a port that fails, and one for their going on. */
static void lines(void **state)
{
	(void)state;
	fault_inject(0, 0, N_CHANNELS, PORT_DOWN);
	assert_true(log_has("PE 0/2"));
	assert_true(log_has("path lost: mlx5_0:1 QP 0x0 (10.0.0.0) -> mlx5_0:1 QP 0x100 "
			    "(10.0.0.1): the port is down: 3 channels to PE 1: held until another "
			    "path is there, for up to SHMEMH_FT_GIVEUP=30s"));
	assert_true(log_has("path again: mlx5_1:1 QP 0x1 (10.0.1.0) -> mlx5_1:1 QP 0x101 "
			    "(10.0.1.1): 3 channels to PE 1: goes on after "));
	assert_true(log_has(" on a stand-by"));
	assert_true(log_has("51 requests sent again, 3 atomics with unknown result (cause: the "
			    "port is down)"));
	assert_true(log_has("PE 0 reports: the port is down"));
	assert_int_equal(log_count("path lost"), 2); /* one for each PE */
	assert_int_equal(log_count("path again"), 2);
}

/* The time from which the delay of the next line of each group counts. */
static void set_said_at(uint64_t at)
{
	for (int pe = 0; pe < N_PES; pe++)
		for (int i = 0; i < SHMEMHI_FAULT_GROUPS; i++)
			fault_pes[pe].job.fault->report.groups[i].said_at = at;
}

static int n_lines(void)
{
	return log_count("path lost") + log_count("path again");
}

/* A path that flaps: after its first lines the changes of a channel are counted, and one line for
 * many says how many there were. */
static void flapping(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++)
		fault_inject(0, 0, 1, PORT_DOWN);
	/* Each PE has lost its home port and its stand-by, and gone on on the other one. */
	assert_int_equal(log_count("path lost"), 2 * N_PES);
	assert_int_equal(log_count("path again"), 2 * N_PES);
	set_said_at(shmemhi_now() + 3600 * SHMEMHI_SECOND);
	for (int i = 0; i < 8; i++)
		fault_inject(0, 0, 1, PORT_DOWN);
	assert_int_equal(n_lines(), 4 * N_PES);
	set_said_at(1);
	settle();
	assert_int_equal(n_lines(), 8 * N_PES);
	assert_int_equal(log_count("channel 0 to PE 1, 4 changes in "), 4);
	assert_int_equal(log_count("68 requests sent again, 4 atomics"), 2 * N_PES);
	/* A channel that was in no line does not wait. */
	set_said_at(shmemhi_now() + 3600 * SHMEMHI_SECOND);
	fault_inject(0, 1, 1, PORT_DOWN);
	assert_int_equal(log_count("channel 1 to PE 1"), 2);
	set_said_at(shmemhi_now() + 3600 * SHMEMHI_SECOND);
	fault_inject(0, 0, 1, PORT_DOWN);
	assert_int_equal(n_lines(), 10 * N_PES);
}

/* Changes that no line has reported are reported when the job closes. */
static void flapping_until_the_end(void **state)
{
	for (int i = 0; i < 2; i++)
		fault_inject(0, 0, 1, PORT_DOWN);
	set_said_at(shmemhi_now() + 3600 * SHMEMHI_SECOND);
	for (int i = 0; i < 3; i++)
		fault_inject(0, 0, 1, PORT_DOWN);
	assert_int_equal(n_lines(), 4 * N_PES);
	close_jobs();
	assert_int_equal(log_count("path lost"), 4 * N_PES);
	assert_int_equal(log_count("channel 0 to PE 1, 2 changes in "), 2);
	open_jobs(metrics_folder); /* for tear_down */
	(void)state;
}

/* Requests of an order whose change is reported late (fault/machines.c: a channel that ends): the
 * table has them before, since it is refreshed meanwhile, and the line tells them nevertheless. */
static void counts_of_a_late_line(void **state)
{
	shmemhi_fault_agent_t *agent = fault_pes[0].job.fault;

	(void)state;
	agent->core.channels[N_CHANNELS + 1].replayed += 5;
	agent->report.refresh_at = 0;
	settle();
	assert_int_equal(info_of(0, 1).replayed, 5);
	fault_inject(0, 1, 1, PORT_DOWN);
	settle();
	assert_true(log_has("22 requests sent again"));
	assert_int_equal(info_of(0, 1).replayed, 22);
}

/* The callback */

static int n_calls, last_state;

static void on_change(void *arg, int pe, int k, int now)
{
	shmemh_fault_info_t info = {.size = sizeof info};

	assert_ptr_equal(arg, &n_calls);
	assert_int_equal(shmemh_fault_get(&fault_pes[0].job, pe, k, &info), SHMEMH_OK);
	assert_int_equal(info.state, now);
	/* What goes on again is reported with the instants of its switch. */
	assert_int_equal(info.resumed_at != 0, now != SHMEMH_FAULT_SWITCHING);
	n_calls++;
	last_state = now;
	if (now == SHMEMH_FAULT_RUNNING) /* no further calls */
		shmemh_fault_watch(&fault_pes[0].job, NULL, NULL);
}

static void callback(void **state)
{
	(void)state;
	assert_int_equal(shmemh_fault_watch(&fault_pes[0].job, on_change, &n_calls), SHMEMH_OK);
	fault_inject(0, 2, 1, PORT_DOWN);
	assert_true(n_calls >= 1);
	assert_int_equal(last_state, SHMEMH_FAULT_STANDBY);
	fault_inject(0, 2, 1, PORT_DOWN);
	assert_int_equal(last_state, SHMEMH_FAULT_RUNNING);
	n_calls = 0;
	fault_inject(0, 2, 1, PORT_DOWN);
	assert_int_equal(n_calls, 0);
}

static void metrics(void **state)
{
	char path[sizeof fault_pes[0].job.fault->report.metrics + 8], text[4096] = "";
	char want[3][128];
	const char *process = fault_pes[0].job.fault->report.process;
	FILE *f;

	(void)state;
	fault_inject(0, 1, 1, PORT_DOWN);
	fault_pes[0].job.fault->report.metrics_at = 0;
	settle();
	f = fopen(fault_pes[0].job.fault->report.metrics, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	fclose(f);
	assert_non_null(strstr(text, "# TYPE shmem_host_channels gauge\n"));
	snprintf(want[0], sizeof want[0],
		 "_channels{pe=\"0\",process=\"%s\",state=\"running\"} 2\n", process);
	snprintf(want[1], sizeof want[1],
		 "_channels{pe=\"0\",process=\"%s\",state=\"standby\"} 1\n", process);
	snprintf(want[2], sizeof want[2],
		 "_path_switches_total{pe=\"0\",process=\"%s\",peer=\"1\"} 1\n", process);
	for (int i = 0; i < 3; i++)
		assert_non_null(strstr(text, want[i]));
	snprintf(path, sizeof path, "%s.tmp", fault_pes[0].job.fault->report.metrics);
	assert_int_equal(access(path, F_OK), -1);
	/* Two jobs of one process, here those of two PEs, have different numbers. */
	assert_string_not_equal(process, fault_pes[1].job.fault->report.process);
	assert_non_null(strstr(fault_pes[0].job.fault->report.metrics, process));
	/* A folder that is not there is one line, and nothing else. */
	unlink(fault_pes[1].job.fault->report.metrics);
	strcpy(fault_pes[1].job.fault->report.metrics, "/nonexistent/x.prom");
	for (int i = 0; i < 2; i++) {
		fault_pes[1].job.fault->report.metrics_at = 0;
		settle();
	}
	assert_int_equal(log_count("SHMEMH_FT_METRICS: /nonexistent/x.prom cannot be written"), 1);
}

/* A reader never takes a row that is being written. */
static void rows_are_whole(void **state)
{
	shmemhi_fault_table_t *table = &fault_pes[0].job.fault->report.table;
	shmemhi_fault_row_t row;

	(void)state;
	assert_int_equal(shmemhi_fault_row_copy(&table->rows[N_CHANNELS], &row), 0);
	assert_string_equal(row.port, "mlx5_0:1");
	assert_int_equal(row.posted, 1000);
	table->rows[N_CHANNELS].seq++;
	assert_int_equal(shmemhi_fault_row_copy(&table->rows[N_CHANNELS], &row), -1);
	table->rows[N_CHANNELS].seq++;
}

/* All PEs do the same. */

static shmemhi_fault_policy_t decided[N_PES];

static void *agree_main(void *arg)
{
	fault_pe_t *p = arg;
	int policy = -1;

	if (shmemhi_fault_agree(&p->job, &decided[p - fault_pes], &policy) != SHMEMH_OK)
		return (void *)(intptr_t)-2;
	return (void *)(intptr_t)policy;
}

static void expect_agreement(int want, const char *why0, const char *why1)
{
	const char *const whys[N_PES] = {why0, why1};
	pthread_t threads[N_PES];

	for (int pe = 0; pe < N_PES; pe++)
		pthread_create(&threads[pe], NULL, agree_main, &fault_pes[pe]);
	for (int pe = 0; pe < N_PES; pe++) {
		char why[SHMEMHI_FAULT_WHY_NBYTES];
		void *policy;

		pthread_join(threads[pe], &policy);
		assert_int_equal((intptr_t)policy, want);
		assert_int_equal(shmemh_fault_policy(&fault_pes[pe].job, why, sizeof why), want);
		assert_string_equal(why, whys[pe]);
	}
}

static void agreements(void **state)
{
	(void)state;
	decided[0] = (shmemhi_fault_policy_t){SHMEMH_FAULT_EXACT, false, "exact: a"};
	decided[1] = (shmemhi_fault_policy_t){SHMEMH_FAULT_EXACT, false, "exact: b"};
	expect_agreement(SHMEMH_FAULT_EXACT, "exact: a", "exact: b");
	decided[1] = (shmemhi_fault_policy_t){SHMEMH_FAULT_OFF, true, "off: no stand-by port"};
	expect_agreement(SHMEMH_FAULT_OFF, "PE 1: off: no stand-by port", "off: no stand-by port");
}

/* Wrong options are refused before the process is looked for; there is none with this number. */
static void watch_usage(void **state)
{
	static const char *const wrong[] = {"--wrong", "--topo", "--once --once", "--once 7",
					    "7 --once"};
	const char *info = getenv("SHMEM_INFO");

	(void)state;
	if (!info) {
		print_message("skipped: no SHMEM_INFO\n");
		skip();
	}
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		char command[600];
		int status;

		snprintf(command, sizeof command, "'%.500s' --watch 4194303 %s 2>/dev/null", info,
			 wrong[i]);
		status = system(command);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 2);
	}
}

/* A wrong option of the environment is a line on standard error, not in the output. */
static void info_option(void **state)
{
	const char *info = getenv("SHMEM_INFO");
	char command[600], text[1024] = "";
	FILE *f;

	(void)state;
	if (!info) {
		print_message("skipped: no SHMEM_INFO\n");
		skip();
	}
	snprintf(command, sizeof command, "SHMEMH_HEAP=foo '%.500s' 2>&1 >/dev/null", info);
	f = popen(command, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	assert_int_not_equal(pclose(f), 0);
	assert_non_null(strstr(text, "SHMEMH_HEAP=foo is not one of"));
}

/* shmem-info finds the tables of this process: SHMEM_INFO is its path. */
static void watch(void **state)
{
	const char *info = getenv("SHMEM_INFO");
	char command[600], text[8192] = "";
	FILE *f;

	(void)state;
	if (!info) {
		print_message("skipped: no SHMEM_INFO\n");
		skip();
	}
	fault_inject(0, 1, 1, PORT_DOWN);
	snprintf(command, sizeof command, "'%.500s' --watch %ld --once", info, (long)getpid());
	f = popen(command, "r");
	assert_non_null(f);
	assert_true(fread(text, 1, sizeof text - 1, f) > 0);
	assert_int_equal(pclose(f), 0);
	assert_non_null(strstr(text, "PE 0 of 2, 3 channels to each PE"));
	assert_non_null(strstr(text, "PE 1 of 2, 3 channels to each PE"));
	assert_non_null(strstr(
		text, "   1   1 stand-by  mlx5_1:1   mlx5_1:1            -       10        1"));
	assert_non_null(strstr(text, "the port is down\n"));
	assert_non_null(strstr(text, "the port is down (at the peer)\n"));
}

/* A table beyond ulimit -f is a line; SIGXFSZ would end the process. */
static void table_beyond_the_limit(void **state)
{
	const struct rlimit low = {4096, 4096};
	shmemhi_fault_table_t table;
	shmemhi_err_t err = {""};
	int wait_status = 0;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (setrlimit(RLIMIT_FSIZE, &low) != 0)
			_exit(1);
		if (shmemhi_fault_table_open(&table, 0, 64, 64, &err) != SHMEMH_ERR_SYSTEM)
			_exit(2);
		_exit(strstr(err.text, "raise ulimit -f") ? 0 : 3);
	}
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_int_equal(wait_status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_beyond_the_limit),
		cmocka_unit_test_setup_teardown(states, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(dead_adapter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(arguments, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(flapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(flapping_until_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(counts_of_a_late_line, set_up, tear_down),
		cmocka_unit_test_setup_teardown(callback, set_up, tear_down),
		cmocka_unit_test_setup_teardown(metrics, set_up, tear_down),
		cmocka_unit_test_setup_teardown(watch, set_up, tear_down),
		cmocka_unit_test(watch_usage),
		cmocka_unit_test(info_option),
		cmocka_unit_test_setup_teardown(agreements, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_are_whole, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
