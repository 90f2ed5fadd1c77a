/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Transports to the members of a team: mapped memory, RDMA, both, none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "core/core.h"
#include "fake_cuda.h"
#include "fake_nic.h"
#include "mem_job.h"

#define MAPPED (SHMEMD_CTX_ALL_MAPPED | SHMEMD_CTX_SM_ATOMICS)
#define BY_NIC SHMEMD_CTX_NIC
#define BOTH (SHMEMD_CTX_NIC | SHMEMD_CTX_MIXED_TRANSPORT)

/* The flags of a team, without the one that marks the world. */
static uint32_t transport_flags_of(shmemh_t *job, shmemh_team_t team)
{
	uint32_t flags = job->teams[team].ctx_flags;
	int is_world = job->teams[team].n_pes == job->n_pes;

	return flags ^ (is_world ? SHMEMD_CTX_WORLD_NUMBERS : 0);
}

/* --- SHMEMH_DISABLE_P2P --------------------------------------------------------------------- */

/* Operations of kernels have no PE mapped, not even this one; the host has its own memory. */
static int check_alone(shmemh_t *job)
{
	shmemhi_team_t *world = &job->teams[SHMEMH_TEAM_WORLD];
	void *p = NULL;

	PE_CHECK(shmemh_malloc(job, 100, &p) == SHMEMH_OK);
	for (int pe = 0; pe < job->n_pes; pe++) {
		int own = pe == job->pe;

		PE_CHECK(shmemhi_mem_is_mapped(job, pe) == own);
		PE_CHECK((shmemhi_mem_base(job, pe) != NULL) == own);
		PE_CHECK(shmemh_ptr(job, p, pe) == (own ? p : NULL));
		PE_CHECK(world->peers[pe].base == NULL && world->peers[pe].world_pe == pe);
	}
	PE_CHECK(shmemh_team_n_pes(job, SHMEMH_TEAM_NODE) == 1);
	PE_CHECK(shmemh_team_my_pe(job, SHMEMH_TEAM_NODE) == 0);
	PE_CHECK(job->teams[SHMEMH_TEAM_NODE].peers[0].base == NULL);
	PE_CHECK(job->teams[SHMEMH_TEAM_NODE].peers[0].world_pe == job->pe);
	return 0;
}

/* The context in device memory equals the one that kernels get, including its own address. */
static int check_ctx(shmemh_t *job, const shmemd_ctx_t *ctx)
{
	shmemd_ctx_t copy;
	void *p = NULL;

	PE_CHECK(ctx->size == sizeof *ctx && ctx->device_copy != NULL);
	PE_CHECK(shmemhi_dev_read(job, &copy, ctx->device_copy, sizeof copy, &job->err) ==
		 SHMEMH_OK);
	PE_CHECK(memcmp(&copy, ctx, sizeof copy) == 0);
	PE_CHECK(*ctx->heap_committed == shmemhi_committed(job->mem));
	PE_CHECK(shmemh_malloc(job, *ctx->heap_committed, &p) == SHMEMH_OK);
	PE_CHECK(*ctx->heap_committed == shmemhi_committed(job->mem));
	PE_CHECK(ctx->heap + *ctx->heap_committed > (char *)p);
	return 0;
}

static int pe_no_p2p(shmemh_t *job)
{
	for (int with_nic = 0; with_nic <= 1; with_nic++) {
		shmemd_ctx_t ctx;

		if (with_nic)
			PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
		PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
		if (check_alone(job))
			return 1;
		for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS; t++)
			PE_CHECK(transport_flags_of(job, t) == (with_nic ? BY_NIC : 0));
		PE_CHECK(shmemh_ctx_get(job, SHMEMH_TEAM_WORLD, &ctx) == SHMEMH_OK);
		PE_CHECK(ctx.heap == shmemhi_mem_base(job, job->pe));
		PE_CHECK(ctx.n_world == (uint32_t)job->n_pes);
		PE_CHECK(ctx.n_channels == (with_nic ? 1 : 0));
		PE_CHECK(ctx.channels == NULL && ctx.used == NULL);
		if (check_ctx(job, &ctx))
			return 1;
		shmemhi_teams_close(job);
		if (with_nic)
			unplug(job);
	}
	return 0;
}

