/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fault/links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"

#define N_EVENTS 64

void shmemhi_fault_key(const shmemhi_fault_links_t *links, int pe, shmemhi_secret_t *key)
{
	unsigned char bytes[sizeof links->secret + sizeof(int32_t)];
	int32_t number = pe;

	memcpy(bytes, links->secret, sizeof links->secret);
	memcpy(bytes + sizeof links->secret, &number, sizeof number);
	shmemhi_wire_key(bytes, sizeof bytes, key);
	sodium_memzero(bytes, sizeof bytes);
}

int shmemhi_fault_watch_fd(shmemhi_fault_links_t *links, int fd, uint64_t which)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u64 = which};

	return epoll_ctl(links->poll_fd, EPOLL_CTL_ADD, fd, &event);
}

int shmemhi_fault_recv(int fd, void *record, size_t nbytes, size_t *got)
{
	while (*got < nbytes) {
		ssize_t n = recv(fd, (char *)record + *got, nbytes - *got, 0);

		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		*got += n > 0 ? (size_t)n : 0;
	}
	return 1;
}

static int listen_all(shmemhi_fault_links_t *links, const char *ifname,
		      shmemhi_fault_listener_t *mine, shmemhi_err_t *err)
{
	const int n = shmemhi_listen(ifname, links->listen_fds, mine->addrs, err);

	if (n < 0)
		return -n;
	links->n_listen = n;
	mine->n_addrs = (uint32_t)n;
	links->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < n; i++)
		if (links->poll_fd < 0 ||
		    shmemhi_fault_watch_fd(links, links->listen_fds[i], (uint64_t)i) != 0)
			return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "fail-over: epoll: %s%s",
					    strerror(errno), shmemhi_descriptor_advice(errno));
	return SHMEMH_OK;
}

int shmemhi_fault_links_open(shmemhi_fault_links_t *links, const char *ifname, int pe, int n_pes,
			     uint32_t n_channels, const shmemhi_log_t *log,
			     shmemhi_fault_listener_t *mine, shmemhi_err_t *err)
{
	const size_t n = (size_t)n_pes;

	memset(links, 0, sizeof *links);
	memset(mine, 0, sizeof *mine);
	links->log = *log;
	links->pe = pe;
	links->n_pes = n_pes;
	links->n_channels = n_channels;
	links->poll_fd = -1;
	links->n_ins = (uint32_t)n_pes + SHMEMHI_FAULT_MAX_UNPROVED;
	links->listeners = calloc(n, sizeof *links->listeners);
	links->outs = calloc(n, sizeof(shmemhi_fault_out_t *));
	links->ins = calloc(links->n_ins, sizeof *links->ins);
	links->received = calloc(n, sizeof *links->received);
	if (!links->listeners || !links->outs || !links->ins || !links->received)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY,
				    "fail-over: no memory for connections to %d PEs", n_pes);
	return listen_all(links, ifname, mine, err);
}

void shmemhi_fault_links_meet(shmemhi_fault_links_t *links,
			      const shmemhi_fault_listener_t *listeners,
			      const unsigned char secret[SHMEMHI_ID_SECRET_NBYTES])
{
	memcpy(links->listeners, listeners, (size_t)links->n_pes * sizeof *listeners);
	memcpy(links->secret, secret, sizeof links->secret);
	shmemhi_fault_key(links, links->pe, &links->key);
}

void shmemhi_fault_links_close(shmemhi_fault_links_t *links)
{
	for (int pe = 0; links->outs && pe < links->n_pes; pe++)
		shmemhi_fault_out_free(links->outs[pe]);
	for (uint32_t i = 0; links->ins && i < links->n_ins; i++)
		shmemhi_fault_in_end(links, &links->ins[i]);
	for (int i = 0; i < links->n_listen; i++)
		shmemhi_socket_close(links->listen_fds[i]);
	if (links->poll_fd >= 0)
		close(links->poll_fd);
	free(links->listeners);
	free(links->outs);
	free(links->ins);
	free(links->received);
	sodium_memzero(links, sizeof *links);
	links->poll_fd = -1;
}

/* Events are edge-triggered, so input is reported once: is_readable stays set until it is read. */
static void on_event(shmemhi_fault_links_t *links, uint64_t which)
{
	if (which < SHMEMHI_ID_MAX_ADDRS)
		shmemhi_fault_in_accept(links, links->listen_fds[which]);
	else if (which - SHMEMHI_ID_MAX_ADDRS < links->n_ins)
		links->ins[which - SHMEMHI_ID_MAX_ADDRS].is_readable = true;
}

void shmemhi_fault_links_poll(shmemhi_fault_links_t *links, int wait_ms)
{
	struct epoll_event events[N_EVENTS];
	const int n = epoll_wait(links->poll_fd, events, N_EVENTS, wait_ms);

	for (int i = 0; i < n; i++)
		on_event(links, events[i].data.u64);
	if (links->accept_at && shmemhi_now() >= links->accept_at) {
		links->accept_at = 0;
		for (int i = 0; i < links->n_listen; i++)
			shmemhi_fault_in_accept(links, links->listen_fds[i]);
	}
	shmemhi_fault_in_serve(links);
	for (int pe = 0; pe < links->n_pes; pe++)
		if (links->outs[pe])
			shmemhi_fault_out_serve(links, pe);
}

shmemhi_fault_net_t shmemhi_fault_links_net(shmemhi_fault_links_t *links)
{
	return (shmemhi_fault_net_t){links, shmemhi_fault_out_send, shmemhi_fault_in_receive,
				     shmemhi_fault_out_forget};
}
