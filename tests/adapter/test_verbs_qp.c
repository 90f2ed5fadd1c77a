/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Queues of verbs: their sizes, and memory from the program. */
#include <stdlib.h>
#include "verbs_qp.h"

static struct mlx5dv_cq show_cq(struct ibv_cq *of)
{
	struct mlx5dv_cq out = {.comp_mask = 77};
	struct mlx5dv_obj obj = {.cq = {.in = of, .out = &out}};

	assert_int_equal(mlx5dv_init_obj(&obj, MLX5DV_OBJ_CQ), 0);
	return out;
}

static void completion_queue_sizes(void **state)
{
	struct ibv_cq *some;
	struct mlx5dv_cq dv;
	int sizes[][2] = {{1, 2}, {2, 4}, {3, 4}, {4, 8}, {100, 128}};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		assert_non_null(some = ibv_create_cq(ctx, sizes[i][0], &dv, NULL, 0));
		assert_int_equal(some->cqe, sizes[i][1] - 1);
		assert_ptr_equal(some->cq_context, &dv);
		dv = show_cq(some);
		assert_int_equal(dv.cqe_cnt, sizes[i][1]);
		assert_int_equal(dv.cqe_size, 64);
		assert_int_equal(dv.comp_mask, 0);
		assert_int_equal(dv.dbrec[0], 0);
		for (int k = 0; k < sizes[i][1]; k++) /* libmlx5 marks them as invalid */
			assert_int_equal(((uint8_t *)dv.buf)[64 * k + 63], 0xf0);
		assert_int_equal(ibv_destroy_cq(some), 0);
	}
	REFUSED(ibv_create_cq(ctx, 0, NULL, NULL, 0), EINVAL, "entries");
	REFUSED(ibv_create_cq(ctx, -1, NULL, NULL, 0), EINVAL, "entries");
	REFUSED(ibv_create_cq(ctx, 1 << 22, NULL, NULL, 0), EINVAL, "entries");
	REFUSED(ibv_create_cq(ctx, 1, NULL, NULL, 1), EINVAL, "vector");
	REFUSED(ibv_create_cq(ctx, 1, NULL, (struct ibv_comp_channel *)&dv, 0), EOPNOTSUPP,
		"channel");
}

static void completion_queue_that_ignores_overrun(void **state)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 1,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN};
	struct ibv_cq_ex *ex = ibv_create_cq_ex(ctx, &attr);

	(void)state;
	assert_non_null(ex);
	assert_int_equal(((mlx5swi_cq_t *)ex)->ignores_overrun, 1);
	assert_int_equal(((mlx5swi_cq_t *)cq)->ignores_overrun, 0);
	attr.comp_mask = 0; /* then the flags are ignored */
	assert_non_null(ex = ibv_create_cq_ex(ctx, &attr));
	assert_int_equal(((mlx5swi_cq_t *)ex)->ignores_overrun, 0);
	attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	attr.flags = 4;
	REFUSED(ibv_create_cq_ex(ctx, &attr), EINVAL, "flags");
	attr.comp_mask = 4;
	REFUSED(ibv_create_cq_ex(ctx, &attr), EINVAL, "comp_mask");
}

/* As libmlx5 computes them: an RC WQE has 192 bytes of segments, 16 for each data segment or the
 * inline form, in WQEBBs of 64; the queue has the next power of two. */
