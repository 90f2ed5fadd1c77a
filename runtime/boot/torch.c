/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The environment of torchrun: it has an address that all PEs know, of the host of PE 0, and no
 * store that a C library could ask. So PE 0 starts the hub at a port that all PEs can compute
 * (MASTER_PORT + 1), and the secret is made of the environment, in which torchrun has put an id of
 * the run. Unless the user gives one (--rdzv-id), that id may be the word "none": then the secret
 * holds only values that an attacker can guess: it keeps jobs apart, but no attacker out. */
#include "boot/boot.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "boot/uniqueid.h"

#define LAST_PORT 65535
#define PORT_NS (10 * SHMEMHI_SECOND)   /* a process that is ending may have the port so long */
#define LINGER_NS (10 * SHMEMHI_SECOND) /* of the hub of a failed start, after its time limit */
#define PAUSE_MS 50

typedef struct place {
	int rank, n_pes;
	int port; /* of the hub */
	const char *addr;
	const char *run; /* "": torchrun has not set it */
} place_t;

bool shmemhi_boot_torch_present(void)
{
	return getenv("RANK") && getenv("WORLD_SIZE") && getenv("MASTER_ADDR") &&
	       getenv("MASTER_PORT");
}

/* Returns -1 after a line. */
static int number(const char *name, int min, int max, shmemhi_err_t *err)
{
	const char *text = getenv(name);
	char *end;
	long n;

	errno = 0;
	n = strtol(text, &end, 10);
	if (end != text && *end == '\0' && errno == 0 && n >= min && n <= max)
		return (int)n;
	shmemhi_fail(err, SHMEMH_ERR_OPTION,
		     "%s=%.40s is not a number in %d .. %d, as torchrun "
		     "sets it",
		     name, text, min, max);
	return -1;
}

static int read_place(place_t *p, shmemhi_err_t *err)
{
	const char *run = getenv("TORCHELASTIC_RUN_ID");

	p->addr = getenv("MASTER_ADDR");
	p->run = run ? run : "";
	p->n_pes = number("WORLD_SIZE", 1, 1 << 20, err);
	p->rank = p->n_pes < 0 ? -1 : number("RANK", 0, p->n_pes - 1, err);
	p->port = p->rank < 0 ? -1 : number("MASTER_PORT", 1, LAST_PORT - 1, err);
	if (p->port < 0)
		return SHMEMH_ERR_OPTION;
	p->port++; /* at MASTER_PORT torchrun has its own store */
	return SHMEMH_OK;
}

/* All PEs compute the same secret, a new one for each init, so that a PE that is late for one job
 * does not join the next one. TORCHELASTIC_RESTART_COUNT is no part of it: each node's agent
 * counts its own restarts. An agent ends the processes of a run before it starts those of the next
 * one. */
static void make_secret(const place_t *p, shmemhi_id_t *id)
{
	static atomic_uint n_inits;
	char text[512];

	snprintf(text, sizeof(text), "%.200s %d %d %.200s %u", p->addr, p->port, p->n_pes, p->run,
		 atomic_fetch_add(&n_inits, 1));
	crypto_generichash(id->secret, sizeof(id->secret), (unsigned char *)text, strlen(text),
			   NULL, 0);
}

static int resolve(const place_t *p, shmemhi_id_t *id, shmemhi_err_t *err)
{
	struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	char port[16];
	int status;

	snprintf(port, sizeof(port), "%d", p->port);
	status = getaddrinfo(p->addr, port, &hints, &list);
	if (status != 0)
		return shmemhi_fail(err, SHMEMH_ERR_BOOTSTRAP, "MASTER_ADDR=%.100s: %s", p->addr,
				    gai_strerror(status));
	for (const struct addrinfo *i = list; i && id->n_addrs < SHMEMHI_ID_MAX_ADDRS;
	     i = i->ai_next)
		if (i->ai_addrlen <= sizeof(id->addrs[0]))
			memcpy(&id->addrs[id->n_addrs++], i->ai_addr, i->ai_addrlen);
	freeaddrinfo(list);
	return SHMEMH_OK;
}

/* On all addresses: MASTER_ADDR may be a name that means loopback on this host only. */
static int listen_on(const place_t *p)
{
	shmemhi_addr_t any6 = {
		.v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)p->port)}};
	shmemhi_addr_t any4 = {.v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)p->port)}};
	int fd = shmemhi_listen_on(&any6);

	return fd < 0 && errno == EAFNOSUPPORT ? shmemhi_listen_on(&any4) : fd;
}

/* The time until which the hub of this process's last failed start may still have the port. That
 * hub stays to tell late PEs that the start failed, so that they too can start again; the next hub
 * waits for the port (listen_here). */
static atomic_ullong old_hub_until;

static void keep_old_hub(uint64_t start_ns)
{
	uint64_t ns;

	if (__builtin_add_overflow(start_ns, LINGER_NS, &ns))
		ns = SHMEMHI_NEVER;
	atomic_store(&old_hub_until, shmemhi_deadline(ns));
}

static int listen_here(const place_t *p, const shmemhi_options_t *opt, shmemhi_err_t *err)
{
	const uint64_t ns = opt->boot_timeout_ns < PORT_NS ? opt->boot_timeout_ns : PORT_NS;
	const uint64_t until = atomic_load(&old_hub_until);
	const uint64_t own = shmemhi_deadline(ns);
	const uint64_t deadline = until > own ? until : own;
	int fd = listen_on(p);

	while (fd < 0 && errno == EADDRINUSE && shmemhi_now() < deadline) {
		poll(NULL, 0, PAUSE_MS);
		fd = listen_on(p);
	}
	if (fd < 0)
		return -shmemhi_fail(
			err, SHMEMH_ERR_SYSTEM,
			"cannot listen on port %d, the one after MASTER_PORT: %s: choose "
			"another MASTER_PORT",
			p->port, strerror(errno));
	return fd;
}

static int start_hub(const place_t *p, const shmemhi_id_t *id, const shmemhi_options_t *opt,
		     const shmemhi_log_t *log, shmemhi_err_t *err)
{
	shmemhi_id_t own = *id;
	int fd = listen_here(p, opt, err);

	if (fd < 0)
		return -fd;
	own.n_addrs = 1; /* sockets */
	return shmemhi_hub_start(&own, p->n_pes, &fd, opt, log, err);
}

int shmemhi_boot_torch(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		       shmemhi_err_t *err)
{
	shmemhi_id_t id = {.is_from_torchrun = true};
	place_t p;
	int status = read_place(&p, err);

	if (status != SHMEMH_OK)
		return status;
	if (sodium_init() < 0)
		return shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "sodium_init failed");
	make_secret(&p, &id);
	status = resolve(&p, &id, err);
	if (status == SHMEMH_OK && p.rank == 0)
		status = start_hub(&p, &id, opt, log, err);
	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_boot_join(&id, p.rank, p.n_pes, opt, log, boot, err);
	if (status != SHMEMH_OK && p.rank == 0)
		keep_old_hub(opt->boot_timeout_ns);
	return status;
}
