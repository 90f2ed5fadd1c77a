/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events of the NIC are logged, kept if they are fatal, and acknowledged: with a library that
 * returns the test's own events, which real adapters rarely send, and with the software adapter. */
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <cmocka.h>
#include <shmem_host/device.h>
#include "ib/channels.h"
#include "ib/failover.h"
#include "links_job.h"
#include "stderr_log.h"
#include "threads.h"

#define N_PES 3
#define N_LINKS (2 * N_PES)
#define MAX_EVENTS 8

/* A library whose events are those in the lists; a failure ends a list. */
static struct {
	shmemh_t job;
	shmemhi_ib_t ib;
	struct ibv_context context;
	struct mlx5dv_devx_event_channel channel;
	shmemhi_link_t links[N_LINKS];
	pthread_mutex_t lock;
	struct ibv_async_event async[MAX_EVENTS];
	struct {
		uint64_t cookie;
		uint8_t type, syndrome;
		int error; /* not 0: get_event fails with this errno value */
	} devx[MAX_EVENTS];
	int n_async, n_devx, async_error; /* async_error: when there are no more events */
	int n_acked, next_async, next_devx;
	int channel_error, subscribe_error;
	int n_subscribed, wrong;
} t;

static int fake_get_async(struct ibv_context *context, struct ibv_async_event *event)
{
	int left;

	pthread_mutex_lock(&t.lock);
	t.wrong += context != &t.context || t.n_acked != t.next_async;
	left = t.next_async < t.n_async;
	if (left)
		*event = t.async[t.next_async++];
	errno = t.async_error ? t.async_error : EAGAIN;
	pthread_mutex_unlock(&t.lock);
	return left ? 0 : -1;
}

static void fake_ack(struct ibv_async_event *event)
{
	(void)event;
	pthread_mutex_lock(&t.lock);
	t.n_acked++;
	pthread_mutex_unlock(&t.lock);
}

static struct mlx5dv_devx_event_channel *
fake_create(struct ibv_context *context, enum mlx5dv_devx_create_event_channel_flags flags)
{
	t.wrong += context != &t.context || flags != 0;
	errno = t.channel_error;
	return t.channel_error ? NULL : &t.channel;
}

static void fake_destroy(struct mlx5dv_devx_event_channel *channel)
{
	t.wrong += channel != &t.channel;
	close(channel->fd);
}

/* For each link first the queue pair, then the completion queue. */
static int fake_subscribe(struct mlx5dv_devx_event_channel *channel, struct mlx5dv_devx_obj *obj,
			  uint16_t nbytes, uint16_t *types, uint64_t cookie)
{
	static const uint16_t qp[] = {0x05, 0x10, 0x11}, cq[] = {0x04};
	int is_cq = t.n_subscribed % 2, i = t.n_subscribed / 2;

	if (t.subscribe_error)
		return t.subscribe_error;
	t.n_subscribed++;
	t.wrong += channel != &t.channel || cookie != (uint64_t)i ||
		   obj != (is_cq ? t.links[i].cq : t.links[i].qp) ||
		   nbytes != (is_cq ? sizeof cq : sizeof qp) ||
		   memcmp(types, is_cq ? cq : qp, nbytes) != 0;
	return 0;
}

static ssize_t fake_get_event(struct mlx5dv_devx_event_channel *channel,
			      struct mlx5dv_devx_async_event_hdr *event, size_t nbytes)
{
	ssize_t n = -1;

	pthread_mutex_lock(&t.lock);
	t.wrong += channel != &t.channel || nbytes != 72;
	errno = EAGAIN;
	if (t.next_devx < t.n_devx && t.devx[t.next_devx].error) {
		errno = t.devx[t.next_devx++].error;
	} else if (t.next_devx < t.n_devx) {
		memset(event, 0, nbytes);
		event->cookie = t.devx[t.next_devx].cookie;
		event->out_data[1] = t.devx[t.next_devx].type;
		event->out_data[0x2b] = t.devx[t.next_devx++].syndrome;
		n = (ssize_t)nbytes;
	}
	pthread_mutex_unlock(&t.lock);
	return n;
}

