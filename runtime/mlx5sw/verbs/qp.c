/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queue pairs of verbs: sizes as libmlx5 computes them, since programs compute them too. */
#include "mlx5sw/verbs/entry.h"
#include "mlx5sw/events/events.h"

#define SEGMENT 16u      /* bytes of a data segment, and the unit of all segments */
#define OVERHEAD 192u    /* fixed part of an RC WQE: that of a memory window bind, the largest */
#define INLINE_HEADER 4u /* bytes of an inline segment before its data */
#define MAX_RQ_WQE 512u  /* bytes */
#define RECORD 8u        /* bytes of a doorbell record */
#define PAGE_OFFSETS 64u /* a ring starts at a multiple of 1/64 of its page */
#define KNOWN_CREATE_FLAGS                                                                         \
	(MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE | MLX5DV_QP_CREATE_ALLOW_SCATTER_TO_CQE)

typedef struct sizes {
	uint32_t wqe_nbytes; /* of the largest send WQE */
	uint32_t sq_wqebbs, rq_wqes, rq_stride;
	size_t sq_nbytes, rq_nbytes; /* RQ first, SQ after it */
} sizes_t;

static uint32_t align(uint32_t n, uint32_t to)
{
	return (n + to - 1) & ~(to - 1);
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static int size_sq(const struct ibv_qp_cap *cap, sizes_t *s)
{
	uint32_t gathered, inlined = 0;

	if (!cap->max_send_wr)
		return 0;
	if (cap->max_send_sge > (MLX5SWI_MAX_WQE - OVERHEAD) / SEGMENT ||
	    cap->max_inline_data > MLX5SWI_MAX_WQE - OVERHEAD - INLINE_HEADER)
		return mlx5swi_fail(EINVAL,
				    "QP: max_send_sge %u, max_inline_data %u: more than a "
				    "WQE of %u bytes holds",
				    cap->max_send_sge, cap->max_inline_data, MLX5SWI_MAX_WQE);
	if (cap->max_inline_data)
		inlined = OVERHEAD + align(INLINE_HEADER + cap->max_inline_data, SEGMENT);
	gathered = OVERHEAD + cap->max_send_sge * SEGMENT;
	s->wqe_nbytes = align(gathered > inlined ? gathered : inlined, MLX5SWI_WQEBB);
	if (cap->max_send_wr > 1u << MLX5SWI_LOG_MAX_QP_SZ ||
	    power_of_two(cap->max_send_wr * s->wqe_nbytes) > MLX5SWI_WQEBB << MLX5SWI_LOG_MAX_QP_SZ)
		return mlx5swi_fail(EINVAL, "QP: %u send WQEs of %u bytes: more than 2^%u WQEBBs",
				    cap->max_send_wr, s->wqe_nbytes, MLX5SWI_LOG_MAX_QP_SZ);
	s->sq_nbytes = power_of_two(cap->max_send_wr * s->wqe_nbytes);
	s->sq_wqebbs = (uint32_t)(s->sq_nbytes / MLX5SWI_WQEBB);
	return 0;
}

static int size_rq(const struct ibv_qp_cap *cap, sizes_t *s)
{
	if (!cap->max_recv_wr)
		return 0;
	if (cap->max_recv_wr > 1u << MLX5SWI_LOG_MAX_QP_SZ ||
	    cap->max_recv_sge > MAX_RQ_WQE / SEGMENT)
		return mlx5swi_fail(EINVAL, "QP: %u receive WQEs of %u segments", cap->max_recv_wr,
				    cap->max_recv_sge);
	s->rq_stride = power_of_two((cap->max_recv_sge ? cap->max_recv_sge : 1) * SEGMENT);
	s->rq_nbytes = (size_t)power_of_two(cap->max_recv_wr) * s->rq_stride;
	if (s->rq_nbytes < MLX5SWI_WQEBB)
		s->rq_nbytes = MLX5SWI_WQEBB;
	s->rq_wqes = (uint32_t)(s->rq_nbytes / s->rq_stride);
	return 0;
}

/* Report the actual sizes to the program. */
static void set_cap(struct ibv_qp_cap *cap, const sizes_t *s)
{
	if (s->sq_wqebbs) {
		cap->max_inline_data = s->wqe_nbytes - OVERHEAD - INLINE_HEADER;
		cap->max_send_wr = (uint32_t)s->sq_nbytes / s->wqe_nbytes;
	}
	cap->max_recv_wr = s->rq_wqes;
	cap->max_recv_sge = s->rq_stride / SEGMENT;
}

static int check(const mlx5swi_context_t *ctx, const struct ibv_qp_init_attr_ex *attr)
{
	int err = mlx5swi_check_alive(ctx);

	if (err)
		return err;
	if (attr->qp_type != IBV_QPT_RC)
		return mlx5swi_fail(EOPNOTSUPP, "QP type %d: reliable connections only",
				    (int)attr->qp_type);
	if (attr->srq)
		return mlx5swi_fail(EOPNOTSUPP, "QP: shared receive queues are not modelled");
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->pd || !attr->send_cq ||
	    !attr->recv_cq)
		return mlx5swi_fail(EINVAL, "QP: needs a PD and two CQs");
	if (attr->comp_mask & ~(uint32_t)IBV_QP_INIT_ATTR_PD)
		return mlx5swi_fail(EOPNOTSUPP,
				    "QP: comp_mask 0x%x: only the PD of the "
				    "extended attributes is supported",
				    attr->comp_mask);
	if (attr->send_cq->context != &ctx->vctx.context ||
	    attr->recv_cq->context != &ctx->vctx.context || attr->pd->context != &ctx->vctx.context)
		return mlx5swi_fail(EINVAL, "QP: its PD and CQs are of another context");
	return 0;
}

