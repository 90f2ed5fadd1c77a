/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The NIC phase of init on the software adapter: whether NICs are used, the result if one PE has
 * none, and the channels for kernels. PEs are threads of this process. */
#include "fault/policy.h"
#include "ib_adapter.h"

#include "core/core.h"
#include "ib/ib.h"
#include "ib/state.h"
#include "mem_job.h"

#define DEPTH 64
#define CREATE_CQ 0x400
#define INIT2RTR 0x503

enum { WORD_AUTO, WORD_GPU, WORD_CPU }; /* values of SHMEMH_IB_DOORBELL */

static void configure(shmemh_t *job)
{
	snprintf(job->opt.ib_library, sizeof job->opt.ib_library, "%s", adapter_path());
	job->opt.channels = 1;
	job->opt.ib_depth = DEPTH;
	job->opt.ib_batch = 8;
	job->opt.ib_inline = 20;
	job->opt.ib_gid_index = -1;
	job->opt.ib_ack_timeout = 16;
	job->opt.ib_retries = 7;
	job->opt.ft = SHMEMHI_FT_OFF;
}

/* Whether the adapters offer queue pairs without records; they read the same variable. */
static int offers_no_record(void)
{
	const char *value = getenv("MLX5SW_NO_DBR");

	return value && value[0] == '1';
}

static world_kind_t nic_world(int n, void (*before_node)(shmemh_t *job))
{
	return (world_kind_t){.n_pes = n, .disable_p2p = ~0u, .before_node = before_node};
}

static void run(const world_kind_t *kind, pe_main_t pe_main)
{
	assert_int_equal(run_world(kind, pe_main), 0);
}

/* --- channels and keys for kernels ---------------------------------------------------------- */

/* Nothing is posted; every word with a path's epoch has epoch 0. */
static int check_words(shmemh_t *job, const shmemd_channel_t *channel, const shmemhi_link_t *link)
{
	int has_proxy = job->opt.ib_doorbell == WORD_CPU;
	unsigned flags = has_proxy ? 4 : offers_no_record() ? 2 : 0;

	PE_CHECK(channel->resv == 0 && channel->done == 0 && channel->rung == 0);
	PE_CHECK(channel->ready == SHMEMD_READY_RUNG && channel->flush == 0);
	PE_CHECK(channel->ticket == 0 && channel->doorbells == 0 && channel->requests == 0);
	PE_CHECK(channel->path == SHMEMD_PATH_WORD(0, link->qpn, 0, flags));
	PE_CHECK(channel->queue == (uintptr_t)link->queue && channel->queue % 4096 == 0);
	PE_CHECK(channel->doorbell ==
		 (has_proxy ? (uintptr_t)link->producer : (uintptr_t)link->doorbell));
	PE_CHECK(channel->doorbell != 0);
	for (uint64_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++)
		PE_CHECK(channel->owners[i] == i << 1);
	return 0;
}

static int check_channel(shmemh_t *job, const shmemd_ctx_t *ctx, int k, int pe)
{
	uint32_t i = (uint32_t)k * ctx->n_world + (uint32_t)pe;

	PE_CHECK((uintptr_t)ctx->channels % 128 == 0);
	return check_words(job, &ctx->channels[i], &job->ib->links[i]);
}

static int check_all_channels(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	for (int k = 0; k < 2; k++)
		for (int pe = 0; pe < job->n_pes; pe++)
			if (check_channel(job, ctx, k, pe))
				return 1;
	return 0;
}

static int check_sizes(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	PE_CHECK(ctx->n_channels == 2 && ctx->n_world == (uint32_t)job->n_pes);
	PE_CHECK(SHMEMD_LOG_DEPTH(ctx->geometry) == 6 && SHMEMD_LOG_BATCH(ctx->geometry) == 3 &&
		 SHMEMD_INLINE_NBYTES(ctx->geometry) == 20);
	PE_CHECK((uint64_t)1 << SHMEMD_LOG_GRANULE(ctx->geometry) == job->mem->heap.chunk);
	PE_CHECK((uint64_t)ctx->n_granules << SHMEMD_LOG_GRANULE(ctx->geometry) ==
		 ctx->heap_nbytes);
	PE_CHECK(ctx->flags == (SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD_NUMBERS | SHMEMD_CTX_CHECKABLE |
				SHMEMD_CTX_GENERATION(0)) &&
		 ctx->used[0] == 0 && ctx->used[1] == 0);
	PE_CHECK((uintptr_t)ctx->bounces % SHMEMD_BOUNCE_NBYTES == 0);
	return 0;
}

