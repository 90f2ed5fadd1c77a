/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Completion queues of verbs. Programs read the ring themselves. */
#include "mlx5sw/engine/engine.h"
#include "mlx5sw/verbs/entry.h"
#include "mlx5sw/events/events.h"

#define KNOWN_MASK (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)
#define KNOWN_FLAGS (IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
#define INVALID_CQE 0xf0 /* opcode 15, initial owner bit */
#define RECORD 8         /* bytes of a doorbell record */

static int no_raw(const char *name)
{
	return mlx5swi_fail(EOPNOTSUPP,
			    "%s: not here: write WQEs and read CQEs in the rings that "
			    "mlx5dv_init_obj describes",
			    name);
}

static int poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
	(void)cq;
	(void)num_entries;
	(void)wc;
	errno = no_raw("ibv_poll_cq");
	return -errno;
}

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq;
	(void)attr;
	return no_raw("ibv_start_poll");
}

static int req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	(void)cq;
	(void)solicited_only;
	return no_raw("ibv_req_notify_cq");
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr)
{
	(void)qp;
	*bad_wr = wr;
	return no_raw("ibv_post_send");
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr)
{
	(void)qp;
	*bad_wr = wr;
	return no_raw("ibv_post_recv");
}

void mlx5swi_queue_ops(struct ibv_context *context)
{
	context->ops.poll_cq = poll_cq;
	context->ops.req_notify_cq = req_notify_cq;
	context->ops.post_send = post_send;
	context->ops.post_recv = post_recv;
}

static int check(const mlx5swi_context_t *ctx, const struct ibv_cq_init_attr_ex *attr)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	int err = mlx5swi_check_alive(ctx);

	if (err)
		return err;
	if (!attr->cqe || attr->cqe >= 1u << MLX5SWI_LOG_MAX_CQ_SZ)
		return mlx5swi_fail(EINVAL, "CQ of %u entries: 1 .. %u", attr->cqe,
				    (1u << MLX5SWI_LOG_MAX_CQ_SZ) - 1);
	if (attr->comp_mask & ~(uint32_t)KNOWN_MASK || flags & ~(uint32_t)KNOWN_FLAGS)
		return mlx5swi_fail(EINVAL, "CQ: comp_mask 0x%x, flags 0x%x", attr->comp_mask,
				    flags);
	if (attr->channel)
		return mlx5swi_fail(EOPNOTSUPP, "CQ: completion channels are not modelled");
	if (attr->comp_vector >= (uint32_t)ctx->vctx.context.num_comp_vectors)
		return mlx5swi_fail(EINVAL, "CQ: completion vector %u", attr->comp_vector);
	return 0;
}

/* log2 of one entry more than requested, rounded up, as in libmlx5. */
static uint32_t log_entries(uint32_t cqe)
{
	uint32_t log = 0;

	while (1u << log < cqe + 1)
		log++;
	return log;
}

typedef struct rings {
	mlx5swi_buffer_t entries, record;
} rings_t;

static int rings_alloc(mlx5swi_pd_t *pd, size_t nbytes, rings_t *r)
{
	int err;

	nbytes = (nbytes + MLX5SWI_PAGE - 1) & ~(size_t)(MLX5SWI_PAGE - 1);
	err = mlx5swi_buffer_alloc(pd, nbytes, MLX5SWI_PAGE, MLX5DV_RES_TYPE_CQ, &r->entries);
	if (!err)
		err = mlx5swi_buffer_alloc(pd, RECORD, RECORD, MLX5DV_RES_TYPE_DBR, &r->record);
	return err;
}

static void rings_free(mlx5swi_pd_t *pd, rings_t *r)
{
	mlx5swi_buffer_free(pd, &r->record, MLX5DV_RES_TYPE_DBR);
	mlx5swi_buffer_free(pd, &r->entries, MLX5DV_RES_TYPE_CQ);
}

