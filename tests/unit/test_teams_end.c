/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The end of teams, their number, members that come late, and teams after a PE is gone. */
#include <dirent.h>
#include <malloc.h>
#include <semaphore.h>
#include <unistd.h>
#include "team_job.h"

#define WORLD SHMEMH_TEAM_WORLD
#define NONE SHMEMH_TEAM_INVALID
#define ROUNDS 200
#define WARM_UP 20

/* The handle of a team that is gone is refused by every call, also when its slot has a new team. */
static int stale(shmemh_t *job, int pe)
{
	shmemh_team_t old, team = NONE, out;
	shmemd_ctx_t ctx;

	(void)pe;
	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &old) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, old) == SHMEMH_OK);
	for (int round = 0; round < 2; round++) {
		WANT(shmemh_team_my_pe(job, old) == -1 && shmemh_team_n_pes(job, old) == -1);
		WANT(shmemh_team_translate_pe(job, old, 0, WORLD) == -1);
		WANT(shmemh_team_translate_pe(job, WORLD, 0, old) == -1);
		WANT_LINE(shmemh_ctx_get(job, old, &ctx), SHMEMH_ERR_ARGUMENT, "does not exist");
		WANT_LINE(shmemh_team_destroy(job, old), SHMEMH_ERR_ARGUMENT, "destroyed");
		WANT_LINE(shmemh_team_barrier(job, old), SHMEMH_ERR_ARGUMENT, "destroyed");
		WANT_LINE(shmemh_team_split_strided(job, old, 0, 1, 1, &out), SHMEMH_ERR_ARGUMENT,
			  "destroyed");
		job->next_team_slot = (uint32_t)old % SHMEMHI_MAX_TEAMS;
		if (round == 0)
			WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team) == SHMEMH_OK);
		WANT(team != old && team % SHMEMHI_MAX_TEAMS == old % SHMEMHI_MAX_TEAMS);
	}
	WANT(shmemh_team_destroy(job, NONE) == SHMEMH_OK);
	WANT_LINE(shmemh_team_destroy(job, WORLD), SHMEMH_ERR_ARGUMENT, "SHMEMH_TEAM_WORLD");
	WANT_LINE(shmemh_team_destroy(job, SHMEMH_TEAM_NODE), SHMEMH_ERR_ARGUMENT, "TEAM_NODE");
	WANT_LINE(pe == 0 ? shmemh_team_barrier(job, team) : shmemh_team_destroy(job, team),
		  SHMEMH_ERR_MISMATCH, "PE 0 called team_barrier, PE 1 called team_destroy");
	WANT(shmemh_team_barrier(job, team) == SHMEMH_OK); /* it is still there */
	return shmemh_finalize(job);
}

static void test_stale(void **state)
{
	(void)state;
	run_pes(stale, "30s");
}

/* A kernel of the team before has left its numbers in the sync memory. */
static int sync_is_zeroed(shmemh_t *job, int pe)
{
	shmemh_team_t team;

	(void)pe;
	for (int round = 0; round < 2; round++) {
		uint64_t *sync;

		job->next_team_slot = SHMEMHI_MAX_TEAMS - 1; /* the same in both rounds */
		WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &team) == SHMEMH_OK);
		sync = job->teams[team % SHMEMHI_MAX_TEAMS].sync;
		for (int i = 0; i < SHMEMD_SYNC_WORDS(N_PES); i++)
			WANT(sync[i] == 0);
		memset(sync, 0xff, SHMEMD_SYNC_WORDS(N_PES) * sizeof *sync);
		WANT(shmemh_team_destroy(job, team) == SHMEMH_OK);
	}
	return shmemh_finalize(job);
}

static void test_sync_is_zeroed(void **state)
{
	(void)state;
	run_pes(sync_is_zeroed, "30s");
}

