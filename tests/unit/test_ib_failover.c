/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Which endpoints of a channel are destroyed, and which must be left (ib/failover.h). No NIC. */
#include "ib/ports.h"
#include "failover_state.h"

/* What the device has counted in an order is the value of its CARRIED_OUT. */
static void counts_of_an_order(void **state)
{
	const shmemhi_switch_action_t end = {SHMEMHI_ACT_END, 0, 0, SHMEMD_ERR_PEER};
	static shmemd_switch_order_t word;
	shmemhi_switch_event_t result = {-1, 0, 0};

	(void)state;
	ib.n_channels = 1;
	job.n_pes = 2;
	failover.routes = routes;
	failover.order = &word;
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, &result));
	word.replayed = 17;
	word.ambiguous = 3;
	assert_false(shmemhi_failover_ops.execute(&failover, 1, 0, &end, &result));
	word.carried_out = word.number;
	assert_true(shmemhi_failover_ops.execute(&failover, 1, 0, &end, &result));
	assert_int_equal(result.kind, SHMEMHI_EV_CARRIED_OUT);
	assert_int_equal(result.value, SHMEMHI_FAULT_CARRIED(17, 3));
}

/* WQEBBs of a channel, where the host can load its words. */
static void progress_of_a_channel(void **state)
{
	static shmemd_channel_t channels[2];
	static shmemhi_link_t links[2]; /* to PE 0, to PE 1 */
	static shmemhi_open_port_t port;
	static shmemhi_mem_t mem;
	shmemd_channel_t *channel;
	shmemhi_fault_path_t about;

	(void)state;
	ib.n_channels = 1;
	ib.depth = SHMEMD_MIN_DEPTH;
	ib.channels = channels;
	ib.links = links;
	job.n_pes = 2;
	job.mem = &mem;
	job.ib = &ib;
	failover.routes = routes;
	failover.ports[0].open = &port;
	channel = shmemhi_channel(&ib, &links[1]);
	channel->done = SHMEMD_DONE_WORD(((uint64_t)1 << 32) - 3, 0);
	channel->ready = SHMEMD_READY_WORD(2, 0, SHMEMD_READY_RUNG);
	shmemhi_failover_ops.describe(&failover, 1, 0, 0, &about);
	assert_true(about.has_counts);
	assert_int_equal(about.posted, ((uint64_t)1 << 32) + 2);
	assert_int_equal(about.completed, ((uint64_t)1 << 32) - 3);
	/* Memory of a GPU is not read. */
	mem.cuctx = (shmemhi_cuctx_t *)&mem;
	shmemhi_failover_ops.describe(&failover, 1, 0, 0, &about);
	assert_false(about.has_counts);
	memset(&job, 0, sizeof job);
}

/* The order for path 1 waits for one of another channel, path 1 fails, and path 2 is offered. */
static void endpoint_that_awaits_its_order(void **state)
{
	shmemhi_endpoint_t *first = add(1, 1), *second = add(2, 1);

	(void)state;
	routes[1].current = second;
	shmemhi_reap(&failover, &routes[1]);
	assert_int_equal(slots[1].is_busy, 1);
	routes[1].ordered = first;
	shmemhi_reap(&failover, &routes[1]);
	assert_int_equal(slots[0].is_busy, 1);
	routes[1].used = first;
	routes[1].ordered = second;
	shmemhi_reap(&failover, &routes[1]);
	assert_int_equal(slots[0].is_busy, 0);
	assert_int_equal(slots[1].is_busy, 1);
	routes[1].used = second;
	shmemhi_reap(&failover, &routes[1]);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[2].is_busy, 1);
}

/* A path that was never connected gets no order. */
static void endpoint_without_an_order(void **state)
{
	(void)state;
	add(1, 0);
	routes[1].current = add(2, 1);
	shmemhi_reap(&failover, &routes[1]);
	assert_int_equal(slots[1].is_busy, 0);
	assert_int_equal(slots[0].is_busy, 1);
}

