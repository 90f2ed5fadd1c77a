/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Making and changing objects, below verbs and DevX. */
#ifndef MLX5SW_CONTROL_H
#define MLX5SW_CONTROL_H

#include "mlx5sw/core/objects.h"

/* Of a PRM command; verbs turn them into errno values. */
enum mlx5swi_status {
	MLX5SWI_DONE = 0,
	MLX5SWI_INTERNAL = 1,
	MLX5SWI_BAD_OP = 2,
	MLX5SWI_BAD_PARAM = 3,
	MLX5SWI_BAD_RESOURCE = 5,
	MLX5SWI_BUSY = 6,
	MLX5SWI_LIMIT = 8,
	MLX5SWI_BAD_RESOURCE_STATE = 9,
	MLX5SWI_BAD_INDEX = 0xa,
	MLX5SWI_NO_RESOURCES = 0xf,
	MLX5SWI_BAD_QP_STATE = 0x10,
	MLX5SWI_BAD_INPUT_LENGTH = 0x50,
	MLX5SWI_BAD_OUTPUT_LENGTH = 0x51,
};
int mlx5swi_errno_of(int status);

#define MLX5SWI_EQN 7u         /* the event queue of each device */
#define MLX5SWI_LOG_MAX_QP 18u /* limits of a device, as it reports them */
#define MLX5SWI_LOG_MAX_QP_SZ 15u
#define MLX5SWI_LOG_MAX_CQ 24u
#define MLX5SWI_LOG_MAX_CQ_SZ 22u
#define MLX5SWI_LOG_MAX_MKEY 24u
#define MLX5SWI_LOG_MAX_RA 4u /* READs and atomics at once, either way */
#define MLX5SWI_LOG_MAX_MSG 30u
#define MLX5SWI_MAX_UARS 512u

/* What a command could not do, in words: for syndromes and for people. Kept for the context's
 * thread until the next command; MLX5SW_VERBOSE=1 prints it to stderr. Returns status. */