static void send_queue_sizes(void **state)
{
	static const struct {
		uint32_t wr, sge, inlined;
		uint32_t wqebbs, got_wr, got_inline;
	} rows[] = {
		{16, 1, 0, 64, 16, 60},   {1, 1, 0, 4, 1, 60},
		{16, 4, 0, 64, 16, 60},   {16, 5, 0, 128, 25, 124},
		{16, 1, 60, 64, 16, 60},  {16, 1, 61, 128, 25, 124},
		{10, 1, 12, 64, 16, 60},  {32768 / 4, 1, 0, 32768, 8192, 60},
		{3, 52, 828, 64, 4, 828},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ibv_qp_init_attr_ex attr = qp_attr();
		struct ibv_qp *qp;

		attr.cap.max_send_wr = rows[i].wr;
		attr.cap.max_send_sge = rows[i].sge;
		attr.cap.max_inline_data = rows[i].inlined;
		assert_non_null(qp = ibv_create_qp_ex(ctx, &attr));
		assert_int_equal(show(qp).sq.wqe_cnt, rows[i].wqebbs);
		assert_int_equal(attr.cap.max_send_wr, rows[i].got_wr);
		assert_int_equal(attr.cap.max_inline_data, rows[i].got_inline);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}

static void receive_queue_lies_first(void **state)
{
	struct ibv_qp_init_attr_ex attr = qp_attr();
	struct mlx5dv_qp dv;
	struct ibv_qp *qp;

	(void)state;
	attr.cap.max_recv_wr = 10;
	attr.cap.max_recv_sge = 3;
	assert_non_null(qp = ibv_create_qp_ex(ctx, &attr));
	dv = show(qp);
	assert_int_equal(dv.rq.wqe_cnt, 16);
	assert_int_equal(dv.rq.stride, 64);
	assert_ptr_equal(dv.sq.buf, (uint8_t *)dv.rq.buf + 16 * 64);
	assert_int_equal(attr.cap.max_recv_wr, 16);
	assert_int_equal(attr.cap.max_recv_sge, 4);
	attr = qp_attr();
	attr.cap.max_recv_wr = attr.cap.max_recv_sge = 1; /* at least one WQEBB */
	assert_non_null(qp = ibv_create_qp_ex(ctx, &attr));
	assert_int_equal(show(qp).rq.wqe_cnt, 4);
	assert_int_equal(show(qp).rq.stride, 16);
}

static void init_obj_of_a_queue_pair(void **state)
{
	struct ibv_qp *a = make_qp(), *b = make_qp();
	struct mlx5dv_qp dv = show(a), other = show(b);

	(void)state;
	assert_int_equal(dv.comp_mask, MLX5DV_QP_MASK_UAR_MMAP_OFFSET);
	assert_int_equal(dv.sq.stride, 64);
	assert_int_equal((uintptr_t)dv.bf.reg % 4096, 0x800);
	assert_int_equal(dv.bf.size, 0);
	/* One page each: in RAM a second doorbell would overwrite one that was not taken yet. */
	assert_ptr_not_equal(dv.bf.reg, other.bf.reg);
	assert_int_not_equal(dv.uar_mmap_offset, other.uar_mmap_offset);
	assert_int_not_equal(a->qp_num, b->qp_num);
	assert_int_equal(a->state, IBV_QPS_RESET);
}

static void queue_pair_refuses(void **state)
{
	struct ibv_qp_init_attr_ex attr;
	struct mlx5dv_qp_init_attr dv = {.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_DC};

	(void)state;
#define BAD(field, value, err, text)                                                               \
	do {                                                                                       \
		attr = qp_attr();                                                                  \
		attr.field = value;                                                                \
		REFUSED(mlx5dv_create_qp(ctx, &attr, NULL), err, text);                            \
	} while (0)
	BAD(qp_type, IBV_QPT_UD, EOPNOTSUPP, "QP type");
	BAD(srq, (struct ibv_srq *)&dv, EOPNOTSUPP, "shared receive");
	BAD(send_cq, NULL, EINVAL, "two CQs");
	BAD(pd, NULL, EINVAL, "PD");
	BAD(comp_mask, 0, EINVAL, "PD");
	BAD(comp_mask, IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, EOPNOTSUPP,
	    "comp_mask");
	BAD(cap.max_send_sge, 53, EINVAL, "max_send_sge");
	BAD(cap.max_inline_data, 829, EINVAL, "max_inline_data");
	BAD(cap.max_send_wr, 32768 / 4 + 1, EINVAL, "WQEBBs");
	BAD(cap.max_send_wr, 0x40000001, EINVAL, "WQEBBs");
	BAD(cap.max_recv_wr, 32769, EINVAL, "receive WQEs");
	attr = qp_attr();
	attr.cap.max_recv_wr = 1;
	attr.cap.max_recv_sge = 33;
	REFUSED(ibv_create_qp_ex(ctx, &attr), EINVAL, "receive WQEs");
	attr = qp_attr();
	REFUSED(mlx5dv_create_qp(ctx, &attr, &dv), EOPNOTSUPP, "comp_mask");
	dv.comp_mask = MLX5DV_QP_INIT_ATTR_MASK_QP_CREATE_FLAGS;
	dv.create_flags = MLX5DV_QP_CREATE_TUNNEL_OFFLOADS;
	REFUSED(mlx5dv_create_qp(ctx, &attr, &dv), EOPNOTSUPP, "flags");
	dv.create_flags = MLX5DV_QP_CREATE_DISABLE_SCATTER_TO_CQE;
	assert_non_null(mlx5dv_create_qp(ctx, &attr, &dv));
#undef BAD
}

static void parts_of_another_context(void **state)
{
	struct ibv_context *second = ibv_open_device(ctx->device);
	struct ibv_cq *cq_of_second = ibv_create_cq(second, 3, NULL, NULL, 0);
	struct ibv_pd *pd_of_second = ibv_alloc_pd(second);
	struct ibv_qp_init_attr_ex attr = qp_attr();

	(void)state;
	attr.send_cq = cq_of_second;
	REFUSED(ibv_create_qp_ex(ctx, &attr), EINVAL, "another context");
	attr = qp_attr();
	attr.recv_cq = cq_of_second;
	REFUSED(ibv_create_qp_ex(ctx, &attr), EINVAL, "another context");
	attr = qp_attr();
	attr.pd = pd_of_second;
	REFUSED(mlx5dv_create_qp(ctx, &attr, NULL), EINVAL, "another context");
}

static void queues_before_what_uses_them(void **state)
{
	struct ibv_qp *qp = make_qp();

	(void)state;
	FAILED(ibv_destroy_cq(cq), EBUSY, "use it");
	FAILED(ibv_dealloc_pd(pd), EBUSY, "left in it");
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	assert_int_equal(ibv_close_device(ctx), 0);
}

/* Memory from the program */

typedef struct allocator {
	struct ibv_pd *pd; /* the PD that the calls must name */
	/* types for which it returns NULL, or leaves the allocation to the library */
	uint64_t fails, passes;
	unsigned n_alloc, n_free;
	struct {
		void *p;
		size_t nbytes, alignment;
		uint64_t type;
	} calls[8];
} allocator_t;

static void *allocate(struct ibv_pd *of, void *arg, size_t nbytes, size_t alignment, uint64_t type)
{
	allocator_t *a = arg;
	void *p;

	assert_ptr_equal(of, a->pd);
	if (type == a->fails)
		return NULL;
	if (type == a->passes)
		return IBV_ALLOCATOR_USE_DEFAULT;
	assert_true(a->n_alloc < 8);
	p = aligned_alloc(alignment, (nbytes + alignment - 1) / alignment * alignment);
	memset(p, 0x5a, nbytes);
	a->calls[a->n_alloc].p = p;
	a->calls[a->n_alloc].nbytes = nbytes;
	a->calls[a->n_alloc].alignment = alignment;
	a->calls[a->n_alloc++].type = type;
	return p;
}

static void release(struct ibv_pd *of, void *arg, void *p, uint64_t type)
{
	allocator_t *a = arg;

	assert_ptr_equal(of, a->pd);
	for (unsigned i = 0; i < a->n_alloc; i++)
		if (a->calls[i].p == p) {
			assert_int_equal(a->calls[i].type, type);
			a->n_free++;
			free(p);
			return;
		}
	fail_msg("free of %p, which was not allocated", p);
}

static struct ibv_pd *make_parent(allocator_t *a)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd,
		.comp_mask = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS |
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT,
		.alloc = allocate,
		.free = release,
		.pd_context = a,
	};

	a->pd = ibv_alloc_parent_domain(ctx, &attr);
	assert_non_null(a->pd);
	return a->pd;
}

