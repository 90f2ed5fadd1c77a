/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A run whose trace trace_file.py reads: PE 0 sends two rounds of data with a flag, a warp of PE 1
 * waits for them, and an agent takes each doorbell from a word with a name. With the argument
 * "fails" a search finds a wrong value on purpose. */
#include <shmem_dev/arch/arch.h>
#include <shmem_sim.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 2u

static uint64_t data, flag, doorbell;
static int must_fail;

static void sends(const void *params)
{
	(void)params;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		shmemd_arch_st_relaxed_u64(&data, 10 * round);
		shmemd_arch_st_release_u64(&flag, round);
		shmemd_arch_st_release_u64(&doorbell, round);
	}
}

static void takes(const void *params)
{
	(void)params;
	for (uint32_t round = 1; round <= ROUNDS; round++) {
		while (shmemd_arch_ld_acquire_u64(&flag) < round)
			shmemd_arch_spin_hint();
		shmemd_arch_syncwarp();
		if (must_fail && shmemd_arch_ld_relaxed_u64(&data) == 20)
			shmemsim_fail("twenty");
	}
}

static void nic(void *arg)
{
	(void)arg;
	while (shmemd_arch_ld_acquire_u64(&doorbell) < ROUNDS)
		shmemd_arch_spin_hint();
}

/* All PEs have come: no kernel starts before the words are reset. */
static int meet(void)
{
	const shmemh_boot_t *boot = shmemsim_boot();
	uint64_t mine = 0, all[2];
	char text[80];

	return boot->allgather(boot->state, &mine, all, sizeof(mine), text, sizeof(text));
}

static int pe_main(int pe, int n_pes, void *arg)
{
	(void)n_pes;
	(void)arg;
	if (pe == 0) {
		shmemd_arch_st_relaxed_u64(&data, 0);
		shmemd_arch_st_relaxed_u64(&flag, 0);
		shmemd_arch_st_relaxed_u64(&doorbell, 0);
		shmemsim_name(&flag, sizeof(flag), "a \"flag\"");
		shmemsim_name(&doorbell, sizeof(doorbell), "doorbell");
		shmemsim_agent("nic", nic, NULL);
	}
	if (meet())
		return 1;
	return shmemsim_launch(pe == 0 ? sends : takes, NULL, 0, 1, pe == 0 ? 1 : 32, 0, NULL) ||
	       shmemsim_sync(NULL);
}

int main(int argc, char **argv)
{
	int bad;

	must_fail = argc > 1 && strcmp(argv[1], "fails") == 0;
	bad = must_fail ? shmemsim_explore(NULL, 100, 2, pe_main, NULL, NULL)
			: shmemsim_run(NULL, 2, pe_main, NULL);
	fputs(shmemsim_report(), stderr);
	return bad;
}
