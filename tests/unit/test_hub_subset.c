/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Gathers among some PEs in the hub (boot/hub_subset.c), without connections: what it answers, and
 * what it keeps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/clock.h"
#include "boot/hub.h"

#define N_PES 3
#define TAG 7
#define ROUNDS 50

static hub_t hub;
static conn_t conns[N_PES], *by_pe[N_PES];
static const int32_t all[N_PES] = {0, 1, 2};

static void drop_answers(conn_t *c)
{
	while (c->out) {
		out_t *out = c->out;

		c->out = out->next;
		hub_unref(out->blob);
		free(out);
	}
	c->out_end = &c->out;
}

static int setup(void **state)
{
	(void)state;
	memset(&hub, 0, sizeof hub);
	memset(conns, 0, sizeof conns);
	hub.log = (shmemhi_log_t){SHMEMHI_OFF, -1, 0};
	hub.n_pes = N_PES;
	hub.by_pe = by_pe;
	for (int pe = 0; pe < N_PES; pe++) {
		conns[pe].pe = pe;
		conns[pe].state = CONN_IN;
		conns[pe].out_end = &conns[pe].out;
		by_pe[pe] = &conns[pe];
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int pe = 0; pe < N_PES; pe++)
		drop_answers(&conns[pe]);
	hub_subset_free(&hub);
	return 0;
}

/* The PE gives its share, with a limit in nanoseconds. */
static void come(int pe, uint64_t limit)
{
	struct {
		shmemhi_subset_t head;
		int32_t pes[N_PES];
		unsigned char share[4];
	} body = {.head = {.n_pes = N_PES}, .share = {(unsigned char)(10 + pe)}};

	memcpy(body.pes, all, sizeof all);
	conns[pe].in.head = (shmemhi_frame_t){
		.type = SHMEMHI_SUBSET, .nbytes = sizeof body, .seq = TAG, .arg = limit};
	conns[pe].in.body = (void *)&body;
	assert_true(hub_subset_part(&hub, &conns[pe]));
	conns[pe].in.body = NULL;
}

static const unsigned char *body_of(const out_t *out)
{
	return out->blob->bytes + sizeof(shmemhi_frame_t);
}

/* What the PE was answered, in order: the type of the n-th frame, 0: there is none. */
static uint32_t answer(int pe, int n)
{
	const out_t *out = conns[pe].out;
	shmemhi_frame_t head;

	for (; out && n > 0; n--)
		out = out->next;
	if (!out)
		return 0;
	memcpy(&head, out->blob->bytes, sizeof head);
	return head.type;
}

static int n_kept(void)
{
	int n = 0;

	for (const subset_t *s = hub.gathers; s; s = s->next)
		n++;
	return n;
}

/* PEs 0 and 1 try again and again. */
static void miss(int n_rounds)
{
	for (int i = 0; i < n_rounds; i++) {
		come(0, 1);
		come(1, 1);
		hub_subset_timers(&hub);
	}
}

/* PE 2 misses many gathers. The hub keeps one entry for them; as many calls of PE 2 fail, and the
 * next one meets that of the others. */
static void missed_gathers(void **state)
{
	(void)state;
	miss(ROUNDS);
	assert_int_equal(n_kept(), 1);
	for (int i = 0; i < ROUNDS; i++) {
		assert_int_equal(answer(0, i), SHMEMHI_SUBSET_FAIL);
		assert_int_equal(answer(1, i), SHMEMHI_SUBSET_FAIL);
	}
	assert_int_equal(answer(0, ROUNDS), 0);
	come(0, SHMEMHI_NEVER); /* this one waits */
	for (int i = 0; i < ROUNDS; i++) {
		come(2, SHMEMHI_NEVER);
		assert_int_equal(answer(2, i), SHMEMHI_SUBSET_FAIL);
	}
	come(2, SHMEMHI_NEVER);
	assert_int_equal(answer(2, ROUNDS), 0);
	come(1, SHMEMHI_NEVER);
	for (int pe = 0; pe < N_PES; pe++)
		assert_int_equal(answer(pe, ROUNDS), SHMEMHI_SUBSET_RESULT);
	assert_null(hub.gathers);
}

/* Each of two PEs misses calls of the other one. */
static void missed_by_both(void **state)
{
	(void)state;
	miss(2);
	come(2, 1);
	come(2, 1);
	assert_null(hub.gathers);
	come(2, 1);
	hub_subset_timers(&hub);
	assert_int_equal(answer(2, 2), SHMEMHI_SUBSET_FAIL);
	come(0, SHMEMHI_NEVER);
	assert_int_equal(answer(0, 2), SHMEMHI_SUBSET_FAIL);
	assert_int_equal(n_kept(), 1);
	come(1, SHMEMHI_NEVER);
	assert_null(hub.gathers);
}

/* What a PE has missed is forgotten when it is gone. */
static void missed_and_gone(void **state)
{
	(void)state;
	miss(3);
	by_pe[2] = NULL;
	hub_subset_gone(&hub);
	assert_null(hub.gathers);
}

/* A member dies after it gave its share: it is not there. */
static void gone_after_its_share(void **state)
{
	static const unsigned char there[N_PES] = {1, 1, 0};

	(void)state;
	come(0, SHMEMHI_NEVER);
	come(2, SHMEMHI_NEVER);
	by_pe[2] = NULL;
	hub_subset_gone(&hub);
	come(1, SHMEMHI_NEVER);
	for (int pe = 0; pe < 2; pe++) {
		assert_int_equal(answer(pe, 0), SHMEMHI_SUBSET_RESULT);
		assert_memory_equal(body_of(conns[pe].out), there, sizeof there);
		assert_int_equal(body_of(conns[pe].out)[N_PES], 10);
	}
	assert_null(hub.gathers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(missed_gathers, setup, teardown),
		cmocka_unit_test_setup_teardown(missed_by_both, setup, teardown),
		cmocka_unit_test_setup_teardown(missed_and_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(gone_after_its_share, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