typedef struct rings {
	mlx5swi_buffer_t queues, record;
} rings_t;

static int rings_alloc(mlx5swi_pd_t *pd, const sizes_t *s, rings_t *r)
{
	uint32_t nbytes = (uint32_t)(s->sq_nbytes + s->rq_nbytes);
	uint32_t page = power_of_two(align(nbytes, MLX5SWI_PAGE));
	uint32_t alignment = pd->alloc ? page / PAGE_OFFSETS : MLX5SWI_PAGE;
	int err = 0;

	if (alignment < s->rq_stride)
		alignment = s->rq_stride;
	if (nbytes)
		err = mlx5swi_buffer_alloc(pd, align(nbytes, alignment), alignment,
					   MLX5DV_RES_TYPE_QP, &r->queues);
	if (!err)
		err = mlx5swi_buffer_alloc(pd, RECORD, RECORD, MLX5DV_RES_TYPE_DBR, &r->record);
	return err;
}

static void rings_free(mlx5swi_pd_t *pd, rings_t *r)
{
	mlx5swi_buffer_free(pd, &r->record, MLX5DV_RES_TYPE_DBR);
	mlx5swi_buffer_free(pd, &r->queues, MLX5DV_RES_TYPE_QP);
}

static void fill(mlx5swi_qp_t *qp, const struct ibv_qp_init_attr_ex *attr, const rings_t *r)
{
	qp->is_verbs = 1;
	qp->cap = attr->cap;
	qp->owned = r->queues.owned;
	qp->owned_dbr = r->record.owned;
	qp->ib.context = &qp->ctx->vctx.context;
	qp->ib.qp_context = attr->qp_context;
	qp->ib.pd = attr->pd;
	qp->ib.send_cq = attr->send_cq;
	qp->ib.recv_cq = attr->recv_cq;
	qp->ib.handle = qp->ib.qp_num = qp->qpn;
	qp->ib.qp_type = attr->qp_type;
}

