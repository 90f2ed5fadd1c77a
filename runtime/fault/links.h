/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Messages between agents over TCP: shmemhi_fault_net_t for hosts.
 *
 * A PE connects to another one when it has a message for it, and keeps the connection; messages go
 * from the end that connected, acknowledgements come back. So two PEs have up to two connections,
 * one for each direction, and PEs whose channels never fail have none.
 *	listener -> PE  challenge, then as in boot/wire.h: hello, verdict. The key is made of the
 *	                job's secret and the listener's PE number: the proof shows who listens
 *	PE -> listener  MESSAGE  seq from 1, one more each; body: shmemhi_fault_message_t
 *	listener -> PE  ACK      seq of the latest message received
 * A connection that is lost is made again when there is a message to send. Messages without
 * acknowledgement are sent again in their order; the listener drops those that it has. A frame that
 * breaks the protocol is logged with one line, and its connection is closed; nothing else changes.
 *
 * One thread uses a shmemhi_fault_links_t. */
#ifndef SHMEMHI_FAULT_LINKS_H
#define SHMEMHI_FAULT_LINKS_H

#include "base/err.h"
#include "boot/uniqueid.h"
#include "boot/wire.h"
#include "fault/net.h"

#define SHMEMHI_FAULT_MAGIC "SHMEMHF\1" /* the last byte is the version */
#define SHMEMHI_FAULT_MAX_UNPROVED 64

enum shmemhi_fault_frame { SHMEMHI_FAULT_MESSAGE = 1, SHMEMHI_FAULT_ACK = 2 };

/* Where a PE listens. */
typedef struct shmemhi_fault_listener {
	uint32_t n_addrs, zero;
	shmemhi_addr_t addrs[SHMEMHI_ID_MAX_ADDRS];
} shmemhi_fault_listener_t;

typedef struct shmemhi_fault_frame_message {
	shmemhi_frame_t head;
	shmemhi_fault_message_t body;
} shmemhi_fault_frame_message_t;

/* To a PE. */
enum shmemhi_fault_out_state { OUT_IDLE, OUT_CONNECTING, OUT_CHALLENGE, OUT_VERDICT, OUT_UP };

typedef struct shmemhi_fault_out {
	int fd; /* -1: none */
	int state, is_forgotten;
	uint32_t addr;            /* the one that is tried, or connected */
	uint64_t deadline;        /* of the step of the start */
	uint64_t retry_at, delay; /* after all addresses failed */
	uint64_t lost_at;         /* first failure since it was last connected; 0: none */
	int is_said;              /* a warning has said that the PE is not reached */
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello;
	shmemhi_verdict_t verdict;
	size_t got; /* bytes of the record being received */
	shmemhi_inbox_t in;
	shmemhi_fault_frame_message_t *waiting; /* not acknowledged, oldest first */
	size_t n_waiting, capacity;
	size_t n_sent, sent; /* of these, sent on this connection; bytes of the next one */
	uint64_t next_seq;
	uint64_t acked_at; /* latest acknowledgement, or the first message after it */
} shmemhi_fault_out_t;

/* From a PE. */
enum shmemhi_fault_in_state { IN_FREE, IN_HELLO, IN_UP };

typedef struct shmemhi_fault_in {
	int fd, state, pe;
	bool is_readable;
	uint64_t deadline; /* of its proof */
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello;
	size_t got;
	shmemhi_inbox_t in;
	shmemhi_frame_t ack;
	size_t ack_left; /* bytes of it to send */
	int has_ack;     /* another one is to follow */
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
} shmemhi_fault_in_t;

typedef struct shmemhi_fault_links {
	shmemhi_log_t log;
	int pe, n_pes;
	uint32_t n_channels;
	unsigned char secret[SHMEMHI_ID_SECRET_NBYTES];
	shmemhi_secret_t key; /* of this listener */
	int poll_fd;
	int n_listen, listen_fds[SHMEMHI_ID_MAX_ADDRS];
	shmemhi_fault_listener_t *listeners; /* [n_pes] */
	shmemhi_fault_out_t **outs;          /* [n_pes], made at the first message */
	shmemhi_fault_in_t *ins;             /* [n_ins] */
	uint32_t n_ins, n_unproved, turn;
	uint64_t *received; /* [n_pes] seq of the latest message */
	uint64_t accept_at; /* when to accept again, without an event; 0: not needed */
	uint32_t n_refused; /* connections ended for what they sent */
} shmemhi_fault_links_t;

/* Listen (SHMEMH_IFNAME chooses the interface, as for the hub).
 *
 * mine     receives where.
 * Returns  SHMEMH_OK; ERR_OPTION; ERR_SYSTEM; ERR_NO_MEMORY. close releases what there is, also
 *          after a failure. */
int shmemhi_fault_links_open(shmemhi_fault_links_t *links, const char *ifname, int pe, int n_pes,
			     uint32_t n_channels, const shmemhi_log_t *log,
			     shmemhi_fault_listener_t *mine, shmemhi_err_t *err);
void shmemhi_fault_links_close(shmemhi_fault_links_t *links);

/* What the PEs have exchanged: who listens where (copied), and the job's secret. */
void shmemhi_fault_links_meet(shmemhi_fault_links_t *links,
			      const shmemhi_fault_listener_t *listeners,
			      const unsigned char secret[SHMEMHI_ID_SECRET_NBYTES]);

/* Wait for input, wait_ms milliseconds at most; then connect, prove, send, as far as it can be
 * done now. */
void shmemhi_fault_links_poll(shmemhi_fault_links_t *links, int wait_ms);

/* net.state is the links. */
shmemhi_fault_net_t shmemhi_fault_links_net(shmemhi_fault_links_t *links);

/* links_in.c */
void shmemhi_fault_in_accept(shmemhi_fault_links_t *links, int listen_fd);
void shmemhi_fault_in_serve(shmemhi_fault_links_t *links);
bool shmemhi_fault_in_receive(void *state, int *pe, shmemhi_fault_message_t *message);
void shmemhi_fault_in_end(shmemhi_fault_links_t *links, shmemhi_fault_in_t *in);

/* links_out.c */
void shmemhi_fault_out_serve(shmemhi_fault_links_t *links, int pe);
bool shmemhi_fault_out_send(void *state, int pe, const shmemhi_fault_message_t *message);
/* The next message of this PE to itself, which uses no connection. */
bool shmemhi_fault_out_take_own(shmemhi_fault_links_t *links, shmemhi_fault_message_t *message);
void shmemhi_fault_out_forget(void *state, int pe);
void shmemhi_fault_out_free(shmemhi_fault_out_t *out);

/* Key of PE pe's listener. */
void shmemhi_fault_key(const shmemhi_fault_links_t *links, int pe, shmemhi_secret_t *key);

/* Have poll report a descriptor's input and output. which: what it belongs to, the event's data:
 * below SHMEMHI_ID_MAX_ADDRS a listener, from there on a connection of another PE; UINT64_MAX: a
 * connection of this PE, whose events only wake the thread. */
int shmemhi_fault_watch_fd(shmemhi_fault_links_t *links, int fd, uint64_t which);

/* recv as much of a record as there is. Returns 1 complete; 0 not yet; minus an errno. */
int shmemhi_fault_recv(int fd, void *record, size_t nbytes, size_t *got);

#endif
