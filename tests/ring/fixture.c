/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture.h"

#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define PAGE 4096u
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

rig_pe_t rig_pes[RIG_PES_MAX];

static mlx5sw_sim_t adapter;
static rig_plan_t plan;

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
			.mtu = 3, /* 1024 */
			.log_reads = 4,
			.n_queues = 3};

	p.nic.n_devices = 1;
	p.nic.timing = MLX5SW_TIMING_SPEC;
	p.nic.lint = MLX5SW_LINT_STRICT;
	return p;
}

static uint32_t log2_of(uint32_t n)
{
	return (uint32_t)__builtin_ctz(n);
}

size_t rig_queue_nbytes(void)
{
	return (SHMEMD_QUEUE_NBYTES(plan.depth) + PAGE - 1) / PAGE * PAGE;
}

/* Bytes of the queues of all paths of a channel. */
static size_t queues_nbytes(void)
{
	return (plan.has_paths ? plan.n_queues : 1) * rig_queue_nbytes();
}

/* At least nbytes, all zero. align: a multiple of PAGE. */
static int grow_aligned(char **p, size_t *have, size_t nbytes, size_t align)
{
	if (*have < nbytes) {
		free(*p);
		*have = (nbytes + align - 1) / align * align;
		*p = aligned_alloc(align, *have);
	}
	if (!*p)
		return 1;
	memset(*p, 0, nbytes);
	return 0;
}

static int grow(char **p, size_t *have, size_t nbytes)
{
	return grow_aligned(p, have, nbytes, PAGE);
}

static uint32_t n_ends(void)
{
	return plan.n_channels * (uint32_t)plan.n_pes;
}

/* The column of keys that a PE uses for its initial path to another one: that of its own memory.
 * The two ends of a path use different columns, unless they are one PE. */
static uint32_t first_column(int pe, int peer)
{
	return (plan.path_flags & SHMEMD_PATH_OWN_STANDBY ? 1 : 0) ^ (pe < peer);
}

/* A key that no NIC accepts: its column does not exist. */
static const shmemd_key_t no_key = {{0xbad0bad0, 0xbad0bad0}, 0, 0};

static void set_key(shmemd_key_t *entry, uint32_t column, uint32_t key, uint32_t n_more)
{
	entry->key[column] = htobe32(key);
	entry->n_more = n_more;
}

/* Number of granules from g on that one region covers. */
static uint32_t region_at(uint32_t g)
{
	uint32_t n = 1;

	while (n < plan.granules_per_mr && g + n < plan.n_granules &&
	       !(plan.unregistered >> (g + n) & 1))
		n++;
	return n;
}

/* Register a heap; a granule's address is its offset. Writes lkeys and rkeys of its granules. */
static int register_heap(rig_pe_t *p, uint32_t column, shmemd_key_t *lkeys, shmemd_key_t *rkeys)
{
	for (uint32_t g = 0, n; g < plan.n_granules; g += n) {
		struct ibv_mr *mr;

		n = 1;
		if (plan.unregistered >> g & 1) {
			lkeys[g] = rkeys[g] = (shmemd_key_t){{0, 0}, 0, 0};
			continue;
		}
		n = region_at(g);
		mr = ibv_reg_mr_iova2(p->pds[column], p->heap + (size_t)g * RIG_GRANULE,
				      (size_t)n * RIG_GRANULE, (uint64_t)g * RIG_GRANULE,
				      ALL_RIGHTS);
		if (!mr)
			return 1;
		for (uint32_t i = 0; i < n; i++) {
			set_key(&lkeys[g + i], column, mr->lkey, n - 1 - i);
			set_key(&rkeys[g + i], column, mr->rkey, n - 1 - i);
		}
	}
	return 0;
}

static int make_column(rig_pe_t *p, uint32_t column, shmemd_key_t *rkeys)
{
	const size_t bounces = SHMEMD_LKEY_INDEX(plan.n_granules, plan.n_pes, plan.n_granules);
	struct ibv_mr *mr =
		ibv_reg_mr_iova2(p->pds[column], p->bounces, n_ends() * SHMEMD_BOUNCES_NBYTES,
				 (uintptr_t)p->bounces, ALL_RIGHTS);

	if (!mr)
		return 1;
	set_key(&p->keys[bounces], column, mr->lkey, 0);
	return register_heap(p, column, &p->keys[SHMEMD_LKEY_INDEX(plan.n_granules, plan.n_pes, 0)],
			     rkeys);
}

