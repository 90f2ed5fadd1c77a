/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The primitives of arch/bulk.h in PTX. Below sm_90 all but is_shared are empty, and only the two
 * fences are called. */
#ifndef SHMEMD_ARCH_BULK_CUDA_H
#define SHMEMD_ARCH_BULK_CUDA_H

#include <shmem_dev/arch/cuda.h>

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
#define SHMEMD_ARCH_HAS_BULK 0
#define SHMEMDI_BULK_ASM(...) (void)0
#else
#define SHMEMD_ARCH_HAS_BULK 1
#define SHMEMDI_BULK_ASM(...) asm volatile(__VA_ARGS__)
#endif

SHMEMD_FN int shmemd_arch_is_shared(const void *p)
{
	return __isShared(p) != 0;
}

/* p as an address of the shared window, in which these instructions take it. */
SHMEMD_FN uint32_t shmemdi_in_shared(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}

SHMEMD_FN void shmemd_arch_fence_bulk_global(void)
{
	SHMEMDI_BULK_ASM("fence.proxy.async.global;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_fence_bulk_shared(void)
{
	SHMEMDI_BULK_ASM("fence.proxy.async.shared::cta;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_bulk_bar_init(uint64_t *bar)
{
	(void)bar;
	SHMEMDI_BULK_ASM("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shmemdi_in_shared(bar))
			 : "memory");
}

SHMEMD_FN void shmemd_arch_bulk_bar_end(uint64_t *bar)
{
	(void)bar;
	SHMEMDI_BULK_ASM("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(shmemdi_in_shared(bar))
			 : "memory");
}

/* The one arrival of the phase, which also expects the bytes. */
SHMEMD_FN void shmemd_arch_bulk_load(void *shared, const void *global, uint32_t nbytes,
				     uint64_t *bar)
{
	(void)shared, (void)global, (void)nbytes, (void)bar;
	SHMEMDI_BULK_ASM("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
				 shmemdi_in_shared(bar)),
			 "r"(nbytes)
			 : "memory");
	SHMEMDI_BULK_ASM("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			 "[%0], [%1], %2, [%3];" ::"r"(shmemdi_in_shared(shared)),
			 "l"(__cvta_generic_to_global(global)), "r"(nbytes),
			 "r"(shmemdi_in_shared(bar))
			 : "memory");
}

SHMEMD_FN void shmemd_arch_bulk_wait_load(uint64_t *bar, uint32_t parity)
{
	uint32_t is_over = 1;

	(void)bar, (void)parity;
	do
		SHMEMDI_BULK_ASM("{\n\t"
				 ".reg .pred over;\n\t"
				 "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], %2;\n\t"
				 "selp.u32 %0, 1, 0, over;\n\t"
				 "}"
				 : "=r"(is_over)
				 : "r"(shmemdi_in_shared(bar)), "r"(parity)
				 : "memory");
	while (!is_over);
}

#define SHMEMDI_BULK_OUT(name, op)                                                                 \
	SHMEMD_FN void shmemd_arch_bulk_##name(void *global, const void *shared, uint32_t nbytes)  \
	{                                                                                          \
		(void)global, (void)shared, (void)nbytes;                                          \
		SHMEMDI_BULK_ASM(op " [%0], [%1], %2;" ::"l"(__cvta_generic_to_global(global)),    \
				 "r"(shmemdi_in_shared(shared)), "r"(nbytes)                       \
				 : "memory");                                                      \
	}
#define SHMEMDI_BULK_REDUCE "cp.reduce.async.bulk.global.shared::cta.bulk_group.add"
SHMEMDI_BULK_OUT(store, "cp.async.bulk.global.shared::cta.bulk_group")
SHMEMDI_BULK_OUT(add_f32, SHMEMDI_BULK_REDUCE ".f32")
SHMEMDI_BULK_OUT(add_f16, SHMEMDI_BULK_REDUCE ".noftz.f16")
SHMEMDI_BULK_OUT(add_bf16, SHMEMDI_BULK_REDUCE ".noftz.bf16")
SHMEMDI_BULK_OUT(add_u32, SHMEMDI_BULK_REDUCE ".u32")
SHMEMDI_BULK_OUT(add_u64, SHMEMDI_BULK_REDUCE ".u64")
#undef SHMEMDI_BULK_OUT
#undef SHMEMDI_BULK_REDUCE

SHMEMD_FN void shmemd_arch_bulk_commit(void)
{
	SHMEMDI_BULK_ASM("cp.async.bulk.commit_group;" ::: "memory");
}

/* The number is part of the instruction. */
SHMEMD_FN void shmemd_arch_bulk_wait_read(uint32_t n)
{
	if (n == 0)
		SHMEMDI_BULK_ASM("cp.async.bulk.wait_group.read 0;" ::: "memory");
	else if (n == 1)
		SHMEMDI_BULK_ASM("cp.async.bulk.wait_group.read 1;" ::: "memory");
	else if (n == 2)
		SHMEMDI_BULK_ASM("cp.async.bulk.wait_group.read 2;" ::: "memory");
	else
		SHMEMDI_BULK_ASM("cp.async.bulk.wait_group.read 3;" ::: "memory");
}

SHMEMD_FN void shmemd_arch_bulk_wait(void)
{
	SHMEMDI_BULK_ASM("cp.async.bulk.wait_group 0;" ::: "memory");
}
#undef SHMEMDI_BULK_ASM

#endif