static void test_no_p2p(void **state)
{
	(void)state;
	everywhere(pe_no_p2p, (world_kind_t){.disable_p2p = ~0u});
}

static int pe_never(shmemh_t *job)
{
	(void)job;
	return 1;
}

static void test_options_differ(void **state)
{
	world_kind_t kind = {.n_pes = 3, .disable_p2p = 4, .node_status = SHMEMH_ERR_MISMATCH};

	(void)state;
	assert_int_equal(run_world(&kind, pe_never), 0);
	kind.forked = 1;
	assert_int_equal(run_world(&kind, pe_never), 0);
}

/* --- jobs of two nodes ---------------------------------------------------------------------- */

static int pe_mixed(shmemh_t *job)
{
	for (int with_nic = 0; with_nic <= 1; with_nic++) {
		if (with_nic)
			PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
		PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
		PE_CHECK(transport_flags_of(job, SHMEMH_TEAM_WORLD) == (with_nic ? BOTH : 0));
		PE_CHECK(transport_flags_of(job, SHMEMH_TEAM_NODE) ==
			 (with_nic ? MAPPED | BY_NIC : MAPPED));
		for (int pe = 0; pe < job->n_pes; pe++)
			PE_CHECK((job->teams[SHMEMH_TEAM_WORLD].peers[pe].base != NULL) ==
				 (pe / 2 == job->pe / 2));
		shmemhi_teams_close(job);
		if (with_nic)
			unplug(job);
	}
	return 0;
}

static void test_mixed(void **state)
{
	world_kind_t kind = {.n_pes = 4, .node_ids = {"a", "a", "b", "b"}};

	(void)state;
	assert_int_equal(run_world(&kind, pe_mixed), 0);
	kind.forked = 1;
	assert_int_equal(run_world(&kind, pe_mixed), 0);
}

/* Units that leave the NIC path out get contexts of teams that do not need it. */
static int get_without_nic(shmemh_t *job, shmemh_team_t team)
{
	shmemd_ctx_t ctx = {0};
	int status = shmemh_ctx_get_abi(job, team, &ctx, SHMEMD_ABI_VERSION | SHMEMD_ABI_NO_NIC,
					sizeof ctx);

	if (status == SHMEMH_OK)
		PE_CHECK(ctx.device_copy == job->teams[team].device_copy);
	else
		PE_CHECK(ctx.device_copy == NULL);
	return status;
}

static int pe_without_nic(shmemh_t *job)
{
	int other = job->pe < 2 ? 2 : 0;
	shmemd_ctx_t ctx;
	uint32_t next = (uint32_t)(SHMEMD_ABI_MAJOR + 1);
	char text[80], abi[20];

	snprintf(text, sizeof text, "only a NIC reaches PE %d from PE %d, ", other, job->pe);
	snprintf(abi, sizeof abi, "ABI %u.0", next);
	for (int with_nic = 0; with_nic <= 1; with_nic++) {
		if (with_nic)
			PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
		PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
		PE_CHECK(get_without_nic(job, SHMEMH_TEAM_NODE) == SHMEMH_OK);
		PE_CHECK(get_without_nic(job, SHMEMH_TEAM_WORLD) ==
			 (with_nic ? SHMEMH_ERR_VERSION : SHMEMH_OK));
		PE_CHECK(!with_nic || (has_text(job, text) && has_text(job, "SHMEMD_NO_NIC")));
		/* As with links that carry no atomics. */
		job->teams[SHMEMH_TEAM_NODE].ctx_flags |= SHMEMD_CTX_MIXED_TRANSPORT;
		PE_CHECK(get_without_nic(job, SHMEMH_TEAM_NODE) == SHMEMH_ERR_VERSION);
		PE_CHECK(has_text(job, "atomics of this team go by NIC") &&
			 has_text(job, "SHMEMD_NO_NIC"));
		PE_CHECK(shmemh_ctx_get_abi(job, SHMEMH_TEAM_NODE, &ctx,
					    next << 16 | SHMEMD_ABI_NO_NIC,
					    0) == SHMEMH_ERR_VERSION);
		PE_CHECK(has_text(job, abi));
		shmemhi_teams_close(job);
		if (with_nic)
			unplug(job);
	}
	return 0;
}

