/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* GPU memory that programs register for queues: by its address or by a dma-buf, for DevX. The CUDA
 * driver is a stand-in (cuda/fake_cuda.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "cuda/fake_cuda.h"
#include "fixture_devx.h"

enum { NBYTES = 0x10000, PAGE = 4096, DATA = 0x4000, VARIANT = 0x5a };
enum { OP_WRITE = 0x08, SIGNALLED = 0x08 };

static devx_t d;
static uint8_t *gpu, *view; /* view: as a kernel sees the umem */
static struct mlx5dv_devx_obj *qp, *mkey;
static uint32_t qpn, mkey_index;

static void replace_umem(struct mlx5dv_devx_umem *umem)
{
	assert_non_null(umem);
	assert_int_equal(mlx5dv_devx_umem_dereg(d.umem), 0);
	d.umem = umem;
}

static void by_address(void)
{
	gpu = fake_cuda_alloc(NBYTES);
	view = fake_cuda_view(gpu);
	replace_umem(mlx5dv_devx_umem_reg(d.ctx, gpu, NBYTES, IBV_ACCESS_LOCAL_WRITE));
}

/* The dma-buf starts a page before the umem. */
static void by_dmabuf(void)
{
	const int fd = memfd_create("dma-buf", 0);
	struct mlx5dv_devx_umem_in in = {.addr = (void *)(uintptr_t)PAGE,
					 .size = NBYTES,
					 .access = IBV_ACCESS_LOCAL_WRITE,
					 .pgsz_bitmap = PAGE,
					 .comp_mask = MLX5DV_UMEM_MASK_DMABUF,
					 .dmabuf_fd = fd};

	gpu = fake_cuda_alloc(PAGE + NBYTES);
	view = fake_cuda_view(gpu) + PAGE;
	assert_int_equal(mlx5sw_bind_dmabuf(fd, gpu, PAGE + NBYTES), 0);
	replace_umem(mlx5dv_devx_umem_reg_ex(d.ctx, &in));
	close(fd);
}

static void make_mkey(void)
{
	uint8_t in[MAILBOX_NBYTES] = {0};

	put_bits(in, 0, 16, 0x200);
	put_bits(in, 0x80 + 0x12, 4, 0xf); /* rw, rr, lw, lr */
	put_bits(in, 0x80 + 0x16, 2, 1);   /* access_mode: MTT */
	put_bits(in, 0x80 + 0x20, 24, 0xffffff);
	put_bits(in, 0x80 + 0x38, 8, VARIANT);
	put_bits(in, 0x80 + 0x68, 24, d.pdn);
	put_bits(in, 0x80 + 0xc0, 64, NBYTES); /* from address 0 */
	put_bits(in, 0x320, 32, d.umem->umem_id);
	mkey = devx_create(&d, in, sizeof(in), &mkey_index);
}

static void make_queues(void)
{
	uint8_t in[MAILBOX_NBYTES];

	memset(view + DEVX_CQ, 0xff, 16 * 64);
	devx_cq_mailbox(&d, in);
	d.cq = devx_create(&d, in, sizeof(in), &d.cqn);
	devx_qp_mailbox(&d, in);
	qp = devx_create(&d, in, sizeof(in), &qpn);
	devx_bring(&d, qp, qpn, qpn, RTS);
}

static void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

/* A WRITE of 8 bytes from DATA to DATA + 8, to the queue pair itself. */
static void post(void)
{
	const uint32_t key = mkey_index << 8 | VARIANT;
	uint8_t *w = view + DEVX_QUEUES;
	uint32_t half[2] = {htobe32(1u << 8), htobe32(qpn << 8)};
	uint64_t doorbell;

	put32(w, OP_WRITE);
	put32(w + 4, qpn << 8 | 3);
	w[11] = SIGNALLED;
	put32(w + 20, DATA + 8);
	put32(w + 24, key);
	put32(w + 32, 8);
	put32(w + 36, key);
	put32(w + 44, DATA);
	put32(view + DEVX_RECORDS + 8 + 4, 1);
	memcpy(&doorbell, half, sizeof(doorbell));
	__atomic_store_n((uint64_t *)d.uar->reg_addr, doorbell, __ATOMIC_RELEASE);
}

static void run(void)
{
	const uint8_t *cqe = view + DEVX_CQ;

	memcpy(view + DATA, "payload", 8);
	post();
	for (unsigned i = 0; i < 1000000 && cqe[63] >> 4 == 15; i++)
		mlx5sw_step();
	assert_int_equal(cqe[63], 0);
	assert_int_equal(cqe[56], OP_WRITE);
	assert_memory_equal(view + DATA + 8, "payload", 8);
}

static void begin(void (*take_memory)(void))
{
	devx_open(&d, NULL);
	take_memory();
	make_mkey();
	make_queues();
}

static void finish(void)
{
	assert_int_equal(mlx5dv_devx_umem_dereg(d.umem), EBUSY);
	assert_int_equal(mlx5dv_devx_obj_destroy(qp), 0);
	assert_int_equal(mlx5dv_devx_obj_destroy(mkey), 0);
	devx_close(&d);
	fake_cuda_free(gpu);
}

static void queues_by_address(void **state)
{
	(void)state;
	begin(by_address);
	run();
	finish();
}

static void queues_by_dmabuf(void **state)
{
	(void)state;
	begin(by_dmabuf);
	run();
	finish();
}

/* QUERY_CQ returns the consumer index of the record. */
static void record_of_a_completion_queue(void **state)
{
	uint8_t in[16] = {0}, out[MAILBOX_NBYTES];

	(void)state;
	begin(by_address);
	put32(view + DEVX_RECORDS, 0x123456);
	put_bits(in, 0, 16, 0x402);
	put_bits(in, 0x48, 24, d.cqn);
	assert_int_equal(mlx5dv_devx_obj_query(d.cq, in, sizeof(in), out, sizeof(out)), 0);
	assert_int_equal(get_bits(out, CQC + 0x148, 24), 0x123456);
	finish();
}

static void *far_alloc(struct ibv_pd *pd, void *arg, size_t nbytes, size_t alignment,
		       uint64_t resource)
{
	(void)pd;
	(void)alignment;
	if (resource != *(uint64_t *)arg)
		return IBV_ALLOCATOR_USE_DEFAULT;
	return gpu = fake_cuda_alloc((nbytes + PAGE - 1) / PAGE * PAGE);
}

static void far_free(struct ibv_pd *pd, void *arg, void *p, uint64_t resource)
{
	(void)pd;
	(void)arg;
	(void)resource;
	fake_cuda_free(p);
}

/* Verbs write to rings and records with the CPU. */
static void not_by_verbs(void **state)
{
	uint64_t far = 0;
	struct ibv_parent_domain_init_attr attr = {.comp_mask =
							   IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
							   IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
						   .alloc = far_alloc,
						   .free = far_free,
						   .pd_context = &far};
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 3, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_qp_init_attr qp_attr = {.qp_type = IBV_QPT_RC,
					   .cap = {.max_send_wr = 4, .max_send_sge = 1}};

	(void)state;
	devx_open(&d, NULL);
	attr.pd = ibv_alloc_pd(d.ctx);
	cq_attr.parent_domain = ibv_alloc_parent_domain(d.ctx, &attr);
	assert_non_null(cq_attr.parent_domain);
	for (unsigned i = 0; i < 2; i++) {
		far = i ? MLX5DV_RES_TYPE_DBR : MLX5DV_RES_TYPE_CQ;
		assert_null(ibv_create_cq_ex(d.ctx, &cq_attr));
		assert_int_equal(errno, EOPNOTSUPP);
		assert_null(fake_cuda_view(gpu)); /* it was freed */
	}
	qp_attr.send_cq = qp_attr.recv_cq = ibv_create_cq(d.ctx, 3, NULL, NULL, 0);
	for (unsigned i = 0; i < 2; i++) {
		far = i ? MLX5DV_RES_TYPE_DBR : MLX5DV_RES_TYPE_QP;
		assert_null(ibv_create_qp(cq_attr.parent_domain, &qp_attr));
		assert_int_equal(errno, EOPNOTSUPP);
		assert_null(fake_cuda_view(gpu));
	}
	assert_int_equal(ibv_destroy_cq(qp_attr.send_cq), 0);
	assert_int_equal(ibv_dealloc_pd(cq_attr.parent_domain), 0);
	assert_int_equal(ibv_dealloc_pd(attr.pd), 0);
	devx_close(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queues_by_address),
		cmocka_unit_test(queues_by_dmabuf),
		cmocka_unit_test(record_of_a_completion_queue),
		cmocka_unit_test(not_by_verbs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
