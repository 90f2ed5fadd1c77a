/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Ports go down and come back while kernels use them, and the results are what they would have
 * been: every put and signal is there, signals come after their data, every atomic took effect
 * once, barriers hold. Each PE is a process with two software NICs of its own. It takes their ports
 * down itself, from a second thread, when its kernel has come so far. The same on GPUs, where the
 * kernel goes on while the agent's thread and the service switch its channels.
 *
 * FAILOVER_ROUNDS: rounds of a kernel. FAILOVER_BLOCKS: its blocks, of THREADS threads each.
 * FAILOVER_SWITCHES: how often each PE's channel switches in many_switches.
 * FAILOVER_LINKS=1: something else takes ports down, at any time (tests/net/flap.sh). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <mlx5sw.h>
#include "pes.h"
#include "scopes.h"

#define THREADS 4
#define SLOTS 8 /* messages from one thread to its neighbour that may be on their way */
#define NBYTES 200
#define BARRIER_ROUNDS 16
#define ROUNDS 400
#define ROUNDS_SLOW 60
#define SWITCHES 6
#define STATUSES 128 /* workers share them */

typedef struct message {
	uint64_t words[NBYTES / 8];
} message_t;

typedef struct mix_params {
	shmemd_ctx_t ctx;
	message_t *inbox;    /* [worker][SLOTS], from the left neighbour */
	uint64_t *arrived;   /* [worker] signal: messages of the left neighbour */
	message_t *outbox;   /* [worker][SLOTS] */
	message_t *fetched;  /* [worker] */
	message_t *pages;    /* [from pe][worker], written by puts */
	uint64_t *sums;      /* [2]: non-fetching adds, fetching adds */
	uint64_t *last;      /* [worker]: greatest value that a fetching add returned, plus 1 */
	uint64_t *ambiguous; /* [worker] results that were lost */
	uint64_t *progress;  /* rounds of worker 0, in host memory */
	int *status;
	uint32_t n, n_workers; /* threads of all blocks */
} mix_params_t;

SHMEMD_FN uint64_t mix_word(int pe, uint32_t worker, uint32_t round, uint32_t i)
{
	return ((uint64_t)(uint32_t)pe << 60) + ((uint64_t)worker << 48) + (uint64_t)round * 1000u +
	       i;
}

SHMEMD_FN void mix_fill(message_t *m, int pe, uint32_t worker, uint32_t round)
{
	uint32_t i;

	for (i = 0; i < NBYTES / 8; i++)
		m->words[i] = mix_word(pe, worker, round, i);
}

SHMEMD_FN int mix_differs(const message_t *m, int pe, uint32_t worker, uint32_t round)
{
	uint32_t i;

	for (i = 0; i < NBYTES / 8; i++)
		if (m->words[i] != mix_word(pe, worker, round, i))
			return 1;
	return 0;
}

/* Send a message to the right neighbour, and wait for that of the left one. Slots are used again
 * after SLOTS rounds, and a PE is less than n_pes rounds ahead of any other. */
SHMEMD_FN int mix_ring(const mix_params_t *p, const shmemd_ctx_t *ctx, uint32_t worker,
		       uint32_t round)
{
	int me = shmemd_my_pe(ctx), n = shmemd_n_pes(ctx), left = (me + n - 1) % n;
	size_t slot = worker * SLOTS + round % SLOTS;
	message_t *m = p->outbox + slot;
	int status;

	mix_fill(m, me, worker, round);
	shmemd_putmem_signal(ctx, p->inbox + slot, m, NBYTES, p->arrived + worker, 1,
			     SHMEMD_SIGNAL_ADD, (me + 1) % n);
	status = shmemd_signal_wait_until(ctx, p->arrived + worker, SHMEMD_CMP_GE, round + 1);
	if (status != SHMEMD_OK)
		return status;
	return mix_differs(p->inbox + slot, left, worker, round) ? 100 : SHMEMD_OK;
}

