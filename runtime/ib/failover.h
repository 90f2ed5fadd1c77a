/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The state of fail-over, and the transport of the agent (fault/agent.h). It exists on all PEs if
 * fail-over is on, also on a PE that has no stand-by port.
 *
 * An endpoint is this PE's end of one path of a channel: a queue pair on one of this PE's two
 * ports, with its completion queue and queue memory. That of path 0 is a link of shmemhi_ib_t, on
 * the home port. Others are made when the agent asks for them (PREPARE), since a path that is never
 * needed should cost nothing: 1,024 PEs with 64 channels each would need 65,536 queue pairs and
 * 8.9 GB of queue memory more, and twice the time to start. What is made at the start is what could
 * not be made while kernels run: doorbell registers that the GPU has mapped, and some queue memory
 * (SHMEMHI_SLOTS_NBYTES). An endpoint takes a slot of queue memory; a slot serves again once its
 * endpoint is destroyed and no poster uses it any more. If none is free, a block of
 * SHMEMHI_QUEUE_BLOCK_NBYTES is allocated.
 *
 * At any time a PE uses one port, `column`, for all its channels: atomics of two adapters do not
 * exclude each other. When it changes (ib/port_in_use.c), an endpoint on the new port is prepared
 * only when none on the other port is exposed (n_exposed): each of them is stopped, drained (unless
 * the channel has ended) and flushed, or its NIC is dead. The last step of its fence, QUERY, may
 * still follow.
 *
 * The functions of start and end (new, open, set_peer, make_agent, start, stop, close, free) are
 * called by the thread of init or finalize, all other functions by the agent's thread. Exceptions:
 * any thread may call note; n_routes, route, and reaches and describe of shmemhi_failover_ops are
 * also called by the thread of init or finalize, while the agent's thread does not run. */
#ifndef SHMEMHI_IB_FAILOVER_H
#define SHMEMHI_IB_FAILOVER_H

#include <shmem_dev/abi/fault.h>
#include <shmem_dev/abi/replay.h>
#include "fault/agent.h"
#include "ib/link.h"
#include "ib/queue.h"
#include "kernels/serve.h"

/* Queue memory allocated at the start: at most these bytes, and these slots for each link. Several
 * slots, because memory of a GPU may be available only once its kernels have ended, which wait
 * for the switch; and both ends may change their ports before a poster goes on and a slot is free
 * again. */
#define SHMEMHI_SLOTS_NBYTES ((uint64_t)64 << 20)
#define SHMEMHI_SLOTS_PER_LINK 8u

typedef struct shmemhi_slot_block shmemhi_slot_block_t;

/* Queue memory of one endpoint. */
typedef struct shmemhi_slot {
	shmemhi_slot_block_t *block;
	char *queue, *records;
	uint64_t *producer; /* for the CPU doorbell proxy; NULL: the GPU rings */
	int is_busy;
	/* Retired, so that posters use it until `ready` of this channel has reached this index.
	 * NULL: reclaimed, or not retired yet */
	const shmemd_channel_t *channel;
	uint32_t retired;
} shmemhi_slot_t;

struct shmemhi_slot_block {
	shmemhi_slot_block_t *next;
	shmemhi_queue_block_t queues;
	shmemhi_queue_block_t records; /* in host memory, only if they are not with the queues */
	void *producers;
	struct mlx5dv_devx_umem *queue_umems[SHMEMHI_COLUMNS], *record_umems[SHMEMHI_COLUMNS];
	uint32_t n_slots;
	shmemhi_slot_t slots[];
};

/* What a peer needs to connect to an endpoint: the bytes of an offer. */
typedef struct shmemhi_offer_bytes {
	shmemhi_port_info_t port;
	shmemhi_qp_info_t qp;
	char name[28]; /* of the port */
	uint8_t column;
	uint8_t reserved[3];
} shmemhi_offer_bytes_t;

