/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The contents of a unique id, and the sockets of a hub. */
#ifndef SHMEMHI_BOOT_UNIQUEID_H
#define SHMEMHI_BOOT_UNIQUEID_H

#include <stdbool.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <shmem_host/boot.h>
#include "base/err.h"
#include "base/options.h"

#define SHMEMHI_ID_SECRET_NBYTES 16
#define SHMEMHI_ID_MAX_ADDRS 4
#define SHMEMHI_ADDR_TEXT_NBYTES 64

typedef union shmemhi_addr {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
} shmemhi_addr_t;

typedef struct shmemhi_id {
	unsigned char secret[SHMEMHI_ID_SECRET_NBYTES];
	int n_addrs;
	shmemhi_addr_t addrs[SHMEMHI_ID_MAX_ADDRS]; /* of the hub, the likeliest first */
	/* Computed from torchrun's environment, so that PEs may look for the hub before it starts;
	 * not in the 128 bytes. */
	bool is_from_torchrun;
} shmemhi_id_t;

/* To and from the 128 bytes:
 *   0  "SHMEMID", then the version, 1     8  secret     24  number of addresses, then 7 zeros
 *   32 addresses of 20 bytes: family (4 or 6), zero, port (big endian), 4 or 16 bytes, zeros
 *   112 checksum over the bytes before (BLAKE2b, 16 bytes): so that a truncated or mistyped copy
 *   is not reported as a wrong secret.
 * unpack returns 0, or -1 for anything that pack did not make. */
void shmemhi_id_pack(const shmemhi_id_t *id, shmemh_uniqueid_t *packed);
int shmemhi_id_unpack(const shmemh_uniqueid_t *packed, shmemhi_id_t *id);

socklen_t shmemhi_addr_nbytes(const shmemhi_addr_t *addr);

/* "10.0.0.1:4711" or "[2001:db8::1]:4711". Returns text. */
const char *shmemhi_addr_text(const shmemhi_addr_t *addr, char text[SHMEMHI_ADDR_TEXT_NBYTES]);

/* Listen on up to 4 addresses of this host: those of interface ifname, or without a name those of
 * all interfaces that are up, the address of the default route first, loopback only if there is no
 * other. Skip link-local addresses of IPv6, which are not valid on another host.
 *
 * fds, addrs  [SHMEMHI_ID_MAX_ADDRS], receive the sockets (non-blocking) and their addresses,
 *             as many as returned.
 * Returns     how many, or minus a shmemh_status: ERR_OPTION (no such interface, or it has no
 *             address), ERR_SYSTEM. */
int shmemhi_listen(const char *ifname, int *fds, shmemhi_addr_t *addrs, shmemhi_err_t *err);

/* Listen on that address, which receives the port. Returns a non-blocking socket; -1: errno. */
int shmemhi_listen_on(shmemhi_addr_t *addr);

/* Start the thread of a hub (hub.c), which takes over the sockets; on failure they are closed. */
int shmemhi_hub_start(const shmemhi_id_t *id, int n_pes, const int *fds,
		      const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemhi_err_t *err);

/* Start on this host the hub of a job of n_pes PEs, and make its unique id: shmemh_get_uniqueid,
 * for a caller that has read the options. Returns SHMEMH_OK, or what shmemhi_listen and
 * shmemhi_hub_start do. */
int shmemhi_uniqueid_make(int n_pes, const shmemhi_options_t *opt, const shmemhi_log_t *log,
			  shmemh_uniqueid_t *id, shmemhi_err_t *err);

/* Join the job of the hub that id names: shmemhi_boot_tcp (boot.h) is this after the 128 bytes are
 * unpacked. */
int shmemhi_boot_join(const shmemhi_id_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		      const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err);

#endif
