/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "hosts.h"

#include <shmem_dev/arch/arch.h>
#include "paths.h"

#define N_ENDPOINTS 24 /* of an end in a run */
#define N_WAITING 16   /* actions, messages */
#define N_HOSTS 6      /* two for each channel */

typedef struct endpoint {
	rig_end_t e;
	uint32_t memory; /* area */
	int is_there;
} endpoint_t;

typedef struct host {
	shmemhi_switch_t machine;
	int pe, peer;
	uint32_t k;
	shmemhi_switch_action_t actions[N_WAITING];
	shmemhi_switch_event_t messages[N_WAITING];
	uint32_t n_actions, n_messages;
	endpoint_t endpoints[N_ENDPOINTS];
	uint32_t n_endpoints, of_path[N_ENDPOINTS]; /* path: its endpoint, */
	uint8_t has_endpoint[N_ENDPOINTS];          /* unless it failed before it had one here */
	uint32_t used;                              /* path that the device uses */
	uint32_t
		retired[RIG_QUEUES_MAX]; /* value of `ready` from which an area may be used again */
	uint32_t n_orders;
	uint64_t n_reports, reported; /* of the device, as this host has seen them */
	int is_preparing, has_order, is_suspicious;
	int given; /* kind of the latest order */
} host_t;

static host_t hosts[N_HOSTS];
static uint32_t n_hosts, n_steps;

/* The other end of its channel. */
static host_t *other(const host_t *h)
{
	return &hosts[(size_t)(h - hosts) ^ 1];
}

/* Events and messages */

static void report(host_t *h, int kind, uint32_t path, uint64_t value)
{
	const shmemhi_switch_event_t event = {kind, path, value};
	int n;

	if (h->n_actions + SHMEMHI_SWITCH_ACTIONS > N_WAITING || h->machine.path + 2 > N_ENDPOINTS)
		shmemsim_fail("a host has too much to do");
	n = shmemhi_switch_event(&h->machine, event, h->actions + h->n_actions);
	h->n_actions += (uint32_t)n;
}

static void receive(host_t *h)
{
	const shmemhi_switch_event_t m = h->messages[0];

	memmove(h->messages, h->messages + 1, --h->n_messages * sizeof(m));
	report(h, m.kind, m.path, m.value);
}

/* Endpoints */

static endpoint_t *endpoint_of(host_t *h, uint32_t path)
{
	return &h->endpoints[h->of_path[path]];
}

static void destroy(endpoint_t *p)
{
	if (p->is_there)
		rig_destroy(&p->e);
	p->is_there = 0;
}

/* Destroy those of earlier paths, which are fenced, but for those that the device uses. */
static void destroy_old(host_t *h)
{
	for (uint32_t path = 0; path < h->machine.path; path++)
		if (path != h->used && path != h->machine.ordered && h->has_endpoint[path])
			destroy(endpoint_of(h, path));
}

/* A memory area that neither an endpoint nor a poster with an old line uses; n_queues: none. */
static uint32_t free_memory(const host_t *h)
{
	const shmemd_channel_t *ch = rig_words(h->pe, h->peer, h->k);
	const uint32_t ready = SHMEMD_READY_INDEX(shmemd_arch_ld_acquire_u64(&ch->ready));
	uint32_t busy = 0, memory = 0;

	for (uint32_t i = 0; i < h->n_endpoints; i++)
		busy |= (uint32_t)h->endpoints[i].is_there << h->endpoints[i].memory;
	while (memory < rig_planned()->n_queues &&
	       (busy >> memory & 1 || (int32_t)(ready - h->retired[memory]) < 0))
		memory++;
	return memory;
}

/* Reserve memory for an endpoint, if there is some. */
static void prepare(host_t *h)
{
	const uint32_t i = h->n_endpoints, memory = free_memory(h);

	if (memory == rig_planned()->n_queues)
		return;
	h->endpoints[i].memory = memory;
	h->endpoints[i].is_there = 1;
	h->n_endpoints++;
	h->is_preparing = 0;
	report(h, SHMEMHI_EV_PREPARED, h->machine.path, i);
}

/* Make endpoint i, of this path. Paths use the two columns of keys in turn. */
static void make_endpoint(host_t *h, uint32_t i, uint32_t path)
{
	const rig_end_t *first = &h->endpoints[0].e;
	endpoint_t *p = &h->endpoints[i];

	p->e = *first;
	p->e.n_switches = i;
	p->e.column = first->column ^ (path & 1);
	p->e.queue = first->queues + p->memory * rig_queue_nbytes();
	if (rig_make_path(&rig_pes[h->pe], &p->e, rig_device_index(0), 0))
		shmemsim_fail("a path cannot be created: %s", mlx5swi_refusal());
	h->of_path[path] = i;
	h->has_endpoint[path] = 1;
}