static int limit(shmemh_t *job, int pe)
{
	shmemh_team_t teams[SHMEMH_TEAMS_MAX], more;
	int n = 0;

	(void)pe;
	while (n < SHMEMH_TEAMS_MAX &&
	       shmemh_team_split_strided(job, WORLD, 0, 1, 4, &teams[n]) == SHMEMH_OK)
		n++;
	WANT(n == SHMEMH_TEAMS_MAX - SHMEMHI_N_BUILTIN_TEAMS);
	WANT(strstr(shmemh_error_text(job), "a PE can be in 64 teams at a time") != NULL);
	WANT(shmemh_team_destroy(job, teams[9]) == SHMEMH_OK);
	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &more) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_limit(void **state)
{
	(void)state;
	run_pes(limit, "30s");
}

static int count_entries(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

typedef struct used {
	int descriptors, threads;
	uint64_t heap, slots;
	size_t memory; /* of malloc; 0 with a sanitizer */
} used_t;

/* What the process uses while the other PEs wait in a barrier. */
static int measure(shmemh_t *job, int pe, used_t *used)
{
	shmemh_heap_info_t info = {.size = sizeof info};

	WANT(shmemh_barrier(job) == SHMEMH_OK);
	if (pe == 0) {
		WANT(shmemh_heap_info(job, &info) == SHMEMH_OK);
		*used = (used_t){.descriptors = count_entries("/proc/self/fd"),
				 .threads = count_entries("/proc/self/task"),
				 .heap = info.used,
				 .slots = job->team_slots,
				 .memory = mallinfo2().uordblks};
	}
	WANT(shmemh_barrier(job) == SHMEMH_OK);
	return 0;
}

/* Teams that are made, destroyed and refused, in two orders. */
static int one_round(shmemh_t *job, int pe, int round)
{
	int pair[] = {pe & ~1, pe | 1};
	shmemh_team_t a, b, x, y, refused;

	WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &a) == SHMEMH_OK);
	WANT(shmemh_team_create(job, pair, 2, &b) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, round % 2 ? a : b) == SHMEMH_OK);
	WANT(shmemh_team_split_2d(job, WORLD, 2, &x, &y) == SHMEMH_OK);
	WANT(shmemh_team_split_strided(job, WORLD, 0, 9, 9, &refused) == SHMEMH_ERR_ARGUMENT);
	WANT(shmemh_team_create(job, pair, 2, pe ? &refused : NULL) ==
	     (pe < 2 ? SHMEMH_ERR_ARGUMENT : SHMEMH_OK));
	WANT(pe < 2 || shmemh_team_destroy(job, refused) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, round % 2 ? b : a) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, y) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, x) == SHMEMH_OK);
	return 0;
}

static int many(shmemh_t *job, int pe)
{
	used_t before, after;

	for (int round = 0; round < WARM_UP; round++)
		WANT(one_round(job, pe, round) == 0);
	WANT(measure(job, pe, &before) == 0);
	for (int round = 0; round < ROUNDS; round++)
		WANT(one_round(job, pe, round) == 0);
	WANT(measure(job, pe, &after) == 0);
	if (pe == 0) {
		WANT(after.descriptors == before.descriptors && after.threads == before.threads);
		WANT(after.heap == before.heap && after.slots == before.slots);
		WANT(after.memory < before.memory + (size_t)ROUNDS * 16);
	}
	return shmemh_finalize(job);
}

static void test_many(void **state)
{
	(void)state;
	run_pes(many, "30s");
}

typedef struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int n;
} gate_t;

static gate_t told = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void pass_gate(int add, int until)
{
	pthread_mutex_lock(&told.lock);
	told.n += add;
	pthread_cond_broadcast(&told.changed);
	while (told.n < until)
		pthread_cond_wait(&told.changed, &told.lock);
	pthread_mutex_unlock(&told.lock);
}

/* PE 3 comes to a barrier after the others have given it up: it gets their failure, and all are in
 * step again. */
