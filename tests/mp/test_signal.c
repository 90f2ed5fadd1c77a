/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* signal.h: data has arrived when its signal is read; sums of signals are exact. */
#include <string.h>
#include "pes.h"
#include "scopes.h"

/* Round after round, each PE sends a payload to the next PE and waits for that of the previous one.
 * There are two buffers: a buffer is reused when the reader has acknowledged its round. */
#define SLOT_NBYTES 1040
#define ROUNDS 24

typedef struct ring_params {
	shmemd_ctx_t ctx;
	char *src;     /* [2][SLOT_NBYTES] */
	char *dst;     /* [2][SLOT_NBYTES] */
	uint64_t *sig; /* written by the previous PE */
	uint64_t *ack; /* written by the next PE */
	int scope, op, is_nbi, n_rounds;
	int first_payload; /* of round 0 */
	int *status;
} ring_params_t;

#define PAYLOAD(from, round, i) ((uint8_t)((from)*31 + (round)*7 + (i)*3 + 1))

/* 1021 bytes, which are no whole units of 16, then 1, 32 and 64 units: at most one for each thread
 * of a block and of a group of 64, up to two for each lane of a warp, up to 64 for a thread alone.
 * The first 8 payloads are aligned. Each size goes to both slots. */
SCOPE_STEP uint32_t payload_nbytes(int payload)
{
	int kind = payload / 2 % 4;

	return kind == 0 ? 1021 : kind == 1 ? 16 : kind == 2 ? 512 : 1024;
}

SCOPE_STEP int payload_offset(int payload)
{
	return payload < 8 ? 0 : payload % 16;
}

SCOPE_STEP void ring_send(const ring_params_t *p, shmemd_group_t g, int round, int to)
{
	int me = shmemd_my_pe(&p->ctx);
	char *src = p->src + (round % 2) * SLOT_NBYTES;
	char *dst = p->dst + (round % 2) * SLOT_NBYTES + payload_offset(p->first_payload + round);
	uint64_t value = p->op == SHMEMD_SIGNAL_SET ? (uint64_t)round + 1 : 1;
	uint32_t nbytes = payload_nbytes(p->first_payload + round), i;
	int status;

	for (i = g.size - 1 - g.rank; i < nbytes; i += g.size)
		src[i] = (char)PAYLOAD(me, round, i);
	shmemd_group_sync(g);
	if (!p->is_nbi) {
		SCOPED(p->scope, shmemd_putmem_signal, &p->ctx, dst, src, nbytes, p->sig, value,
		       p->op, to);
		return;
	}
	SCOPED(p->scope, shmemd_putmem_signal_nbi, &p->ctx, dst, src, nbytes, p->sig, value, p->op,
	       to);
	SCOPED_INT0(status, p->scope, shmemd_quiet, &p->ctx);
	scope_report(p->status, 0, status);
}

SCOPE_STEP void ring_receive(const ring_params_t *p, shmemd_group_t g, int round, int from)
{
	int payload = p->first_payload + round, status;
	const char *dst = p->dst + (round % 2) * SLOT_NBYTES + payload_offset(payload);
	uint32_t i;

	SCOPED_INT(status, p->scope, shmemd_signal_wait_until_for, &p->ctx, p->sig, SHMEMD_CMP_GE,
		   (uint64_t)round + 1, PES_LIMIT_NS);
	scope_report(p->status, 1, status);
	for (i = g.size - 1 - g.rank; i < payload_nbytes(payload); i += g.size)
		scope_report(p->status, 2,
			     (uint8_t)dst[i] == PAYLOAD(from, round, i) ? 0 : WRONG_VALUE);
	shmemd_group_sync(g);
	if (g.rank == 0) {
		/* The fence orders the reads above before the acknowledgement. */
		shmemd_fence(&p->ctx);
		shmemd_signal_op(&p->ctx, p->ack, 1, SHMEMD_SIGNAL_ADD, from);
	}
}