/* Actions */

static void send_message(host_t *h, const shmemhi_switch_action_t *a)
{
	host_t *to = other(h);

	if (a->message == SHMEMHI_EV_OFFER)
		make_endpoint(h, (uint32_t)a->value, a->path);
	if (to->n_messages == N_WAITING)
		shmemsim_fail("a host has too many messages");
	to->messages[to->n_messages++] = (shmemhi_switch_event_t){a->message, a->path, a->value};
}

static void connect_end(host_t *h, const shmemhi_switch_action_t *a)
{
	const host_t *peer = other(h);

	const rig_end_t *e = &endpoint_of(h, a->path)->e;

	if (rig_is_in_error(e)) { /* it was stopped before */
		report(h, SHMEMHI_EV_FAULT, a->path, 0);
		return;
	}
	rig_join(e, &peer->endpoints[a->value].e);
	report(h, SHMEMHI_EV_CONNECTED, a->path, 0);
}

/* Has a host of this PE given an order that is not carried out? A PE has one word for orders. */
static int is_ordering(int pe)
{
	int is = 0;

	for (uint32_t i = 0; i < n_hosts; i++)
		is |= hosts[i].pe == pe && hosts[i].has_order;
	return is;
}

static void give(host_t *h, const shmemhi_switch_action_t *a)
{
	h->has_order = 1;
	h->given = a->kind;
	if (a->kind == SHMEMHI_ACT_END) {
		rig_give_end(h->pe, h->peer, h->k, (int)a->value);
		return;
	}
	h->n_orders++;
	rig_give(h->pe, h->peer, h->k, &endpoint_of(h, a->path)->e,
		 rig_planned()->epoch + h->n_orders, (uint32_t)a->value);
}

static void fence_step(host_t *h, const shmemhi_switch_action_t *a)
{
	const rig_end_t *e = &endpoint_of(h, a->path)->e;

	switch (a->kind) {
	case SHMEMHI_ACT_STOP:
		rig_stop(e);
		report(h, SHMEMHI_EV_STOPPED, a->path, 0);
		break;
	case SHMEMHI_ACT_DRAIN:
		report(h, SHMEMHI_EV_DRAINED, a->path, 0);
		break;
	case SHMEMHI_ACT_FLUSH:
		rig_flush(h->pe);
		report(h, SHMEMHI_EV_FLUSHED, a->path, 0);
		break;
	default:
		report(h, SHMEMHI_EV_QUERIED, a->path, rig_executed(e));
	}
}

static void act(host_t *h)
{
	const shmemhi_switch_action_t a = h->actions[0];

	if (a.kind == SHMEMHI_ACT_DRAIN && !rig_is_drained(&endpoint_of(h, a.path)->e))
		return;
	if ((a.kind == SHMEMHI_ACT_ORDER || a.kind == SHMEMHI_ACT_END) && is_ordering(h->pe))
		return;
	memmove(h->actions, h->actions + 1, --h->n_actions * sizeof(a));
	switch (a.kind) {
	case SHMEMHI_ACT_SEND:
		send_message(h, &a);
		break;
	case SHMEMHI_ACT_PREPARE:
		h->is_preparing = 1;
		break;
	case SHMEMHI_ACT_CONNECT:
		connect_end(h, &a);
		break;
	case SHMEMHI_ACT_ORDER:
	case SHMEMHI_ACT_END:
		give(h, &a);
		break;
	default:
		fence_step(h, &a);
	}
}

/* What a host notices by itself */

static void look_at_order(host_t *h)
{
	const shmemd_switch_order_t *o = &rig_pes[h->pe].order;

	if (!h->has_order || shmemd_arch_ld_acquire_u64(&o->carried_out) != o->number)
		return;
	h->has_order = 0;
	if (h->given == SHMEMHI_ACT_ORDER) {
		h->retired[endpoint_of(h, h->used)->memory] = o->retired;
		h->used = h->machine.ordered;
	}
	report(h, SHMEMHI_EV_CARRIED_OUT, h->used, 0);
	destroy_old(h);
}

static int has_endpoint(const host_t *h)
{
	return h->machine.phase >= SHMEMHI_OFFERED && h->machine.phase <= SHMEMHI_RUNNING;
}

/* As QUERY_QP shows it; only if there is a reason to look. */
static void look_at_queue_pair(host_t *h)
{
	if (!h->is_suspicious || !has_endpoint(h) || h->n_actions)
		return;
	h->is_suspicious = 0;
	if (rig_is_in_error(&endpoint_of(h, h->machine.path)->e))
		report(h, SHMEMHI_EV_FAULT, h->machine.path, 0);
}

