/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU twin of bulk_cuda.h: an engine in the emulator (runtime/sim/bulk.c). It carries out a
 * copy when the thread that posted it waits for it: a load in wait_load, and of a bulk group the
 * reads in wait_read or wait, the writes in wait. Before that it carries out a copy in two cases
 * only: the thread posts another one when 64 are left, of which this is the oldest; or the thread
 * ends, and the copy is a write that has read its source. Any other copy left at the end of a
 * thread ends the run. So a wait that is missing shows as old data, on every schedule.
 * The emulator has no proxies; tests/headers/bulk_ptx.sh looks for the fences in the PTX. */
#ifndef SHMEMD_ARCH_BULK_CPU_H
#define SHMEMD_ARCH_BULK_CPU_H

#include <shmem_dev/arch/cpu.h>

#define SHMEMD_ARCH_HAS_BULK 1

#ifdef __cplusplus
extern "C" {
#endif

/* What the engine does with the bytes at their target. */
enum shmemsim_bulk {
	SHMEMSIM_BULK_COPY,
	SHMEMSIM_BULK_F32, /* from here on: adds */
	SHMEMSIM_BULK_F16,
	SHMEMSIM_BULK_BF16,
	SHMEMSIM_BULK_U32,
	SHMEMSIM_BULK_U64,
};

SHMEMSIM_API void shmemsim_bulk_bar(uint64_t *bar, int is_init);
SHMEMSIM_API void shmemsim_bulk_load(void *to, const void *from, uint32_t nbytes, uint64_t *bar);
SHMEMSIM_API void shmemsim_bulk_wait_load(uint64_t *bar, uint32_t parity);
SHMEMSIM_API void shmemsim_bulk_store(void *to, const void *from, uint32_t nbytes, int what);
SHMEMSIM_API void shmemsim_bulk_commit(void);
/* Of all bulk groups but the last n: read the sources; not is_read: also write. */
SHMEMSIM_API void shmemsim_bulk_wait(uint32_t n, int is_read);

#ifdef __cplusplus
}
#endif

SHMEMD_FN int shmemd_arch_is_shared(const void *p)
{
	(void)p;
	return 1;
}

SHMEMD_FN void shmemd_arch_fence_bulk_global(void)
{
}

SHMEMD_FN void shmemd_arch_fence_bulk_shared(void)
{
}

SHMEMD_FN void shmemd_arch_bulk_bar_init(uint64_t *bar)
{
	shmemsim_bulk_bar(bar, 1);
}

SHMEMD_FN void shmemd_arch_bulk_bar_end(uint64_t *bar)
{
	shmemsim_bulk_bar(bar, 0);
}

SHMEMD_FN void shmemd_arch_bulk_load(void *shared, const void *global, uint32_t nbytes,
				     uint64_t *bar)
{
	shmemsim_bulk_load(shared, global, nbytes, bar);
}

SHMEMD_FN void shmemd_arch_bulk_wait_load(uint64_t *bar, uint32_t parity)
{
	shmemsim_bulk_wait_load(bar, parity);
}

#define SHMEMDI_CPU_BULK(name, what)                                                               \
	SHMEMD_FN void shmemd_arch_bulk_##name(void *global, const void *shared, uint32_t nbytes)  \
	{                                                                                          \
		shmemsim_bulk_store(global, shared, nbytes, what);                                 \
	}
SHMEMDI_CPU_BULK(store, SHMEMSIM_BULK_COPY)
SHMEMDI_CPU_BULK(add_f32, SHMEMSIM_BULK_F32)
SHMEMDI_CPU_BULK(add_f16, SHMEMSIM_BULK_F16)
SHMEMDI_CPU_BULK(add_bf16, SHMEMSIM_BULK_BF16)
SHMEMDI_CPU_BULK(add_u32, SHMEMSIM_BULK_U32)
SHMEMDI_CPU_BULK(add_u64, SHMEMSIM_BULK_U64)
#undef SHMEMDI_CPU_BULK

SHMEMD_FN void shmemd_arch_bulk_commit(void)
{
	shmemsim_bulk_commit();
}

SHMEMD_FN void shmemd_arch_bulk_wait_read(uint32_t n)
{
	shmemsim_bulk_wait(n < 3 ? n : 3, 1);
}

SHMEMD_FN void shmemd_arch_bulk_wait(void)
{
	shmemsim_bulk_wait(0, 0);
}

#endif
