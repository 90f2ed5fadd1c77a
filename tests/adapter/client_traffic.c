/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Clients: each operation once or more, with its effect on memory and on the CQ. Both processes map
 * the memory of both ends, so that each can check all of it. */
#include <stdio.h>
#include <stdlib.h>
#include "client.h"

/* Areas of an end's memory: the source of its messages, its results, the target of its peer. */
#define SOURCE 0u
#define RESULT 16384u
#define FLUSH_WORD 32760u /* 8 bytes that are not checked */
#define TARGET 32768u
#define LONG_NBYTES 10000u /* several packets */
#define IMM 0x12345678u

static uint8_t *source(const end_t *e)
{
	return e->self.data + SOURCE;
}

static uint8_t *result(const end_t *e)
{
	return e->self.data + RESULT;
}

static uint8_t *target(const end_t *e)
{
	return e->peer.data + TARGET;
}

static void fill(uint8_t *bytes, size_t nbytes, uint32_t seed)
{
	size_t i;

	for (i = 0; i < nbytes; i++)
		bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
}

/* After an error all later checks would fail, too. */
static void check_success(const end_t *e, const char *what, uint8_t opcode, completion_t c)
{
	if (!same(what, MLX5_CQE_REQ, c.opcode)) {
		fprintf(stderr, "%s: syndrome 0x%02x, vendor's 0x%02x\n", what, c.syndrome,
			c.vendor);
		exit(1);
	}
	same(what, opcode, c.wqe_opcode);
	same(what, e->sq.qpn, c.qpn);
}

/* Post a signalled WQE, ring, wait for its completion. */
static completion_t execute(end_t *e, const char *what, wqe_t *w)
{
	completion_t c;

	w->flags |= SIGNALLED;
	c.counter = sq_post(&e->sq, w);
	sq_ring(&e->sq);
	c = cq_wait(&e->send_cq, what, c.counter);
	check_success(e, what, w->opcode, c);
	return c;
}

static wqe_t make_read(const end_t *e, void *to, uint32_t nbytes)
{
	wqe_t w = wqe_make(MLX5_OPCODE_RDMA_READ, 0, 0);

	wqe_remote(&w, target(e), e->peer.rkey);
	wqe_local(&w, to, nbytes, e->mr->lkey);
	return w;
}

/* The completion of a WRITE means that the peer's device has the bytes. The completion of a READ
 * after it means that they are in the peer's memory, so the check waits for it. */
static void execute_write(end_t *e, const char *what, wqe_t *w)
{
	wqe_t flush = make_read(e, e->self.data + FLUSH_WORD, 8);

	execute(e, what, w);
	execute(e, "READ after WRITE", &flush);
}

static wqe_t make_write(const end_t *e, uint32_t offset, uint32_t nbytes)
{
	wqe_t w = wqe_make(MLX5_OPCODE_RDMA_WRITE, 0, 0);

	wqe_remote(&w, target(e) + offset, e->peer.rkey);
	wqe_local(&w, source(e) + offset, nbytes, e->mr->lkey);
	return w;
}

void traffic_write(end_t *e)
{
	wqe_t w = make_write(e, 3, LONG_NBYTES);
	uint8_t after = target(e)[3 + LONG_NBYTES];

	fill(source(e), 3 + LONG_NBYTES, e->self.psn);
	execute_write(e, "WRITE", &w);
	same_bytes("WRITE", source(e) + 3, target(e) + 3, LONG_NBYTES);
	same("byte after WRITE", after, target(e)[3 + LONG_NBYTES]);
}

static wqe_t make_inline(const end_t *e, uint32_t nbytes)
{
	wqe_t w = wqe_make(MLX5_OPCODE_RDMA_WRITE, 0, 0);

	fill(source(e), nbytes, nbytes + e->self.psn);
	wqe_remote(&w, target(e), e->peer.rkey);
	wqe_inline(&w, source(e), nbytes);
	return w;
}

static void traffic_inline(end_t *e)
{
	static const uint32_t nbytes[] = {1, 12, 13, 28, 256};
	unsigned i;

	for (i = 0; i < sizeof(nbytes) / sizeof(nbytes[0]); i++) {
		wqe_t w = make_inline(e, nbytes[i]);

		execute_write(e, "inline WRITE", &w);
		same_bytes("inline WRITE", source(e), target(e), nbytes[i]);
	}
}

