/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The path of a channel (abi/queue.h): a poster that loads words of two paths waits until all of
 * them belong to one. The host of PE 0 acts as the thread that changes the path. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { MIXED_PATH, MIXED_QUEUE, MIXED_DOORBELL, MIXED_READY, MIXED_RESV, N_MIXED };

static uint32_t may_mix, is_mixed, has_posted, n_before;

static void post_one(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe != 0)
		return;
	if (p->arg)
		shmemd_p_u64(&p->ctx, word_of(&p->ctx, 1), 8, 1);
	shmemd_arch_st_release_u32(&may_mix, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_mixed))
		shmemd_arch_spin_hint();
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, 0), 7, 1);
	shmemd_arch_st_release_u32(&has_posted, 1);
	CHECK_IS(shmemd_quiet(&p->ctx), 0);
	CHECK_IS(*word_of(&rig_pes[1].ctx, 0), 7);
}

static uint64_t mixed; /* the word that belongs to another path */

/* Replace the word by its value on the next path, while all other words are unchanged. The
 * reservation word changes first while a waiting thread carries out an order. */
static uint64_t *mix(shmemd_channel_t *ch, uint64_t *before)
{
	uint64_t *const words[] = {&ch->path, &ch->queue, &ch->doorbell, &ch->ready, &ch->resv};
	uint64_t *word = words[mixed];
	const uint64_t epoch = SHMEMD_RESV_EPOCH(ch->resv), next = (epoch + 1) & 0xff;

	*before = *word;
	if (mixed < MIXED_READY)
		*word = next << 56 | (uint64_t)0xbad0 << 32;
	else
		*word += next - epoch;
	return word;
}

static void retag(uint64_t *word, uint64_t epoch)
{
	shmemd_arch_st_release_u64(word, SHMEMD_ADDRESS(*word) | epoch << 56);
}

/* Set the epoch of all other words to that of the reservation word, which the poster has added to
 * meanwhile. */
static void follow(shmemd_channel_t *ch)
{
	const uint64_t epoch = SHMEMD_RESV_EPOCH(shmemd_arch_ld_relaxed_u64(&ch->resv));
	const uint64_t ready = shmemd_arch_ld_relaxed_u64(&ch->ready);

	retag(&ch->path, epoch);
	retag(&ch->queue, epoch);
	retag(&ch->doorbell, epoch);
	shmemd_arch_st_release_u64(&ch->ready, (ready & ~(uint64_t)0xff) | epoch);
}

static void mix_for_a_while(int pe)
{
	uint64_t before, *word;

	if (pe != 0)
		return;
	while (!shmemd_arch_ld_acquire_u32(&may_mix))
		shmemd_arch_spin_hint();
	word = mix(rig_words(0, 1, 0), &before);
	shmemd_arch_st_release_u32(&is_mixed, 1);
	for (int i = 0; i < 10; i++) {
		shmemsim_sleep(1000);
		CHECK_IS(rig_wqebbs(0, 1, 0), n_before);
		CHECK_IS(shmemd_arch_ld_acquire_u32(&has_posted), 0);
	}
	if (mixed == MIXED_RESV)
		follow(rig_words(0, 1, 0));
	else
		shmemd_arch_st_release_u64(word, before);
}

static void mixed_path_words(void **state)
{
	(void)state;
	for (mixed = 0; mixed < N_MIXED; mixed++)
		for (unsigned start = 0; start < 2 * N_STARTS; start++) {
			rig_test_t t = {.plan = rig_plan(),
					.kernel = post_one,
					.n_blocks = 1,
					.n_threads = 1,
					.host = mix_for_a_while,
					.arg = start % 2};

			may_mix = is_mixed = has_posted = 0;
			n_before = start % 2;
			start_below(&t.plan, start / 2);
			run_once(&t);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mixed_path_words),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
