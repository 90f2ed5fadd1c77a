/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "selftest/rig.h"

#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sodium.h>
#include "base/clock.h"
#include "ib/store_barrier.h"
#include "ib/uar.h"
#include "selftest/far.h"

#define RIGHTS                                                                                     \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |               \
	 IBV_ACCESS_REMOTE_ATOMIC)
#define PSN_MASK 0xffffffu
#define SPINS 100

static size_t page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* All ports that can be used. */
static int open_usable(shmemhi_rig_t *rig)
{
	shmemhi_ports_t *found = &rig->ports;
	size_t n = 0;
	int status = shmemhi_ports_open(&rig->lib, &rig->opt, found, &rig->err);

	if (status != SHMEMH_OK)
		return status;
	for (size_t i = 0; i < found->n; i++)
		if (found->ports[i].is_usable)
			found->ports[n++] = found->ports[i];
	if (n == 0)
		return shmemhi_fail(&rig->err, SHMEMH_ERR_NIC,
				    "no port can be used: shmem-info says why");
	found->n = n;
	return SHMEMH_OK;
}

static int open_ports(shmemhi_rig_t *rig, const char *nics)
{
	shmemhi_hca_list_t set;
	int status = shmemhi_hca_parse(nics, &set, &rig->err);

	if (status != SHMEMH_OK)
		return status;
	status = set.n ? shmemhi_ports_open_set(&rig->lib, &rig->opt, &set, &rig->ports, &rig->err)
		       : open_usable(rig);
	if (status == SHMEMH_OK && rig->ports.n > SHMEMHI_RIG_PORTS)
		status = shmemhi_fail(&rig->err, SHMEMH_ERR_OPTION,
				      "%zu ports: test at most %d at a time, with --nics",
				      rig->ports.n, SHMEMHI_RIG_PORTS);
	return status;
}