static void traffic_blueflame(end_t *e)
{
	wqe_t w = make_inline(e, 28), flush = make_read(e, e->self.data + FLUSH_WORD, 8);
	uint16_t wqebb;

	w.flags = SIGNALLED;
	wqebb = sq_post(&e->sq, &w);
	sq_ring_blueflame(&e->sq);
	check_success(e, "BlueFlame WRITE", w.opcode,
		      cq_wait(&e->send_cq, "BlueFlame WRITE", wqebb));
	execute(e, "READ after WRITE", &flush);
	same_bytes("BlueFlame WRITE", source(e), target(e), 28);
}

static void traffic_zero_length(end_t *e)
{
	wqe_t w = wqe_make(MLX5_OPCODE_RDMA_WRITE, 0, 0);
	uint8_t before = *target(e);

	wqe_remote(&w, target(e), e->peer.rkey);
	execute_write(e, "WRITE of no bytes", &w);
	same("WRITE of no bytes", before, *target(e));
}

/* The receiver posts, the sender writes, the receiver gets the completion. */
static void traffic_imm(const pair_t *p)
{
	uint16_t index = p->passive ? rq_post(&p->passive->rq) : 0;

	pair_meet(p);
	if (p->active) {
		wqe_t w = make_write(p->active, 8, 64);

		w.opcode = MLX5_OPCODE_RDMA_WRITE_IMM;
		w.imm = htobe32(IMM);
		fill(source(p->active), 8 + 64, IMM);
		execute(p->active, "WRITE_IMM", &w);
	}
	if (p->passive) {
		completion_t c = cq_wait(&p->passive->recv_cq, "receive", index);

		same("receive: opcode", MLX5_CQE_RESP_WR_IMM, c.opcode);
		same("receive: immediate", IMM, be32toh(c.imm));
		same("receive: bytes", 64, c.nbytes);
		same("receive: QP", p->passive->sq.qpn, c.qpn);
		same_bytes("received", p->passive->peer.data + SOURCE + 8,
			   p->passive->self.data + TARGET + 8, 64);
	}
	pair_meet(p);
}

static void traffic_read(end_t *e)
{
	wqe_t w = make_read(e, result(e), LONG_NBYTES);
	completion_t c;

	fill(target(e), LONG_NBYTES, ~e->self.psn);
	memset(result(e), 0, LONG_NBYTES);
	c = execute(e, "READ", &w);
	same("READ: bytes", LONG_NBYTES, c.nbytes);
	same_bytes("READ", target(e), result(e), LONG_NBYTES);
}

/* Execute an atomic, complete except for its data segment, on a word of 4 or 8 bytes. The word is
 * in host order, and so is the returned value of 8 bytes (atomic_req_8B_endianness_mode 1); that of
 * 4 bytes is big-endian in every mode. */
static void atomic(end_t *e, const char *what, wqe_t *w, size_t nbytes, uint64_t old, uint64_t new)
{
	uint64_t guard = 0xa5a5a5a5a5a5a5a5, expected_word = guard, expected_result = guard;
	uint32_t big_endian = htobe32((uint32_t)old);

	memcpy(target(e), &guard, sizeof(guard));
	memcpy(target(e), &old, nbytes);
	memcpy(result(e), &guard, sizeof(guard));
	memcpy(&expected_word, &new, nbytes);
	memcpy(&expected_result, nbytes == 4 ? (const void *)&big_endian : &old, nbytes);
	wqe_local(w, result(e), (uint32_t)nbytes, e->mr->lkey);
	execute(e, what, w);
	same_bytes(what, &expected_word, target(e), sizeof(guard));
	same_bytes(what, &expected_result, result(e), sizeof(guard));
}

static wqe_t make_atomic(const end_t *e, uint8_t opcode, uint8_t opmod)
{
	wqe_t w = wqe_make(opcode, opmod, 0);

	wqe_remote(&w, target(e), e->peer.rkey);
	return w;
}

static void cas(end_t *e, const char *what, uint64_t old, uint64_t compare, uint64_t swap,
		uint64_t new)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_CS, 0);

	wqe_u64(&w, swap);
	wqe_u64(&w, compare);
	atomic(e, what, &w, 8, old, new);
}

static void fetch_add(end_t *e, uint64_t old, uint64_t add)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_FA, 0);

	wqe_u64(&w, add);
	wqe_u64(&w, 0);
	atomic(e, "FA", &w, 8, old, old + add);
}

typedef struct masked_cas {
	uint64_t old, compare, compare_mask, swap, swap_mask, new;
} masked_cas_t;

static void masked_cas_8(end_t *e, masked_cas_t m)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_MASKED_CS, OPMOD_ATOMIC_8);

	wqe_u64(&w, m.swap);
	wqe_u64(&w, m.compare);
	wqe_u64(&w, m.swap_mask);
	wqe_u64(&w, m.compare_mask);
	atomic(e, "masked CAS of 8 bytes", &w, 8, m.old, m.new);
}

