/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Flush of what a NIC has accepted to memory: READs of this PE's own memory by a queue pair of the
 * same port that is connected to itself. PCIe orders the NIC's read after the writes that it issued
 * before. The heap and the CQEs may be in memory of the GPU or of the host, so there is a READ of
 * the heap and one of host memory, with one CQE.
 *
 * A port that is down may not pass packets to itself. Then DUMPs take their place: reads of local
 * memory that need no network. This assumes that 2ERR_QP completes only after the NIC has issued
 * the writes of all requests that the queue pair had accepted. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "ib/failover.h"
#include "ib/store_barrier.h"

#define DEPTH SHMEMD_MIN_DEPTH
#define WQEBBS 2u                  /* of a flush */
#define IN_FLIGHT (DEPTH / WQEBBS) /* flushes */

/* Loopback loses no packets: a READ that is not answered at once never is. */
#define RETRIES 1
#define ACK_TIMEOUT 14 /* 67 ms */

/* CQEs that are missing for longer than this are lost. */
#define CQES_LOST_NS ((uint64_t)100 * 1000 * 1000)

#define RIGHTS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ)

static size_t page_nbytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t queue_nbytes(void)
{
	return (SHMEMD_QUEUE_NBYTES(DEPTH) + page_nbytes() - 1) / page_nbytes() * page_nbytes();
}

/* ---- the queue pair ---- */

/* Connect it to itself, from RESET to RTS. The address of a port that is down cannot be resolved.
 * DUMPs need no address, so a queue pair for DUMPs alone is given the last one that was found. */
static int to_rts(shmemhi_failover_t *s, shmemhi_flusher_t *f)
{
	shmemhi_link_t *link = &f->link;
	const shmemhi_ib_lib_t *lib = &s->ib->lib;
	shmemhi_options_t opt = s->job->opt;
	const shmemhi_qp_info_t self = {link->qpn, link->psn};
	shmemhi_port_info_t port = shmemhi_port_info_of(link->port, 1);
	shmemhi_address_t address;
	int status = shmemhi_link_to_init(lib, link, &s->err);

	opt.ib_retries = RETRIES;
	opt.ib_ack_timeout = ACK_TIMEOUT;
	if (status == SHMEMH_OK && !f->is_local) {
		status = shmemhi_address_find(lib, &opt, link->port, link->pe, &port, &address,
					      &s->err);
		if (status == SHMEMH_OK)
			f->address = address;
	}
	if (status == SHMEMH_OK)
		status = shmemhi_link_to_rtr(lib, &opt, link, &port, &self, &f->address, &s->err);
	if (status == SHMEMH_OK)
		status = shmemhi_link_to_rts(lib, &opt, link, &port, &s->err);
	return status;
}

/* Make it, or make it again. What was posted is lost. */
static int make_qp(shmemhi_failover_t *s, shmemhi_flusher_t *f)
{
	int status;

	f->has_failed = 1;
	/* A late CQE of the old queue pair would count as a flush by the new one. */
	if (!shmemhi_link_destroy(&s->ib->lib, &f->link))
		return shmemhi_fail(&s->err, SHMEMH_ERR_NIC,
				    "%s: the queue pair for flushes cannot be destroyed",
				    f->link.port->name);
	memset(f->memory, 0, queue_nbytes());
	memset(f->memory + SHMEMD_QUEUE_CQES_OFFSET(DEPTH), 0xff, SHMEMD_QUEUE_CQES_OFFSET(DEPTH));
	f->index = f->n_cqes = f->n_posted = f->n_done = f->missing_since = 0;
	f->last = UINT16_MAX;
	f->n_qps++;
	f->link.psn = shmemhi_queue_psn();
	status = shmemhi_link_create_cq(&s->ib->lib, &f->link, &f->mem, &s->err);
	if (status == SHMEMH_OK)
		status = shmemhi_link_create_qp(&s->ib->lib, &f->link, &f->mem, &s->err);
	if (status == SHMEMH_OK)
		status = to_rts(s, f);
	f->has_failed = status != SHMEMH_OK;
	return status;
}

