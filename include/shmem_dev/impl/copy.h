/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Copy bytes by a group of threads, between mapped or block-local memory. */
#ifndef SHMEMD_IMPL_COPY_H
#define SHMEMD_IMPL_COPY_H

#include <shmem_dev/group.h>

/* Loads of one thread in flight before its first store. Those of a put read this GPU's memory: with
 * 8 in place of 4, puts of 4 KiB by blocks are 5 % slower, and only some of 256 KiB and more are
 * faster, by up to 3 % (H200). MOST: of units of 16 bytes, for aligned gets, whose loads take the
 * latency of the link, and for a warp or a thread alone, since no other warp of its block has loads
 * of this copy in flight at the same time. With 8 in place of 4, gets of 1 MiB by 1, 4 and 16
 * blocks of 256 threads reached 30, 99 and 205 GB/s and not 17, 61 and 178 (H200). A thread still
 * needs no more than the 64 registers that it has in a block of 1024. */
#define SHMEMDI_COPY_DEPTH 4u
#define SHMEMDI_COPY_DEPTH_MOST 8u

/* Is the calling thread the one of rank 0? g is a thread, a warp, a block or a run of warps. For a
 * block the rank is not used: computing it from three coordinates costs every warp ten
 * instructions, and a quiet of a block up to 0.04 us (H200). Not for the group that
 * shmemdi_grid_part returns: its rank is that in the grid, but its bar is the block's, so that the
 * first thread of each block would be taken for the leader. */
SHMEMD_FN int shmemdi_leads(shmemd_group_t g)
{
	return g.bar == 0 ? shmemd_arch_is_first() : g.rank == 0;
}

/* One unit of `width` bytes, a constant of 1, 4, 8 or 16. Those below 8 are kept as 8: parts of a
 * register would have to be merged. */
typedef union shmemdi_unit {
	uint64_t u64[2];
	shmemd_v16_t v16;
} shmemdi_unit_t;

SHMEMD_FN void shmemdi_unit_load(shmemdi_unit_t *u, const char *p, uint32_t width)
{
	if (width == 16)
		u->v16 = shmemd_arch_ld_data_v16(p);
	else if (width == 8)
		u->u64[0] = shmemd_arch_ld_data_u64(p);
	else if (width == 4)
		u->u64[0] = shmemd_arch_ld_data_u32(p);
	else
		u->u64[0] = shmemd_arch_ld_data_u8(p);
}

SHMEMD_FN void shmemdi_unit_store(const shmemdi_unit_t *u, char *p, uint32_t width)
{
	if (width == 16)
		shmemd_arch_st_data_v16(p, u->v16);
	else if (width == 8)
		shmemd_arch_st_data_u64(p, u->u64[0]);
	else if (width == 4)
		shmemd_arch_st_data_u32(p, (uint32_t)u->u64[0]);
	else
		shmemd_arch_st_data_u8(p, (uint8_t)u->u64[0]);
}

/* Set a unit that is neither loaded nor stored to 0. If it were left undefined, its registers would
 * stay allocated throughout a loop of the caller. */
SHMEMD_FN void shmemdi_unit_clear(shmemdi_unit_t *u, uint32_t width)
{
	u->u64[0] = 0;
	if (width == 16)
		u->u64[1] = 0;
}

/* Units of one round: all loads go out before the first store. `left`: the units of all threads
 * from src to the end; a constant 0 says that this thread has all of its units. The constant bound
 * keeps u in registers when the group, and so its depth, is only known at run time. The pointers
 * advance step by step, so that one address is in registers and not one per unit. */
SHMEMD_FN void shmemdi_copy_round(uint32_t stride, char *dst, const char *src, uint32_t left,
				  uint32_t width, uint32_t depth, uint32_t max_depth)
{
	shmemdi_unit_t u[SHMEMDI_COPY_DEPTH_MOST];
	uint32_t k;

	for (k = 0; k < max_depth && k < depth; k++, src += stride * width)
		if (left == 0 || k * stride < left)
			shmemdi_unit_load(&u[k], src, width);
		else
			shmemdi_unit_clear(&u[k], width);
	for (k = 0; k < max_depth && k < depth; k++, dst += stride * width)
		if (left == 0 || k * stride < left)
			shmemdi_unit_store(&u[k], dst, width);
}

/* n units of 16 bytes, at most one for each thread: thread r copies unit r. */
SHMEMD_FN void shmemdi_copy_unit(shmemd_group_t g, char *dst, const char *src, uint32_t n)
{
	size_t at = (size_t)g.rank * 16;
	shmemdi_unit_t u;

	if (g.rank >= n)
		return;
	shmemdi_unit_load(&u, src + at, 16);
	shmemdi_unit_store(&u, dst + at, 16);
}

