/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events of devices through ibv_get_async_event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "mlx5sw/events/events.h"

static struct ibv_context *ctx[2], *other; /* two of mlx5_0; one of mlx5_1 */

static int setup(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	struct ibv_device **list;

	(void)state;
	assert_int_equal(mlx5sw_start(&cfg, NULL), 0);
	list = ibv_get_device_list(NULL);
	for (int i = 0; i < 2; i++)
		assert_non_null(ctx[i] = ibv_open_device(list[0]));
	assert_non_null(other = ibv_open_device(list[1]));
	ibv_free_device_list(list);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	mlx5sw_stop();
	return 0;
}

static int is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void expect_event(struct ibv_context *c, enum ibv_event_type type)
{
	struct ibv_async_event e;

	assert_int_equal(ibv_get_async_event(c, &e), 0);
	assert_int_equal(e.event_type, type);
	ibv_ack_async_event(&e);
}

static void expect_no_event(struct ibv_context *c)
{
	struct ibv_async_event e;

	errno = 0;
	assert_int_equal(ibv_get_async_event(c, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

static struct ibv_cq *make_cq(void)
{
	struct ibv_cq *cq = ibv_create_cq(ctx[0], 7, NULL, NULL, 0);

	assert_non_null(cq);
	return cq;
}

static struct ibv_qp *make_qp(struct ibv_pd *pd, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr attr = {.send_cq = cq,
					.recv_cq = cq,
					.cap = {.max_send_wr = 4, .max_send_sge = 1},
					.qp_type = IBV_QPT_RC};
	struct ibv_qp *qp = ibv_create_qp(pd, &attr);

	assert_non_null(qp);
	return qp;
}

static void port_events_reach_every_context(void **state)
{
	mlx5swi_port_t *port = &mlx5swi_context_of(ctx[0])->dev->port;
	char answer[64];

	(void)state;
	mlx5swi_port_set(port, 0);
	mlx5swi_port_set(port, 0); /* no change */
	mlx5swi_port_set(port, 1);
	for (int i = 0; i < 2; i++) {
		expect_event(ctx[i], IBV_EVENT_PORT_ERR);
		expect_event(ctx[i], IBV_EVENT_PORT_ACTIVE);
		expect_no_event(ctx[i]);
	}
	expect_no_event(other);
	assert_int_equal(mlx5sw_control("port down mlx5_1", answer, sizeof(answer)), 0);
	expect_event(other, IBV_EVENT_PORT_ERR);
}

static void device_fatal_reaches_contexts(void **state)
{
	(void)state;
	mlx5swi_event_device(mlx5swi_context_of(ctx[0])->dev, IBV_EVENT_DEVICE_FATAL);
	expect_event(ctx[0], IBV_EVENT_DEVICE_FATAL);
	expect_event(ctx[1], IBV_EVENT_DEVICE_FATAL);
	expect_no_event(other);
}

static void descriptor_is_readable_while_events_are_pending(void **state)
{
	struct ibv_async_event first, second;

	(void)state;
	assert_true(ctx[0]->async_fd >= 0);
	assert_false(is_readable(ctx[0]->async_fd));
	mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 0);
	mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 1);
	assert_int_equal(ibv_get_async_event(ctx[0], &first), 0);
	assert_true(is_readable(ctx[0]->async_fd));
	assert_int_equal(ibv_get_async_event(ctx[0], &second), 0);
	assert_false(is_readable(ctx[0]->async_fd));
	ibv_ack_async_event(&second); /* in any order */
	ibv_ack_async_event(&first);
}

/* Programs start threads that wait for descriptors, which a scheduler does not control. */
static void no_descriptors_with_hooks(void **state)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;
	mlx5sw_hooks_t hooks = mlx5swi_w->hooks;
	struct mlx5dv_devx_event_channel *channel;
	struct ibv_device **list;

	(void)state;
	assert_int_equal(mlx5sw_start(&cfg, &hooks), 0);
	list = ibv_get_device_list(NULL);
	assert_non_null(ctx[0] = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	assert_int_equal(ctx[0]->async_fd, -1);
	channel = mlx5dv_devx_create_event_channel(
		ctx[0], MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA);
	assert_non_null(channel);
	assert_int_equal(channel->fd, -1);
	mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 0);
	expect_event(ctx[0], IBV_EVENT_PORT_ERR);
	expect_no_event(ctx[0]);
}

