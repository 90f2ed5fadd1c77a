/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* State of runtime/ib for a job (shmemh.ib), with its links and open ports, which selftest/ and
 * tools/ have without a job. Besides these and unit tests no other part includes this file. */
#ifndef SHMEMHI_IB_STATE_H
#define SHMEMHI_IB_STATE_H

#include <pthread.h>
#include <shmem_dev/abi/ctx.h>
#include "ib/lib.h"
#include "job/job.h"

/* One port of one NIC, open, with a context and a protection domain of its own: two ports of one
 * adapter are two of these. */
typedef struct shmemhi_open_port {
	char name[64]; /* of the NIC: mlx5_0 */
	int number;
	struct ibv_context *context;
	struct ibv_pd *pd;
	uint32_t pdn;
	uint32_t eqn;
	uint8_t is_ethernet;
	uint8_t mtu;              /* enum ibv_mtu, active */
	uint8_t gid_index;        /* Ethernet: of a RoCE v2 address */
	uint8_t log_max_reads;    /* outstanding READs and atomics, as requester and as responder */
	uint8_t ts_format;        /* SHMEMHI_TS_: format of time stamps to request for a QP */
	uint8_t offers_no_record; /* queue pairs without a doorbell record can be made */
	uint8_t requires_grh;     /* InfiniBand: packets need a global header within a subnet too */
	uint16_t lid;
	uint16_t sport_min, sport_max; /* RoCE v2: UDP source ports that may be used */
	union ibv_gid gid;
} shmemhi_open_port_t;

#define SHMEMHI_RECORD_STRIDE 64u /* bytes from a queue pair's doorbell record to its CQ's */

#define SHMEMHI_PORT_NAME_NBYTES 72 /* mlx5_0:1 */

/* The ports of a PE of this job. */
typedef struct shmemhi_pe_ports {
	uint64_t map_hash; /* of the map that the PE has computed for its host */
	char home[SHMEMHI_PORT_NAME_NBYTES];
	char standby[SHMEMHI_PORT_NAME_NBYTES]; /* "": there is none */
} shmemhi_pe_ports_t;

/* A queue pair, its completion queue, and the memory that threads share with both. Not the
 * link of a port (link layer, link up). */
typedef struct shmemhi_link {
	const shmemhi_open_port_t *port; /* on which it was made */
	int k, pe;                       /* of the channel k to PE pe */
	char *queue;   /* SHMEMD_QUEUE_NBYTES: send queue, completion queue, records */
	char *records; /* doorbell record of the queue pair; the CQ's is 64 bytes on. In `queue`,
			       unless the CPU proxy rings and the queues are in memory of the GPU */
	uint64_t *producer; /* pinned word that the CPU doorbell proxy polls; NULL: the GPU rings */
	void *doorbell;     /* address of the register for the GPU; NULL: not mapped */
	void *host_doorbell; /* address of the register for the host */
	int has_no_record;   /* the NIC takes the producer index from the doorbell itself */
	uint32_t qpn;
	uint32_t cqn;
	uint32_t psn;      /* of its first request */
	uint16_t udp_port; /* RoCE v2 source port */
	int was_connected; /* its queue pair reached RTS; stays 1 if that is stopped or destroyed */
	uint32_t event; /* type of the first event that the NIC reported for it, 0: none; stored by
			   the thread of ib/nic_events.c: atomic */
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *cq, *qp;
} shmemhi_link_t;

/* Memory of the GPU or pinned memory that holds the queues of all links, registered
 * with the NIC. */
typedef struct shmemhi_queue_mem shmemhi_queue_mem_t;   /* ib/queue.h, queue_mem.c */
typedef struct shmemhi_keys shmemhi_keys_t;             /* ib/keys.c: regions and key tables */
typedef struct shmemhi_nic_events shmemhi_nic_events_t; /* ib/nic_events.c: thread for events */
typedef struct shmemhi_proxy shmemhi_proxy_t;           /* ib/proxy.c: thread that rings */
typedef struct shmemhi_failover shmemhi_failover_t;     /* ib/failover.h */

/* Columns of the key tables: the home port of a PE, and its stand-by. */
#define SHMEMHI_COLUMNS 2

typedef struct shmemhi_ib {
	shmemhi_ib_lib_t lib;
	struct shmemhi_ports *found; /* between open_ports and choose_ports */
	shmemhi_open_port_t home_port;
	shmemhi_pe_ports_t *pe_ports; /* [n_pes] */
	int class, standby_class;     /* SHMEMHI_CLASS_*: of this PE's GPU and its two ports */
	int n_channels;
	uint32_t depth;
	uint32_t n_granules; /* of a heap */
	uint64_t log_granule;
	shmemhi_link_t *links; /* [n_channels][n_pes], own PE too */
	char *bounces;         /* SHMEMD_BOUNCES_NBYTES of each link, where the queues are */
	uint32_t bounce_keys[SHMEMHI_COLUMNS]; /* their lkeys, big-endian; 0: no such port */
	int has_gpu_queues; /* queues and bounce buffers are in memory of the GPU */
	shmemhi_queue_mem_t *queue_mem;
	shmemhi_keys_t *keys;
	shmemhi_nic_events_t *nic_events;
	shmemhi_proxy_t *proxy;
	shmemhi_failover_t *failover; /* NULL: fail-over is off. The same on all PEs */
	shmemd_channel_t *channels;   /* of each link, memory of the device */
	uint64_t *used;               /* memory of the device */
} shmemhi_ib_t;

