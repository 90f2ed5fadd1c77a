/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* WQEs for another path (abi/replay.h), byte by byte: a rewritten WQE equals the one that a poster
 * would have written there; a NOP equals that of the PRM. */
#include <string.h>
#include <shmem_dev/abi/replay.h>
#include <shmem_dev/impl/wqe.h>
#include "../common/mocka.h"

#define ROUNDS 2000

/* All forms of WQEs. */
enum {
	F_WRITE,
	F_INLINE_SHORT,
	F_INLINE_LONG,
	F_READ,
	F_DUMP,
	F_CS,
	F_FA,
	F_MASKED_CS_4,
	F_MASKED_CS_8,
	F_MASKED_FA_4,
	F_MASKED_FA_8,
	F_NOP,
	N_FORMS
};

static uint64_t state;

static uint64_t draw(void)
{
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* The fields that differ between paths. */
typedef struct side {
	shmemdi_wqe_at_t at;
	uint32_t rkey, lkey;
} side_t;

/* The fields that are equal on both paths. */
typedef struct content {
	uint64_t remote, local;
	uint32_t nbytes, words[7];
	shmemdi_nic_amo_t amo;
} content_t;

static side_t draw_side(void)
{
	side_t s = {.at = {draw(), (uint32_t)draw() & 0xffffff, 0, (uint32_t)draw()},
		    .rkey = (uint32_t)draw(),
		    .lkey = (uint32_t)draw()};
	return s;
}

static content_t draw_content(void)
{
	content_t c = {.remote = draw(),
		       .local = draw(),
		       .nbytes = (uint32_t)(draw() % SHMEMD_MLX5_MAX_MSG) + 1,
		       .amo = {0, draw(), draw(), draw(), draw(), draw()}};

	for (int i = 0; i < 7; i++)
		c.words[i] = (uint32_t)draw();
	return c;
}

static uint32_t width_of(int form)
{
	return form == F_MASKED_CS_4 || form == F_MASKED_FA_4 ? 4 : 8;
}

static uint32_t opcode_of(int form)
{
	static const uint32_t opcodes[N_FORMS] = {
		[F_WRITE] = 0x08,       [F_INLINE_SHORT] = 0x08, [F_INLINE_LONG] = 0x08,
		[F_READ] = 0x10,        [F_DUMP] = 0x23,         [F_CS] = 0x11,
		[F_FA] = 0x12,          [F_MASKED_CS_4] = 0x14,  [F_MASKED_CS_8] = 0x14,
		[F_MASKED_FA_4] = 0x15, [F_MASKED_FA_8] = 0x15,  [F_NOP] = 0x00};

	return opcodes[form];
}

static void write_one(shmemdi_wqe_t *q, int form, side_t s, content_t c)
{
	const shmemdi_mem_t remote = {c.remote, s.rkey}, local = {c.local, s.lkey};

	memset(q, 0, sizeof(*q));
	c.amo.opcode = opcode_of(form);
	switch (form) {
	case F_WRITE:
		shmemdi_wqe_write(q, s.at, remote, local, c.nbytes);
		break;
	case F_INLINE_SHORT:
		shmemdi_wqe_write_inline(q, s.at, remote, c.words, c.nbytes % 12 + 1);
		break;
	case F_INLINE_LONG:
		shmemdi_wqe_write_inline(q, s.at, remote, c.words, c.nbytes % 16 + 13);
		break;
	case F_READ:
		shmemdi_wqe_read(q, s.at, remote, local, c.nbytes);
		break;
	case F_DUMP:
		shmemdi_wqe_dump(q, s.at, local, c.nbytes);
		break;
	case F_NOP:
		shmemdi_wqe_control(q, s.at, 0, 0, 1);
		break;
	default:
		shmemdi_wqe_amo(q, s.at, remote, local, &c.amo, width_of(form));
	}
}

static shmemd_replay_kind_t kind_of(const shmemdi_wqe_t *q)
{
	return shmemd_replay_kind(q->w[0], q->w[1], q->w[8]);
}

static shmemd_replay_at_t replay_at(side_t s)
{
	const shmemd_replay_at_t at = {(uint32_t)s.at.index, SHMEMD_QPN_BE(s.at.qpn_be),
				       s.at.request, s.rkey, s.lkey};

	return at;
}

static void flags_stay(side_t *a, side_t *b)
{
	a->at.flags = b->at.flags = draw() % 2 ? SHMEMD_MLX5_CQ_UPDATE : 0;
}

static void rewritten_wqe_equals_posted_wqe(void **unused)
{
	(void)unused;
	state = 1;
	for (int round = 0; round < ROUNDS; round++)
		for (int form = 0; form < N_FORMS; form++) {
			side_t old = draw_side(), new = draw_side();
			const content_t c = draw_content();
			shmemdi_wqe_t q, expected;

			flags_stay(&old, &new);
			write_one(&q, form, old, c);
			write_one(&expected, form, new, c);
			shmemd_replay_again(q.w, kind_of(&q), replay_at(new));
			assert_memory_equal(q.w, expected.w, sizeof(q.w));
		}
}

/* Bytes of a NOP's control segment (PRM): opmod, index, opcode; QPN, ds; flags; zeros. */
static void expect_nop(const uint32_t *w, uint32_t index, uint32_t qpn, int is_signalled)
{
	const uint8_t bytes[16] = {0,
				   (uint8_t)(index >> 8),
				   (uint8_t)index,
				   0,
				   (uint8_t)(qpn >> 16),
				   (uint8_t)(qpn >> 8),
				   (uint8_t)qpn,
				   1,
				   0,
				   0,
				   0,
				   is_signalled ? 8 : 0};

	assert_memory_equal(w, bytes, sizeof(bytes));
}

static void nops_cover_all_wqebbs(void **unused)
{
	static const uint32_t zeros[SHMEMD_REPLAY_WORDS];

	(void)unused;
	state = 2;
	for (int round = 0; round < ROUNDS; round++)
		for (int form = 0; form < N_FORMS; form++) {
			const int is_two = form == F_MASKED_CS_8;
			side_t old = draw_side(), new = draw_side();
			int is_signalled;
			shmemdi_wqe_t q;

			flags_stay(&old, &new);
			is_signalled = old.at.flags != 0;
			if (round == 0)
				new.at.index = 0xffff; /* the index of the second WQEBB is 0 */
			write_one(&q, form, old, draw_content());
			assert_int_equal(kind_of(&q).wqebbs, 1 + is_two);
			shmemd_replay_nop(q.w, kind_of(&q), replay_at(new));
			expect_nop(q.w, (uint32_t) new.at.index, SHMEMD_QPN_BE(new.at.qpn_be),
				   is_signalled && !is_two);
			assert_memory_equal(q.w + 4, zeros, 48);
			if (is_two)
				expect_nop(q.w + 16, (uint32_t) new.at.index + 1,
					   SHMEMD_QPN_BE(new.at.qpn_be), is_signalled);
			else
				assert_memory_equal(q.w + 16, zeros, 16);
		}
}

/* The next switch may rewrite a NOP again. */
static void nop_is_rewritten_again(void **unused)
{
	const side_t a = draw_side(), b = draw_side();
	shmemdi_wqe_t q, expected;

	(void)unused;
	write_one(&q, F_WRITE, a, draw_content());
	shmemd_replay_nop(q.w, kind_of(&q), replay_at(a));
	assert_int_equal(kind_of(&q).is_request, 0);
	expected = q;
	shmemd_replay_nop(expected.w, kind_of(&q), replay_at(b));
	shmemd_replay_again(q.w, kind_of(&q), replay_at(b));
	q.w[3] = 0; /* the request number of a NOP is not used */
	assert_memory_equal(q.w, expected.w, sizeof(q.w));
}

static void addresses_of_keys(void **unused)
{
	(void)unused;
	for (int form = 0; form < N_FORMS; form++) {
		const int has_remote = form != F_DUMP && form != F_NOP;
		const int has_local =
			form != F_INLINE_SHORT && form != F_INLINE_LONG && form != F_NOP;
		const side_t s = draw_side();
		const content_t c = draw_content();
		shmemd_replay_kind_t kind;
		shmemdi_wqe_t q;

		write_one(&q, form, s, c);
		kind = kind_of(&q);
		assert_int_equal(kind.opcode, opcode_of(form));
		assert_int_equal(kind.remote != 0, has_remote);
		assert_int_equal(kind.local != 0, has_local);
		if (has_remote) {
			assert_int_equal(q.w[kind.remote], s.rkey);
			assert_true(shmemd_replay_address(q.w, kind.remote, 1) == c.remote);
		}
		if (has_local) {
			assert_int_equal(q.w[kind.local], s.lkey);
			assert_true(shmemd_replay_address(q.w, kind.local, 0) == c.local);
		}
	}
}

static void fates(void **unused)
{
	(void)unused;
	for (int form = 0; form < N_FORMS; form++) {
		const int is_write = form <= F_INLINE_LONG,
			  is_atomic = form >= F_CS && form < F_NOP;
		shmemdi_wqe_t q;
		shmemd_replay_kind_t kind;

		write_one(&q, form, draw_side(), draw_content());
		kind = kind_of(&q);
		assert_int_equal(kind.is_request, form != F_DUMP && form != F_NOP);
		assert_int_equal(shmemd_replay_fate(kind, 0, 0), SHMEMD_REPLAY_AGAIN);
		assert_int_equal(shmemd_replay_fate(kind, 0, 1), SHMEMD_REPLAY_AGAIN);
		assert_int_equal(shmemd_replay_fate(kind, 1, 1),
				 is_write || is_atomic ? SHMEMD_REPLAY_NOP : SHMEMD_REPLAY_AGAIN);
		assert_int_equal(shmemd_replay_fate(kind, 1, 0), is_write ? SHMEMD_REPLAY_NOP
								 : is_atomic
									 ? SHMEMD_REPLAY_AMBIGUOUS
									 : SHMEMD_REPLAY_AGAIN);
	}
}

/* Count the requests of a reservation word while its fields overflow, from `request` and `index`
 * on: the count equals the number of reserved requests. */
static void count_from(uint64_t index, uint32_t request)
{
	const uint64_t origin = SHMEMD_ORIGIN_WORD(request, index);
	uint64_t word = SHMEMD_RESV_ADD(index, request);
	uint32_t n = 0;

	/* Index bits above 32 are not in the word at first; carries go into the request field. */
	word = (word & ~(~(uint64_t)0 << 40)) | (uint64_t)request << 40;
	for (int i = 0; i < 200; i++) {
		const uint32_t wqebbs = (uint32_t)(draw() % 3 + 1) << (i % 3 ? 0 : 25);
		const uint32_t requests = (uint32_t)(draw() % 3) << (i % 5 ? 0 : 20);

		assert_int_equal(shmemd_replay_requests(origin, SHMEMD_RESV_REQUEST(word), index),
				 n & 0xffffff);
		word += SHMEMD_RESV_ADD(wqebbs, requests);
		index += wqebbs;
		n += requests;
	}
}

static void request_count_with_overflow(void **unused)
{
	static const uint32_t bits[] = {0, 16, 31, 32, 33, 40, 46, 47};

	(void)unused;
	state = 3;
	count_from(0, 0);
	for (size_t i = 0; i < sizeof(bits) / sizeof(bits[0]); i++)
		for (uint32_t k = 0; k < 6; k++)
			count_from(((uint64_t)1 << bits[i]) - 3 + k, 0xfffffe + k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rewritten_wqe_equals_posted_wqe),
		cmocka_unit_test(nops_cover_all_wqebbs),
		cmocka_unit_test(nop_is_rewritten_again),
		cmocka_unit_test(addresses_of_keys),
		cmocka_unit_test(fates),
		cmocka_unit_test(request_count_with_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
