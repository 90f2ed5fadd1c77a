/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Rows: what WRITE, READ and DUMP do to memory. */
#include <string.h>
#include "base/clock.h"
#include "selftest/rows.h"

#define PER_PAIR 500 /* tries before the queues wrap: wrapping is another row's */
#define GUARD 64u    /* bytes around a transfer that must not change */

static void fill(shmemhi_rig_t *rig, char *p, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		p[i] = (char)shmemhi_rig_random(rig);
}

/* Are nbytes of `got` at `at` equal to `want`, and the guard bytes around them zero? */
static bool is_placed(const char *got, const char *want, size_t nbytes)
{
	static const char zero[GUARD];

	return memcmp(got, want, nbytes) == 0 && memcmp(got - GUARD, zero, GUARD) == 0 &&
	       memcmp(got + nbytes, zero, GUARD) == 0;
}

static const uint32_t sizes[] = {1, 2, 7, 8, 63, 64, 255, 256, 1023, 4096, 4097, 100000};

#define N_SIZES (sizeof sizes / sizeof sizes[0])

void shmemhi_row_write(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (size_t i = 0; i < N_SIZES && !o->verdict; i++) {
		size_t from = 3 + i, to = GUARD + 5 * i;
		char *target = shmemhi_remote_ptr(rig, to);
		shmemhi_completion_t c;
		shmemdi_wqe_t q;

		memset(shmemhi_remote_ptr(rig, 0), 0, sizes[i] + 4 * (size_t)GUARD);
		shmemhi_remote_store(rig, 0, sizes[i] + 4 * (size_t)GUARD);
		fill(rig, shmemhi_local_ptr(rig, from), sizes[i]);
		shmemdi_wqe_write(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
				  shmemhi_remote(rig, &pair->b, to),
				  shmemhi_local(rig, &pair->a, from), sizes[i]);
		shmemhi_post(&pair->a, &q, 1);
		if (shmemhi_finish(&pair->a, &c) != 0) {
			shmemhi_row_no_success(o, "a WRITE", &c);
			return;
		}
		shmemhi_remote_load(rig, 0, sizes[i] + 4 * (size_t)GUARD);
		if (!is_placed(target, shmemhi_local_ptr(rig, from), sizes[i]))
			shmemhi_row_fails(o,
					  "a WRITE of %u bytes placed wrong bytes, or bytes "
					  "outside its range",
					  sizes[i]);
	}
}

void shmemhi_row_inline(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (uint32_t n = 1; n <= SHMEMD_MLX5_INLINE_MAX && !o->verdict; n++) {
		uint32_t words[7];
		shmemhi_completion_t c;
		shmemdi_wqe_t q;

		memset(shmemhi_remote_ptr(rig, 0), 0, 4 * (size_t)GUARD);
		shmemhi_remote_store(rig, 0, 4 * (size_t)GUARD);
		fill(rig, (char *)words, sizeof words);
		shmemdi_wqe_write_inline(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
					 shmemhi_remote(rig, &pair->b, GUARD), words, n);
		shmemhi_post(&pair->a, &q, 1);
		if (shmemhi_finish(&pair->a, &c) != 0) {
			shmemhi_row_no_success(o, "an inline WRITE", &c);
			return;
		}
		shmemhi_remote_load(rig, 0, 4 * (size_t)GUARD);
		if (!is_placed(shmemhi_remote_ptr(rig, GUARD), (const char *)words, n))
			shmemhi_row_fails(o,
					  "an inline WRITE of %u bytes placed wrong bytes, or "
					  "bytes outside its range",
					  n);
	}
}

void shmemhi_row_read(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (size_t i = 0; i < N_SIZES && !o->verdict; i++) {
		size_t from = 7 + i, to = GUARD + 3 * i;
		shmemhi_completion_t c;
		shmemdi_wqe_t q;

		memset(shmemhi_local_ptr(rig, 0), 0, sizes[i] + 4 * (size_t)GUARD);
		fill(rig, shmemhi_remote_ptr(rig, from), sizes[i]);
		shmemhi_remote_store(rig, from, sizes[i]);
		shmemdi_wqe_read(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
				 shmemhi_remote(rig, &pair->b, from),
				 shmemhi_local(rig, &pair->a, to), sizes[i]);
		shmemhi_post(&pair->a, &q, 1);
		if (shmemhi_finish(&pair->a, &c) != 0)
			shmemhi_row_no_success(o, "a READ", &c);
		else if (!is_placed(shmemhi_local_ptr(rig, to), shmemhi_remote_ptr(rig, from),
				    sizes[i]))
			shmemhi_row_fails(o,
					  "a READ of %u bytes brought wrong bytes, or bytes "
					  "outside its range",
					  sizes[i]);
	}
}

void shmemhi_row_dump(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	char before[256];
	shmemhi_completion_t c;
	shmemdi_wqe_t q;

	fill(rig, shmemhi_local_ptr(rig, 0), sizeof before);
	memcpy(before, shmemhi_local_ptr(rig, 0), sizeof before);
	shmemdi_wqe_dump(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
			 shmemhi_local(rig, &pair->a, 0), sizeof before);
	shmemhi_post(&pair->a, &q, 1);
	if (shmemhi_finish(&pair->a, &c) != 0)
		shmemhi_row_no_success(o, "a DUMP", &c);
	else if (memcmp(before, shmemhi_local_ptr(rig, 0), sizeof before) != 0)
		shmemhi_row_fails(o, "a DUMP changed the memory that it reads");
}

