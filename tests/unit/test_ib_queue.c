/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues of links: mailboxes, options, memory, doorbell registers, and the state after failures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include "../adapter/mailbox.h"
#include "ib/prm.h"
#include "ib/queue.h"
#include "ib/start.h"
#include "links_memory.h"
#include "mem/mem.h"

#define QPC 0xc0u
#define LINK_LIMIT (179u << 10) /* a quarter of the memory that NVSHMEM uses for a queue pair */

/* Mailboxes */

/* Bytes derived from the tables of the PRM by hand. */
static void fields_are_where_the_prm_has_them(void **state)
{
	uint32_t mailbox[SHMEMHI_PRM_LONG] = {0};
	const uint8_t *bytes = (const uint8_t *)mailbox;

	(void)state;
	shmemhi_prm_put(mailbox, SHMEMHI_PRM_OPCODE, SHMEMHI_CREATE_QP);
	assert_int_equal(bytes[0] << 8 | bytes[1], 0x0500);
	shmemhi_prm_put(mailbox, SHMEMHI_CQC_OI, 1);
	assert_int_equal(bytes[0x11], 0x02);
	shmemhi_prm_put(mailbox, SHMEMHI_CQC_LOG_CQ_SIZE, 10);
	assert_int_equal(bytes[0x1c], 0x0a);
	shmemhi_prm_put(mailbox, SHMEMHI_QPC_PD, 0x123456);
	assert_memory_equal(bytes + 0x1d, "\x12\x34\x56", 3);
	shmemhi_prm_put(mailbox, SHMEMHI_QPC_RWE, 1);
	assert_int_equal(bytes[0xaa], 0x40);
	shmemhi_prm_put(mailbox, SHMEMHI_ADS_UDP_SPORT, 0xc123);
	assert_memory_equal(bytes + 0x52, "\xc1\x23", 2);
	shmemhi_prm_put(mailbox, SHMEMHI_WQ_UMEM_OFFSET, 0x0102030405060708);
	assert_memory_equal(bytes + 0x100, "\1\2\3\4\5\6\7\10", 8);
}

static const struct {
	unsigned bit, width, prm;
} fields[] = {
	{SHMEMHI_PRM_NUMBER, 0x48},
	{SHMEMHI_CQC_DBR_UMEM_VALID, 0x80 + 0x06},
	{SHMEMHI_CQC_OI, 0x80 + 0x0e},
	{SHMEMHI_CQC_DBR_UMEM_ID, 0x80 + 0x20},
	{SHMEMHI_CQC_LOG_CQ_SIZE, 0x80 + 0x63},
	{SHMEMHI_CQC_UAR_PAGE, 0x80 + 0x68},
	{SHMEMHI_CQC_C_EQN, 0x80 + 0xb8},
	{SHMEMHI_CQC_DBR_ADDR, 0x80 + 0x1c0},
	{SHMEMHI_QPC_RETRY_COUNT, QPC + 0x38d},
	{SHMEMHI_QPC_NEXT_RCV_PSN, QPC + 0x4a8},
	{SHMEMHI_QPC_RQ_TYPE, QPC + 0x565},
	{SHMEMHI_ADS_DSCP, QPC + 0xc0 + 0x10a},
	{SHMEMHI_ADS_ETH_PRIO, QPC + 0xc0 + 0x121},
};

/* A field is set, whatever its old value, and no bit next to it changes. */
static void fields_touch_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
		for (int fill = 0; fill <= 0xff; fill += 0xff) {
			uint64_t value = 0xa5a5a5a5a5a5a5a5 >> (64 - fields[i].width);
			uint32_t mailbox[SHMEMHI_PRM_LONG];
			uint8_t expected[sizeof mailbox];

			memset(mailbox, fill, sizeof mailbox);
			memset(expected, fill, sizeof expected);
			put_bits(expected, fields[i].prm, fields[i].width, value);
			shmemhi_prm_put(mailbox, fields[i].bit, fields[i].width, value);
			assert_memory_equal(mailbox, expected, sizeof expected);
			assert_int_equal(shmemhi_prm_get(mailbox, fields[i].bit, fields[i].width),
					 value);
		}
}

/* Options */

