/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A queue pair whose send queue, completion queue and doorbell records are in GPU memory: created
 * by DevX commands over a umem of that memory, which is registered by its address or by a dma-buf.
 * Fields of the commands are those of the PRM: first bit and width. */
#ifndef GPU_DEVX_QUEUES_H
#define GPU_DEVX_QUEUES_H

#include <cuda.h>
#include <dlfcn.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <mlx5sw.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>
#include "../adapter/mailbox.h"

#define QUEUES_LOG_DEPTH 9u /* of the send queue, in WQEBBs, and of the CQ */
#define QUEUES_NBYTES (2u << 20)
#define QUEUES_RING_AT 0u /* offset in the memory */
#define QUEUES_CQ_AT 0x10000u
#define QUEUES_RECORD_AT 0x20000u
#define QUEUES_CQ_RECORD_AT 0x20040u

#define MAILBOX_NBYTES 0x110
#define CQC 0x80u /* bit offsets of the contexts in their commands */
#define QPC 0xc0u
#define ADS 0x180u

typedef struct queues {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	char *memory;
	size_t nbytes;
	CUmemGenericAllocationHandle handle;
	struct mlx5dv_devx_umem *umem;
	struct mlx5dv_devx_uar *uar;
	struct mlx5dv_devx_obj *cq, *qp;
	uint32_t cqn, qpn;
} queues_t;

/* The including file defines TRY. */
#define DRIVER(name) ((decltype(&name))dlsym(dlopen("libcuda.so.1", RTLD_NOW), #name))
#define CU(name, ...) TRY(DRIVER(name) != NULL && DRIVER(name)(__VA_ARGS__) == CUDA_SUCCESS)

