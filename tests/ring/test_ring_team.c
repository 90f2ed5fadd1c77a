/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Contexts of teams behind NICs: members have other numbers than in the world, and the channels are
 * those of the world. Every operation reaches its member, sync and barrier wait for members only,
 * and quiet covers members only. */
#include <shmem_dev/shmem_dev.h>
#include "run.h"

enum { PES = 4, ROUNDS = 2, WORDS = 8, BAD_GRANULE = 5 };
enum { DATA, SOURCE, RESULT, SIGNALS, SUMS, TEAM_SYNC = 6 }; /* granules */

/* World numbers of members, in team order. */
static const struct team {
	int n, world[PES];
} teams[] = {
	{2, {1, 3}},    {2, {0, 2}}, {2, {3, 1}}, /* descending */
	{3, {2, 0, 3}}, {1, {2}},
};
#define N_TEAMS (sizeof(teams) / sizeof(teams[0]))

static shmemd_ctx_t all_contexts[PES][32];
static shmemd_peer_t all_peers[PES][32][PES]; /* for each PE and thread */
static uint32_t causes[PES];

/* The team's context on a PE; 0: not a member. As in the host runtime, flags about all members are
 * computed from these. */
static int team_context(const rig_params_t *p, const struct team *team, shmemd_ctx_t *ctx)
{
	shmemd_peer_t *peers = all_peers[p->pe][shmemd_thread_index()];
	uint32_t n_mapped = 0;

	*ctx = p->ctx;
	ctx->my_pe = -1;
	ctx->n_pes = team->n;
	for (int i = 0; i < team->n; i++) {
		if (team->world[i] == p->pe)
			ctx->my_pe = i;
		peers[i] = p->ctx.peers[team->world[i]];
		n_mapped += peers[i].base != NULL;
	}
	ctx->peers = peers;
	ctx->first_mapped = 0;
	ctx->mapped_span = (uint32_t)team->n;
	ctx->causes = causes;
	ctx->sync = word_of(ctx, TEAM_SYNC);
	ctx->flags &=
		~(SHMEMD_CTX_WORLD_NUMBERS | SHMEMD_CTX_ALL_MAPPED | SHMEMD_CTX_MIXED_TRANSPORT);
	if (n_mapped && !(ctx->flags & SHMEMD_CTX_SM_ATOMICS))
		ctx->flags |= SHMEMD_CTX_MIXED_TRANSPORT;
	ctx->device_copy = &all_contexts[p->pe][shmemd_thread_index()];
	all_contexts[p->pe][shmemd_thread_index()] = *ctx;
	return ctx->my_pe >= 0;
}

/* All operations of all members to all members */

static uint64_t value_of(int from, int to, uint64_t round, uint32_t i)
{
	return (uint64_t)(from + 1) * 1000000 + (uint64_t)(to + 1) * 10000 + round * 100 + i;
}

/* The words for the data that team PE `from` sends. */
static uint64_t *words_of(const shmemd_ctx_t *ctx, uint32_t granule, int from)
{
	return word_of(ctx, granule) + (size_t)from * WORDS;
}

static void send_all(const shmemd_ctx_t *ctx, shmemd_group_t g, uint64_t round)
{
	const int me = shmemd_my_pe(ctx);

	for (int pe = 0; pe < shmemd_n_pes(ctx); pe++) {
		uint64_t *src = words_of(ctx, SOURCE, pe), *dst = words_of(ctx, DATA, me);

		for (uint32_t i = g.rank; i < WORDS; i += g.size)
			shmemd_arch_st_data_u64(&src[i], value_of(me, pe, round, i));
		shmemd_group_sync(g);
		shmemd_putmem_signal_nbi_group(ctx, g, dst, src, (WORDS - 2) * 8,
					       word_of(ctx, SIGNALS) + me, 1, SHMEMD_SIGNAL_ADD,
					       pe);
		shmemd_putmem_nbi_group(ctx, g, dst + WORDS - 2, src + WORDS - 2, 8, pe);
		if (g.rank)
			continue;
		shmemd_p_u64(ctx, dst + WORDS - 1, value_of(me, pe, round, WORDS - 1), pe);
		shmemd_atomic_add_u64(ctx, word_of(ctx, SUMS), value_of(me, pe, round, 0), pe);
		shmemd_channel_add_u32(ctx, (uint32_t *)(word_of(ctx, SUMS) + 1), 1, pe,
				       SHMEMD_RING_DEFERRED);
	}
}