int mlx5swi_refuse(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *mlx5swi_refusal(void);
uint32_t mlx5swi_syndrome(void); /* of the same refusal: the same for the same fmt, not 0 */

/* world.c */
int mlx5swi_world_ready(void); /* start by the environment if nobody has; 0 or an errno value */
mlx5swi_device_t *mlx5swi_device(uint32_t host, uint32_t index); /* NULL: none */
#define MLX5SWI_MAX_DEVICES 16u
#define MLX5SWI_CHAOS_ALL 127u
void mlx5swi_lock(void);
void mlx5swi_unlock(void);

/* table.c */
int mlx5swi_table_add(mlx5swi_table_t *t, void *object, uint32_t *index); /* 0, or ENOMEM */
void *mlx5swi_table_get(const mlx5swi_table_t *t, uint32_t index);        /* NULL: none */
void mlx5swi_table_remove(mlx5swi_table_t *t, uint32_t index);
void mlx5swi_table_reuse(mlx5swi_table_t *t); /* one that is empty, as if it were new */
void mlx5swi_table_free(mlx5swi_table_t *t);

/* port.c: addresses, states. */
void mlx5swi_port_init(mlx5swi_port_t *port);           /* from its device's host and index */
void mlx5swi_port_set(mlx5swi_port_t *port, int is_up); /* with the events */
/* The MAC that a GID's port would have; 0, or ENOENT: nobody has that GID. */
int mlx5swi_resolve(const uint8_t gid[16], uint8_t mac[6]);
/* Where the port of a GID is: its process. 0, or ENOENT: it is none of ours. LIDs are
 * 1 + host * MLX5SWI_MAX_DEVICES + index. */
int mlx5swi_gid_place(const uint8_t gid[16], mlx5swi_place_t *place);

/* uar.c */
mlx5swi_uar_t *mlx5swi_uar_new(mlx5swi_context_t *ctx); /* NULL: no memory */
int mlx5swi_uar_destroy(mlx5swi_uar_t *uar);            /* status: BUSY while used */

/* cq.c. spec: referenced objects exist; what is wrong otherwise is refused. */
typedef struct mlx5swi_cq_spec {
	uint8_t *buf;
	size_t buf_nbytes; /* from buf on */
	uint32_t *dbr;     /* NULL: outside of its memory, or not aligned: refused */
	uint8_t buf_is_gpu, dbr_is_gpu;
	uint32_t log_size, eqn;
	int is_collapsed, ignores_overrun;
	mlx5swi_uar_t *uar;
	mlx5swi_umem_t *umem, *dbr_umem; /* NULL: not by umem */
} mlx5swi_cq_spec_t;
int mlx5swi_cq_create(mlx5swi_context_t *ctx, const mlx5swi_cq_spec_t *spec, mlx5swi_cq_t **cq);
int mlx5swi_cq_destroy(mlx5swi_cq_t *cq); /* BUSY while a QP uses it; frees *cq */

/* qp.c. The format of a QP context, which has other values than the capability. */
enum mlx5swi_ts_format { MLX5SWI_TS_FREE_RUNNING, MLX5SWI_TS_DEFAULT, MLX5SWI_TS_REAL_TIME };
typedef struct mlx5swi_qp_spec {
	mlx5swi_pd_t *pd;
	mlx5swi_cq_t *send_cq, *recv_cq;
	uint8_t *sq, *rq;            /* NULL: none */
	size_t sq_nbytes, rq_nbytes; /* of the memory from there on */
	uint32_t sq_blocks, rq_wqes, rq_stride;
	uint32_t *dbr;
	uint8_t ring_is_gpu, dbr_is_gpu;
	mlx5swi_uar_t *uar;
	uint32_t user_index;
	int has_no_dbr, is_signed;
	uint8_t ts_format;
	mlx5swi_umem_t *umem, *dbr_umem;
} mlx5swi_qp_spec_t;
int mlx5swi_qp_create(mlx5swi_context_t *ctx, const mlx5swi_qp_spec_t *spec, mlx5swi_qp_t **qp);
int mlx5swi_qp_destroy(mlx5swi_qp_t *qp); /* frees *qp */

#define MLX5SWI_BY_COMMAND (1u << 31) /* in given: DevX may move the path of a QP in RTS */

/* state.c: a transition. All of given is checked against what the transition allows and needs,
 * then against its range; if anything is wrong nothing changes. Attributes that the transition does
 * not know are refused (verbs) or were not given (DevX: unset optional bits). */
int mlx5swi_qp_modify(mlx5swi_qp_t *qp, int to, const mlx5swi_qp_attr_t *attr, uint32_t given);
int mlx5swi_is_rate(uint8_t rate);            /* of verbs: none, or one of those from 2.5 Gb/s on */
void mlx5swi_qp_reset_attr(mlx5swi_qp_t *qp); /* as after 2RST */

/* mr.c */
int mlx5swi_mr_create(mlx5swi_pd_t *pd, uint8_t *p, uint64_t nbytes, uint64_t iova, uint32_t access,
		      mlx5swi_mr_t **mr);
int mlx5swi_mr_destroy(mlx5swi_mr_t *mr); /* frees *mr */
/* Memory that a bound dma-buf stands for; NULL: fd was not bound, or not so long. */
uint8_t *mlx5swi_dmabuf(int fd, uint64_t offset, uint64_t nbytes, int *is_gpu);
void mlx5swi_dmabufs_free(void); /* the world ends */

/* verbs/events.c, verbs/eqe.c: what the device tells the software. */
struct mlx5swi_events *mlx5swi_events_new(mlx5swi_context_t *ctx); /* opens ctx->async_fd */
void mlx5swi_events_free(mlx5swi_context_t *ctx);
void mlx5swi_event_port(mlx5swi_port_t *port, int ibv_event_type); /* to every open context */
void mlx5swi_event_device(mlx5swi_device_t *dev, int ibv_event_type);
#define MLX5SWI_EQE_COMPLETION 0 /* types of EQEs */
#define MLX5SWI_EQE_COMM_EST 2
#define MLX5SWI_EQE_SQ_DRAINED 3
#define MLX5SWI_EQE_CQ_ERROR 4
#define MLX5SWI_EQE_WQ_CATAS 5
#define MLX5SWI_EQE_INTERNAL 8
#define MLX5SWI_EQE_PORT 9
#define MLX5SWI_EQE_WQ_INVALID 0x10
#define MLX5SWI_EQE_WQ_ACCESS 0x11
#define MLX5SWI_EQE_LAST_WQE 0x13
void mlx5swi_event_qp(mlx5swi_qp_t *qp, uint8_t eqe_type);
void mlx5swi_event_cq(mlx5swi_cq_t *cq, uint8_t eqe_type, uint8_t syndrome);
void mlx5swi_events_forget(void *object); /* a QP or CQ is about to be freed */

#endif