/* How far an endpoint has been made. */
enum shmemhi_stage {
	SHMEMHI_HAS_SLOT,
	SHMEMHI_HAS_CQ,
	SHMEMHI_HAS_QP,
	SHMEMHI_IN_INIT,
	SHMEMHI_IN_RTR,
	SHMEMHI_IN_RTS,
	SHMEMHI_STOPPED
};

/* A queue pair of one path, on one port; its link has the queue pair itself. */
typedef struct shmemhi_endpoint {
	struct shmemhi_endpoint *next; /* an older one of the channel */
	shmemhi_link_t *link;          /* own, or the first link of the channel */
	shmemhi_slot_t *slot;          /* NULL: a first link */
	uint32_t path;                 /* if has_path: it was offered, or is path 0 */
	uint32_t generation;           /* of its port, when it was made */
	uint8_t column;
	uint8_t stage; /* enum shmemhi_stage */
	uint8_t has_path;
	uint8_t is_exposed;              /* counted in shmemhi_own_port_t.n_exposed */
	uint8_t is_fenced;               /* QUERY is done, or its NIC is dead */
	uint8_t is_reported;             /* FAULT was given */
	uint8_t was_in_error;            /* it was given because its queue pair was in ERR, to
					    which this PE had not moved it */
	uint8_t is_flushing;             /* flush_ticket is valid */
	uint64_t flush_ticket, flush_qp; /* n_posted and n_qps of the flusher then */
	uint64_t connected_at;           /* 0: it is not */
	uint64_t drain_since; /* when its WQEBB counters were equal, but CQEs missing; 0: not yet */
	shmemhi_offer_bytes_t peer; /* from CONNECT; of path 0 by shmemhi_failover_set_peer */
	shmemhi_link_t own;
} shmemhi_endpoint_t;

/* A channel and its paths. */
typedef struct shmemhi_route {
	shmemhi_endpoint_t *endpoints; /* newest first */
	shmemhi_endpoint_t *making;    /* of PREPARE */
	shmemhi_endpoint_t *current;   /* of the latest path that was offered */
	shmemhi_endpoint_t *ordered;   /* of the latest ORDER */
	shmemhi_endpoint_t *used;      /* of the latest order that was carried out */
	uint64_t retry_at, backoff;    /* PREPARE or CONNECT failed: when to try PREPARE again */
	uint32_t epoch;                /* of the latest order */
	uint32_t n_silent;             /* failures that nothing at this end explains:
					  shmemhi_count_silent_failure */
	uint64_t used_since;           /* when `used` was set */
	uint64_t unresolved_at;        /* when the latest failed look-up was answered */
	uint32_t n_unresolved;         /* paths that ended since then because the cached failed
					  look-up was the answer */
	int was_refused;               /* a refused request of this PE has been reported */
	uint32_t refused;              /* syndrome that DRAIN has found, not yet reported; 0 */
	int has_order;                 /* *order holds the order of this route */
	shmemhi_offer_bytes_t offer;   /* of the peer */
} shmemhi_route_t;

/* The address of a PE's port, as one port of this PE has found it (ib/resolve.c). Which threads
 * use its fields:
 *   not asked for   The agent's thread alone, without a lock. It asks for the address: it sets
 *                   is_asked and puts the entry into the queue.
 *   in the queue    Any thread that holds the resolver's lock; only `next` and `status`.
 *   taken from it   The thread of the resolver that has taken it, without the lock. When the answer
 *                   is there, this thread sets is_answered, with the lock.
 *   answered        The agent's thread alone, once it has read is_answered with the lock. It then
 *                   clears is_asked: the entry is not asked for any more.
 * The agent's thread may use is_asked at any time, the others never do. */
