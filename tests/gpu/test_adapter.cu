/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A kernel drives the software adapter: it writes its own WQEs into a ring, rings the doorbell, and
 * polls completions. Data is in GPU memory. The queues are in pinned memory (by verbs), then in GPU
 * memory registered by its address, then in GPU memory registered by a dma-buf (by DevX). Only
 * verbs and the device's formats are used, nothing of the library.
 *
 * test_adapter [operations]: default 1,000,000; a tenth for queues in GPU memory. */
#include <cuda_runtime.h>
#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_SLOTS 4096u /* of 64 bytes, in GPU memory, on either side */
#define SLOT 64u
#define DEPTH 512u /* WQEs of one WQEBB in flight */
#define SIGNAL_EVERY 32u
#define LIMIT_NS 60000000000ull
#define FIRST_PSN 0xfffff0u /* so that it wraps */
#define N_ECHOES 2000u

#define TRY(call)                                                                                  \
	do {                                                                                       \
		if (!(call)) {                                                                     \
			fprintf(stderr, "%s:%d: %s failed: %s; CUDA: %s\n", __FILE__, __LINE__,    \
				#call, strerror(errno), cudaGetErrorString(cudaGetLastError()));   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)
#define CUDA(call) TRY((call) == cudaSuccess)

#include "devx_queues.h"

enum placement { IN_HOST, BY_ADDRESS, BY_DMABUF };
static const char *const placements[] = {"pinned memory", "GPU memory, by its address",
					 "GPU memory, by a dma-buf"};

/* The addresses and numbers that the kernel needs of its queues. */
typedef struct ring {
	uint64_t *sq;           /* [DEPTH] WQEBBs of 8 words */
	volatile uint32_t *dbr; /* word 1: send */
	uint64_t *reg;          /* doorbell */
	const uint64_t *cq;     /* entries of 8 words */
	uint32_t cqe_cnt, qpn;
	uint64_t local, remote; /* of entry 0 */
	uint32_t lkey, rkey;
	uint64_t counter; /* remote: the word of the atomics */
	uint64_t result;  /* local: the results of the atomics */
	uint64_t echo;    /* local: the results of READs */
} ring_t;

typedef struct result {
	uint64_t n_done, n_atomics;
	uint32_t bad_opcode, bad_counter; /* of a completion: 0 if all were successful */
	uint32_t is_late;
	uint64_t n_echoes, n_stale; /* READs; those whose data arrived after their completion */
} result_t;

/* The device */

static __device__ uint32_t be32(uint32_t v)
{
	return __byte_perm(v, 0, 0x0123);
}

static __device__ uint64_t be64(uint64_t v)
{
	return (uint64_t)be32((uint32_t)v) << 32 | be32((uint32_t)(v >> 32));
}

/* Two 32-bit fields in memory order. */
static __device__ uint64_t pair(uint32_t first, uint32_t second)
{
	return be32(first) | (uint64_t)be32(second) << 32;
}

static __device__ void put_block(ring_t r, uint64_t index, const uint64_t w[8])
{
	volatile uint64_t *to = r.sq + index % DEPTH * 8;
	for (int i = 0; i < 8; i++)
		to[i] = w[i];
}

/* Every 16th operation adds 1 to a counter, every 8th writes 8 bytes inline; the others write an
 * entry. The value that an operation writes is its own number + 1. */
static __device__ bool is_atomic(uint64_t i)
{
	return i % 16 == 5;
}

static __device__ bool is_inline(uint64_t i)
{
	return i % 8 == 3;
}

static __device__ void post(ring_t r, uint64_t i, bool is_signalled)
{
	uint32_t opcode = is_atomic(i) ? 0x15 : 0x08, ds = is_inline(i) ? 3 : is_atomic(i) ? 4 : 3;
	uint32_t opmod = is_atomic(i) ? 9 : 0; /* 8 bytes, extended */
	uint64_t slot = i % N_SLOTS * SLOT;
	uint64_t w[8] = {
		pair(opmod << 24 | (uint32_t)(i & 0xffff) << 8 | opcode, r.qpn << 8 | ds),
		pair(is_signalled ? 8 : 0, 0),
		be64(is_atomic(i) ? r.counter : r.remote + slot),
		pair(r.rkey, 0),
		0,
		0,
		0,
		0,
	};
	if (is_atomic(i)) {
		w[4] = be64(1); /* add; no boundaries */
		w[6] = pair(8, r.lkey);
		w[7] = be64(r.result);
	} else if (is_inline(i)) {
		uint64_t value = i + 1;
		w[4] = be32(8 | 0x80000000u) | (value & 0xffffffff) << 32;
		w[5] = value >> 32;
	} else {
		w[4] = pair(SLOT, r.lkey);
		w[5] = be64(r.local + slot);
	}
	put_block(r, i, w);
}

/* Record, then doorbell: a device that reads the doorbell must not read an older record. */
static __device__ void ring_doorbell(ring_t r, uint64_t end)
{
	__threadfence_system();
	r.dbr[1] = be32((uint32_t)end & 0xffff);
	__threadfence_system();
	asm volatile("st.mmio.relaxed.sys.global.u64 [%0], %1;" ::"l"(r.reg),
		     "l"(pair(((uint32_t)end & 0xffff) << 8, r.qpn << 8)));
}

static __device__ uint64_t now_ns(void)
{
	uint64_t t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}

/* Wait for completion number n of the ring. Returns false if it is an error or does not arrive. */
static __device__ bool take_completion(ring_t r, uint64_t n, uint64_t index, result_t *out)
{
	const volatile uint64_t *last = r.cq + n % r.cqe_cnt * 8 + 7;
	uint64_t start = now_ns(), word, owner = n / r.cqe_cnt & 1;
	do {
		word = *last;
		if (now_ns() - start > LIMIT_NS) {
			out->is_late = 1;
			return false;
		}
	} while (word >> 60 == 15 || (word >> 56 & 1) != owner);
	__threadfence_system();
	uint32_t counter = be32((uint32_t)(word >> 32)) >> 16;
	if (word >> 60 != 0 || counter != (index & 0xffff)) {
		out->bad_opcode = (uint32_t)(word >> 60) | 0x100;
		out->bad_counter = counter;
		return false;
	}
	return true;
}

static __global__ void drive(ring_t r, uint64_t *local, uint64_t n, result_t *out)
{
	uint64_t n_completions = 0, n_atomics = 0;
	for (uint64_t i = 0; i < n; i++) {
		bool is_last = i + 1 == n || (i + 1) % SIGNAL_EVERY == 0;
		/* The device has read the entry's data before the completion that frees it. */
		local[i % N_SLOTS * (SLOT / 8)] = i + 1;
		post(r, i, is_last);
		n_atomics += is_atomic(i);
		if (is_last)
			ring_doorbell(r, i + 1);
		if (is_last && i + 1 >= DEPTH) {
			uint64_t index = (n_completions + 1) * SIGNAL_EVERY - 1;
			if (!take_completion(r, n_completions, index < n ? index : n - 1, out))
				return;
			n_completions++;
		}
	}
	for (uint64_t index;
	     (index = (n_completions + 1) * SIGNAL_EVERY - 1) < n + SIGNAL_EVERY - 1;
	     n_completions++)
		if (!take_completion(r, n_completions, index < n ? index : n - 1, out))
			return;
	out->n_done = n;
	out->n_atomics = n_atomics;
}

static __device__ void put_echo(ring_t r, uint64_t i, uint32_t opcode, uint64_t local)
{
	uint64_t w[8] = {
		pair((uint32_t)(i & 0xffff) << 8 | opcode, r.qpn << 8 | 3),
		pair(opcode == 0x10 ? 8 : 0, 0),
		be64(r.remote),
		pair(r.rkey, 0),
		pair(8, r.lkey),
		be64(local),
		0,
		0,
	};
	put_block(r, i, w);
}

/* After drive: WRITE a number to the peer's first entry, READ it back. When the READ's completion
 * is valid, its data must have arrived. */
static __global__ void echo(ring_t r, uint64_t *local, uint64_t first, uint64_t n, result_t *out)
{
	uint64_t n_completions = (first + SIGNAL_EVERY - 1) / SIGNAL_EVERY;
	for (uint64_t k = 0; k < n; k++) {
		uint64_t i = first + 2 * k;
		local[0] = ~k;
		put_echo(r, i, 0x08, r.local);
		put_echo(r, i + 1, 0x10, r.echo);
		ring_doorbell(r, i + 2);
		if (!take_completion(r, n_completions + k, i + 1, out))
			return;
		out->n_stale += *(const volatile uint64_t *)r.echo != ~k;
		out->n_echoes++;
	}
}

/* The host */

typedef struct side {
	struct ibv_context *ctx;
	struct ibv_pd *pd, *pinned; /* pinned: queues in memory that the GPU can access */
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_port_attr port;
	union ibv_gid gid;
	queues_t queues; /* instead of cq and qp: queues in GPU memory */
	char *data;      /* N_SLOTS entries, then counter, result, echo */
	void *page;      /* page of the doorbell register, if the GPU has it mapped */
} side_t;

static void *alloc_pinned(struct ibv_pd *pd, void *arg, size_t nbytes, size_t alignment,
			  uint64_t resource)
{
	void *p = NULL;
	(void)pd, (void)arg, (void)resource;
	/* Allocate whole pages, whatever the requested alignment. */
	TRY(alignment <= 4096);
	CUDA(cudaHostAlloc(&p, (nbytes + 4095) & ~(size_t)4095, cudaHostAllocMapped));
	return p;
}

static void free_pinned(struct ibv_pd *pd, void *arg, void *p, uint64_t resource)
{
	(void)pd, (void)arg, (void)resource;
	CUDA(cudaFreeHost(p));
}

static void make_pinned_queues(side_t *s)
{
	struct ibv_parent_domain_init_attr parent = {};
	parent.pd = s->pd;
	parent.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	parent.alloc = alloc_pinned;
	parent.free = free_pinned;
	TRY((s->pinned = ibv_alloc_parent_domain(s->ctx, &parent)) != NULL);
	struct ibv_cq_init_attr_ex cq = {};
	cq.cqe = DEPTH;
	cq.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
	cq.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
	cq.parent_domain = s->pinned;
	struct ibv_cq_ex *made = ibv_create_cq_ex(s->ctx, &cq);
	TRY(made != NULL);
	s->cq = ibv_cq_ex_to_cq(made);
	struct ibv_qp_init_attr qp = {};
	qp.send_cq = qp.recv_cq = s->cq;
	qp.cap.max_send_wr = DEPTH / 4; /* WQEBBs are counted below */
	qp.cap.max_send_sge = 1;
	qp.qp_type = IBV_QPT_RC;
	TRY((s->qp = ibv_create_qp(s->pinned, &qp)) != NULL);
}

/* Returns false: by a dma-buf, and the driver does not support it. */
static bool open_side(side_t *s, struct ibv_device *device, enum placement where)
{
	size_t nbytes = N_SLOTS * SLOT + 3 * SLOT;
	TRY((s->ctx = ibv_open_device(device)) != NULL);
	TRY((s->pd = ibv_alloc_pd(s->ctx)) != NULL);
	if (where == IN_HOST)
		make_pinned_queues(s);
	else if (!queues_make(&s->queues, s->ctx, s->pd, where == BY_DMABUF))
		return false;
	CUDA(cudaMalloc((void **)&s->data, nbytes));
	CUDA(cudaMemset(s->data, 0, nbytes));
	TRY((s->mr = ibv_reg_mr(s->pd, s->data, nbytes,
				IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)) !=
	    NULL);
	TRY(ibv_query_port(s->ctx, 1, &s->port) == 0);
	TRY(ibv_query_gid(s->ctx, 1, 3, &s->gid) == 0);
	return true;
}

/* Verbs write to rings and records with the CPU: they refuse GPU memory. */
static void *alloc_far(struct ibv_pd *pd, void *arg, size_t nbytes, size_t alignment,
		       uint64_t resource)
{
	void *p = NULL;
	(void)pd, (void)arg, (void)alignment, (void)resource;
	CUDA(cudaMalloc(&p, nbytes));
	return p;
}

static void free_far(struct ibv_pd *pd, void *arg, void *p, uint64_t resource)
{
	(void)pd, (void)arg, (void)resource;
	CUDA(cudaFree(p));
}

static void refuse_far_rings(side_t *s)
{
	struct ibv_parent_domain_init_attr parent = {};
	parent.pd = s->pd;
	parent.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
	parent.alloc = alloc_far;
	parent.free = free_far;
	struct ibv_pd *far_pd = ibv_alloc_parent_domain(s->ctx, &parent);
	TRY(far_pd != NULL);
	struct ibv_qp_init_attr qp = {};
	qp.send_cq = qp.recv_cq = s->cq;
	qp.cap.max_send_wr = 1;
	qp.cap.max_send_sge = 1;
	qp.qp_type = IBV_QPT_RC;
	TRY(ibv_create_qp(far_pd, &qp) == NULL);
	TRY(ibv_dealloc_pd(far_pd) == 0);
}

static void to_rts(side_t *s, const side_t *peer)
{
	struct ibv_qp_attr a = {};
	if (!s->qp) {
		queues_connect(&s->queues, peer->queues.qpn, &peer->gid, FIRST_PSN);
		return;
	}
	a.qp_state = IBV_QPS_INIT;
	a.port_num = 1;
	a.qp_access_flags =
		IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	TRY(ibv_modify_qp(s->qp, &a,
			  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) ==
	    0);
	a = {};
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_4096;
	a.dest_qp_num = peer->qp->qp_num;
	a.rq_psn = FIRST_PSN;
	a.max_dest_rd_atomic = 16;
	a.min_rnr_timer = 12;
	a.ah_attr.is_global = 1;
	a.ah_attr.grh.dgid = peer->gid;
	a.ah_attr.grh.sgid_index = 3;
	a.ah_attr.grh.hop_limit = 64;
	a.ah_attr.dlid = peer->port.lid;
	a.ah_attr.port_num = 1;
	TRY(ibv_modify_qp(s->qp, &a,
			  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER) == 0);
	a = {};
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = 7;
	a.rnr_retry = 7;
	a.sq_psn = FIRST_PSN;
	a.max_rd_atomic = 16;
	TRY(ibv_modify_qp(s->qp, &a,
			  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				  IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

static void *device_address(void *host)
{
	void *p = NULL;
	CUDA(cudaHostGetDevicePointer(&p, host, 0));
	return p;
}

/* The register is ordinary memory here: registered without the flag for I/O memory. */
static uint64_t *map_register(side_t *s, void *reg)
{
	s->page = (void *)((uintptr_t)reg & ~(uintptr_t)4095);
	CUDA(cudaHostRegister(s->page, 4096, cudaHostRegisterMapped));
	return (uint64_t *)((char *)device_address(s->page) + ((uintptr_t)reg & 4095));
}

static void find_pinned_queues(ring_t *r, side_t *s)
{
	struct mlx5dv_qp qp = {};
	struct mlx5dv_cq cq = {};
	struct mlx5dv_obj obj = {};
	obj.qp.in = s->qp;
	obj.qp.out = &qp;
	obj.cq.in = s->cq;
	obj.cq.out = &cq;
	TRY(mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP | MLX5DV_OBJ_CQ) == 0);
	TRY(qp.sq.wqe_cnt == DEPTH && qp.sq.stride == 64);
	r->sq = (uint64_t *)device_address(qp.sq.buf);
	r->dbr = (uint32_t *)device_address(qp.dbrec);
	r->reg = map_register(s, qp.bf.reg);
	r->cq = (const uint64_t *)device_address(cq.buf);
	r->cqe_cnt = cq.cqe_cnt;
	r->qpn = s->qp->qp_num;
}

static void find_gpu_queues(ring_t *r, side_t *s)
{
	char *memory = s->queues.memory;
	r->sq = (uint64_t *)(memory + QUEUES_RING_AT);
	r->dbr = (uint32_t *)(memory + QUEUES_RECORD_AT);
	r->reg = map_register(s, s->queues.uar->reg_addr);
	r->cq = (const uint64_t *)(memory + QUEUES_CQ_AT);
	r->cqe_cnt = DEPTH;
	r->qpn = s->queues.qpn;
}

static ring_t ring_of(side_t *s, const side_t *peer)
{
	ring_t r = {};
	if (s->qp)
		find_pinned_queues(&r, s);
	else
		find_gpu_queues(&r, s);
	r.local = (uint64_t)s->data;
	r.remote = (uint64_t)peer->data;
	r.lkey = s->mr->lkey;
	r.rkey = peer->mr->rkey;
	r.counter = (uint64_t)peer->data + N_SLOTS * SLOT;
	r.result = (uint64_t)s->data + N_SLOTS * SLOT + SLOT;
	r.echo = r.result + SLOT;
	return r;
}

static int check_memory(const side_t *target, uint64_t n, const result_t *result)
{
	uint64_t *seen = (uint64_t *)malloc(N_SLOTS * SLOT + SLOT), last[N_SLOTS] = {0};
	int n_bad = 0;
	TRY(seen != NULL);
	CUDA(cudaMemcpy(seen, target->data, N_SLOTS * SLOT + SLOT, cudaMemcpyDeviceToHost));
	for (uint64_t i = 0; i < n; i++)
		if (i % 16 != 5)
			last[i % N_SLOTS] = i + 1;
	for (uint32_t slot = 0; slot < N_SLOTS; slot++)
		if (seen[slot * (SLOT / 8)] != last[slot] && n_bad++ < 5)
			fprintf(stderr, "slot %u has %llu instead of %llu\n", slot,
				(unsigned long long)seen[slot * (SLOT / 8)],
				(unsigned long long)last[slot]);
	uint64_t counter = seen[N_SLOTS * (SLOT / 8)];
	if (counter != result->n_atomics) {
		fprintf(stderr, "counter is %llu after %llu atomics\n", (unsigned long long)counter,
			(unsigned long long)result->n_atomics);
		n_bad++;
	}
	free(seen);
	return n_bad;
}

static void close_side(side_t *s)
{
	if (s->page)
		CUDA(cudaHostUnregister(s->page));
	if (s->qp) {
		TRY(ibv_destroy_qp(s->qp) == 0);
		TRY(ibv_destroy_cq(s->cq) == 0);
		TRY(ibv_dealloc_pd(s->pinned) == 0);
	} else {
		queues_destroy(&s->queues);
	}
	TRY(ibv_dereg_mr(s->mr) == 0);
	TRY(ibv_dealloc_pd(s->pd) == 0);
	TRY(ibv_close_device(s->ctx) == 0);
	CUDA(cudaFree(s->data));
}

/* Returns the number of errors. */
static int check(uint64_t n, const result_t *result)
{
	if (result->n_done != n || result->n_echoes != N_ECHOES) {
		fprintf(stderr, "%s: completion with opcode %u for WQEBB %u\n",
			result->is_late ? "a completion did not arrive" : "a bad completion",
			result->bad_opcode & 15, result->bad_counter);
		return 1;
	}
	if (result->n_stale)
		fprintf(stderr, "%llu of %u READs: their data came after their completion\n",
			(unsigned long long)result->n_stale, N_ECHOES);
	return result->n_stale != 0;
}

/* Returns the number of errors. */
static int run(struct ibv_device **devices, enum placement where, uint64_t n, result_t *result)
{
	side_t a = {}, b = {};
	result_t *out = (result_t *)device_address(result);
	int n_bad;
	memset(result, 0, sizeof(*result));
	if (!open_side(&a, devices[0], where)) {
		printf("queues in %s: this driver does not support dma-buf\n", placements[where]);
		TRY(ibv_dealloc_pd(a.pd) == 0 && ibv_close_device(a.ctx) == 0);
		return 0;
	}
	TRY(open_side(&b, devices[1], where));
	if (where == IN_HOST)
		refuse_far_rings(&a);
	to_rts(&a, &b);
	to_rts(&b, &a);
	ring_t r = ring_of(&a, &b);
	drive<<<1, 1>>>(r, (uint64_t *)a.data, n, out);
	CUDA(cudaDeviceSynchronize());
	n_bad = result->n_done == n ? check_memory(&b, n, result) : 1;
	if (!n_bad)
		echo<<<1, 1>>>(r, (uint64_t *)a.data, n, N_ECHOES, out);
	CUDA(cudaDeviceSynchronize());
	n_bad += check(n, result);
	printf("queues in %s: %llu operations by a kernel, %llu of them atomics, and %llu READs: "
	       "%s\n",
	       placements[where], (unsigned long long)result->n_done,
	       (unsigned long long)result->n_atomics, (unsigned long long)result->n_echoes,
	       n_bad ? "WRONG" : "all data in place");
	close_side(&a);
	close_side(&b);
	return n_bad;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	int n_devices = 0, n_bad = 0;
	result_t *result;
	CUDA(cudaHostAlloc((void **)&result, sizeof(*result), cudaHostAllocMapped));
	struct ibv_device **devices = ibv_get_device_list(&n_devices);
	TRY(devices && n_devices >= 2);
	n_bad += run(devices, IN_HOST, n, result);
	n_bad += run(devices, BY_ADDRESS, (n + 9) / 10, result);
	n_bad += run(devices, BY_DMABUF, (n + 9) / 10, result);
	ibv_free_device_list(devices);
	return n_bad != 0;
}