/* n whole units. Thread r takes units r, r + size and so on: neighbours write
 * neighbouring units, one request for the link. Rounds in which every thread has all of its units
 * go without tests: with 32 warps an instruction takes 8 cycles of the SM. Unrolling the rounds as
 * well only fills the instruction cache: 64 KiB by a warp then took 9.6 us, not 6.7 (H200).
 * block_depth, a constant: loads in flight of a thread of a block or a run of warps.
 *
 * A get ends with a round of half the depth if no more units than that are left, and that round has
 * no tests if each thread has all of its units. Without the latter a get of 64 KiB by 1024 threads
 * took 2.40 us, with it 2.25; without the former most gets by several blocks had 1 % less bandwidth
 * (H200). */
SHMEMD_FN void shmemdi_copy_rounds(shmemd_group_t g, char *dst, const char *src, uint32_t n,
				   uint32_t width, uint32_t block_depth)
{
	uint32_t max_depth = width == 16 ? SHMEMDI_COPY_DEPTH_MOST : SHMEMDI_COPY_DEPTH;
	uint32_t depth = g.bar < SHMEMDI_BAR_NONE ? block_depth : max_depth;
	uint32_t stride = g.size;
	uint32_t round = stride * depth, half = stride * SHMEMDI_COPY_DEPTH;

	src += (size_t)g.rank * width;
	dst += (size_t)g.rank * width;
	SHMEMD_ARCH_NO_UNROLL
	for (; n >= round; n -= round) {
		shmemdi_copy_round(stride, dst, src, 0, width, depth, max_depth);
		dst += (size_t)round * width;
		src += (size_t)round * width;
	}
	if (block_depth == SHMEMDI_COPY_DEPTH_MOST && n == half)
		shmemdi_copy_round(stride, dst, src, 0, width, SHMEMDI_COPY_DEPTH,
				   SHMEMDI_COPY_DEPTH);
	else if (block_depth == SHMEMDI_COPY_DEPTH_MOST && n < half && g.rank < n)
		shmemdi_copy_round(stride, dst, src, n - g.rank, width, SHMEMDI_COPY_DEPTH,
				   SHMEMDI_COPY_DEPTH);
	else if (g.rank < n)
		shmemdi_copy_round(stride, dst, src, n - g.rank, width, depth, max_depth);
}

/* Fewer than 16 bytes before the first or after the last whole unit, by one thread, in the widest
 * pieces that fit: at most one of 8 bytes, one of 4 and three of 1, in this order after the last
 * unit, in the reverse order before the first. `width` is the unit's: dst and src are equally
 * misaligned in it. */
SHMEMD_FN void shmemdi_copy_edge(char *dst, const char *src, size_t nbytes, uint32_t width)
{
	while (nbytes) {
		uint32_t piece = 1;
		shmemdi_unit_t u;

		if (width > 8 && nbytes >= 8 && (uintptr_t)dst % 8 == 0)
			piece = 8;
		else if (width > 4 && nbytes >= 4 && (uintptr_t)dst % 4 == 0)
			piece = 4;
		shmemdi_unit_load(&u, src, piece);
		shmemdi_unit_store(&u, dst, piece);
		dst += piece;
		src += piece;
		nbytes -= piece;
	}
}

/* The lower halves of two addresses and a size, for tests of their alignment: a test of 64 bits
 * takes an instruction more. sym may be the address in the caller's own heap, since all heaps begin
 * at multiples of 16. */
SHMEMD_FN uint32_t shmemdi_copy_bits(const void *sym, const void *local, size_t nbytes)
{
	return (uint32_t)(uintptr_t)sym | (uint32_t)(uintptr_t)local | (uint32_t)nbytes;
}

/* Are these whole, aligned units of 16 bytes, below 4 GiB? */
SHMEMD_FN int shmemdi_copy_is_units(const void *dst, const void *src, size_t nbytes)
{
	return ((shmemdi_copy_bits(dst, src, nbytes) & 15) | (uint32_t)(nbytes >> 32)) == 0;
}

SHMEMD_FN int shmemdi_copy_is_word(const void *sym, const void *local, size_t nbytes)
{
	return (nbytes == 8 || nbytes == 4) &&
	       (((uintptr_t)sym | (uintptr_t)local) & (nbytes - 1)) == 0;
}

/* Copy one aligned word of 4 or 8 bytes by one strong store. Only the thread of rank 0 calls this.
 * A put of such a word may be the update that shmemd_wait_until waits for. With an ordinary store
 * the waiter could see the flag and then read data from before it. Memory of the block alone has no
 * strong store, and needs none. */
SHMEMD_FN void shmemdi_copy_word(char *dst, const char *src, size_t nbytes)
{
	shmemdi_unit_t u;

	shmemdi_unit_load(&u, src, nbytes == 8 ? 8 : 4);
	if (!shmemd_arch_is_global(dst))
		shmemdi_unit_store(&u, dst, nbytes == 8 ? 8 : 4);
	else if (nbytes == 8)
		shmemd_arch_st_relaxed_u64(dst, u.u64[0]);
	else
		shmemd_arch_st_relaxed_u32(dst, (uint32_t)u.u64[0]);
}

