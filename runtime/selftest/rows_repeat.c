/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Row: a responder that has executed a WRITE, and receives it again, does not write its data again.
 * a sends WRITEs and a READ. When they are complete, the CPU replaces what they wrote. Then a's
 * queue pair goes through RESET and begins with its first PSN again: it sends the same requests, as
 * after lost acknowledgements, and one READ that is new to b. When that one is complete, b has
 * received everything again, and what the CPU stored must still be there. */
#include <string.h>
#include "selftest/rows.h"

#define TRIALS 20
#define N_WRITES 24u
#define SLOT 8192u /* bytes of remote memory for each WRITE: several packets of a long one */

static int is_long(uint32_t i)
{
	return i % 3 == 0;
}

static uint64_t value_of(uint32_t trial, uint32_t i)
{
	return (uint64_t)(0x5e1f0000u + trial) << 32 | (i + 1);
}

/* Words that WRITE i writes. */
static uint32_t n_words(uint32_t i)
{
	return is_long(i) ? SLOT / 8 : 1;
}

static uint64_t *words_of(const shmemhi_rig_t *rig, uint32_t i)
{
	return (void *)shmemhi_remote_ptr(rig, (size_t)i * SLOT);
}

static void post_write(const shmemhi_rig_t *rig, shmemhi_pair_t *pair, uint32_t i, uint64_t value)
{
	shmemdi_mem_t to = shmemhi_remote(rig, &pair->b, (size_t)i * SLOT);
	uint32_t words[7] = {(uint32_t)value, (uint32_t)(value >> 32)};
	shmemdi_wqe_t q;

	for (uint32_t word = 0; word < n_words(i); word++)
		memcpy(shmemhi_local_ptr(rig, (size_t)i * SLOT + word * 8), &value, 8);
	if (is_long(i))
		shmemdi_wqe_write(&q, shmemhi_at(&pair->a, 0), to,
				  shmemhi_local(rig, &pair->a, (size_t)i * SLOT), SLOT);
	else
		shmemdi_wqe_write_inline(&q, shmemhi_at(&pair->a, 0), to, words, 8);
	shmemhi_post(&pair->a, &q, 1);
}

static void post_read(const shmemhi_rig_t *rig, shmemhi_pair_t *pair)
{
	shmemdi_wqe_t q;

	shmemdi_wqe_read(&q, shmemhi_at(&pair->a, SHMEMD_MLX5_CQ_UPDATE),
			 shmemhi_remote(rig, &pair->b, 0),
			 shmemhi_local(rig, &pair->a, SHMEMHI_RIG_NBYTES - 64), 8);
	shmemhi_post(&pair->a, &q, 1);
}

/* Send the WRITEs and n READs. Returns whether all READs succeed. */
static bool send_all(const shmemhi_rig_t *rig, shmemhi_pair_t *pair, uint32_t trial, int n)
{
	shmemhi_completion_t c;

	for (uint32_t i = 0; i < N_WRITES; i++)
		post_write(rig, pair, i, value_of(trial, i));
	for (int i = 0; i < n; i++)
		post_read(rig, pair);
	shmemhi_ring_end(&pair->a);
	for (int i = 0; i < n; i++)
		if (shmemhi_next_cqe(&pair->a, &c) != 0 || c.opcode != SHMEMD_CQE_REQ)
			return false;
	return true;
}

/* Replace each word of the WRITEs by its complement. Returns whether all had been written. */
static bool replace_words(shmemhi_rig_t *rig, uint32_t trial)
{
	shmemhi_remote_load(rig, 0, N_WRITES * SLOT);
	for (uint32_t i = 0; i < N_WRITES; i++)
		for (uint32_t word = 0; word < n_words(i); word++) {
			uint64_t *at = words_of(rig, i) + word, value = value_of(trial, i);

			if (__atomic_load_n(at, __ATOMIC_ACQUIRE) != value)
				return false;
			__atomic_store_n(at, ~value, __ATOMIC_RELEASE);
		}
	shmemhi_remote_store(rig, 0, N_WRITES * SLOT);
	return true;
}

/* Report a WRITE that was written again, and its first such word: it may be in any of its packets.
 */
static void compare(shmemhi_rig_t *rig, uint32_t trial, shmemhi_outcome_t *o)
{
	shmemhi_remote_load(rig, 0, N_WRITES * SLOT);
	for (uint32_t i = 0; i < N_WRITES; i++)
		for (uint32_t word = 0; word < n_words(i); word++) {
			if (__atomic_load_n(words_of(rig, i) + word, __ATOMIC_ACQUIRE) ==
			    ~value_of(trial, i))
				continue;
			shmemhi_row_fails(o,
					  "WRITE %u of %u arrived again and its byte %u was "
					  "written again",
					  i, N_WRITES, word * 8);
			break;
		}
}

static void try_once(shmemhi_rig_t *rig, shmemhi_pair_t *pair, uint32_t trial, shmemhi_outcome_t *o)
{
	if (!send_all(rig, pair, trial, 1) || !replace_words(rig, trial))
		shmemhi_row_unknown(o, "the WRITEs were not executed the first time");
	else if (shmemhi_pair_rewind(rig, pair) != SHMEMH_OK)
		shmemhi_row_unknown(o, "%s", rig->err.text);
	else if (!send_all(rig, pair, trial, 2))
		shmemhi_row_unknown(o, "requests with PSNs of earlier ones did not complete");
	else
		compare(rig, trial, o);
	if (!o->verdict && shmemhi_pair_renew(rig, pair) != SHMEMH_OK)
		shmemhi_row_unknown(o, "%s", rig->err.text);
	rig->err.text[0] = '\0';
}

void shmemhi_row_repeated_write(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o)
{
	for (uint32_t trial = 0; trial < TRIALS && !o->verdict; trial++)
		try_once(rig, pair, trial, o);
}
