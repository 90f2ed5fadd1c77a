/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Internals of the hub. hub.c has the thread, the connections and the proof; hub_job.c has the
 * job: its members, host collectives, and PEs that die or leave; hub_subset.c has the gathers among
 * some PEs. One thread uses one hub_t without locks. */
#ifndef SHMEMHI_BOOT_HUB_H
#define SHMEMHI_BOOT_HUB_H

#include <stdbool.h>
#include <shmem_dev/abi/ctx.h>
#include "boot/uniqueid.h"
#include "boot/wire.h"

#define HUB_LIST_NBYTES 160

/* Bytes to send, shared by the connections they go to. */
typedef struct blob {
	int n_refs;
	size_t nbytes;
	unsigned char bytes[];
} blob_t;

typedef struct out {
	struct out *next;
	blob_t *blob;
} out_t;

enum conn_state {
	CONN_HELLO,   /* nothing proved yet */
	CONN_IN,      /* a PE of the job */
	CONN_CLOSING, /* gets what is queued, then ends, 5 s later at the latest */
	CONN_DEAD,    /* closed and freed at the end of the turn */
};

typedef struct conn {
	struct conn *next;
	int fd;
	enum conn_state state;
	int pe; /* -1 before the proof */
	uint64_t deadline;
	shmemhi_challenge_t challenge;
	shmemhi_client_hello_t hello;
	size_t hello_got;
	shmemhi_inbox_t in;
	out_t *out; /* first */
	out_t **out_end;
	size_t out_sent; /* bytes of the first */
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
} conn_t;

/* A gather among some PEs (hub_subset.c). */
typedef struct subset {
	struct subset *next;
	uint64_t tag;
	int n_pes;
	int32_t *pes;     /* [n_pes] members, ascending */
	uint64_t *nbytes; /* [n_pes] of the shares; 0: has not come */
	uint64_t ns;      /* the timeout of the PE whose deadline is the first */
	uint64_t deadline;
	/* Frame; [n_pes] there; shares of the size of the first. NULL: no memory, or it has
	 * failed. */
	blob_t *result;
	uint64_t share_nbytes; /* of the first one that came */
	/* Not NULL: this gather has failed. The hub sends this frame to each member that comes
	 * late. One such entry counts all failed gathers of these members and tag (`missed`). */
	blob_t *fail;
	uint32_t *missed; /* [n_pes] if it failed: calls that fail for each member */
} subset_t;

enum hub_phase {
	HUB_STARTING, /* not all PEs are connected */
	HUB_RUNNING,  /* all were there */
	HUB_FAILED,   /* the start failed; PEs that still come are told why */
};

typedef struct hub {
	shmemhi_log_t log;
	shmemhi_secret_t key;
	enum hub_phase phase;
	int n_pes;
	int n_listen;
	int listen_fds[SHMEMHI_ID_MAX_ADDRS];
	uint64_t accept_after; /* not before: descriptors or memory ran out */
	int accept_error;      /* errno of that, said once; 0: did not happen */
	uint64_t start_ns;     /* time allowed to the start */
	uint64_t deadline;     /* of the start; after it, of saying goodbye */
	conn_t *conns;         /* oldest first */
	conn_t **conns_end;
	int n_conns;
	int n_unproved;      /* connections without a complete hello, dead ones too until removed */
	int n_wrong_secrets; /* so far */
	bool is_from_torchrun; /* of its id */
	conn_t **by_pe;
	uint32_t *causes; /* [n_pes] shmemd_cause of those that are gone */
	char *was_told;   /* [n_pes] 1: the failure of the start was sent to it, or it was lost */
	int n_in;         /* PEs connected */
	int n_gone;       /* PEs that died or left */
	int n_told;

	/* The current collective. */
	uint64_t seq;
	uint64_t *part_nbytes; /* [n_pes] 0: has not come */
	int n_parts;
	uint64_t coll_ns;       /* the timeout of the PE whose deadline is the first */
	uint64_t coll_deadline; /* NEVER before the first */
	blob_t *result;         /* frame; shares of the size of the first */
	uint64_t share_nbytes;  /* of the first one that came */

	subset_t *gathers; /* among some PEs, oldest first */

	/* What the first PE that left during its init gave as the reason; status 0: none has. */
	int reported_status;
	char reported_text[SHMEMHI_MAX_TEXT];

	/* The reason of a failed start, or of the last collective that failed. */
	int fail_status;
	char fail_text[SHMEMHI_MAX_TEXT];
} hub_t;

/* hub.c: queue a frame; the connection is dead if there is no memory. */
void hub_send(conn_t *c, uint32_t type, uint64_t seq, uint64_t arg, const void *body,
	      size_t nbytes);
void hub_send_blob(conn_t *c, blob_t *blob);
blob_t *hub_blob(uint32_t type, uint64_t seq, uint64_t arg, size_t nbytes);
void hub_unref(blob_t *blob);

/* Close the connection once everything queued is sent, 5 s from now at the latest. */
void hub_close_after_flush(conn_t *c);

/* Accept no more connections. */
void hub_stop_listening(hub_t *hub);

/* hub_job.c */

/* The peer of c has proved that it has the secret, and says that it is PE c->hello.pe: admit it, or
 * refuse it. */
void hub_join(hub_t *hub, conn_t *c);

/* PE c->pe has sent the frame c->in. */
void hub_frame(hub_t *hub, conn_t *c);

/* The connection has ended. It need not be that of a PE of the job. */
void hub_lost(hub_t *hub, conn_t *c);

/* Fail the start and the collectives whose deadline has passed. */
void hub_timers(hub_t *hub);

/* The time at which hub_timers has work to do. */
uint64_t hub_next_timer(const hub_t *hub);

/* Have all PEs left, or after a failed start: have all been told, or is the time for it over? */
bool hub_is_done(const hub_t *hub);

/* "120 s" or "1500 ms". */
const char *hub_text_time(uint64_t ns, char text[32]);

/* hub_subset.c */

/* PE c->pe has sent a SUBSET. Returns false if it breaks the protocol. */
bool hub_subset_part(hub_t *hub, conn_t *c);

/* A PE has died or left: finish the gathers that waited only for it. */
void hub_subset_gone(hub_t *hub);

/* Fail the gathers whose deadline has passed. */
void hub_subset_timers(hub_t *hub);

/* The first of these deadlines. */
uint64_t hub_subset_next_timer(const hub_t *hub);

void hub_subset_free(hub_t *hub);

#endif