typedef struct shmemhi_resolved {
	struct shmemhi_resolved *next; /* in the queue; with the resolver's lock */
	int pe;
	shmemhi_open_port_t own_port; /* at the time of the question */
	uint32_t n_seen, generation;  /* of that port, at that time */
	shmemhi_port_info_t peer;     /* that it was asked for */
	shmemhi_address_t address;    /* if status is SHMEMH_OK */
	uint64_t at;                  /* when the answer came */
	int status;      /* of the latest answer; SHMEMH_OK also before the first one */
	int is_there;    /* the answer of the latest question */
	int is_asked;    /* there is a question whose answer the agent has not taken */
	int is_answered; /* with the resolver's lock */
} shmemhi_resolved_t;

/* Look-ups at the same time, at most. */
#define SHMEMHI_RESOLVER_THREADS 16u

/* The threads that look addresses up. */
typedef struct shmemhi_resolver {
	/* The agent's thread adds to them; without any it looks up itself (unit tests) */
	pthread_t threads[SHMEMHI_RESOLVER_THREADS];
	uint32_t n_threads;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t has_work;
	shmemhi_resolved_t *first; /* queue */
	uint32_t n_queued;
	uint32_t n_idle; /* threads that wait for work */
	int is_ending;
} shmemhi_resolver_t;

/* A queue pair that is connected to itself, by which a port flushes what its NIC has accepted
 * (ib/flush.c). */
typedef struct shmemhi_flusher {
	shmemhi_link_t link;
	shmemhi_link_mem_t mem;
	struct mlx5dv_devx_umem *umem;
	struct ibv_mr *mr;
	char *memory;      /* queue, then a page for READs */
	uint64_t n_posted; /* flushes; each asks for one CQE */
	uint64_t n_done;
	uint64_t index;            /* of the queue pair's next WQEBB */
	uint64_t n_cqes;           /* read since the queue pair was made */
	uint64_t n_qps;            /* queue pairs made */
	uint64_t missing_since;    /* when renew began to wait for missing CQEs; 0: it has not */
	uint16_t last;             /* index of the WQEBB that the latest CQE is of */
	shmemhi_address_t address; /* the port's own, as of when it was up last */
	uint32_t generation; /* of the port, when renew last made the queue pair with the port up */
	int has_failed;      /* make the queue pair again */
	int is_local;        /* DUMPs instead of READs */
	int reads_fail;      /* READs failed although the port is up */
} shmemhi_flusher_t;

/* A port of this PE that paths may use. */
typedef struct shmemhi_own_port {
	shmemhi_open_port_t *open; /* context NULL: there is none */
	shmemhi_uars_t *uars;
	shmemhi_flusher_t flusher;
	_Atomic uint32_t n_events; /* by the thread of ib/nic_events.c: something happened to it */
	_Atomic int is_fatal;      /* DEVICE_FATAL */
	uint32_t n_seen;           /* events */
	uint32_t generation;       /* changes with its address */
	int is_up;
	uint64_t n_exposed; /* endpoints on it that may execute requests, or have unflushed ones */
	uint64_t look_at;   /* when to query it next */
} shmemhi_own_port_t;

/* Variables of this type are called s. */
struct shmemhi_failover {
	shmemh_t *job;
	shmemhi_ib_t *ib;
	shmemhi_err_t err;           /* line of the agent's thread */
	shmemhi_open_port_t standby; /* port; context NULL: this PE has none */
	shmemhi_own_port_t ports[SHMEMHI_COLUMNS];
	int column; /* of the port that new endpoints use */
	shmemhi_uars_t standby_uars;
	struct ibv_mr *bounce_mr; /* of the stand-by port */
	shmemhi_slot_block_t *blocks;
	shmemhi_route_t *routes; /* [n_channels][n_pes], as links */
	shmemhi_endpoint_t *firsts;
	shmemhi_resolved_t *resolved; /* [own column][peer's column][n_pes] */
	shmemhi_resolver_t resolver;
	shmemd_switch_order_t *order; /* pinned */
	uint64_t n_orders;
	uint64_t ordered_at;  /* when the latest order was given */
	uint64_t serve_at;    /* time from which the service carries that order out */
	uint64_t served_at;   /* when the service was asked last to carry out an order */
	uint64_t waits_since; /* when the service became due to carry it out; 0: it is not yet */
	shmemhi_service_t service; /* carries out orders while no thread of the program waits */
	int has_service, has_service_failed; /* failed: a launch did, and a line said so */
	shmemd_faults_t *faults;             /* pinned */
	uint64_t n_reports;                  /* of the device that were looked through */
	size_t report_index;  /* route whose report to look at next; n_routes: none */
	size_t leave_index;   /* the same for endpoints that must be left */
	size_t refused_index; /* next route to look at for `refused` */
	size_t poll_index;    /* next route to look at for QUERY_QP */
	size_t n_refused;     /* routes with `refused` */
	uint64_t poll_time, reclaim_time;
	/* A port, an address or the port in use has changed, or an endpoint was offered: look for
	 * endpoints that must be left. */
	int must_scan;
};

