/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Events of the NIC other than completions. Events of ports and of the device arrive on the
 * context; those of queues on a channel of their own, since DevX created the queues.
 *
 * Events do not end waits: a port that is down does not mean that a PE failed, and queue pairs
 * fail when their retries are used up. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <shmem_host/device.h>
#include "base/thread.h"
#include "ib/failover.h"

/* Bytes of an event queue's entry. Source  Adapters PRM, event queue entry. */
#define EQE_NBYTES 64
#define EQE_TYPE 1
#define EQE_CQ_SYNDROME 0x2b

enum eqe_type {
	EQE_CQ_ERROR = 0x04,
	EQE_WQ_CATAS = 0x05,
	EQE_WQ_INVALID = 0x10,
	EQE_WQ_ACCESS = 0x11,
};

enum { WAKE, ASYNC, DEVX, ASYNC_STANDBY, N_FDS }; /* DEVX: of links, on the home port */

struct shmemhi_nic_events {
	const shmemh_t *job;
	shmemhi_ib_t *ib;
	struct mlx5dv_devx_event_channel *channel; /* NULL: there is none */
	struct pollfd fds[N_FDS];
	pthread_t thread;
	int has_thread;
	char first[SHMEMHI_ERR_NBYTES]; /* line that is an error */
	_Atomic int has_first;          /* stored after the text, which does not change then */
};

/* ---- in the thread ---- */

/* Log one line, and keep the first one that is an error. */
static void say(shmemhi_nic_events_t *events, int which, int level, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

static void say(shmemhi_nic_events_t *events, int which, int level, const char *fmt, ...)
{
	const shmemhi_open_port_t *port =
		shmemhi_port_of_column(events->ib, which == ASYNC_STANDBY);
	char text[SHMEMHI_ERR_NBYTES];
	int used = snprintf(text, sizeof text, "NIC %s port %d: ", port->name, port->number);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, sizeof text - (size_t)used, fmt, args);
	va_end(args);
	shmemhi_log(&events->job->log, level, "%s", text);
	if (level != SHMEMHI_ERROR ||
	    atomic_load_explicit(&events->has_first, memory_order_relaxed))
		return;
	memcpy(events->first, text, sizeof text);
	atomic_store_explicit(&events->has_first, 1, memory_order_release);
}

static const struct {
	enum ibv_event_type type;
	int level;
	const char *text;
	const char *with_failover; /* in place of it; NULL: the same */
} async_kinds[] = {
	{IBV_EVENT_PORT_ERR, SHMEMHI_WARN,
	 "the port is down (PORT_ERR): requests wait for it, and fail when their retries are used "
	 "up",
	 "the port is down (PORT_ERR): channels leave it if the other port is up"},
	{IBV_EVENT_PORT_ACTIVE, SHMEMHI_WARN, "the port is up again (PORT_ACTIVE)", NULL},
	{IBV_EVENT_LID_CHANGE, SHMEMHI_WARN,
	 "the port's LID changed (LID_CHANGE): queue pairs of others that use the old one fail",
	 NULL},
	{IBV_EVENT_GID_CHANGE, SHMEMHI_WARN,
	 "the port's addresses changed (GID_CHANGE): queue pairs that use one that is gone fail",
	 NULL},
	{IBV_EVENT_DEVICE_FATAL, SHMEMHI_ERROR,
	 "the NIC failed (DEVICE_FATAL): nothing goes through it until it is reset and the job is "
	 "started anew",
	 NULL},
};

static const char *async_text(const shmemhi_ib_t *ib, size_t i)
{
	return ib->failover && async_kinds[i].with_failover ? async_kinds[i].with_failover
							    : async_kinds[i].text;
}

static bool is_of_port(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_PORT_ERR:
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return true;
	default:
		return false;
	}
}

static void on_async(shmemhi_nic_events_t *events, int which, const struct ibv_async_event *event)
{
	const shmemhi_ib_t *ib = events->ib;
	size_t column = which == ASYNC_STANDBY;

	if (is_of_port(event->event_type) &&
	    event->element.port_num != shmemhi_port_of_column(ib, column)->number)
		return;
	if (ib->failover)
		shmemhi_failover_note(ib->failover, column,
				      event->event_type == IBV_EVENT_DEVICE_FATAL);
	for (size_t i = 0; i < sizeof async_kinds / sizeof async_kinds[0]; i++)
		if (async_kinds[i].type == event->event_type) {
			say(events, which, async_kinds[i].level, "%s", async_text(ib, i));
			return;
		}
	say(events, which, SHMEMHI_WARN, "event %d: %s", (int)event->event_type,
	    ib->lib.event_type_str(event->event_type));
}