static shmemh_t *options_job(void)
{
	static shmemh_t job;

	memset(&job, 0, sizeof job);
	set_options(&job);
	return &job;
}

static void refused(shmemh_t *job, const char *text)
{
	assert_int_equal(shmemhi_ib_check_options(job), SHMEMH_ERR_OPTION);
	if (!has_text(job, text))
		fail_msg("'%s' is not in '%s'", text, job->err.text);
}

#define REFUSED(field, value, text)                                                                \
	do {                                                                                       \
		shmemh_t *job_ = options_job();                                                    \
                                                                                                   \
		job_->opt.field = (value);                                                         \
		refused(job_, text);                                                               \
	} while (0)

static void unusable_options_are_refused(void **state)
{
	(void)state;
	REFUSED(channels, 0, "SHMEMH_CHANNELS=0: must be a number, 1 to 64");
	REFUSED(channels, 65, "SHMEMH_CHANNELS=65");
	REFUSED(ib_depth, 32, "SHMEMH_IB_DEPTH=32: must be a power of two, 64 to 32768");
	REFUSED(ib_depth, 65536, "SHMEMH_IB_DEPTH=65536");
	REFUSED(ib_depth, 100, "SHMEMH_IB_DEPTH=100");
	REFUSED(ib_batch, 0, "SHMEMH_IB_BATCH=0");
	REFUSED(ib_batch, 3, "SHMEMH_IB_BATCH=3");
	REFUSED(ib_batch, 64, "SHMEMH_IB_BATCH=64: must be at most half of SHMEMH_IB_DEPTH=64");
	REFUSED(ib_inline, -1, "SHMEMH_IB_INLINE=-1");
	REFUSED(ib_inline, 29, "SHMEMH_IB_INLINE=29: must be a number, 0 to 28");
	REFUSED(ib_ack_timeout, 32, "SHMEMH_IB_ACK_TIMEOUT=32");
	REFUSED(ib_retries, 8, "SHMEMH_IB_RETRIES=8");
	REFUSED(ib_sl, 16, "SHMEMH_IB_SL=16");
	REFUSED(ib_traffic_class, 256, "SHMEMH_IB_TRAFFIC_CLASS=256");
}

static void options_at_their_limits(void **state)
{
	shmemh_t *job = options_job();
	shmemhi_open_port_t port = {.name = "mlx5_9"};

	(void)state;
	job->opt.channels = 64;
	job->opt.ib_depth = 32768;
	job->opt.ib_batch = 16384;
	job->opt.ib_ack_timeout = 31;
	job->opt.ib_sl = 15;
	job->opt.ib_traffic_class = 255;
	assert_int_equal(shmemhi_ib_check_options(job), SHMEMH_OK);
	assert_int_equal(shmemhi_ib_check_nic_options(job, &port), SHMEMH_OK);
	port.is_ethernet = 1;
	assert_int_equal(shmemhi_ib_check_nic_options(job, &port), SHMEMH_ERR_OPTION);
	assert_true(
		has_text(job, "SHMEMH_IB_SL=15: on Ethernet (mlx5_9) it is a priority, 0 to 7"));
	job->opt.ib_sl = 7;
	assert_int_equal(shmemhi_ib_check_nic_options(job, &port), SHMEMH_OK);
}

/* Memory */

typedef struct extent {
	uintptr_t at;
	size_t nbytes;
} extent_t;

/* The memory of a link. */
enum { N_EXTENTS = 3 };

static void extents_of(const shmemhi_ib_t *ib, const shmemhi_link_t *link, extent_t *e)
{
	e[0] = (extent_t){(uintptr_t)link->queue, SHMEMD_QUEUE_NBYTES(ib->depth)};
	e[1] = (extent_t){(uintptr_t)bounces_of(ib, link), SHMEMD_BOUNCES_NBYTES};
	e[2] = (extent_t){(uintptr_t)link->producer, link->producer ? 64 : 0};
}