/* A page at each PE: put, and read back. */
SHMEMD_FN int mix_page(const mix_params_t *p, const shmemd_ctx_t *ctx, uint32_t worker,
		       uint32_t round)
{
	int me = shmemd_my_pe(ctx), n = shmemd_n_pes(ctx), to = (int)(round % (uint32_t)n), status;
	message_t *page = p->pages + (size_t)me * p->n_workers + worker;
	message_t *m = p->outbox + worker * SLOTS + round % SLOTS;

	shmemd_putmem_nbi(ctx, page, m, NBYTES, to);
	shmemd_atomic_add_u64(ctx, p->sums, 1 + worker, to);
	if (round % 4)
		return SHMEMD_OK;
	status = shmemd_quiet(ctx);
	if (status == SHMEMD_OK)
		status = shmemd_getmem(ctx, p->fetched + worker, page, NBYTES, to);
	if (status != SHMEMD_OK)
		return status;
	return mix_differs(p->fetched + worker, me, worker, round) ? 101 : SHMEMD_OK;
}

/* Each worker sees the common word of PE 0 grow. */
SHMEMD_FN int mix_fetch(const mix_params_t *p, const shmemd_ctx_t *ctx, uint32_t worker)
{
	uint64_t old = 0;
	int status = shmemd_atomic_fetch_add_u64(ctx, &old, p->sums + 1, 1, 0);

	if (status == SHMEMD_ERR_AMBIGUOUS) {
		p->ambiguous[worker]++;
		return SHMEMD_OK;
	}
	if (status != SHMEMD_OK)
		return status;
	if (old < p->last[worker])
		return 102;
	p->last[worker] = old + 1;
	return SHMEMD_OK;
}

SHMEMD_KERNEL(mix_kernel, mix_params_t, p)
{
	uint32_t worker = shmemd_block_index() * THREADS + shmemd_thread_index(), i;
	shmemd_ctx_t ctx = shmemd_ctx_channel(&p.ctx, (int)(worker % (uint32_t)p.ctx.n_channels));
	int status = SHMEMD_OK;

	for (i = 0; i < p.n && status == SHMEMD_OK; i++) {
		status = mix_ring(&p, &ctx, worker, i);
		if (status == SHMEMD_OK)
			status = mix_page(&p, &ctx, worker, i);
		if (status == SHMEMD_OK)
			status = mix_fetch(&p, &ctx, worker);
		if (status == SHMEMD_OK && worker == 0 && i % BARRIER_ROUNDS == 0)
			status = shmemd_barrier(&ctx);
		if (worker == 0)
			shmemd_arch_st_release_u64(p.progress, i + 1);
	}
	if (status == SHMEMD_OK)
		status = shmemd_quiet(&ctx);
	scope_report(p.status, (int)(worker % STATUSES), status);
	if (worker == 0)
		p.status[STATUSES] = shmemd_barrier(&p.ctx);
}

/* ---- ports ---- */

/* At a round of the kernel, take ports down or up. */
typedef struct move {
	uint32_t percent;      /* of the rounds */
	uint8_t home, standby; /* 0: nothing; UP, DOWN, FAIL, CHANGE: its addresses */
} move_t;

enum { UP = 1, DOWN, FAIL, CHANGE };

typedef struct script {
	const move_t *moves;
	size_t n;
	const uint64_t *progress;
	uint32_t rounds;
	char ports[2][32];
	int n_failed;
	int is_ending; /* atomic */
} script_t;

static void pause_ms(long ms)
{
	struct timespec time;

	time.tv_sec = 0;
	time.tv_nsec = ms * 1000000;
	nanosleep(&time, NULL);
}

static void change_addresses(script_t *script, const char *port)
{
	const char *layer = getenv("MLX5SW_LINK");
	char line[96], answer[256];

	if (layer && strcmp(layer, "infiniband") == 0) {
		snprintf(line, sizeof line, "lid change %s", port);
		script->n_failed += mlx5sw_control(line, answer, sizeof answer) != 0;
	}
	snprintf(line, sizeof line, "gid change %s", port);
	script->n_failed += mlx5sw_control(line, answer, sizeof answer) != 0;
}

static void set_port(script_t *script, int which, int state)
{
	const char *port = script->ports[which];
	char line[96], answer[256];

	if (!state)
		return;
	if (state == CHANGE) {
		change_addresses(script, port);
		return;
	}
	if (state == FAIL)
		snprintf(line, sizeof line, "fail wqe %s syndrome=0x15 vendor=0x81 n=1", port);
	else
		snprintf(line, sizeof line, "port %s %s", state == UP ? "up" : "down", port);
	script->n_failed += mlx5sw_control(line, answer, sizeof answer) != 0;
}