/* The meaning of events of a queue pair; those of a CQ have more fields. */
static const struct {
	uint32_t type;
	const char *direction, *text;
} qp_kinds[] = {
	{EQE_WQ_ACCESS, "from",
	 "refused a request of that PE (WQ_ACCESS): unknown key, or an address outside its memory; "
	 "it is in ERR, in both directions"},
	{EQE_WQ_INVALID, "from",
	 "refused a request of that PE (WQ_INVAL_REQ): operation, length or alignment; "
	 "it is in ERR, in both directions"},
	{EQE_WQ_CATAS, "to", "failed (WQ_CATAS): the NIC cannot use its queue any more"},
};

static void on_link(shmemhi_nic_events_t *events, shmemhi_link_t *link,
		    const uint8_t eqe[EQE_NBYTES])
{
	uint32_t none = 0, type = eqe[EQE_TYPE];
	int i = (int)(link - events->ib->links), n_pes = events->job->n_pes;
	int k = i / n_pes, pe = i % n_pes;

	__atomic_compare_exchange_n(&link->event, &none, type, 0, __ATOMIC_RELEASE,
				    __ATOMIC_RELAXED);
	if (type == EQE_CQ_ERROR) {
		say(events, DEVX, SHMEMHI_ERROR,
		    "CQ 0x%x, channel %d to PE %d, failed (CQ_ERROR, syndrome 0x%02x): no "
		    "completions come any more",
		    link->cqn, k, pe, eqe[EQE_CQ_SYNDROME]);
		return;
	}
	for (size_t n = 0; n < sizeof qp_kinds / sizeof qp_kinds[0]; n++)
		if (qp_kinds[n].type == type) {
			say(events, DEVX, SHMEMHI_ERROR, "QP 0x%x, channel %d %s PE %d, %s",
			    link->qpn, k, qp_kinds[n].direction, pe, qp_kinds[n].text);
			return;
		}
	say(events, DEVX, SHMEMHI_WARN, "QP 0x%x, channel %d to PE %d: event 0x%02x", link->qpn, k,
	    pe, type);
}

/* Stop watching a descriptor that only returns errors: it would keep the thread busy. */
static void stop_watching(shmemhi_nic_events_t *events, int which, const char *why)
{
	events->fds[which].fd = -1;
	say(events, which, SHMEMHI_WARN, "events of %s cannot be read any more: %s",
	    which == DEVX ? "queue pairs" : "the port", why);
}

static void drain_async(shmemhi_nic_events_t *events, int which)
{
	const shmemhi_open_port_t *port =
		shmemhi_port_of_column(events->ib, which == ASYNC_STANDBY);
	const shmemhi_ib_lib_t *lib = &events->ib->lib;
	struct ibv_async_event event;

	while (lib->get_async_event(port->context, &event) == 0) {
		on_async(events, which, &event);
		lib->ack_async_event(&event);
	}
	if (errno != EAGAIN)
		stop_watching(events, which, strerror(errno));
}

static void drain_channel(shmemhi_nic_events_t *events, int which)
{
	const size_t n_links = (size_t)events->ib->n_channels * (size_t)events->job->n_pes;
	uint64_t buffer[1 + EQE_NBYTES / 8]; /* cookie: which link; EQE */
	struct mlx5dv_devx_async_event_hdr *event = (struct mlx5dv_devx_async_event_hdr *)buffer;

	for (;;) {
		memset(buffer, 0, sizeof buffer);
		if (events->ib->lib.get_event(events->channel, event, sizeof buffer) > 0) {
			if (event->cookie < n_links)
				on_link(events, &events->ib->links[event->cookie], event->out_data);
		} else if (errno == EOVERFLOW) {
			say(events, DEVX, SHMEMHI_WARN,
			    "events of queue pairs were lost: too many");
		} else {
			break;
		}
	}
	if (errno != EAGAIN)
		stop_watching(events, which, strerror(errno));
}

static void *watch_main(void *arg)
{
	static void (*const drain[N_FDS])(shmemhi_nic_events_t * events, int which) = {
		[ASYNC] = drain_async, [DEVX] = drain_channel, [ASYNC_STANDBY] = drain_async};
	shmemhi_nic_events_t *events = arg;
	struct pollfd *fds = events->fds;

	for (;;) {
		if (poll(fds, N_FDS, -1) < 0)
			continue; /* a signal, or no memory in the kernel: try again */
		if (fds[WAKE].revents)
			return NULL;
		for (int i = ASYNC; i < N_FDS; i++) {
			if (fds[i].revents & POLLIN)
				drain[i](events, i);
			if (fds[i].fd >= 0 && fds[i].revents & (POLLERR | POLLHUP | POLLNVAL))
				stop_watching(events, i, "the device is gone");
		}
	}
}