SHMEMD_KERNEL(ring_kernel, ring_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round, status;
	shmemd_group_t g;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < p.n_rounds; round++) {
		if (round >= 2) {
			SCOPED_INT(status, p.scope, shmemd_signal_wait_until_for, &p.ctx, p.ack,
				   SHMEMD_CMP_GE, (uint64_t)round - 1, PES_LIMIT_NS);
			scope_report(p.status, 3, status);
		}
		ring_send(&p, g, round, (me + 1) % n);
		ring_receive(&p, g, round, (me + n - 1) % n);
	}
	/* Complete the last acknowledgements: they must not arrive during the next run. */
	SCOPED_INT0(status, p.scope, shmemd_quiet, &p.ctx);
	scope_report(p.status, 0, status);
}

static int check_ring(pes_t *pes, int op, int is_nbi)
{
	ring_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	p.op = op;
	p.is_nbi = is_nbi;
	p.n_rounds = pes->seed == 0 ? ROUNDS : 4;
	p.first_payload = (int)(pes->seed % (ROUNDS / 4)) * 4;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.src, char, 2 * SLOT_NBYTES, 0);
		PES_ALLOC(pes, p.dst, char, 2 * SLOT_NBYTES, 0);
		PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
		PES_ALLOC(pes, p.ack, uint64_t, 1, 0);
		PES_RUN(pes, ring_kernel, 1, SCOPE_NTHREADS, p);
		pes_release(pes);
	}
	return 0;
}

static int put_signal_set(pes_t *pes)
{
	return check_ring(pes, SHMEMD_SIGNAL_SET, 0);
}

static int put_signal_add(pes_t *pes)
{
	return check_ring(pes, SHMEMD_SIGNAL_ADD, 0);
}

static int put_signal_nbi_set(pes_t *pes)
{
	return check_ring(pes, SHMEMD_SIGNAL_SET, 1);
}

static int put_signal_nbi_add(pes_t *pes)
{
	return check_ring(pes, SHMEMD_SIGNAL_ADD, 1);
}

/* When the blocking form returns, every thread of its scope may reuse the source: rounds fill the
 * source again at once, each element by another thread than the one that may have copied it. */
#define REUSE_ROUNDS 6
#define REUSE_NELEMS 512

typedef struct reuse_params {
	shmemd_ctx_t ctx;
	uint32_t *src; /* [REUSE_NELEMS] */
	uint32_t *dst; /* [round][REUSE_NELEMS] written by the previous PE */
	uint64_t *sig; /* rounds that have arrived */
	int scope;
	int *status;
} reuse_params_t;

SHMEMD_KERNEL(reuse_kernel, reuse_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), round, status;
	shmemd_group_t g;
	uint32_t i;

	if (!scope_has(p.scope))
		return;
	g = scope_group(p.scope);
	for (round = 0; round < REUSE_ROUNDS; round++) {
		for (i = g.size - 1 - g.rank; i < REUSE_NELEMS; i += g.size)
			p.src[i] = (uint32_t)round * 1000 + i;
		shmemd_group_sync(g);
		SCOPED(p.scope, shmemd_putmem_signal, &p.ctx, p.dst + round * REUSE_NELEMS, p.src,
		       REUSE_NELEMS * 4, p.sig, 1, SHMEMD_SIGNAL_ADD, (me + 1) % n);
	}
	SCOPED_INT(status, p.scope, shmemd_signal_wait_until_for, &p.ctx, p.sig, SHMEMD_CMP_EQ,
		   REUSE_ROUNDS, PES_LIMIT_NS);
	scope_report(p.status, 0, status);
}

static int source_reusable(pes_t *pes)
{
	size_t nelems = REUSE_ROUNDS * REUSE_NELEMS, i;
	reuse_params_t p;
	uint32_t *got;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.src, uint32_t, REUSE_NELEMS, 0);
		PES_ALLOC(pes, p.dst, uint32_t, nelems, 0);
		PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
		PES_RUN(pes, reuse_kernel, 1, SCOPE_NTHREADS, p);
		got = (uint32_t *)pes_read(pes, p.dst, nelems * 4);
		for (i = 0; got != NULL && i < nelems; i++)
			PES_EQ(pes, got[i], i / REUSE_NELEMS * 1000 + i % REUSE_NELEMS);
		pes_release(pes);
	}
	return 0;
}

/* Every thread of every PE adds to every PE's signal; a put_signal of zero bytes is also a signal.
 */
#define ADDS 3
#define ADDEND(pe) (1ull << 40 | ((uint64_t)(pe) + 1)) /* the sum needs all 64 bits */

