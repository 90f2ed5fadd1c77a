/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Connections that this PE makes to others, each at its first message. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/sockets.h"
#include "fault/links.h"

#define CONNECT_NS (2 * SHMEMHI_SECOND) /* an address behind a firewall delays the next ones */
#define PROOF_NS (5 * SHMEMHI_SECOND)
#define ACK_NS (2 * SHMEMHI_SECOND) /* without an acknowledgement */
#define RETRY_NS (50 * SHMEMHI_MS)  /* after all addresses failed; then twice that, and so on, */
#define RETRY_MAX_NS SHMEMHI_SECOND
#define SAY_NS (5 * SHMEMHI_SECOND) /* without a connection */

void shmemhi_fault_out_free(shmemhi_fault_out_t *out)
{
	if (!out)
		return;
	if (out->fd >= 0)
		shmemhi_socket_close(out->fd);
	free(out->in.body);
	free(out->waiting);
	free(out);
}

/* Messages */

static shmemhi_fault_out_t *out_of(shmemhi_fault_links_t *links, int pe)
{
	shmemhi_fault_out_t *out = links->outs[pe];

	if (out)
		return out;
	out = calloc(1, sizeof *out);
	if (!out)
		return NULL;
	out->fd = -1;
	out->next_seq = 1;
	out->delay = RETRY_NS;
	links->outs[pe] = out;
	return out;
}

bool shmemhi_fault_out_send(void *state, int pe, const shmemhi_fault_message_t *message)
{
	shmemhi_fault_out_t *out = out_of(state, pe);

	if (!out)
		return false;
	if (out->is_forgotten)
		return true;
	if (out->n_waiting == out->capacity) {
		const size_t capacity = out->capacity ? 2 * out->capacity : 16;
		void *waiting = realloc(out->waiting, capacity * sizeof *out->waiting);

		if (!waiting)
			return false;
		out->waiting = waiting;
		out->capacity = capacity;
	}
	out->waiting[out->n_waiting++] =
		(shmemhi_fault_frame_message_t){.head = {.type = SHMEMHI_FAULT_MESSAGE,
							 .nbytes = sizeof *message,
							 .seq = out->next_seq++},
						.body = *message};
	return true;
}

bool shmemhi_fault_out_take_own(shmemhi_fault_links_t *links, shmemhi_fault_message_t *message)
{
	shmemhi_fault_out_t *out = links->outs[links->pe];

	if (!out || !out->n_waiting)
		return false;
	*message = out->waiting[0].body;
	out->n_waiting--;
	memmove(out->waiting, out->waiting + 1, out->n_waiting * sizeof *out->waiting);
	return true;
}

static void close_out(shmemhi_fault_out_t *out)
{
	if (out->fd >= 0)
		shmemhi_socket_close(out->fd);
	free(out->in.body);
	memset(&out->in, 0, sizeof out->in);
	out->fd = -1;
	out->state = OUT_IDLE;
	/* What has no acknowledgement may have been lost with the connection. */
	out->n_sent = out->sent = 0;
}

void shmemhi_fault_out_forget(void *state, int pe)
{
	shmemhi_fault_out_t *out = out_of(state, pe);

	if (!out)
		return;
	close_out(out);
	out->n_waiting = 0;
	out->is_forgotten = 1;
}

/* Connecting */

/* This address does not work now: on to the next one, after the last one with a pause. */
static void fail(shmemhi_fault_links_t *links, int pe, const char *why)
{
	shmemhi_fault_out_t *out = links->outs[pe];
	const shmemhi_fault_listener_t *to = &links->listeners[pe];
	const uint64_t now = shmemhi_now();
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
	int level = SHMEMHI_INFO;

	close_out(out);
	if (!out->lost_at)
		out->lost_at = now;
	if (!out->is_said && now - out->lost_at >= SAY_NS) {
		level = SHMEMHI_WARN;
		out->is_said = 1;
	}
	shmemhi_log(&links->log, level,
		    "fail-over: no connection to PE %d at %s: %s: trying again; channels to it "
		    "that must switch wait until then",
		    pe, shmemhi_addr_text(&to->addrs[out->addr], where), why);
	out->addr = (out->addr + 1) % to->n_addrs;
	if (out->addr != 0)
		return;
	out->retry_at = now + out->delay;
	out->delay = 2 * out->delay > RETRY_MAX_NS ? RETRY_MAX_NS : 2 * out->delay;
}

static void start(shmemhi_fault_links_t *links, int pe)
{
	shmemhi_fault_out_t *out = links->outs[pe];
	const shmemhi_addr_t *to = &links->listeners[pe].addrs[out->addr];

	out->fd = shmemhi_socket(to->any.sa_family, SOCK_STREAM);
	if (out->fd < 0 || shmemhi_fault_watch_fd(links, out->fd, UINT64_MAX) != 0 ||
	    (connect(out->fd, &to->any, shmemhi_addr_nbytes(to)) != 0 && errno != EINPROGRESS)) {
		fail(links, pe, strerror(errno));
		return;
	}
	out->state = OUT_CONNECTING;
	out->deadline = shmemhi_deadline(CONNECT_NS);
}

/* The steps of the start. Each returns 1: done, 0: not yet, minus an errno. */

static int finish_connect(shmemhi_fault_out_t *out)
{
	struct pollfd p = {.fd = out->fd, .events = POLLOUT};
	socklen_t nbytes = sizeof(int);
	int error = 0;

	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (getsockopt(out->fd, SOL_SOCKET, SO_ERROR, &error, &nbytes) != 0)
		return -errno;
	if (error)
		return -error;
	shmemhi_tcp_options(out->fd);
	out->got = 0;
	out->deadline = shmemhi_deadline(PROOF_NS);
	return 1;
}

