/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Processes that die while a child that they forked lives on: PE 1, then the process with the hub.
 * PE 0, in this process, sees both deaths. The children wait for the end of a pipe, which is that
 * of the test. No process forks while it has threads and then starts more: the thread sanitizer
 * does not allow that. */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include "boot_pes.h"

static int life[2]; /* only this process has the writing end */

typedef struct process {
	pid_t pid;
	int to;   /* what the test says to it */
	int from; /* what it says to the test */
} process_t;

/* In such a process: the test has failed if it has nothing to say. */
static void read_all(int fd, void *bytes, size_t nbytes)
{
	if (read(fd, bytes, nbytes) != (ssize_t)nbytes)
		_exit(1);
}

/* Fork a child that lives on, and say so. */
static void fork_child(int out)
{
	char end;
	pid_t pid = fork();

	if (pid == 0) {
		while (read(life[0], &end, 1) < 0)
			continue;
		_exit(0);
	}
	if (pid < 0 || write(out, "c", 1) != 1)
		_exit(1);
}

static void hub_process(int in, int out)
{
	shmemh_uniqueid_t id;
	char go_on;

	setenv("SHMEMH_IFNAME", "lo", 1);
	if (shmemh_get_uniqueid(2, &id) != SHMEMH_OK ||
	    write(out, &id, sizeof id) != (ssize_t)sizeof id)
		_exit(1);
	read_all(in, &go_on, 1); /* the hub has the PEs' connections */
	fork_child(out);
}

static void pe_process(int in, int out)
{
	shmemhi_options_t opt;
	shmemh_uniqueid_t id;
	shmemh_boot_t boot;
	shmemhi_err_t err;

	read_all(in, &id, sizeof id);
	if (shmemhi_options_read(&opt, &no_log, &err) != SHMEMH_OK ||
	    shmemhi_boot_tcp(&id, 1, 2, &opt, &no_log, &boot, &err) != SHMEMH_OK)
		_exit(1);
	fork_child(out);
}

static process_t start_process(void (*body)(int in, int out))
{
	int to[2], from[2];
	process_t p;
	char end;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	p = (process_t){.to = to[1], .from = from[0]};
	p.pid = fork();
	assert_true(p.pid >= 0);
	if (p.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(life[1]);
		body(to[0], from[1]);
		(void)!read(life[0], &end, 1); /* until it is killed */
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	return p;
}

static void expect(const process_t *p, void *bytes, size_t nbytes)
{
	struct pollfd poll_in = {.fd = p->from, .events = POLLIN};

	assert_int_equal(poll(&poll_in, 1, (int)(PATIENCE / SHMEMHI_MS)), 1);
	assert_int_equal(read(p->from, bytes, nbytes), nbytes);
}

static void say(const process_t *p, const void *bytes, size_t nbytes)
{
	assert_int_equal(write(p->to, bytes, nbytes), nbytes);
}

static void kill_process(const process_t *p)
{
	assert_int_equal(kill(p->pid, SIGKILL), 0);
	assert_int_equal(waitpid(p->pid, NULL, 0), p->pid);
}

/* PE 0: report the deaths until there are two. */
static void body_watch(pe_t *p)
{
	p->boot.watch(p->boot.state, on_gone, &p->seen);
	gate_add(p->arg);
	wait_seen(&p->seen, 2);
	leave(p);
}

static void test_children_live_on(void **state)
{
	static pe_t pe;
	static shmemh_uniqueid_t id;
	gate_t is_in = GATE_INIT;
	process_t hub, victim;
	char said;

	(void)state;
	assert_int_equal(pipe(life), 0);
	hub = start_process(hub_process);
	victim = start_process(pe_process);
	expect(&hub, &id, sizeof id);
	pe_start(&pe, &id, 0, 2, body_watch, &is_in);
	say(&victim, &id, sizeof id);
	gate_wait(&is_in, 1);
	expect(&victim, &said, 1);

	kill_process(&victim);
	wait_seen(&pe.seen, 1);
	say(&hub, "f", 1);
	expect(&hub, &said, 1);
	kill_process(&hub);
	pe_join(&pe);
	close(life[1]);
	assert_int_equal(pe.status, SHMEMH_OK);
	assert_int_equal(pe.seen.n, 2);
	assert_int_equal(pe.seen.pe[0], 1);
	assert_int_equal(pe.seen.cause[0], SHMEMD_CAUSE_DIED);
	assert_int_equal(pe.seen.pe[1], -1);
	assert_int_equal(pe.seen.cause[1], SHMEMD_CAUSE_CUT_OFF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_children_live_on)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
