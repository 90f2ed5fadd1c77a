/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Peers whose memory this PE maps (NVLink, PCIe, shared memory): operations are loads, stores and
 * atomics of the calling threads. First which PEs are mapped, and where; from shmemdi_p2p_store on,
 * addresses are those of the mapping. */
#ifndef SHMEMD_IMPL_P2P_H
#define SHMEMD_IMPL_P2P_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/status.h>
#include <shmem_dev/impl/bits.h>
#include <shmem_dev/impl/copy.h>

/* Is pe one of the first n members of the range that holds all mapped ones? */
SHMEMD_FN int shmemdi_is_in_range(const shmemd_ctx_t *ctx, int pe, uint32_t n)
{
	return (uint32_t)(pe - ctx->first_mapped) < n;
}

/* Is pe in the range that holds all mapped members? If not, a NIC reaches it. The range is in the
 * context: a NIC operation tests it without a load of `peers`, and with a context of the world team
 * reserves without one (shmemdi_chan). */
SHMEMD_FN int shmemdi_may_be_mapped(const shmemd_ctx_t *ctx, int pe)
{
	return shmemdi_is_in_range(ctx, pe, ctx->mapped_span);
}

/* Is the heap of pe at a multiple of the stride? Usually it is; then nothing needs to be loaded:
 * a load of `peers` would delay every operation that follows a wait, because the acquire of that
 * wait has emptied the L1. On an H200 the load takes 289 cycles, and a signal's round trip between
 * bare kernels 1.58 us in place of 1.27. */
SHMEMD_FN int shmemdi_is_strided(const shmemd_ctx_t *ctx, int pe)
{
	return shmemdi_is_in_range(ctx, pe, ctx->n_strided);
}

/* How far such a PE's heap is from this PE's own. In units of 2 MiB (SHMEMD_STRIDE_LOG_UNIT) a
 * product of 32 bits is enough. The machine multiplies it by the unit and adds the object's address
 * in one instruction, so that an address takes four, half of what it takes with a 64-bit product.
 */
SHMEMD_FN int64_t shmemdi_stride_shift(const shmemd_ctx_t *ctx, int pe)
{
	int32_t units = (int32_t)(ctx->mapped_stride >> SHMEMD_STRIDE_LOG_UNIT);

	return (int64_t)((pe - ctx->my_pe) * units) * ((int64_t)1 << SHMEMD_STRIDE_LOG_UNIT);
}

/* The address of the same object in another heap, at this distance from this PE's. Heaps are
 * global memory; without shmemd_arch_global_at the compiler would emit generic stores, since a sum
 * of integers says nothing about the kind of memory. sym may be NULL if nothing is copied. */
SHMEMD_FN char *shmemdi_shifted(const void *sym, int64_t shift)
{
	return (char *)shmemd_arch_global_at((uintptr_t)sym + (uintptr_t)shift);
}

SHMEMD_FN char *shmemdi_strided_at(const shmemd_ctx_t *ctx, const void *sym, int pe)
{
	return shmemdi_shifted(sym, shmemdi_stride_shift(ctx, pe));
}

/* Where this PE maps the heap of pe; NULL: not mapped. Right for every member; for one outside the
 * range that shmemdi_may_be_mapped tests, it loads `peers` to find NULL. */
SHMEMD_FN char *shmemdi_p2p_base_of_member(const shmemd_ctx_t *ctx, int pe)
{
	if (SHMEMD_ARCH_LIKELY(shmemdi_is_strided(ctx, pe)))
		return shmemdi_strided_at(ctx, ctx->heap, pe);
	return ctx->peers[pe].base;
}

/* Where this PE maps pe's heap; NULL: not mapped. */
SHMEMD_FN char *shmemdi_p2p_base(const shmemd_ctx_t *ctx, int pe)
{
	return shmemdi_may_be_mapped(ctx, pe) ? shmemdi_p2p_base_of_member(ctx, pe) : (char *)0;
}

/* How far the heap that this PE maps at base is from its own. */
SHMEMD_FN int64_t shmemdi_base_shift(const shmemd_ctx_t *ctx, const char *base)
{
	return (int64_t)((uintptr_t)base - (uintptr_t)ctx->heap);
}

/* Where this PE maps the copy of the symmetric object sym in the heap that it maps at base. sym may
 * be NULL if nothing is copied. */
SHMEMD_FN char *shmemdi_p2p_at(const shmemd_ctx_t *ctx, char *base, const void *sym)
{
	return shmemdi_shifted(sym, shmemdi_base_shift(ctx, base));
}

/* Where this PE maps the copy of sym of a member that is mapped for certain. */
SHMEMD_FN char *shmemdi_p2p_mapped(const shmemd_ctx_t *ctx, const void *sym, int pe)
{
	if (SHMEMD_ARCH_LIKELY(shmemdi_is_strided(ctx, pe)))
		return shmemdi_strided_at(ctx, sym, pe);
	return shmemdi_p2p_at(ctx, ctx->peers[pe].base, sym);
}

/* Words of `width` bytes, a constant in inline callers; strong and relaxed: never torn. */
SHMEMD_FN void shmemdi_p2p_store(char *addr, uint64_t bits, uint32_t width)
{
	if (width == 8)
		shmemd_arch_st_relaxed_u64(addr, bits);
	else if (width == 4)
		shmemd_arch_st_relaxed_u32(addr, (uint32_t)bits);
	else if (width == 2)
		shmemd_arch_st_relaxed_u16(addr, (uint16_t)bits);
	else
		shmemd_arch_st_relaxed_u8(addr, (uint8_t)bits);
}