static void rings_from_the_program(void **state)
{
	allocator_t a = {0};
	struct ibv_qp_init_attr_ex attr = qp_attr();
	struct ibv_cq_init_attr_ex cq_attr = {.cqe = 63, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
	struct ibv_cq_ex *own;
	struct ibv_qp *qp;

	(void)state;
	attr.pd = cq_attr.parent_domain = make_parent(&a);
	assert_non_null(own = ibv_create_cq_ex(ctx, &cq_attr));
	assert_int_equal(a.calls[0].type, MLX5DV_RES_TYPE_CQ);
	assert_int_equal(a.calls[0].nbytes, 4096);
	assert_int_equal(a.calls[1].type, MLX5DV_RES_TYPE_DBR);
	assert_int_equal(a.calls[1].nbytes, 8);
	assert_ptr_equal(show_cq((struct ibv_cq *)own).buf, a.calls[0].p);
	assert_ptr_equal(show_cq((struct ibv_cq *)own).dbrec, a.calls[1].p);
	assert_non_null(qp = ibv_create_qp_ex(ctx, &attr));
	assert_int_equal(a.calls[2].type, MLX5DV_RES_TYPE_QP);
	assert_int_equal(a.calls[2].nbytes, 4096);
	assert_int_equal(a.calls[2].alignment, 64);
	assert_int_equal(a.calls[3].type, MLX5DV_RES_TYPE_DBR);
	assert_ptr_equal(show(qp).sq.buf, a.calls[2].p);
	assert_ptr_equal(show(qp).dbrec, a.calls[3].p);
	/* The library does not change the program's ring and record of a QP. */
	assert_int_equal(*(uint8_t *)a.calls[2].p, 0x5a);
	assert_int_equal(*(uint8_t *)a.calls[3].p, 0x5a);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(a.n_free, 2);
	assert_int_equal(ibv_destroy_cq((struct ibv_cq *)own), 0);
	assert_int_equal(a.n_free, 4);
	assert_int_equal(ibv_dealloc_pd(a.pd), 0);
}

static void rings_from_the_library_after_all(void **state)
{
	allocator_t a = {.passes = MLX5DV_RES_TYPE_QP};
	struct ibv_qp_init_attr_ex attr = qp_attr();
	struct ibv_qp *qp;

	(void)state;
	attr.pd = make_parent(&a);
	assert_non_null(qp = ibv_create_qp_ex(ctx, &attr));
	assert_int_equal(a.n_alloc, 1);
	assert_int_equal(a.calls[0].type, MLX5DV_RES_TYPE_DBR);
	assert_int_equal(*(uint8_t *)show(qp).sq.buf, 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(a.n_free, 1);
}

static void program_has_no_memory(void **state)
{
	static const uint64_t types[] = {MLX5DV_RES_TYPE_QP, MLX5DV_RES_TYPE_CQ,
					 MLX5DV_RES_TYPE_DBR};

	(void)state;
	for (int i = 0; i < 3; i++) {
		allocator_t a = {.fails = types[i]};
		struct ibv_qp_init_attr_ex attr = qp_attr();
		struct ibv_cq_init_attr_ex cq_attr = {.cqe = 63,
						      .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD};
		struct ibv_cq_ex *own;

		attr.pd = cq_attr.parent_domain = make_parent(&a);
		if (types[i] != MLX5DV_RES_TYPE_CQ)
			REFUSED(ibv_create_qp_ex(ctx, &attr), ENOMEM, "rings of a QP");
		if (types[i] != MLX5DV_RES_TYPE_QP)
			REFUSED(ibv_create_cq_ex(ctx, &cq_attr), ENOMEM, "completion queue");
		else if ((own = ibv_create_cq_ex(ctx, &cq_attr)))
			assert_int_equal(ibv_destroy_cq((struct ibv_cq *)own), 0);
		assert_int_equal(a.n_alloc, a.n_free);
		assert_int_equal(ibv_dealloc_pd(a.pd), 0);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, queues_setup, fabric_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(completion_queue_sizes),   TEST(completion_queue_that_ignores_overrun),
		TEST(send_queue_sizes),         TEST(receive_queue_lies_first),
		TEST(init_obj_of_a_queue_pair), TEST(queue_pair_refuses),
		TEST(parts_of_another_context), TEST(queues_before_what_uses_them),
		TEST(rings_from_the_program),   TEST(rings_from_the_library_after_all),
		TEST(program_has_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
