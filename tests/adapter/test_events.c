/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What devices tell programs: asynchronous events of verbs, event channels of DevX. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>
#include "mlx5sw/entry.h"

#define OMIT MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA

typedef struct event {
	uint64_t cookie;
	uint8_t eqe[64];
} event_t;

static struct ibv_context *ctx[2], *other; /* two of mlx5_0; of mlx5_1 */

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
	mlx5swi_port_set(port, 0); /* no news */
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

static void descriptor_polls_while_events_wait(void **state)
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

/* A scheduler makes fabrics by the ten thousand: descriptors serve again, and come back clean. */
static void descriptors_serve_again(void **state)
{
	int fd = ctx[0]->async_fd;

	mlx5swi_port_set(&mlx5swi_context_of(ctx[0])->dev->port, 0);
	assert_true(is_readable(fd));
	setup(state);
	assert_true(fd == ctx[0]->async_fd || fd == ctx[1]->async_fd || fd == other->async_fd);
	assert_false(is_readable(fd));
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
	expect_no_event(ctx[1]); /* they go to the object's own context */
}

static void destroy_drops_events_that_were_not_got(void **state)
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

static void acknowledging_twice_does_no_harm(void **state)
{
	struct ibv_async_event e;

	(void)state;
	mlx5swi_port_set(&mlx5swi_context_of(other)->dev->port, 0);
	assert_int_equal(ibv_get_async_event(other, &e), 0);
	ibv_ack_async_event(&e);
	ibv_ack_async_event(&e);
	assert_non_null(strstr(mlx5swi_refusal(), "acknowledged already"));
}

/* With a thread: a process of a fabric. */

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

static struct ibv_async_event got;
static int is_acknowledged;

static void *acknowledge_later(void *arg)
{
	(void)arg;
	usleep(20000);
	__atomic_store_n(&is_acknowledged, 1, __ATOMIC_SEQ_CST);
	ibv_ack_async_event(&got);
	return NULL;
}

/* destroy returns only when the event was acknowledged: else the program would use an object that
 * is gone. */
static void s4_destroy_waits_for_acknowledgement(void **state)
{
	struct ibv_cq *cq = make_cq();
	struct ibv_pd *pd = ibv_alloc_pd(ctx[0]);
	struct ibv_qp *qp = make_qp(pd, cq);
	pthread_t thread;

	(void)state;
	raise_later(qp);
	assert_int_equal(ibv_get_async_event(ctx[0], &got), 0);
	is_acknowledged = 0;
	assert_int_equal(pthread_create(&thread, NULL, acknowledge_later, NULL), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(__atomic_load_n(&is_acknowledged, __ATOMIC_SEQ_CST), 1);
	pthread_join(thread, NULL);
}

/* Event channels. Objects that DevX made stand for themselves: all that events need of them. */

static mlx5swi_qp_t qp;
static mlx5swi_cq_t cq;
static mlx5swi_umem_t umem;
static struct mlx5dv_devx_obj qp_obj = {.qp = &qp}, cq_obj = {.cq = &cq};

static struct mlx5dv_devx_event_channel *make_channel(int flags)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(
		ctx[0], (enum mlx5dv_devx_create_event_channel_flags)flags);

	assert_non_null(ch);
	qp.ctx = cq.ctx = mlx5swi_context_of(ctx[0]);
	qp.qpn = 0x123456;
	cq.cqn = 0xabcdef;
	cq.umem = &umem;
	return ch;
}

static ssize_t get(struct mlx5dv_devx_event_channel *ch, event_t *e)
{
	memset(e, 0xa5, sizeof(*e));
	return mlx5dv_devx_get_event(ch, (struct mlx5dv_devx_async_event_hdr *)e, sizeof(*e));
}

static void s5_devx_events_come_by_channel_only(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t types[] = {0x05, 0x10, 0x11};
	event_t e;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, sizeof(types), types, 77),
			 0);
	mlx5swi_event_qp(&qp, 0x02); /* not asked for */
	mlx5swi_event_qp(&qp, 0x11);
	expect_no_event(ctx[0]);
	assert_true(is_readable(ch->fd));
	assert_int_equal(get(ch, &e), 72);
	assert_int_equal(e.cookie, 77);
	assert_int_equal(e.eqe[1], 0x11);
	assert_int_equal(e.eqe[0x34], 0); /* type of queue: a QP */
	assert_memory_equal(&e.eqe[0x38], "\0\x12\x34\x56", 4);
	assert_false(is_readable(ch->fd));
	assert_int_equal(get(ch, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

static void channel_gives_events_of_cqs(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t types[] = {0x00, 0x04};
	event_t e;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &cq_obj, sizeof(types), types, 5), 0);
	mlx5swi_event_cq(&cq, 4, 1);
	mlx5swi_event_cq(&cq, 0, 0);
	assert_int_equal(get(ch, &e), 72);
	assert_int_equal(e.eqe[1], 4);
	assert_memory_equal(&e.eqe[0x20], "\0\xab\xcd\xef", 4);
	assert_int_equal(e.eqe[0x2b], 1);
	assert_int_equal(get(ch, &e), 72);
	assert_int_equal(e.eqe[1], 0);
	assert_memory_equal(&e.eqe[0x38], "\0\xab\xcd\xef", 4);
	expect_no_event(ctx[0]);
}