static void test_without_nic(void **state)
{
	world_kind_t kind = {.n_pes = 4, .node_ids = {"a", "a", "b", "b"}};

	(void)state;
	assert_int_equal(run_world(&kind, pe_without_nic), 0);
}

/* A team's words are updated by one transport: a node of one PE uses that of the world there, and
 * its own in its own team. */
static int pe_uneven(shmemh_t *job)
{
	PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
	PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
	PE_CHECK(transport_flags_of(job, SHMEMH_TEAM_WORLD) == BOTH);
	PE_CHECK(transport_flags_of(job, SHMEMH_TEAM_NODE) == (MAPPED | BY_NIC));
	shmemhi_teams_close(job);
	unplug(job);
	return 0;
}

static void test_uneven(void **state)
{
	world_kind_t kind = {.n_pes = 3, .node_ids = {"a", "a", "b"}};

	(void)state;
	assert_int_equal(run_world(&kind, pe_uneven), 0);
}

static int pe_one_node(shmemh_t *job)
{
	PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
	for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS; t++)
		PE_CHECK(transport_flags_of(job, t) == MAPPED);
	shmemhi_teams_close(job);
	return 0;
}

static void test_one_node(void **state)
{
	(void)state;
	everywhere(pe_one_node, (world_kind_t){0});
}

/* --- GPUs ----------------------------------------------------------------------------------- */

static const shmemhi_cuda_t *own_gpu(int pe)
{
	my_device = pe;
	return &driver;
}

/* Mapped, but atomics are not native. fake_nic.h has its completion queues in host memory: with a
 * heap on the GPU, READs end with a DUMP, however the GPU orders writes of a NIC. */
static int pe_gpu(shmemh_t *job)
{
	int is_gpu = job->mem->backend->kind == SHMEMH_HEAP_GPU;
	shmemd_ctx_t ctx;
	uint32_t flush = is_gpu ? SHMEMD_CTX_DUMP_AFTER_READ : 0;

	PE_CHECK(plug_in(job, UINT64_MAX) == SHMEMH_OK);
	PE_CHECK(shmemhi_teams_open(job) == SHMEMH_OK);
	for (int t = 0; t < SHMEMHI_N_BUILTIN_TEAMS; t++)
		PE_CHECK(transport_flags_of(job, t) == (SHMEMD_CTX_ALL_MAPPED | BOTH | flush));
	PE_CHECK(shmemh_ctx_get(job, SHMEMH_TEAM_NODE, &ctx) == SHMEMH_OK);
	if (check_ctx(job, &ctx))
		return 1;
	shmemhi_teams_close(job);
	unplug(job);
	return 0;
}

static void test_gpu(void **state)
{
	world_kind_t kind = {.n_pes = 2, .cuda = own_gpu, .default_max = 1};

	(void)state;
	p2p_atomic = 0;
	for (rdma_ordering = 0; rdma_ordering <= 200; rdma_ordering += 100)
		assert_int_equal(run_world(&kind, pe_gpu), 0);
	rdma_ordering = 0;
	kind.heap_kind = SHMEMH_HEAP_HOST;
	assert_int_equal(run_world(&kind, pe_gpu), 0);
	p2p_atomic = 1;
	assert_int_equal(wrong, 0);
	assert_int_equal(n_blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_p2p),      cmocka_unit_test(test_options_differ),
		cmocka_unit_test(test_mixed),       cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_one_node),    cmocka_unit_test(test_gpu),
		cmocka_unit_test(test_without_nic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