static int answer_challenge(const shmemhi_fault_links_t *links, int pe, shmemhi_fault_out_t *out)
{
	const int got =
		shmemhi_fault_recv(out->fd, &out->challenge, sizeof out->challenge, &out->got);
	shmemhi_secret_t key;

	if (got <= 0)
		return got;
	if (memcmp(out->challenge.magic, SHMEMHI_FAULT_MAGIC, sizeof out->challenge.magic) != 0)
		return -EPROTO;
	memset(&out->hello, 0, sizeof out->hello);
	memcpy(out->hello.magic, SHMEMHI_FAULT_MAGIC, sizeof out->hello.magic);
	out->hello.pe = links->pe;
	out->hello.n_pes = links->n_pes;
	randombytes_buf(out->hello.nonce, sizeof out->hello.nonce);
	shmemhi_fault_key(links, pe, &key);
	shmemhi_mac_hello(&key, &out->challenge, &out->hello, out->hello.mac);
	sodium_memzero(&key, sizeof key);
	out->got = 0;
	return shmemhi_send_some(out->fd, &out->hello, sizeof out->hello) ==
			       (ssize_t)sizeof out->hello
		       ? 1
		       : -EIO;
}

static int check_verdict(const shmemhi_fault_links_t *links, int pe, shmemhi_fault_out_t *out)
{
	const int got = shmemhi_fault_recv(out->fd, &out->verdict, sizeof out->verdict, &out->got);
	unsigned char mac[crypto_auth_BYTES];
	shmemhi_secret_t key;

	if (got <= 0)
		return got;
	shmemhi_fault_key(links, pe, &key);
	shmemhi_mac_verdict(&key, &out->challenge, &out->hello, mac);
	sodium_memzero(&key, sizeof key);
	/* Another process may listen there: of a host with the same address, or of a PE that has
	 * ended. */
	if (out->verdict.code != SHMEMHI_PROVED ||
	    sodium_memcmp(mac, out->verdict.mac, sizeof mac) != 0)
		return -EACCES;
	if (out->is_said)
		shmemhi_log(&links->log, SHMEMHI_WARN, "fail-over: connected to PE %d now", pe);
	out->lost_at = 0;
	out->is_said = 0;
	out->delay = RETRY_NS;
	return 1;
}

/* Up */

static int take_acks(shmemhi_fault_out_t *out)
{
	int got;

	while ((got = shmemhi_inbox_read(&out->in, out->fd, 0)) == 1) {
		const uint64_t first = out->next_seq - out->n_waiting, seq = out->in.head.seq;
		size_t n;

		if (out->in.head.type != SHMEMHI_FAULT_ACK || seq >= out->next_seq)
			return -EPROTO;
		if (seq < first)
			continue;
		/* The messages may have been carried by an earlier connection. Drop only what this
		 * connection has carried whole: it sends the others again, and the listener
		 * acknowledges them again. */
		n = (size_t)(seq - first) + 1;
		if (n > out->n_sent)
			n = out->n_sent;
		out->acked_at = shmemhi_now();
		memmove(out->waiting, out->waiting + n,
			(out->n_waiting - n) * sizeof *out->waiting);
		out->n_waiting -= n;
		out->n_sent -= n;
	}
	return got;
}

static int send_waiting(shmemhi_fault_out_t *out)
{
	if (out->n_sent == 0 && out->sent == 0)
		out->acked_at = shmemhi_now();
	while (out->n_sent < out->n_waiting) {
		const char *frame = (const char *)&out->waiting[out->n_sent];
		const size_t nbytes = sizeof *out->waiting;
		const ssize_t n = shmemhi_send_some(out->fd, frame + out->sent, nbytes - out->sent);

		if (n <= 0)
			return (int)n;
		out->sent += (size_t)n;
		if (out->sent == nbytes) {
			out->sent = 0;
			out->n_sent++;
		}
	}
	return 0;
}

static const char *text_of(int error)
{
	switch (error) {
	case EACCES:
		return "it does not prove that it is this PE";
	case EPROTO:
		return "it is no PE, or broke the protocol";
	default:
		return strerror(error);
	}
}

/* One step of the start, or messages. Returns 1 if another step may follow. */
static int advance(shmemhi_fault_links_t *links, int pe, shmemhi_fault_out_t *out)
{
	switch (out->state) {
	case OUT_CONNECTING:
		return finish_connect(out);
	case OUT_CHALLENGE:
		return answer_challenge(links, pe, out);
	case OUT_VERDICT:
		return check_verdict(links, pe, out);
	default: {
		const int got = take_acks(out);

		/* The address may be one that the peer has lost meanwhile. */
		if (got == 0 && out->n_sent && shmemhi_now() - out->acked_at >= ACK_NS)
			return -ETIMEDOUT;
		return got < 0 ? got : send_waiting(out);
	}
	}
}

void shmemhi_fault_out_serve(shmemhi_fault_links_t *links, int pe)
{
	shmemhi_fault_out_t *out = links->outs[pe];
	int done;

	if (pe == links->pe)
		return; /* take_own */
	if (out->state == OUT_IDLE && out->n_waiting && shmemhi_now() >= out->retry_at)
		start(links, pe);
	while (out->state != OUT_IDLE) {
		done = advance(links, pe, out);
		if (done < 0)
			fail(links, pe, text_of(-done));
		else if (done == 0)
			break;
		else
			out->state++;
	}
	if (out->state != OUT_IDLE && out->state != OUT_UP && shmemhi_now() >= out->deadline)
		fail(links, pe, "no answer in time");
}