static const char *fake_type_str(enum ibv_event_type type)
{
	(void)type;
	return "something else";
}

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof t);
	t.job.pid = getpid();
	pthread_mutex_init(&t.lock, NULL);
	t.job.n_pes = N_PES;
	t.job.log = (shmemhi_log_t){SHMEMHI_WARN, 1, N_PES};
	t.job.ib = &t.ib;
	t.ib.home_port =
		(shmemhi_open_port_t){.name = "mlx5_7", .number = 2, .context = &t.context};
	t.ib.lib = (shmemhi_ib_lib_t){.get_async_event = fake_get_async,
				      .ack_async_event = fake_ack,
				      .create_event_channel = fake_create,
				      .destroy_event_channel = fake_destroy,
				      .subscribe_event = fake_subscribe,
				      .get_event = fake_get_event,
				      .event_type_str = fake_type_str};
	t.ib.n_channels = N_LINKS / N_PES;
	t.ib.links = t.links;
	for (int i = 0; i < N_LINKS; i++) {
		t.links[i].qpn = 0x1000 + (uint32_t)i;
		t.links[i].cqn = 0x400 + (uint32_t)i;
		t.links[i].qp = (struct mlx5dv_devx_obj *)&t.links[i];
		t.links[i].cq = (struct mlx5dv_devx_obj *)&t.links[i].cq;
	}
	t.context.async_fd = eventfd(0, EFD_CLOEXEC);
	t.channel.fd = eventfd(0, EFD_CLOEXEC);
	log_begin();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	shmemhi_nic_events_close(&t.job, &t.ib);
	log_end();
	close(t.context.async_fd);
	return t.wrong != 0;
}

static void open_watch(void)
{
	assert_int_equal(shmemhi_nic_events_open(&t.job, &t.ib), SHMEMH_OK);
}

static void close_watch(void)
{
	shmemhi_nic_events_close(&t.job, &t.ib);
	assert_null(t.ib.nic_events);
}

static void expect_line(const char *words)
{
	if (!log_has(words))
		fail_msg("no line with: %s", words);
}

/* Signal the descriptors once; they stay readable, as if an event remained. */
static void tell(void)
{
	eventfd_write(t.context.async_fd, 1);
	eventfd_write(t.channel.fd, 1);
}

static void thread_ends_at_close(void **state)
{
	(void)state;
	open_watch();
	assert_int_equal(n_threads("shmem_nic_event"), 1);
	assert_int_equal(t.n_subscribed, 2 * N_LINKS);
	assert_true(fcntl(t.context.async_fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(t.channel.fd, F_GETFL) & O_NONBLOCK);
	close_watch();
	wait_for_no_thread("shmem_nic_event");
	close_watch(); /* a second close has no effect */
	assert_string_equal(log_text(), "");
}

static void no_thread_where_a_scheduler_drives(void **state)
{
	int fd = t.context.async_fd;

	(void)state;
	t.context.async_fd = -1;
	open_watch();
	assert_null(t.ib.nic_events);
	assert_int_equal(n_threads("shmem_nic_event"), 0);
	assert_int_equal(t.n_subscribed, 0);
	assert_string_equal(shmemh_nic_event(&t.job), "");
	t.context.async_fd = fd;
	close(t.channel.fd);
}

static struct ibv_async_event of_port(enum ibv_event_type type, int port)
{
	return (struct ibv_async_event){.event_type = type, .element.port_num = port};
}

static void events_of_ports_inform(void **state)
{
	(void)state;
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ERR, 1); /* another port */
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ERR, 2);
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ACTIVE, 2);
	t.async[t.n_async++] = of_port(IBV_EVENT_LID_CHANGE, 2);
	t.async[t.n_async++] = of_port(IBV_EVENT_GID_CHANGE, 2);
	t.async[t.n_async++] = of_port(IBV_EVENT_SM_CHANGE, 2);
	open_watch();
	tell();
	expect_line("WARN NIC mlx5_7 port 2: event 13: something else");
	assert_int_equal(log_count("WARN NIC mlx5_7 port 2: the port is down (PORT_ERR)"), 1);
	assert_int_equal(log_count("PORT_ACTIVE"), 1);
	assert_int_equal(log_count("LID_CHANGE"), 1);
	assert_int_equal(log_count("GID_CHANGE"), 1);
	assert_int_equal(log_count("\n"), 5);
	close_watch();
	assert_int_equal(t.n_acked, t.n_async);
	assert_string_equal(shmemh_nic_event(&t.job), "");
}

/* With fail-over channels do not wait on a port that is down. */
static void port_with_failover(void **state)
{
	static shmemhi_failover_t failover;

	(void)state;
	t.ib.failover = &failover;
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ERR, 2);
	open_watch();
	tell();
	expect_line("WARN NIC mlx5_7 port 2: the port is down (PORT_ERR): channels leave it if the "
		    "other port is up\n");
	close_watch();
	assert_int_equal(log_count("retries"), 0);
	assert_int_equal(atomic_load(&failover.ports[0].n_events), 1);
}

