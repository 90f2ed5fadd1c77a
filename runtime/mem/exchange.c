/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Every PE gives every connected peer one message, with a descriptor if it has one to give. */
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/clock.h"
#include "mem/state.h"

#define ROUND_MS 2 /* longest sleep between two rounds over all peers */

typedef struct message {
	uint64_t number; /* of the exchange: an abandoned one may have left messages behind */
	uint64_t has_fd;
} message_t;

/* Take the message of this exchange if it has arrived; drop those of earlier exchanges. */
static int take(int conn, uint64_t number, int *fd, shmemhi_err_t *err)
{
	for (;;) {
		message_t m;
		int status = shmemhi_fd_recv(conn, &m, sizeof m, fd, 0, err);

		if (status != SHMEMH_OK)
			return status;
		if (m.number == number)
			return m.has_fd && *fd < 0
				       ? shmemhi_fail(err, SHMEMH_ERR_SYSTEM,
						      "its descriptor did not arrive: raise "
						      "ulimit -n")
				       : SHMEMH_OK;
		if (*fd >= 0)
			close(*fd);
		*fd = -1;
		if (m.number > number)
			return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "it is ahead of this PE");
	}
}

typedef struct exchange {
	uint64_t number;
	int fd;      /* what this PE gives */
	int is_late; /* the deadline has passed: a transfer that is not complete now has failed */
	int status;  /* of the first failure, whose line is in err */
	shmemhi_err_t *err;
} exchange_t;

static void fail_one(exchange_t *x, int status, const char *what, int pe, const shmemhi_err_t *why)
{
	if (x->status == SHMEMH_OK)
		x->status = shmemhi_fail(x->err, status, "%s PE %d: %s", what, pe, why->text);
}

/* Returns false if the socket has no room now. After an error the connection is shut down, so that
 * the peer does not wait for this PE. */
static bool try_give(exchange_t *x, shmemhi_peer_t *peer, int pe)
{
	message_t m = {.number = x->number, .has_fd = x->fd >= 0};
	shmemhi_err_t why = {""};
	int status = shmemhi_fd_send(peer->conn, &m, sizeof m, x->fd, 0, &why);

	if (status == SHMEMH_ERR_TIMEOUT && !x->is_late)
		return false;
	peer->given = x->number;
	if (status != SHMEMH_OK) {
		shutdown(peer->conn, SHUT_RDWR);
		fail_one(x, status, "passing a descriptor to", pe, &why);
	}
	return true;
}

/* Returns false if the message has not come yet. */
static bool try_take(exchange_t *x, shmemhi_peer_t *peer, int pe, int *fd)
{
	shmemhi_err_t why = {""};
	int status = take(peer->conn, x->number, fd, &why);

	if (status == SHMEMH_ERR_TIMEOUT && !x->is_late)
		return false;
	peer->taken = x->number;
	if (status != SHMEMH_OK)
		fail_one(x, status, "waiting for the descriptor of", pe, &why);
	return true;
}

/* Give and take what is left of this exchange with one peer. A peer that is gone may have given
 * before: its message is taken, but not waited for. The same if this PE is cut off, since the
 * bootstrap then does not report whether the peer lives. Returns whether anything moved. */
static bool try_both(exchange_t *x, const shmemh_t *job, int pe, int *fd)
{
	shmemhi_peer_t *peer = &job->mem->peers[pe];
	static const shmemhi_err_t gone = {"it is gone"}, cut_off = {"this PE lost the bootstrap"};
	const uint32_t cause = atomic_load(&job->causes[pe]);
	bool moved = false;

	if (peer->given < x->number)
		moved |= try_give(x, peer, pe);
	if (peer->taken < x->number)
		moved |= try_take(x, peer, pe, fd);
	if (cause == SHMEMD_CAUSE_NONE || (peer->given == x->number && peer->taken == x->number))
		return moved;
	peer->given = x->number;
	peer->taken = x->number;
	fail_one(x, SHMEMH_ERR_PEER, "exchanging descriptors with", pe,
		 cause == SHMEMD_CAUSE_CUT_OFF ? &cut_off : &gone);
	return true;
}

int shmemhi_exchange(shmemh_t *job, int fd, int *fds, shmemhi_err_t *err)
{
	exchange_t x = {.number = ++job->mem->exchanges, .fd = fd, .err = err};
	uint64_t deadline_ns = shmemhi_deadline(job->opt.boot_timeout_ns);
	bool is_pending = true;

	for (int pe = 0; pe < job->n_pes; pe++)
		fds[pe] = -1;
	/* Send and receive alternately. The Linux kernel limits the descriptors in flight of a
	 * user to the number that one process may have open (unix(7), ETOOMANYREFS). If all PEs
	 * of a node sent all of theirs first, they would exceed the limit; a PE that cannot send
	 * must receive meanwhile. */
	while (is_pending) {
		struct pollfd wait = {.fd = -1, .events = POLLIN};
		int moved = 0;

		is_pending = false;
		x.is_late = shmemhi_now() >= deadline_ns;
		for (int pe = 0; pe < job->n_pes; pe++) {
			shmemhi_peer_t *peer = &job->mem->peers[pe];

			if (peer->conn < 0)
				continue;
			moved |= try_both(&x, job, pe, &fds[pe]);
			is_pending |= peer->given < x.number || peer->taken < x.number;
			if (peer->taken < x.number)
				wait.fd = peer->conn;
		}
		if (is_pending && !moved)
			poll(&wait, 1, ROUND_MS);
	}
	return x.status;
}
