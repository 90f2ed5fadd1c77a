/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Failed operations of check builds: the status of quiet, and the record that the host reads
 * meanwhile. */
#define SHMEMD_CHECK
#include <string.h>
#include "kernels.h"
#include "memory.h"

#define N_FAILING 3 /* threads of a group whose operations fail: the last ones */

const char *const latch_variants[] = {"quiet", "barrier", "quiet for the leader", NULL};

/* The host's monitor reads a record as soon as it exists: all its fields must belong together. */
void latch_agent(void)
{
	for (int pe = 0; pe < dims.n_pes; pe++) {
		const shmemd_error_t *e = &memories[pe].error;
		uint64_t bad_pe = (uint64_t)dims.n_pes;
		uint32_t status;
		char last;
		while (!(status = shmemd_arch_ld_acquire_u32(&e->status)))
			shmemd_arch_spin_hint();
		if (status == SHMEMD_ERR_BAD_PE) {
			EXPECT(shmemd_arch_ld_relaxed_u32(&e->op) == SHMEMD_OP_P);
			EXPECT(shmemd_arch_ld_relaxed_u64(&e->value) >= bad_pe);
			EXPECT(shmemd_arch_ld_relaxed_u64(&e->wanted) == bad_pe);
			last = (char)shmemd_arch_ld_relaxed_u8(
				&e->site[sizeof("shmemd_p_u64") - 2]);
		} else {
			EXPECT(status == SHMEMD_ERR_UNALIGNED);
			EXPECT(shmemd_arch_ld_relaxed_u32(&e->op) == SHMEMD_OP_ATOMIC);
			EXPECT(shmemd_arch_ld_relaxed_u64(&e->value) == sizeof(uint32_t));
			EXPECT(shmemd_arch_ld_relaxed_u64(&e->addr) ==
			       (uintptr_t)&memories[pe].heap.word + 1);
			last = (char)shmemd_arch_ld_relaxed_u8(
				&e->site[sizeof("shmemd_atomic_inc_u32") - 2]);
		}
		EXPECT(shmemd_arch_ld_relaxed_u32((const uint32_t *)&e->pe) == (uint32_t)-1);
		EXPECT(last == '2' || last == '4');
	}
}

static void fail(const pe_t *p, uint32_t which)
{
	char *word = (char *)&p->heap->word;
	if (which % 2)
		shmemd_p_u64(&p->ctx, &p->heap->word, 1, p->ctx.n_pes + (int)which);
	else
		shmemd_atomic_inc_u32(&p->ctx, (uint32_t *)(word + 1), 0);
}

/* Some threads fail, in different ways: all threads get the same status, and it does not change. */
void latch(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	int status;
	if (g.rank + N_FAILING >= g.size)
		fail(p, g.rank + (uint32_t)p->ctx.my_pe);
	if (p->dims.variant == 0)
		status = shmemd_quiet_group(&p->ctx, g);
	else if (p->dims.variant == 1)
		status = shmemd_barrier_group(&p->ctx, g);
	else
		status = shmemd_quiet_leader_group(&p->ctx, g);
	EXPECT(status == SHMEMD_ERR_BAD_PE || status == SHMEMD_ERR_UNALIGNED);
	if (g.rank == 0)
		fail(p, status == SHMEMD_ERR_UNALIGNED);
	EXPECT(status == shmemd_quiet_group(&p->ctx, g)); /* the first error is kept */
	p->memory->saw[g.rank] = (uint64_t)status;
}

void latch_final_check(void)
{
	for (int pe = 0; pe < dims.n_pes; pe++)
		for (uint32_t tid = 0; tid < dims.n_threads; tid++)
			EXPECT(memories[pe].saw[tid] == memories[pe].latch.status);
}

/* One PE calls another collective than the others: all threads of all PEs get an error. */
void mismatch(const void *params)
{
	const pe_t *p = params;
	shmemd_group_t g = group_of(p);
	int is_odd = p->ctx.my_pe == (int)(p->dims.variant % (uint32_t)p->ctx.n_pes);
	int status = is_odd ? shmemd_barrier_group(&p->ctx, g) : shmemd_sync_group(&p->ctx, g);
	EXPECT(status == SHMEMD_ERR_COLLECTIVE);
}

const char *const mismatch_variants[] = {"PE 0", "PE 1", NULL};