static void first_fatal_event_is_kept(void **state)
{
	(void)state;
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ERR, 2);
	t.async[t.n_async++] = (struct ibv_async_event){.event_type = IBV_EVENT_DEVICE_FATAL};
	open_watch();
	tell();
	expect_line("ERROR NIC mlx5_7 port 2: the NIC failed (DEVICE_FATAL)");
	t.devx[0].type = 0x05;
	pthread_mutex_lock(&t.lock);
	t.n_devx = 1;
	pthread_mutex_unlock(&t.lock);
	tell();
	expect_line("WQ_CATAS");
	assert_ptr_equal(strstr(shmemh_nic_event(&t.job), "NIC mlx5_7 port 2: the NIC failed"),
			 shmemh_nic_event(&t.job));
}

static void events_of_queues(void **state)
{
	(void)state;
	t.n_devx = 6;
	t.devx[0].cookie = 1;
	t.devx[0].type = 0x10;
	t.devx[1].cookie = 5;
	t.devx[1].type = 0x05;
	t.devx[2].cookie = 3;
	t.devx[2].type = 0x04;
	t.devx[2].syndrome = 0x02;
	t.devx[3].cookie = N_LINKS; /* not one of our links */
	t.devx[3].type = 0x05;
	t.devx[4].cookie = 5;
	t.devx[4].type = 0x11;
	t.devx[5].type = 0x77;
	open_watch();
	tell();
	expect_line("WARN NIC mlx5_7 port 2: QP 0x1000, channel 0 to PE 0: event 0x77");
	expect_line("ERROR NIC mlx5_7 port 2: QP 0x1001, channel 0 from PE 1, refused a request of "
		    "that PE (WQ_INVAL_REQ)");
	expect_line("ERROR NIC mlx5_7 port 2: QP 0x1005, channel 1 to PE 2, failed (WQ_CATAS)");
	expect_line("ERROR NIC mlx5_7 port 2: CQ 0x403, channel 1 to PE 0, failed (CQ_ERROR, "
		    "syndrome 0x02)");
	expect_line("ERROR NIC mlx5_7 port 2: QP 0x1005, channel 1 from PE 2, refused a request of "
		    "that PE (WQ_ACCESS)");
	assert_int_equal(log_count("\n"), 5);
	close_watch();
	assert_int_equal(t.links[1].event, 0x10);
	assert_int_equal(t.links[3].event, 0x04);
	assert_int_equal(t.links[5].event, 0x05); /* the first event */
	assert_int_equal(t.links[2].event, 0);
}

static void events_that_are_lost(void **state)
{
	(void)state;
	t.n_devx = 2;
	t.devx[0].error = EOVERFLOW;
	t.devx[1].type = 0x05;
	open_watch();
	tell();
	expect_line("WARN NIC mlx5_7 port 2: events of queue pairs were lost");
	expect_line("WQ_CATAS"); /* the thread continues */
}

/* The descriptors stay readable: without giving up, the thread would log lines endlessly. */
static void failing_event_descriptors(void **state)
{
	(void)state;
	t.async_error = EIO;
	t.n_devx = 1;
	t.devx[0].error = ENODEV;
	open_watch();
	tell();
	expect_line("WARN NIC mlx5_7 port 2: events of the port cannot be read any more");
	expect_line("WARN NIC mlx5_7 port 2: events of queue pairs cannot be read any more");
	usleep(20000);
	assert_int_equal(log_count("\n"), 2);
}

static void no_channel(void **state)
{
	(void)state;
	t.channel_error = ENOSYS;
	t.async[t.n_async++] = of_port(IBV_EVENT_PORT_ERR, 2);
	open_watch();
	expect_line("WARN NIC mlx5_7 port 2: events of queue pairs are not reported");
	tell();
	expect_line("PORT_ERR"); /* events of the port are still reported */
	close_watch();
	assert_int_equal(log_count("\n"), 2);
	close(t.channel.fd);
}

static void no_subscription(void **state)
{
	(void)state;
	t.subscribe_error = EINVAL;
	open_watch();
	expect_line("events of queue pairs are not reported");
	assert_int_equal(log_count("\n"), 1);
}

/* On the software adapter. */