/* After the barrier all data of the members has arrived, and no data of other PEs. */
static void check_all(const shmemd_ctx_t *ctx, uint64_t round)
{
	const int me = shmemd_my_pe(ctx), n = shmemd_n_pes(ctx);
	uint64_t sum = 0;

	for (int pe = 0; pe < n; pe++) {
		for (uint32_t i = 0; i < WORDS; i++)
			CHECK_IS(shmemd_arch_ld_data_u64(words_of(ctx, DATA, pe) + i),
				 value_of(pe, me, round, i));
		CHECK_IS(shmemd_signal_fetch(ctx, word_of(ctx, SIGNALS) + pe), round);
		for (uint64_t r = 1; r <= round; r++)
			sum += value_of(pe, me, r, 0);
	}
	CHECK_IS(shmemd_arch_ld_relaxed_u64(word_of(ctx, SUMS)), sum);
	CHECK_IS(shmemd_arch_ld_relaxed_u64(word_of(ctx, SUMS) + 1), round * (uint64_t)n);
}

/* Fetch from all members and compare. */
static void fetch_all(const shmemd_ctx_t *ctx, shmemd_group_t g, uint64_t round)
{
	const int me = shmemd_my_pe(ctx), n = shmemd_n_pes(ctx);
	uint64_t *result = word_of(ctx, RESULT), value = 0;

	for (int pe = 0; pe < n; pe++) {
		CHECK_IS(
			shmemd_getmem_group(ctx, g, result, words_of(ctx, DATA, me), WORDS * 8, pe),
			0);
		for (uint32_t i = 0; i < WORDS; i++)
			CHECK_IS(shmemd_arch_ld_data_u64(&result[i]), value_of(me, pe, round, i));
		shmemd_group_sync(g);
		if (g.rank)
			continue;
		CHECK_IS(shmemd_g_u64(ctx, &value, words_of(ctx, DATA, me) + 1, pe), 0);
		CHECK_IS(value, value_of(me, pe, round, 1));
		CHECK_IS(shmemd_atomic_fetch_add_u64(ctx, &value, word_of(ctx, SUMS) + 2 + me, 3,
						     pe),
			 0);
		CHECK_IS(value, 3 * (round - 1));
	}
}

static void all_operations(const void *params)
{
	const rig_params_t *p = params;
	const struct team *team = &teams[p->arg % N_TEAMS];
	const shmemd_group_t g = p->arg / N_TEAMS ? shmemd_warp() : shmemd_thread();
	shmemd_ctx_t ctx;

	if (g.size == 1 && shmemd_thread_index())
		return;
	if (!team_context(p, team, &ctx))
		return;
	CHECK_IS(shmemd_world_pe(&ctx, shmemd_my_pe(&ctx)), p->pe);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		send_all(&ctx, g, round);
		CHECK_IS(shmemd_barrier_group(&ctx, g), 0);
		check_all(&ctx, round);
		fetch_all(&ctx, g, round);
		CHECK_IS(shmemd_sync_group(&ctx, g), 0);
	}
}

/* PEs that are not members have neither sent nor received anything. */
static uint64_t team_of_run;

static int is_member(const struct team *team, int pe)
{
	int found = 0;

	for (int i = 0; i < team->n; i++)
		found |= team->world[i] == pe;
	return found;
}