static int open_memory(shmemhi_failover_t *s, shmemhi_flusher_t *f)
{
	const shmemhi_ib_lib_t *lib = &s->ib->lib;
	const shmemhi_open_port_t *port = f->link.port;
	size_t nbytes = queue_nbytes() + page_nbytes();

	f->memory = aligned_alloc(page_nbytes(), nbytes);
	if (!f->memory)
		return shmemhi_fail(&s->err, SHMEMH_ERR_NO_MEMORY, "fail-over: out of memory");
	memset(f->memory, 0, nbytes);
	f->umem = lib->umem_reg(port->context, f->memory, queue_nbytes(), IBV_ACCESS_LOCAL_WRITE);
	f->mr = lib->reg_mr(port->pd, f->memory + queue_nbytes(), page_nbytes(), RIGHTS);
	if (!f->umem || !f->mr)
		return shmemhi_fail(&s->err, SHMEMH_ERR_NIC,
				    "%s: memory for flushes cannot be registered (%s): raise "
				    "ulimit -l, or set SHMEMH_FT=off",
				    port->name, strerror(errno));
	if (!f->link.uar)
		return shmemhi_fail(&s->err, SHMEMH_ERR_NIC,
				    "%s: the NIC has no doorbell register left for flushes: set "
				    "SHMEMH_FT=off",
				    port->name);
	return SHMEMH_OK;
}

int shmemhi_flusher_open(shmemhi_failover_t *s, size_t column)
{
	shmemhi_flusher_t *f = &s->ports[column].flusher;
	int status;

	f->link.port = s->ports[column].open;
	f->link.uar = s->ports[column].uars->flush_uar;
	f->link.pe = s->job->pe;
	status = open_memory(s, f);
	if (status != SHMEMH_OK)
		return status;
	f->link.queue = f->memory;
	f->link.records = f->memory + SHMEMD_QUEUE_RECORD_OFFSET(DEPTH);
	f->link.host_doorbell = f->link.uar->reg_addr;
	f->mem = (shmemhi_link_mem_t){.queue = f->umem,
				      .records = f->umem,
				      .records_offset = SHMEMD_QUEUE_RECORD_OFFSET(DEPTH),
				      .depth = DEPTH};
	return make_qp(s, f);
}

void shmemhi_flusher_close(shmemhi_failover_t *s, size_t column)
{
	shmemhi_flusher_t *f = &s->ports[column].flusher;
	const shmemhi_ib_lib_t *lib = &s->ib->lib;
	bool is_in_use = !shmemhi_link_destroy(lib, &f->link);

	is_in_use |= f->mr && lib->dereg_mr(f->mr) != 0;
	is_in_use |= f->umem && lib->umem_dereg(f->umem) != 0;
	if (!is_in_use) /* else the NIC may still write to it */
		free(f->memory);
	memset(f, 0, sizeof *f);
}

/* ---- posting ---- */

/* Words of a WQE: control segment, remote address, data. A DUMP has no remote address. */
static void post(shmemhi_flusher_t *f, uint64_t addr, const struct ibv_mr *from, bool has_cqe)
{
	uint32_t w[SHMEMD_WQEBB_NBYTES / 4] = {0};
	uint32_t opcode = f->is_local ? SHMEMD_MLX5_DUMP : SHMEMD_MLX5_RDMA_READ;
	uint32_t at = f->is_local ? 4 : 8; /* of the data segment */
	uint64_t own = f->is_local ? addr : (uintptr_t)f->mr->addr + 8;

	w[0] = htobe32((uint32_t)(f->index & 0xffff) << 8 | opcode);
	w[1] = htobe32(f->link.qpn << 8 | (f->is_local ? 2u : 3u));
	w[2] = htobe32(has_cqe ? SHMEMD_MLX5_CQ_UPDATE : 0);
	if (!f->is_local) {
		w[4] = htobe32((uint32_t)(addr >> 32));
		w[5] = htobe32((uint32_t)addr);
		w[6] = htobe32(from->rkey);
	}
	w[at] = htobe32(8);
	w[at + 1] = htobe32(f->is_local ? from->lkey : f->mr->lkey);
	w[at + 2] = htobe32((uint32_t)(own >> 32));
	w[at + 3] = htobe32((uint32_t)own);
	memcpy(f->memory + (f->index++ & (DEPTH - 1)) * SHMEMD_WQEBB_NBYTES, w, sizeof w);
}

