/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Event channels of DevX: which events they return, byte by byte. */
#include "verbs.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define OMIT MLX5DV_DEVX_CREATE_EVENT_CHANNEL_FLAGS_OMIT_EV_DATA

typedef struct event {
	uint64_t cookie;
	uint8_t eqe[64];
} event_t;

static int is_readable(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void expect_no_event(struct ibv_context *c)
{
	struct ibv_async_event e;

	errno = 0;
	assert_int_equal(ibv_get_async_event(c, &e), -1);
	assert_int_equal(errno, EAGAIN);
}

/* Objects of DevX, with the fields that events need. */

static mlx5swi_qp_t qp;
static mlx5swi_cq_t cq;
static mlx5swi_umem_t umem;
static struct mlx5dv_devx_obj qp_obj = {.qp = &qp}, cq_obj = {.cq = &cq};

static struct mlx5dv_devx_event_channel *make_channel(int flags)
{
	struct mlx5dv_devx_event_channel *ch = mlx5dv_devx_create_event_channel(
		ctx, (enum mlx5dv_devx_create_event_channel_flags)flags);

	assert_non_null(ch);
	qp.ctx = cq.ctx = mlx5swi_context_of(ctx);
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

static void devx_events_come_by_channel_only(void **state)
{
	struct mlx5dv_devx_event_channel *ch = make_channel(0);
	uint16_t types[] = {0x05, 0x10, 0x11};
	event_t e;

	(void)state;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, sizeof(types), types, 77),
			 0);
	mlx5swi_event_qp(&qp, 0x02); /* not subscribed */
	mlx5swi_event_qp(&qp, 0x11);
	expect_no_event(ctx);
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

static void channel_returns_events_of_cqs(void **state)
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
	expect_no_event(ctx);
}

static void channel_returns_events_of_ports(void **state)
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
		mlx5swi_event_port(&mlx5swi_context_of(ctx)->dev->port, map[i].type);
		assert_int_equal(get(ch, &e), 72);
		assert_int_equal(e.eqe[1], 9);
		assert_int_equal(e.eqe[3], map[i].sub_type);
		assert_int_equal(e.eqe[0x28], 0x10);
	}
	mlx5swi_event_device(mlx5swi_context_of(ctx)->dev, IBV_EVENT_DEVICE_FATAL);
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
	mlx5swi_event_qp(&qp, 5); /* a new event */
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
	uint16_t many[33];
	uint64_t cookie;

	(void)state;
	for (int i = 0; i < 33; i++)
		many[i] = of_qp;
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 64, many, 0), 0);
	assert_int_equal(mlx5dv_devx_subscribe_devx_event(ch, &qp_obj, 66, many, 0), EINVAL);
	assert_null(mlx5dv_devx_create_event_channel(
		ctx, (enum mlx5dv_devx_create_event_channel_flags)2));
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

static void destroyed_object_loses_its_subscriptions(void **state)
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
	assert_int_equal(get(with, &e), 72); /* an event that was queued remains */
	assert_int_equal(get(with, &e), -1);
	assert_int_equal(get(without, &e), -1);
	mlx5dv_devx_destroy_event_channel(with);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), EBUSY);
	mlx5dv_devx_destroy_event_channel(without);
	assert_int_equal(ibv_close_device(ctx), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fabric_setup, fabric_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(devx_events_come_by_channel_only),
		TEST(channel_returns_events_of_cqs),
		TEST(channel_returns_events_of_ports),
		TEST(channel_without_data_merges),
		TEST(channel_with_data_overruns),
		TEST(channel_refuses),
		TEST(subscription_by_descriptor),
		TEST(destroyed_object_loses_its_subscriptions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
