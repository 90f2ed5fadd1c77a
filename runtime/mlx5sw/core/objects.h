/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The objects of the fabric, whether an entry point of verbs or a DevX command created them.
 *
 * The hooks' lock guards everything: entry points and steps hold it, and internal functions expect
 * it to be held. Hooks that access memory may let other threads run, but those wait for the lock.
 */
#ifndef MLX5SW_OBJECTS_H
#define MLX5SW_OBJECTS_H

#include <stdbool.h>

/* the entry points that these headers declare are defined in this library */
#pragma GCC visibility push(default)
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#pragma GCC visibility pop
#include <mlx5sw.h>

#define MLX5SWI_WQEBB 64u     /* bytes of a WQEBB */
#define MLX5SWI_MAX_WQE 1024u /* bytes: max_wqe_sz_sq */
/* entries in a port's GID table: RoCE v1 and v2, link-local and routable */
#define MLX5SWI_N_GIDS 4u
#define MLX5SWI_PAGE 4096u /* of a UAR */
#define MLX5SWI_NO_DOORBELL UINT64_MAX

/* Maps an index to an object. Indexes are assigned round robin, so that a stale one is rarely valid
 * again. */
typedef struct mlx5swi_table {
	void **at;
	uint32_t n, first, next, n_used; /* objects first .. first + n - 1 */
} mlx5swi_table_t;

typedef struct mlx5swi_gid {
	uint8_t raw[16];
	uint8_t is_v2;
} mlx5swi_gid_t;

struct mlx5swi_device;
struct mlx5swi_packet;

/* The object that a DevX command created: besides ctx, one of pd, mr, cq and qp is set, and with mr
 * also umem. All are NULL in objects of verbs. */
struct mlx5dv_devx_obj {
	struct mlx5swi_context *ctx;
	struct mlx5swi_pd *pd;
	struct mlx5swi_mr *mr;
	struct mlx5swi_cq *cq;
	struct mlx5swi_qp *qp;
	struct mlx5swi_umem *umem; /* the memory of mr */
};

/* The place of a process in the fabric, where it is one host; by TCP, the place of one or of all of
 * its ports. The addresses of the ports are computed from it, so that no directory is needed. */
typedef struct mlx5swi_place {
	uint32_t host;  /* number in the fabric, 0 .. MLX5SWI_MAX_HOSTS - 1; 0 by TCP */
	uint8_t is_tcp; /* 1: GIDs, for RoCE v2 and v1, contain these: */
	uint8_t ipv4[4];
	uint16_t tcp_port;
} mlx5swi_place_t;
#define MLX5SWI_MAX_HOSTS 64u
#define MLX5SWI_MAX_PLACES 16u

/* A device has one port, number 1. */
typedef struct mlx5swi_port {
	struct mlx5swi_device *dev;
	uint8_t is_up, is_ethernet, mtu; /* mtu: code 1 .. 5 */
	uint8_t requires_grh;            /* InfiniBand: packets without a GRH are lost */
	/* why the port is down: a control line, its interface */
	uint8_t is_taken_down, has_no_link;
	uint16_t lid, pkey;
	uint8_t mac[6];
	mlx5swi_gid_t gids[MLX5SWI_N_GIDS];
	struct mlx5swi_packet *in, **in_end; /* packets that have arrived, in order */
	uint32_t n_in;
} mlx5swi_port_t;

typedef struct mlx5swi_device {
	struct ibv_device ib; /* must be first: ibv_get_device_list returns its address */
	uint32_t host, index;
	uint8_t is_fatal;
	mlx5swi_port_t port;
	mlx5swi_table_t pds, uars, umems, mrs, cqs, qps; /* the index into mrs is key >> 8 */
	mlx5swi_table_t handles;                         /* AHs, thread domains */
	struct mlx5swi_context *contexts;                /* open contexts */
	struct mlx5swi_qp *active;      /* QPs with work, or with a timer that runs */
	struct mlx5swi_qp *half_atomic; /* QP with a loaded atomic that is not stored yet */
	uint64_t n_commands;
	/* engine/unlike.c: a WRITE that arrived in ERR, its QP, and READs executed since */
	struct mlx5swi_packet *late;
	struct mlx5swi_qp *late_qp;
	uint32_t n_late_reads;
} mlx5swi_device_t;

/* The ibv_context is part of a verbs_context, which inline functions of verbs.h expect
 * (verbs_get_ctx). */
typedef struct mlx5swi_context {
	struct verbs_context vctx; /* vctx.context is what the program sees */
	mlx5swi_device_t *dev;
	struct mlx5swi_context *next;
	uint32_t refs; /* objects of this context */
	struct mlx5swi_events *events;
	struct mlx5swi_channel *channels; /* of DevX events */
} mlx5swi_context_t;

