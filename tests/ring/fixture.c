/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 4096u
#define LANDING_NBYTES ((SHMEMD_LANDING_SLOTS + 1) * SHMEMD_LANDING_NBYTES)
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

rig_pe_t rig_pes[RIG_PES_MAX];

static mlx5sw_sim_t adapter;
static rig_plan_t plan;

/* Where a channel's memory lies in its PE's. */
typedef struct layout {
	size_t wqes, cqes, ring, landing, dbr, nbytes;
} layout_t;

rig_plan_t rig_plan(void)
{
	const mlx5sw_config_t nic = MLX5SW_CONFIG_INIT;
	rig_plan_t p = {.nic = nic,
			.n_pes = 2,
			.n_channels = 1,
			.depth = 64,
			.batch = 16,
			.inline_nbytes = SHMEMD_MLX5_INLINE_MAX,
			.n_granules = 8,
			.granules_per_mr = 1,
			.log_reads = 4};

	p.nic.n_devices = 1;
	p.nic.timing = MLX5SW_TIMING_SPEC;
	p.nic.lint = MLX5SW_LINT_STRICT;
	return p;
}

static layout_t layout_of(void)
{
	const size_t n = (size_t)plan.depth * SHMEMD_WQEBB_NBYTES;
	layout_t l;

	l.wqes = 0;
	l.cqes = n;
	l.ring = 2 * n;
	l.landing = l.ring + sizeof(shmemd_ring_t);
	l.dbr = l.landing + LANDING_NBYTES;
	l.nbytes = l.dbr + 64;
	return l;
}

/* At least nbytes, all zero. */
static int grow(char **p, size_t *have, size_t nbytes)
{
	if (*have < nbytes) {
		free(*p);
		*have = (nbytes + PAGE - 1) / PAGE * PAGE;
		*p = aligned_alloc(PAGE, *have);
	}
	if (!*p)
		return 1;
	memset(*p, 0, nbytes);
	return 0;
}

static uint32_t n_ends(void)
{
	return plan.n_channels * (uint32_t)plan.n_pes;
}

/* Keys of a heap. A granule's address is its offset. */
static int register_heap(rig_pe_t *p)
{
	memset(p->keys, 0, sizeof(p->keys));
	for (uint32_t g = 0, n; g < plan.n_granules; g += n) {
		struct ibv_mr *mr;

		if (plan.unregistered >> g & 1) {
			n = 1;
			continue;
		}
		for (n = 1; n < plan.granules_per_mr && g + n < plan.n_granules; n++)
			if (plan.unregistered >> (g + n) & 1)
				break;
		mr = ibv_reg_mr_iova2(p->pd, p->heap + (size_t)g * RIG_GRANULE,
				      (size_t)n * RIG_GRANULE, (uint64_t)g * RIG_GRANULE,
				      ALL_RIGHTS);
		if (!mr)
			return 1;
		for (uint32_t i = 0; i < n; i++)
			p->keys[g + i] = (shmemd_key_t){htobe32(mr->lkey), n - 1 - i};
	}
	return 0;
}

static int open_nic(rig_pe_t *p, uint32_t host)
{
	p->ctx_ib = ibv_open_device(&mlx5swi_device(host, 0)->ib);
	p->pd = p->ctx_ib ? ibv_alloc_pd(p->ctx_ib) : NULL;
	return !p->pd || register_heap(p);
}

static int make_cq(const rig_pe_t *p, rig_end_t *e, char *cqes)
{
	mlx5swi_cq_spec_t spec = {.buf = (uint8_t *)cqes,
				  .buf_nbytes = (size_t)plan.depth * SHMEMD_CQE_NBYTES,
				  .dbr = e->dbr + 2,
				  .eqn = MLX5SWI_EQN,
				  .ignores_overrun = 1,
				  .uar = (mlx5swi_uar_t *)e->uar};

	memset(cqes, 0xff, spec.buf_nbytes);
	while (plan.depth > 1u << spec.log_size)
		spec.log_size++;
	if (mlx5swi_cq_create((mlx5swi_context_t *)verbs_get_ctx(p->ctx_ib), &spec, &e->cq))
		return 1;
	e->cq->pi = plan.first_cqe;
	return 0;
}

