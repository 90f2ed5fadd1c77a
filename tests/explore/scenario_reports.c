/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of faults to the host (abi/fault.h), without a NIC: threads of several blocks report
 * suspicions of two channels, and each channel's word counts its own. A host that has seen so many
 * reports in the common counter finds at least as many in the words, so it overlooks none. */
#include "kernels.h"
#include "memory.h"

const char *const reports_variants[] = {"suspicions", NULL};

enum { N_REPORTERS = 3, N_REPORTS = 2 }; /* reports of each */

void reports_plan(void)
{
	dims.n_blocks = N_REPORTERS;
	dims.n_threads = 1;
}

/* Two blocks for the first channel. */
static uint32_t channel_of(uint32_t w)
{
	return w == N_REPORTERS - 1;
}

static shmemd_faults_t *faults_of(memory_t *m)
{
	return (shmemd_faults_t *)m->faults;
}

static uint32_t n_in_words(memory_t *m)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < N_CHANNELS; i++)
		n += SHMEMD_FAULT_NUMBER(
			shmemd_arch_ld_relaxed_u64(SHMEMD_FAULT_REPORT(faults_of(m), 1, i, 0)));
	return n;
}

/* The host of PE 0. */
void reports_agent(void)
{
	memory_t *m = &memories[0];
	uint64_t n = 0;

	while (n != N_REPORTERS * N_REPORTS) {
		n = shmemd_arch_ld_acquire_u64(&faults_of(m)->n_reports);
		EXPECT(n_in_words(m) >= n);
		shmemd_arch_spin_hint();
	}
}

void reports(const void *params)
{
	const pe_t *p = params;
	const uint32_t w = shmemd_block_index();
	shmemd_ctx_t ctx = p->ctx;

	if (p->ctx.my_pe)
		return;
	ctx.faults = faults_of(p->memory);
	for (uint32_t i = 0; i < N_REPORTS; i++)
		shmemdi_report_suspicion(&ctx, &p->memory->channels[channel_of(w)], channel_of(w));
}

/* The lock of the channel has excluded concurrent updates of its word. */
void reports_final_check(void)
{
	EXPECT(n_in_words(&memories[0]) == N_REPORTERS * N_REPORTS);
}
