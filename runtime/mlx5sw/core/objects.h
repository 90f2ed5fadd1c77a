/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The objects of the fabric. Entry points of verbs and commands of DevX make the same ones.
 *
 * Everything is guarded by the hooks' lock: entry points and steps hold it, internal functions
 * expect it. Hooks that access memory may let other threads run, but those wait at the lock. */
#ifndef MLX5SW_OBJECTS_H
#define MLX5SW_OBJECTS_H

#include <stdbool.h>

#pragma GCC visibility push(default) /* the entry points that they declare are ours */
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#pragma GCC visibility pop
#include <mlx5sw.h>

#define MLX5SWI_BLOCK 64u     /* bytes of a WQE basic block */
#define MLX5SWI_MAX_WQE 1024u /* bytes: max_wqe_sz_sq */
#define MLX5SWI_N_GIDS 4u     /* of a port: RoCE v1 and v2, link-local and routable */
#define MLX5SWI_PAGE 4096u    /* of a UAR */
#define MLX5SWI_NO_DOORBELL UINT64_MAX

/* Index -> object. Indexes are assigned round robin, so that a stale one is seldom valid again. */
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

/* The object that a DevX command created: part of one of these. Zero in objects of verbs. */
struct mlx5dv_devx_obj {
	struct mlx5swi_context *ctx;
	struct mlx5swi_pd *pd;
	struct mlx5swi_mr *mr;
	struct mlx5swi_cq *cq;
	struct mlx5swi_qp *qp;
	struct mlx5swi_umem *umem; /* memory of mr */
};

/* The place of a process in the fabric, of which it is one host. The addresses of its ports are
 * computed from the place, so they need no directory. */
typedef struct mlx5swi_place {
	uint32_t host;  /* number in the fabric, 0 .. MLX5SWI_MAX_HOSTS - 1; 0 by TCP */
	uint8_t is_tcp; /* then GIDs, RoCE v2 and v1, carry these: */
	uint8_t ipv4[4];
	uint16_t tcp_port;
} mlx5swi_place_t;
#define MLX5SWI_MAX_HOSTS 64u

/* A device has one port, number 1. */
typedef struct mlx5swi_port {
	struct mlx5swi_device *dev;
	uint8_t is_up, is_ethernet, mtu; /* mtu: code 1 .. 5 */
	uint8_t requires_grh;            /* InfiniBand: packets without one are lost */
	uint16_t lid, pkey;
	uint8_t mac[6];
	mlx5swi_gid_t gids[MLX5SWI_N_GIDS];
	struct mlx5swi_packet *in, **in_end; /* arrived, in order */
	uint32_t n_in;
} mlx5swi_port_t;

typedef struct mlx5swi_device {
	struct ibv_device ib; /* first: ibv_get_device_list gives its address */
	uint32_t host, index;
	uint8_t is_fatal;
	mlx5swi_port_t port;
	mlx5swi_table_t pds, uars, umems, mrs, cqs, qps; /* mrs by key >> 8 */
	mlx5swi_table_t handles;                         /* AHs, thread domains */
	struct mlx5swi_context *contexts;                /* open ones */
	struct mlx5swi_qp *active;                       /* QPs with work */
	struct mlx5swi_qp *half_atomic; /* QP with a loaded atomic that is not stored yet */
	uint64_t n_commands;
} mlx5swi_device_t;

/* Our ibv_context is part of a verbs_context, which inline verbs expect (verbs_get_ctx). */
typedef struct mlx5swi_context {
	struct verbs_context vctx; /* vctx.context is the user's */
	mlx5swi_device_t *dev;
	struct mlx5swi_context *next;
	uint32_t refs; /* objects that live in it */
	struct mlx5swi_events *events;
	struct mlx5swi_channel *channels; /* of DevX events */
} mlx5swi_context_t;

typedef struct mlx5swi_pd {
	struct ibv_pd ib;
	mlx5swi_context_t *ctx;
	struct mlx5swi_pd *parent; /* of a parent domain: the real one */
	struct mlx5swi_td *td;     /* of a parent domain; NULL: none */
	uint32_t pdn, refs;
	struct mlx5dv_devx_obj devx;
	/* parent domain: where the rings of its QPs and CQs come from; NULL: our own */
	void *(*alloc)(struct ibv_pd *pd, void *arg, size_t nbytes, size_t alignment,
		       uint64_t resource);
	void (*free)(struct ibv_pd *pd, void *arg, void *p, uint64_t resource);
	void *arg;
} mlx5swi_pd_t;

/* A page of doorbell registers, in RAM. Idle registers hold all ones. */
typedef struct mlx5swi_uar {
	struct mlx5dv_devx_uar dv; /* reg_addr = base_addr + 0x800 */
	mlx5swi_context_t *ctx;
	uint32_t id, refs;
	uint8_t *page;
	uint64_t half[3]; /* doorbell.c: complement of a torn doorbell, for each register */
	uint8_t blueflame_left[2]; /* doorbell.c: words of a BlueFlame write still to come, bits */
	uint8_t has_blueflame;     /* software uses the register's halves in turn */
} mlx5swi_uar_t;

typedef struct mlx5swi_umem {
	struct mlx5dv_devx_umem dv;
	mlx5swi_context_t *ctx;
	uint32_t id, refs, access;
	uint8_t *p;
	size_t nbytes;
	uint8_t is_gpu; /* as of an MR */
} mlx5swi_umem_t;