/* A NIC that has failed is left, even if there is no other. */
static void fatal_port(void **state)
{
	(void)state;
	failover.ports[0].is_up = 1;
	assert_int_equal(shmemhi_must_leave(&failover, routes[1].used), 0);
	failover.ports[0].is_fatal = 1;
	assert_int_equal(shmemhi_must_leave(&failover, routes[1].used), SHMEMH_FAULT_BY_DEVICE);
	failover.ports[0].is_fatal = 0;
	failover.column = 1;
	assert_int_equal(shmemhi_must_leave(&failover, routes[1].used), SHMEMH_FAULT_BY_MOVE);
	failover.ports[0].is_up = 0;
	assert_int_equal(shmemhi_must_leave(&failover, routes[1].used), SHMEMH_FAULT_BY_PORT);
	failover.column = 0;
	failover.ports[0].generation = 1;
	assert_int_equal(shmemhi_must_leave(&failover, routes[1].used), SHMEMH_FAULT_BY_ADDRESS);
}

/* The agent has this path stopped for this cause. */
static void stop_for(uint32_t path, uint32_t cause)
{
	const shmemhi_switch_action_t stop = {SHMEMHI_ACT_STOP, 0, path, cause};
	shmemhi_switch_event_t result;

	assert_true(shmemhi_failover_ops.execute(&failover, 1, 0, &stop, &result));
	assert_int_equal(result.kind, SHMEMHI_EV_STOPPED);
}

/* A path of this PE, on its port in use. */
static void open_path(uint32_t path)
{
	routes[1].current = add(path, 1);
	routes[1].current->is_fenced = 0;
	routes[1].current->stage = SHMEMHI_IN_RTS;
	routes[1].current->column = (uint8_t)failover.column;
	routes[1].current->connected_at = shmemhi_now();
}

/* Only the other end has seen that nothing passes. This end is told the cause when it stops the
 * path, counts it too, and changes its port when that is its turn: on even paths the lower PE. */
