/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The thread of the hub. One turn: poll, receive, accept, timers, send, release dead
 * connections. Only poll blocks, and processes outside the job cannot make the hub use more and
 * more memory: a connection whose hello is not complete costs one conn_t and one record to send,
 * for 5 s at most, and after each turn there are at most MAX_UNPROVED of them. One whose hello has
 * a wrong secret is not counted any more: it ends once the refusal is in the socket's buffer, most
 * often in the same turn, and 5 s later at the latest. */
#include "boot/hub.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"

#define HELLO_NS (5 * SHMEMHI_SECOND)
#define CLOSING_NS (5 * SHMEMHI_SECOND)
#define PAUSE_NS (100 * SHMEMHI_MS) /* until the next accept if descriptors or memory ran out */
#define MAX_UNPROVED 128
#define MAX_ACCEPTS 16 /* of each listening socket in a turn: earlier connections are served too */
#define MAX_LOUD 8     /* wrong secrets logged as warnings: strangers cannot flood the log */

/* ---- sending ---- */

blob_t *hub_blob(uint32_t type, uint64_t seq, uint64_t arg, size_t nbytes)
{
	shmemhi_frame_t head = {.type = type, .nbytes = nbytes, .seq = seq, .arg = arg};
	blob_t *blob = malloc(sizeof(*blob) + sizeof(head) + nbytes);

	if (!blob)
		return NULL;
	blob->n_refs = 1;
	blob->nbytes = sizeof(head) + nbytes;
	memcpy(blob->bytes, &head, sizeof(head));
	return blob;
}

void hub_unref(blob_t *blob)
{
	if (--blob->n_refs == 0)
		free(blob);
}

void hub_send_blob(conn_t *c, blob_t *blob)
{
	out_t *out = malloc(sizeof(*out));

	if (!out) {
		c->state = CONN_DEAD;
		return;
	}
	blob->n_refs++;
	out->next = NULL;
	out->blob = blob;
	*c->out_end = out;
	c->out_end = &out->next;
}

static void send_bytes(conn_t *c, blob_t *blob, size_t at, const void *bytes, size_t nbytes)
{
	if (!blob) {
		c->state = CONN_DEAD;
		return;
	}
	if (nbytes > 0)
		memcpy(blob->bytes + at, bytes, nbytes);
	hub_send_blob(c, blob);
	hub_unref(blob);
}

void hub_send(conn_t *c, uint32_t type, uint64_t seq, uint64_t arg, const void *body, size_t nbytes)
{
	send_bytes(c, hub_blob(type, seq, arg, nbytes), sizeof(shmemhi_frame_t), body, nbytes);
}

/* A record of the start: bytes without a frame. */
static void send_record(conn_t *c, const void *record, size_t nbytes)
{
	blob_t *blob = malloc(sizeof(*blob) + nbytes);

	if (blob) {
		blob->n_refs = 1;
		blob->nbytes = nbytes;
	}
	send_bytes(c, blob, 0, record, nbytes);
}

void hub_close_after_flush(conn_t *c)
{
	if (c->state == CONN_DEAD)
		return;
	c->state = CONN_CLOSING;
	c->deadline = shmemhi_deadline(CLOSING_NS);
}

static void pop_out(conn_t *c)
{
	out_t *out = c->out;

	c->out = out->next;
	if (!c->out)
		c->out_end = &c->out;
	c->out_sent = 0;
	hub_unref(out->blob);
	free(out);
}

static void flush(conn_t *c)
{
	while (c->out && c->state != CONN_DEAD) {
		blob_t *blob = c->out->blob;
		ssize_t n = shmemhi_send_some(c->fd, blob->bytes + c->out_sent,
					      blob->nbytes - c->out_sent);

		if (n < 0)
			c->state = CONN_DEAD;
		if (n <= 0)
			return;
		c->out_sent += (size_t)n;
		if (c->out_sent == blob->nbytes)
			pop_out(c);
	}
	if (c->state == CONN_CLOSING)
		c->state = CONN_DEAD;
}

/* ---- connections ---- */

void hub_stop_listening(hub_t *hub)
{
	int i;

	for (i = 0; i < hub->n_listen; i++)
		shmemhi_socket_close(hub->listen_fds[i]);
	hub->n_listen = 0;
}