static int by_address(const void *a, const void *b)
{
	const extent_t *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static int is_within(extent_t e, const void *at, size_t nbytes)
{
	return e.at >= (uintptr_t)at && e.at + e.nbytes <= (uintptr_t)at + nbytes;
}

/* No memory of any link overlaps other memory, and all of it is registered. */
static int is_apart(shmemh_t *job)
{
	const shmemhi_ib_t *ib = job->ib;
	const struct shmemhi_queue_mem *mem = ib->queue_mem;
	extent_t *e = calloc(mem->n_links * N_EXTENTS, sizeof *e);
	size_t n = mem->n_links * N_EXTENTS;

	for (uint32_t i = 0; i < mem->n_links; i++) {
		const shmemhi_queue_block_t *b = &mem->blocks[i / mem->links_per_block];

		extents_of(ib, &ib->links[i], &e[i * N_EXTENTS]);
		PE_CHECK(is_within(e[i * N_EXTENTS], b->base, b->nbytes));
		PE_CHECK(is_within(e[i * N_EXTENTS + 1], mem->bounce_mr->addr,
				   mem->bounce_mr->length));
	}
	PE_CHECK(ib->bounce_keys[0] == htobe32(mem->bounce_mr->lkey));
	qsort(e, n, sizeof *e, by_address);
	for (size_t i = 1; i < n; i++)
		PE_CHECK(e[i - 1].at + e[i - 1].nbytes <= e[i].at);
	free(e);
	return 0;
}

static int depth_asked, doorbell_asked;

static int pe_memory(shmemh_t *job)
{
	int has_proxy = doorbell_asked == WORD_CPU;

	if (plug_in(job))
		return 1;
	job->opt.ib_depth = depth_asked;
	job->opt.ib_doorbell = doorbell_asked;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(job->ib->n_channels == N_CHANNELS && (int)job->ib->depth == depth_asked);
	for (int i = 0; i < N_CHANNELS * job->n_pes; i++) {
		const shmemhi_link_t *link = &job->ib->links[i];

		if (is_fresh(job, link) || is_aligned(job, link))
			return 1;
		PE_CHECK(link->doorbell == (has_proxy ? NULL : link->host_doorbell));
		PE_CHECK(!!link->producer == has_proxy);
		PE_CHECK(!link->was_connected);
	}
	if (depth_asked == 1024)
		PE_CHECK(shmemhi_links_nbytes(job->ib) <= LINK_LIMIT);
	if (depth_asked == 32768) /* several blocks of memory */
		PE_CHECK(job->ib->queue_mem->n_blocks > 1);
	return is_apart(job) || unplug(job);
}

static void links_have_memory_of_their_own(void **state)
{
	static const int depths[] = {64, 1024, 32768};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		depth_asked = depths[i];
		doorbell_asked = WORD_CPU;
		with_adapters(MLX5SW_ETHERNET, 3, pe_memory);
		doorbell_asked = WORD_AUTO;
		with_adapters(MLX5SW_ETHERNET, 3, pe_memory);
	}
}

/* No consumer index is reported to the NIC. */
static int pe_overruns(shmemh_t *job)
{
	uint8_t in[16] = {0}, out[0x110];

	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	for (int i = 0; i < N_CHANNELS * job->n_pes; i++) {
		const shmemhi_link_t *link = &job->ib->links[i];

		put_bits(in, 0, 16, 0x402); /* QUERY_CQ */
		put_bits(in, 0x48, 24, link->cqn);
		PE_CHECK(job->ib->lib.obj_query(link->cq, in, sizeof in, out, sizeof out) == 0);
		PE_CHECK(get_bits(out, 0x80 + 0x0e, 1) == 1);
	}
	return unplug(job);
}

static void completion_queues_ignore_overruns(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_overruns);
}

static int pe_opens(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	return unplug(job);
}

/* NICs refuse a QP that requests time stamps that they do not have. */
static void queue_pairs_ask_for_time_stamps_that_exist(void **state)
{
	const world_kind_t kind = {.n_pes = 1};
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		cfg.link_layer = i < 3 ? MLX5SW_ETHERNET : MLX5SW_INFINIBAND;
		cfg.timestamps = (uint8_t)(i % 3);
		assert_int_equal(mlx5sw_start(&cfg, NULL), 0);
		assert_int_equal(run_world(&kind, pe_opens), 0);
		mlx5sw_stop();
	}
}

/* Doorbell records */