static int make_qp(const rig_pe_t *p, rig_end_t *e, char *wqes)
{
	const mlx5swi_qp_spec_t spec = {.pd = (mlx5swi_pd_t *)p->pd,
					.send_cq = e->cq,
					.recv_cq = e->cq,
					.sq = (uint8_t *)wqes,
					.sq_nbytes = (size_t)plan.depth * SHMEMD_WQEBB_NBYTES,
					.sq_blocks = plan.depth,
					.dbr = e->dbr,
					.uar = (mlx5swi_uar_t *)e->uar,
					.user_index = 0xabcdef};

	return mlx5swi_qp_create((mlx5swi_context_t *)verbs_get_ctx(p->ctx_ib), &spec, &e->qp);
}

static void fill_ring(shmemd_ring_t *r, const shmemd_path_t *path)
{
	r->resv = (plan.first << 1) + SHMEMD_RESV_ADD(0, plan.first_request);
	r->ready = r->flush = plan.first;
	r->rung = SHMEMD_RUNG_WORD(plan.first);
	r->path = path;
	r->requests = plan.first_request;
	r->done = SHMEMD_DONE_WORD(plan.first_cqe, plan.first);
	r->ticket = plan.first_ticket;
	for (uint64_t i = 0; i < SHMEMD_LANDING_SLOTS; i++)
		r->turns[(plan.first_ticket + i) % SHMEMD_LANDING_SLOTS] =
			2 * (plan.first_ticket + i);
}

/* Channel i of a PE, [k][peer]. */
static int make_end(rig_pe_t *p, uint32_t i, uint32_t landing_key)
{
	const layout_t l = layout_of();
	char *at = p->queues + i * l.nbytes;
	const rig_pe_t *peer = &rig_pes[i % (uint32_t)plan.n_pes];
	rig_end_t *e = &p->ends[i];

	memset(e, 0, sizeof(*e));
	e->channel = &p->channels[i];
	e->dbr = (uint32_t *)(void *)(at + l.dbr);
	e->producer = e->rung = plan.first;
	e->uar = mlx5dv_devx_alloc_uar(p->ctx_ib, 0);
	if (!e->uar || make_cq(p, e, at + l.cqes) || make_qp(p, e, at + l.wqes))
		return 1;
	e->path = (shmemd_path_t){.qpn = e->qp->qpn,
				  .landing_key = htobe32(landing_key),
				  .doorbell = plan.by_host ? NULL : e->uar->reg_addr,
				  .producer = &e->producer,
				  .dbr = e->dbr + 1,
				  .lkeys = p->keys,
				  .rkeys = peer->keys,
				  .log_granule = (uint32_t)__builtin_ctz(RIG_GRANULE)};
	*e->channel = (shmemd_channel_t){.ring = (shmemd_ring_t *)(void *)(at + l.ring),
					 .wqes = at + l.wqes,
					 .cqes = at + l.cqes,
					 .landing = at + l.landing,
					 .first = plan.first,
					 .depth = plan.depth,
					 .batch = plan.batch,
					 .inline_nbytes = plan.inline_nbytes};
	fill_ring(e->channel->ring, &e->path);
	return 0;
}

static int make_ends(rig_pe_t *p)
{
	struct ibv_mr *mr = ibv_reg_mr_iova2(p->pd, p->queues, n_ends() * layout_of().nbytes,
					     (uintptr_t)p->queues, ALL_RIGHTS);

	for (uint32_t i = 0; mr && i < n_ends(); i++)
		if (make_end(p, i, mr->lkey))
			return 1;
	return !mr;
}

