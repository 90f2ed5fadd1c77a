/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The self-test over two machines. PE 0 runs the rows and has end a of each pair; PE 1 has end b
 * and carries out requests of PE 0, one at a time. Requests and replies go by the bootstrap of the
 * job. They fail if the other PE dies or does not answer within SHMEMH_BOOT_TIMEOUT. */
#ifndef SHMEMHI_SELFTEST_FAR_H
#define SHMEMHI_SELFTEST_FAR_H

#include <shmem_host/boot.h>
#include "fault/results.h"
#include "selftest/rig.h"

/* A port of a PE, for the other one. */
typedef struct shmemhi_far_port {
	shmemhi_port_info_t info;
	char name[64];
	int32_t port;
	uint32_t rkey; /* of the remote memory */
	shmemhi_firmware_t firmware;
} shmemhi_far_port_t;

/* What the PEs exchange before the first request. */
typedef struct shmemhi_far_hello {
	int32_t status; /* not SHMEMH_OK: that PE cannot take part, and text says why */
	int32_t n_ports;
	uint64_t remote; /* address of the remote memory */
	char host[64];
	char text[SHMEMHI_ERR_NBYTES];
	shmemhi_far_port_t ports[SHMEMHI_RIG_PORTS];
} shmemhi_far_hello_t;

typedef struct shmemhi_far {
	const shmemh_boot_t *boot;
	shmemhi_far_hello_t mine, peer;
	/* of the other PE, for link.port of ends; never opened here */
	shmemhi_open_port_t ports[SHMEMHI_RIG_PORTS];
	char *shares; /* scratch: what both PEs send */
	bool is_lost; /* no request can be sent any more */
	shmemhi_err_t why;
} shmemhi_far_t;

/* Requests of PE 0. */
enum shmemhi_far_op {
	SHMEMHI_FAR_OPEN,        /* port: memory for end b on that port */
	SHMEMHI_FAR_CREATE,      /* its CQ and queue pair, in place of old ones; reply: name */
	SHMEMHI_FAR_JOIN,        /* peer_port, name, flags: connect it */
	SHMEMHI_FAR_CLOSE,       /* end b */
	SHMEMHI_FAR_FENCE,       /* watch: shmemhi_remote_fence */
	SHMEMHI_FAR_QUERY,       /* reply: state */
	SHMEMHI_FAR_FLUSH_OPEN,  /* shmemhi_remote_flush_open */
	SHMEMHI_FAR_FLUSH,       /* shmemhi_remote_flush; reply: completion */
	SHMEMHI_FAR_FLUSH_CLOSE, /* shmemhi_remote_flush_close */
	SHMEMHI_FAR_STORE,       /* offset; payload to PE 1: bytes for the remote memory */
	SHMEMHI_FAR_LOAD, /* offset, stride; payload from PE 1: pieces of the remote memory */
	SHMEMHI_FAR_END,  /* payload to PE 1: shmemhi_port_verdicts_t; the last request */
};

/* A request, which the reply overwrites. */
typedef struct shmemhi_far_message {
	uint32_t op;
	int32_t status; /* of the reply */
	int32_t port, peer_port, flags;
	shmemhi_qp_info_t name;
	shmemhi_watch_t watch;
	uint64_t offset;
	uint32_t nbytes; /* of the payload, which follows the request or the reply */
	uint32_t piece;  /* LOAD: bytes of each piece */
	uint32_t stride; /* LOAD: from one piece to the next */
	shmemhi_qp_state_t state;
	shmemhi_completion_t completion;
	char text[200]; /* of a reply with an error */
} shmemhi_far_message_t;

#define SHMEMHI_FAR_MAX_ROWS 64
#define SHMEMHI_ROW_NOT_RUN 0xff

/* The verdict of each row on each port of a PE, or ROW_NOT_RUN. */
typedef struct shmemhi_port_verdicts {
	uint8_t verdicts[SHMEMHI_FAR_MAX_ROWS][SHMEMHI_RIG_PORTS];
} shmemhi_port_verdicts_t;

/* Append what a PE has found on its n ports, whose kinds are given, to its file of results. Of each
 * row one line for each kind: the worst verdict on its ports, since the last line counts. None for
 * a row that has not run on ports of that kind. */
void shmemhi_verdicts_keep(const shmemhi_port_verdicts_t *verdicts, const shmemhi_firmware_t *kinds,
			   int n, FILE *f);

/* A row has ended before it ran on all ports: forget its verdicts but failures, since what it found
 * on some ports must not replace an earlier failure of others of their kind. */
void shmemhi_verdicts_end_early(shmemhi_port_verdicts_t *verdicts, int row);

/* Exchange versions, then far->mine. Collective over the two PEs of boot. free in any case.
 * Returns  SHMEMH_OK; ERR_VERSION; what the other PE reports; ERR_NO_MEMORY; a failure of the
 *          bootstrap (ERR_PEER, ERR_TIMEOUT, ERR_MISMATCH). */
int shmemhi_far_meet(shmemhi_far_t *far, const shmemh_boot_t *boot, shmemhi_err_t *err);
void shmemhi_far_free(shmemhi_far_t *far);

/* PE 0: send a request, with the payload `out`, and wait for its reply, with the payload `in`. By
 * one thread at a time.
 * Returns  SHMEMH_OK; the status of the reply; ERR_PEER and others of the bootstrap, at this and
 *          at all later calls: far->is_lost is then set. */
int shmemhi_far_call(shmemhi_far_t *far, shmemhi_far_message_t *m, const void *out, void *in,
		     shmemhi_err_t *err);

/* PE 1: carry out requests of PE 0, until its last one, which fills verdicts.
 * Returns  SHMEMH_OK; ERR_NO_MEMORY; ERR_MISMATCH: too large a request; a failure of the bootstrap.
 */
int shmemhi_far_serve(shmemhi_rig_t *rig, shmemhi_far_t *far, shmemhi_port_verdicts_t *verdicts,
		      shmemhi_err_t *err);

/* PE 1: receive a request and its payload, which has room for payload_nbytes; and reply. */
int shmemhi_far_receive(shmemhi_far_t *far, shmemhi_far_message_t *m, void *payload,
			size_t payload_nbytes, shmemhi_err_t *err);
int shmemhi_far_reply(shmemhi_far_t *far, const shmemhi_far_message_t *m, const void *payload,
		      shmemhi_err_t *err);

#endif
