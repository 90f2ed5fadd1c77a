/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fixture.h"

#include <dlfcn.h>
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include "mlx5sw/inject/fault.h"

#define MAX_ALLOCATED 256u
#define MAX_TURNS 10000000u
#define CQE_NBYTES 64u
#define RQ_STRIDE 16u
#define ALL_RIGHTS                                                                                 \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC)

/* p: the adapter's address; view: the test's address. */
typedef struct memory {
	uint8_t *p, *view;
	uint8_t is_gpu;
} memory_t;

uint64_t adapter_clock, adapter_seed;
static int caller_host;
static memory_t allocated[MAX_ALLOCATED];
static unsigned n_allocated;

static struct {
	uint8_t *(*alloc)(size_t nbytes);
	uint8_t *(*view)(const uint8_t *p);
	void (*free)(uint8_t *p);
} gpu;

static void open_gpu(void)
{
	const char *name = getenv("ADAPTER_CUDA");

	if (name)
		assert_non_null(dlopen(name, RTLD_NOW | RTLD_GLOBAL));
	*(void **)&gpu.alloc = dlsym(RTLD_DEFAULT, "fake_cuda_alloc");
	*(void **)&gpu.view = dlsym(RTLD_DEFAULT, "fake_cuda_view");
	*(void **)&gpu.free = dlsym(RTLD_DEFAULT, "fake_cuda_free");
}

static memory_t allocate(size_t nbytes, int is_gpu)
{
	memory_t m = {.is_gpu = is_gpu != 0};

	if (is_gpu)
		assert_non_null(gpu.alloc);
	m.p = is_gpu ? gpu.alloc(nbytes) : aligned_alloc(4096, (nbytes + 4095) / 4096 * 4096);
	assert_non_null(m.p);
	m.view = is_gpu ? gpu.view(m.p) : memset(m.p, 0, nbytes);
	if (is_gpu)
		assert_true(mlx5swi_is_gpu(m.p)); /* as at registration */
	assert_true(n_allocated < MAX_ALLOCATED);
	return allocated[n_allocated++] = m;
}

static int in_gpu(const adapter_spec_t *s, int what)
{
	return getenv("ADAPTER_CUDA") || s->in_gpu & what;
}

static uint64_t virtual_now(void *arg)
{
	(void)arg;
	return adapter_clock;
}

static unsigned seeded_choice(void *arg, unsigned n)
{
	(void)arg;
	adapter_seed =
		adapter_seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
	return (unsigned)((adapter_seed >> 33) % n);
}

static int virtual_host(void *arg)
{
	(void)arg;
	return caller_host;
}

mlx5sw_config_t adapter_config(void)
{
	mlx5sw_config_t cfg = MLX5SW_CONFIG_INIT;

	cfg.n_hosts = 2;
	cfg.n_devices = 1;
	cfg.timing = MLX5SW_TIMING_FAST;
	cfg.lint = MLX5SW_LINT_STRICT;
	return cfg;
}

void adapter_start(const mlx5sw_config_t *cfg)
{
	const mlx5sw_config_t usual = adapter_config();
	mlx5sw_hooks_t hooks;

	open_gpu();
	mlx5swi_plain_hooks(&hooks);
	hooks.now = virtual_now;
	hooks.choose = seeded_choice;
	hooks.host = virtual_host;
	adapter_clock = 1000;
	adapter_seed = 1;
	assert_int_equal(mlx5sw_start(cfg ? cfg : &usual, &hooks), 0);
}

void adapter_stop(void)
{
	mlx5sw_stop();
	while (n_allocated) {
		const memory_t *m = &allocated[--n_allocated];

		if (m->is_gpu)
			gpu.free(m->p);
		else
			free(m->p);
	}
}

static void open_device(adapter_end_t *e, const adapter_spec_t *spec)
{
	const memory_t data = allocate(ADAPTER_NBYTES, in_gpu(spec, GPU_DATA));
	struct ibv_device **list;
	int n;

	caller_host = (int)spec->host;
	list = ibv_get_device_list(&n);
	assert_non_null(list);
	assert_in_range(spec->device, 0, n - 1);
	e->ctx = ibv_open_device(list[spec->device]);
	assert_non_null(e->ctx);
	ibv_free_device_list(list);
	e->pd = ibv_alloc_pd(e->ctx);
	assert_non_null(e->pd);
	e->memory = data.view;
	e->mr = ibv_reg_mr_iova2(e->pd, data.p, ADAPTER_NBYTES, (uintptr_t)data.view,
				 spec->access ? spec->access : ALL_RIGHTS);
	assert_non_null(e->mr);
}