static inline shmemhi_link_t *shmemhi_link(const shmemhi_ib_t *ib, const shmemh_t *job, int k,
					   int pe)
{
	return &ib->links[(size_t)k * (size_t)job->n_pes + (size_t)pe];
}

/* The producer index's word of the queue pair's doorbell record. */
static inline uint32_t *shmemhi_send_record(const shmemhi_link_t *link)
{
	return (uint32_t *)(void *)link->records + SHMEMD_RECORD_SEND;
}

/* What kernels share of that link, memory of the device. */
static inline shmemd_channel_t *shmemhi_channel(const shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	return &ib->channels[link - ib->links];
}

/* ib/counters.c: WQEBBs posted and completed on a channel, if its words can be loaded without a
 * copy; any thread, also while kernels run. Returns whether they can. */
bool shmemhi_channel_progress(const shmemh_t *job, const shmemhi_link_t *link, uint64_t *posted,
			      uint64_t *completed);

/* ib/nic.c: open all ports that can be used. Not collective.
 * Returns  SHMEMH_OK; ERR_NIC: no library, no NIC, none usable; ERR_OPTION: SHMEMH_HCA_LIST,
 *          SHMEMH_HCA_PE_MAPPING; ERR_NO_MEMORY. */
int shmemhi_ib_open_ports(shmemh_t *job, shmemhi_ib_t *ib);

/* ib/home.c: choose the home port and the stand-by of each PE (topo/choose.h) and the policy of
 * fail-over; keep this PE's home port open, with fail-over its stand-by too, and close the others.
 * Collective; the same result on every PE.
 * Returns  SHMEMH_OK; ERR_NIC: a PE gets none; ERR_MISMATCH: PEs of a host do not have the same
 *          map; ERR_OPTION; ERR_SYSTEM; ERR_NO_MEMORY; as shmemhi_allgather. */
int shmemhi_ib_choose_ports(shmemh_t *job, shmemhi_ib_t *ib);

/* Undo open_ports and choose_ports, also after a failure. */
void shmemhi_ib_close_ports(shmemhi_ib_t *ib);

/* ib/queue.c, ib/connect.c: make all links and bring them to RTS. links_open is not collective and
 * leaves them in INIT; links_connect is collective. close tolerates links in any state. */
int shmemhi_links_open(shmemh_t *job, shmemhi_ib_t *ib);
int shmemhi_links_connect(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_links_close(shmemh_t *job, shmemhi_ib_t *ib);
uint64_t shmemhi_links_nbytes(const shmemhi_ib_t *ib); /* all memory of one link */

/* ib/failover_open.c: the port of a column; context NULL: this PE has no stand-by. Column 1 only
 * with ib->failover. */
const shmemhi_open_port_t *shmemhi_port_of_column(const shmemhi_ib_t *ib, size_t column);

/* ib/keys.c: the table of keys, in device memory. open is collective; it writes the key of the
 * bounce buffers and registers every growth of the heap from then on. close deregisters all
 * regions. */
int shmemhi_keys_open(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_keys_close(shmemh_t *job, shmemhi_ib_t *ib);
const shmemd_key_t *
shmemhi_keys_table(const shmemhi_ib_t *ib); /* SHMEMD_LKEY_INDEX, SHMEMD_RKEY_INDEX */

/* The region at the start of this PE's heap, of the port of a column; NULL: there is none yet. Also
 * for other threads. */
const struct ibv_mr *shmemhi_keys_first_mr(const shmemhi_ib_t *ib, size_t column);

/* ib/nic_events.c: a thread that waits for async and DevX events until close. It logs a line for
 * each that concerns the home port or the stand-by, and keeps the type of the first event of each
 * link (shmemhi_link_t.event) and the first line that is an error (shmemh_nic_event). An adapter
 * without descriptors to wait on (the software adapter in the emulator) is not watched. Call
 * between links_open and links_close. A NIC that cannot report events causes a warning, not an
 * error. */
int shmemhi_nic_events_open(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_nic_events_close(shmemh_t *job, shmemhi_ib_t *ib);

/* Does a scheduler drive the adapter and the program? Then the adapter has no descriptors to wait
 * on, and no thread of the runtime may use it. */
static inline bool shmemhi_ib_is_emulated(const shmemhi_ib_t *ib)
{
	return ib->home_port.context->async_fd < 0;
}

/* ib/proxy.c: the CPU doorbell proxy, a thread that writes doorbell records and rings doorbells
 * for all links that have a producer word. In the emulator there is none. step: one round over
 * these links; returns the number of doorbells rung. */
int shmemhi_proxy_open(shmemh_t *job, shmemhi_ib_t *ib);
void shmemhi_proxy_close(shmemh_t *job, shmemhi_ib_t *ib);
int shmemhi_proxy_step(shmemhi_proxy_t *proxy);

/* Ring for a further link, or no longer, while the proxy runs. Any thread.
 * Returns  SHMEMH_OK; ERR_NO_MEMORY. */
int shmemhi_proxy_add(shmemh_t *job, shmemhi_ib_t *ib, const shmemhi_link_t *link);
void shmemhi_proxy_remove(shmemhi_ib_t *ib, const shmemhi_link_t *link);

#endif