/* A PE's local keys are in its own table, its remote keys in the tables of all PEs. */
static int make_keys(int pe)
{
	rig_pe_t *p = &rig_pes[pe];
	shmemd_key_t rkeys[RIG_GRANULES_MAX];

	for (uint32_t i = 0; i <= plan.n_granules; i++)
		p->keys[SHMEMD_LKEY_INDEX(plan.n_granules, plan.n_pes, i)] = no_key;
	for (uint32_t i = 0; i < plan.n_granules; i++)
		rkeys[i] = no_key;
	for (uint32_t column = 0; column < 2; column++)
		if (make_column(p, column, rkeys))
			return 1;
	for (int i = 0; i < plan.n_pes; i++)
		memcpy(&rig_pes[i].keys[SHMEMD_RKEY_INDEX(plan.n_granules, pe, 0)], rkeys,
		       plan.n_granules * sizeof(rkeys[0]));
	return 0;
}

static int open_nic(rig_pe_t *p, uint32_t host)
{
	p->ctx_ib = ibv_open_device(&mlx5swi_device(host, 0)->ib);
	for (uint32_t column = 0; column < 2; column++)
		p->pds[column] = p->ctx_ib ? ibv_alloc_pd(p->ctx_ib) : NULL;
	return !p->pds[0] || !p->pds[1];
}

static int make_cq(const rig_pe_t *p, rig_end_t *e, uint32_t first_cqe)
{
	mlx5swi_cq_spec_t spec = {.buf = (uint8_t *)e->cqes,
				  .buf_nbytes = (size_t)plan.depth * SHMEMD_CQE_NBYTES,
				  .dbr = e->cq_record,
				  .eqn = MLX5SWI_EQN,
				  .ignores_overrun = 1,
				  .uar = (mlx5swi_uar_t *)e->uar};

	if (!e->n_switches)
		memset(e->cqes, 0xff, spec.buf_nbytes);
	else /* kernels are running */
		for (uint32_t i = 0; i < plan.depth; i++)
			shmemd_arch_st_relaxed_u64(
				e->cqes + i * SHMEMD_CQE_NBYTES + SHMEMD_CQE_TAIL, ~(uint64_t)0);
	spec.log_size = (uint8_t)log2_of(plan.depth);
	if (mlx5swi_cq_create((mlx5swi_context_t *)verbs_get_ctx(p->ctx_ib), &spec, &e->cq))
		return 1;
	e->cq->pi = first_cqe;
	return 0;
}

static int make_qp(const rig_pe_t *p, rig_end_t *e)
{
	const mlx5swi_qp_spec_t spec = {.pd = (mlx5swi_pd_t *)p->pds[e->column],
					.send_cq = e->cq,
					.recv_cq = e->cq,
					.sq = (uint8_t *)e->wqes,
					.sq_nbytes = (size_t)plan.depth * SHMEMD_WQEBB_NBYTES,
					.sq_wqebbs = plan.depth,
					.dbr = e->record - SHMEMD_RECORD_SEND,
					.has_no_dbr = !!(plan.path_flags & SHMEMD_PATH_NO_RECORD),
					.uar = (mlx5swi_uar_t *)e->uar,
					.user_index = 0xabcdef};

	return mlx5swi_qp_create((mlx5swi_context_t *)verbs_get_ctx(p->ctx_ib), &spec, &e->qp);
}

static uint32_t device_index(void)
{
	return (uint32_t)(plan.first - plan.base);
}

uint32_t rig_path_flags(const rig_end_t *e)
{
	return (e->column ? SHMEMD_PATH_OWN_STANDBY : 0) |
	       (e->column != e->is_crossed ? SHMEMD_PATH_PEER_STANDBY : 0) |
	       (plan.path_flags & SHMEMD_PATH_NO_RECORD) | (plan.by_host ? SHMEMD_PATH_PROXY : 0);
}

