/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Teams of one's own: who is a member, and what becomes of wrong calls. How teams end, and what
 * happens when a PE is gone: test_teams_end.c. */
#include "team_job.h"

#define WORLD SHMEMH_TEAM_WORLD
#define NONE SHMEMH_TEAM_INVALID

/* The offset of a team's sync memory in the heap. */
static uint64_t sync_offset(const shmemh_t *job, shmemh_team_t team)
{
	const shmemhi_team_t *t = &job->teams[team % SHMEMHI_MAX_TEAMS];

	return (uint64_t)((char *)t->ctx.sync - t->ctx.heap);
}

/* The members are these PEs, in this order, for the host and for kernels. */
static int check_members(shmemh_t *job, shmemh_team_t team, const int *world, int n)
{
	shmemd_ctx_t ctx;

	WANT(shmemh_team_n_pes(job, team) == n);
	WANT(shmemh_ctx_get(job, team, &ctx) == SHMEMH_OK);
	WANT(ctx.n_pes == n && ctx.my_pe == shmemh_team_my_pe(job, team));
	WANT(world[ctx.my_pe] == job->pe &&
	     ctx.device_copy == job->teams[team % SHMEMHI_MAX_TEAMS].device_copy);
	for (int i = 0; i < n; i++) {
		WANT(ctx.peers[i].world_pe == world[i]);
		WANT(shmemh_team_translate_pe(job, team, i, WORLD) == world[i]);
		WANT(shmemh_team_translate_pe(job, WORLD, world[i], team) == i);
		WANT(ctx.sync[SHMEMD_SYNC_FLAGS + i] == 0);
	}
	return 0;
}

