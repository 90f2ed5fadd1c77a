/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Section 10 of arch.h on the emulator. */
#ifndef SHMEMD_ARCH_CPU_CHECKS_H
#define SHMEMD_ARCH_CPU_CHECKS_H

#include <shmem_dev/arch/cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For check builds: arch.h, section 10. */
SHMEMSIM_API void shmemsim_tell(const char *text, const char *site, uint32_t line);
SHMEMSIM_API void shmemsim_recorded(const void *err);
SHMEMSIM_API int shmemsim_is_readable(const void *p, size_t nbytes);
SHMEMSIM_API void shmemsim_nbi_source(const void *src, size_t nbytes);
SHMEMSIM_API uint64_t shmemsim_nbi_changed(void);
SHMEMSIM_API void shmemsim_nbi_forget(void);

#ifdef __cplusplus
}
#endif

/* All units of a program share a block's words for *first, since the address of a function of the
 * emulator is their key. */
SHMEMD_FN uint32_t shmemd_arch_present(uint32_t bar, uint32_t nthreads, int is_first, uint64_t v,
				       uint64_t *first)
{
	uint64_t *firsts;
	uint32_t n;

	*first = v;
	if (bar > 15) {
		n = shmemd_arch_popc(
			(uint32_t)shmemsim_coll(SHMEMSIM_BALLOT, 0xffffffffu, 1, 0, 32));
		if (n == 32)
			*first = shmemsim_coll(SHMEMSIM_SHFL, 0xffffffffu, v, 0, 32);
		return n;
	}
	firsts = (uint64_t *)shmemsim_shared((const void *)(uintptr_t)&shmemsim_bar,
					     16 * sizeof(uint64_t));
	if (is_first)
		firsts[bar] = v;
	n = (uint32_t)shmemsim_bar(bar, nthreads, 1, NULL);
	*first = firsts[bar];
	return n;
}

SHMEMD_FN void shmemd_arch_tell(const char *text, const char *site, uint32_t line)
{
	shmemsim_tell(text, site, line);
}

SHMEMD_FN void shmemd_arch_recorded(const void *err)
{
	shmemsim_recorded(err);
}

SHMEMD_FN int shmemd_arch_is_readable(const void *p, size_t nbytes)
{
	return shmemsim_is_readable(p, nbytes);
}

SHMEMD_FN void shmemd_arch_nbi_source(const void *src, size_t nbytes)
{
	shmemsim_nbi_source(src, nbytes);
}

SHMEMD_FN uint64_t shmemd_arch_nbi_changed(void)
{
	return shmemsim_nbi_changed();
}

SHMEMD_FN void shmemd_arch_nbi_forget(void)
{
	shmemsim_nbi_forget();
}

#endif