/* All links from number first on have a record, those before have none. */
static int have_records_from(shmemh_t *job, int first)
{
	for (int i = 0; i < N_CHANNELS * job->n_pes; i++) {
		const shmemhi_link_t *link = &job->ib->links[i];
		int has_none = i < first;
		char *reg = (char *)link->uar->base_addr + (has_none ? 0x600 : 0x800);
		uint8_t in[16] = {0}, out[0x110];

		put_bits(in, 0, 16, 0x50b); /* QUERY_QP */
		put_bits(in, 0x48, 24, link->qpn);
		PE_CHECK(job->ib->lib.obj_query(link->qp, in, sizeof in, out, sizeof out) == 0);
		PE_CHECK(get_bits(out, QPC + 0x80, 2) == (unsigned)has_none);
		PE_CHECK(link->has_no_record == has_none);
		PE_CHECK(link->host_doorbell == reg);
		PE_CHECK(link->doorbell == (link->producer ? NULL : reg));
	}
	return 0;
}

static int pe_without_records(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	return have_records_from(job, N_CHANNELS * job->n_pes) || unplug(job);
}

static void records_are_left_out_where_the_nic_can(void **state)
{
	(void)state;
	with_no_records(2, pe_without_records);
}

static int pe_proxy_keeps_records(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->opt.ib_doorbell = WORD_CPU;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	return have_records_from(job, 0) || unplug(job);
}

static void the_proxy_keeps_records(void **state)
{
	(void)state;
	with_no_records(2, pe_proxy_keeps_records);
}

/* The third queue pair without a record is refused, and no other is requested. */
static int pe_runs_out(shmemh_t *job)
{
	if (plug_in(job) || control(job, "fail command opcode=0x500 after=2 n=1 status=0xf"))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(!has_text(job, "CREATE_QP"));
	if (have_records_from(job, 2))
		return 1;
	shmemhi_links_close(job, job->ib);
	if (control(job, "fail command opcode=0x500 after=2 n=1 status=0xf"))
		return 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, "CREATE_QP failed (channel 2 to PE 0"));
	return unplug(job);
}

static void queue_pairs_without_records_may_run_out(void **state)
{
	(void)state;
	with_no_records(1, pe_runs_out);
}

/* Failures */

static int open_and_close(shmemh_t *job)
{
	job->err.text[0] = '\0';
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	shmemhi_links_close(job, job->ib);
	PE_CHECK(!job->ib->links && !job->ib->queue_mem);
	return 0;
}

static int pe_commands_fail(shmemh_t *job)
{
	static const struct {
		const char *opcode, *text;
	} commands[] = {
		{"0x400", "mlx5_0: CREATE_CQ failed (channel 1 to PE 0, QPN 0x0, errno 121): status"
			  " 0xf, syndrome 0x77: no resources"},
		{"0x500", "mlx5_0: CREATE_QP failed (channel 1 to PE 0, QPN 0x0, errno 121)"},
		{"0x502", "mlx5_0: RST2INIT_QP failed (channel 1 to PE 0, QPN 0x"},
	};

	if (plug_in(job))
		return 1;
	for (size_t i = 0; i < 3; i++) {
		char line[80];

		snprintf(line, sizeof line,
			 "fail command opcode=%s after=1 n=1 status=0xf syndrome=0x77",
			 commands[i].opcode);
		if (control(job, line))
			return 1;
		job->err.text[0] = '\0';
		PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_NIC);
		PE_CHECK(has_text(job, commands[i].text));
		PE_CHECK(!job->ib->links && !job->ib->queue_mem);
		if (open_and_close(job))
			return 1;
	}
	return unplug(job);
}

static void failed_commands_leave_nothing(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_commands_fail);
}

static struct mlx5dv_devx_umem *no_umem(struct ibv_context *context, void *ptr, size_t nbytes,
					uint32_t access)
{
	(void)context;
	(void)ptr;
	(void)nbytes;
	(void)access;
	errno = ENOMEM;
	return NULL;
}

static struct ibv_mr *no_mr(struct ibv_pd *pd, void *ptr, size_t nbytes, int access)
{
	(void)pd;
	(void)ptr;
	(void)nbytes;
	(void)access;
	errno = ENOMEM;
	return NULL;
}

static struct mlx5dv_devx_uar *no_uar(struct ibv_context *context, uint32_t flags)
{
	(void)context;
	(void)flags;
	errno = ENOSPC;
	return NULL;
}