static void *script_main(void *arg)
{
	script_t *script = (script_t *)arg;

	for (size_t i = 0; i < script->n; i++) {
		const move_t *m = &script->moves[i];
		uint64_t at = (uint64_t)script->rounds * m->percent / 100;

		while (__atomic_load_n(script->progress, __ATOMIC_ACQUIRE) < at &&
		       !__atomic_load_n(&script->is_ending, __ATOMIC_RELAXED))
			pause_ms(1);
		set_port(script, 0, m->home);
		set_port(script, 1, m->standby);
	}
	return NULL;
}

#define SKIP_REASON "needs SHMEMH_FT=exact"

static int is_exact(const pes_t *pes)
{
	return shmemh_fault_policy(pes->job, NULL, 0) == SHMEMH_FAULT_EXACT;
}

/* The two NICs of this PE: mlx5_0 and mlx5_1; the console knows the device only. */
static int name_ports(pes_t *pes, script_t *script)
{
	shmemh_fault_info_t info;
	char *colon;

	info.size = sizeof info;
	PES_TRY(pes, shmemh_fault_get(pes->job, (pes->pe + 1) % pes->n_pes, 0, &info));
	snprintf(script->ports[0], sizeof script->ports[0], "%s", info.port);
	colon = strchr(script->ports[0], ':');
	if (!PES_CHECK(pes, colon)) {
		*colon = '\0';
		snprintf(script->ports[1], sizeof script->ports[1], "%s",
			 strcmp(script->ports[0], "mlx5_0") == 0 ? "mlx5_1" : "mlx5_0");
	}
	return 0;
}

/* ---- a run ---- */