static void masked_cas_4(end_t *e, masked_cas_t m)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_MASKED_CS, OPMOD_ATOMIC_4);

	wqe_u32(&w, (uint32_t)m.swap);
	wqe_u32(&w, (uint32_t)m.compare);
	wqe_u32(&w, (uint32_t)m.swap_mask);
	wqe_u32(&w, (uint32_t)m.compare_mask);
	atomic(e, "masked CAS of 4 bytes", &w, 4, m.old, m.new);
}

/* No carry leaves a bit that is set in `boundary`. */
static void masked_fa_8(end_t *e, uint64_t old, uint64_t add, uint64_t boundary, uint64_t new)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_MASKED_FA, OPMOD_ATOMIC_8);

	wqe_u64(&w, add);
	wqe_u64(&w, boundary);
	atomic(e, "masked FA of 8 bytes", &w, 8, old, new);
}

static void masked_fa_4(end_t *e, uint32_t old, uint32_t add, uint32_t boundary, uint32_t new)
{
	wqe_t w = make_atomic(e, MLX5_OPCODE_ATOMIC_MASKED_FA, OPMOD_ATOMIC_4);

	wqe_u32(&w, add);
	wqe_u32(&w, boundary);
	wqe_u64(&w, 0);
	atomic(e, "masked FA of 4 bytes", &w, 4, old, new);
}

static void traffic_atomics(end_t *e)
{
	const uint64_t v = 0x0123456789abcdef;

	cas(e, "CAS that hits", v, v, 0xfedcba9876543210, 0xfedcba9876543210);
	cas(e, "CAS that misses", v, v + 1, 0, v);
	fetch_add(e, v, 0x1111111111111111);
	fetch_add(e, UINT64_MAX, 2);
	masked_cas_8(e, (masked_cas_t){v, 0xef, 0xff, 0, 0xff00, 0x0123456789ab00ef});
	masked_cas_8(e, (masked_cas_t){v, 0xee, 0xff, 0, 0xff00, v});
	masked_cas_8(e, (masked_cas_t){v, 0, 0, ~v, UINT64_MAX, ~v}); /* swap */
	masked_cas_4(e, (masked_cas_t){0x89abcdef, 0x89, 0xff, 0x55, 0xff, 0x89abcdef});
	masked_cas_4(e, (masked_cas_t){0x89abcdef, 0xef, 0xff, 0x5500, 0xff00, 0x89ab55ef});
	masked_cas_4(e, (masked_cas_t){0x89abcdef, 0, 0, 0x12345678, UINT32_MAX, 0x12345678});
	masked_fa_8(e, UINT64_MAX, 2, 0, 1);
	masked_fa_8(e, 0x1ffffffff, 0x100000001, 0x80000000, 0x200000000);
	masked_fa_8(e, v, UINT64_MAX, UINT64_MAX, ~v); /* exclusive or */
	masked_fa_4(e, 0xfffffffe, 3, 0, 1);
	masked_fa_4(e, 0x01ff, 0x0101, 0x80, 0x0200);
	masked_fa_4(e, 0x89abcdef, 0x89abcdef, UINT32_MAX, 0);
}

/* Eight WRITEs with one doorbell; only the last requests a CQE, which completes all of them. */
static void traffic_unsignalled(end_t *e)
{
	wqe_t w;
	unsigned i;

	fill(source(e), 8 * 100, 8);
	memset(target(e), 0, 8 * 100);
	for (i = 0; i < 7; i++) {
		w = make_write(e, i * 100, 100);
		sq_post(&e->sq, &w);
	}
	w = make_write(e, i * 100, 100);
	execute_write(e, "last of 8 WRITEs", &w);
	same_bytes("8 WRITEs", source(e), target(e), 8 * 100);
	if (!e->send_cq.collapsed)
		same("CQE of an unsignalled WRITE", false, cq_has(&e->send_cq));
}

/* More atomics than may be in flight: the device delays the others. */
static void traffic_atomic_burst(end_t *e)
{
	const unsigned n = 12;
	uint64_t *word = (uint64_t *)target(e), *old = (uint64_t *)result(e);
	unsigned i;
	wqe_t w;

	*word = 0;
	for (i = 0; i < n; i++) {
		w = make_atomic(e, MLX5_OPCODE_ATOMIC_FA, 0);
		wqe_u64(&w, 1);
		wqe_u64(&w, 0);
		wqe_local(&w, old + i, sizeof(*old), e->mr->lkey);
		if (i < n - 1)
			sq_post(&e->sq, &w);
	}
	execute(e, "last of 12 FAs", &w);
	same("12 FAs", n, *word);
	for (i = 0; i < n; i++)
		same("one of 12 FAs", i, old[i]);
}

