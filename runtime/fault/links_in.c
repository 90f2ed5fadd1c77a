/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Connections that other PEs make to this one. Nothing that comes from them is used before the
 * proof; after it, what breaks the protocol ends the connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"
#include "fault/links.h"

#define HELLO_NS (5 * SHMEMHI_SECOND)
#define PAUSE_NS (100 * SHMEMHI_MS) /* after MAX_ACCEPTS, or when descriptors ran out */
#define MAX_ACCEPTS 16              /* at a time: others are served in between */
#define MAX_LOUD 8 /* lines on refused connections that are warnings; later ones are information */

void shmemhi_fault_in_end(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in)
{
	if (in->state == IN_FREE)
		return;
	links->n_unproved -= in->state == IN_HELLO;
	shmemhi_socket_close(in->fd);
	free(in->in.body);
	memset(in, 0, sizeof *in);
}

/* End a connection for what it sent. */
static void refuse(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in, const char *why)
{
	shmemhi_log(&links->log, links->n_refused++ < MAX_LOUD ? SHMEMHI_WARN : SHMEMHI_INFO,
		    "fail-over: connection from %s ended: %s", in->where, why);
	shmemhi_fault_in_end(links, in);
}

/* Accepting */

/* Close the connection that has been unauthenticated for longest, so that idle unauthenticated
 * connections cannot exhaust the table. */
static void make_room(shmemhi_fault_links_t *links)
{
	shmemhi_fault_in_t *oldest = NULL;

	for (uint32_t i = 0; i < links->n_ins; i++)
		if (links->ins[i].state == IN_HELLO &&
		    (!oldest || links->ins[i].deadline < oldest->deadline))
			oldest = &links->ins[i];
	shmemhi_fault_in_end(links, oldest);
}

static shmemhi_fault_in_t *free_place(shmemhi_fault_links_t *links)
{
	uint32_t i = 0;

	if (links->n_unproved == SHMEMHI_FAULT_MAX_UNPROVED)
		make_room(links);
	while (links->ins[i].state != IN_FREE)
		i++;
	return &links->ins[i];
}

static void begin(shmemhi_fault_links_t *links, int fd, const shmemhi_addr_t *from)
{
	shmemhi_fault_in_t *in = free_place(links);

	memset(in, 0, sizeof *in);
	in->fd = fd;
	in->state = IN_HELLO;
	in->is_readable = true;
	in->deadline = shmemhi_deadline(HELLO_NS);
	links->n_unproved++;
	shmemhi_addr_text(from, in->where);
	shmemhi_tcp_options(fd);
	memcpy(in->challenge.magic, SHMEMHI_FAULT_MAGIC, sizeof in->challenge.magic);
	randombytes_buf(in->challenge.nonce, sizeof in->challenge.nonce);
	if (shmemhi_fault_watch_fd(links, fd, SHMEMHI_ID_MAX_ADDRS + (uint64_t)(in - links->ins)) !=
		    0 ||
	    shmemhi_send_some(fd, &in->challenge, sizeof in->challenge) !=
		    (ssize_t)sizeof in->challenge)
		shmemhi_fault_in_end(links, in);
}

void shmemhi_fault_in_accept(shmemhi_fault_links_t *links, int listen_fd)
{
	for (int i = 0; i < MAX_ACCEPTS; i++) {
		shmemhi_addr_t from;
		socklen_t nbytes = sizeof from;
		int fd;

		memset(&from, 0, sizeof from);
		fd = shmemhi_socket_accept(listen_fd, &from.any, &nbytes);
		if (fd >= 0)
			begin(links, fd, &from);
		else if (errno == EAGAIN || errno == EWOULDBLOCK)
			return;
		else if (shmemhi_no_descriptor(errno))
			break;
	}
	/* Events are edge-triggered: none follows for connections that wait already. */
	links->accept_at = shmemhi_deadline(PAUSE_NS);
}

/* The proof */

/* End the PE's earlier connection, if there is one: the PE has lost it, and sends again on this one
 * the messages without acknowledgement. */
static void admit(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in)
{
	shmemhi_verdict_t verdict = {.code = SHMEMHI_PROVED};

	for (uint32_t i = 0; i < links->n_ins; i++)
		if (links->ins[i].state == IN_UP && links->ins[i].pe == in->hello.pe)
			shmemhi_fault_in_end(links, &links->ins[i]);
	links->n_unproved--;
	in->state = IN_UP;
	in->pe = in->hello.pe;
	shmemhi_mac_verdict(&links->key, &in->challenge, &in->hello, verdict.mac);
	if (shmemhi_send_some(in->fd, &verdict, sizeof verdict) != (ssize_t)sizeof verdict)
		shmemhi_fault_in_end(links, in);
}