static void events_of_verbs_objects(void **state)
{
	static const struct {
		uint8_t eqe;
		enum ibv_event_type type;
	} map[] = {{0x02, IBV_EVENT_COMM_EST},      {0x03, IBV_EVENT_SQ_DRAINED},
		   {0x05, IBV_EVENT_QP_FATAL},      {0x10, IBV_EVENT_QP_REQ_ERR},
		   {0x11, IBV_EVENT_QP_ACCESS_ERR}, {0x13, IBV_EVENT_QP_LAST_WQE_REACHED}};
	struct ibv_cq *cq = make_cq();
	struct ibv_pd *pd = ibv_alloc_pd(ctx[0]);
	struct ibv_qp *qp = make_qp(pd, cq);
	struct ibv_async_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		mlx5swi_event_qp((mlx5swi_qp_t *)qp, map[i].eqe);
		assert_int_equal(ibv_get_async_event(ctx[0], &e), 0);
		assert_int_equal(e.event_type, map[i].type);
		assert_ptr_equal(e.element.qp, qp);
		ibv_ack_async_event(&e);
	}
	mlx5swi_event_cq((mlx5swi_cq_t *)cq, 4, 1);
	assert_int_equal(ibv_get_async_event(ctx[0], &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(e.element.cq, cq);
	ibv_ack_async_event(&e);
	expect_no_event(ctx[1]); /* the events are sent to the object's own context */
}

static void destroy_drops_pending_events(void **state)
{
	struct ibv_cq *cq = make_cq();
	struct ibv_pd *pd = ibv_alloc_pd(ctx[0]);
	struct ibv_qp *qp = make_qp(pd, cq);

	(void)state;
	mlx5swi_event_qp((mlx5swi_qp_t *)qp, 0x05);
	mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 0);
	mlx5swi_event_cq((mlx5swi_cq_t *)cq, 4, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	expect_event(ctx[0], IBV_EVENT_PORT_ERR);
	expect_no_event(ctx[0]);
	assert_false(is_readable(ctx[0]->async_fd));
}

static void second_acknowledgement_is_ignored(void **state)
{
	struct ibv_async_event e;

	(void)state;
	mlx5swi_port_set(&mlx5swi_context_of(other)->dev->port, 0);
	assert_int_equal(ibv_get_async_event(other, &e), 0);
	ibv_ack_async_event(&e);
	ibv_ack_async_event(&e);
	assert_non_null(strstr(mlx5swi_refusal(), "acknowledged already"));
}

static struct ibv_async_event got;
static unsigned n_unlocked;
static void (*plain_unlock)(void *arg);

/* Like a scheduler, run another thread between unlock and lock. The third time, it acknowledges. */
static void unlock_and_run_others(void *arg)
{
	plain_unlock(arg);
	if (++n_unlocked == 3)
		ibv_ack_async_event(&got);
}

static void destroy_lets_others_acknowledge(void **state)
{
	struct ibv_cq *cq = make_cq();

	(void)state;
	mlx5swi_event_cq((mlx5swi_cq_t *)cq, 4, 1);
	assert_int_equal(ibv_get_async_event(ctx[0], &got), 0);
	plain_unlock = mlx5swi_w->hooks.unlock;
	mlx5swi_w->hooks.unlock = unlock_and_run_others;
	n_unlocked = 0;
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_true(n_unlocked >= 3);
	mlx5swi_w->hooks.unlock = plain_unlock;
}

/* With a thread, as in a process of a fabric. */

static int setup_process(void **state)
{
	struct ibv_device **list;

	(void)state;
	mlx5sw_stop();
	list = ibv_get_device_list(NULL);
	assert_non_null(list);
	assert_non_null(ctx[0] = ibv_open_device(list[0]));
	ibv_free_device_list(list);
	return 0;
}

static void *raise_later(void *qp)
{
	mlx5swi_lock();
	if (qp)
		mlx5swi_event_qp(qp, 0x05);
	else
		mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 0);
	mlx5swi_unlock();
	return NULL;
}

static void get_waits_for_an_event(void **state)
{
	struct ibv_async_event e;
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, raise_later, NULL), 0);
	assert_int_equal(ibv_get_async_event(ctx[0], &e), 0);
	assert_int_equal(e.event_type, IBV_EVENT_PORT_ERR);
	pthread_join(thread, NULL);
	ibv_ack_async_event(&e);
}

static int is_acknowledged;

static void *acknowledge_later(void *arg)
{
	(void)arg;
	usleep(20000);
	__atomic_store_n(&is_acknowledged, 1, __ATOMIC_SEQ_CST);
	ibv_ack_async_event(&got);
	return NULL;
}

static pthread_t acknowledge_soon(void)
{
	pthread_t thread;

	assert_int_equal(ibv_get_async_event(ctx[0], &got), 0);
	is_acknowledged = 0;
	assert_int_equal(pthread_create(&thread, NULL, acknowledge_later, NULL), 0);
	return thread;
}

/* destroy returns only after the event was acknowledged: otherwise the program would use a freed
 * object. */
static void destroy_waits_for_acknowledgement(void **state)
{
	struct ibv_cq *cq = make_cq();
	struct ibv_pd *pd = ibv_alloc_pd(ctx[0]);
	struct ibv_qp *qp = make_qp(pd, cq);
	pthread_t thread;

	(void)state;
	raise_later(qp);
	thread = acknowledge_soon();
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(__atomic_load_n(&is_acknowledged, __ATOMIC_SEQ_CST), 1);
	pthread_join(thread, NULL);
	mlx5swi_lock();
	mlx5swi_event_cq((mlx5swi_cq_t *)cq, 4, 1);
	mlx5swi_unlock();
	thread = acknowledge_soon();
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(__atomic_load_n(&is_acknowledged, __ATOMIC_SEQ_CST), 1);
	pthread_join(thread, NULL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define PROCESS_TEST(f) cmocka_unit_test_setup_teardown(f, setup_process, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(port_events_reach_every_context),
		TEST(device_fatal_reaches_contexts),
		TEST(descriptor_is_readable_while_events_are_pending),
		TEST(no_descriptors_with_hooks),
		TEST(events_of_verbs_objects),
		TEST(destroy_drops_pending_events),
		TEST(second_acknowledgement_is_ignored),
		TEST(destroy_lets_others_acknowledge),
		PROCESS_TEST(get_waits_for_an_event),
		PROCESS_TEST(destroy_waits_for_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