typedef struct mlx5swi_mr {
	struct ibv_mr ib; /* of a verbs MR */
	mlx5swi_context_t *ctx;
	mlx5swi_pd_t *pd;
	uint32_t key, refs;
	uint64_t iova, nbytes;
	uint8_t *p;         /* memory of iova */
	uint32_t access;    /* IBV_ACCESS_ */
	uint8_t is_gpu;     /* reached by copies, not by loads and stores */
	uint8_t is_relaxed; /* relaxed ordering */
	uint8_t is_lost;    /* by a fault: as if deregistered */
	struct mlx5dv_devx_obj devx;
} mlx5swi_mr_t;

enum mlx5swi_cq_state { MLX5SWI_CQ_GOOD, MLX5SWI_CQ_BROKEN };

typedef struct mlx5swi_cq {
	union { /* of a verbs CQ */
		struct ibv_cq ib;
		struct ibv_cq_ex ex;
	};
	mlx5swi_context_t *ctx;
	uint32_t cqn, refs, eqn;
	uint8_t *buf;  /* entries of 64 bytes */
	uint32_t *dbr; /* consumer index, arm record */
	uint32_t log_size;
	uint8_t buf_is_gpu, dbr_is_gpu; /* where they lie */
	uint8_t is_collapsed, ignores_overrun, state;
	uint32_t pi;        /* 24 bits count */
	uint32_t n_senders; /* QPs that send to it */
	mlx5swi_uar_t *uar;
	mlx5swi_umem_t *umem, *dbr_umem; /* DevX; NULL: verbs */
	void *owned, *owned_dbr;         /* verbs: what was allocated */
	mlx5swi_pd_t *allocator;
	struct mlx5dv_devx_obj devx;
} mlx5swi_cq_t;

/* As in a QP context. */
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

/* What transitions set. Names after the QP context. */
typedef struct mlx5swi_qp_attr {
	uint8_t rwe, rre, rae, atomic_mode;
	uint8_t mtu, log_msg_max;
	uint8_t min_rnr_nak, rnr_retry, retry_count;
	uint8_t log_sra_max, log_rra_max;
	uint32_t remote_qpn, next_rcv_psn, next_send_psn;
	mlx5swi_path_t path;
} mlx5swi_qp_attr_t;

/* The attributes that a transition is given. */
enum mlx5swi_attr {
	MLX5SWI_ATTR_PORT = 1 << 0,
	MLX5SWI_ATTR_PKEY = 1 << 1,
	MLX5SWI_ATTR_ACCESS = 1 << 2, /* rwe, rre, rae */
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
	struct ibv_qp ib; /* of a verbs QP */
	mlx5swi_context_t *ctx;
	mlx5swi_device_t *dev;
	mlx5swi_pd_t *pd;
	uint32_t qpn, user_index;
	uint8_t state, is_signed, has_no_dbr; /* is_signed: WQEs carry signatures */
	uint8_t ts_format;                    /* mlx5swi_ts_format */
	mlx5swi_qp_attr_t attr;
	mlx5swi_cq_t *send_cq, *recv_cq;
	uint8_t *sq, *rq;   /* NULL: none */
	uint32_t sq_blocks; /* power of two */
	uint32_t rq_wqes, rq_stride;
	uint32_t *dbr;                   /* word 0 receive, word 1 send */
	uint8_t ring_is_gpu, dbr_is_gpu; /* where they lie */
	mlx5swi_uar_t *uar;              /* the only one whose doorbells are accepted */
	uint8_t *reg; /* its register: page + 0x800, or + 0x600 without records */
	struct mlx5swi_requester *requester;
	struct mlx5swi_responder *responder;
	mlx5swi_umem_t *umem, *dbr_umem;
	void *owned, *owned_dbr;
	mlx5sw_qp_counters_t counters;
	struct mlx5swi_qp *next_active;
	uint8_t is_active, is_verbs;
	struct ibv_qp_cap cap; /* of a verbs QP */
	struct mlx5dv_devx_obj devx;
} mlx5swi_qp_t;

typedef struct mlx5swi_ah {
	struct ibv_ah ib;
	mlx5swi_context_t *ctx;
	struct mlx5_wqe_av av; /* what mlx5dv_init_obj shows */
} mlx5swi_ah_t;

typedef struct mlx5swi_world {
	mlx5sw_config_t cfg;
	mlx5sw_hooks_t hooks;
	uint32_t n_hosts, n_devices; /* devices: n_hosts * n_devices of them */
	mlx5swi_device_t *devices;
	int has_thread;
	int is_driven;         /* by a scheduler, which has the hooks */
	mlx5swi_place_t place; /* of a process that has a thread */
	uint8_t *pages;        /* free ones of UARs; the first bytes of each name the next */
	struct mlx5swi_faults *faults;
	struct mlx5swi_step *script; /* control lines that are not due yet */
	struct mlx5swi_reports *reports;
	struct mlx5swi_engine *engine;
	void (*before_unlock)(void);    /* the engine's: completes what it has begun to store */
	struct mlx5swi_dmabuf *dmabufs; /* bound to memory */
} mlx5swi_world_t;

extern mlx5swi_world_t *mlx5swi_w; /* NULL: not started */

#endif
