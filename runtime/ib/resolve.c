/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Addresses of peers for new paths. The Linux kernel resolves an address in ibv_create_ah, and the
 * calling thread waits: for about a second if nobody answers. All channels to a PE use the same two
 * ports, so what was found is kept, and so is that nothing was found, for a while: the agent's
 * thread serves other channels meanwhile. An event of the own port, a new address of either port,
 * and a path that failed for no known reason make it look again. */
#include <string.h>
#include "base/clock.h"
#include "ib/standby.h"

/* After this time an address that was not found is looked for again. */
#define AGAIN_NS (4 * SHMEMHI_SECOND)

static shmemhi_resolved_t *entry_of(const shmemhi_standby_t *s, const shmemhi_endpoint_t *e)
{
	return &s->resolved[(size_t)e->column * (size_t)s->job->n_pes + (size_t)e->link->pe];
}

static bool is_current(const shmemhi_own_port_t *port, const shmemhi_resolved_t *r,
		       const shmemhi_port_info_t *peer)
{
	return r->is_there && r->n_seen == port->n_seen && r->generation == port->generation &&
	       r->peer.lid == peer->lid && memcmp(&r->peer.gid, &peer->gid, sizeof peer->gid) == 0;
}

int shmemhi_resolve(shmemhi_standby_t *s, const shmemhi_endpoint_t *e, shmemhi_address_t *address)
{
	const shmemhi_own_port_t *port = &s->ports[e->column];
	shmemhi_resolved_t *r = entry_of(s, e);

	if (!is_current(port, r, &e->peer.port) ||
	    (r->status != SHMEMH_OK && shmemhi_now() - r->at >= AGAIN_NS)) {
		r->status = shmemhi_address_find(&s->ib->lib, &s->job->opt, e->link->nic,
						 e->link->pe, &e->peer.port, &r->address, &s->err);
		r->at = shmemhi_now();
		r->peer = e->peer.port;
		r->n_seen = port->n_seen;
		r->generation = port->generation;
		r->is_there = 1;
	}
	*address = r->address;
	if (r->status == SHMEMH_OK)
		return SHMEMH_OK;
	return shmemhi_fail(&s->err, r->status,
			    "%s: no way to the NIC of PE %d was found shortly "
			    "before",
			    e->link->nic->name, e->link->pe);
}

void shmemhi_resolve_again(shmemhi_standby_t *s, const shmemhi_endpoint_t *e)
{
	if (entry_of(s, e)->status == SHMEMH_OK)
		entry_of(s, e)->is_there = 0;
}