static void make_cq(adapter_end_t *e, const adapter_spec_t *s)
{
	mlx5swi_cq_spec_t spec = {0};
	uint32_t n = s->cq_entries ? s->cq_entries : 64;
	const memory_t cqes = allocate((size_t)n * CQE_NBYTES, in_gpu(s, GPU_CQ));
	const memory_t record = allocate(8, in_gpu(s, GPU_CQ_RECORD));

	e->cq_entries = n;
	e->cqes = memset(cqes.view, 0xff, (size_t)n * CQE_NBYTES);
	e->cq_dbr = (uint32_t *)(void *)record.view;
	spec.buf = cqes.p;
	spec.buf_nbytes = (size_t)n * CQE_NBYTES;
	spec.buf_is_gpu = cqes.is_gpu;
	spec.dbr = (uint32_t *)(void *)record.p;
	spec.dbr_is_gpu = record.is_gpu;
	spec.eqn = MLX5SWI_EQN;
	spec.is_collapsed = s->is_collapsed;
	spec.ignores_overrun = !s->minds_overrun;
	spec.uar = (mlx5swi_uar_t *)e->uar;
	while (n > 1u << spec.log_size)
		spec.log_size++;
	assert_int_equal(
		mlx5swi_cq_create((mlx5swi_context_t *)verbs_get_ctx(e->ctx), &spec, &e->cq), 0);
}

static void make_qp(adapter_end_t *e, const adapter_spec_t *s)
{
	mlx5swi_qp_spec_t spec = {0};
	memory_t ring, record = allocate(8, in_gpu(s, GPU_RECORD));

	e->sq_wqebbs = s->sq_wqebbs ? s->sq_wqebbs : 64;
	ring = allocate(e->sq_wqebbs * 64, in_gpu(s, GPU_RING));
	e->sq = ring.view;
	e->dbr = (uint32_t *)(void *)record.view;
	spec.pd = (mlx5swi_pd_t *)e->pd;
	spec.send_cq = spec.recv_cq = e->cq;
	spec.sq = ring.p;
	spec.ring_is_gpu = ring.is_gpu;
	spec.sq_nbytes = e->sq_wqebbs * 64;
	spec.sq_wqebbs = e->sq_wqebbs;
	if (s->rq_wqes) {
		ring = allocate(s->rq_wqes * RQ_STRIDE, in_gpu(s, GPU_RING));
		e->rq = ring.view;
		spec.rq = ring.p;
		spec.rq_nbytes = s->rq_wqes * RQ_STRIDE;
		spec.rq_wqes = s->rq_wqes;
		spec.rq_stride = RQ_STRIDE;
	}
	spec.dbr = s->has_no_dbr ? NULL : (uint32_t *)(void *)record.p;
	spec.dbr_is_gpu = record.is_gpu;
	spec.has_no_dbr = s->has_no_dbr;
	spec.is_signed = s->is_signed;
	spec.uar = (mlx5swi_uar_t *)e->uar;
	spec.user_index = 0xabcdef;
	assert_int_equal(
		mlx5swi_qp_create((mlx5swi_context_t *)verbs_get_ctx(e->ctx), &spec, &e->qp), 0);
	e->pi = mlx5swi_w->cfg.start_index;
}

void adapter_make(adapter_end_t *e, const adapter_spec_t *spec)
{
	static const adapter_spec_t usual;

	if (!spec)
		spec = &usual;
	memset(e, 0, sizeof(*e));
	if (spec->with)
		*e = *spec->with;
	else
		open_device(e, spec);
	if (!spec->is_rung_with)
		e->uar = mlx5dv_devx_alloc_uar(e->ctx, 0);
	assert_non_null(e->uar);
	if (!spec->with)
		make_cq(e, spec);
	make_qp(e, spec);
}

static void modify(adapter_end_t *e, int to, const mlx5swi_qp_attr_t *attr, uint32_t given)
{
	if (mlx5swi_qp_modify(e->qp, to, attr, given) != 0)
		fail_msg("%s", mlx5swi_refusal());
}

