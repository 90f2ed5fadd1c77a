/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Every PE gives every connected peer one descriptor. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "mem/state.h"
#include "util/clock.h"

typedef struct message {
	uint64_t number; /* of the exchange: one that was given up may have left messages behind */
	uint64_t has_fd;
} message_t;

/* A peer that cannot be told is told by the end of the connection: it must not wait for us. */
static int give(int conn, uint64_t number, int fd, uint64_t deadline_ns, shmemhi_err_t *err)
{
	message_t m = {.number = number, .has_fd = fd >= 0};
	int status = shmemhi_fd_send(conn, &m, sizeof m, fd, deadline_ns, err);

	if (status != SHMEMH_OK)
		shutdown(conn, SHUT_RDWR);
	return status;
}

static int take(int conn, uint64_t number, int *fd, uint64_t deadline_ns, shmemhi_err_t *err)
{
	for (;;) {
		message_t m;
		int status = shmemhi_fd_recv(conn, &m, sizeof m, fd, deadline_ns, err);

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

int shmemhi_exchange(shmemh_t *job, int fd, int *fds, shmemhi_err_t *err)
{
	shmemhi_peer_t *peers = job->mem->peers;
	uint64_t number = ++job->mem->exchanges;
	uint64_t deadline_ns = shmemhi_deadline(job->opt.boot_timeout_ns);
	int worst = SHMEMH_OK;

	/* All sends come first: a message fits the socket's buffer, so no PE waits in a send for
	 * one that waits in a send for it. */
	for (int pe = 0; pe < job->n_pes; pe++) {
		shmemhi_err_t why = {""};
		int status = peers[pe].conn < 0
				     ? SHMEMH_OK
				     : give(peers[pe].conn, number, fd, deadline_ns, &why);

		fds[pe] = -1;
		if (status != SHMEMH_OK)
			worst = shmemhi_fail(err, status, "passing a descriptor to PE %d: %s", pe,
					     why.text);
	}
	for (int pe = 0; pe < job->n_pes; pe++) {
		shmemhi_err_t why = {""};
		int status = peers[pe].conn < 0
				     ? SHMEMH_OK
				     : take(peers[pe].conn, number, &fds[pe], deadline_ns, &why);

		if (status != SHMEMH_OK)
			worst = shmemhi_fail(err, status, "waiting for the descriptor of PE %d: %s",
					     pe, why.text);
	}
	return worst;
}