static void receive_hello(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in)
{
	const shmemhi_verdict_t refused = {.code = SHMEMHI_REFUSED};
	const int got = shmemhi_fault_recv(in->fd, &in->hello, sizeof in->hello, &in->got);
	unsigned char mac[crypto_auth_BYTES];

	if (got == 0) {
		in->is_readable = false;
		return;
	}
	if (got < 0) {
		shmemhi_fault_in_end(links, in);
		return;
	}
	shmemhi_mac_hello(&links->key, &in->challenge, &in->hello, mac);
	if (sodium_memcmp(mac, in->hello.mac, sizeof mac) != 0) {
		(void)shmemhi_send_some(in->fd, &refused, sizeof refused);
		refuse(links, in, "it does not have the secret of this job and PE");
	} else if (in->hello.pe < 0 || in->hello.pe >= links->n_pes || in->hello.pe == links->pe ||
		   in->hello.n_pes != links->n_pes) {
		refuse(links, in, "it names a PE that cannot be");
	} else {
		admit(links, in);
	}
}

/* Messages */

static bool is_message(const shmemhi_fault_links_t *links, const shmemhi_fault_in_t *in)
{
	const shmemhi_frame_t *f = &in->in.head;
	shmemhi_fault_message_t m;

	if (f->type != SHMEMHI_FAULT_MESSAGE || f->nbytes != sizeof m ||
	    f->seq > links->received[in->pe] + 1 || f->seq == 0)
		return false;
	memcpy(&m, in->in.body, sizeof m);
	return m.kind >= SHMEMHI_EV_FENCE && m.kind <= SHMEMHI_EV_ENDED && m.k < links->n_channels;
}

static void send_ack(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in)
{
	ssize_t n;

	if (!in->ack_left && in->has_ack) {
		in->ack = (shmemhi_frame_t){.type = SHMEMHI_FAULT_ACK,
					    .seq = links->received[in->pe]};
		in->ack_left = sizeof in->ack;
		in->has_ack = 0;
	}
	if (!in->ack_left)
		return;
	n = shmemhi_send_some(in->fd, (char *)(&in->ack + 1) - in->ack_left, in->ack_left);
	if (n < 0)
		shmemhi_fault_in_end(links, in);
	else
		in->ack_left -= (size_t)n;
}

/* Take one message of this connection. */
static bool receive_one(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in,
			shmemhi_fault_message_t *message)
{
	while (in->state == IN_UP && in->is_readable) {
		const int got = shmemhi_inbox_read(&in->in, in->fd, sizeof *message);

		if (got == 0) {
			in->is_readable = false;
		} else if (got == -EPROTO || (got == 1 && !is_message(links, in))) {
			refuse(links, in, "it sent what is no message");
		} else if (got < 0) {
			shmemhi_fault_in_end(links, in);
		} else {
			in->has_ack = 1;
			if (in->in.head.seq <= links->received[in->pe])
				continue; /* sent again: its acknowledgement was lost */
			links->received[in->pe]++;
			memcpy(message, in->in.body, sizeof *message);
			return true;
		}
	}
	return false;
}

bool shmemhi_fault_in_receive(void *state, int *pe, shmemhi_fault_message_t *message)
{
	shmemhi_fault_links_t *links = state;

	*pe = links->pe;
	if (shmemhi_fault_out_take_own(links, message))
		return true;
	/* From one connection after the other, so that none keeps the others waiting. */
	for (uint32_t n = 0; n < links->n_ins; n++) {
		shmemhi_fault_in_t *in = &links->ins[links->turn++ % links->n_ins];

		if (in->state == IN_UP && in->is_readable) {
			*pe = in->pe;
			if (receive_one(links, in, message))
				return true;
		}
	}
	return false;
}

void shmemhi_fault_in_serve(shmemhi_fault_links_t *links)
{
	const uint64_t now = links->n_unproved ? shmemhi_now() : 0;

	for (uint32_t i = 0; i < links->n_ins; i++) {
		shmemhi_fault_in_t *in = &links->ins[i];

		if (in->state == IN_HELLO && now >= in->deadline)
			shmemhi_fault_in_end(links, in);
		else if (in->state == IN_HELLO && in->is_readable)
			receive_hello(links, in);
		else if (in->state == IN_UP)
			send_ack(links, in);
	}
}