static int with_watch(shmemh_t *job)
{
	job->log.level = SHMEMHI_WARN;
	PE_CHECK(plug_in(job) == 0);
	PE_CHECK(shmemhi_links_open(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_links_connect(job, job->ib) == SHMEMH_OK);
	PE_CHECK(shmemhi_nic_events_open(job, job->ib) == SHMEMH_OK);
	return 0;
}

static int end_watch(shmemh_t *job)
{
	shmemhi_nic_events_close(job, job->ib);
	return unplug(job);
}

static int pe_port(shmemh_t *job)
{
	PE_CHECK(with_watch(job) == 0);
	PE_CHECK(control(job, "port down mlx5_0") == 0);
	PE_CHECK(log_has("WARN NIC mlx5_0 port 1: the port is down (PORT_ERR)"));
	PE_CHECK(control(job, "port up mlx5_0") == 0);
	PE_CHECK(log_has("WARN NIC mlx5_0 port 1: the port is up again (PORT_ACTIVE)"));
	PE_CHECK(control(job, "gid change mlx5_0") == 0);
	PE_CHECK(log_has("GID_CHANGE"));
	PE_CHECK(shmemh_nic_event(job)[0] == '\0');
	PE_CHECK(!shmemhi_broken(job));
	return end_watch(job);
}

static int pe_fatal(shmemh_t *job)
{
	PE_CHECK(with_watch(job) == 0);
	PE_CHECK(control(job, "device fatal mlx5_0") == 0);
	PE_CHECK(log_has("ERROR NIC mlx5_0 port 1: the NIC failed (DEVICE_FATAL)"));
	while (!shmemh_nic_event(job)[0])
		usleep(100);
	PE_CHECK(strstr(shmemh_nic_event(job), "DEVICE_FATAL"));
	PE_CHECK(!shmemhi_broken(job));
	return end_watch(job);
}

/* A WRITE with an unknown key, from channel 1 to itself. */
static void write_by_no_key(const shmemhi_link_t *link)
{
	uint32_t wqe[16] = {[0] = htobe32(SHMEMD_MLX5_RDMA_WRITE), [2] = htobe32(8)};

	wqe[1] = htobe32(link->qpn << 8 | 3);
	wqe[6] = htobe32(0xdeadbe00);
	wqe[8] = htobe32(SHMEMD_MLX5_INLINE | 8);
	memcpy(link->queue, wqe, sizeof wqe);
	__atomic_store_n(shmemhi_send_record(link), htobe32(1), __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)link->host_doorbell,
			 htobe64((uint64_t)1 << 40 | link->qpn << 8), __ATOMIC_SEQ_CST);
}

static int pe_refuses(shmemh_t *job)
{
	shmemh_channel_counters_t c = {.size = sizeof c};
	uint64_t deadline = shmemhi_now() + DEADLINE_NS;

	PE_CHECK(with_watch(job) == 0);
	PE_CHECK(shmemhi_channels_open(job, job->ib) == SHMEMH_OK);
	write_by_no_key(shmemhi_link(job->ib, job, 1, 0));
	while (!shmemh_nic_event(job)[0]) {
		PE_CHECK(shmemhi_now() < deadline);
		mlx5sw_step();
		usleep(10);
	}
	PE_CHECK(strstr(shmemh_nic_event(job), "channel 1 from PE 0, refused a request of that PE "
					       "(WQ_ACCESS)"));
	PE_CHECK(shmemh_channel_counters(job, 0, 1, &c) == SHMEMH_OK && c.event == 0x11);
	PE_CHECK(shmemh_channel_counters(job, 0, 0, &c) == SHMEMH_OK && c.event == 0);
	shmemhi_channels_close(job, job->ib);
	return end_watch(job);
}

static void on_the_adapter(pe_main_t pe_main)
{
	const world_kind_t kind = {.n_pes = 1};
	int failed;

	start_adapters(MLX5SW_ETHERNET, 2);
	log_begin();
	failed = run_world(&kind, pe_main);
	log_end();
	assert_int_equal(failed, 0);
	stop_adapters();
}

static void adapter_port_down_and_up(void **state)
{
	(void)state;
	on_the_adapter(pe_port);
}

static void adapter_fails(void **state)
{
	(void)state;
	on_the_adapter(pe_fatal);
}

static void adapter_refuses_a_request(void **state)
{
	(void)state;
	on_the_adapter(pe_refuses);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(thread_ends_at_close),
		TEST(no_thread_where_a_scheduler_drives),
		TEST(events_of_ports_inform),
		TEST(port_with_failover),
		TEST(first_fatal_event_is_kept),
		TEST(events_of_queues),
		TEST(events_that_are_lost),
		TEST(failing_event_descriptors),
		TEST(no_channel),
		TEST(no_subscription),
		cmocka_unit_test(adapter_port_down_and_up),
		cmocka_unit_test(adapter_fails),
		cmocka_unit_test(adapter_refuses_a_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