static void channel_gives_events_of_ports(void **state)
{
	static const struct {
		int type;
		uint8_t sub_type;
	} map[] = {{IBV_EVENT_PORT_ERR, 1},   {IBV_EVENT_PORT_ACTIVE, 4},
		   {IBV_EVENT_LID_CHANGE, 6}, {IBV_EVENT_PKEY_CHANGE, 7},
		   {IBV_EVENT_GID_CHANGE, 8}, {IBV_EVENT_CLIENT_REREGISTER, 9}};
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t types[] = {8, 9};
	event_t e;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, NULL, sizeof(types), types, 1), 0);
	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++) {
		mlx5swi_event_port(&mlx5swi_context_of(ctx[0])->dev->port, map[i].type);
		assert_int_equal(get(ch, &e), 72);
		assert_int_equal(e.eqe[1], 9);
		assert_int_equal(e.eqe[3], map[i].sub_type);
		assert_int_equal(e.eqe[0x28], 0x10);
	}
	mlx5swi_event_device(mlx5swi_context_of(ctx[0])->dev, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(get(ch, &e), 72);
	assert_int_equal(e.eqe[1], 8);
}

static void channel_without_data_merges(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(OMIT);
	uint16_t type = 0x05;
	event_t e;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, sizeof(type), &type, 9), 0);
	mlx5swi_event_qp(&qp, 5);
	mlx5swi_event_qp(&qp, 5);
	assert_int_equal(get(ch, &e), 8);
	assert_int_equal(e.cookie, 9);
	assert_int_equal(get(ch, &e), -1);
	mlx5swi_event_qp(&qp, 5); /* anew */
	assert_int_equal(get(ch, &e), 8);
}

static void channel_with_data_overruns(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t type = 0x05;
	event_t e;
	unsigned n = 0;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, sizeof(type), &type, 9), 0);
	for (int i = 0; i < 1025; i++)
		mlx5swi_event_qp(&qp, 5);
	assert_int_equal(get(ch, &e), -1);
	assert_int_equal(errno, EOVERFLOW);
	while (get(ch, &e) == 72)
		n++;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(n, 1024);
}

static void channel_refuses(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t of_qp = 0x05, of_cq = 0x04, of_port = 9, unknown = 0x77;
	uint64_t cookie;

	(void)state;
	assert_null(mlx5dv_devx_create_event_channel(
		ctx[0], (enum mlx5dv_devx_create_event_channel_flags)2));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 2, &of_cq, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &cq_obj, 2, &of_qp, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, NULL, 2, &of_qp, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 2, &of_port, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 2, &unknown, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 0, &of_qp, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 1, &of_qp, 0), EINVAL);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 2, &of_qp, 0), 0);
	mlx5swi_event_qp(&qp, 5);
	assert_int_equal(
		mlx5dv_devx_get_event(ch, (struct mlx5dv_devx_async_event_hdr *)&cookie, 8), -1);
	assert_int_equal(errno, EINVAL);
}

static void subscription_by_descriptor(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	int fd = eventfd(0, EFD_CLOEXEC);
	eventfd_t n;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event_fd(ch, fd, &qp_obj, 0x05), 0);
	mlx5swi_event_qp(&qp, 5);
	mlx5swi_event_qp(&qp, 5);
	assert_int_equal(eventfd_read(fd, &n), 0);
	assert_int_equal(n, 2);
	assert_false(is_readable(ch->fd));
	close(fd);
}

static void object_that_ends_takes_its_subscriptions_along(void **state)
{
	struct mlx5dv_devx_event_channel *with = make_channel(0), *without = make_channel(OMIT);
	uint16_t type = 0x05;
	event_t e;

	(void)state;
	mlx5dv_devx_subscribe_devx_event(with, &qp_obj, 2, &type, 1);
	mlx5dv_devx_subscribe_devx_event(without, &qp_obj, 2, &type, 1);
	mlx5swi_event_qp(&qp, 5);
	mlx5swi_events_forget(&qp);
	mlx5swi_event_qp(&qp, 5);
	assert_int_equal(get(with, &e), 72); /* what was said stays said */
	assert_int_equal(get(with, &e), -1);
	assert_int_equal(get(without, &e), -1);
	mlx5dv_devx_destroy_event_channel(with);
	assert_int_equal(ibv_close_device(ctx[0]), EBUSY);
	mlx5dv_devx_destroy_event_channel(without);
	assert_int_equal(ibv_close_device(ctx[0]), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
#define PROCESS_TEST(f) cmocka_unit_test_setup_teardown(f, setup_process, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(port_events_reach_every_context),
		TEST(device_fatal_reaches_contexts),
		TEST(descriptor_polls_while_events_wait),
		TEST(descriptors_serve_again),
		TEST(events_of_verbs_objects),
		TEST(destroy_drops_events_that_were_not_got),
		TEST(acknowledging_twice_does_no_harm),
		TEST(s5_devx_events_come_by_channel_only),
		TEST(channel_gives_events_of_cqs),
		TEST(channel_gives_events_of_ports),
		TEST(channel_without_data_merges),
		TEST(channel_with_data_overruns),
		TEST(channel_refuses),
		TEST(subscription_by_descriptor),
		TEST(object_that_ends_takes_its_subscriptions_along),
		PROCESS_TEST(get_waits_for_an_event),
		PROCESS_TEST(s4_destroy_waits_for_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