/* The path whose endpoint here has this queue pair, UINT32_MAX: none. */
static uint32_t path_of(host_t *h, uint32_t qpn)
{
	for (uint32_t path = 0; path <= h->machine.path; path++)
		if (h->has_endpoint[path] && endpoint_of(h, path)->is_there &&
		    endpoint_of(h, path)->e.qp->qpn == qpn)
			return path;
	return UINT32_MAX;
}

/* What the device has found (abi/fault.h). */
static void look_at_reports(host_t *h)
{
	shmemd_faults_t *faults = rig_pes[h->pe].ctx.faults;
	const uint64_t n = shmemd_arch_ld_acquire_u64(&faults->n_reports);
	uint64_t word;
	uint32_t path;

	if (n == h->n_reports || h->n_actions > N_WAITING / 2)
		return;
	h->n_reports = n;
	word = shmemd_arch_ld_relaxed_u64(SHMEMD_FAULT_REPORT(
		faults, (uint32_t)rig_planned()->n_pes, h->k, (uint32_t)h->peer));
	if (word == h->reported)
		return;
	h->reported = word;
	path = path_of(h, SHMEMD_FAULT_QPN(word));
	if (SHMEMD_FAULT_KIND(word) == SHMEMD_FAULT_SUSPECT)
		h->is_suspicious = 1;
	if (SHMEMD_FAULT_KIND(word) == SHMEMD_FAULT_REFUSED)
		report(h, SHMEMHI_EV_REFUSED, path, SHMEMD_ERR_REFUSED);
	if (SHMEMD_FAULT_KIND(word) != SHMEMD_FAULT_SUSPECT)
		report(h, SHMEMHI_EV_FAULT, path, 0);
}

/* For the agent */

static void open_host(host_t *h, int pe, int peer, uint32_t k)
{
	memset(h, 0, sizeof(*h));
	h->pe = pe;
	h->peer = peer;
	h->k = k;
	shmemhi_switch_init(&h->machine);
	h->endpoints[0].e = rig_path(rig_channel(pe, peer, k));
	h->endpoints[0].is_there = h->has_endpoint[0] = 1;
	h->n_endpoints = 1;
	for (uint32_t i = 0; i < RIG_QUEUES_MAX; i++)
		h->retired[i] = SHMEMD_READY_INDEX(
			shmemd_arch_ld_relaxed_u64(&rig_words(pe, peer, k)->ready));
}

void rig_hosts_open(int pe, int peer, uint32_t k)
{
	n_hosts = n_steps = 0;
	rig_hosts_add(pe, peer, k);
}

void rig_hosts_add(int pe, int peer, uint32_t k)
{
	if (n_hosts + 2 > N_HOSTS)
		shmemsim_fail("too many channels for the hosts");
	open_host(&hosts[n_hosts++], pe, peer, k);
	open_host(&hosts[n_hosts++], peer, pe, k);
}

void rig_hosts_step(void)
{
	/* Without a choice (replays of few choices), each has its turn. */
	const uint32_t n = n_steps++;
	host_t *h = &hosts[(n + shmemsim_choose(n_hosts)) % n_hosts];

	switch ((n / n_hosts + shmemsim_choose(4)) % 4) {
	case 0:
		if (h->n_messages)
			receive(h);
		break;
	case 1:
		look_at_order(h);
		look_at_reports(h);
		look_at_queue_pair(h);
		if (h->is_preparing) {
			destroy_old(h);
			prepare(h);
		}
		break;
	default:
		if (h->n_actions)
			act(h);
	}
}

void rig_hosts_fault(int end)
{
	report(&hosts[end], SHMEMHI_EV_FAULT, hosts[end].machine.path, 0);
}

void rig_hosts_stop(int end)
{
	host_t *h = &hosts[end];

	if (h->has_endpoint[h->machine.path])
		rig_stop(&endpoint_of(h, h->machine.path)->e);
}

static int is_idle(const host_t *h)
{
	const int is_open = h->machine.phase == SHMEMHI_RUNNING && h->used == h->machine.path;

	return (is_open || h->machine.phase == SHMEMHI_CLOSED || h->machine.is_ended) &&
	       !h->n_actions && !h->n_messages && !h->has_order;
}

int rig_hosts_are_idle(void)
{
	int is = 1;

	for (uint32_t i = 0; i < n_hosts; i++)
		is &= is_idle(&hosts[i]);
	return is;
}

uint32_t rig_hosts_orders(int end)
{
	return hosts[end].n_orders;
}

uint32_t rig_hosts_path(void)
{
	const uint32_t a = hosts[0].machine.path, b = hosts[1].machine.path;

	return (int32_t)(a - b) > 0 ? a : b;
}

int rig_hosts_phase(int end)
{
	return hosts[end].machine.phase;
}