static int late(shmemh_t *job, int pe)
{
	shmemh_team_t team;
	int status;

	if (pe == 3)
		pass_gate(0, 3);
	status = shmemh_team_barrier(job, WORLD);
	pass_gate(1, 4);
	WANT_LINE(status, SHMEMH_ERR_TIMEOUT, "team_barrier: PE 3 did not come");
	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_late(void **state)
{
	(void)state;
	told.n = 0;
	run_pes(late, "3s");
}

/* Two teams of the same PEs: a barrier of one does not meet that of the other. */
static int two_teams(shmemh_t *job, int pe)
{
	shmemh_team_t a, b;

	WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &a) == SHMEMH_OK);
	WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &b) == SHMEMH_OK);
	WANT_LINE(shmemh_team_barrier(job, pe == 0 ? b : a), SHMEMH_ERR_TIMEOUT,
		  pe == 0 ? "PE 1, 2, 3 did not come" : "PE 0 did not come");
	/* What each has missed fails for it, too: once both barriers have ended. */
	pass_gate(1, 4);
	WANT_LINE(shmemh_team_barrier(job, pe == 0 ? a : b), SHMEMH_ERR_TIMEOUT, "team_barrier: ");
	WANT(shmemh_team_barrier(job, a) == SHMEMH_OK);
	WANT(shmemh_team_barrier(job, b) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_two_teams(void **state)
{
	(void)state;
	told.n = 0;
	run_pes(two_teams, "3s");
}

/* PE 3 leaves. World collectives and malloc fail from then on; teams of the others work. */
static int others_go_on(shmemh_t *job, int pe, shmemh_team_t with_it)
{
	int list[] = {2, 0, 1};
	shmemh_team_t team, more;
	void *ptr;

	WANT(shmemh_barrier(job) == SHMEMH_ERR_PEER);
	WANT(shmemh_malloc(job, 64, &ptr) == SHMEMH_ERR_PEER);
	WANT_LINE(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team), SHMEMH_ERR_PEER, "PE 3");
	WANT(team == NONE);
	WANT(shmemh_team_split_strided(job, WORLD, 2, -1, 3, &team) == SHMEMH_OK);
	WANT(*job->teams[team % SHMEMHI_MAX_TEAMS].abort_word == 0);
	WANT(shmemh_team_barrier(job, team) == SHMEMH_OK);
	WANT_LINE(shmemh_team_barrier(job, WORLD), SHMEMH_ERR_PEER, "PE 3, a member of team 0");
	if (pe == 2) {
		WANT(*job->teams[with_it % SHMEMHI_MAX_TEAMS].abort_word != 0);
		WANT_LINE(shmemh_team_barrier(job, with_it), SHMEMH_ERR_PEER, "PE 3");
		WANT(shmemh_team_destroy(job, with_it) == SHMEMH_OK);
	}
	WANT(shmemh_team_create(job, list, 3, &more) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, team) == SHMEMH_OK);
	WANT(shmemh_team_barrier(job, more) == SHMEMH_OK);
	WANT(shmemh_finalize(job) == SHMEMH_ERR_PEER);
	return 0;
}

/* PE 3 leaves after a collective that fails on all PEs for its size: finalize then waits for
 * nobody. */
static int left(shmemh_t *job, int pe)
{
	shmemh_team_t team;
	char all[4 * N_PES];

	WANT(shmemh_team_split_strided(job, WORLD, 2, 1, 2, &team) == SHMEMH_OK);
	if (pe == 3) {
		WANT(shmemh_finalize(job) == SHMEMH_ERR_MISMATCH);
		return 0;
	}
	WANT(shmemh_allgather(job, "four", all, 4) == SHMEMH_ERR_MISMATCH);
	return others_go_on(job, pe, team);
}

static void test_left(void **state)
{
	(void)state;
	run_pes(left, "30s");
}

/* PE 1's death is reported while a team with it is made, before the team is in the table. */
static int caught_up(shmemh_t *job, int pe)
{
	const shmemhi_team_t *t;
	shmemh_team_t team;

	if (pe == 0)
		atomic_store(&job->causes[1], SHMEMD_CAUSE_DIED);
	WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &team) == SHMEMH_OK);
	t = &job->teams[team % SHMEMHI_MAX_TEAMS];
	WANT(*t->abort_word == (pe ? 0 : SHMEMD_ABORT_WORD(2, SHMEMD_CAUSE_DIED)));
	WANT(t->causes[2] == (pe ? SHMEMD_CAUSE_NONE : SHMEMD_CAUSE_DIED));
	return shmemh_finalize(job);
}

