/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* WQEs, from the tables of the PRM. */
#include "fixture.h"

static void put(adapter_wqe_t *w, uint32_t at, uint64_t value, uint32_t width)
{
	for (uint32_t i = 0; i < width; i++)
		w->bytes[at + i] = (uint8_t)(value >> 8 * (width - 1 - i));
}

void adapter_set_ds(adapter_wqe_t *w, uint32_t ds)
{
	w->bytes[7] = (uint8_t)ds;
}

static uint32_t grow(adapter_wqe_t *w, uint32_t segments)
{
	const uint32_t at = 16 * w->ds;

	assert_true(w->ds + segments <= 63);
	w->ds += segments;
	adapter_set_ds(w, w->ds);
	return at;
}

void adapter_control(adapter_wqe_t *w, const adapter_end_t *e, uint8_t opcode, uint8_t opmod,
		     uint8_t flags)
{
	memset(w, 0, sizeof(*w));
	put(w, 0, (uint64_t)opmod << 24 | (uint64_t)e->pi << 8 | opcode, 4);
	put(w, 4, (uint64_t)e->qp->qpn << 8, 4);
	w->bytes[11] = flags;
	grow(w, 1);
}

void adapter_remote(adapter_wqe_t *w, uint64_t raddr, uint32_t rkey)
{
	const uint32_t at = grow(w, 1);

	put(w, at, raddr, 8);
	put(w, at + 8, rkey, 4);
}

void adapter_data(adapter_wqe_t *w, uint32_t nbytes, uint32_t lkey, uint64_t addr)
{
	const uint32_t at = grow(w, 1);

	put(w, at, nbytes, 4);
	put(w, at + 4, lkey, 4);
	put(w, at + 8, addr, 8);
}

void adapter_inline(adapter_wqe_t *w, const void *src, uint32_t nbytes)
{
	const uint32_t at = grow(w, (4 + nbytes + 15) / 16);

	put(w, at, 0x80000000u | nbytes, 4);
	memcpy(w->bytes + at + 4, src, nbytes);
}

void adapter_operands(adapter_wqe_t *w, const uint64_t *operands, uint32_t n, uint32_t width)
{
	const uint32_t at = grow(w, (n * width + 15) / 16);

	for (uint32_t i = 0; i < n; i++)
		put(w, at + i * width, operands[i], width);
}

uint16_t adapter_post(adapter_end_t *e, adapter_wqe_t *w)
{
	const uint16_t index = e->pi;
	const uint32_t n = w->ds ? (w->ds + 3) / 4 : 1;

	for (uint32_t i = 0; i < n; i++)
		memcpy(e->sq + (size_t)((index + i) % e->sq_wqebbs) * 64, w->bytes + 64 * i, 64);
	e->pi = (uint16_t)(index + n);
	return index;
}

static uint64_t address(const adapter_end_t *e, uint32_t offset)
{
	return (uintptr_t)e->memory + offset;
}

uint16_t adapter_write(adapter_end_t *e, const adapter_end_t *peer, uint32_t from, uint32_t to,
		       uint32_t nbytes, uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, e, OP_WRITE, 0, flags);
	adapter_remote(&w, address(peer, to), peer->mr->rkey);
	if (nbytes)
		adapter_data(&w, nbytes, e->mr->lkey, address(e, from));
	return adapter_post(e, &w);
}

uint16_t adapter_write_inline(adapter_end_t *e, const adapter_end_t *peer, uint32_t to,
			      const void *src, uint32_t nbytes, uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, e, OP_WRITE, 0, flags);
	adapter_remote(&w, address(peer, to), peer->mr->rkey);
	adapter_inline(&w, src, nbytes);
	return adapter_post(e, &w);
}

uint16_t adapter_read(adapter_end_t *e, const adapter_end_t *peer, uint32_t to_local,
		      uint32_t from_remote, uint32_t nbytes, uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, e, OP_READ, 0, flags);
	adapter_remote(&w, address(peer, from_remote), peer->mr->rkey);
	adapter_data(&w, nbytes, e->mr->lkey, address(e, to_local));
	return adapter_post(e, &w);
}

uint16_t adapter_atomic(adapter_end_t *e, const adapter_end_t *peer, uint8_t opcode, uint32_t width,
			const uint64_t *operands, uint32_t to_local, uint32_t remote, uint8_t flags)
{
	const int is_masked = opcode == OP_MASKED_CS || opcode == OP_MASKED_FA;
	const uint32_t n = opcode == OP_MASKED_CS ? 4 : opcode == OP_FA ? 1 : 2;
	adapter_wqe_t w;

	adapter_control(&w, e, opcode, is_masked ? (width == 8 ? 0x09 : 0x08) : 0, flags);
	adapter_remote(&w, address(peer, remote), peer->mr->rkey);
	adapter_operands(&w, operands, n, width);
	adapter_data(&w, width, e->mr->lkey, address(e, to_local));
	return adapter_post(e, &w);
}

uint16_t adapter_nop(adapter_end_t *e, uint8_t flags)
{
	adapter_wqe_t w;

	adapter_control(&w, e, OP_NOP, 0, flags);
	return adapter_post(e, &w);
}
