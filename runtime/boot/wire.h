/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The protocol between hub and PEs over TCP.
 *
 * Start. Three records of fixed size; each side verifies the other's proof before it interprets
 * anything of the other's data but the magic, whose last byte is the version:
 *	hub -> PE   challenge   magic with the version, a nonce
 *	PE -> hub   hello       the same magic, PE number, n_pes, a nonce, HMAC over role, both
 *				nonces and all of it
 *	hub -> PE   verdict     PROVED with the hub's HMAC over the same, or REFUSED: wrong secret
 * The key is derived from the secret in the unique id. The proof keeps other processes out. It does
 * not hide or sign the data that follows from an attacker who can change packets on the way.
 *
 * Then frames: a header, and nbytes of body.
 *	PE -> hub   PART   seq, its share of host collective seq; arg: its timeout in nanoseconds
 *		    SUBSET seq: tag; its share of a gather among some PEs, behind a
 *		           shmemhi_subset_t and their numbers; arg: its timeout in nanoseconds
 *		    BYE    it leaves in good order; with a body: because its init failed. arg:
 *		           shmemh_status, body: one line of text
 *	hub -> PE   GO     all PEs are connected
 *		    RESULT seq, the shares of all PEs in order
 *		    FAIL   seq (0: the start), arg: shmemh_status, body: one line of text
 *		    SUBSET_RESULT  seq: tag; a byte for each member: 1 if its share is there,
 *		           0 if it is gone; then the shares of all members in order
 *		    SUBSET_FAIL  seq: tag; as FAIL
 *		    GONE   arg: PE number, and shmemd_cause in the upper half
 *
 * Collectives are numbered from 1. Every number has one result for all PEs, RESULT or FAIL, and
 * then the next one begins: a PE that contributes to collective s after its deadline receives a
 * FAIL with number s, and is in step again. Its status and line are those of the latest collective
 * that failed. Once a PE died or left every collective fails. A PE that receives no result for
 * longer than its timeout and a margin treats the hub as lost and ends its collectives.
 *
 * Gathers among some PEs are told apart by their members and tag, and go on after a PE died or
 * left: a member that is gone is not waited for, and the hub alone decides who is. A PE waits for
 * one collective or gather at a time.
 *
 * Numbers are little-endian, as on every host with a supported GPU. */
#ifndef SHMEMHI_BOOT_WIRE_H
#define SHMEMHI_BOOT_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sodium.h>
#include <shmem_dev/abi/base.h>
#include <shmem_host/status.h>

SHMEMD_STATIC_ASSERT(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the wire is little-endian");

#define SHMEMHI_WIRE_MAGIC "SHMEMHB\3"     /* the last byte is the version */
#define SHMEMHI_MAX_PART (1u << 20)        /* bytes of a share; see shmemh_boot_t.allgather */
#define SHMEMHI_MAX_SUBSET_PART (1u << 16) /* bytes of a share in a gather among some PEs */
#define SHMEMHI_MAX_TEXT 480               /* bytes of a FAIL's text; fits shmemhi_err_t */

/* Is the arg of a FAIL or BYE a failure of enum shmemh_status? */
#define SHMEMHI_IS_STATUS(arg) ((arg) >= SHMEMH_ERR_ARGUMENT && (arg) <= SHMEMH_ERR_NIC)

typedef struct shmemhi_secret {
	unsigned char bytes[crypto_auth_KEYBYTES];
} shmemhi_secret_t;

typedef struct shmemhi_challenge {
	unsigned char magic[8];
	unsigned char nonce[16];
} shmemhi_challenge_t;

typedef struct shmemhi_client_hello {
	unsigned char magic[8];
	int32_t pe;
	int32_t n_pes;
	unsigned char nonce[16];
	unsigned char mac[crypto_auth_BYTES];
} shmemhi_client_hello_t;

enum shmemhi_verdict_code { SHMEMHI_PROVED = 1, SHMEMHI_REFUSED = 2 };

typedef struct shmemhi_verdict {
	uint32_t code;
	uint32_t zero;
	unsigned char mac[crypto_auth_BYTES];
} shmemhi_verdict_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemhi_challenge_t) == 24, "wire: challenge");
SHMEMD_STATIC_ASSERT(sizeof(shmemhi_client_hello_t) == 64, "wire: hello");
SHMEMD_STATIC_ASSERT(sizeof(shmemhi_verdict_t) == 40, "wire: verdict");