/* Of the granule with the teams' sync memory, and of the bounce buffers. */
static int check_keys(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	uint32_t n = ctx->n_granules, rkeys[MAX_PES];
	uint32_t own_rkey = ctx->keys[SHMEMD_RKEY_INDEX(n, job->pe, 0)].key[0];

	PE_CHECK(ctx->keys[SHMEMD_LKEY_INDEX(n, job->n_pes, 0)].key[0] != 0);
	PE_CHECK(ctx->keys[SHMEMD_LKEY_INDEX(n, job->n_pes, n)].key[0] == job->ib->bounce_keys[0]);
	PE_CHECK(job->ib->bounce_keys[0] != 0);
	PE_CHECK(shmemhi_allgather(job, &own_rkey, rkeys, sizeof own_rkey) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		PE_CHECK(shmemhi_ib_reaches(job, pe));
		PE_CHECK(ctx->keys[SHMEMD_RKEY_INDEX(n, pe, 0)].key[0] == rkeys[pe]);
		PE_CHECK(pe == job->pe || rkeys[pe] != own_rkey);
	}
	return 0;
}

static int pe_channels(shmemh_t *job)
{
	shmemd_ctx_t ctx;

	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib);
	PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
	PE_CHECK(shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx) == SHMEMH_OK);
	if (check_sizes(job, &ctx) || check_all_channels(job, &ctx) || check_keys(job, &ctx))
		return 1;
	shmemhi_teams_close(job);
	shmemhi_ib_close(job);
	PE_CHECK(job->ib == NULL);
	return 0;
}

static void two_channels(shmemh_t *job)
{
	configure(job);
	job->opt.channels = 2;
}

static void two_by_proxy(shmemh_t *job)
{
	two_channels(job);
	job->opt.ib_doorbell = WORD_CPU;
}

static void channels(void **state)
{
	(void)state;
	for (int n = 1; n <= 4; n++) {
		world_kind_t kind = nic_world(n, two_channels);

		run(&kind, pe_channels);
		kind.before_node = two_by_proxy;
		run(&kind, pe_channels);
	}
}

/* --- whether NICs are used ------------------------------------------------------------------ */

static int pe_used(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib);
	shmemhi_ib_close(job);
	return 0;
}

/* No PE has a NIC, and no error text remains. */
static int pe_unused(shmemh_t *job)
{
	shmemd_ctx_t ctx = {0};

	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib == NULL);
	PE_CHECK(job->err.text[0] == '\0');
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(!shmemhi_ib_reaches(job, pe));
	shmemhi_ib_fill_ctx(job, &ctx);
	PE_CHECK(!ctx.channels && !ctx.keys && !ctx.bounces && !ctx.used);
	PE_CHECK(!ctx.n_channels && !ctx.n_granules && !ctx.geometry);
	PE_CHECK(ctx.n_world == (uint32_t)job->n_pes);
	PE_CHECK(shmemhi_ib_ctx_flags(job) == 0);
	return 0;
}

/* Only PE 2 has an unmapped peer. */
static int pe_one_needs(shmemh_t *job)
{
	int *mapped = &job->mem->peers[0].mapped;
	int failed;

	*mapped = job->pe != 2;
	failed = pe_used(job);
	*mapped = 1;
	return failed;
}

static void all_off(shmemh_t *job)
{
	configure(job);
	job->log.level = SHMEMHI_WARN;
	job->opt.ib = 1;
}