/* ---- in the caller's thread ---- */

static int subscribe(shmemhi_nic_events_t *events, const shmemhi_link_t *link)
{
	static const uint16_t qp_types[] = {EQE_WQ_CATAS, EQE_WQ_INVALID, EQE_WQ_ACCESS};
	static const uint16_t cq_types[] = {EQE_CQ_ERROR};
	const shmemhi_ib_lib_t *lib = &events->ib->lib;
	uint64_t cookie = (uint64_t)(link - events->ib->links);
	uint16_t types[sizeof qp_types / sizeof qp_types[0]];
	int error;

	memcpy(types, qp_types, sizeof qp_types);
	error = lib->subscribe_event(events->channel, link->qp, sizeof qp_types, types, cookie);
	memcpy(types, cq_types, sizeof cq_types);
	if (!error)
		error = lib->subscribe_event(events->channel, link->cq, sizeof cq_types, types,
					     cookie);
	return error;
}

/* A job can work without this channel: kernels get failed requests as error CQEs. Events add
 * detail, and notify the target too. */
static void open_channel(shmemhi_nic_events_t *events)
{
	const size_t n_links = (size_t)events->ib->n_channels * (size_t)events->job->n_pes;
	const shmemhi_ib_t *ib = events->ib;
	int error = 0;

	events->channel = ib->lib.create_event_channel(
		ib->home_port.context, (enum mlx5dv_devx_create_event_channel_flags)0);
	if (!events->channel)
		error = errno;
	for (size_t i = 0; !error && i < n_links; i++)
		if (ib->links[i].qp)
			error = subscribe(events, &ib->links[i]);
	if (error)
		say(events, DEVX, SHMEMHI_WARN, "events of queue pairs are not reported: %s",
		    strerror(error));
}

/* Reading must not block: an event may be gone between poll and read. */
static struct pollfd input(int fd)
{
	if (fd >= 0)
		fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	return (struct pollfd){.fd = fd, .events = POLLIN};
}

static int start(shmemhi_nic_events_t *events)
{
	const struct ibv_context *standby =
		events->ib->failover ? shmemhi_port_of_column(events->ib, 1)->context : NULL;
	int error;

	events->fds[WAKE] = input(eventfd(0, EFD_CLOEXEC));
	if (events->fds[WAKE].fd < 0)
		return errno;
	open_channel(events);
	events->fds[ASYNC] = input(events->ib->home_port.context->async_fd);
	events->fds[DEVX] = input(events->channel ? events->channel->fd : -1);
	events->fds[ASYNC_STANDBY] = input(standby ? standby->async_fd : -1);
	error = shmemhi_thread_start(&events->thread, "shmem_nic_event", watch_main, events);
	events->has_thread = !error;
	return error;
}

int shmemhi_nic_events_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	int error;

	if (shmemhi_ib_is_emulated(ib))
		return SHMEMH_OK;
	ib->nic_events = calloc(1, sizeof *ib->nic_events);
	if (!ib->nic_events)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "NIC %s: no host memory to watch it", ib->home_port.name);
	ib->nic_events->job = job;
	ib->nic_events->ib = ib;
	error = start(ib->nic_events);
	if (!error)
		return SHMEMH_OK;
	shmemhi_nic_events_close(job, ib);
	return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
			    "NIC %s: cannot watch it: no thread or descriptor: %s",
			    ib->home_port.name, strerror(error));
}

void shmemhi_nic_events_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_nic_events_t *events = ib->nic_events;

	(void)job;
	if (!events)
		return;
	if (events->has_thread) {
		eventfd_write(events->fds[WAKE].fd, 1);
		pthread_join(events->thread, NULL);
	}
	if (events->channel)
		ib->lib.destroy_event_channel(events->channel);
	if (events->fds[WAKE].fd >= 0)
		close(events->fds[WAKE].fd);
	free(events);
	ib->nic_events = NULL;
}

const char *shmemh_nic_event(const shmemh_t *job)
{
	const shmemhi_nic_events_t *events;

	if (shmemhi_refused(job, "nic_event"))
		return "";
	events = job->ib ? job->ib->nic_events : NULL;
	if (!events || !atomic_load_explicit(&events->has_first, memory_order_acquire))
		return "";
	return events->first;
}