/* The channels to PE 1 have ended without a path before a team with it is made. */
static int unreachable_before(shmemh_t *job, int pe)
{
	const shmemhi_team_t *t;
	shmemh_team_t team;

	if (pe == 0)
		shmemhi_unreachable(job, 1);
	WANT(shmemh_team_split_strided(job, WORLD, 3, -1, 4, &team) == SHMEMH_OK);
	t = &job->teams[team % SHMEMHI_MAX_TEAMS];
	WANT(*t->abort_word == (pe ? 0 : SHMEMD_ABORT_WORD(2, SHMEMD_CAUSE_NO_PATH)));
	WANT(t->causes[2] == (pe ? SHMEMD_CAUSE_NONE : SHMEMD_CAUSE_NO_PATH));
	return shmemh_finalize(job);
}

static void test_unreachable_before(void **state)
{
	(void)state;
	run_pes(unreachable_before, "30s");
}

/* A slot is not used again at once: a flag of the destroyed team may still be on its way. */
static int slots_in_turn(shmemh_t *job, int pe)
{
	shmemh_team_t team;
	int before = -1;

	(void)pe;
	for (int i = 0; i < 3 * SHMEMHI_MAX_TEAMS; i++) {
		WANT(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team) == SHMEMH_OK);
		WANT(team % SHMEMHI_MAX_TEAMS != before);
		before = team % SHMEMHI_MAX_TEAMS;
		WANT(shmemh_team_destroy(job, team) == SHMEMH_OK);
	}
	return shmemh_finalize(job);
}

static void test_slots_in_turn(void **state)
{
	(void)state;
	run_pes(slots_in_turn, "30s");
}

static void test_caught_up(void **state)
{
	(void)state;
	run_pes(caught_up, "30s");
}

/* What the bootstrap of a job reports when PE 3 dies at the end of the n-th gather of a tag. */

static int (*true_gather)(void *state, const shmemh_gather_t *g, char *errbuf, size_t nbytes);
static uint64_t death_tag;
static int death_at;
static _Thread_local int n_gathers;

static int gather_with_death(void *state, const shmemh_gather_t *g, char *errbuf, size_t nbytes)
{
	int status = true_gather(state, g, errbuf, nbytes);

	if (g->tag != death_tag || n_gathers++ != death_at || status != SHMEMH_OK)
		return status;
	g->took_part[g->n_pes - 1] = 0;
	memset((char *)g->dst + (size_t)(g->n_pes - 1) * g->nbytes, 0, g->nbytes);
	return status;
}

static void let_die(shmemh_t *job, uint64_t tag, int at)
{
	n_gathers = 0;
	pass_gate(1, 4);
	if (job->pe == 0) {
		true_gather = job->boot.gather_some;
		death_tag = tag;
		death_at = at;
	}
	pass_gate(1, 8);
	job->boot.gather_some = gather_with_death;
}

/* PE 3 dies when all members of a split_2d have made their teams: no PE keeps one. */
static int death_in_split_2d(shmemh_t *job, int pe)
{
	const uint64_t before = job->team_slots;
	shmemh_team_t x, y;

	(void)pe;
	let_die(job, WORLD, 1);
	WANT_LINE(shmemh_team_split_2d(job, WORLD, 2, &x, &y), SHMEMH_ERR_PEER, "PE 3 died");
	WANT(x == NONE && y == NONE && job->team_slots == before);
	return shmemh_finalize(job);
}

static void test_death_in_split_2d(void **state)
{
	(void)state;
	told.n = 0;
	run_pes(death_in_split_2d, "30s");
}

