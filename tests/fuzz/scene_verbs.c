/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Entry points of verbs, and those of mlx5dv about objects of verbs. */
#include "scene.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>

#define MR_NBYTES 512u
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

static struct ibv_pd *any_pd(scene_t *s)
{
	return *SCENE_PICK(s, s->verbs_pds);
}

static struct ibv_cq *any_cq(scene_t *s)
{
	return *SCENE_PICK(s, s->verbs_cqs);
}

/* Entries are filled or emptied, like those of DevX. */

static void pd(scene_t *s)
{
	struct ibv_pd **slot = SCENE_PICK(s, s->verbs_pds), *parent = any_pd(s);
	struct ibv_parent_domain_init_attr attr = {.pd = parent};

	if (*slot) {
		if (ibv_dealloc_pd(*slot) == 0)
			*slot = NULL;
	} else if (parent && fuzz_below(&s->in, 2)) {
		*slot = ibv_alloc_parent_domain(parent->context, &attr);
	} else {
		*slot = ibv_alloc_pd(scene_context(s));
	}
}

static void mr(scene_t *s)
{
	const uint32_t i = fuzz_below(&s->in, N_SLOTS);
	const uint32_t nbytes = MR_NBYTES - fuzz_below(&s->in, 256);
	const unsigned access = (unsigned)fuzz_number(&s->in, 1) ^ ALL_RIGHTS;
	const uint64_t iova = (uint64_t)64 * fuzz_below(&s->in, 4);
	struct ibv_pd *of = any_pd(s);

	if (s->mrs[i]) {
		if (ibv_dereg_mr(s->mrs[i]))
			return;
		free(s->mr_memory[i]);
		s->mrs[i] = NULL;
	} else if (of) {
		s->mr_memory[i] = malloc(MR_NBYTES);
		assert_non_null(s->mr_memory[i]);
		s->mrs[i] = ibv_reg_mr_iova2(of, s->mr_memory[i], nbytes, iova, access);
		if (!s->mrs[i])
			free(s->mr_memory[i]);
	}
}

static void cq(scene_t *s)
{
	struct ibv_cq **slot = SCENE_PICK(s, s->verbs_cqs);
	struct ibv_cq_init_attr_ex attr = {.cqe = 1 + fuzz_below(&s->in, 64)};

	if (*slot) {
		if (ibv_destroy_cq(*slot) == 0)
			*slot = NULL;
		return;
	}
	fuzz_is_library = 1;
	if (fuzz_below(&s->in, 2)) {
		attr.wc_flags = fuzz_number(&s->in, 1);
		attr.comp_mask = fuzz_below(&s->in, 8);
		attr.flags = fuzz_below(&s->in, 8);
		attr.parent_domain = any_pd(s);
		*slot = ibv_cq_ex_to_cq(ibv_create_cq_ex(scene_context(s), &attr));
	} else {
		*slot = ibv_create_cq(scene_context(s), (int)attr.cqe, NULL, NULL, 0);
	}
	fuzz_is_library = 0;
}

static struct ibv_qp *create_qp(scene_t *s)
{
	struct ibv_qp_init_attr_ex attr = {.pd = any_pd(s),
					   .send_cq = any_cq(s),
					   .recv_cq = any_cq(s),
					   .qp_type = IBV_QPT_RC,
					   .cap = {4, 4, 1, 1, 12},
					   .comp_mask = IBV_QP_INIT_ATTR_PD};
	struct mlx5dv_qp_init_attr dv = {.comp_mask = fuzz_below(&s->in, 2),
					 .create_flags = fuzz_below(&s->in, 64)};
	uint32_t caps[5];

	memcpy(caps, &attr.cap, sizeof(caps));
	for (uint32_t n = fuzz_below(&s->in, 3); n; n--)
		caps[fuzz_below(&s->in, 5)] =
			fuzz_below(&s->in, 2) ? UINT32_MAX : fuzz_below(&s->in, 1000);
	memcpy(&attr.cap, caps, sizeof(caps));
	attr.qp_type = IBV_QPT_RC + (fuzz_below(&s->in, 16) == 1);
	if (fuzz_below(&s->in, 2))
		return mlx5dv_create_qp(scene_context(s), &attr, &dv);
	return attr.pd ? ibv_create_qp_ex(attr.pd->context, &attr) : NULL;
}

static void qp(scene_t *s)
{
	struct ibv_qp **slot = SCENE_PICK(s, s->verbs_qps);

	if (!*slot)
		*slot = create_qp(s);
	else if (ibv_destroy_qp(*slot) == 0)
		*slot = NULL;
}