typedef struct mlx5swi_pd {
	struct ibv_pd ib;
	mlx5swi_context_t *ctx;
	struct mlx5swi_pd *parent; /* parent domain: the protection domain that it extends */
	struct mlx5swi_td *td;     /* parent domain: its thread domain, or NULL */
	uint32_t pdn, refs;
	struct mlx5dv_devx_obj devx;
	/* Parent domain: allocator of the rings of its QPs and CQs; NULL: allocate here. */
	void *(*alloc)(struct ibv_pd *pd, void *arg, size_t nbytes, size_t alignment,
		       uint64_t resource);
	void (*free)(struct ibv_pd *pd, void *arg, void *p, uint64_t resource);
	void *arg;
} mlx5swi_pd_t;

/* A page of doorbell registers, in RAM. A register that has not been rung holds all ones. */
typedef struct mlx5swi_uar {
	struct mlx5dv_devx_uar dv; /* reg_addr = base_addr + 0x800 */
	mlx5swi_context_t *ctx;
	uint32_t id, refs;
	uint8_t *page;
	uint64_t half[3]; /* doorbell.c: complement of a torn doorbell, for each register */
	/* doorbell.c: bits of the words of a BlueFlame write that are still to come */
	uint8_t blueflame_left[2];
	uint8_t has_blueflame;  /* software alternates between the two halves of the register */
	struct mlx5swi_qp *qps; /* whose doorbells are written there */
} mlx5swi_uar_t;

typedef struct mlx5swi_umem {
	struct mlx5dv_devx_umem dv;
	mlx5swi_context_t *ctx;
	uint32_t id, refs, access;
	uint8_t *p;
	size_t nbytes;
	uint8_t is_gpu; /* see mlx5swi_mr.is_gpu */
} mlx5swi_umem_t;

typedef struct mlx5swi_mr {
	struct ibv_mr ib; /* if verbs created it */
	mlx5swi_context_t *ctx;
	mlx5swi_pd_t *pd;
	uint32_t key, refs;
	uint64_t iova, nbytes;
	uint8_t *p;         /* the memory at iova */
	uint32_t access;    /* IBV_ACCESS_ */
	uint8_t is_gpu;     /* reached by copies, not by loads and stores */
	uint8_t is_relaxed; /* relaxed ordering */
	uint8_t is_lost;    /* a fault made the region unusable, like deregistration */
	struct mlx5dv_devx_obj devx;
} mlx5swi_mr_t;

enum mlx5swi_cq_state { MLX5SWI_CQ_GOOD, MLX5SWI_CQ_BROKEN };

typedef struct mlx5swi_cq {
	union { /* if verbs created it */
		struct ibv_cq ib;
		struct ibv_cq_ex ex;
	};
	mlx5swi_context_t *ctx;
	uint32_t cqn, refs, eqn;
	uint8_t *buf;  /* entries of 64 bytes */
	uint32_t *dbr; /* words: consumer index, arm record */
	uint32_t log_size;
	uint8_t buf_is_gpu, dbr_is_gpu; /* the memory is on a GPU */
	uint8_t is_collapsed, ignores_overrun, state;
	uint32_t pi;        /* producer index, of which 24 bits count */
	uint32_t n_senders; /* send queues that report to it */
	mlx5swi_uar_t *uar;
	mlx5swi_umem_t *umem, *dbr_umem; /* set if DevX created it */
	void *owned, *owned_dbr;         /* set if verbs allocated them */
	mlx5swi_pd_t *allocator;
	struct mlx5dv_devx_obj devx;
} mlx5swi_cq_t;

/* Encoded as in a QP context. */
enum mlx5swi_state {
	MLX5SWI_RST,
	MLX5SWI_INIT,
	MLX5SWI_RTR,
	MLX5SWI_RTS,
	MLX5SWI_SQER,
	MLX5SWI_SQD,
	MLX5SWI_ERR,
};

/* The address of packets and the fields of their headers. */
typedef struct mlx5swi_path {
	uint8_t is_global, sgid_index, hop_limit, tclass, sl, static_rate, port, dscp;
	uint8_t dgid[16], dmac[6];
	uint16_t dlid, pkey_index, udp_sport;
	uint32_t flow_label;
	uint8_t ack_timeout; /* 0 .. 31 */
} mlx5swi_path_t;