/* PE 3 refuses a split and dies before it can say why. */
static int death_before_the_text(shmemh_t *job, int pe)
{
	shmemh_team_t team;

	let_die(job, (uint64_t)1 << 62, 0);
	WANT_LINE(shmemh_team_split_strided(job, WORLD, 0, 1, 4, pe == 3 ? NULL : &team),
		  SHMEMH_ERR_ARGUMENT,
		  pe == 3 ? "is NULL" : "it died, left or was cut off before it sent");
	return shmemh_finalize(job);
}

static void test_death_before_the_text(void **state)
{
	(void)state;
	told.n = 0;
	run_pes(death_before_the_text, "30s");
}

/* Another thread asks for a team that is gone, while its slot gets the next one. */

static shmemh_team_t old_team;
static sem_t asks;

static void *ask_for_old(void *arg)
{
	const shmemh_t *job = arg;

	sem_post(&asks);
	return (void *)(intptr_t)(shmemh_team_my_pe(job, old_team) == -1 &&
				  shmemh_team_n_pes(job, old_team) == -1 &&
				  shmemh_team_translate_pe(job, old_team, 0, WORLD) == -1);
}

/* As shmemhi_team_publish stores it: nothing else says that the members are stored before the
 * generation. */
static int query_of_stale(shmemh_t *job, int pe)
{
	shmemhi_team_t *slot;
	pthread_t thread;
	void *is_refused;

	if (pe != 0)
		return shmemh_finalize(job);
	WANT(shmemh_team_create(job, &pe, 1, &old_team) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, old_team) == SHMEMH_OK);
	slot = &job->teams[old_team % SHMEMHI_MAX_TEAMS];
	pthread_mutex_lock(&job->teams_lock);
	slot->world_pe = &pe;
	slot->n_pes = 1;
	WANT(pthread_create(&thread, NULL, ask_for_old, job) == 0);
	while (sem_wait(&asks) != 0)
		;
	usleep(20000); /* time for a query that does not wait */
	slot->generation++;
	pthread_mutex_unlock(&job->teams_lock);
	pthread_join(thread, &is_refused);
	pthread_mutex_lock(&job->teams_lock);
	slot->world_pe = NULL;
	slot->n_pes = 0;
	pthread_mutex_unlock(&job->teams_lock);
	WANT(is_refused);
	return shmemh_finalize(job);
}

static void test_query_of_stale(void **state)
{
	(void)state;
	sem_init(&asks, 0, 0);
	run_pes(query_of_stale, "30s");
	sem_destroy(&asks);
}

/* A bootstrap without gather_some: one line; a team of one PE needs none. */
static int no_gather_some(shmemh_t *job, int pe)
{
	shmemh_team_t team;

	job->boot.gather_some = NULL;
	WANT_LINE(shmemh_team_split_strided(job, WORLD, 0, 1, 4, &team), SHMEMH_ERR_BOOTSTRAP,
		  "has no gather_some");
	WANT(shmemh_team_create(job, &pe, 1, &team) == SHMEMH_OK);
	WANT(shmemh_team_barrier(job, team) == SHMEMH_OK);
	WANT(shmemh_team_destroy(job, team) == SHMEMH_OK);
	return shmemh_finalize(job);
}

static void test_no_gather_some(void **state)
{
	(void)state;
	run_pes(no_gather_some, "30s");
}

int main(int argc, char **argv)
{
	static const char tunables[] = "GLIBC_TUNABLES";
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stale),
		cmocka_unit_test(test_sync_is_zeroed),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_two_teams),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_caught_up),
		cmocka_unit_test(test_unreachable_before),
		cmocka_unit_test(test_slots_in_turn),
		cmocka_unit_test(test_no_gather_some),
		cmocka_unit_test(test_death_in_split_2d),
		cmocka_unit_test(test_death_before_the_text),
		cmocka_unit_test(test_query_of_stale),
	};

	(void)argc;
	/* test_many compares what malloc has given out. Caches of threads count as that, and
	 * arenas other than the first are not counted at all. */
	if (!getenv(tunables)) {
		setenv(tunables, "glibc.malloc.tcache_count=0", 1);
		execv("/proc/self/exe", argv);
	}
	mallopt(M_ARENA_MAX, 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