static void ring(shmemhi_flusher_t *f)
{
	uint64_t index = f->index & 0xffff;
	uint64_t doorbell = htobe64(index << 40 | (uint64_t)f->link.qpn << 8);

	shmemhi_fence_full(); /* WQEs, then the record, as the NIC observes them */
	__atomic_store_n(shmemhi_send_record(&f->link), htobe32((uint32_t)index), __ATOMIC_RELAXED);
	shmemhi_fence_full(); /* the record, then the doorbell */
	__atomic_store_n((uint64_t *)f->link.host_doorbell, doorbell, __ATOMIC_RELAXED);
	shmemhi_fence_full(); /* it leaves the write-combining buffers now */
}

static void post_flush(const shmemhi_failover_t *s, shmemhi_own_port_t *port)
{
	shmemhi_flusher_t *f = &port->flusher;
	const struct ibv_mr *mr = shmemhi_keys_first_mr(s->ib, (size_t)(port - s->ports));
	uint64_t host = (uintptr_t)f->mr->addr;

	if (mr) /* at address 0 of its region */
		post(f, 0, mr, false);
	else
		post(f, host, f->mr, false);
	post(f, host, f->mr, true);
	ring(f);
	f->n_posted++;
}

/* Read the CQEs that are there. */
static void poll(shmemhi_flusher_t *f)
{
	for (;;) {
		const char *cqe = f->memory + SHMEMD_QUEUE_CQES_OFFSET(DEPTH) +
				  (f->n_cqes & (DEPTH - 1)) * SHMEMD_CQE_NBYTES;
		uint8_t last = __atomic_load_n((const uint8_t *)cqe + SHMEMD_CQE_NBYTES - 1,
					       __ATOMIC_ACQUIRE);

		if (last >> 4 == SHMEMD_CQE_INVALID || (last & 1) != (f->n_cqes / DEPTH & 1))
			return;
		f->n_cqes++;
		f->last = (uint16_t)((uint8_t)cqe[SHMEMD_CQE_TAIL + 4] << 8 |
				     (uint8_t)cqe[SHMEMD_CQE_TAIL + 5]);
		if (last >> 4 == SHMEMD_CQE_REQ && !f->has_failed)
			f->n_done++;
		else
			f->has_failed = 1;
	}
}

/* Before the queue pair is made again. Returns whether everything that was posted has a CQE, so
 * that no doorbell is on its way to the NIC, or whether the missing CQEs count as lost. If READs
 * are not complete, moves the queue pair to ERR. */
static bool settle_or_stop(shmemhi_failover_t *s, shmemhi_flusher_t *f)
{
	poll(f);
	if (!f->n_posted || f->last == (uint16_t)(f->index - 1))
		return true;
	if (!f->is_local) /* READs that do not pass would take until their retries are used up */
		shmemhi_link_to_err(&s->ib->lib, &f->link, &s->err);
	if (!f->missing_since)
		f->missing_since = shmemhi_now();
	return shmemhi_now() - f->missing_since > CQES_LOST_NS;
}

/* Make the queue pair again if it has failed, if READs pass again or no longer, or if the port's
 * address has changed. Returns 1: it can be used; 0: not yet; -1: it cannot be made. */
static int renew(shmemhi_failover_t *s, const shmemhi_own_port_t *port, shmemhi_flusher_t *f)
{
	const int is_moved = port->is_up && f->generation != port->generation;
	int is_local;

	/* A new address of the port needs a new loopback queue pair. */
	f->reads_fail =
		port->is_up && !is_moved && (f->reads_fail || (f->has_failed && !f->is_local));
	is_local = !port->is_up || f->reads_fail;
	if (!f->has_failed && is_local == f->is_local && !is_moved)
		return 1;
	if (!settle_or_stop(s, f))
		return 0;
	f->is_local = is_local;
	if (port->is_up)
		f->generation = port->generation;
	return make_qp(s, f) == SHMEMH_OK ? 1 : -1;
}

int shmemhi_flush(shmemhi_failover_t *s, shmemhi_endpoint_t *e)
{
	shmemhi_own_port_t *port = &s->ports[e->column];
	shmemhi_flusher_t *f = &port->flusher;
	int ready = renew(s, port, f);

	if (ready != 1)
		return ready;
	if (!e->is_flushing || e->flush_qp != f->n_qps) {
		if (f->n_posted - f->n_done >= IN_FLIGHT) {
			poll(f);
			return 0;
		}
		post_flush(s, port);
		e->is_flushing = 1;
		e->flush_qp = f->n_qps;
		e->flush_ticket = f->n_posted;
	}
	poll(f);
	return f->n_done >= e->flush_ticket && !f->has_failed;
}
