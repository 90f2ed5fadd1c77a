/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* With fail-over on, a PE is killed, or its process is stopped, while the others send to it. The
 * error record of their quiet names it, the PEs that are left still reach each other, and channels
 * do not switch from port to port again and again. Run without a launcher: the program starts its
 * PEs itself. MLX5SW_DIR is the directory of its files. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "mocka.h"
#include "pes.h"
#include "copies.h"

#define N_PES 4
#define GONE (N_PES - 1)
#define NBYTES 256
#define SECONDS 120    /* limit of the job: the machine may be slow */
#define SWITCHES_MAX 2 /* of a channel, before it is known that the PE is gone */

typedef struct send_params {
	shmemd_ctx_t ctx;
	char *inbox;   /* [N_PES][NBYTES] */
	uint64_t *sig; /* [1] */
	char *outbox;  /* [NBYTES] */
	int *result;   /* [2]: status of quiet; status of the gets from PEs that are left */
} send_params_t;

/* To all others, until quiet fails. */
SHMEMD_KERNEL(send_kernel, send_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), pe, status = SHMEMD_OK;

	while (status == SHMEMD_OK) {
		for (pe = 0; pe < N_PES; pe++)
			if (pe != me)
				shmemd_putmem_signal_nbi(&p.ctx, p.inbox + (size_t)me * NBYTES,
							 p.outbox, NBYTES, p.sig, 1,
							 SHMEMD_SIGNAL_ADD, pe);
		status = shmemd_quiet(&p.ctx);
	}
	p.result[0] = status;
}

/* What a PE has sent is still read from those that are left. */
SHMEMD_KERNEL(read_kernel, send_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), pe;

	p.result[1] = 0;
	for (pe = 0; pe < GONE; pe++)
		p.result[1] |= shmemd_getmem(&p.ctx, p.inbox + (size_t)GONE * NBYTES,
					     p.inbox + (size_t)me * NBYTES, NBYTES, pe);
}

static void done_name(char *name, size_t nbytes, int pe)
{
	snprintf(name, nbytes, "%s/done.%d", getenv("MLX5SW_DIR"), pe);
}

static int are_all_done(void)
{
	char name[512];

	for (int pe = 0; pe < GONE; pe++) {
		done_name(name, sizeof(name), pe);
		if (access(name, F_OK))
			return 0;
	}
	return 1;
}

/* A child process that kills the stopped PE once the other PEs are done. */
static void kill_later(void)
{
	const pid_t pe = getpid();

	if (fork() != 0)
		return;
	while (!are_all_done() && getppid() == pe)
		usleep(10000);
	kill(pe, SIGKILL);
	_exit(0);
}

static void *end_main(void *arg)
{
	usleep(300000); /* so that all kernels most likely send */
	kill(getpid(), *(const int *)arg);
	return NULL;
}

/* PE GONE: ends while its kernel and those of the others send. */
static int sending_pe(shmemh_t *job, send_params_t *p, int sig)
{
	pthread_t thread;

	if (sig == SIGSTOP)
		kill_later();
	if (pthread_create(&thread, NULL, end_main, &sig))
		return 1;
	RUN_TRY(job, run_device(shmemd_launch(send_kernel, 1, 1, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	return 1;
}

static int no_storm(shmemh_t *job)
{
	shmemh_fault_info_t info;
	int failed = 0;

	for (int i = 0; i < N_PES * shmemh_channels(job); i++) {
		info.size = sizeof(info);
		if (shmemh_fault_get(job, i % N_PES, i / N_PES, &info) != SHMEMH_OK ||
		    info.switches <= (i % N_PES == GONE ? SWITCHES_MAX : 0))
			continue;
		fprintf(stderr, "%llu switches of a channel to PE %d\n",
			(unsigned long long)info.switches, i % N_PES);
		failed = 1;
	}
	return failed;
}

static int surviving_pe(shmemh_t *job, send_params_t *p)
{
	char name[512];
	int result[2], failed;
	shmemd_error_t err;
	FILE *f;

	RUN_TRY(job, run_device(shmemd_launch(send_kernel, 1, 1, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	memset(&err, 0, sizeof(err));
	failed = shmemh_error_get(job, &err) != SHMEMD_ERR_PEER || err.pe != GONE;
	RUN_TRY(job, run_device(shmemd_launch(read_kernel, 1, 1, 0, NULL, *p)));
	RUN_TRY(job, run_device(shmemd_stream_sync(NULL)));
	RUN_TRY(job, run_copy(result, p->result, sizeof(result)));
	failed |= result[0] != SHMEMD_ERR_PEER || result[1] != 0;
	if (failed)
		fprintf(stderr, "quiet returned %d, get %d; record: status %u, PE %d\n", result[0],
			result[1], err.status, err.pe);
	failed |= no_storm(job);
	done_name(name, sizeof(name), shmemh_my_pe(job));
	f = fopen(name, "w");
	failed |= f == NULL || fclose(f);
	while (!are_all_done()) /* the memory of this PE is read */
		usleep(10000);
	return failed;
}

static int set_up(shmemh_t *job, send_params_t *p)
{
	memset(p, 0, sizeof(*p));
	RUN_TRY(job, shmemh_calloc(job, N_PES, NBYTES, (void **)&p->inbox));
	RUN_TRY(job, shmemh_calloc(job, 1, NBYTES, (void **)&p->outbox));
	RUN_TRY(job, shmemh_calloc(job, 1, sizeof(*p->sig), (void **)&p->sig));
	RUN_TRY(job, shmemh_calloc(job, 2, sizeof(int), (void **)&p->result));
	RUN_TRY(job, shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &p->ctx));
	RUN_TRY(job, shmemh_barrier(job));
	return 0;
}

static int one_pe(int sig)
{
	send_params_t p;
	shmemh_t *job;
	int failed;

	if (run_pick_gpu() != 0 || run_join(NULL, &job) != SHMEMH_OK)
		return 1;
	if (set_up(job, &p))
		return 1;
	if (shmemh_my_pe(job) == GONE)
		return sending_pe(job, &p, sig);
	failed = surviving_pe(job, &p);
	return failed || shmemh_finalize(job) != SHMEMH_ERR_PEER;
}

static void check(const char *role)
{
	copy_end_t ends[N_PES];
	char name[512];
	int i, failed = 0;

	assert_int_equal(copies_run(role, N_PES, N_PES, SECONDS, ends), 0);
	for (i = 0; i < N_PES; i++) {
		failed |= ends[i].is_late || ends[i].status != 0 ||
			  ends[i].signal != (i == GONE ? SIGKILL : 0);
		done_name(name, sizeof(name), i);
		unlink(name);
	}
	if (failed)
		copies_print(ends, N_PES);
	assert_false(failed);
}

static void killed_while_all_send(void **state)
{
	(void)state;
	check("killed");
}

/* The PE's software NIC is a thread of its process and stops too, so no event reports the fault. */
static void stopped_while_all_send(void **state)
{
	(void)state;
	setenv("SHMEMH_FT_GIVEUP", "2s", 1);
	check("stopped");
	unsetenv("SHMEMH_FT_GIVEUP");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_while_all_send),
		cmocka_unit_test(stopped_while_all_send),
	};

	if (argc == 2 && strcmp(argv[1], "killed") == 0)
		return one_pe(SIGKILL);
	if (argc == 2 && strcmp(argv[1], "stopped") == 0)
		return one_pe(SIGSTOP);
	setenv("SHMEMH_DEBUG", "off", 0); /* failures are printed with their text */
	if (argc == 2)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