static void fill_words(shmemd_channel_t *ch, const rig_end_t *e, const char *queue)
{
	const uint32_t first = (uint32_t)plan.first, epoch = plan.epoch;
	const void *doorbell = plan.by_host ? (const void *)e->producer : e->qp->reg;

	ch->resv = SHMEMD_RESV_ADD(first, plan.first_request) | epoch;
	ch->ready = SHMEMD_READY_WORD(first, plan.first_cqe, SHMEMD_READY_RUNG | epoch);
	ch->flush = SHMEMD_READY_WORD(first - plan.flush_age, plan.first_cqe - 1 - plan.flush_age,
				      epoch);
	ch->done = SHMEMD_DONE_WORD(plan.first, plan.first_cqe);
	ch->rung = SHMEMD_RUNG_WORD(first);
	ch->path = SHMEMD_PATH_WORD(epoch, e->qp->qpn, plan.base, rig_path_flags(e));
	ch->queue = SHMEMD_TAGGED(epoch, queue);
	ch->doorbell = SHMEMD_TAGGED(epoch, doorbell);
	ch->origin = SHMEMD_ORIGIN_WORD(plan.first_request, plan.first);
	ch->ticket = plan.first_ticket;
	for (uint64_t i = 0; i < SHMEMD_BOUNCE_BUFFERS; i++)
		ch->owners[(plan.first_ticket + i) % SHMEMD_BOUNCE_BUFFERS] =
			2 * (plan.first_ticket + i);
}

int rig_make_path(const rig_pe_t *p, rig_end_t *e, uint32_t start, uint32_t first_cqe)
{
	uint32_t *records = (uint32_t *)(void *)(e->queue + SHMEMD_QUEUE_RECORD_OFFSET(plan.depth));
	int failed;

	e->wqes = e->queue;
	e->cqes = e->queue + SHMEMD_QUEUE_CQES_OFFSET(plan.depth);
	e->record = records + SHMEMD_RECORD_SEND;
	e->cq_record = (uint32_t *)(void *)(e->queue + SHMEMD_QUEUE_CQ_RECORD_OFFSET(plan.depth));
	shmemd_arch_st_relaxed_u32(e->record, htobe32(start & 0xffff));
	e->producer = &e->producers[(size_t)(e->queue - e->queues) / rig_queue_nbytes()];
	e->rung = start;
	e->first_cqe = first_cqe;
	shmemd_arch_st_relaxed_u64(e->producer, start);
	e->uar = mlx5dv_devx_alloc_uar(p->ctx_ib, 0);
	mlx5swi_lock();
	failed = !e->uar || make_cq(p, e, first_cqe) || make_qp(p, e);
	mlx5swi_unlock();
	return failed;
}

/* Channel i of a PE, [k][peer]. */
static int make_end(rig_pe_t *p, uint32_t i)
{
	const int pe = (int)(p - rig_pes), peer = (int)(i % (uint32_t)plan.n_pes);
	rig_end_t *e = &p->ends[i];

	memset(e, 0, sizeof(*e));
	e->words = (shmemd_channel_t *)(void *)p->channels + i;
	e->queues = e->queue = p->queues + i * queues_nbytes();
	e->producers = p->producers[i];
	e->is_crossed = pe != peer;
	e->column = first_column(pe, peer);
	if (rig_make_path(p, e, device_index(), plan.first_cqe))
		return 1;
	fill_words(e->words, e, e->queue);
	return 0;
}

static int make_ends(rig_pe_t *p)
{
	for (uint32_t i = 0; i < n_ends(); i++)
		if (make_end(p, i))
			return 1;
	return 0;
}