int shmemhi_rig_open(shmemhi_rig_t *rig, const char *nics)
{
	int status = shmemhi_ib_lib_open(&rig->lib, rig->opt.ib_library, &rig->err);

	if (status == SHMEMH_OK)
		status = open_ports(rig, nics);
	if (status != SHMEMH_OK)
		return status;
	rig->memory = aligned_alloc(page(), 2 * SHMEMHI_RIG_NBYTES);
	if (!rig->memory)
		return shmemhi_fail(&rig->err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
	memset(rig->memory, 0, 2 * SHMEMHI_RIG_NBYTES);
	for (size_t i = 0; i < rig->ports.n; i++) {
		rig->mrs[i] = rig->lib.reg_mr(rig->ports.ports[i].open.pd, rig->memory,
					      2 * SHMEMHI_RIG_NBYTES, RIGHTS);
		if (!rig->mrs[i])
			return shmemhi_fail(&rig->err, SHMEMH_ERR_NIC,
					    "%s: ibv_reg_mr of %zu bytes: %s: raise ulimit -l",
					    rig->ports.ports[i].open.name, 2 * SHMEMHI_RIG_NBYTES,
					    strerror(errno));
	}
	return SHMEMH_OK;
}

void shmemhi_rig_close(shmemhi_rig_t *rig)
{
	for (size_t i = 0; i < rig->ports.n && i < SHMEMHI_RIG_PORTS; i++)
		if (rig->mrs[i])
			rig->lib.dereg_mr(rig->mrs[i]);
	if (rig->lib.ibverbs)
		shmemhi_ports_close(&rig->lib, &rig->ports);
	shmemhi_ib_lib_close(&rig->lib);
	free(rig->memory);
}

uint32_t shmemhi_rig_random(shmemhi_rig_t *rig)
{
	rig->random = rig->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(rig->random >> 33);
}

uint64_t shmemhi_rig_end_of_row(const shmemhi_rig_t *rig, uint64_t n)
{
	uint64_t now = shmemhi_now();

	return rig->deadline > now ? now + (rig->deadline - now) / n : now;
}

/* ---- pairs ---- */

static int fail_end(shmemhi_rig_t *rig, const shmemhi_end_t *end, const char *call)
{
	return shmemhi_fail(&rig->err, SHMEMH_ERR_NIC, "%s: %s: %s", end->link.port->name, call,
			    strerror(errno));
}

int shmemhi_end_place(shmemhi_rig_t *rig, shmemhi_end_t *end, struct mlx5dv_devx_umem *queue)
{
	size_t nbytes = (SHMEMHI_RIG_QUEUE_NBYTES + page() - 1) / page() * page();
	struct ibv_context *context = end->link.port->context;

	end->link.queue = aligned_alloc(page(), nbytes);
	if (!end->link.queue)
		return shmemhi_fail(&rig->err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
	memset(end->link.queue, 0, nbytes);
	end->link.records = end->link.queue + SHMEMD_QUEUE_RECORD_OFFSET(SHMEMHI_RIG_DEPTH);
	if (!queue)
		queue = end->umem =
			rig->lib.umem_reg(context, end->link.queue, nbytes, IBV_ACCESS_LOCAL_WRITE);
	if (!queue)
		return fail_end(rig, end, "mlx5dv_devx_umem_reg");
	end->link.uar = shmemhi_uar_alloc(&rig->lib, end->link.port);
	if (!end->link.uar)
		return fail_end(rig, end, "mlx5dv_devx_alloc_uar");
	end->link.host_doorbell = end->link.uar->reg_addr;
	end->mem = (shmemhi_link_mem_t){
		.queue = queue,
		.records = queue,
		.records_offset = SHMEMD_QUEUE_RECORD_OFFSET(SHMEMHI_RIG_DEPTH),
		.depth = SHMEMHI_RIG_DEPTH,
		.is_collapsed = end->mem.is_collapsed,
	};
	return SHMEMH_OK;
}

int shmemhi_end_create(shmemhi_rig_t *rig, shmemhi_end_t *end)
{
	int status;

	memset(end->link.queue + SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH), 0xff,
	       SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH));
	memset(end->link.records, 0, (size_t)2 * SHMEMHI_RECORD_STRIDE);
	end->index = 0;
	end->n_cqes = 0;
	end->link.psn = randombytes_random() & PSN_MASK;
	status = shmemhi_link_create_cq(&rig->lib, &end->link, &end->mem, &rig->err);
	if (status == SHMEMH_OK)
		status = shmemhi_link_create_qp(&rig->lib, &end->link, &end->mem, &rig->err);
	if (status == SHMEMH_OK)
		status = shmemhi_link_to_init(&rig->lib, &end->link, &rig->err);
	return status;
}

/* The options of a row's queue pairs: how often, and after how long, they repeat a request. */
static shmemhi_options_t options_for(const shmemhi_rig_t *rig, int flags)
{
	shmemhi_options_t opt = rig->opt;

	if (flags & SHMEMHI_PAIR_NO_RETRY) {
		opt.ib_retries = 0;
		opt.ib_ack_timeout = 1;
	}
	return opt;
}

int shmemhi_end_join(shmemhi_rig_t *rig, shmemhi_end_t *end, const shmemhi_end_t *peer, int flags)
{
	const shmemhi_options_t opt = options_for(rig, flags);
	const shmemhi_qp_info_t name = {peer->link.qpn, peer->link.psn};
	shmemhi_port_info_t port = shmemhi_port_info_of(peer->link.port, 1);
	shmemhi_address_t address;
	int status = shmemhi_address_find(&rig->lib, &opt, end->link.port, 0, &port, &address,
					  &rig->err);

	if (status == SHMEMH_OK)
		status = shmemhi_link_to_rtr(&rig->lib, &opt, &end->link, &port, &name, &address,
					     &rig->err);
	if (status == SHMEMH_OK)
		status = shmemhi_link_to_rts(&rig->lib, &opt, &end->link, &port, &rig->err);
	return status;
}

