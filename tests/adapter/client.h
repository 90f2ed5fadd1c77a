/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Clients of the adapter: they drive mlx5 by hand and include none of our headers, so that they
 * expect what rdma-core and the PRM specify. They also run on hardware. One of two routes (objects
 * by DevX or by verbs) creates two ends, each a QP with its queues and 64 KiB of memory; both
 * routes then carry the same traffic. */
#ifndef CLIENT_H
#define CLIENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <infiniband/verbs.h>
#include <infiniband/mlx5dv.h>

/* These macros call the linked libibverbs; here all calls go through `lib`. */
#undef ibv_query_port
#undef ibv_reg_mr

/* Library, symbol version, result, name, arguments. */
#define CLIENT_FUNCTIONS(X)                                                                        \
	X(ibverbs, "IBVERBS_1.1", struct ibv_device **, ibv_get_device_list, (int *))              \
	X(ibverbs, "IBVERBS_1.1", void, ibv_free_device_list, (struct ibv_device **))              \
	X(ibverbs, "IBVERBS_1.1", const char *, ibv_get_device_name, (struct ibv_device *))        \
	X(ibverbs, "IBVERBS_1.1", struct ibv_context *, ibv_open_device, (struct ibv_device *))    \
	X(ibverbs, "IBVERBS_1.1", int, ibv_close_device, (struct ibv_context *))                   \
	X(ibverbs, "IBVERBS_1.1", int, ibv_query_port,                                             \
	  (struct ibv_context *, uint8_t, struct _compat_ibv_port_attr *))                         \
	X(ibverbs, "IBVERBS_1.11", int, _ibv_query_gid_ex,                                         \
	  (struct ibv_context *, uint32_t, uint32_t, struct ibv_gid_entry *, uint32_t, size_t))    \
	X(ibverbs, "IBVERBS_1.1", struct ibv_pd *, ibv_alloc_pd, (struct ibv_context *))           \
	X(ibverbs, "IBVERBS_1.1", int, ibv_dealloc_pd, (struct ibv_pd *))                          \
	X(ibverbs, "IBVERBS_1.1", struct ibv_mr *, ibv_reg_mr,                                     \
	  (struct ibv_pd *, void *, size_t, int))                                                  \
	X(ibverbs, "IBVERBS_1.1", int, ibv_dereg_mr, (struct ibv_mr *))                            \
	X(ibverbs, "IBVERBS_1.1", struct ibv_cq *, ibv_create_cq,                                  \
	  (struct ibv_context *, int, void *, struct ibv_comp_channel *, int))                     \
	X(ibverbs, "IBVERBS_1.1", int, ibv_destroy_cq, (struct ibv_cq *))                          \
	X(ibverbs, "IBVERBS_1.1", struct ibv_qp *, ibv_create_qp,                                  \
	  (struct ibv_pd *, struct ibv_qp_init_attr *))                                            \
	X(ibverbs, "IBVERBS_1.1", int, ibv_modify_qp,                                              \
	  (struct ibv_qp *, struct ibv_qp_attr *, int))                                            \
	X(ibverbs, "IBVERBS_1.1", int, ibv_query_qp,                                               \
	  (struct ibv_qp *, struct ibv_qp_attr *, int, struct ibv_qp_init_attr *))                 \
	X(ibverbs, "IBVERBS_1.1", int, ibv_destroy_qp, (struct ibv_qp *))                          \
	X(ibverbs, "IBVERBS_1.1", struct ibv_ah *, ibv_create_ah,                                  \
	  (struct ibv_pd *, struct ibv_ah_attr *))                                                 \
	X(ibverbs, "IBVERBS_1.1", int, ibv_destroy_ah, (struct ibv_ah *))                          \
	X(ibverbs, "IBVERBS_1.1", int, ibv_get_async_event,                                        \
	  (struct ibv_context *, struct ibv_async_event *))                                        \
	X(ibverbs, "IBVERBS_1.1", void, ibv_ack_async_event, (struct ibv_async_event *))           \
	X(mlx5, "MLX5_1.8", bool, mlx5dv_is_supported, (struct ibv_device *))                      \
	X(mlx5, "MLX5_1.7", struct ibv_context *, mlx5dv_open_device,                              \
	  (struct ibv_device *, struct mlx5dv_context_attr *))                                     \
	X(mlx5, "MLX5_1.2", int, mlx5dv_init_obj, (struct mlx5dv_obj *, uint64_t))                 \
	X(mlx5, "MLX5_1.3", struct ibv_qp *, mlx5dv_create_qp,                                     \
	  (struct ibv_context *, struct ibv_qp_init_attr_ex *, struct mlx5dv_qp_init_attr *))      \
	X(mlx5, "MLX5_1.7", struct mlx5dv_devx_uar *, mlx5dv_devx_alloc_uar,                       \
	  (struct ibv_context *, uint32_t))                                                        \
	X(mlx5, "MLX5_1.7", void, mlx5dv_devx_free_uar, (struct mlx5dv_devx_uar *))                \
	X(mlx5, "MLX5_1.7", struct mlx5dv_devx_umem *, mlx5dv_devx_umem_reg,                       \
	  (struct ibv_context *, void *, size_t, uint32_t))                                        \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_umem_dereg, (struct mlx5dv_devx_umem *))              \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_query_eqn,                                            \
	  (struct ibv_context *, uint32_t, uint32_t *))                                            \
	X(mlx5, "MLX5_1.7", struct mlx5dv_devx_obj *, mlx5dv_devx_obj_create,                      \
	  (struct ibv_context *, const void *, size_t, void *, size_t))                            \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_obj_modify,                                           \
	  (struct mlx5dv_devx_obj *, const void *, size_t, void *, size_t))                        \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_obj_query,                                            \
	  (struct mlx5dv_devx_obj *, const void *, size_t, void *, size_t))                        \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_obj_destroy, (struct mlx5dv_devx_obj *))              \
	X(mlx5, "MLX5_1.7", int, mlx5dv_devx_general_cmd,                                          \
	  (struct ibv_context *, const void *, size_t, void *, size_t))                            \
	X(mlx5, "MLX5_1.11", struct mlx5dv_devx_event_channel *, mlx5dv_devx_create_event_channel, \
	  (struct ibv_context *, enum mlx5dv_devx_create_event_channel_flags))                     \
	X(mlx5, "MLX5_1.11", void, mlx5dv_devx_destroy_event_channel,                              \
	  (struct mlx5dv_devx_event_channel *))                                                    \
	X(mlx5, "MLX5_1.11", int, mlx5dv_devx_subscribe_devx_event,                                \
	  (struct mlx5dv_devx_event_channel *, struct mlx5dv_devx_obj *, uint16_t, uint16_t *,     \
	   uint64_t))                                                                              \
	X(mlx5, "MLX5_1.11", ssize_t, mlx5dv_devx_get_event,                                       \
	  (struct mlx5dv_devx_event_channel *, struct mlx5dv_devx_async_event_hdr *, size_t))