/* Drop the oldest unproved connection. In a flood from outside the job that is most often one of
 * the flood; a PE that loses its connection in this way connects again. */
static void drop_oldest(hub_t *hub)
{
	conn_t *c;

	for (c = hub->conns; c; c = c->next)
		if (c->state == CONN_HELLO) {
			shmemhi_log(&hub->log, SHMEMHI_INFO,
				    "hub: dropped %s: too many unproved connections", c->where);
			c->state = CONN_DEAD;
			return;
		}
}

static conn_t *new_conn(int fd, const shmemhi_addr_t *from)
{
	conn_t *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->fd = fd;
	c->state = CONN_HELLO;
	c->pe = -1;
	c->deadline = shmemhi_deadline(HELLO_NS);
	c->out_end = &c->out;
	shmemhi_addr_text(from, c->where);
	memcpy(c->challenge.magic, SHMEMHI_WIRE_MAGIC, sizeof(c->challenge.magic));
	randombytes_buf(c->challenge.nonce, sizeof(c->challenge.nonce));
	send_record(c, &c->challenge, sizeof(c->challenge));
	shmemhi_tcp_options(fd);
	return c;
}

/* If resources ran out: try again later, and warn the first time. */
static void cannot_accept(hub_t *hub, int error)
{
	if (!shmemhi_no_descriptor(error) && error != ENOBUFS && error != ENOMEM)
		return;
	if (!hub->accept_error)
		shmemhi_log(&hub->log, SHMEMHI_WARN,
			    "hub: PEs cannot connect to this process: accept: %s%s",
			    strerror(error), shmemhi_descriptor_advice(error));
	hub->accept_error = error;
	hub->accept_after = shmemhi_deadline(PAUSE_NS);
	drop_oldest(hub);
}

static void accept_some(hub_t *hub, int listen_fd)
{
	int i;

	for (i = 0; i < MAX_ACCEPTS; i++) {
		shmemhi_addr_t from;
		socklen_t nbytes = sizeof(from);
		int fd = shmemhi_socket_accept(listen_fd, &from.any, &nbytes);
		conn_t *c;

		if (fd < 0) {
			cannot_accept(hub, errno);
			return;
		}
		c = new_conn(fd, &from);
		if (!c) {
			shmemhi_socket_close(fd);
			return;
		}
		*hub->conns_end = c;
		hub->conns_end = &c->next;
		hub->n_conns++;
		if (++hub->n_unproved > MAX_UNPROVED)
			drop_oldest(hub);
	}
}

static void free_conn(conn_t *c)
{
	c->state = CONN_DEAD;
	while (c->out)
		pop_out(c);
	shmemhi_socket_close(c->fd);
	free(c->in.body);
	free(c);
}

/* Remove dead connections from the list. This is the only place that stops counting those that
 * ended without a complete hello. Notifying the others may end further connections: the next
 * turn removes them, and does not sleep before (next_wakeup). */
static void remove_dead(hub_t *hub)
{
	conn_t **at = &hub->conns;

	while (*at) {
		conn_t *c = *at;

		if (c->state != CONN_DEAD) {
			at = &c->next;
			continue;
		}
		hub_lost(hub, c);
		if (c->hello_got < sizeof(c->hello))
			hub->n_unproved--;
		*at = c->next;
		free_conn(c);
		hub->n_conns--;
	}
	hub->conns_end = at;
}

/* ---- receiving ---- */

static void refuse_secret(hub_t *hub, conn_t *c)
{
	shmemhi_verdict_t refused = {.code = SHMEMHI_REFUSED};
	int level = hub->n_wrong_secrets++ < MAX_LOUD ? SHMEMHI_WARN : SHMEMHI_INFO;

	shmemhi_log(&hub->log, level, "hub: refused %s: its secret is wrong: %s", c->where,
		    hub->is_from_torchrun
			    ? "its MASTER_ADDR, MASTER_PORT, WORLD_SIZE or "
			      "TORCHELASTIC_RUN_ID is another one than that of PE 0, or it "
			      "called shmemh_init another number of times"
			    : "it uses the unique id of another job");
	send_record(c, &refused, sizeof(refused));
	hub_close_after_flush(c);
}