/* Capture stderr. */
static void listen(int *kept, char *text, size_t nbytes, int end)
{
	static FILE *file;

	fflush(stderr);
	if (!end) {
		file = tmpfile();
		*kept = dup(2);
		dup2(fileno(file), 2);
		return;
	}
	dup2(*kept, 2);
	close(*kept);
	rewind(file);
	text[fread(text, 1, nbytes - 1, file)] = '\0';
	fclose(file);
}

static void nics_are_opened_if_needed(void **state)
{
	world_kind_t kind = {.n_pes = 3, .before_node = configure};
	char text[4096];
	int kept, failed;

	(void)state;
	run(&kind, pe_unused); /* all mapped */
	run(&kind, pe_one_needs);
	kind.node_ids[0] = kind.node_ids[1] = "a";
	kind.node_ids[2] = "b";
	run(&kind, pe_used);
	kind.before_node = all_off; /* as requested: no message */
	listen(&kept, text, sizeof text, 0);
	failed = run_world(&kind, pe_unused);
	listen(&kept, text, sizeof text, 1);
	assert_int_equal(failed, 0);
	assert_string_equal(text, "");
}

/* Check that there is one line, with the PE and the reason. */
static void expect_one_line(void (*before_node)(shmemh_t *job), const char *pe, const char *why)
{
	world_kind_t kind = nic_world(3, before_node);
	char text[4096];
	int kept, failed;

	listen(&kept, text, sizeof text, 0);
	failed = run_world(&kind, pe_unused);
	listen(&kept, text, sizeof text, 1);
	if (failed || !strstr(text, pe) || !strstr(text, why) || !strstr(text, " WARN ") ||
	    strchr(text, '\n') != strrchr(text, '\n'))
		fail_msg("%d PEs failed; expected one line with '%s' and '%s', got: %s", failed, pe,
			 why, text);
}

static void one_without(shmemh_t *job)
{
	configure(job);
	job->log.level = SHMEMHI_WARN;
	if (job->pe == 1)
		strcpy(job->opt.ib_library, "/nowhere/lib.so");
}

static void first_without(shmemh_t *job)
{
	configure(job);
	job->log.level = SHMEMHI_WARN;
	if (job->pe == 0)
		strcpy(job->opt.ib_library, "/nowhere/lib.so");
}

static void one_off(shmemh_t *job)
{
	configure(job);
	job->log.level = SHMEMHI_WARN;
	job->opt.ib = job->pe == 2;
}

static void log_errors(shmemh_t *job)
{
	configure(job);
	job->log.level = SHMEMHI_WARN;
}

static void fail_command(int opcode)
{
	char line[80];

	snprintf(line, sizeof line, "fail command opcode=0x%x status=5 syndrome=1 n=1", opcode);
	adapter_control(line);
}

static void one_has_none(void **state)
{
	(void)state;
	expect_one_line(one_without, "PE 1", "/nowhere/lib.so");
	expect_one_line(first_without, "PE 0", "/nowhere/lib.so");
	expect_one_line(one_off, "PE 2", "SHMEMH_IB is off");
	fail_command(CREATE_CQ);
	expect_one_line(log_errors, "PE", "CREATE_CQ");
}

/* --- failures that end the start of a job ---------------------------------------------------- */

static int wanted_status;
static const char *wanted_text;

static int pe_stops(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == wanted_status && job->ib == NULL);
	PE_CHECK(has_text(job, wanted_text));
	return 0;
}

static void more_channels(shmemh_t *job)
{
	configure(job);
	job->opt.channels += job->pe == 1;
}

static void bad_depth(shmemh_t *job)
{
	configure(job);
	job->opt.ib_depth = job->pe == 1 ? 100 : DEPTH;
}

/* More than the adapter can: not a port that cannot be used, which would leave the job without. */
static void great_depth(shmemh_t *job)
{
	configure(job);
	job->opt.ib_depth = 1 << 20;
}

static void stops(void (*before_node)(shmemh_t *job), int status, const char *text)
{
	world_kind_t kind = nic_world(2, before_node);

	wanted_status = status;
	wanted_text = text;
	run(&kind, pe_stops);
}

