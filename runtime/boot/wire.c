/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/wire.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"

#define ROLE_NBYTES 16

void shmemhi_wire_key(const unsigned char *secret, size_t nbytes, shmemhi_secret_t *key)
{
	static const unsigned char use[] = "shmem_host bootstrap 1";

	crypto_generichash(key->bytes, sizeof(key->bytes), use, sizeof(use) - 1, secret, nbytes);
}

/* The MACs of both sides differ in the role only, so that neither proof can be sent back as the
 * other. */
static void mac_of(const char *role, const shmemhi_secret_t *key,
		   const shmemhi_challenge_t *challenge, const shmemhi_client_hello_t *hello,
		   unsigned char mac[crypto_auth_BYTES])
{
	unsigned char
		message[ROLE_NBYTES + sizeof(*challenge) + offsetof(shmemhi_client_hello_t, mac)];

	memset(message, 0, ROLE_NBYTES);
	memcpy(message, role, strlen(role));
	memcpy(message + ROLE_NBYTES, challenge, sizeof(*challenge));
	memcpy(message + ROLE_NBYTES + sizeof(*challenge), hello,
	       offsetof(shmemhi_client_hello_t, mac));
	crypto_auth(mac, message, sizeof(message), key->bytes);
}

void shmemhi_mac_hello(const shmemhi_secret_t *key, const shmemhi_challenge_t *challenge,
		       const shmemhi_client_hello_t *hello, unsigned char mac[crypto_auth_BYTES])
{
	mac_of("pe", key, challenge, hello, mac);
}

void shmemhi_mac_verdict(const shmemhi_secret_t *key, const shmemhi_challenge_t *challenge,
			 const shmemhi_client_hello_t *hello, unsigned char mac[crypto_auth_BYTES])
{
	mac_of("hub", key, challenge, hello, mac);
}

static void set_int(int fd, int level, int name, int value)
{
	/* Best effort: without the option the connection works, only slower or noticed later. */
	(void)setsockopt(fd, level, name, &value, sizeof(value));
}

void shmemhi_tcp_options(int fd)
{
	set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, 10);
	set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
	set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 4);
	set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);
}

static bool would_block(void)
{
	return errno == EAGAIN || errno == EWOULDBLOCK;
}

/* Returns 0 when the socket is ready for events, ETIMEDOUT, or an errno. */
static int wait_for(int fd, short events, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = events};

	for (;;) {
		int n = poll(&p, 1, shmemhi_poll_ms(deadline));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return errno;
		if (n == 0 && shmemhi_now() >= deadline)
			return ETIMEDOUT;
	}
}

static ssize_t send_some(int fd, const void *buf, size_t nbytes, int flags)
{
	for (;;) {
		ssize_t n = send(fd, buf, nbytes, flags | MSG_NOSIGNAL);

		if (n >= 0)
			return n;
		if (would_block())
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

ssize_t shmemhi_send_some(int fd, const void *buf, size_t nbytes)
{
	return send_some(fd, buf, nbytes, 0);
}

static int send_all(int fd, const void *buf, size_t nbytes, uint64_t deadline, int flags)
{
	const char *at = buf;

	while (nbytes > 0) {
		ssize_t n = send_some(fd, at, nbytes, flags);
		int status;

		if (n < 0)
			return (int)-n;
		at += n;
		nbytes -= (size_t)n;
		status = n == 0 ? wait_for(fd, POLLOUT, deadline) : 0;
		if (status != 0)
			return status;
	}
	return 0;
}

int shmemhi_send_all(int fd, const void *buf, size_t nbytes, uint64_t deadline)
{
	return send_all(fd, buf, nbytes, deadline, 0);
}

int shmemhi_send_first(int fd, const void *buf, size_t nbytes, uint64_t deadline)
{
	return send_all(fd, buf, nbytes, deadline, MSG_MORE);
}

/* One recv. Returns bytes received, 0 for "not now", minus an errno. */
static ssize_t recv_some(int fd, void *buf, size_t nbytes)
{
	for (;;) {
		ssize_t n = recv(fd, buf, nbytes, 0);

		if (n > 0)
			return n;
		if (n == 0)
			return -ECONNRESET;
		if (would_block())
			return 0;
		if (errno != EINTR)
			return -errno;
	}
}

int shmemhi_recv_all(int fd, void *buf, size_t nbytes, uint64_t deadline)
{
	char *at = buf;

	while (nbytes > 0) {
		ssize_t n = recv_some(fd, at, nbytes);
		int status;

		if (n < 0)
			return (int)-n;
		at += n;
		nbytes -= (size_t)n;
		status = n == 0 ? wait_for(fd, POLLIN, deadline) : 0;
		if (status != 0)
			return status;
	}
	return 0;
}

static int reserve(shmemhi_inbox_t *in, size_t nbytes)
{
	unsigned char *body;

	if (nbytes <= in->capacity)
		return 0;
	body = realloc(in->body, nbytes);
	if (!body)
		return -ENOMEM;
	in->body = body;
	in->capacity = nbytes;
	return 0;
}

int shmemhi_inbox_read(shmemhi_inbox_t *in, int fd, uint64_t max)
{
	const size_t head_nbytes = sizeof(in->head);
	ssize_t n;

	if (in->got >= head_nbytes && in->got == head_nbytes + in->head.nbytes)
		in->got = 0;
	while (in->got < head_nbytes) {
		n = recv_some(fd, (char *)&in->head + in->got, head_nbytes - in->got);
		if (n <= 0)
			return (int)n;
		in->got += (size_t)n;
	}
	if (in->head.nbytes > max)
		return -EPROTO;
	if (reserve(in, in->head.nbytes) != 0)
		return -ENOMEM;
	while (in->got < head_nbytes + in->head.nbytes) {
		n = recv_some(fd, in->body + (in->got - head_nbytes),
			      head_nbytes + in->head.nbytes - in->got);
		if (n <= 0)
			return (int)n;
		in->got += (size_t)n;
	}
	return 1;
}
