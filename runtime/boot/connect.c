/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "boot/client.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/sockets.h"

#define CONNECT_NS                                                                                 \
	(2 * SHMEMHI_SECOND) /* an address behind a firewall must not use up the rest   \
					 */
#define HELLO_NS (5 * SHMEMHI_SECOND)
#define PAUSE_NS (100 * SHMEMHI_MS) /* between rounds through the addresses */
/* The hub listens before its id exists, except with torchrun's variables (uniqueid.h), where a
 * refused connection is retried until the deadline. So a refused connection means that the hub has
 * ended or that its job has started. Retry for this long nevertheless: the routes of a container
 * may not be up yet. */
#define REFUSED_NS SHMEMHI_SECOND
/* If one address refused the secret, or has another version, the other addresses may answer until
 * this long after the search began. On this PE's network the first address may be that of another
 * host, which has the hub of another job. */
#define OTHERS_NS (10 * SHMEMHI_SECOND)

typedef enum outcome {
	FOUND,
	NOBODY,      /* connection refused */
	UNREACHABLE, /* no answer, or an error */
	STRANGER,    /* another program listens there */
	OTHER_VERSION,
	WRONG_SECRET,
	NO_DESCRIPTOR, /* this process has none left for a socket */
} outcome_t;

typedef struct attempt {
	outcome_t outcome;
	int error; /* errno of UNREACHABLE and NO_DESCRIPTOR */
	int version;
} attempt_t;

static attempt_t result(outcome_t outcome, int error)
{
	return (attempt_t){.outcome = outcome, .error = error};
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Returns 0 or an errno. */
static int tcp_connect(int fd, const shmemhi_addr_t *addr, uint64_t deadline)
{
	struct pollfd p = {.fd = fd, .events = POLLOUT};
	socklen_t nbytes = sizeof(int);
	int error = 0;
	int n;

	if (connect(fd, &addr->any, shmemhi_addr_nbytes(addr)) == 0)
		return 0;
	if (errno != EINPROGRESS)
		return errno;
	do
		n = poll(&p, 1, shmemhi_poll_ms(deadline));
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return ETIMEDOUT;
	if (n < 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &nbytes) != 0)
		return errno;
	return error;
}

/* Exchange the three records of the start. */
static attempt_t prove_secret(int fd, const shmemhi_secret_t *key, int pe, int n_pes,
			      uint64_t deadline)
{
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello = {.pe = pe, .n_pes = n_pes};
	shmemhi_verdict_t verdict;
	unsigned char mac[crypto_auth_BYTES];
	const size_t last = sizeof(challenge.magic) - 1;
	int error = shmemhi_recv_all(fd, &challenge, sizeof(challenge), deadline);

	if (error != 0)
		return result(UNREACHABLE, error);
	if (memcmp(challenge.magic, SHMEMHI_WIRE_MAGIC, last) != 0)
		return result(STRANGER, 0);
	if (challenge.magic[last] != SHMEMHI_WIRE_MAGIC[last])
		return (attempt_t){.outcome = OTHER_VERSION, .version = challenge.magic[last]};
	memcpy(hello.magic, SHMEMHI_WIRE_MAGIC, sizeof(hello.magic));
	randombytes_buf(hello.nonce, sizeof(hello.nonce));
	shmemhi_mac_hello(key, &challenge, &hello, hello.mac);
	error = shmemhi_send_all(fd, &hello, sizeof(hello), deadline);
	if (error == 0)
		error = shmemhi_recv_all(fd, &verdict, sizeof(verdict), deadline);
	if (error != 0)
		return result(UNREACHABLE, error);
	shmemhi_mac_verdict(key, &challenge, &hello, mac);
	/* Treat a hub that cannot prove that it has the secret like one that refused. */
	if (verdict.code != SHMEMHI_PROVED || sodium_memcmp(mac, verdict.mac, sizeof(mac)) != 0)
		return result(WRONG_SECRET, 0);
	return result(FOUND, 0);
}

/* Returns the socket, or -1. */
static int try_addr(const shmemhi_addr_t *addr, const shmemhi_secret_t *key, int pe, int n_pes,
		    uint64_t deadline, attempt_t *attempt)
{
	int fd = shmemhi_socket(addr->any.sa_family, SOCK_STREAM);
	int error;

	if (fd < 0) {
		*attempt =
			result(shmemhi_no_descriptor(errno) ? NO_DESCRIPTOR : UNREACHABLE, errno);
		return -1;
	}
	error = tcp_connect(fd, addr, earlier(deadline, shmemhi_deadline(CONNECT_NS)));
	if (error == 0) {
		shmemhi_tcp_options(fd);
		*attempt = prove_secret(fd, key, pe, n_pes,
					earlier(deadline, shmemhi_deadline(HELLO_NS)));
	} else {
		*attempt = result(error == ECONNREFUSED ? NOBODY : UNREACHABLE, error);
	}
	if (attempt->outcome == FOUND)
		return fd;
	shmemhi_socket_close(fd);
	return -1;
}

static const char *text_attempt(const attempt_t *a, char *text, size_t nbytes)
{
	switch (a->outcome) {
	case NOBODY:
		return "no program listens there";
	case STRANGER:
		return "not a hub of this library";
	case OTHER_VERSION:
		snprintf(text, nbytes, "speaks version %d of the bootstrap, this runtime %d",
			 a->version, SHMEMHI_WIRE_MAGIC[7]);
		return text;
	case WRONG_SECRET:
		return "refused the secret";
	case NO_DESCRIPTOR:
		snprintf(text, nbytes, "%s%s", strerror(a->error),
			 shmemhi_descriptor_advice(a->error));
		return text;
	case FOUND:
	case UNREACHABLE:
		break;
	}
	return strerror(a->error);
}