static mlx5swi_qp_attr_t attr_of(const rig_end_t *e, const rig_end_t *peer)
{
	const mlx5swi_port_t *port = &peer->qp->dev->port;
	mlx5swi_qp_attr_t a = {.rwe = 1,
			       .rre = 1,
			       .rae = 1,
			       .atomic_mode = 3,
			       .mtu = plan.mtu,
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

int rig_connect(const rig_end_t *e, const rig_end_t *peer)
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
				if (rig_connect(rig_channel(pe, peer, k), rig_channel(peer, pe, k)))
					return 1;
	return 0;
}

static uint32_t flags_of(void)
{
	const uint32_t all = (1u << plan.n_pes) - 1;

	return plan.flags | SHMEMD_CTX_NIC | SHMEMD_CTX_WORLD_NUMBERS |
	       (plan.has_paths ? SHMEMD_CTX_FT : 0) |
	       ((plan.mapped & all) == all ? SHMEMD_CTX_ALL_MAPPED : 0) |
	       (plan.mapped && !(plan.flags & SHMEMD_CTX_SM_ATOMICS) ? SHMEMD_CTX_MIXED_TRANSPORT
								     : 0);
}

/* The range of mapped PEs, including this PE. */
static void fill_mapped(shmemd_ctx_t *c)
{
	const uint32_t mapped = plan.mapped | (plan.own_by_nic ? 0 : 1u << c->my_pe);

	if (!mapped)
		return;
	c->first_mapped = __builtin_ctz(mapped);
	c->mapped_span = (uint32_t)(32 - __builtin_clz(mapped) - c->first_mapped);
	if (!plan.is_strided)
		return;
	c->n_strided = c->mapped_span;
	c->n_strided_amos = c->flags & SHMEMD_CTX_SM_ATOMICS ? c->n_strided : 0;
	c->n_strided_puts_with_signal = c->flags & SHMEMD_CTX_MIXED_TRANSPORT ? 0 : c->n_strided;
	c->mapped_stride = rig_pes[1].heap - rig_pes[0].heap;
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
	c->device_copy = c;
	c->heap_committed = &p->heap_committed;
	fill_mapped(c);
	c->channels = (void *)p->channels;
	c->keys = p->keys;
	c->bounces = p->bounces;
	c->used = p->used;
	c->n_channels = plan.n_channels;
	c->n_world = (uint32_t)plan.n_pes;
	c->n_granules = plan.n_granules;
	c->geometry = SHMEMD_GEOMETRY(log2_of(RIG_GRANULE), log2_of(plan.depth),
				      log2_of(plan.batch), plan.inline_nbytes);
	c->switch_order = plan.has_paths ? &p->order : NULL;
	c->faults = plan.has_paths ? (shmemd_faults_t *)(void *)p->faults : NULL;
}

static void fill_pe(rig_pe_t *p, int pe)
{
	memset(p->producers, 0, sizeof(p->producers));
	memset(p->used, 0, sizeof(p->used));
	memset(&p->latch, 0, sizeof(p->latch));
	memset(&p->error, 0, sizeof(p->error));
	memset(&p->order, 0, sizeof(p->order));
	memset(p->faults, 0, sizeof(p->faults));
	memset(p->causes, 0, sizeof(p->causes));
	p->abort_word = 0;
	p->heap_committed = (uint64_t)(plan.n_granules - plan.n_uncommitted) * RIG_GRANULE;
	fill_context(p, pe);
	for (int i = 0; i < plan.n_pes; i++) {
		p->peers[i].base = plan.mapped >> i & 1 || (i == pe && !plan.own_by_nic)
					   ? rig_pes[i].heap
					   : NULL;
		p->peers[i].world_pe = i;
	}
}

/* Held by the proxy while it rings, and by the host while a path changes. */
static uint32_t proxy_lock;

static void lock_proxy(void)
{
	while (shmemd_arch_atom_cas_u32(&proxy_lock, 0, 1))
		shmemd_arch_spin_hint();
	shmemd_arch_fence_order();
}

rig_end_t rig_path(const rig_end_t *e)
{
	rig_end_t copy;

	lock_proxy();
	copy = *e;
	shmemd_arch_st_release_u32(&proxy_lock, 0);
	return copy;
}

void rig_change_path(rig_end_t *e, const rig_end_t *next)
{
	lock_proxy();
	*e = *next;
	shmemd_arch_st_release_u32(&proxy_lock, 0);
}

/* The proxy's work for a channel: the producer word holds the device index. */
static void ring_by_host(rig_end_t *e)
{
	uint64_t word, now = shmemd_arch_ld_acquire_u64(e->producer);

	if (now == e->rung)
		return;
	e->rung = now;
	shmemd_arch_fence_quiet(); /* the record is ordered after the WQEs */
	if (!(plan.path_flags & SHMEMD_PATH_NO_RECORD))
		shmemd_arch_st_relaxed_u32(e->record, htobe32((uint32_t)now & 0xffff));
	shmemd_arch_fence_quiet();
	word = (uint64_t)htobe32(e->qp->qpn << 8) << 32 | htobe32((uint32_t)(now & 0xffff) << 8);
	shmemd_arch_st_relaxed_u64(e->qp->reg, word);
}

static void proxy(void *unused)
{
	(void)unused;
	for (;;) {
		lock_proxy();
		for (int pe = 0; pe < plan.n_pes; pe++)
			for (uint32_t i = 0; i < n_ends(); i++)
				ring_by_host(&rig_pes[pe].ends[i]);
		shmemd_arch_st_release_u32(&proxy_lock, 0);
		shmemd_arch_spin_hint();
	}
}

static int make_all(void)
{
	for (int pe = 0; pe < plan.n_pes; pe++) {
		rig_pe_t *p = &rig_pes[pe];

		if (grow_aligned(&p->heap, &p->heap_nbytes, (size_t)plan.n_granules * RIG_GRANULE,
				 (size_t)1 << SHMEMD_STRIDE_LOG_UNIT) ||
		    grow(&p->queues, &p->queues_nbytes, n_ends() * queues_nbytes()) ||
		    grow(&p->channels, &p->channels_nbytes, n_ends() * sizeof(shmemd_channel_t)) ||
		    grow(&p->bounces, &p->bounces_nbytes, n_ends() * SHMEMD_BOUNCES_NBYTES) ||
		    open_nic(p, (uint32_t)pe))
			return 1;
	}
	for (int pe = 0; pe < plan.n_pes; pe++)
		fill_pe(&rig_pes[pe], pe);
	for (int pe = 0; pe < plan.n_pes; pe++)
		if (make_keys(pe) || make_ends(&rig_pes[pe]))
			return 1;
	return connect_all();
}

int rig_make(const rig_plan_t *p)
{
	plan = *p;
	proxy_lock = 0;
	plan.nic.n_hosts = (uint32_t)p->n_pes;
	plan.nic.start_index = (uint16_t)device_index();
	plan.nic.has_no_dbr = !!(plan.path_flags & SHMEMD_PATH_NO_RECORD);
	/* First start the adapter, so that devices of the last run stop writing to memory. */
	if (mlx5sw_sim_start(&adapter, &plan.nic) || make_all())
		shmemsim_fail("the rig cannot be created: %s", mlx5swi_refusal());
	return plan.by_host && shmemsim_agent("the doorbell proxy", proxy, NULL);
}

const rig_plan_t *rig_planned(void)
{
	return &plan;
}

void rig_end(void)
{
	mlx5sw_sim_stop(&adapter);
}

/* Kernels may write to it at the same time. */
static uint64_t word(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_RELAXED);
}