/* The hello is complete. Interpret nothing in it before its MAC is verified. If the MAC is wrong,
 * only the magic is read: with another one there is no verdict, and the connection is dropped. */
static void check_hello(hub_t *hub, conn_t *c)
{
	shmemhi_verdict_t proved = {.code = SHMEMHI_PROVED};
	unsigned char mac[crypto_auth_BYTES];

	hub->n_unproved--;
	shmemhi_mac_hello(&hub->key, &c->challenge, &c->hello, mac);
	if (sodium_memcmp(mac, c->hello.mac, sizeof(mac)) == 0) {
		shmemhi_mac_verdict(&hub->key, &c->challenge, &c->hello, proved.mac);
		send_record(c, &proved, sizeof(proved));
		hub_join(hub, c);
	} else if (memcmp(c->hello.magic, SHMEMHI_WIRE_MAGIC, sizeof(c->hello.magic)) == 0) {
		refuse_secret(hub, c);
	} else {
		shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: dropped %s: not a PE", c->where);
		c->state = CONN_DEAD;
	}
}

static void receive_hello(hub_t *hub, conn_t *c)
{
	ssize_t n =
		recv(c->fd, (char *)&c->hello + c->hello_got, sizeof(c->hello) - c->hello_got, 0);

	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		return;
	if (n <= 0) {
		shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: %s ended without a hello", c->where);
		c->state = CONN_DEAD;
		return;
	}
	c->hello_got += (size_t)n;
	if (c->hello_got == sizeof(c->hello))
		check_hello(hub, c);
}

static void receive(hub_t *hub, conn_t *c)
{
	if (c->state == CONN_HELLO)
		receive_hello(hub, c);
	while (c->state == CONN_IN) {
		int got = shmemhi_inbox_read(&c->in, c->fd, SHMEMHI_MAX_PART);

		if (got == 0)
			return;
		if (got < 0)
			c->state = CONN_DEAD;
		else
			hub_frame(hub, c);
	}
}

/* ---- the thread ---- */

static void expire(hub_t *hub)
{
	uint64_t now = shmemhi_now();
	conn_t *c;

	for (c = hub->conns; c; c = c->next) {
		/* Refuse unproved connections once the job runs. In the turn in which it begins,
		 * all PE numbers are taken; later a PE may have died, but its number is not
		 * given to another process. */
		int is_late =
			c->deadline <= now || (c->state == CONN_HELLO && hub->phase == HUB_RUNNING);

		if (c->state == CONN_DEAD || !is_late)
			continue;
		if (c->state == CONN_HELLO)
			shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: dropped %s: %s", c->where,
				    c->deadline <= now ? "no hello in time"
						       : "all PEs of the job are in");
		c->state = CONN_DEAD;
	}
}

static uint64_t next_wakeup(const hub_t *hub)
{
	uint64_t at = hub_next_timer(hub);
	const conn_t *c;

	for (c = hub->conns; c; c = c->next) {
		if (c->state == CONN_DEAD)
			return 0;
		if (c->deadline < at)
			at = c->deadline;
	}
	if (hub->accept_after != 0 && hub->accept_after < at)
		at = hub->accept_after;
	return at;
}

static short events_of(const conn_t *c)
{
	if (c->state == CONN_CLOSING) /* its further input is not read: do not wake up for it */
		return POLLOUT;
	return c->out ? POLLIN | POLLOUT : POLLIN;
}

/* Returns -1 when the thread cannot go on. */
static int turn(hub_t *hub, struct pollfd **polls)
{
	size_t n_polls = (size_t)hub->n_listen + (size_t)hub->n_conns;
	struct pollfd *p = realloc(*polls, (n_polls + 1) * sizeof(*p));
	conn_t *c;
	int n_listen;
	int i;

	if (!p)
		return -1;
	*polls = p;
	if (hub->accept_after != 0 && shmemhi_now() >= hub->accept_after)
		hub->accept_after = 0;
	n_listen = hub->accept_after == 0 ? hub->n_listen : 0;
	for (i = 0; i < n_listen; i++)
		p[i] = (struct pollfd){.fd = hub->listen_fds[i], .events = POLLIN};
	for (c = hub->conns; c; c = c->next, i++)
		p[i] = (struct pollfd){.fd = c->fd, .events = events_of(c)};
	if (poll(p, (nfds_t)i, shmemhi_poll_ms(next_wakeup(hub))) < 0 && errno != EINTR)
		return -1;
	for (i = n_listen, c = hub->conns; c; c = c->next, i++)
		if (p[i].revents & (POLLIN | POLLHUP | POLLERR))
			receive(hub, c);
	/* Accept after the loop that walks p: new connections are appended to the list. */
	for (i = 0; i < n_listen && i < hub->n_listen; i++)
		if (p[i].revents & POLLIN)
			accept_some(hub, hub->listen_fds[i]);
	expire(hub);
	hub_timers(hub);
	for (c = hub->conns; c; c = c->next)
		flush(c);
	remove_dead(hub);
	return 0;
}