/* "10.0.0.1:4711 (no program listens there), ..." */
static void text_all(const shmemhi_id_t *id, const attempt_t *attempts, char *text, size_t nbytes)
{
	size_t used = 0;
	int i;

	text[0] = '\0';
	for (i = 0; i < id->n_addrs && used < nbytes; i++) {
		char addr[SHMEMHI_ADDR_TEXT_NBYTES];
		char why[96];

		used += (size_t)snprintf(text + used, nbytes - used, "%s%s (%s)", i ? ", " : "",
					 shmemhi_addr_text(&id->addrs[i], addr),
					 text_attempt(&attempts[i], why, sizeof(why)));
	}
}

static bool has(const shmemhi_id_t *id, const attempt_t *attempts, outcome_t outcome)
{
	int i;

	for (i = 0; i < id->n_addrs; i++)
		if (attempts[i].outcome == outcome)
			return true;
	return false;
}

/* Another attempt at this address would give the same result. */
static bool is_final(const attempt_t *a)
{
	return a->outcome == WRONG_SECRET || a->outcome == OTHER_VERSION;
}

/* May another round reach the hub, ns after the first one began? Every address was tried before. */
static bool may_succeed(const shmemhi_id_t *id, const attempt_t *attempts, int n_rounds,
			uint64_t ns)
{
	int has_final = has(id, attempts, WRONG_SECRET) || has(id, attempts, OTHER_VERSION);
	int n_open = 0;
	int i;

	if (has(id, attempts, NO_DESCRIPTOR))
		return false;
	for (i = 0; i < id->n_addrs; i++)
		if (attempts[i].outcome == NOBODY)
			n_open += id->is_from_torchrun || n_rounds < 2 || ns < REFUSED_NS;
		else if (id->is_from_torchrun || !is_final(&attempts[i]))
			n_open += !has_final || ns < OTHERS_NS;
	return n_open > 0;
}

static bool all_are(const shmemhi_id_t *id, const attempt_t *attempts, outcome_t outcome)
{
	int i;

	for (i = 0; i < id->n_addrs; i++)
		if (attempts[i].outcome != outcome)
			return false;
	return true;
}

/* is_from_torchrun is set only if the id was computed from torchrun's environment; the messages
 * then name those variables. */

static const char *has_other_secret(const shmemhi_id_t *id)
{
	return id->is_from_torchrun
		       ? "the hub has another secret: MASTER_ADDR, MASTER_PORT, WORLD_SIZE or "
			 "TORCHELASTIC_RUN_ID differ between the PEs, another job has the "
			 "port MASTER_PORT + 1, or the PEs call shmemh_init a different "
			 "number of times"
		       : "the secret of this unique id is wrong: it was made for another job";
}

static const char *why_nobody(const shmemhi_id_t *id)
{
	return id->is_from_torchrun
		       ? "PE 0, on the host MASTER_ADDR, does not listen on port "
			 "MASTER_PORT + 1: it has not started its hub, the hub has ended, or "
			 "all PEs of the job are in already"
		       : "the hub of the unique id has ended (its process has ended, or the "
			 "start of the job failed, as after SHMEMH_BOOT_TIMEOUT), or all PEs of "
			 "the job are in already";
}

static const char *how_to_choose(const shmemhi_id_t *id)
{
	return id->is_from_torchrun
		       ? "MASTER_ADDR must be an address of PE 0's host that all PEs reach"
		       : "SHMEMH_IFNAME, where the unique id is made, chooses its interface";
}

static int fail_connect(const shmemhi_id_t *id, const attempt_t *attempts, shmemhi_err_t *err)
{
	char text[320];

	text_all(id, attempts, text, sizeof(text));
	if (has(id, attempts, NO_DESCRIPTOR))
		return -shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "no socket to connect to the hub: %s",
				     text);
	if (has(id, attempts, WRONG_SECRET))
		return -shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "%s: %s", has_other_secret(id),
				     text);
	if (has(id, attempts, OTHER_VERSION))
		return -shmemhi_fail(err, SHMEMH_ERR_VERSION, "no hub of this version: %s", text);
	if (all_are(id, attempts, NOBODY))
		return -shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "no hub at %s: %s", text,
				     why_nobody(id));
	return -shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "hub not reached: %s; %s", text,
			     how_to_choose(id));
}

int shmemhi_hub_connect(const shmemhi_id_t *id, const shmemhi_secret_t *key, int pe, int n_pes,
			uint64_t deadline, const shmemhi_log_t *log,
			char where[SHMEMHI_ADDR_TEXT_NBYTES], shmemhi_err_t *err)
{
	attempt_t attempts[SHMEMHI_ID_MAX_ADDRS];
	uint64_t begin = shmemhi_now();
	int n_rounds;

	memset(attempts, 0, sizeof(attempts)); /* none is final */
	for (n_rounds = 1;; n_rounds++) {
		char text[320];
		int i;

		for (i = 0; i < id->n_addrs; i++) {
			int fd = -1;

			/* At a port that all PEs know there may be an earlier job's hub. */
			if (id->is_from_torchrun || !is_final(&attempts[i]))
				fd = try_addr(&id->addrs[i], key, pe, n_pes, deadline,
					      &attempts[i]);

			shmemhi_addr_text(&id->addrs[i], where);
			if (fd >= 0)
				return fd;
		}
		text_all(id, attempts, text, sizeof(text));
		shmemhi_log(log, SHMEMHI_INFO, "no hub yet: %s", text);
		if (shmemhi_now() >= deadline ||
		    !may_succeed(id, attempts, n_rounds, shmemhi_now() - begin))
			return fail_connect(id, attempts, err);
		poll(NULL, 0, PAUSE_NS / SHMEMHI_MS);
	}
}