#define CLIENT_FIELD(library, version, result, name, arguments) result(*name) arguments;
struct client_library {
	CLIENT_FUNCTIONS(CLIENT_FIELD)
};
extern struct client_library lib;

/* Load both libraries; exit with 77 if one does not exist. */
void library_load(const char *ibverbs, const char *mlx5);

/* Checks: each failure prints one line and increments `failures`, which becomes the exit status. */
extern int failures;
bool same(const char *what, uint64_t expected, uint64_t got);
bool same_bytes(const char *what, const void *expected, const void *got, size_t nbytes);
/* Exits if the condition does not hold: the client cannot continue without it. */
void must(bool holds, const char *what);

/* For loops that wait: exits after half a minute. */
typedef struct patience {
	const char *what;
	uint64_t end_s;
} patience_t;
patience_t patience(const char *what);
void patient(patience_t *p);
/* Wait until the descriptor can be read. */
bool readable(const char *what, int fd);

/* A WQE under construction: starts with the control segment, which sq_post fills in. */
typedef struct wqe {
	uint8_t opcode, opmod, flags;
	uint32_t imm;
	unsigned nbytes;
	_Alignas(MLX5_SEND_WQE_BB) uint8_t bytes[8 * MLX5_SEND_WQE_BB];
} wqe_t;

#define SIGNALLED MLX5_WQE_CTRL_CQ_UPDATE
#define FENCED MLX5_WQE_CTRL_FENCE
#define OPMOD_ATOMIC_4 0x08 /* masked atomics only: 0x08 | log2(bytes) - 2 */
#define OPMOD_ATOMIC_8 0x09
#define OPCODE_DUMP 0x23 /* not in mlx5dv.h: reads local memory and discards the data */

wqe_t wqe_make(uint8_t opcode, uint8_t opmod, uint8_t flags);
void wqe_remote(wqe_t *w, const void *address, uint32_t rkey);
void wqe_local(wqe_t *w, const void *address, uint32_t nbytes, uint32_t lkey);
void wqe_inline(wqe_t *w, const void *bytes, uint32_t nbytes);
void wqe_u32(wqe_t *w, uint32_t value);
void wqe_u64(wqe_t *w, uint64_t value);

