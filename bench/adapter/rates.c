/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The rate of the adapter on one core: small WRITEs between two processes through shared memory,
 * and runs of fixture_sim.h in the emulator. Prints figures, asserts none. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "fixture_sim.h"

#define BATCH 256u
#define IN_FLIGHT 2u /* batches */

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int swap_names(verbs_end_t *e, int in, int out)
{
	static uint8_t memory[8 * BATCH];
	verbs_name_t peer;
	if (verbs_open(e, memory, sizeof(memory), (IN_FLIGHT + 1) * BATCH) ||
	    write(out, &e->name, sizeof(e->name)) != sizeof(e->name) ||
	    read(in, &peer, sizeof(peer)) != sizeof(peer) || verbs_connect(e, &peer))
		return 1;
	/* Both processes are ready to receive. */
	return write(out, "r", 1) != 1 || read(in, &peer, 1) != 1;
}

static int send_all(verbs_end_t *e, uint64_t n_batches)
{
	uint64_t posted = 0, done = 0;
	uint8_t syndrome;
	while (done < n_batches) {
		for (; posted < n_batches && posted - done < IN_FLIGHT; posted++)
			for (uint32_t i = 0; i < BATCH; i++)
				verbs_write(e, 8 * i, posted, i == BATCH - 1);
		if (verbs_wait(e, 10, &syndrome))
			return 1;
		done++;
	}
	return 0;
}

static int write_rate(uint64_t n)
{
	int to_child[2], to_parent[2];
	verbs_end_t e;
	char end;
	if (pipe(to_child) || pipe(to_parent))
		return 1;
	pid_t child = fork();
	int in = child ? to_parent[0] : to_child[0], out = child ? to_child[1] : to_parent[1];
	close(child ? to_parent[1] : to_child[1]);
	if (child < 0 || swap_names(&e, in, out))
		return 1;
	if (!child)
		exit(read(in, &end, 1) < 0);
	double start = seconds();
	int failed = send_all(&e, n / BATCH);
	double t = seconds() - start;
	if (!failed)
		printf("shared memory, one core: %.2f million WRITEs of 8 bytes per second\n",
		       (double)(n / BATCH * BATCH) / t * 1e-6);
	failed |= write(out, "e", 1) != 1;
	waitpid(child, NULL, 0);
	return failed;
}

static int run_rate(uint64_t n)
{
	shmemsim_config_t cfg = SHMEMSIM_CONFIG_INIT;
	sim_plan_t plan = {MLX5SW_CONFIG_INIT, SIM_NONE};
	plan.cfg.n_hosts = 2;
	plan.cfg.n_devices = 1;
	double start = seconds();
	for (uint64_t i = 0; i < n; i++)
		if (shmemsim_run(&cfg, 2, sim_main, &plan)) {
			fprintf(stderr, "%s\n", shmemsim_report());
			return 1;
		}
	printf("emulator, one core: %.0f runs of 2 PEs and 3 operations per second\n",
	       (double)n / (seconds() - start));
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 4000000;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setaffinity(0, sizeof(one), &one) || write_rate(n) || run_rate(n / 40);
}