static void check_non_members(void)
{
	const struct team *team = &teams[team_of_run];

	for (int pe = 0; pe < PES; pe++)
		for (int peer = 0; peer < PES; peer++)
			if (!is_member(team, pe) || !is_member(team, peer))
				CHECK_IS(rig_wqebbs(pe, peer, 0), 0);
	for (int pe = 0; pe < PES; pe++)
		for (uint32_t i = 0; !is_member(team, pe) && i < RIG_GRANULE / 8; i++)
			CHECK_IS(word_of(&rig_pes[pe].ctx, DATA)[i], 0);
}

static rig_test_t team_test(void (*kernel)(const void *params), uint32_t n_threads)
{
	rig_test_t t = {
		.plan = rig_plan(), .kernel = kernel, .n_blocks = 1, .n_threads = n_threads};

	t.plan.n_pes = PES;
	return t;
}

static void members_by_rdma(void **state)
{
	(void)state;
	for (uint64_t team = 0; team < N_TEAMS; team++)
		for (uint64_t warp = 0; warp < 2; warp++) {
			rig_test_t t = team_test(all_operations, 32);

			t.arg = team + warp * N_TEAMS;
			team_of_run = team;
			t.final_check = check_non_members;
			start_below(&t.plan, (unsigned)team + 1);
			run_once(&t);
			run_schedules(&t, 4);
			t.plan.mapped = 1u << 0 | 1u << 3; /* some members are reached by stores */
			run_once(&t);
			run_schedules(&t, 4);
		}
}

/* Quiet of the team {1, 3} on PE 1 */

static uint32_t is_held, is_asked;
static int held_peer; /* the peer whose channel from PE 1 has its completions held */

static void hold_a_peer(int pe)
{
	if (pe != 1)
		return;
	rig_control("hold cqe host=1 qp=0x%x", rig_channel(1, held_peer, 0)->qp->qpn);
	shmemd_arch_st_release_u32(&is_held, 1);
	while (!shmemd_arch_ld_acquire_u32(&is_asked))
		shmemd_arch_spin_hint();
	rig_control("clear rules");
	rig_control("release cqes host=1");
	shmemd_arch_st_release_u32(&is_held, 0);
}

static void await_held(uint32_t held)
{
	while (shmemd_arch_ld_acquire_u32(&is_held) != held)
		shmemd_arch_spin_hint();
}

static void check_requests(uint64_t to_0, uint64_t to_1, uint64_t to_2, uint64_t to_3)
{
	CHECK_IS(rig_requests(1, 0, 0), to_0);
	CHECK_IS(rig_requests(1, 1, 0), to_1);
	CHECK_IS(rig_requests(1, 2, 0), to_2);
	CHECK_IS(rig_requests(1, 3, 0), to_3);
}

/* Send to non-members by the world's context, to members, including itself, by the team's. Atomics
 * use RDMA. */
static void send_to_both(const shmemd_ctx_t *world, const shmemd_ctx_t *team)
{
	shmemd_atomic_add_u64(world, word_of(world, DATA), 1, 0);
	shmemd_atomic_add_u64(world, word_of(world, DATA), 2, 2);
	shmemd_atomic_add_u64(team, word_of(team, DATA), 3, 0);
	shmemd_atomic_add_u64(team, word_of(team, DATA), 4, 1);
	check_requests(1, 1, 1, 1);
}

static uint64_t data_on(int pe)
{
	return *word_of(&rig_pes[pe].ctx, DATA);
}

/* The channel to a non-member does not complete, and the team's quiet does: one READ to each
 * member. */