SHMEMD_FN uint64_t shmemdi_word_load(const char *addr, uint32_t width)
{
	if (width == 8)
		return shmemd_arch_ld_relaxed_u64(addr);
	if (width == 4)
		return shmemd_arch_ld_relaxed_u32(addr);
	if (width == 2)
		return shmemd_arch_ld_relaxed_u16(addr);
	return shmemd_arch_ld_relaxed_u8(addr);
}

/* Signal words have 64 bits. */
SHMEMD_FN void shmemdi_p2p_signal(char *addr, uint64_t value, int op)
{
	if (op == SHMEMD_SIGNAL_ADD)
		shmemd_arch_red_add_u64(addr, value);
	else
		shmemd_arch_st_relaxed_u64(addr, value);
}

/* What is done to a word. The kind is a constant in inline callers. */
enum shmemdi_word_kind {
	/* Atomics of 4 or 8 bytes. */
	SHMEMDI_AMO_FETCH,
	SHMEMDI_AMO_SET,
	SHMEMDI_AMO_ADD,
	SHMEMDI_AMO_AND,
	SHMEMDI_AMO_OR,
	SHMEMDI_AMO_XOR,
	SHMEMDI_AMO_CAS,  /* cond: the expected value */
	SHMEMDI_AMO_ADDF, /* float or double */
	/* No atomics, of words of 1 to 8 bytes. By NIC: a WRITE (p, signal SET, flags of a sync),
	 * a READ (g). */
	SHMEMDI_WORD_STORE,
	SHMEMDI_WORD_LOAD
};

SHMEMD_FN uint64_t shmemdi_p2p_atom4(char *addr, int kind, uint32_t value, uint32_t cond)
{
	switch (kind) {
	case SHMEMDI_AMO_FETCH:
		return shmemd_arch_ld_relaxed_u32(addr);
	case SHMEMDI_AMO_SET:
		return shmemd_arch_atom_exch_u32(addr, value);
	case SHMEMDI_AMO_ADD:
		return shmemd_arch_atom_add_u32(addr, value);
	case SHMEMDI_AMO_AND:
		return shmemd_arch_atom_and_u32(addr, value);
	case SHMEMDI_AMO_OR:
		return shmemd_arch_atom_or_u32(addr, value);
	case SHMEMDI_AMO_XOR:
		return shmemd_arch_atom_xor_u32(addr, value);
	case SHMEMDI_AMO_CAS:
		return shmemd_arch_atom_cas_u32(addr, cond, value);
	default:
		return shmemdi_bits_f32(shmemd_arch_atom_add_f32(addr, shmemdi_f32(value)));
	}
}

SHMEMD_FN uint64_t shmemdi_p2p_atom8(char *addr, int kind, uint64_t value, uint64_t cond)
{
	switch (kind) {
	case SHMEMDI_AMO_FETCH:
		return shmemd_arch_ld_relaxed_u64(addr);
	case SHMEMDI_AMO_SET:
		return shmemd_arch_atom_exch_u64(addr, value);
	case SHMEMDI_AMO_ADD:
		return shmemd_arch_atom_add_u64(addr, value);
	case SHMEMDI_AMO_AND:
		return shmemd_arch_atom_and_u64(addr, value);
	case SHMEMDI_AMO_OR:
		return shmemd_arch_atom_or_u64(addr, value);
	case SHMEMDI_AMO_XOR:
		return shmemd_arch_atom_xor_u64(addr, value);
	case SHMEMDI_AMO_CAS:
		return shmemd_arch_atom_cas_u64(addr, cond, value);
	default:
		return shmemdi_bits_f64(shmemd_arch_atom_add_f64(addr, shmemdi_f64(value)));
	}
}

/* The same without the old value, for the kinds that have a cheaper form. */
SHMEMD_FN void shmemdi_p2p_red4(char *addr, int kind, uint32_t value)
{
	if (kind == SHMEMDI_AMO_SET)
		shmemd_arch_st_relaxed_u32(addr, value);
	else if (kind == SHMEMDI_AMO_ADD)
		shmemd_arch_red_add_u32(addr, value);
	else if (kind == SHMEMDI_AMO_AND)
		shmemd_arch_red_and_u32(addr, value);
	else if (kind == SHMEMDI_AMO_OR)
		shmemd_arch_red_or_u32(addr, value);
	else if (kind == SHMEMDI_AMO_XOR)
		shmemd_arch_red_xor_u32(addr, value);
	else
		shmemd_arch_red_add_f32(addr, shmemdi_f32(value));
}

SHMEMD_FN void shmemdi_p2p_red8(char *addr, int kind, uint64_t value)
{
	if (kind == SHMEMDI_AMO_SET)
		shmemd_arch_st_relaxed_u64(addr, value);
	else if (kind == SHMEMDI_AMO_ADD)
		shmemd_arch_red_add_u64(addr, value);
	else if (kind == SHMEMDI_AMO_AND)
		shmemd_arch_red_and_u64(addr, value);
	else if (kind == SHMEMDI_AMO_OR)
		shmemd_arch_red_or_u64(addr, value);
	else if (kind == SHMEMDI_AMO_XOR)
		shmemd_arch_red_xor_u64(addr, value);
	else
		shmemd_arch_red_add_f64(addr, shmemdi_f64(value));
}

#endif
