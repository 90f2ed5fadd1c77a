/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* tests/weaken/reasons.c: a reason belongs to one call of one function; one that belongs to no call
 * is reported. */
#include "../common/mocka.h"
#include "../weaken/reasons.h"

enum { GPU = 3, CTA = 4 };

static reason_t row(const char *function, int number, int count)
{
	return (reason_t){{function, "arch_fence_acquire", number, count}, 1U << GPU, "why", 0};
}

static int is_explained(const reason_t *only, int number, int count, int how)
{
	reason_t rows[] = {*only, {{NULL, NULL, 0, 0}, 0, NULL, 0}};
	const reason_site_t site = {"shmemdi_f", "arch_fence_acquire", number, count};
	const char *text = reasons_find(rows, &site, how);

	assert_int_equal(reasons_print_lost(rows), text == NULL);
	return text != NULL;
}

static void test_explains_its_call(void **state)
{
	const reason_t first_of_two = row("shmemdi_f", 1, 2);

	(void)state;
	assert_true(is_explained(&first_of_two, 1, 2, GPU));
}

static void test_another_call_is_lost(void **state)
{
	const reason_t of_another = row("shmemdi_g", 1, 2), first_of_two = row("shmemdi_f", 1, 2);

	(void)state;
	assert_false(is_explained(&of_another, 1, 2, GPU));
	assert_false(is_explained(&first_of_two, 2, 2, GPU));
	assert_false(is_explained(&first_of_two, 1, 2, CTA));
}

/* The call may now be the other one. */
static void test_added_call_is_lost(void **state)
{
	const reason_t first_of_two = row("shmemdi_f", 1, 2);

	(void)state;
	assert_false(is_explained(&first_of_two, 1, 3, GPU));
	assert_false(is_explained(&first_of_two, 1, 1, GPU));
}

/* The second of them never applies. */
static void test_second_row_for_a_call_is_lost(void **state)
{
	reason_t rows[] = {
		row("shmemdi_f", 1, 1), row("shmemdi_f", 1, 1), {{NULL, NULL, 0, 0}, 0, NULL, 0}};
	const reason_site_t site = {"shmemdi_f", "arch_fence_acquire", 1, 1};

	(void)state;
	assert_non_null(reasons_find(rows, &site, GPU));
	assert_int_equal(reasons_print_lost(rows), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explains_its_call),
		cmocka_unit_test(test_another_call_is_lost),
		cmocka_unit_test(test_added_call_is_lost),
		cmocka_unit_test(test_second_row_for_a_call_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