static struct ibv_qp_attr attr_for(scene_t *s, const struct ibv_qp *peer)
{
	struct ibv_qp_attr a = {.qp_access_flags = ALL_RIGHTS & ~IBV_ACCESS_LOCAL_WRITE,
				.port_num = 1,
				.path_mtu = IBV_MTU_1024,
				.dest_qp_num = peer ? peer->qp_num : 0,
				.max_dest_rd_atomic = 4,
				.max_rd_atomic = 4,
				.min_rnr_timer = 1,
				.retry_cnt = 2,
				.rnr_retry = 2,
				.timeout = 5};
	struct ibv_port_attr port;

	assert_int_equal(ibv_query_port(s->ctx[0], 1, &port), 0);
	assert_int_equal(ibv_query_gid(s->ctx[0], 1, 3, &a.ah_attr.grh.dgid), 0);
	a.ah_attr.dlid = port.lid;
	a.ah_attr.port_num = 1;
	a.ah_attr.is_global = 1;
	a.ah_attr.grh.sgid_index = 3;
	a.ah_attr.grh.hop_limit = 64;
	return a;
}

static const int masks[] = {
	IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC,
};

static void modify_qp(scene_t *s)
{
	struct ibv_qp *of = *SCENE_PICK(s, s->verbs_qps), *peer = *SCENE_PICK(s, s->verbs_qps);
	const uint32_t to = fuzz_below(&s->in, IBV_QPS_UNKNOWN + 1);
	struct ibv_qp_attr a = attr_for(s, peer);
	int mask = to >= 1 && to <= 3 ? masks[to - 1] : IBV_QP_STATE;

	fuzz_spoil(&s->in, (uint8_t *)&a, sizeof(a));
	a.qp_state = to;
	if (fuzz_below(&s->in, 8) == 1)
		mask ^= 1 << fuzz_below(&s->in, 30);
	fuzz_is_library = to == IBV_QPS_RESET;
	if (of)
		ibv_modify_qp(of, &a, mask);
	fuzz_is_library = 0;
}

static void connect_qps(scene_t *s)
{
	struct ibv_qp *a = *SCENE_PICK(s, s->verbs_qps), *b = *SCENE_PICK(s, s->verbs_qps);

	for (int to = IBV_QPS_INIT; a && b && to <= IBV_QPS_RTS; to++) {
		struct ibv_qp_attr attr = attr_for(s, b);

		attr.qp_state = to;
		ibv_modify_qp(a, &attr, masks[to - 1]);
		attr.dest_qp_num = a->qp_num;
		ibv_modify_qp(b, &attr, masks[to - 1]);
	}
}

static void query_qp(scene_t *s)
{
	struct ibv_qp *of = *SCENE_PICK(s, s->verbs_qps);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	uint8_t in[16] = {0}, out[MAILBOX_NBYTES];

	if (!of)
		return;
	ibv_query_qp(of, &a, (int)fuzz_number(&s->in, 4), &init);
	put_bits(in, 0, 16, 0x50b);
	put_bits(in, 0x48, 24, of->qp_num);
	fuzz_spoil(&s->in, in, sizeof(in));
	mlx5dv_devx_qp_query(of, in, sizeof(in), out, sizeof(out));
}

static void command_on_qp(scene_t *s)
{
	struct ibv_qp *of = *SCENE_PICK(s, s->verbs_qps);
	uint8_t in[EXTENDED_NBYTES], out[16];
	devx_t d = {.ctx = s->ctx[0]};

	if (!of)
		return;
	devx_state_mailbox(&d, in, 0x502 + fuzz_below(&s->in, 9), of->qp_num, of->qp_num);
	fuzz_spoil(&s->in, in, sizeof(in));
	mlx5dv_devx_qp_modify(of, in, sizeof(in), out, sizeof(out));
}

static void query_cq(scene_t *s)
{
	struct ibv_cq *of = any_cq(s);
	uint8_t in[16] = {0}, out[MAILBOX_NBYTES];

	if (!of)
		return;
	put_bits(in, 0, 16, 0x402);
	fuzz_spoil(&s->in, in, sizeof(in));
	mlx5dv_devx_cq_query(of, in, sizeof(in), out, sizeof(out));
}