enum shmemhi_frame_type {
	SHMEMHI_PART = 1,
	SHMEMHI_BYE = 2,
	SHMEMHI_GO = 3,
	SHMEMHI_RESULT = 4,
	SHMEMHI_FAIL = 5,
	SHMEMHI_GONE = 6,
	SHMEMHI_SUBSET = 7,
	SHMEMHI_SUBSET_RESULT = 8,
	SHMEMHI_SUBSET_FAIL = 9,
};

/* The first bytes of the body of SUBSET. int32_t numbers[n_pes] follow, ascending, then the
 * share. */
typedef struct shmemhi_subset {
	uint32_t n_pes;
	uint32_t zero;
} shmemhi_subset_t;

typedef struct shmemhi_frame {
	uint32_t type;
	uint32_t zero;
	uint64_t nbytes; /* of the body */
	uint64_t seq;
	uint64_t arg;
} shmemhi_frame_t;

SHMEMD_STATIC_ASSERT(sizeof(shmemhi_frame_t) == 32, "wire: frame");

#define SHMEMHI_GONE_ARG(pe, cause) ((uint64_t)(cause) << 32 | (uint32_t)(pe))

void shmemhi_wire_key(const unsigned char *secret, size_t nbytes, shmemhi_secret_t *key);

/* The MAC that proves the PE to the hub, and the hub to the PE. */
void shmemhi_mac_hello(const shmemhi_secret_t *key, const shmemhi_challenge_t *challenge,
		       const shmemhi_client_hello_t *hello, unsigned char mac[crypto_auth_BYTES]);
void shmemhi_mac_verdict(const shmemhi_secret_t *key, const shmemhi_challenge_t *challenge,
			 const shmemhi_client_hello_t *hello, unsigned char mac[crypto_auth_BYTES]);

/* Set the options of a connected socket: no delay, and detection of a vanished host after about
 * 30 s. Keep-alive probes detect it when idle (10 s, then every 5 s), TCP_USER_TIMEOUT when data
 * is outstanding. The time is a compromise: a switch that restarts is not a dead host. A process
 * that is stopped (SIGSTOP, debugger) stays connected, as long as its receive buffer has room. */
void shmemhi_tcp_options(int fd);

/* Send what fits into a non-blocking socket now; a lost connection raises no SIGPIPE. Returns
 * bytes sent, 0 if none fit, minus an errno. */
ssize_t shmemhi_send_some(int fd, const void *buf, size_t nbytes);

/* Send all of buf over a non-blocking socket. Returns 0 or an errno: ETIMEDOUT after the
 * deadline; EPIPE or ECONNRESET when the other side ended the connection. */
int shmemhi_send_all(int fd, const void *buf, size_t nbytes, uint64_t deadline);
/* The same for bytes that more bytes follow at once: both may travel in one packet. */
int shmemhi_send_first(int fd, const void *buf, size_t nbytes, uint64_t deadline);
/* Receive all of buf likewise; ECONNRESET also when the other side ended the connection. */
int shmemhi_recv_all(int fd, void *buf, size_t nbytes, uint64_t deadline);

/* A frame being received. */
typedef struct shmemhi_inbox {
	shmemhi_frame_t head;
	size_t got; /* bytes of head, then of head and body */
	unsigned char *body;
	size_t capacity; /* of body */
} shmemhi_inbox_t;

/* Receive the available bytes from a non-blocking socket. After a return of 1 head and body are
 * complete, and stay valid until the next call.
 * max      a longer body is refused before memory is allocated for it.
 * Returns  1 complete; 0 not yet; minus an errno: ECONNRESET (ended), EPROTO (too long), ENOMEM. */
int shmemhi_inbox_read(shmemhi_inbox_t *in, int fd, uint64_t max);

#endif