static void failures_end_the_start(void **state)
{
	(void)state;
	stops(more_channels, SHMEMH_ERR_MISMATCH, "SHMEMH_CHANNELS is 1 on PE 0 and 2 on PE 1");
	stops(bad_depth, SHMEMH_ERR_OPTION, "SHMEMH_IB_DEPTH");
	stops(great_depth, SHMEMH_ERR_OPTION, "SHMEMH_IB_DEPTH=1048576");
	fail_command(INIT2RTR);
	stops(configure, SHMEMH_ERR_NIC, "INIT2RTR");
	/* The next job works again. */
	world_kind_t kind = nic_world(2, configure);
	run(&kind, pe_used);
}

/* --- what fail-over needs cannot be made ------------------------------------------------------ */

static void ft_auto(shmemh_t *job)
{
	configure(job);
	job->opt.ft = SHMEMHI_FT_AUTO;
	job->log.level = SHMEMHI_WARN;
}

static void ft_exact(shmemh_t *job)
{
	configure(job);
	job->opt.ft = SHMEMHI_FT_EXACT;
}

/* One PE asks for fail-over, on the others it is as the NICs permit. */
static void ft_exact_on_one(shmemh_t *job)
{
	configure(job);
	job->opt.ft = job->pe == 1 ? SHMEMHI_FT_EXACT : SHMEMHI_FT_AUTO;
}

/* The NICs are in use, and the policy says why fail-over is off. */
static int pe_without_failover(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib && !job->ib->failover);
	for (int pe = 0; pe < job->n_pes; pe++)
		PE_CHECK(shmemhi_ib_reaches(job, pe));
	PE_CHECK(job->ib->bounce_keys[0] != 0 && job->ib->bounce_keys[1] == 0);
	PE_CHECK((shmemhi_ib_ctx_flags(job) & SHMEMD_CTX_FT) == 0);
	PE_CHECK(job->err.text[0] == '\0');
	PE_CHECK(job->ft_policy == SHMEMH_FAULT_OFF);
	PE_CHECK(strncmp(job->ft_why, "off: ", 5) == 0 && strstr(job->ft_why, "INIT2RTR"));
	shmemhi_ib_close(job);
	return 0;
}

/* The first INIT2RTR is that of a queue pair for flushes (ib/flush.c), on one PE. */
static void failover_cannot_be_made(void **state)
{
	world_kind_t kind = nic_world(3, ft_auto);
	char text[4096];
	int kept, failed;

	(void)state;
	fail_command(INIT2RTR);
	listen(&kept, text, sizeof text, 0);
	failed = run_world(&kind, pe_without_failover);
	listen(&kept, text, sizeof text, 1);
	if (failed || !strstr(text, "PE 0") || !strstr(text, " WARN fail-over is off: ") ||
	    strchr(text, '\n') != strrchr(text, '\n'))
		fail_msg("%d PEs failed; expected one line, got: %s", failed, text);
	fail_command(INIT2RTR);
	stops(ft_exact, SHMEMH_ERR_NIC, "INIT2RTR");
	fail_command(INIT2RTR);
	stops(ft_exact_on_one, SHMEMH_ERR_NIC, "INIT2RTR");
}

/* Fail-over was decided on before the NICs turn out to be unusable. */
static int pe_policy_is_off(shmemh_t *job)
{
	PE_CHECK(shmemhi_ib_open(job) == SHMEMH_OK && job->ib == NULL);
	PE_CHECK(job->ft_policy == SHMEMH_FAULT_OFF && job->ft_why[0] == '\0');
	return 0;
}

static void policy_without_nics(void **state)
{
	const world_kind_t kind = nic_world(2, ft_exact);

	(void)state;
	fail_command(CREATE_CQ); /* of a link */
	run(&kind, pe_policy_is_off);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failover_cannot_be_made),
		cmocka_unit_test(policy_without_nics),
		cmocka_unit_test(channels),
		cmocka_unit_test(nics_are_opened_if_needed),
		cmocka_unit_test(one_has_none),
		cmocka_unit_test(failures_end_the_start),
	};

	setenv("MLX5SW_LINT", "strict", 1);
	adapter_path();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