/* Memory that NICs may access, allocated like the library's heap. */
static void queues_alloc(queues_t *q)
{
	CUmemAllocationProp prop = {};
	CUmemAccessDesc access = {};
	CUdeviceptr p;
	size_t granularity;

	prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.allocFlags.gpuDirectRDMACapable = 1;
	CU(cuMemGetAllocationGranularity, &granularity, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
	q->nbytes = (QUEUES_NBYTES + granularity - 1) / granularity * granularity;
	CU(cuMemCreate, &q->handle, q->nbytes, &prop, 0);
	CU(cuMemAddressReserve, &p, q->nbytes, 0, 0, 0);
	CU(cuMemMap, p, q->nbytes, 0, q->handle, 0);
	access.location = prop.location;
	access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	CU(cuMemSetAccess, p, q->nbytes, &access, 1);
	q->memory = (char *)p;
	CUDA(cudaMemset(q->memory, 0, q->nbytes));
	CUDA(cudaMemset(q->memory + QUEUES_CQ_AT, 0xff, 64u << QUEUES_LOG_DEPTH));
	CUDA(cudaDeviceSynchronize());
}

static void queues_release(queues_t *q)
{
	CU(cuMemUnmap, (CUdeviceptr)q->memory, q->nbytes);
	CU(cuMemRelease, q->handle);
	CU(cuMemAddressFree, (CUdeviceptr)q->memory, q->nbytes);
}

/* A dma-buf of the memory; -1: the driver does not support it. */
static int queues_dmabuf(const queues_t *q)
{
	int fd = -1, has = 0;

	CU(cuDeviceGetAttribute, &has, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 0);
	if (!has || DRIVER(cuMemGetHandleForAddressRange)(&fd, (CUdeviceptr)q->memory, q->nbytes,
							  CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
							  0) != CUDA_SUCCESS)
		return -1;
	return fd;
}

/* Returns false if there is no dma-buf. */
static bool queues_register(queues_t *q, bool by_dmabuf)
{
	struct mlx5dv_devx_umem_in in = {};

	if (!by_dmabuf) {
		q->umem =
			mlx5dv_devx_umem_reg(q->ctx, q->memory, q->nbytes, IBV_ACCESS_LOCAL_WRITE);
		TRY(q->umem != NULL);
		return true;
	}
	in.dmabuf_fd = queues_dmabuf(q);
	if (in.dmabuf_fd < 0)
		return false;
	TRY(mlx5sw_bind_dmabuf(in.dmabuf_fd, q->memory, q->nbytes) == 0);
	in.size = q->nbytes; /* from offset 0, which is in.addr */
	in.access = IBV_ACCESS_LOCAL_WRITE;
	in.pgsz_bitmap = UINT64_MAX & ~(uint64_t)4095;
	in.comp_mask = MLX5DV_UMEM_MASK_DMABUF;
	q->umem = mlx5dv_devx_umem_reg_ex(q->ctx, &in);
	TRY(q->umem != NULL);
	TRY(close(in.dmabuf_fd) == 0);
	return true;
}

static struct mlx5dv_devx_obj *queues_create(queues_t *q, const uint8_t *in, uint32_t *number)
{
	uint8_t out[16] = {};
	struct mlx5dv_devx_obj *obj =
		mlx5dv_devx_obj_create(q->ctx, in, MAILBOX_NBYTES, out, sizeof(out));

	TRY(obj != NULL);
	*number = (uint32_t)get_bits(out, 0x48, 24);
	return obj;
}

static void queues_create_cq(queues_t *q)
{
	uint8_t in[MAILBOX_NBYTES] = {};
	uint32_t eqn;

	TRY(mlx5dv_devx_query_eqn(q->ctx, 0, &eqn) == 0);
	put_bits(in, 0, 16, 0x400);
	/* oi: the kernel counts by itself, and writes no consumer index */
	put_bits(in, CQC + 0x0e, 1, 1);
	put_bits(in, CQC + 0x20, 32, q->umem->umem_id); /* dbr_umem_id */
	put_bits(in, CQC + 0x63, 5, QUEUES_LOG_DEPTH);
	put_bits(in, CQC + 0x68, 24, q->uar->page_id);
	put_bits(in, CQC + 0xb8, 8, eqn);
	put_bits(in, CQC + 0x1c0, 64, QUEUES_CQ_RECORD_AT);
	put_bits(in, 0x280, 64, QUEUES_CQ_AT);
	put_bits(in, 0x2c0, 32, q->umem->umem_id);
	put_bits(in, 0x2e0, 1, 1); /* cq_umem_valid */
	q->cq = queues_create(q, in, &q->cqn);
}

static void queues_create_qp(queues_t *q)
{
	uint8_t in[MAILBOX_NBYTES] = {};
	struct mlx5dv_pd pd = {};
	struct mlx5dv_obj obj = {};

	obj.pd.in = q->pd;
	obj.pd.out = &pd;
	TRY(mlx5dv_init_obj(&obj, MLX5DV_OBJ_PD) == 0);
	put_bits(in, 0, 16, 0x500);
	put_bits(in, QPC + 0x28, 24, pd.pdn);
	put_bits(in, QPC + 0x51, 4, QUEUES_LOG_DEPTH); /* log_sq_size */
	put_bits(in, QPC + 0x68, 24, q->uar->page_id);
	put_bits(in, QPC + 0x3e8, 24, q->cqn); /* cqn_snd */
	put_bits(in, QPC + 0x4e8, 24, q->cqn); /* cqn_rcv */
	put_bits(in, QPC + 0x500, 64, QUEUES_RECORD_AT);
	put_bits(in, QPC + 0x565, 3, 3); /* rq_type: none */
	put_bits(in, QPC + 0x720, 32, q->umem->umem_id);
	put_bits(in, 0x800, 64, QUEUES_RING_AT);
	put_bits(in, 0x840, 32, q->umem->umem_id);
	put_bits(in, 0x860, 1, 1); /* wq_umem_valid */
	q->qp = queues_create(q, in, &q->qpn);
}

/* Create in RESET. Returns false: by_dmabuf is set, and the driver does not support it. */
static bool queues_make(queues_t *q, struct ibv_context *ctx, struct ibv_pd *pd, bool by_dmabuf)
{
	q->ctx = ctx;
	q->pd = pd;
	queues_alloc(q);
	if (!queues_register(q, by_dmabuf)) {
		queues_release(q);
		return false;
	}
	q->uar = mlx5dv_devx_alloc_uar(ctx, MLX5DV_UAR_ALLOC_TYPE_NC);
	TRY(q->uar != NULL);
	queues_create_cq(q);
	queues_create_qp(q);
	return true;
}

static void queues_destroy(queues_t *q)
{
	TRY(mlx5dv_devx_obj_destroy(q->qp) == 0);
	TRY(mlx5dv_devx_obj_destroy(q->cq) == 0);
	TRY(mlx5dv_devx_umem_dereg(q->umem) == 0);
	mlx5dv_devx_free_uar(q->uar);
	queues_release(q);
}

static void queues_modify(queues_t *q, uint8_t *in, unsigned opcode)
{
	uint8_t out[16] = {};

	put_bits(in, 0, 16, opcode);
	put_bits(in, 0x48, 24, q->qpn);
	put_bits(in, ADS + 0x128, 8, 1); /* port */
	TRY(mlx5dv_devx_obj_modify(q->qp, in, MAILBOX_NBYTES, out, sizeof(out)) == 0);
}

static void queues_put_path(queues_t *q, uint8_t *in, const union ibv_gid *gid)
{
	struct ibv_ah_attr attr = {};
	struct mlx5dv_ah ah = {};
	struct mlx5dv_obj obj = {};

	attr.is_global = 1;
	attr.grh.dgid = *gid;
	attr.grh.sgid_index = 3;
	attr.grh.hop_limit = 64;
	attr.port_num = 1;
	obj.ah.in = ibv_create_ah(q->pd, &attr);
	TRY(obj.ah.in != NULL);
	obj.ah.out = &ah;
	TRY(mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH) == 0);
	for (unsigned i = 0; i < 6; i++)
		put_bits(in, ADS + 0x130 + 8 * i, 8, ah.av->rmac[i]);
	TRY(ibv_destroy_ah(obj.ah.in) == 0);
	memcpy(in + (ADS + 0x80) / 8, gid->raw, sizeof(gid->raw));
	put_bits(in, ADS + 0x48, 8, 3); /* src_addr_index */
	put_bits(in, ADS + 0x58, 8, 64);
	put_bits(in, ADS + 0x110, 16, 0xc000); /* udp_sport */
}