/* What libmlx5 does when it creates a CQ: mark all entries as invalid and zero the record. */
static void initialise(uint8_t *buf, uint32_t n, uint32_t *dbr)
{
	const uint64_t zero = 0;
	const uint8_t invalid = INVALID_CQE;

	for (uint32_t i = 0; i < n; i++)
		mlx5swi_store(buf + (size_t)i * MLX5SWI_WQEBB + MLX5SWI_WQEBB - 1, &invalid, 1,
			      MLX5SW_PAYLOAD);
	mlx5swi_store(dbr, &zero, sizeof(zero), MLX5SW_ATOMIC);
}

static int make(mlx5swi_context_t *ctx, const struct ibv_cq_init_attr_ex *attr, mlx5swi_pd_t *pd,
		const rings_t *r, mlx5swi_cq_t **out)
{
	uint32_t flags = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? attr->flags : 0;
	uint32_t log = log_entries(attr->cqe);
	mlx5swi_cq_spec_t spec = {.buf = r->entries.p,
				  .buf_nbytes = (size_t)MLX5SWI_WQEBB << log,
				  .dbr = (uint32_t *)(void *)r->record.p,
				  .log_size = log,
				  .eqn = MLX5SWI_EQN};
	mlx5swi_cq_t *cq;
	int err = mlx5swi_check_buffers("CQ", &r->entries, &r->record);

	if (err)
		return err;
	spec.ignores_overrun = (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0;
	initialise(spec.buf, 1u << log, spec.dbr);
	err = mlx5swi_errno_of(mlx5swi_cq_create(ctx, &spec, &cq));
	if (err)
		return err;
	cq->owned = r->entries.owned;
	cq->owned_dbr = r->record.owned;
	cq->allocator = pd;
	if (pd)
		pd->refs++;
	cq->ex.context = &ctx->vctx.context;
	cq->ex.cq_context = attr->cq_context;
	cq->ex.handle = cq->cqn;
	cq->ex.cqe = (int)(1u << log) - 1;
	cq->ex.start_poll = start_poll;
	*out = cq;
	return 0;
}

struct ibv_cq_ex *mlx5swi_create_cq_ex(struct ibv_context *context,
				       struct ibv_cq_init_attr_ex *attr)
{
	mlx5swi_context_t *ctx = mlx5swi_context_of(context);
	mlx5swi_pd_t *pd = attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD
				   ? (mlx5swi_pd_t *)attr->parent_domain
				   : NULL;
	mlx5swi_cq_t *cq = NULL;
	rings_t rings = {{0}, {0}};
	int err;

	mlx5swi_lock();
	if (mlx5swi_leave(check(ctx, attr)))
		return NULL;
	err = rings_alloc(pd, (size_t)MLX5SWI_WQEBB << log_entries(attr->cqe), &rings);
	mlx5swi_lock();
	err = err ? mlx5swi_fail(err, "no memory for a completion queue")
		  : make(ctx, attr, pd, &rings, &cq);
	mlx5swi_unlock();
	if (err) {
		rings_free(pd, &rings);
		errno = err;
	}
	return cq ? &cq->ex : NULL;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = cqe > 0 ? (uint32_t)cqe : 0,
					   .cq_context = cq_context,
					   .channel = channel,
					   .comp_vector = (uint32_t)comp_vector};
	struct ibv_cq_ex *cq = mlx5swi_create_cq_ex(context, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

int ibv_destroy_cq(struct ibv_cq *ib)
{
	mlx5swi_cq_t *cq = (mlx5swi_cq_t *)ib;
	mlx5swi_pd_t *pd = cq->allocator;
	rings_t rings = {{cq->buf, cq->owned}, {(uint8_t *)cq->dbr, cq->owned_dbr}};
	int err;

	mlx5swi_lock();
	mlx5swi_events_wait(cq);
	err = mlx5swi_errno_of(mlx5swi_cq_destroy(cq));
	if (!err && pd)
		pd->refs--;
	if (!mlx5swi_leave(err))
		rings_free(pd, &rings);
	return err;
}