static int create_pair(shmemhi_rig_t *rig, shmemhi_pair_t *pair, int flags)
{
	int status = shmemhi_end_create(rig, &pair->a);

	if (status == SHMEMH_OK)
		status = shmemhi_remote_create(rig, &pair->b);
	if (status == SHMEMH_OK)
		status = shmemhi_end_join(rig, &pair->a, &pair->b, flags);
	if (status == SHMEMH_OK)
		status = shmemhi_remote_join(rig, pair, flags);
	return status;
}

void shmemhi_end_destroy(const shmemhi_rig_t *rig, shmemhi_end_t *end)
{
	if (end->link.qp)
		rig->lib.obj_destroy(end->link.qp);
	if (end->link.cq)
		rig->lib.obj_destroy(end->link.cq);
	end->link.qp = NULL;
	end->link.cq = NULL;
}

int shmemhi_pair_open(shmemhi_rig_t *rig, int port_a, int port_b, int flags,
		      struct mlx5dv_devx_umem *queue_of_a, shmemhi_pair_t *pair)
{
	int status;

	memset(pair, 0, sizeof *pair);
	pair->a.port = port_a;
	pair->b.port = port_b;
	pair->a.mem.is_collapsed = (flags & SHMEMHI_PAIR_COLLAPSED) != 0;
	pair->a.link.port = &rig->ports.ports[port_a].open;
	pair->b.link.port = rig->far ? &rig->far->ports[port_b] : &rig->ports.ports[port_b].open;
	status = shmemhi_end_place(rig, &pair->a, queue_of_a);
	if (status == SHMEMH_OK)
		status = shmemhi_remote_open(rig, &pair->b);
	if (status == SHMEMH_OK)
		status = create_pair(rig, pair, flags);
	if (status != SHMEMH_OK)
		shmemhi_pair_close(rig, pair);
	return status;
}

int shmemhi_pair_renew(shmemhi_rig_t *rig, shmemhi_pair_t *pair)
{
	shmemhi_end_destroy(rig, &pair->a);
	shmemhi_end_destroy(rig, &pair->b); /* PE 1 does so with its end in create */
	return create_pair(rig, pair, 0);
}

int shmemhi_pair_rewind(shmemhi_rig_t *rig, shmemhi_pair_t *pair)
{
	int status = shmemhi_link_to_reset(&rig->lib, &pair->a.link, &rig->err);

	__atomic_store_n(shmemhi_send_record(&pair->a.link), 0, __ATOMIC_RELAXED);
	pair->a.index = 0;
	if (status == SHMEMH_OK)
		status = shmemhi_link_to_init(&rig->lib, &pair->a.link, &rig->err);
	return status == SHMEMH_OK ? shmemhi_end_join(rig, &pair->a, &pair->b, 0) : status;
}

void shmemhi_end_close(const shmemhi_rig_t *rig, shmemhi_end_t *end)
{
	shmemhi_end_destroy(rig, end);
	if (end->link.uar)
		rig->lib.free_uar(end->link.uar);
	if (end->umem)
		rig->lib.umem_dereg(end->umem);
	free(end->link.queue);
	memset(end, 0, sizeof *end);
}

void shmemhi_pair_close(shmemhi_rig_t *rig, shmemhi_pair_t *pair)
{
	shmemhi_end_close(rig, &pair->a);
	shmemhi_remote_close(rig, &pair->b);
	memset(pair, 0, sizeof *pair);
}

/* ---- memory ---- */

char *shmemhi_local_ptr(const shmemhi_rig_t *rig, size_t offset)
{
	return rig->memory + offset;
}

char *shmemhi_remote_ptr(const shmemhi_rig_t *rig, size_t offset)
{
	return rig->memory + SHMEMHI_RIG_NBYTES + offset;
}

shmemdi_mem_t shmemhi_local(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset)
{
	return (shmemdi_mem_t){(uintptr_t)shmemhi_local_ptr(rig, offset),
			       htobe32(rig->mrs[end->port]->lkey)};
}