static void free_hub(hub_t *hub)
{
	hub_stop_listening(hub);
	while (hub->conns) {
		conn_t *c = hub->conns;

		hub->conns = c->next;
		free_conn(c);
	}
	if (hub->result)
		hub_unref(hub->result);
	hub_subset_free(hub);
	free(hub->by_pe);
	free(hub->causes);
	free(hub->was_told);
	free(hub->part_nbytes);
	sodium_memzero(&hub->key, sizeof(hub->key));
	free(hub);
}

static void *hub_main(void *arg)
{
	hub_t *hub = arg;
	struct pollfd *polls = NULL;

	while (!hub_is_done(hub) || (hub->n_conns > 0 && hub->phase == HUB_FAILED)) {
		if (turn(hub, &polls) != 0) {
			shmemhi_log(&hub->log, SHMEMHI_ERROR,
				    "hub: stopped: %s: all PEs are cut off from each other",
				    strerror(errno));
			break;
		}
		if (hub_is_done(hub))
			hub_stop_listening(hub);
	}
	shmemhi_log(&hub->log, SHMEMHI_INFO, "hub: ended");
	free(polls);
	free_hub(hub);
	return NULL;
}

static hub_t *new_hub(const shmemhi_id_t *id, int n_pes, const int *fds,
		      const shmemhi_options_t *opt, const shmemhi_log_t *log)
{
	hub_t *hub = calloc(1, sizeof(*hub));
	size_t n = (size_t)n_pes;

	if (!hub)
		return NULL;
	hub->conns_end = &hub->conns;
	hub->log = *log;
	hub->n_pes = n_pes;
	hub->is_from_torchrun = id->is_from_torchrun;
	hub->start_ns = opt->boot_timeout_ns;
	hub->deadline = shmemhi_deadline(opt->boot_timeout_ns);
	hub->coll_ns = SHMEMHI_NEVER;
	hub->coll_deadline = SHMEMHI_NEVER;
	hub->n_listen = id->n_addrs;
	memcpy(hub->listen_fds, fds, (size_t)id->n_addrs * sizeof(*fds));
	shmemhi_wire_key(id->secret, sizeof(id->secret), &hub->key);
	hub->by_pe = calloc(n, sizeof(*hub->by_pe));
	hub->causes = calloc(n, sizeof(*hub->causes));
	hub->was_told = calloc(n, sizeof(*hub->was_told));
	hub->part_nbytes = calloc(n, sizeof(*hub->part_nbytes));
	if (hub->by_pe && hub->causes && hub->was_told && hub->part_nbytes)
		return hub;
	hub->n_listen = 0;
	free_hub(hub);
	return NULL;
}

/* Start a detached thread with all signals blocked: signals belong to the program's own threads. */
static int start_thread(hub_t *hub)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all;
	sigset_t old;
	int status;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	status = pthread_create(&thread, &attr, hub_main, hub);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return status;
}

int shmemhi_hub_start(const shmemhi_id_t *id, int n_pes, const int *fds,
		      const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemhi_err_t *err)
{
	hub_t *hub = new_hub(id, n_pes, fds, opt, log);
	int status;
	int i;

	if (!hub) {
		for (i = 0; i < id->n_addrs; i++)
			shmemhi_socket_close(fds[i]);
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "no memory for a hub of %d PEs",
				    n_pes);
	}
	status = start_thread(hub);
	if (status != 0) {
		free_hub(hub);
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "pthread_create: %s", strerror(status));
	}
	return SHMEMH_OK;
}