static int fails_once(shmemh_t *job, const shmemhi_ib_lib_t *lib, const char *text)
{
	job->err.text[0] = '\0';
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_NIC);
	PE_CHECK(has_text(job, text));
	PE_CHECK(!job->ib->links && !job->ib->queue_mem);
	job->ib->lib = *lib;
	return open_and_close(job);
}

static int pe_calls_fail(shmemh_t *job)
{
	shmemhi_ib_lib_t lib;

	if (plug_in(job))
		return 1;
	lib = job->ib->lib;
	job->ib->lib.umem_reg = no_umem;
	if (fails_once(job, &lib, "mlx5_0: mlx5dv_devx_umem_reg of"))
		return 1;
	job->ib->lib.reg_mr = no_mr;
	if (fails_once(
		    job, &lib,
		    "of queues or bounce buffers: Cannot allocate memory; is the limit of locked"))
		return 1;
	job->ib->lib.alloc_uar = no_uar;
	if (fails_once(job, &lib, "mlx5dv_devx_alloc_uar gives no doorbell register: No space"))
		return 1;
	return unplug(job);
}

static void failed_calls_leave_nothing(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_calls_fail);
}

static int pe_bad_options(shmemh_t *job)
{
	if (plug_in(job))
		return 1;
	job->opt.channels = 65;
	PE_CHECK(shmemhi_ib_check_options(job) == SHMEMH_ERR_OPTION);
	job->opt.channels = 1;
	job->opt.ib_sl = 8;
	job->err.text[0] = '\0';
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_ERR_OPTION);
	return unplug(job);
}

static void options_are_checked_first(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_bad_options);
}

/* A device that fails to destroy its objects: memory that it may still write to must not be reused.
 */
static shmemhi_ib_lib_t real;
static struct mlx5dv_devx_obj *kept;

static int destroy_not_the_first(struct mlx5dv_devx_obj *obj)
{
	if (kept)
		return real.obj_destroy(obj);
	kept = obj;
	return EBUSY;
}

static int pe_keeps_memory(shmemh_t *job)
{
	shmemhi_queue_block_t b;
	struct shmemhi_queue_mem mem;
	struct mlx5dv_devx_obj *cq;
	struct mlx5dv_devx_uar *uar;

	if (plug_in(job))
		return 1;
	job->opt.channels = 1;
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	real = job->ib->lib;
	kept = NULL;
	mem = *job->ib->queue_mem;
	b = mem.blocks[0];
	cq = job->ib->links[0].cq;
	uar = job->ib->links[0].uar;
	job->ib->lib.obj_destroy = destroy_not_the_first;
	shmemhi_links_close(job, job->ib);
	PE_CHECK(kept);
	memset(b.raw, 0x5a, b.nbytes); /* still allocated: otherwise sanitizers report it */
	memset(mem.bounces.raw, 0x5a, SHMEMD_BOUNCES_NBYTES);
	job->ib->lib = real;
	PE_CHECK(real.obj_destroy(kept) == 0 && real.obj_destroy(cq) == 0);
	PE_CHECK(real.umem_dereg(b.umem) == 0);
	real.free_uar(uar);
	shmemhi_pinned_free(job, b.raw);
	shmemhi_pinned_free(job, mem.bounces.raw);
	return unplug(job);
}

static void memory_in_use_is_kept(void **state)
{
	(void)state;
	with_adapters(MLX5SW_ETHERNET, 1, pe_keeps_memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_where_the_prm_has_them),
		cmocka_unit_test(fields_touch_nothing_else),
		cmocka_unit_test(unusable_options_are_refused),
		cmocka_unit_test(options_at_their_limits),
		cmocka_unit_test(links_have_memory_of_their_own),
		cmocka_unit_test(completion_queues_ignore_overruns),
		cmocka_unit_test(queue_pairs_ask_for_time_stamps_that_exist),
		cmocka_unit_test(records_are_left_out_where_the_nic_can),
		cmocka_unit_test(the_proxy_keeps_records),
		cmocka_unit_test(queue_pairs_without_records_may_run_out),
		cmocka_unit_test(failed_commands_leave_nothing),
		cmocka_unit_test(failed_calls_leave_nothing),
		cmocka_unit_test(options_are_checked_first),
		cmocka_unit_test(memory_in_use_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