/* Send queue: n_wqebbs of 64 bytes, a power of two. `posted` counts WQEBBs. */
typedef struct send_queue {
	uint8_t *wqebbs;
	uint32_t n_wqebbs;
	__be32 *record;
	uint8_t *doorbell;
	uint32_t bf_nbytes; /* BlueFlame: distance of the register's second half; 0: none */
	uint32_t qpn;
	uint16_t posted;
	uint64_t last; /* the first 8 bytes of the last WQE */
} send_queue_t;

/* Write a WQE into the ring; returns the index of its first WQEBB. */
uint16_t sq_post(send_queue_t *sq, wqe_t *w);
/* Write the doorbell record and ring the doorbell for everything that was posted. */
void sq_ring(send_queue_t *sq);
/* The same, with the last WQE, of one WQEBB, in the doorbell. */
void sq_ring_blueflame(send_queue_t *sq);

/* Receive queue: nwqes of `stride` bytes. */
typedef struct recv_queue {
	uint8_t *wqes;
	uint32_t nwqes, stride;
	__be32 *record;
	uint16_t posted;
} recv_queue_t;

/* A receive WQE without memory: for a WRITE with immediate. */
uint16_t rq_post(recv_queue_t *rq);

/* Completion queue: a ring of ncqes, or one entry that each CQE overwrites. */
typedef struct comp_queue {
	struct mlx5_cqe64 *cqes;
	uint32_t ncqes;
	bool collapsed;
	__be32 *record;
	uint32_t consumed;
} comp_queue_t;

typedef struct completion {
	uint8_t opcode;     /* MLX5_CQE_... */
	uint8_t wqe_opcode; /* MLX5_OPCODE_..., of requesters */
	uint8_t syndrome, vendor;
	uint16_t counter; /* index of the WQE's first WQEBB */
	uint32_t qpn, nbytes;
	uint32_t imm; /* as in the WQE */
} completion_t;

/* Returns whether a new CQE has arrived. Does not consume it. */
bool cq_has(const comp_queue_t *cq);
/* Wait for the CQE of that WQE. In a ring it must be the next one. */
completion_t cq_wait(comp_queue_t *cq, const char *what, uint16_t counter);

#define DATA_NBYTES 65536u

/* The address that the other side needs. */
typedef struct address {
	uint32_t qpn, psn, rkey;
	uint16_t lid;
	union ibv_gid gid;
	uint8_t *data;
} address_t;

/* A QP with its queues. `kind` selects one of a route's variants. */
typedef struct end {
	int kind;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	uint8_t gid_index;
	send_queue_t sq;
	recv_queue_t rq;
	comp_queue_t send_cq, recv_cq;
	address_t self, peer;
	struct route_qp *qp; /* private to the route */
} end_t;

#define PORT 1                /* of every device */
#define LOG_RD_ATOMIC 2       /* fewer READs and atomics at a time than the traffic posts */
#define PATH_MTU IBV_MTU_1024 /* small: a few KiB are several packets */
#define ACK_TIMEOUT 18        /* with the retries some seconds: the peer may be a busy process */
#define RETRIES 7
#define RNR_RETRIES 7
#define RNR_TIMER 12

/* How a route creates objects. States are enum ibv_qp_state, which equal those of the PRM here. */
typedef struct route {
	const char *const *kinds; /* names, then NULL */
	struct ibv_context *(*open)(struct ibv_device *device);
	void (*create)(end_t *e);
	void (*to_rtr)(end_t *e); /* from RESET, to self.psn and peer */
	void (*to_rts)(end_t *e);
	void (*reset)(end_t *e);
	unsigned (*state)(end_t *e);
	void (*await_access_event)(end_t *e); /* wait for the event of a refused request */
	void (*destroy)(end_t *e);
} route_t;
extern const route_t route;

/* Address of the peer, for the address vector. */
struct ibv_ah_attr end_ah_attr(const end_t *e);

/* Two ends, the same one twice, or one in this process and the other in another process. */
typedef struct pair {
	end_t *active, *passive; /* NULL: in the other process */
	int socket;              /* to the other process; -1: none */
} pair_t;

/* Barrier of both sides. */
void pair_meet(const pair_t *p);
/* From RESET or from creation to RTS, with fresh PSNs. */
void pair_connect(pair_t *p);

/* All operations from the active side to the passive one. */
void traffic(const pair_t *p);
/* One WRITE, checked. */
void traffic_write(end_t *e);
/* A refused WRITE and the WQEs after it; leaves both QPs in ERR. */
void traffic_refused(const pair_t *p);

#endif