static inline size_t shmemhi_n_routes(const shmemhi_failover_t *s)
{
	return (size_t)s->ib->n_channels * (size_t)s->job->n_pes;
}

static inline shmemhi_route_t *shmemhi_route(const shmemhi_failover_t *s, int pe, uint32_t k)
{
	return &s->routes[(size_t)k * (size_t)s->job->n_pes + (size_t)pe];
}

/* ib/failover_open.c */

/* Make job->ib->failover, when ports are chosen, if the job tolerates faults. */
int shmemhi_failover_new(shmemh_t *job, shmemhi_ib_t *ib);

/* After links_open: what can be made before the links are connected. If a NIC cannot do it,
 * fail-over is switched off on all PEs: ib->failover is NULL, and the policy says why. Collective;
 * the same result on every PE.
 * Returns  SHMEMH_OK; ERR_NIC: a NIC cannot, and a PE has SHMEMH_FT=exact; ERR_CUDA, ERR_SYSTEM,
 *          ERR_NO_MEMORY. */
int shmemhi_failover_open(shmemh_t *job, shmemhi_ib_t *ib);

/* Store the peer's port and queue pair of a first link, once the link is connected or its
 * connection has failed. */
void shmemhi_failover_set_peer(shmemhi_failover_t *s, const shmemhi_link_t *link,
			       const shmemhi_port_info_t *port, const shmemhi_qp_info_t *qp);

/* After links_connect and channels_open: set up the routes, then the agent, whose thread
 * shmemhi_ib_start_failover starts. Collective. */
int shmemhi_failover_make_agent(shmemh_t *job, shmemhi_ib_t *ib);

/* close: release everything but ib->failover and its port, also after a failed open. free: release
 * these two. */