static mlx5swi_qp_attr_t attr_of(const rig_end_t *e, const rig_end_t *peer)
{
	const mlx5swi_port_t *port = &peer->qp->dev->port;
	mlx5swi_qp_attr_t a = {.rwe = 1,
			       .rre = 1,
			       .rae = 1,
			       .atomic_mode = 3,
			       .mtu = 3, /* 1024 */
			       .log_msg_max = 30,
			       .min_rnr_nak = 1,
			       .rnr_retry = 6,
			       .retry_count = 7,
			       .log_sra_max = plan.log_reads,
			       .log_rra_max = plan.log_reads,
			       .remote_qpn = peer->qp->qpn,
			       .next_rcv_psn = 0x100 + peer->qp->qpn,
			       .next_send_psn = 0x100 + e->qp->qpn,
			       .path = {.is_global = 1,
					.sgid_index = 3, /* RoCE v2, routable */
					.hop_limit = 64,
					.port = 1,
					.udp_sport = 0xc000,
					.dlid = port->lid,
					.ack_timeout = 14}};

	memcpy(a.path.dgid, port->gids[a.path.sgid_index].raw, sizeof(a.path.dgid));
	memcpy(a.path.dmac, port->mac, sizeof(a.path.dmac));
	return a;
}

static int connect_end(const rig_end_t *e, const rig_end_t *peer)
{
	const mlx5swi_qp_attr_t a = attr_of(e, peer);

	return mlx5swi_qp_modify(e->qp, MLX5SWI_INIT, &a,
				 MLX5SWI_ATTR_PORT | MLX5SWI_ATTR_PKEY | MLX5SWI_ATTR_ACCESS |
					 MLX5SWI_ATTR_ATOMIC_MODE) ||
	       mlx5swi_qp_modify(e->qp, MLX5SWI_RTR, &a,
				 MLX5SWI_ATTR_AV | MLX5SWI_ATTR_MTU | MLX5SWI_ATTR_DEST_QPN |
					 MLX5SWI_ATTR_RQ_PSN | MLX5SWI_ATTR_RRA |
					 MLX5SWI_ATTR_MIN_RNR | MLX5SWI_ATTR_MSG_MAX) ||
	       mlx5swi_qp_modify(e->qp, MLX5SWI_RTS, &a,
				 MLX5SWI_ATTR_SQ_PSN | MLX5SWI_ATTR_SRA | MLX5SWI_ATTR_RETRY |
					 MLX5SWI_ATTR_RNR_RETRY | MLX5SWI_ATTR_TIMEOUT);
}

static int connect_all(void)
{
	for (int pe = 0; pe < plan.n_pes; pe++)
		for (int peer = 0; peer < plan.n_pes; peer++)
			for (uint32_t k = 0; k < plan.n_channels; k++)
				if (connect_end(rig_channel(pe, peer, k), rig_channel(peer, pe, k)))
					return 1;
	return 0;
}

static uint32_t flags_of(void)
{
	const uint32_t all = (1u << plan.n_pes) - 1;

	return plan.flags | SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD |
	       ((plan.mapped & all) == all ? SHMEMD_CTX_ALL_MAPPED : 0) |
	       (plan.mapped && !(plan.flags & SHMEMD_CTX_SM_ATOMICS) ? SHMEMD_CTX_BOTH_WAYS : 0);
}

static void fill_context(rig_pe_t *p, int pe)
{
	shmemd_ctx_t *c = &p->ctx;

	memset(c, 0, sizeof(*c));
	c->version = SHMEMD_ABI_VERSION;
	c->size = sizeof(*c);
	c->my_pe = pe;
	c->n_pes = plan.n_pes;
	c->flags = flags_of();
	c->heap = p->heap;
	c->heap_nbytes = (uint64_t)plan.n_granules * RIG_GRANULE;
	c->peers = p->peers;
	c->sync = (uint64_t *)(void *)(p->heap + c->heap_nbytes - RIG_SYNC_NBYTES);
	c->abort_word = &p->abort_word;
	c->causes = p->causes;
	c->latch = &p->latch;
	c->error = &p->error;
	c->timeout_ns = plan.timeout_ns;
	c->channels = p->channels;
	c->n_channels = plan.n_channels;
	c->n_world = (uint32_t)plan.n_pes;
	c->used = p->used;
}