void adapter_init(adapter_end_t *e)
{
	const mlx5swi_qp_attr_t attr = {
		.rwe = 1, .rre = 1, .rae = 1, .atomic_mode = 3, .path.port = 1};

	modify(e, MLX5SWI_INIT, &attr,
	       MLX5SWI_ATTR_PORT | MLX5SWI_ATTR_PKEY | MLX5SWI_ATTR_ACCESS |
		       MLX5SWI_ATTR_ATOMIC_MODE);
}

mlx5swi_qp_attr_t adapter_attr(const adapter_end_t *e, const adapter_end_t *peer)
{
	const mlx5swi_port_t *port = &peer->qp->dev->port;
	const uint8_t is_ethernet = e->qp->dev->port.is_ethernet;
	mlx5swi_qp_attr_t attr = {
		.mtu = 3, /* 1024 */
		.log_msg_max = 30,
		.min_rnr_nak = 1,
		.rnr_retry = 6,
		.retry_count = 7,
		.log_sra_max = 4,
		.log_rra_max = 4,
		.remote_qpn = peer->qp->qpn,
		.next_rcv_psn = 0x100 + peer->qp->qpn,
		.next_send_psn = 0x100 + e->qp->qpn,
		.path = {.is_global = is_ethernet,
			 .sgid_index = is_ethernet ? 3 : 0,
			 .hop_limit = 64,
			 .udp_sport = 0xc000,
			 .dlid = port->lid,
			 .ack_timeout = 14},
	};

	memcpy(attr.path.dgid, port->gids[attr.path.sgid_index].raw, sizeof(attr.path.dgid));
	memcpy(attr.path.dmac, port->mac, sizeof(attr.path.dmac));
	return attr;
}

void adapter_modify(adapter_end_t *e, const mlx5swi_qp_attr_t *attr)
{
	modify(e, MLX5SWI_RTR, attr,
	       MLX5SWI_ATTR_AV | MLX5SWI_ATTR_MTU | MLX5SWI_ATTR_DEST_QPN | MLX5SWI_ATTR_RQ_PSN |
		       MLX5SWI_ATTR_RRA | MLX5SWI_ATTR_MIN_RNR | MLX5SWI_ATTR_MSG_MAX);
	modify(e, MLX5SWI_RTS, attr,
	       MLX5SWI_ATTR_SQ_PSN | MLX5SWI_ATTR_SRA | MLX5SWI_ATTR_RETRY |
		       MLX5SWI_ATTR_RNR_RETRY | MLX5SWI_ATTR_TIMEOUT);
}

void adapter_connect(adapter_end_t *a, adapter_end_t *b)
{
	mlx5swi_qp_attr_t attr = adapter_attr(a, b);

	adapter_init(a);
	adapter_modify(a, &attr);
	if (a == b)
		return;
	attr = adapter_attr(b, a);
	adapter_init(b);
	adapter_modify(b, &attr);
}

void adapter_pair(adapter_end_t *a, adapter_end_t *b)
{
	const adapter_spec_t spec = {.host = 1};

	adapter_make(a, NULL);
	adapter_make(b, &spec);
	adapter_connect(a, b);
}

void adapter_reset(adapter_end_t *e)
{
	modify(e, MLX5SWI_RST, NULL, 0);
	e->dbr[0] = e->dbr[1] = 0;
	e->pi = mlx5swi_w->cfg.start_index;
}

void adapter_error(adapter_end_t *e)
{
	modify(e, MLX5SWI_ERR, NULL, 0);
}

void adapter_record(adapter_end_t *e, uint16_t index)
{
	__atomic_store_n(&e->dbr[1], htobe32(index), __ATOMIC_RELEASE);
}

void adapter_register(uint8_t *page, uint32_t offset, uint32_t first, uint32_t second)
{
	const uint32_t half[2] = {htobe32(first), htobe32(second)};
	uint64_t v;

	memcpy(&v, half, sizeof(v));
	__atomic_store_n((uint64_t *)(page + offset), v, __ATOMIC_RELEASE);
}

void adapter_doorbell(adapter_end_t *e, uint16_t index)
{
	adapter_register(e->uar->base_addr, e->qp->has_no_dbr ? 0x600 : 0x800, (uint32_t)index << 8,
			 e->qp->qpn << 8);
}

void adapter_ring(adapter_end_t *e)
{
	if (!e->qp->has_no_dbr)
		adapter_record(e, e->pi);
	adapter_doorbell(e, e->pi);
}

void adapter_step(void)
{
	unsigned turns = 0;

	while (mlx5sw_step())
		if (++turns == MAX_TURNS)
			fail_msg("%s", "the device never becomes idle");
}