/* A random WQE in the ring that mlx5dv returns. */
static void post(scene_t *s)
{
	struct mlx5dv_qp dv = {.comp_mask = fuzz_number(&s->in, 1)};
	struct mlx5dv_obj obj = {.qp = {*SCENE_PICK(s, s->verbs_qps), &dv}};
	const struct ibv_mr *of = *SCENE_PICK(s, s->mrs);
	uint8_t wqe[64] = {0};
	uint32_t record;

	if (!obj.qp.in || mlx5dv_init_obj(&obj, MLX5DV_OBJ_QP) || !dv.sq.wqe_cnt)
		return;
	put_bits(wqe, 0x18, 8, 0x08 + fuzz_below(&s->in, 16)); /* WRITE and so on */
	put_bits(wqe, 0x20, 32, obj.qp.in->qp_num << 8 | 3);
	put_bits(wqe, 0x58, 8, 8);
	if (of) {
		put_bits(wqe, 0x80, 64, 8 * fuzz_below(&s->in, 64));
		put_bits(wqe, 0xc0, 32, of->rkey);
		put_bits(wqe, 0x100, 32, fuzz_below(&s->in, MR_NBYTES));
		put_bits(wqe, 0x120, 32, of->lkey);
		put_bits(wqe, 0x140, 64, 8 * fuzz_below(&s->in, 64));
	}
	fuzz_spoil(&s->in, wqe, sizeof(wqe));
	record = be32toh(dv.dbrec[1]);
	memcpy((uint8_t *)dv.sq.buf + (size_t)(record % dv.sq.wqe_cnt) * 64, wqe, sizeof(wqe));
	record = (record + 1) & 0xffff;
	dv.dbrec[1] = htobe32(record);
	adapter_register(dv.bf.reg, 0, record << 8, obj.qp.in->qp_num << 8);
}

static void ah(scene_t *s)
{
	struct ibv_ah **slot = SCENE_PICK(s, s->ahs);
	struct ibv_qp_attr a = attr_for(s, NULL);
	struct ibv_pd *of = any_pd(s);
	struct mlx5dv_ah dv;
	struct mlx5dv_obj obj = {.ah = {NULL, &dv}};

	fuzz_spoil(&s->in, (uint8_t *)&a.ah_attr, sizeof(a.ah_attr));
	if (*slot && ibv_destroy_ah(*slot) == 0)
		*slot = NULL;
	else if (!*slot && of && (*slot = ibv_create_ah(of, &a.ah_attr)) != NULL) {
		obj.ah.in = *slot;
		mlx5dv_init_obj(&obj, MLX5DV_OBJ_AH);
	}
}

static void query_device(scene_t *s)
{
	struct ibv_context *ctx = scene_context(s);
	const uint32_t i = fuzz_below(&s->in, 256);
	struct ibv_device_attr attr;
	struct mlx5dv_context dv = {.comp_mask = i};
	struct ibv_gid_entry entry;
	union ibv_gid gid;

	ibv_query_device(ctx, &attr);
	mlx5dv_query_device(ctx, &dv);
	ibv_query_gid(ctx, (uint8_t)(i % 3), (int)(i / 3) - 1, &gid);
	ibv_query_gid_ex(ctx, i % 3, i / 3, &entry, i / 128);
}

/* Acknowledge at once: destroying an object waits for that. */
static void get_event(scene_t *s)
{
	struct ibv_async_event event;

	if (ibv_get_async_event(scene_context(s), &event) == 0)
		ibv_ack_async_event(&event);
}

scene_step_t *const scene_verbs_steps[] = {
	pd,       mr,   cq, qp,           modify_qp, connect_qps, query_qp, command_on_qp,
	query_cq, post, ah, query_device, get_event, connect_qps, post,
};
const uint32_t scene_n_verbs_steps = sizeof(scene_verbs_steps) / sizeof(scene_verbs_steps[0]);

static void must(int err, const char *kind)
{
	if (err)
		fuzz_found("a %s cannot be destroyed: %s", kind, mlx5swi_refusal());
}

void scene_end_verbs(scene_t *s)
{
	for (uint32_t i = 0; i < N_SLOTS; i++)
		must(s->verbs_qps[i] ? ibv_destroy_qp(s->verbs_qps[i]) : 0, "QP of verbs");
	for (uint32_t i = 0; i < N_SLOTS; i++) {
		must(s->verbs_cqs[i] ? ibv_destroy_cq(s->verbs_cqs[i]) : 0, "CQ of verbs");
		must(s->mrs[i] ? ibv_dereg_mr(s->mrs[i]) : 0, "MR");
		must(s->ahs[i] ? ibv_destroy_ah(s->ahs[i]) : 0, "AH");
		if (s->mrs[i])
			free(s->mr_memory[i]);
	}
	for (uint32_t turn = 0; turn < N_SLOTS; turn++) /* parent domains before their PDs */
		for (uint32_t i = 0; i < N_SLOTS; i++)
			if (s->verbs_pds[i] && ibv_dealloc_pd(s->verbs_pds[i]) == 0)
				s->verbs_pds[i] = NULL;
	for (uint32_t i = 0; i < N_SLOTS; i++)
		must(s->verbs_pds[i] != NULL, "PD of verbs");
}