static void quiet_past_a_non_member(const void *params)
{
	const rig_params_t *p = params;
	shmemd_ctx_t team;

	if (p->pe != 1 || !team_context(p, &teams[p->arg], &team))
		return;
	if (shmemd_arch_lane() == 0) {
		await_held(1);
		send_to_both(&p->ctx, &team);
	}
	shmemd_arch_syncwarp();
	CHECK_IS(shmemd_quiet_warp(&team), 0);
	CHECK_IS(data_on(teams[p->arg].world[0]), 3);
	CHECK_IS(data_on(teams[p->arg].world[1]), 4);
	shmemd_arch_syncwarp();
	check_requests(1, 2, 1, 2);
	CHECK_IS(shmemd_quiet_warp(&team), 0); /* no new operation */
	check_requests(1, 2, 1, 2);
	shmemd_arch_syncwarp();
	CHECK_IS(shmemd_quiet_warp(&p->ctx), SHMEMD_ERR_TIMEOUT);
	shmemd_arch_st_release_u32(&is_asked, 1);
	await_held(0);
	CHECK_IS(shmemd_quiet_warp(&p->ctx), 0);
	CHECK_IS(data_on(0), 1);
	CHECK_IS(data_on(2), 2);
	check_requests(2, 2, 2, 2);
}

/* The channel to a member does not complete, and neither does the team's quiet; the data for the
 * other members has arrived. */
static void quiet_waits_for_a_member(const void *params)
{
	const rig_params_t *p = params;
	shmemd_ctx_t team;

	if (p->pe != 1 || !team_context(p, &teams[p->arg], &team))
		return;
	if (shmemd_arch_lane() == 0) {
		await_held(1);
		send_to_both(&p->ctx, &team);
	}
	shmemd_arch_syncwarp();
	CHECK_IS(shmemd_quiet_warp(&team), SHMEMD_ERR_TIMEOUT);
	check_requests(1, 2, 1, 2);
	shmemd_arch_syncwarp();
	shmemd_arch_st_release_u32(&is_asked, 1);
	await_held(0);
	CHECK_IS(shmemd_quiet_warp(&team), 0);
	check_requests(1, 2, 1, 2); /* the READs have already been posted */
	CHECK_IS(data_on(teams[p->arg].world[0]), 3);
	CHECK_IS(data_on(teams[p->arg].world[1]), 4);
}

static void quiet_test(void (*kernel)(const void *params), int peer, uint64_t team)
{
	rig_test_t t = team_test(kernel, 32);

	is_held = is_asked = 0;
	held_peer = peer;
	t.host = hold_a_peer;
	t.arg = team;
	t.plan.timeout_ns = 1000000;
	run_once(&t);
}

static void quiet_covers_members(void **state)
{
	(void)state;
	for (uint64_t team = 0; team <= 2; team += 2) /* {1, 3} and {3, 1} */
		for (int peer = 0; peer < PES; peer++)
			quiet_test(peer % 2 ? quiet_waits_for_a_member : quiet_past_a_non_member,
				   peer, team);
}

/* Errors contain a member's number in the team. */
static void bad_granule(const void *params)
{
	const rig_params_t *p = params;
	shmemd_ctx_t team;

	if (p->pe != 1 || !team_context(p, &teams[0], &team))
		return;
	shmemd_p_u64(&team, word_of(&team, BAD_GRANULE), 1, 1);
	CHECK_IS(shmemd_quiet(&team), SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_pes[1].error.pe, 1);
	CHECK_IS(rig_status(1, 3, 0), SHMEMD_ERR_REFUSED);
	CHECK_IS(rig_status(1, 1, 0), 0);
	shmemd_p_u64(&p->ctx, word_of(&p->ctx, DATA), 9, 1);
	CHECK_IS(shmemd_channel_quiet(&p->ctx, 1), 0);
	CHECK_IS(data_on(1), 9);
}

static void records_name_members(void **state)
{
	rig_test_t t = team_test(bad_granule, 1);

	(void)state;
	t.plan.unregistered = 1u << BAD_GRANULE;
	run_once(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_by_rdma),
		cmocka_unit_test(quiet_covers_members),
		cmocka_unit_test(records_name_members),
	};

	return cmocka_run_group_tests(tests, NULL, end_of_group);
}