static void silent_failure_at_the_other_end(void **state)
{
	static const uint32_t others[] = {SHMEMH_FAULT_BY_PORT, SHMEMH_FAULT_BY_ADDRESS,
					  SHMEMH_FAULT_BY_DEVICE, SHMEMH_FAULT_BY_MOVE};

	(void)state;
	set_up_ports();
	routes[1].used_since = shmemhi_now();
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
		open_path(2);
		stop_for(2, others[i]);
	}
	assert_int_equal(routes[1].n_silent, 0);
	open_path(1);
	routes[1].used = routes[1].current;
	stop_for(1, SHMEMH_FAULT_BY_RETRIES);
	open_path(2);
	assert_int_equal(failover.column, 0);
	stop_for(2, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(failover.column, 1);
	open_path(3);
	stop_for(3, SHMEMH_FAULT_BY_FLUSH); /* the other end's turn */
	assert_int_equal(failover.column, 1);
	failover.ports[1].is_up = 0; /* this PE knows why */
	open_path(4);
	stop_for(4, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(failover.column, 1);
}

/* A path that worked for long before it failed begins the count anew, also where this end's
 * direction has ended, so that no order makes it the path in use. */
static void silent_failures_far_apart(void **state)
{
	(void)state;
	set_up_ports();
	open_path(1);
	routes[1].used = routes[1].current;
	stop_for(1, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(routes[1].n_silent, 1);
	open_path(2);
	routes[1].current->connected_at -= (uint64_t)3600 * SHMEMHI_SECOND;
	stop_for(2, SHMEMH_FAULT_BY_RETRIES);
	assert_int_equal(routes[1].n_silent, 1);
	assert_int_equal(failover.column, 0);
}

/* Two ports that cannot be connected: after the second failure the end whose turn it is takes its
 * other port, and the next path is not prepared at once. */
static void ports_that_cannot_be_connected(void **state)
{
	const shmemhi_fault_ops_t *ops = &shmemhi_failover_ops;
	shmemhi_switch_action_t connect = {.kind = SHMEMHI_ACT_CONNECT, .path = 2};
	shmemhi_switch_action_t prepare = {.kind = SHMEMHI_ACT_PREPARE, .path = 3};
	shmemhi_switch_event_t result;

	(void)state;
	set_up_ports();
	for (int i = 0; i < 2; i++) {
		routes[1].current = add(2, 0);
		routes[1].current->is_fenced = 0;
		routes[1].current->stage = SHMEMHI_IN_INIT;
		routes[1].current->own.port = failover.ports[0].open;
		assert_int_equal(failover.column, 0);
		assert_true(ops->execute(&failover, 1, 0, &connect, &result));
		assert_int_equal(result.kind, SHMEMHI_EV_FAULT);
		stop_for(2, SHMEMH_FAULT_BY_QP);
		assert_false(ops->execute(&failover, 1, 0, &prepare, &result));
	}
	assert_int_equal(failover.column, 1); /* path 2: the lower PE */
}

/* An endpoint that was offered on a port that this PE leaves: CONNECT ends at once with the cause,
 * which the peer is told. */
static void connect_on_a_port_that_is_left(void **state)
{
	const shmemhi_switch_action_t connect = {.kind = SHMEMHI_ACT_CONNECT, .path = 1};
	shmemhi_switch_event_t result;

	(void)state;
	set_up_ports();
	add(1, 0)->is_fenced = 0;
	failover.column = 1;
	assert_true(shmemhi_failover_ops.execute(&failover, 1, 0, &connect, &result));
	assert_int_equal(result.kind, SHMEMHI_EV_FAULT);
	assert_int_equal(result.value, SHMEMH_FAULT_BY_MOVE);
	failover.ports[0].is_up = 0;
	assert_true(shmemhi_failover_ops.execute(&failover, 1, 0, &connect, &result));
	assert_int_equal(result.value, SHMEMH_FAULT_BY_PORT);
}

/* ---- the agent's thread beside others ---- */

static int active_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *out)
{
	struct ibv_port_attr *attr = (void *)out;

	(void)context;
	(void)port;
	memset(attr, 0, sizeof *attr);
	attr->state = IBV_PORT_ACTIVE;
	attr->link_layer = IBV_LINK_LAYER_INFINIBAND;
	attr->lid = 7;
	return 0;
}

static int no_gid(struct ibv_context *context, uint32_t port, uint32_t i,
		  struct ibv_gid_entry *entry, uint32_t flags, size_t nbytes)
{
	(void)context, (void)port, (void)i, (void)entry, (void)flags, (void)nbytes;
	return ENODATA;
}

/* The thread of events reads name and context meanwhile: a refresh stores its address only. What is
 * before the address is in a page that cannot be written. */
static void refresh_of_a_port(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t before = offsetof(shmemhi_open_port_t, is_ethernet);
	char *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	shmemhi_open_port_t *port = (void *)(pages + page - before);

	(void)state;
	assert_ptr_not_equal(pages, MAP_FAILED);
	strcpy(port->name, "mlx5_0");
	port->number = 1;
	ib.lib.query_port_compat = active_port;
	ib.lib.query_gid_ex = no_gid;
	assert_int_equal(mprotect(pages, page, PROT_READ), 0);
	assert_int_equal(shmemhi_port_refresh(&ib.lib, &job.opt, port), SHMEMH_OK);
	assert_int_equal(port->lid, 7);
	munmap(pages, 2 * page);
}

/* No memory for queues of a new path: the line is the agent's, not that of the call that another
 * thread is in. */

static shmemhi_cu_result_t no_context(shmemhi_cu_context_t context)
{
	(void)context;
	return 2;
}

static shmemhi_cu_result_t name_of_error(shmemhi_cu_result_t error, const char **name)
{
	*name = error ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_SUCCESS";
	return 0;
}

static void no_memory_for_queues(void **state)
{
	struct shmemhi_mem mem = {0};
	shmemhi_cuctx_t cuctx = {
		.cuda = {.ctx_push_current = no_context, .get_error_name = name_of_error}};
	shmemhi_link_t first = {0};

	(void)state;
	ib.depth = SHMEMD_MIN_DEPTH;
	ib.links = &first;
	mem.cuctx = &cuctx;
	job.mem = &mem;
	assert_null(shmemhi_slot_take(&failover, 0));
	assert_string_equal(job.err.text, "");
	assert_string_not_equal(failover.err.text, "");
	assert_null(failover.blocks);
	job.mem = NULL;
}

/* Slots are looked at regularly, also if nobody needs one (test_ib_slots). */
static void slots_are_looked_at(void **state)
{
	shmemhi_slot_block_t *block = calloc(1, sizeof *block + sizeof block->slots[0]);
	shmemd_channel_t channel = {.ready = SHMEMD_READY_WORD(101, 0, 0)};
	struct {
		shmemd_faults_t head;
		uint64_t words[2];
	} faults = {0};
	struct shmemhi_mem mem = {0};
	shmemhi_switch_event_t event;
	shmemhi_fault_cause_t cause;
	uint32_t k;
	int pe;

	(void)state;
	assert_non_null(block);
	job.mem = &mem;
	set_up_ports();
	block->n_slots = 1;
	block->slots[0] = (shmemhi_slot_t){.channel = &channel, .retired = 100};
	failover.blocks = block;
	failover.faults = &faults.head;
	routes[0].current = routes[1].current = routes[1].used;
	assert_false(shmemhi_next_fault(&failover, &pe, &k, &event, &cause));
	assert_null(block->slots[0].channel);
	free(block);
	failover.blocks = NULL;
	job.mem = NULL;
}

/* A report is taken once; the same word, 256 orders later on a path with the same epoch, is another
 * report. */
static void report_of_an_equal_epoch(void **state)
{
	uint64_t faults[SHMEMD_FAULTS_NBYTES(1, 2) / sizeof(uint64_t)] = {0};
	shmemhi_switch_event_t event;
	shmemhi_fault_cause_t cause;
	uint32_t k;
	int pe;

	(void)state;
	set_up_ports();
	failover.faults = (shmemd_faults_t *)(void *)faults;
	failover.poll_time = UINT64_MAX;
	routes[0].current = routes[1].current = routes[1].used;
	routes[1].used->is_fenced = 0;
	for (int i = 0; i < 2; i++, routes[1].epoch += 256) {
		*SHMEMD_FAULT_REPORT(failover.faults, 2, 0, 1) =
			SHMEMD_FAULT_WORD(SHMEMD_FAULT_SUSPECT, 1, 0, 0, 0);
		failover.faults->n_reports++;
		assert_true(shmemhi_next_fault(&failover, &pe, &k, &event, &cause));
		assert_int_equal(event.kind, SHMEMHI_EV_SUSPECT);
		failover.faults->n_reports++; /* of another channel */
		assert_false(shmemhi_next_fault(&failover, &pe, &k, &event, &cause));
	}
}

static uint32_t hw_wqebbs;

static int query_in_error(struct mlx5dv_devx_obj *obj, const void *in, size_t in_nbytes, void *out,
			  size_t out_nbytes)
{
	(void)obj, (void)in, (void)in_nbytes, (void)out_nbytes;
	shmemhi_prm_put(out, SHMEMHI_QPC_HW_SQ_WQEBB_COUNTER, hw_wqebbs);
	shmemhi_prm_put(out, SHMEMHI_QPC_SW_SQ_WQEBB_COUNTER, 3);
	return 0;
}

/* CQEs are missing; then posters ring once more. The CQEs of their WQEs are waited for anew. */
static void drain_that_begins_again(void **state)
{
	shmemhi_endpoint_t *e = routes[1].used;
	uint32_t refused;

	(void)state;
	ib.lib.obj_query = query_in_error;
	e->drain_since = 1; /* long ago */
	hw_wqebbs = 2;
	assert_int_equal(shmemhi_endpoint_is_drained(&failover, e, &refused), 0);
	assert_int_equal(e->drain_since, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(counts_of_an_order, setup, teardown),
		cmocka_unit_test_setup_teardown(progress_of_a_channel, setup, teardown),
		cmocka_unit_test_setup_teardown(endpoint_that_awaits_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(endpoint_without_an_order, setup, teardown),
		cmocka_unit_test_setup_teardown(fatal_port, setup, teardown),
		cmocka_unit_test_setup_teardown(connect_on_a_port_that_is_left, setup, teardown),
		cmocka_unit_test_setup_teardown(refresh_of_a_port, setup, teardown),
		cmocka_unit_test_setup_teardown(no_memory_for_queues, setup, teardown),
		cmocka_unit_test_setup_teardown(drain_that_begins_again, setup, teardown),
		cmocka_unit_test_setup_teardown(slots_are_looked_at, setup, teardown),
		cmocka_unit_test_setup_teardown(report_of_an_equal_epoch, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_failure_at_the_other_end, setup, teardown),
		cmocka_unit_test_setup_teardown(silent_failures_far_apart, setup, teardown),
		cmocka_unit_test_setup_teardown(ports_that_cannot_be_connected, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