void adapter_idle(void)
{
	for (unsigned turns = 0; turns < MAX_TURNS; turns++) {
		uint64_t next;

		adapter_step();
		next = mlx5sw_next_time();
		if (next == UINT64_MAX)
			return;
		if (adapter_clock < next)
			adapter_clock = next;
	}
	fail_msg("%s", "the device never becomes idle");
}

static uint32_t be32_at(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

adapter_cqe_t adapter_slot(const adapter_end_t *e, uint32_t slot)
{
	const uint8_t *p = e->cqes + (size_t)slot * CQE_NBYTES;

	return (adapter_cqe_t){
		.opcode = p[63] >> 4,
		.owner = p[63] & 1,
		.counter = (uint16_t)(p[60] << 8 | p[61]),
		.wqe_opcode = p[56],
		.qpn = be32_at(p + 56) & 0xffffff,
		.syndrome = p[55],
		.vendor = p[54],
		.user_index = be32_at(p + 32) & 0xffffff,
		.imm = be32_at(p + 36),
		.nbytes = be32_at(p + 44),
	};
}

int adapter_poll(adapter_end_t *e, adapter_cqe_t *cqe)
{
	*cqe = adapter_slot(e, e->ci % e->cq_entries);
	if (cqe->opcode == CQE_INVALID || cqe->owner != (e->ci / e->cq_entries & 1))
		return 0;
	e->ci++;
	e->cq_dbr[0] = htobe32(e->ci & 0xffffff);
	return 1;
}

static adapter_cqe_t next(adapter_end_t *e)
{
	adapter_cqe_t cqe;

	if (!adapter_poll(e, &cqe))
		fail_msg("no completion number %u", e->ci);
	assert_int_equal(cqe.qpn, e->qp->qpn);
	assert_int_equal(cqe.user_index, 0xabcdef);
	return cqe;
}

void adapter_expect(adapter_end_t *e, uint16_t counter, uint8_t wqe_opcode)
{
	const adapter_cqe_t cqe = next(e);

	if (cqe.opcode != CQE_REQ)
		fail_msg("WQEBB %u: error 0x%x/0x%x", cqe.counter, cqe.syndrome, cqe.vendor);
	assert_int_equal(cqe.counter, counter);
	assert_int_equal(cqe.wqe_opcode, wqe_opcode);
}

void adapter_expect_error(adapter_end_t *e, uint16_t counter, uint8_t syndrome, uint8_t vendor)
{
	const adapter_cqe_t cqe = next(e);

	assert_int_equal(cqe.opcode, CQE_REQ_ERR);
	assert_int_equal(cqe.counter, counter);
	assert_int_equal(cqe.syndrome, syndrome);
	assert_int_equal(cqe.vendor, vendor);
}

void adapter_expect_none(adapter_end_t *e)
{
	adapter_cqe_t cqe;

	if (adapter_poll(e, &cqe))
		fail_msg("an unexpected completion of WQEBB %u, opcode %u, 0x%x/0x%x", cqe.counter,
			 cqe.opcode, cqe.syndrome, cqe.vendor);
}

int adapter_reported(const char *row)
{
	const size_t n = strlen(row);
	const char *line;
	int found = 0;

	for (unsigned i = 0; (line = mlx5sw_report(i)) != NULL; i++)
		found += strncmp(line, row, n) == 0 && line[n] == ':';
	return found;
}

void adapter_expect_clean(void)
{
	if (mlx5sw_failed())
		fail_msg("%s", mlx5sw_report(0));
}

void adapter_packets(int fault, uint32_t kinds, uint64_t after, uint64_t left)
{
	const mlx5swi_rule_t rule = {.fault = fault,
				     .host = MLX5SWI_ANY,
				     .device = MLX5SWI_ANY,
				     .qpn = MLX5SWI_ANY,
				     .kind = kinds,
				     .index = MLX5SWI_ANY,
				     .opcode = MLX5SWI_ANY,
				     .after = after,
				     .left = left};

	assert_int_equal(mlx5swi_rule_add(&rule), 0);
}

void adapter_release(void)
{
	mlx5swi_rules_clear();
	mlx5swi_release_held();
}

mlx5swi_send_state_t adapter_send_state(const adapter_end_t *e)
{
	mlx5swi_send_state_t s;

	mlx5swi_requester_query(e->qp, &s);
	return s;
}