static void traffic_nop(end_t *e)
{
	wqe_t w = wqe_make(MLX5_OPCODE_NOP, 0, 0);

	execute(e, "NOP", &w);
}

static void traffic_dump(end_t *e)
{
	wqe_t w = wqe_make(OPCODE_DUMP, 0, FENCED);

	wqe_local(&w, result(e), 64, e->mr->lkey);
	execute(e, "DUMP", &w);
}

/* A WQE of five WQEBBs from each of the ring's last four on. */
static void traffic_wrap(end_t *e)
{
	uint32_t left;

	for (left = 4; left > 0; left--) {
		wqe_t w;

		while (e->sq.posted % e->sq.n_wqebbs != e->sq.n_wqebbs - left)
			traffic_nop(e);
		w = make_inline(e, 256);
		execute_write(e, "WRITE across the ring's end", &w);
		same_bytes("WRITE across the ring's end", source(e), target(e), 256);
	}
}

void traffic(const pair_t *p)
{
	end_t *e = p->active;

	traffic_imm(p);
	if (e) {
		traffic_write(e);
		traffic_inline(e);
		if (e->sq.bf_nbytes)
			traffic_blueflame(e);
		traffic_zero_length(e);
		traffic_read(e);
		traffic_dump(e);
		traffic_atomics(e);
		traffic_atomic_burst(e);
		traffic_unsignalled(e);
		traffic_nop(e);
		traffic_wrap(e);
	}
	pair_meet(p);
}

static void check_error(const end_t *e, const char *what, completion_t c, uint8_t syndrome,
			uint8_t vendor)
{
	same(what, MLX5_CQE_REQ_ERR, c.opcode);
	same(what, MLX5_OPCODE_RDMA_WRITE, c.wqe_opcode);
	same(what, e->sq.qpn, c.qpn);
	same(what, syndrome, c.syndrome);
	same(what, vendor, c.vendor);
}

/* No READ can follow, so the bytes have no known arrival time: poll for them. */
static void await_bytes(const char *what, const uint8_t *expected, const volatile uint8_t *got,
			size_t nbytes)
{
	patience_t p = patience(what);
	size_t i;

	for (i = 0; i < nbytes; i++)
		while (got[i] != expected[i])
			patient(&p);
}

/* A good WRITE, one with a wrong key, two more: only the first is executed, and it has no CQE. Each
 * of the others has one, signalled or not. A collapsed CQ keeps the last one. */
static void refused(end_t *e)
{
	uint16_t wqebb[4];
	unsigned i;

	fill(source(e), 4 * 8, 4);
	memset(target(e), 0, 4 * 8);
	for (i = 0; i < 4; i++) {
		wqe_t w = wqe_make(MLX5_OPCODE_RDMA_WRITE, 0, i == 3 ? SIGNALLED : 0);

		wqe_remote(&w, target(e) + i * 8, i == 1 ? e->peer.rkey ^ 0x80 : e->peer.rkey);
		wqe_local(&w, source(e) + i * 8, 8, e->mr->lkey);
		wqebb[i] = sq_post(&e->sq, &w);
	}
	sq_ring(&e->sq);
	if (!e->send_cq.collapsed) {
		check_error(e, "refused WRITE", cq_wait(&e->send_cq, "refused WRITE", wqebb[1]),
			    MLX5_CQE_SYNDROME_REMOTE_ACCESS_ERR, 0x88);
		check_error(e, "flushed WRITE", cq_wait(&e->send_cq, "flushed WRITE", wqebb[2]),
			    MLX5_CQE_SYNDROME_WR_FLUSH_ERR, 0xf9);
	}
	check_error(e, "last WRITE", cq_wait(&e->send_cq, "last WRITE", wqebb[3]),
		    MLX5_CQE_SYNDROME_WR_FLUSH_ERR, 0xf9);
	await_bytes("WRITE before the refused one", source(e), target(e), 8);
	same_bytes("refused and flushed WRITEs", (uint8_t[3 * 8]){0}, target(e) + 8, 3 * 8);
	same("state of the sender", IBV_QPS_ERR, route.state(e));
}

void traffic_refused(const pair_t *p)
{
	if (p->active)
		refused(p->active);
	pair_meet(p);
	if (p->passive) {
		route.await_access_event(p->passive);
		same("state of the receiver", IBV_QPS_ERR, route.state(p->passive));
	}
	pair_meet(p);
}