typedef struct add_params {
	shmemd_ctx_t ctx;
	uint64_t *sum; /* [3] guard, signal, guard */
	uint64_t *set; /* [n] by writer */
	int *status;
} add_params_t;

SHMEMD_KERNEL(add_kernel, add_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), pe, i;

	for (pe = 0; pe < shmemd_n_pes(&p.ctx); pe++) {
		for (i = 0; i < ADDS; i++)
			shmemd_signal_op(&p.ctx, p.sum + 1, ADDEND(me), SHMEMD_SIGNAL_ADD, pe);
		if (shmemd_thread_index() == 0 && shmemd_block_index() == 0) {
			shmemd_signal_op(&p.ctx, p.set + me, 1ull << 63 | (uint64_t)me,
					 SHMEMD_SIGNAL_SET, pe);
			shmemd_putmem_signal(&p.ctx, p.sum, NULL, 0, p.sum + 1, 5,
					     SHMEMD_SIGNAL_ADD, pe);
		}
	}
	scope_report(p.status, 0, shmemd_quiet(&p.ctx));
}

SHMEMD_KERNEL(fetch_kernel, add_params_t, p)
{
	uint64_t n = (uint64_t)shmemd_n_pes(&p.ctx), i;
	uint64_t want = 5 * n;

	for (i = 0; i < n; i++)
		want += 2 * 64 * ADDS * ADDEND(i);
	scope_report(p.status, 0, shmemd_signal_fetch(&p.ctx, p.sum + 1) == want ? 0 : WRONG_VALUE);
	for (i = 0; i < n; i++)
		scope_report(p.status, 1,
			     shmemd_signal_fetch(&p.ctx, p.set + i) == (1ull << 63 | i)
				     ? 0
				     : WRONG_VALUE);
}

static int signal_op_and_fetch(pes_t *pes)
{
	add_params_t p;
	uint64_t *sum;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	PES_ALLOC(pes, p.sum, uint64_t, 3, 0);
	PES_ALLOC(pes, p.set, uint64_t, (size_t)pes->n_pes, 0);
	PES_RUN(pes, add_kernel, 2, 64, p);
	PES_RUN(pes, fetch_kernel, 1, 1, p);
	sum = (uint64_t *)pes_read(pes, p.sum, 24);
	if (sum != NULL) {
		PES_EQ(pes, sum[0], 0);
		PES_EQ(pes, sum[2], 0);
	}
	return 0;
}

/* All comparisons of the signal waits, in every scope, over words that do not change. */
#define N_VALUES 6
#define SHORT_NS 20000

typedef struct cmp_params {
	shmemd_ctx_t ctx;
	uint64_t *words;  /* [N_VALUES] */
	uint64_t *values; /* [N_VALUES] */
	uint32_t *result; /* [word][value][cmp] */
	int scope;
	int *status;
} cmp_params_t;

SHMEMD_KERNEL(cmp_kernel, cmp_params_t, p)
{
	int w, v, cmp, status, again;

	if (!scope_has(p.scope))
		return;
	for (w = 0; w < N_VALUES; w++) {
		for (v = 0; v < N_VALUES; v++) {
			for (cmp = SHMEMD_CMP_EQ; cmp <= SHMEMD_CMP_LE; cmp++) {
				SCOPED_INT(status, p.scope, shmemd_signal_wait_until_for, &p.ctx,
					   p.words + w, cmp, p.values[v], SHORT_NS);
				again = status;
				if (status == SHMEMD_OK)
					SCOPED_INT(again, p.scope, shmemd_signal_wait_until, &p.ctx,
						   p.words + w, cmp, p.values[v]);
				scope_report(p.status, 0, again == status ? 0 : again);
				if (scope_group(p.scope).rank == 0)
					shmemd_p_u32(&p.ctx,
						     p.result + (w * N_VALUES + v) * 6 + cmp,
						     (uint32_t)status, shmemd_my_pe(&p.ctx));
			}
		}
	}
	scope_report(p.status, 1, shmemd_quiet(&p.ctx));
}

/* The comparison by a plain switch. */
static int holds(uint64_t word, int cmp, uint64_t value)
{
	switch (cmp) {
	case SHMEMD_CMP_EQ:
		return word == value;
	case SHMEMD_CMP_NE:
		return word != value;
	case SHMEMD_CMP_GT:
		return word > value;
	case SHMEMD_CMP_GE:
		return word >= value;
	case SHMEMD_CMP_LT:
		return word < value;
	default:
		return word <= value;
	}
}