static void fill_pe(rig_pe_t *p, int pe)
{
	memset(p->used, 0, sizeof(p->used));
	memset(&p->latch, 0, sizeof(p->latch));
	memset(&p->error, 0, sizeof(p->error));
	memset(p->causes, 0, sizeof(p->causes));
	p->abort_word = 0;
	fill_context(p, pe);
	for (int i = 0; i < plan.n_pes; i++) {
		p->peers[i].base = i == pe || plan.mapped >> i & 1 ? rig_pes[i].heap : NULL;
		p->peers[i].world_pe = i;
	}
}

/* The host's thread of a path without doorbells. */
static void ring_by_host(rig_end_t *e)
{
	uint64_t word, now = shmemd_arch_ld_acquire_u64(&e->producer);

	if (now == e->rung)
		return;
	e->rung = now;
	shmemd_arch_fence_quiet(); /* the record tells of WQEs, too */
	shmemd_arch_st_relaxed_u32(e->dbr + 1, htobe32((uint32_t)now & 0xffff));
	shmemd_arch_fence_quiet();
	word = (uint64_t)htobe32(e->qp->qpn << 8) << 32 | htobe32((uint32_t)(now & 0xffff) << 8);
	shmemd_arch_st_relaxed_u64(e->uar->reg_addr, word);
}

static void ringer(void *unused)
{
	(void)unused;
	for (;;) {
		for (int pe = 0; pe < plan.n_pes; pe++)
			for (uint32_t i = 0; i < n_ends(); i++)
				ring_by_host(&rig_pes[pe].ends[i]);
		shmemd_arch_spin_hint();
	}
}

static int make_all(void)
{
	for (int pe = 0; pe < plan.n_pes; pe++) {
		rig_pe_t *p = &rig_pes[pe];

		if (grow(&p->heap, &p->heap_nbytes, (size_t)plan.n_granules * RIG_GRANULE) ||
		    grow(&p->queues, &p->queues_nbytes, n_ends() * layout_of().nbytes) ||
		    open_nic(p, (uint32_t)pe))
			return 1;
	}
	for (int pe = 0; pe < plan.n_pes; pe++)
		fill_pe(&rig_pes[pe], pe);
	for (int pe = 0; pe < plan.n_pes; pe++)
		if (make_ends(&rig_pes[pe]))
			return 1;
	return connect_all();
}

int rig_make(const rig_plan_t *p)
{
	plan = *p;
	plan.nic.n_hosts = (uint32_t)p->n_pes;
	plan.nic.start_index = (uint16_t)p->first;
	/* First, so that the devices of the last run do not write to memory any more. */
	if (mlx5sw_sim_start(&adapter, &plan.nic) || make_all())
		shmemsim_fail("the rig cannot be made: %s", mlx5swi_refusal());
	return plan.by_host && shmemsim_agent("the host's ringer", ringer, NULL);
}

void rig_end(void)
{
	mlx5sw_sim_stop(&adapter);
}

/* Kernels may be at it. */
static uint64_t word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

uint64_t rig_slots(int pe, int peer, uint32_t k)
{
	return word(&rig_ring(pe, peer, k)->ready) - plan.first;
}

uint64_t rig_requests(int pe, int peer, uint32_t k)
{
	return word(&rig_ring(pe, peer, k)->requests) - plan.first_request;
}

uint64_t rig_doorbells(int pe, int peer, uint32_t k)
{
	return word(&rig_ring(pe, peer, k)->doorbells);
}

mlx5sw_qp_counters_t rig_counters(int pe, int peer, uint32_t k)
{
	mlx5sw_qp_counters_t c = {.size = sizeof(c)};

	if (mlx5sw_qp_counters(pe, 0, rig_channel(pe, peer, k)->path.qpn, &c))
		shmemsim_fail("the adapter does not know PE %d's queue to PE %d", pe, peer);
	return c;
}

void rig_tell(const char *fmt, ...)
{
	char line[256], answer[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (mlx5sw_control(line, answer, sizeof(answer)))
		shmemsim_fail("%s: %s", line, answer);
}