uint32_t rig_wqebbs(int pe, int peer, uint32_t k)
{
	return SHMEMD_READY_INDEX(word(&rig_words(pe, peer, k)->ready)) - (uint32_t)plan.first;
}

uint32_t rig_reserved(int pe, int peer, uint32_t k)
{
	return SHMEMD_RESV_INDEX(word(&rig_words(pe, peer, k)->resv)) - (uint32_t)plan.first;
}

uint64_t rig_requests(int pe, int peer, uint32_t k)
{
	return word(&rig_words(pe, peer, k)->requests);
}

uint64_t rig_doorbells(int pe, int peer, uint32_t k)
{
	return word(&rig_words(pe, peer, k)->doorbells);
}

int rig_status(int pe, int peer, uint32_t k)
{
	return (int)SHMEMD_PATH_STATUS(word(&rig_words(pe, peer, k)->path));
}

uint64_t rig_place(uint64_t n)
{
	return (plan.first + n) & (((uint64_t)1 << SHMEMD_DONE_INDEX_BITS) - 1);
}

uint32_t rig_device_index(uint32_t n)
{
	return (device_index() + n) & 0xffff;
}

mlx5sw_qp_counters_t rig_counters(int pe, int peer, uint32_t k)
{
	mlx5sw_qp_counters_t c = {.size = sizeof(c)};

	if (mlx5sw_qp_counters(pe, 0, rig_channel(pe, peer, k)->qp->qpn, &c))
		shmemsim_fail("the adapter has no queue of PE %d to PE %d", pe, peer);
	return c;
}

void rig_control(const char *fmt, ...)
{
	char line[256], answer[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (mlx5sw_control(line, answer, sizeof(answer)))
		shmemsim_fail("%s: %s", line, answer);
}