shmemdi_mem_t shmemhi_remote(const shmemhi_rig_t *rig, const shmemhi_end_t *end, size_t offset)
{
	if (rig->far)
		return (shmemdi_mem_t){rig->far->peer.remote + offset,
				       htobe32(rig->far->peer.ports[end->port].rkey)};
	return (shmemdi_mem_t){(uintptr_t)shmemhi_remote_ptr(rig, offset),
			       htobe32(rig->mrs[end->port]->rkey)};
}

/* ---- posting ---- */

shmemdi_wqe_at_t shmemhi_at(const shmemhi_end_t *end, uint32_t flags)
{
	return (shmemdi_wqe_at_t){end->index, SHMEMD_QPN_BE(end->link.qpn), flags, 0};
}

void shmemhi_post(shmemhi_end_t *end, const shmemdi_wqe_t *wqe, uint32_t n)
{
	const char *from = (const char *)wqe->w;

	for (uint32_t i = 0; i < n; i++, end->index++) {
		char *to = end->link.queue +
			   (end->index & (SHMEMHI_RIG_DEPTH - 1)) * SHMEMD_WQEBB_NBYTES;
		size_t left = sizeof wqe->w - (size_t)i * SHMEMD_WQEBB_NBYTES;

		memcpy(to, from + (size_t)i * SHMEMD_WQEBB_NBYTES,
		       left < SHMEMD_WQEBB_NBYTES ? left : SHMEMD_WQEBB_NBYTES);
	}
}

void shmemhi_ring_end(shmemhi_end_t *end)
{
	uint32_t *record = shmemhi_send_record(&end->link);
	uint64_t doorbell = shmemdi_doorbell(end->index, SHMEMD_QPN_BE(end->link.qpn));

	shmemhi_fence_full(); /* WQEs, then the record, as the NIC observes them */
	/* Release for the thread sanitizer, which does not model the fence. */
	__atomic_store_n(record, htobe32((uint32_t)(end->index & 0xffff)), __ATOMIC_RELEASE);
	shmemhi_fence_full(); /* the record, then the doorbell */
	__atomic_store_n((uint64_t *)end->link.host_doorbell, doorbell, __ATOMIC_RELAXED);
	shmemhi_fence_full(); /* doorbells leave the write-combining buffers now */
}

int shmemhi_next_cqe(shmemhi_end_t *end, shmemhi_completion_t *c)
{
	uint32_t n = end->n_cqes;
	const char *cqe = end->link.queue + SHMEMD_QUEUE_CQES_OFFSET(SHMEMHI_RIG_DEPTH) +
			  (size_t)(n & (SHMEMHI_RIG_DEPTH - 1)) * SHMEMD_CQE_NBYTES;
	const uint64_t *at = (const void *)(cqe + SHMEMD_CQE_TAIL);
	uint64_t deadline = shmemhi_deadline(SHMEMHI_RIG_PATIENCE_NS), tail;

	for (unsigned spins = 1; shmemhi_now() < deadline; spins++) {
		tail = __atomic_load_n(at, __ATOMIC_ACQUIRE);
		if (shmemdi_cqe_is(tail, n, SHMEMHI_RIG_DEPTH)) {
			*c = (shmemhi_completion_t){
				.opcode = shmemdi_cqe_opcode(tail),
				.syndrome = (uint8_t)cqe[SHMEMD_CQE_SYNDROMES + 7],
				.counter = shmemdi_cqe_counter(tail),
				.wqe_opcode = (uint8_t)shmemdi_cqe_wqe_opcode(tail),
			};
			end->n_cqes++;
			return 0;
		}
		if (spins % SPINS == 0)
			sched_yield(); /* the software adapter may need this CPU */
	}
	*c = (shmemhi_completion_t){.opcode = SHMEMD_CQE_INVALID};
	return -1;
}

int shmemhi_finish(shmemhi_end_t *end, shmemhi_completion_t *c)
{
	shmemhi_ring_end(end);
	return shmemhi_next_cqe(end, c) == 0 && c->opcode == SHMEMD_CQE_REQ ? 0 : -1;
}