void shmemhi_failover_close(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_failover_free(shmemhi_ib_t *ib);

/* ib/slots.c: queue memory. take allocates a block if no slot is free; it returns NULL, with a
 * line in s->err, if there is no memory, or if the slot cannot be registered with the port or
 * written. */
int shmemhi_slots_open(shmemhi_failover_t *s);
/* Reclaim the retired slots that no poster uses any more. To be called within 2^31 WQEBBs after a
 * switch. */
void shmemhi_slots_reclaim(shmemhi_failover_t *s);
bool shmemhi_slots_have_one(shmemhi_failover_t *s);
shmemhi_slot_t *shmemhi_slot_take(shmemhi_failover_t *s, size_t column);
void shmemhi_slots_close(shmemhi_failover_t *s, bool is_in_use);

/* ib/endpoint.c: make, connect and is_drained execute one step a call, of a command or two; the
 * stage says how far the endpoint is. */

/* Make the next step of an endpoint up to IN_INIT. */
int shmemhi_endpoint_make(shmemhi_failover_t *s, shmemhi_endpoint_t *e);

/* From IN_INIT to IN_RTS: connect it to e->peer at this address. */
int shmemhi_endpoint_connect(shmemhi_failover_t *s, shmemhi_endpoint_t *e,
			     const shmemhi_address_t *address);

/* Is a stopped endpoint drained: are its CQEs in memory, or have some been missing for 100 ms while
 * the two WQEBB counters of its queue pair were equal, so that they are lost? *refused receives the
 * syndrome of the first error CQE that is neither WR_FLUSH nor retry or RNR retry exceeded, 0:
 * none. Returns 1, 0: not yet, or -1: the queue pair cannot be queried, or its memory not be read.
 */
int shmemhi_endpoint_is_drained(shmemhi_failover_t *s, shmemhi_endpoint_t *e, uint32_t *refused);

/* Destroy its queue pair; its slot can be taken again once it is reclaimed. e is freed, unless it
 * is a first one. */
void shmemhi_endpoint_destroy(shmemhi_failover_t *s, shmemhi_route_t *route, shmemhi_endpoint_t *e);

/* ib/resolve.c */

/* start: start the first of the threads that look addresses up. stop: end all of them; it waits for
 * look-ups under way, a second or a few, and does nothing without a thread.
 * Returns  SHMEMH_OK; ERR_SYSTEM, with a line in job->err. */
int shmemhi_resolver_start(shmemhi_failover_t *s);
void shmemhi_resolver_stop(shmemhi_failover_t *s);

/* The address of e->peer.port. Returns 1: it is there; 0: not yet, call again; -1: it was not found
 * now or shortly before. */
int shmemhi_resolve(shmemhi_failover_t *s, const shmemhi_endpoint_t *e, shmemhi_address_t *address);

/* An address that was found is to be looked for again at the next connect. */
void shmemhi_resolve_again(shmemhi_failover_t *s, const shmemhi_endpoint_t *e);

/* Would a path from the port in use to the peer's latest port fail at once, since the peer was not
 * found there shortly before? By then each end could change its port once, so the next path is
 * prepared only when it is time for another look-up. */
bool shmemhi_resolve_must_wait(const shmemhi_failover_t *s, const shmemhi_route_t *route);

/* ib/flush.c */

int shmemhi_flusher_open(shmemhi_failover_t *s, size_t column);
void shmemhi_flusher_close(shmemhi_failover_t *s, size_t column);

/* Flush all that the endpoint's NIC has accepted. Returns 1: done; 0: not yet; -1: it cannot. */
int shmemhi_flush(shmemhi_failover_t *s, shmemhi_endpoint_t *e);

/* ib/port_in_use.c */

/* Query each port after an event, and 50 ms after the query before; choose the one to use. */
void shmemhi_choose_own_port(shmemhi_failover_t *s);

/* May an endpoint be prepared on the port of s->column now? It is up, and nothing is exposed on the
 * other one. */
bool shmemhi_may_prepare(const shmemhi_failover_t *s);

/* Why an endpoint must be left: enum shmemh_fault_cause; 0: it need not. */
uint32_t shmemhi_must_leave(const shmemhi_failover_t *s, const shmemhi_endpoint_t *e);

/* Count that the route's current path failed without a reason that either end knows. This PE may
 * choose its other port. */
void shmemhi_count_silent_failure(shmemhi_failover_t *s, shmemhi_route_t *route);

/* For ib/nic_events.c, any thread: something happened to a port. */
void shmemhi_failover_note(shmemhi_failover_t *s, size_t column, bool is_fatal);

/* ib/failover.c */

/* Destroy endpoints of the channel that are no longer used. */
void shmemhi_reap(shmemhi_failover_t *s, shmemhi_route_t *route);

extern const shmemhi_fault_ops_t shmemhi_failover_ops;

/* ib/reports.c: the next fault that is known of (shmemhi_fault_ops_t.next_event). */
bool shmemhi_next_fault(void *self, int *pe, uint32_t *k, shmemhi_switch_event_t *event,
			shmemhi_fault_cause_t *cause);

#endif