static uint32_t number_of(const char *name, uint32_t otherwise)
{
	const char *text = getenv(name);

	return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

/* A word that kernels store to and a thread of the host reads meanwhile. NULL: no memory. */
static uint64_t *shared_word(void)
{
	void *word = NULL;

#ifdef __CUDACC__
	if (cudaHostAlloc(&word, sizeof(uint64_t), cudaHostAllocDefault) != cudaSuccess)
		return NULL;
#else
	word = malloc(sizeof(uint64_t));
#endif
	if (word)
		memset(word, 0, sizeof(uint64_t));
	return (uint64_t *)word;
}

static void free_shared_word(uint64_t *word)
{
#ifdef __CUDACC__
	cudaFreeHost(word);
#else
	free(word);
#endif
}

static int alloc_mix(pes_t *pes, mix_params_t *p)
{
	size_t n = THREADS * (size_t)number_of("FAILOVER_BLOCKS", 1);

	p->ctx = pes->ctx;
	p->status = pes->status;
	p->n = number_of("FAILOVER_ROUNDS", pes->is_slow ? ROUNDS_SLOW : ROUNDS);
	p->n_workers = (uint32_t)n;
	PES_ALLOC(pes, p->inbox, message_t, n * SLOTS, 0);
	PES_ALLOC(pes, p->arrived, uint64_t, n, 0);
	PES_ALLOC(pes, p->outbox, message_t, n * SLOTS, 0);
	PES_ALLOC(pes, p->fetched, message_t, n, 0);
	PES_ALLOC(pes, p->pages, message_t, (size_t)pes->n_pes * n, 0);
	PES_ALLOC(pes, p->sums, uint64_t, 2, 0);
	PES_ALLOC(pes, p->last, uint64_t, n, 0);
	PES_ALLOC(pes, p->ambiguous, uint64_t, n, 0);
	p->progress = shared_word();
	return PES_CHECK(pes, p->progress != NULL);
}

/* What is left in memory when all PEs have passed the barrier. */
static void check_mix(pes_t *pes, const mix_params_t *p)
{
	const uint64_t *sums = (const uint64_t *)pes_read(pes, p->sums, 2 * sizeof(uint64_t));
	const uint64_t *arrived =
		(const uint64_t *)pes_read(pes, p->arrived, p->n_workers * sizeof(uint64_t));
	uint64_t adds = 0, n_pes = (uint64_t)pes->n_pes, n = p->n_workers;

	if (!sums || !arrived)
		return;

	for (uint32_t i = 0; i < p->n; i++)
		if ((int)(i % (uint32_t)pes->n_pes) == pes->pe)
			adds += n_pes * (n * (n + 1) / 2);
	PES_EQ(pes, sums[0], adds);
	if (pes->pe == 0)
		PES_EQ(pes, sums[1], n_pes * n * p->n);
	for (uint32_t t = 0; t < n; t++)
		PES_EQ(pes, arrived[t], p->n);
}

/* *ambiguous: receives the number of results that were lost. */
static int run_mix(pes_t *pes, script_t *script, uint64_t *ambiguous)
{
	const uint64_t *lost;
	mix_params_t p;
	pthread_t thread;

	if (alloc_mix(pes, &p))
		return 1;
	script->progress = p.progress;
	script->rounds = p.n;
	PES_CHECK(pes, pthread_create(&thread, NULL, script_main, script) == 0);
	PES_TRY(pes,
		run_device(shmemd_launch(mix_kernel, p.n_workers / THREADS, THREADS, 0, NULL, p)));
	PES_TRY(pes, run_device(shmemd_stream_sync(NULL)));
	__atomic_store_n(&script->is_ending, 1, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	free_shared_word(p.progress);
	PES_EQ(pes, script->n_failed, 0);
	if (pes_finish(pes, __FILE__, __LINE__))
		return 1;
	check_mix(pes, &p);
	lost = (const uint64_t *)pes_read(pes, p.ambiguous, p.n_workers * sizeof(uint64_t));
	for (uint32_t t = 0; lost && t < p.n_workers; t++)
		*ambiguous += lost[t];
	return 0;
}

/* Sums over all channels of this PE. */
typedef struct totals {
	uint64_t switches, ambiguous;
} totals_t;

static totals_t totals(pes_t *pes)
{
	totals_t sums = {0, 0};

	for (int i = 0; i < pes->n_pes * shmemh_channels(pes->job); i++) {
		shmemh_fault_info_t info;

		info.size = sizeof info;
		if (shmemh_fault_get(pes->job, i % pes->n_pes, i / pes->n_pes, &info) != SHMEMH_OK)
			continue;
		sums.switches += info.switches;
		sums.ambiguous += info.ambiguous;
	}
	return sums;
}

/* Of the first channel to the right neighbour. */
static uint64_t switches_of_first(pes_t *pes)
{
	shmemh_fault_info_t info;

	info.size = sizeof info;
	if (shmemh_fault_get(pes->job, (pes->pe + 1) % pes->n_pes, 0, &info) != SHMEMH_OK)
		return 0;
	return info.switches;
}

static uint64_t switches(pes_t *pes)
{
	return totals(pes).switches;
}

/* The agent counts a switch after a thread of the kernel has carried it out. */
static void expect_switches(pes_t *pes, uint64_t before)
{
	for (int ms = 0; switches(pes) == before && ms < 10000; ms++)
		pause_ms(1);
	PES_CHECK(pes, switches(pes) > before);
}

/* Then all ports come up again, for the next test. */
static int run_script(pes_t *pes, const move_t *moves, size_t n)
{
	script_t script;
	uint64_t ambiguous = 0;
	totals_t before;
	int failed;

	memset(&script, 0, sizeof script);
	script.moves = moves;
	script.n = n;
	if (!is_exact(pes))
		return pes_skip(pes, SKIP_REASON);
	if (name_ports(pes, &script))
		return 1;
	before = totals(pes);
	failed = run_mix(pes, &script, &ambiguous);
	if (n)
		expect_switches(pes, before.switches);
	/* What calls have returned is what the library counts, once the agent has seen it. */
	for (int ms = 0; totals(pes).ambiguous - before.ambiguous < ambiguous && ms < 10000; ms++)
		pause_ms(1);
	PES_EQ(pes, totals(pes).ambiguous - before.ambiguous, ambiguous);
	set_port(&script, 0, UP);
	set_port(&script, 1, UP);
	return failed;
}

#define RUN(pes, moves) run_script(pes, moves, sizeof(moves) / sizeof((moves)[0]))

/* ---- tests ---- */

static int nothing_fails(pes_t *pes)
{
	int failed = run_script(pes, NULL, 0);

	if (!failed)
		PES_EQ(pes, switches(pes), 0);
	return failed;
}

/* Every PE communicates with PE 1. */
static int port_of_one_pe(pes_t *pes)
{
	static const move_t moves[] = {{25, DOWN, 0}};

	return pes->pe == 1 ? RUN(pes, moves) : run_script(pes, NULL, 0);
}

static int ports_of_all_pes(pes_t *pes)
{
	static const move_t moves[] = {{25, DOWN, 0}};

	return RUN(pes, moves);
}

static const move_t in_turn[] = {
	{20, DOWN, 0}, {40, UP, 0}, {50, 0, DOWN}, {70, 0, UP}, {80, DOWN, 0}};

static int one_after_the_other(pes_t *pes)
{
	return RUN(pes, in_turn);
}

/* The PE has no path until one of its ports is up again. */
static int both_ports_for_a_while(pes_t *pes)
{
	static const move_t moves[] = {{30, DOWN, DOWN}, {30, 0, UP}};

	return pes->pe == 0 ? RUN(pes, moves) : run_script(pes, NULL, 0);
}

static int before_the_kernel(pes_t *pes)
{
	static const move_t moves[] = {{0, DOWN, 0}};

	return RUN(pes, moves);
}

/* Requests whose retries are used up, while all ports are up. */
static int requests_fail(pes_t *pes)
{
	static const move_t moves[] = {
		{20, FAIL, 0}, {40, FAIL, FAIL}, {60, FAIL, FAIL}, {80, FAIL, FAIL}};

	return RUN(pes, moves);
}

/* The other PEs find both ports of the PE by their new addresses, and then by the first ones. */
static int addresses_of_ports(pes_t *pes)
{
	static const move_t moves[] = {{30, CHANGE, CHANGE}, {60, CHANGE, CHANGE}};

	return pes->pe == 0 ? RUN(pes, moves) : run_script(pes, NULL, 0);
}

#define RUNS_MAX 1000

/* Run kernel after kernel until each PE's first channel to its neighbour has switched n times. */
static int run_until(pes_t *pes, uint64_t n, const move_t *moves, size_t n_moves)
{
	uint64_t before = switches_of_first(pes);
	uint8_t mine, all[64];
	int n_done, runs = 0;

	do {
		if (run_script(pes, moves, n_moves))
			return 1;
		pes_release(pes);
		mine = switches_of_first(pes) - before >= n;
		PES_TRY(pes, shmemh_allgather(pes->job, &mine, all, sizeof mine));
		n_done = 0;
		for (int pe = 0; pe < pes->n_pes; pe++)
			n_done += all[pe];
	} while (n_done < pes->n_pes && ++runs < RUNS_MAX);
	PES_EQ(pes, n_done, pes->n_pes);
	if (pes->pe == 0)
		printf("PE 0: %llu switches of a channel, %u blocks\n",
		       (unsigned long long)(switches_of_first(pes) - before),
		       number_of("FAILOVER_BLOCKS", 1));
	return 0;
}

static int many_switches(pes_t *pes)
{
	return run_until(pes, number_of("FAILOVER_SWITCHES", SWITCHES), in_turn,
			 sizeof(in_turn) / sizeof(in_turn[0]));
}

/* The same while links fail and come back at any time. */
static int links_of_others(pes_t *pes)
{
	if (!getenv("FAILOVER_LINKS"))
		return pes_skip(pes, "needs FAILOVER_LINKS=1, and links that fail");
	return run_until(pes, 1, NULL, 0);
}

/* Channels are switched while no kernel runs. */
static int without_a_kernel(pes_t *pes)
{
	uint64_t before = switches(pes);
	script_t script;

	memset(&script, 0, sizeof script);
	if (!is_exact(pes))
		return pes_skip(pes, SKIP_REASON);
	if (name_ports(pes, &script))
		return 1;
	PES_TRY(pes, shmemh_barrier(pes->job));
	set_port(&script, 0, DOWN);
	set_port(&script, 1, UP);
	expect_switches(pes, before);
	PES_TRY(pes, shmemh_barrier(pes->job));
	return run_script(pes, NULL, 0);
}

int main(int argc, char **argv)
{
	static const pes_test_t tests[] = {
		PES_TEST(nothing_fails),          PES_TEST(port_of_one_pe),
		PES_TEST(ports_of_all_pes),       PES_TEST(one_after_the_other),
		PES_TEST(both_ports_for_a_while), PES_TEST(before_the_kernel),
		PES_TEST(requests_fail),          PES_TEST(addresses_of_ports),
		PES_TEST(without_a_kernel),       PES_TEST(many_switches),
		PES_TEST(links_of_others),
	};

	return pes_main(argc, argv, tests, sizeof(tests) / sizeof(tests[0]));
}