static int strided_teams(shmemh_t *job, int pe)
{
	static const int evens[] = {2, 0}, odds[] = {1, 3}, all[] = {0, 1, 2, 3},
			 back[] = {3, 2, 1, 0};
	shmemh_team_t even = 7, odd = 7, world, reversed, own;
	int is_odd = pe % 2;

	WANT(shmemh_team_split_strided(job, WORLD, 2, -2, 2, &even) == SHMEMH_OK);
	WANT(shmemh_team_split_strided(job, WORLD, 1, 2, 2, &odd) == SHMEMH_OK);
	WANT((even == NONE) == is_odd && (odd == NONE) == !is_odd);
	WANT(check_members(job, is_odd ? odd : even, is_odd ? odds : evens, 2) == 0);
	WANT(shmemh_team_translate_pe(job, WORLD, is_odd ? 0 : 1, is_odd ? odd : even) == -1);
	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &world) == SHMEMH_OK);
	WANT(check_members(job, world, all, 4) == 0);
	WANT(job->teams[world % SHMEMHI_MAX_TEAMS].ctx.flags & SHMEMD_CTX_WORLD_NUMBERS);
	/* of a team with other numbers */
	WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &reversed) == SHMEMH_OK);
	WANT(check_members(job, reversed, back, 4) == 0);
	WANT(!(job->teams[reversed % SHMEMHI_MAX_TEAMS].ctx.flags & SHMEMD_CTX_WORLD_NUMBERS));
	WANT(shmemh_team_split_strided(job, reversed, 3, -2, 2, &own) == SHMEMH_OK);
	WANT(pe == 0 || pe == 2 ? check_members(job, own, (int[]){0, 2}, 2) == 0 : own == NONE);
	/* a team of one PE */
	WANT(shmemh_team_split_strided(job, WORLD, 1, 0, 1, &own) == SHMEMH_OK);
	WANT(pe == 1 ? check_members(job, own, &pe, 1) == 0 : own == NONE);
	WANT(shmemh_team_barrier(job, reversed) == SHMEMH_OK);
	WANT(shmemh_team_barrier(job, is_odd ? odd : even) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_strided(void **state)
{
	(void)state;
	run_pes(strided_teams, "30s");
}

static int teams_2d(shmemh_t *job, int pe)
{
	static const int row[] = {0, 1, 2}, column[] = {0, 3}, all[] = {0, 1, 2, 3};
	shmemh_team_t x, y;

	WANT(shmemh_team_split_2d(job, WORLD, 3, &x, &y) == SHMEMH_OK);
	WANT(check_members(job, x, pe == 3 ? &pe : row, pe == 3 ? 1 : 3) == 0);
	WANT(check_members(job, y, pe % 3 ? &pe : column, pe % 3 ? 1 : 2) == 0);
	WANT(shmemh_team_split_2d(job, WORLD, 99, &x, &y) == SHMEMH_OK);
	WANT(check_members(job, x, all, 4) == 0 && check_members(job, y, &pe, 1) == 0);
	WANT_LINE(shmemh_team_split_2d(job, WORLD, 0, &x, &y), SHMEMH_ERR_ARGUMENT, "xrange is 0");
	WANT(x == NONE && y == NONE);
	WANT_LINE(shmemh_team_split_2d(job, WORLD, 1 + pe / 3, &x, &y), SHMEMH_ERR_MISMATCH,
		  "PE 0 called team_split_2d(xrange 1), PE 3 called team_split_2d(xrange 2)");
	WANT_LINE(shmemh_team_split_2d(job, WORLD, 2, pe == 1 ? NULL : &x, &y), SHMEMH_ERR_ARGUMENT,
		  "is NULL");
	return shmemh_finalize(job);
}

static void test_2d(void **state)
{
	(void)state;
	run_pes(teams_2d, "30s");
}

/* Both of a PE's teams, or none: PE 0 has no slot for its column. */
static int all_or_nothing(shmemh_t *job, int pe)
{
	uint64_t before = job->team_slots;
	shmemh_team_t x, y;

	if (pe == 0)
		job->team_slots = ~((uint64_t)1 << 5);
	WANT_LINE(shmemh_team_split_2d(job, WORLD, 2, &x, &y), SHMEMH_ERR_NO_MEMORY,
		  "a PE can be in 64 teams");
	WANT(x == NONE && y == NONE);
	if (pe == 0) {
		WANT(job->team_slots == ~((uint64_t)1 << 5));
		job->team_slots = before;
	}
	WANT(job->team_slots == before);
	WANT(shmemh_team_split_2d(job, WORLD, 2, &x, &y) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_all_or_nothing(void **state)
{
	(void)state;
	run_pes(all_or_nothing, "30s");
}

static int refuse(shmemh_t *job, int start, int stride, int size, const char *text)
{
	shmemh_team_t team = 7;

	WANT_LINE(shmemh_team_split_strided(job, WORLD, start, stride, size, &team),
		  SHMEMH_ERR_ARGUMENT, text);
	WANT(team == NONE);
	return 0;
}

/* Each wrong argument is named on all PEs, and nothing is left of the call. */
static int wrong_arguments(shmemh_t *job, int pe)
{
	uint64_t slots = job->team_slots;
	shmemh_team_t team = 7;

	WANT(refuse(job, -1, 1, 1, "start is -1") == 0);
	WANT(refuse(job, 4, -1, 1, "start is 4") == 0);
	WANT(refuse(job, 0, 1, 0, "size is 0") == 0);
	WANT(refuse(job, 0, 1, 5, "size is 5") == 0);
	WANT(refuse(job, 0, 0, 2, "stride is 0") == 0);
	WANT(refuse(job, 1, 2, 3, "last member is PE 5") == 0);
	WANT(refuse(job, 1, -1, 3, "last member is PE -1") == 0);
	WANT(refuse(job, 1, INT32_MAX, 4, "last member is PE 6442450942") == 0);
	WANT_LINE(shmemh_team_split_strided(job, WORLD, 0, 1, 4, pe == 2 ? NULL : &team),
		  SHMEMH_ERR_ARGUMENT, "is NULL");
	WANT(pe == 2 || strstr(shmemh_error_text(job), "PE 2: ") != NULL);
	WANT_LINE(shmemh_team_split_strided(job, NONE, 0, 1, 4, &team), SHMEMH_ERR_ARGUMENT,
		  "TEAM_INVALID");
	WANT_LINE(shmemh_team_split_strided(job, 77, 0, 1, 4, &team), SHMEMH_ERR_ARGUMENT,
		  "team 77");
	WANT(team == NONE);
	WANT_LINE(shmemh_team_split_strided(job, WORLD, 0, pe == 3 ? 2 : 1, 2, &team),
		  SHMEMH_ERR_MISMATCH, "size 2), PE 3 called team_split_strided(start 0, stride 2");
	WANT_LINE(pe == 1 ? shmemh_team_barrier(job, WORLD)
			  : shmemh_team_split_strided(job, WORLD, 0, 0, 0, &team),
		  SHMEMH_ERR_MISMATCH, "PE 1 called team_barrier");
	WANT(job->team_slots == slots);
	return shmemh_finalize(job);
}

static void test_wrong_arguments(void **state)
{
	(void)state;
	run_pes(wrong_arguments, "30s");
}

static int lists(shmemh_t *job, int pe)
{
	int list[] = {3, 1, 0}, other[] = {3, 0, 1}, twice[] = {pe, 1, 1}, far[] = {pe, 9};
	uint64_t slots = job->team_slots;
	shmemh_team_t team = 7;

	WANT_LINE(shmemh_team_create(job, twice, 3, &team), SHMEMH_ERR_ARGUMENT, "both 1");
	WANT_LINE(shmemh_team_create(job, far, 2, &team), SHMEMH_ERR_ARGUMENT, "pes[1] is 9");
	WANT_LINE(shmemh_team_create(job, far, 0, &team), SHMEMH_ERR_ARGUMENT, "n_pes=0");
	WANT_LINE(shmemh_team_create(job, NULL, 1, &team), SHMEMH_ERR_ARGUMENT, "pes=(nil)");
	WANT(team == NONE);
	if (pe == 2) {
		WANT_LINE(shmemh_team_create(job, list, 3, &team), SHMEMH_ERR_ARGUMENT,
			  "this PE, 2, is not in the list");
		return shmemh_finalize(job);
	}
	WANT_LINE(shmemh_team_create(job, pe == 3 ? other : list, 3, &team), SHMEMH_ERR_MISMATCH,
		  "all members pass the same list");
	WANT_LINE(shmemh_team_create(job, list, 3, pe ? &team : NULL), SHMEMH_ERR_ARGUMENT,
		  "is NULL");
	WANT(team == NONE && job->team_slots == slots);
	WANT(shmemh_team_create(job, list, 3, &team) == SHMEMH_OK);
	WANT(check_members(job, team, list, 3) == 0);
	WANT(shmemh_team_barrier(job, team) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_lists(void **state)
{
	(void)state;
	run_pes(lists, "30s");
}

/* PEs make teams in different order. The sync memory of a team has one offset on its members, and
 * no other team of a member has it. */
static int in_different_order(shmemh_t *job, int pe)
{
	int pair[] = {pe & ~1, pe | 1}, middle[] = {1, 2}, ends[] = {0, 3}, world[] = {0, 1, 2, 3};
	uint64_t mine[3], all[N_PES][3];
	shmemh_team_t a, b = NONE, c = NONE, d;

	if (pe < 2) /* the slot of d on PEs 0 and 1 is that of a on 2 and 3 */
		WANT(shmemh_team_create(job, &pe, 1, &d) == SHMEMH_OK);
	WANT(shmemh_team_create(job, pair, 2, &a) == SHMEMH_OK);
	job->next_team_slot = 0; /* all look for the lowest slot, which differs */
	WANT(pe == 0 || pe == 3 || shmemh_team_create(job, middle, 2, &b) == SHMEMH_OK);
	WANT(pe == 1 || pe == 2 || shmemh_team_create(job, ends, 2, &b) == SHMEMH_OK);
	WANT(shmemh_team_create(job, world, 4, &c) == SHMEMH_OK);
	mine[0] = sync_offset(job, a);
	mine[1] = sync_offset(job, b);
	mine[2] = sync_offset(job, c);
	WANT(mine[0] != mine[1] && mine[1] != mine[2] && mine[0] != mine[2]);
	WANT(shmemh_allgather(job, mine, all, sizeof mine) == SHMEMH_OK);
	WANT(all[0][0] == all[1][0] && all[2][0] == all[3][0] && all[0][0] != all[2][0]);
	WANT(all[1][1] == all[2][1] && all[0][1] == all[3][1]);
	for (int i = 1; i < N_PES; i++)
		WANT(all[i][2] == all[0][2]);
	return shmemh_finalize(job);
}

static void test_in_different_order(void **state)
{
	(void)state;
	run_pes(in_different_order, "30s");
}

/* One member does not map the others: no member's kernels may use atomics of SMs, nor flags in
 * mapped memory alone. */
static int flags_agree(shmemh_t *job, int pe)
{
	uint32_t flags = SHMEMD_CTX_SM_ATOMICS | SHMEMD_CTX_ALL_MAPPED;
	shmemh_team_t team;

	WANT((job->teams[WORLD].ctx.flags & flags) == flags);
	job->opt.disable_p2p = pe == 1;
	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team) == SHMEMH_OK);
	WANT((job->teams[team % SHMEMHI_MAX_TEAMS].ctx.flags & flags) == 0);
	return shmemh_finalize(job);
}

static void test_flags(void **state)
{
	(void)state;
	run_pes(flags_agree, "30s");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_strided),        cmocka_unit_test(test_2d),
		cmocka_unit_test(test_all_or_nothing), cmocka_unit_test(test_wrong_arguments),
		cmocka_unit_test(test_lists),          cmocka_unit_test(test_in_different_order),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
