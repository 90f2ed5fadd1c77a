/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A path fails in the middle of a put with a signal: of its packets some have arrived. A WRITE of
 * which a packet is missing is not executed and is repeated as a whole; one that was executed is
 * not repeated; the signal comes once, after all data. */
#include <shmem_dev/shmem_dev.h>
#include "paths.h"
#include "run.h"

enum { TARGET = 0, SOURCE = 2, SIGNAL = 4, END = 5 }; /* granules */
enum { PACKET = 256, N_PACKETS = 4, PACKETS_PER_WRITE = RIG_GRANULE / PACKET };
enum { PACKET_WORDS = PACKET / 8, N_WORDS = N_PACKETS * PACKET_WORDS };

#define OTHERS_WORD 0x0dd0dd0dd0dd0dd0u /* stored by the target's PE after the fence */

static uint32_t is_cut; /* the host has set its rule */
static uint32_t n_arrive, n_writes;

static uint64_t *target(void)
{
	return word_of(&rig_pes[1].ctx, TARGET);
}

static uint64_t value_of(uint32_t word)
{
	return 0x1000u + word;
}

static void serve(const rig_params_t *p)
{
	while (!shmemd_arch_ld_acquire_u64(word_of(&p->ctx, END))) {
		(void)shmemdi_service_once(&p->ctx);
		shmemd_arch_spin_hint();
	}
}

static void kernel(const void *params)
{
	const rig_params_t *p = params;

	if (p->pe == 0) {
		while (!shmemd_arch_ld_acquire_u32(&is_cut))
			shmemd_arch_spin_hint();
		shmemd_putmem_signal_nbi(&p->ctx, word_of(&p->ctx, TARGET),
					 word_of(&p->ctx, SOURCE), N_WORDS * 8,
					 word_of(&p->ctx, SIGNAL), 1, SHMEMD_SIGNAL_ADD, p->peer);
		CHECK_IS(shmemd_quiet(&p->ctx), 0);
		return;
	}
	serve(p);
}

static void made(int pe)
{
	(void)pe;
	is_cut = n_writes = 0;
	for (uint32_t i = 0; i < N_WORDS; i++)
		word_of(&rig_pes[0].ctx, SOURCE)[i] = value_of(i);
}

/* Has the last word of the first n packets arrived? */
static int have_arrived(uint32_t n)
{
	return n == 0 || shmemd_arch_ld_acquire_u64(&target()[n * PACKET_WORDS - 1]) ==
				 value_of(n * PACKET_WORDS - 1);
}

static void host(int pe)
{
	if (pe != 0)
		return;
	rig_control("drop packet kind=request after=%u", n_arrive);
	shmemd_arch_st_release_u32(&is_cut, 1);
	while (!have_arrived(n_arrive) || rig_wqebbs(0, 1, 0) == 0)
		shmemsim_yield();
	rig_fence(0, 1, 0);
	n_writes = rig_executed(rig_channel(1, 0, 0));
	CHECK_IS(n_writes, n_arrive / PACKETS_PER_WRITE);
	CHECK(n_arrive == N_PACKETS || !have_arrived(n_arrive + 1));
	CHECK_IS(*word_of(&rig_pes[1].ctx, SIGNAL), 0);
	/* What the peer stores over data that were executed stays. */
	for (uint32_t i = 0; i < n_writes * PACKETS_PER_WRITE * PACKET_WORDS; i++)
		shmemd_arch_st_relaxed_u64(&target()[i], OTHERS_WORD);
	rig_control("clear rules");
	rig_order(0, 1, 0);
	shmemd_arch_st_release_u64(word_of(&rig_pes[1].ctx, END), 1);
}

static void final_check(void)
{
	for (uint32_t i = 0; i < N_WORDS; i++)
		CHECK_IS(target()[i], i < n_writes * PACKETS_PER_WRITE * PACKET_WORDS
					      ? OTHERS_WORD
					      : value_of(i));
	CHECK_IS(*word_of(&rig_pes[1].ctx, SIGNAL), 1);
}

static rig_test_t cut_test(void)
{
	rig_test_t t = {.plan = rig_plan(),
			.kernel = kernel,
			.n_blocks = 1,
			.n_threads = 1,
			.made = made,
			.host = host,
			.final_check = final_check};

	t.plan.has_paths = 1;
	t.plan.mtu = 1; /* PACKET */
	return t;
}

/* Between all packets, in the middle of a WRITE and after it; none has arrived, or all but the
 * signal. */
static void cut_in_the_middle(void **state)
{
	rig_test_t t = cut_test();

	(void)state;
	for (n_arrive = 0; n_arrive <= N_PACKETS; n_arrive++)
		for (unsigned start = 0; start < N_STARTS; start++) {
			start_below(&t.plan, start);
			run_once(&t);
			run_schedules(&t, 20);
		}
}

/* With the wrong number: the test would notice a WRITE that is repeated or left out. */
static void wrong_number(void **state)
{
	rig_test_t t = cut_test();

	(void)state;
	n_arrive = 3;
	rig_executed_error = 1;
	run_fails(&t, "target()[i] is 0x0");
	rig_executed_error = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_in_the_middle),
		cmocka_unit_test(wrong_number),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