static int check_results(pes_t *pes, const uint64_t *values, const uint32_t *result)
{
	int w, v, cmp;

	for (w = 0; w < N_VALUES; w++) {
		for (v = 0; v < N_VALUES; v++) {
			for (cmp = 0; cmp < 6; cmp++)
				PES_EQ(pes, result[(w * N_VALUES + v) * 6 + cmp],
				       holds(values[w], cmp, values[v]) ? SHMEMD_OK
									: SHMEMD_ERR_TIMEOUT);
		}
	}
	return 0;
}

static int signal_comparisons(pes_t *pes)
{
	static const uint64_t values[N_VALUES] = {0,          1,          0x7fffffffffffffffull,
						  1ull << 63, 1ull << 32, UINT64_MAX};
	int scope, last = pes->seed == 0 && pes_maps_all(pes) ? SCOPE_COUNT : 1;
	cmp_params_t p;
	void *result;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (scope = 0; scope < last; scope++) {
		p.scope = scope;
		PES_ALLOC(pes, p.words, uint64_t, N_VALUES, 0);
		PES_ALLOC(pes, p.values, uint64_t, N_VALUES, 0);
		PES_ALLOC(pes, p.result, uint32_t, N_VALUES * N_VALUES * 6, 0xff);
		PES_TRY(pes, run_copy(p.words, values, sizeof(values)));
		PES_TRY(pes, run_copy(p.values, values, sizeof(values)));
		PES_RUN(pes, cmp_kernel, 1, SCOPE_NTHREADS, p);
		result = pes_read(pes, p.result, N_VALUES * N_VALUES * 6 * 4);
		if (result != NULL)
			check_results(pes, values, (const uint32_t *)result);
		/* A timeout that the caller requested is not an error. */
		PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
		pes_release(pes);
	}
	return 0;
}

/* A wait that timed out is repeated and then succeeds; also the wait for a given PE. */
typedef struct again_params {
	shmemd_ctx_t ctx;
	uint64_t *sig;
	int scope;
	int *status;
} again_params_t;

SHMEMD_KERNEL(again_kernel, again_params_t, p)
{
	int me = shmemd_my_pe(&p.ctx), n = shmemd_n_pes(&p.ctx), status;

	if (!scope_has(p.scope))
		return;
	SCOPED_INT(status, p.scope, shmemd_signal_wait_until_for, &p.ctx, p.sig, SHMEMD_CMP_NE, 0,
		   SHORT_NS);
	/* The previous PE may already have sent. */
	scope_report(p.status, 0, status == SHMEMD_ERR_TIMEOUT ? 0 : status);
	if (scope_group(p.scope).rank == 0)
		shmemd_signal_op(&p.ctx, p.sig, 7, SHMEMD_SIGNAL_SET, (me + 1) % n);
	SCOPED_INT(status, p.scope, shmemd_signal_wait_until_for, &p.ctx, p.sig, SHMEMD_CMP_EQ, 7,
		   PES_LIMIT_NS);
	scope_report(p.status, 1, status);
	if (scope_group(p.scope).rank == 0)
		scope_report(p.status, 2,
			     shmemd_signal_wait_until_from(&p.ctx, p.sig, SHMEMD_CMP_EQ, 7,
							   (me + n - 1) % n));
}

static int wait_again_after_timeout(pes_t *pes)
{
	again_params_t p;

	memset(&p, 0, sizeof(p));
	p.ctx = pes->ctx;
	p.status = pes->status;
	for (p.scope = 0; p.scope < SCOPE_COUNT; p.scope++) {
		PES_ALLOC(pes, p.sig, uint64_t, 1, 0);
		PES_RUN(pes, again_kernel, 1, SCOPE_NTHREADS, p);
		PES_EQ(pes, shmemh_error_get(pes->job, NULL), 0);
		pes_release(pes);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(put_signal_set),     PES_TEST(put_signal_add),
		PES_TEST(put_signal_nbi_set), PES_TEST(put_signal_nbi_add),
		PES_TEST(source_reusable),    PES_TEST(signal_op_and_fetch),
		PES_TEST(signal_comparisons), PES_TEST(wait_again_after_timeout),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