/* The widest unit to which both addresses can be aligned together, at most nbytes. */
SHMEMD_FN uint32_t shmemdi_copy_width(const char *dst, const char *src, size_t nbytes)
{
	uintptr_t skew = (uintptr_t)dst ^ (uintptr_t)src;

	if (skew % 16 == 0 && nbytes >= 16)
		return 16;
	if (skew % 8 == 0 && nbytes >= 8)
		return 8;
	return skew % 4 == 0 && nbytes >= 4 ? 4 : 1;
}

/* Any alignment, at most 1 GiB: whole units, and the bytes before the first and after the last one.
 * These bytes are copied first, so that their addresses take no registers from the units. nbytes >=
 * width, so the head is inside. */
SHMEMD_FN void shmemdi_copy_piece(shmemd_group_t g, char *dst, const char *src, size_t nbytes)
{
	uint32_t width = shmemdi_copy_width(dst, src, nbytes), side;
	uint32_t head = (uint32_t)(0 - (uintptr_t)dst) & (width - 1);
	uint32_t tail = (uint32_t)(nbytes - head) & (width - 1);
	uint32_t n = (uint32_t)(nbytes - head) >> shmemd_arch_lowest(width);
	size_t done = nbytes - tail;

	SHMEMD_ARCH_NO_UNROLL
	for (side = 0; side < 2 && g.rank == g.size - 1; side++)
		shmemdi_copy_edge(side ? dst + done : dst, side ? src + done : src,
				  side ? tail : head, width);
	dst += head;
	src += head;
	if (width == 16)
		shmemdi_copy_rounds(g, dst, src, n, 16, SHMEMDI_COPY_DEPTH);
	else if (width == 8)
		shmemdi_copy_rounds(g, dst, src, n, 8, SHMEMDI_COPY_DEPTH);
	else if (width == 4)
		shmemdi_copy_rounds(g, dst, src, n, 4, SHMEMDI_COPY_DEPTH);
	else
		shmemdi_copy_rounds(g, dst, src, n, 1, SHMEMDI_COPY_DEPTH);
}

#define SHMEMDI_COPY_PIECE ((size_t)1 << 30)

/* Any alignment, any size. If nbytes is 0 the pointers are not used, and may be null. */
SHMEMD_FN_CALL void shmemdi_copy_any(shmemd_group_t g, char *dst, const char *src, size_t nbytes)
{
	if (shmemdi_copy_is_word(dst, src, nbytes)) {
		if (g.rank == 0)
			shmemdi_copy_word(dst, src, nbytes);
		return;
	}
	SHMEMD_ARCH_NO_UNROLL
	while (nbytes) {
		size_t piece = nbytes < SHMEMDI_COPY_PIECE ? nbytes : SHMEMDI_COPY_PIECE;

		shmemdi_copy_piece(g, dst, src, piece);
		dst += piece;
		src += piece;
		nbytes -= piece;
	}
}

/* ptxas gives a function that is called directly registers of its own, which the loops of its
 * callers then lack. With the NIC path inline a kernel of 32 warps that post spilled two registers
 * for shmemdi_copy_any, and a put took 2 % longer (H200). Called through a pointer, the function is
 * in every kernel with the NIC path, 11.5 KB even where nothing is copied. */
#if defined(SHMEMD_NIC_INLINE) && !defined(SHMEMD_NO_NIC)
#define SHMEMDI_COPY_ANY SHMEMD_ARCH_INDIRECT(shmemdi_copy_any)
#else
#define SHMEMDI_COPY_ANY shmemdi_copy_any
#endif

/* The group copies nbytes; each thread its part, no synchronisation. The ranges do not overlap. If
 * nbytes is 0 nothing is copied; callers that may pass null pointers test before. (A test of
 * nbytes - 1 in shmemdi_copy_is_units made the compiler load the arguments into the registers of
 * each warp: 8 bytes by a block took 0.06 us longer, H200.)
 *
 * Only copies of whole units are inline: the rest would be nine tenths of the code at each call.
 * With a call for whole units as well, a round trip of puts with a signal, of 256 bytes by a
 * thread, took 4.6 us and not 4.1 (H200). block_depth: as for shmemdi_copy_rounds. */
SHMEMD_FN void shmemdi_copy(shmemd_group_t g, char *dst, const char *src, size_t nbytes,
			    uint32_t block_depth)
{
	if (shmemdi_copy_is_units(dst, src, nbytes))
		shmemdi_copy_rounds(g, dst, src, (uint32_t)nbytes / 16, 16, block_depth);
	else
		SHMEMDI_COPY_ANY(g, dst, src, nbytes);
}

#endif