/* A READ, then a WRITE with the fence bit to the same bytes: the READ must bring the old ones. */
void shmemhi_row_fence(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const uint32_t nbytes = 4096;
	char *source = shmemhi_local_ptr(rig, SHMEMHI_RIG_NBYTES / 2);

	memset(source, 0x22, nbytes);
	for (int i = 0; i < 200 && !o->verdict; i++) {
		shmemhi_completion_t c;
		shmemdi_wqe_t q;

		memset(shmemhi_remote_ptr(rig, 0), 0x11, nbytes);
		shmemhi_remote_store(rig, 0, nbytes);
		shmemdi_wqe_read(&q, shmemhi_at(&pair->a, 0), shmemhi_remote(rig, &pair->b, 0),
				 shmemhi_local(rig, &pair->a, 0), nbytes);
		shmemhi_post(&pair->a, &q, 1);
		shmemdi_wqe_write(
			&q,
			shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE | SHMEMD_MLX5_FENCE_MODE_FENCE),
			shmemhi_remote(rig, &pair->b, 0),
			shmemhi_local(rig, &pair->a, SHMEMHI_RIG_NBYTES / 2), nbytes);
		shmemhi_post(&pair->a, &q, 1);
		if (shmemhi_finish(&pair->a, &c) != 0)
			shmemhi_row_no_success(o, "a WRITE with a fence", &c);
		else if (shmemhi_local_ptr(rig, 0)[0] != 0x11 ||
			 shmemhi_local_ptr(rig, 0)[nbytes - 1] != 0x11)
			shmemhi_row_fails(o, "a WRITE with the fence bit passed a READ");
	}
}

/* Requests whose immediate field holds a number: the field must have no effect. */
void shmemhi_row_immediate(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	uint32_t words[7] = {0x01020304};
	shmemhi_completion_t c;
	shmemdi_wqe_at_t at;
	shmemdi_wqe_t q;

	memset(shmemhi_remote_ptr(rig, 0), 0, 8);
	shmemhi_remote_store(rig, 0, 8);
	at = shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE);
	at.request = 0xabcdef;
	shmemdi_wqe_write_inline(&q, at, shmemhi_remote(rig, &pair->b, 0), words, 4);
	shmemhi_post(&pair->a, &q, 1);
	if (shmemhi_finish(&pair->a, &c) != 0) {
		shmemhi_row_no_success(o, "a WRITE with a number in its immediate field", &c);
		return;
	}
	at = shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE);
	at.request = 0xabcdf0;
	shmemdi_wqe_read(&q, at, shmemhi_remote(rig, &pair->b, 0), shmemhi_local(rig, &pair->a, 0),
			 4);
	shmemhi_post(&pair->a, &q, 1);
	if (shmemhi_finish(&pair->a, &c) != 0)
		shmemhi_row_no_success(o, "a READ with a number in its immediate field", &c);
	else if (memcmp(shmemhi_local_ptr(rig, 0), words, 4) != 0)
		shmemhi_row_fails(o, "the immediate field changed the data");
}

/* A WRITE, then a READ of other bytes of the same memory: when the READ is complete, the CPU must
 * see the WRITE. 1000 tries, then more until the time is over, up to a million. */
void shmemhi_row_read_quiet(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	const uint32_t nbytes = 1024;
	uint64_t end = shmemhi_rig_end_of_row(rig, 128);
	const uint64_t *last = (const void *)(shmemhi_remote_ptr(rig, 0) + nbytes - 8);
	uint64_t *source = (void *)shmemhi_local_ptr(rig, nbytes - 8);
	uint64_t i = 0;

	for (; i < 1000000 && !o->verdict && (i < 1000 || shmemhi_now() < end); i++) {
		shmemhi_completion_t c;
		shmemdi_wqe_t q;

		if (i % PER_PAIR == PER_PAIR - 1 && shmemhi_pair_renew(rig, pair) != SHMEMH_OK) {
			shmemhi_row_unknown(o, "%s", rig->err.text);
			break;
		}
		*source = i + 1;
		shmemdi_wqe_write(&q, shmemhi_at(&pair->a, 0), shmemhi_remote(rig, &pair->b, 0),
				  shmemhi_local(rig, &pair->a, 0), nbytes);
		shmemhi_post(&pair->a, &q, 1);
		shmemdi_wqe_read(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
				 shmemhi_remote(rig, &pair->b, 65536),
				 shmemhi_local(rig, &pair->a, 65536), 8);
		shmemhi_post(&pair->a, &q, 1);
		if (shmemhi_finish(&pair->a, &c) != 0) {
			shmemhi_row_no_success(o, "a READ after a WRITE", &c);
			break;
		}
		shmemhi_remote_load(rig, nbytes - 8, 8);
		if (__atomic_load_n(last, __ATOMIC_ACQUIRE) != i + 1)
			shmemhi_row_fails(o,
					  "try %llu: the WRITE was not visible when the READ "
					  "after it was complete",
					  (unsigned long long)i);
	}
	shmemhi_row_note(o, "%llu tries", (unsigned long long)i);
}
