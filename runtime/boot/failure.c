/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A PE whose init fails tells the others why, so that they need not wait for it until their
 * deadline. The reason may be a lack of memory, so these functions allocate none. The exception:
 * base/sockets.c enlarges its array of bits, which may be empty, for a new socket whose number is
 * beyond it. */
#include "boot/client.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include "base/clock.h"
#include "base/sockets.h"

#define GOODBYE_NS (2 * SHMEMHI_SECOND)

int shmemhi_send_failure(int fd, int status, const char *text, uint64_t deadline)
{
	size_t nbytes = strnlen(text, SHMEMHI_MAX_TEXT - 1);
	shmemhi_frame_t bye = {.type = SHMEMHI_BYE, .nbytes = nbytes + 1, .arg = (uint64_t)status};
	int error = shmemhi_send_all(fd, &bye, sizeof(bye), deadline);

	if (error == 0)
		error = shmemhi_send_all(fd, text, nbytes, deadline);
	return error != 0 ? error : shmemhi_send_all(fd, "", 1, deadline);
}

/* Closing the socket with unread frames would reset the connection, and the BYE could be lost. */
static void read_to_end(int fd, uint64_t deadline)
{
	char dropped[512];

	while (shmemhi_now() < deadline) {
		struct pollfd p = {.fd = fd, .events = POLLIN};

		if (poll(&p, 1, shmemhi_poll_ms(deadline)) > 0 &&
		    recv(fd, dropped, sizeof(dropped), 0) <= 0)
			return;
	}
}

void shmemhi_report_failure(int fd, int status, const char *text)
{
	uint64_t deadline = shmemhi_deadline(GOODBYE_NS);

	if (shmemhi_send_failure(fd, status, text, deadline) == 0) {
		shutdown(fd, SHUT_WR);
		read_to_end(fd, deadline);
	}
	shmemhi_socket_close(fd);
}

void shmemhi_connect_and_report(const shmemhi_id_t *id, int pe, int n_pes,
				const shmemhi_options_t *opt, const shmemhi_log_t *log, int status,
				const char *text)
{
	uint64_t deadline = shmemhi_deadline(opt->boot_timeout_ns);
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
	shmemhi_err_t unused = {""};
	shmemhi_secret_t key;
	int fd;

	shmemhi_wire_key(id->secret, sizeof(id->secret), &key);
	fd = shmemhi_hub_connect(id, &key, pe, n_pes, deadline, log, where, &unused);
	sodium_memzero(&key, sizeof(key));
	if (fd >= 0)
		shmemhi_report_failure(fd, status, text);
}