/* Each queue pair has its own doorbell page: see pd.c. */
static int make(mlx5swi_context_t *ctx, struct ibv_qp_init_attr_ex *attr, const sizes_t *s,
		const rings_t *r, mlx5swi_qp_t **out)
{
	mlx5swi_qp_spec_t spec = {.pd = (mlx5swi_pd_t *)attr->pd,
				  .send_cq = (mlx5swi_cq_t *)attr->send_cq,
				  .recv_cq = (mlx5swi_cq_t *)attr->recv_cq,
				  .sq = s->sq_wqebbs ? r->queues.p + s->rq_nbytes : NULL,
				  .rq = s->rq_wqes ? r->queues.p : NULL,
				  .sq_nbytes = s->sq_nbytes,
				  .rq_nbytes = s->rq_nbytes,
				  .sq_wqebbs = s->sq_wqebbs,
				  .rq_wqes = s->rq_wqes,
				  .rq_stride = s->rq_stride,
				  .dbr = (uint32_t *)(void *)r->record.p,
				  .user_index = ctx->dev->qps.n_used,
				  .ts_format = mlx5swi_w->cfg.timestamps ? MLX5SWI_TS_DEFAULT
									 : MLX5SWI_TS_FREE_RUNNING};
	int err = mlx5swi_check_buffers("QP", &r->queues, &r->record);

	if (err)
		return err;
	spec.uar = mlx5swi_uar_new(ctx);
	if (!spec.uar)
		return mlx5swi_fail(ENOMEM, "QP: no page of doorbells is left");
	err = mlx5swi_errno_of(mlx5swi_qp_create(ctx, &spec, out));
	if (err) {
		mlx5swi_uar_destroy(spec.uar);
		return err;
	}
	set_cap(&attr->cap, s);
	fill(*out, attr, r);
	return 0;
}

struct ibv_qp *mlx5swi_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	mlx5swi_context_t *ctx = mlx5swi_context_of(context);
	mlx5swi_pd_t *pd = (mlx5swi_pd_t *)attr->pd;
	rings_t rings = {{0}, {0}};
	sizes_t sizes = {0};
	mlx5swi_qp_t *qp = NULL;
	int err;

	mlx5swi_lock();
	err = check(ctx, attr);
	if (!err)
		err = size_sq(&attr->cap, &sizes);
	if (!err)
		err = size_rq(&attr->cap, &sizes);
	if (mlx5swi_leave(err))
		return NULL;
	err = rings_alloc(pd, &sizes, &rings);
	mlx5swi_lock();
	err = err ? mlx5swi_fail(err, "no memory for the rings of a QP")
		  : make(ctx, attr, &sizes, &rings, &qp);
	mlx5swi_unlock();
	if (err) {
		rings_free(pd, &rings);
		errno = err;
	}
	return err ? NULL : &qp->ib;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex whole = {.qp_context = attr->qp_context,
					    .send_cq = attr->send_cq,
					    .recv_cq = attr->recv_cq,
					    .srq = attr->srq,
					    .cap = attr->cap,
					    .qp_type = attr->qp_type,
					    .sq_sig_all = attr->sq_sig_all,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = pd};
	struct ibv_qp *qp = mlx5swi_create_qp_ex(pd->context, &whole);

	if (qp)
		attr->cap = whole.cap;
	return qp;
}

struct ibv_qp *mlx5dv_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *qp_attr,
				struct mlx5dv_qp_init_attr *mlx5_qp_attr)
{
	const struct mlx5dv_qp_init_attr *a = mlx5_qp_attr;
	int err = 0;

	mlx5swi_lock();
	if (a && (a->comp_mask & ~(uint64_t)MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS ||
		  (a->comp_mask && a->create_flags & ~(uint32_t)KNOWN_CREATE_FLAGS)))
		err = mlx5swi_fail(EOPNOTSUPP, "mlx5dv_create_qp: comp_mask 0x%llx, flags 0x%x",
				   (unsigned long long)a->comp_mask, a->create_flags);
	if (mlx5swi_leave(err))
		return NULL;
	return mlx5swi_create_qp_ex(context, qp_attr);
}

int ibv_destroy_qp(struct ibv_qp *ib)
{
	mlx5swi_qp_t *qp = (mlx5swi_qp_t *)ib;
	mlx5swi_pd_t *pd = qp->pd;
	mlx5swi_uar_t *uar = qp->uar;
	rings_t rings = {{qp->rq ? qp->rq : qp->sq, qp->owned},
			 {(uint8_t *)qp->dbr, qp->owned_dbr}};
	int err;

	mlx5swi_lock();
	mlx5swi_events_wait(qp);
	err = mlx5swi_errno_of(mlx5swi_qp_destroy(qp));
	if (!err)
		err = mlx5swi_errno_of(mlx5swi_uar_destroy(uar));
	if (!mlx5swi_leave(err))
		rings_free(pd, &rings);
	return err;
}

/* No QP here has the operations of ibv_wr_start. */
struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	(void)qp;
	return NULL;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
	(void)qp;
	(void)op;
	(void)flags;
	return 0;
}