/* To RTS; both PSNs start at psn. */
static void queues_connect(queues_t *q, uint32_t peer_qpn, const union ibv_gid *peer_gid,
			   uint32_t psn)
{
	uint8_t init[MAILBOX_NBYTES] = {}, rtr[MAILBOX_NBYTES] = {}, rts[MAILBOX_NBYTES] = {};

	put_bits(init, QPC + 0x13, 2, 3);  /* pm_state */
	put_bits(init, QPC + 0x48c, 4, 3); /* atomic_mode */
	put_bits(init, QPC + 0x490, 3, 7); /* rre, rwe, rae */
	queues_modify(q, init, 0x502);
	put_bits(rtr, QPC + 0x40, 3, 5);  /* mtu: 4096 */
	put_bits(rtr, QPC + 0x43, 5, 30); /* log_msg_max */
	put_bits(rtr, QPC + 0xa8, 24, peer_qpn);
	put_bits(rtr, QPC + 0x488, 3, 4);  /* log_rra_max */
	put_bits(rtr, QPC + 0x4a3, 5, 12); /* min_rnr_nak */
	put_bits(rtr, QPC + 0x4a8, 24, psn);
	queues_put_path(q, rtr, peer_gid);
	queues_modify(q, rtr, 0x503);
	put_bits(rts, QPC + 0x388, 3, 4); /* log_sra_max */
	put_bits(rts, QPC + 0x38d, 3, 7); /* retry_count */
	put_bits(rts, QPC + 0x390, 3, 7); /* rnr_retry */
	put_bits(rts, QPC + 0x3c8, 24, psn);
	put_bits(rts, ADS + 0x40, 5, 14); /* ack_timeout */
	queues_modify(q, rts, 0x504);
}

#endif