/* The attributes that transitions set, named as in the QP context. */
typedef struct mlx5swi_qp_attr {
	uint8_t rwe, rre, rae, atomic_mode;
	uint8_t mtu, log_msg_max;
	uint8_t min_rnr_nak, rnr_retry, retry_count;
	uint8_t log_sra_max, log_rra_max;
	uint32_t remote_qpn, next_rcv_psn, next_send_psn;
	mlx5swi_path_t path;
} mlx5swi_qp_attr_t;

/* Bits of the attributes that a transition is given. */
enum mlx5swi_attr {
	MLX5SWI_ATTR_PORT = 1 << 0,
	MLX5SWI_ATTR_PKEY = 1 << 1,
	MLX5SWI_ATTR_ACCESS = 1 << 2, /* rwe, rre and rae */
	MLX5SWI_ATTR_ATOMIC_MODE = 1 << 3,
	MLX5SWI_ATTR_AV = 1 << 4,
	MLX5SWI_ATTR_MTU = 1 << 5,
	MLX5SWI_ATTR_MSG_MAX = 1 << 6,
	MLX5SWI_ATTR_DEST_QPN = 1 << 7,
	MLX5SWI_ATTR_RQ_PSN = 1 << 8,
	MLX5SWI_ATTR_RRA = 1 << 9,
	MLX5SWI_ATTR_MIN_RNR = 1 << 10,
	MLX5SWI_ATTR_SQ_PSN = 1 << 11,
	MLX5SWI_ATTR_SRA = 1 << 12,
	MLX5SWI_ATTR_RETRY = 1 << 13,
	MLX5SWI_ATTR_RNR_RETRY = 1 << 14,
	MLX5SWI_ATTR_TIMEOUT = 1 << 15,
};

typedef struct mlx5swi_qp {
	struct ibv_qp ib; /* if verbs created it */
	mlx5swi_context_t *ctx;
	mlx5swi_device_t *dev;
	mlx5swi_pd_t *pd;
	uint32_t qpn, user_index;
	uint8_t state, is_signed, has_no_dbr; /* is_signed: its WQEs carry signatures */
	uint8_t ts_format;                    /* mlx5swi_ts_format */
	mlx5swi_qp_attr_t attr;
	mlx5swi_cq_t *send_cq, *recv_cq;
	uint8_t *sq, *rq;   /* NULL: none */
	uint32_t sq_wqebbs; /* power of two */
	uint32_t rq_wqes, rq_stride;
	uint32_t *dbr;                   /* word 0 receive, word 1 send */
	uint8_t ring_is_gpu, dbr_is_gpu; /* the memory is on a GPU */
	mlx5swi_uar_t *uar;              /* the only page whose doorbells the QP accepts */
	struct mlx5swi_qp *next_of_uar;
	uint8_t *reg; /* the QP's register: page + 0x800, or + 0x600 without doorbell records */
	struct mlx5swi_requester *requester;
	struct mlx5swi_responder *responder;
	mlx5swi_umem_t *umem, *dbr_umem;
	void *owned, *owned_dbr;
	mlx5sw_qp_counters_t counters;
	struct mlx5swi_qp *next_active;
	uint8_t activity, is_verbs;
	struct ibv_qp_cap cap; /* if verbs created it */
	struct mlx5dv_devx_obj devx;
} mlx5swi_qp_t;

typedef struct mlx5swi_ah {
	struct ibv_ah ib;
	mlx5swi_context_t *ctx;
	struct mlx5_wqe_av av; /* what mlx5dv_init_obj returns */
} mlx5swi_ah_t;

typedef struct mlx5swi_world {
	mlx5sw_config_t cfg;
	mlx5sw_hooks_t hooks;
	uint32_t n_hosts, n_devices; /* devices: n_hosts * n_devices of them */
	mlx5swi_device_t *devices;
	int has_thread;
	int is_driven; /* a scheduler drives the devices through the hooks */
	/* of a process whose thread runs the devices: of device n, the place n mod n_places */
	mlx5swi_place_t places[MLX5SWI_MAX_PLACES];
	uint32_t n_places;
	/* free pages of UARs; the first bytes of each page point to the next */
	uint8_t *pages;
	struct mlx5swi_faults *faults;
	struct mlx5swi_step *script; /* lines of a script that are not due yet */
	struct mlx5swi_reports *reports;
	struct mlx5swi_engine *engine;
	/* set by the engine: completes the stores that it has begun */
	void (*before_unlock)(void);
	/* engine/unlike.c: the word that an atomic updated last, and the device */
	const uint8_t *last_word;
	const mlx5swi_device_t *last_updater;
	struct mlx5swi_dmabuf *dmabufs; /* dma-bufs that the program has bound to memory */
} mlx5swi_world_t;

extern mlx5swi_world_t *mlx5swi_w; /* NULL: not started */

#endif
