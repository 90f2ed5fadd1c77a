/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Fault rules, and the packets that they hold. */
#include "mlx5sw/inject/fault.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "mlx5sw/core/core.h"

typedef struct held {
	struct held *next;
	mlx5swi_port_t *port; /* port of the sender */
	mlx5swi_packet_t *packet;
	uint64_t due; /* UINT64_MAX: until it is released */
	int until_error;
} held_t;

struct mlx5swi_faults {
	mlx5swi_rule_t *rules;
	held_t *held;
	int is_exempt; /* no rule applies to the packets sent now: they were held, or are copies */
};

static struct mlx5swi_faults *faults(void)
{
	if (!mlx5swi_w->faults)
		mlx5swi_w->faults = calloc(1, sizeof(*mlx5swi_w->faults));
	return mlx5swi_w->faults;
}

int mlx5swi_rule_add(const mlx5swi_rule_t *rule)
{
	mlx5swi_rule_t *r = malloc(sizeof(*r)), **end;
	if (!r || !faults()) {
		free(r);
		return ENOMEM;
	}
	*r = *rule;
	r->next = NULL;
	for (end = &faults()->rules; *end; end = &(*end)->next)
		;
	*end = r;
	return 0;
}

void mlx5swi_rules_clear(void)
{
	mlx5swi_rule_t *r = mlx5swi_w->faults ? mlx5swi_w->faults->rules : NULL, *next;
	for (; r; r = next) {
		next = r->next;
		free(r);
	}
	if (mlx5swi_w->faults)
		mlx5swi_w->faults->rules = NULL;
}

const mlx5swi_rule_t *mlx5swi_rules(void)
{
	return mlx5swi_w->faults ? mlx5swi_w->faults->rules : NULL;
}

/* The properties of an event that a rule can match. */
typedef struct event {
	const mlx5swi_device_t *dev;
	uint32_t qpn, index, opcode;
	uint32_t kind; /* 1 << mlx5swi_kind; 0: not a packet */
} event_t;

static bool is_or_any(uint32_t wanted, uint32_t value)
{
	return wanted == MLX5SWI_ANY || wanted == value;
}

static bool fits(const mlx5swi_rule_t *r, const event_t *e)
{
	return is_or_any(r->host, e->dev->host) && is_or_any(r->device, e->dev->index) &&
	       is_or_any(r->qpn, e->qpn) && is_or_any(r->index, e->index) &&
	       is_or_any(r->opcode, e->opcode) && (!r->kind || r->kind & e->kind);
}

/* Find the first rule of this kind that hits the event. Each rule examined before it counts the
 * event. */
static const mlx5swi_rule_t *hit(int fault, const event_t *e)
{
	mlx5swi_rule_t *r = mlx5swi_w->faults ? mlx5swi_w->faults->rules : NULL;
	for (; r; r = r->next) {
		if (r->fault != fault || !r->left || !fits(r, e))
			continue;
		if (r->after) {
			r->after--;
			continue;
		}
		r->left -= r->left != UINT64_MAX;
		r->n_hits++;
		return r;
	}
	return NULL;
}

/* Packets */

static bool hold(mlx5swi_port_t *port, mlx5swi_packet_t *p, uint64_t due, int until_error)
{
	held_t *h = malloc(sizeof(*h)), **end;
	if (!h)
		return false; /* the packet is sent at once */
	h->next = NULL;
	h->port = port;
	h->packet = p;
	h->due = due;
	h->until_error = until_error;
	for (end = &mlx5swi_w->faults->held; *end; end = &(*end)->next)
		;
	*end = h;
	return true;
}

static void duplicate(mlx5swi_port_t *port, const mlx5swi_packet_t *p)
{
	mlx5swi_packet_t *copy = mlx5swi_packet_copy(p);
	if (!copy)
		return;
	mlx5swi_w->faults->is_exempt = 1;
	mlx5swi_port_send(port, copy);
	mlx5swi_w->faults->is_exempt = 0;
}

bool mlx5swi_fault_packet(mlx5swi_port_t *port, mlx5swi_packet_t **p)
{
	const struct mlx5swi_faults *f = mlx5swi_w->faults;
	if (!f || f->is_exempt)
		return false;
	event_t e = {port->dev, (*p)->sqpn, MLX5SWI_ANY, MLX5SWI_ANY, 1u << (*p)->kind};
	const mlx5swi_rule_t *r = hit(MLX5SWI_DROP, &e);
	if (r) {
		mlx5swi_packet_free(*p);
		return true;
	}
	r = hit(MLX5SWI_HOLD, &e);
	if (r)
		return hold(port, *p, UINT64_MAX, r->until_error);
	r = hit(MLX5SWI_DELAY, &e);
	if (r)
		return hold(port, *p, mlx5swi_now() + r->ns, 0);
	if (hit(MLX5SWI_DUPLICATE, &e))
		duplicate(port, *p);
	return false;
}

static void send_held(held_t **at)
{
	held_t *h = *at;
	*at = h->next;
	mlx5swi_w->faults->is_exempt = 1;
	mlx5swi_port_send(h->port, h->packet);
	mlx5swi_w->faults->is_exempt = 0;
	free(h);
}

unsigned mlx5swi_release_held(void)
{
	unsigned n = 0;
	for (; mlx5swi_w->faults && mlx5swi_w->faults->held; n++)
		send_held(&mlx5swi_w->faults->held);
	return n;
}

void mlx5swi_fault_failed(const mlx5swi_qp_t *qp)
{
	held_t **at = mlx5swi_w->faults ? &mlx5swi_w->faults->held : NULL;
	while (at && *at)
		if ((*at)->until_error && (*at)->port->dev == qp->dev &&
		    (*at)->packet->sqpn == qp->qpn)
			send_held(at);
		else
			at = &(*at)->next;
}

unsigned mlx5swi_faults_run(void)
{
	held_t **at = mlx5swi_w->faults ? &mlx5swi_w->faults->held : NULL;
	unsigned n = mlx5swi_script_run();
	uint64_t now = at && *at ? mlx5swi_now() : 0;
	while (at && *at)
		if ((*at)->due <= now) {
			send_held(at);
			n++;
		} else {
			at = &(*at)->next;
		}
	return n;
}

uint64_t mlx5swi_faults_deadline(void)
{
	const held_t *h = mlx5swi_w->faults ? mlx5swi_w->faults->held : NULL;
	uint64_t first = mlx5swi_script_deadline();
	for (; h; h = h->next)
		first = h->due < first ? h->due : first;
	return first;
}

/* Queues */

bool mlx5swi_fault_doorbell(mlx5swi_qp_t *qp)
{
	event_t e = {qp->dev, qp->qpn, MLX5SWI_ANY, MLX5SWI_ANY, 0};
	return qp->dev->is_fatal || hit(MLX5SWI_LOSE_DOORBELL, &e) != NULL;
}

bool mlx5swi_fault_cqe(mlx5swi_qp_t *qp, const mlx5swi_cqe_t *cqe, uint64_t *delay)
{
	event_t e = {qp->dev, qp->qpn, cqe->wqe_counter, cqe->wqe_opcode, 0};
	if (qp->dev->is_fatal || hit(MLX5SWI_LOSE_CQE, &e))
		return true;
	if (!delay)
		return false;
	const mlx5swi_rule_t *r = hit(MLX5SWI_DELAY_CQE, &e);
	*delay = hit(MLX5SWI_HOLD_CQE, &e) ? UINT64_MAX : r ? r->ns : 0;
	return false;
}

uint8_t mlx5swi_fault_wqe(mlx5swi_qp_t *qp, uint16_t index, uint8_t opcode, uint8_t *vendor)
{
	event_t e = {qp->dev, qp->qpn, index, opcode, 0};
	const mlx5swi_rule_t *r = hit(MLX5SWI_FAIL_WQE, &e);
	if (r)
		*vendor = r->vendor;
	return r ? (uint8_t)r->syndrome : 0;
}

bool mlx5swi_fault_stop(mlx5swi_qp_t *qp, uint16_t index, uint8_t opcode)
{
	event_t e = {qp->dev, qp->qpn, index, opcode, 0};
	return hit(MLX5SWI_STOP_AT_WQE, &e) != NULL;
}

uint32_t mlx5swi_fault_place(mlx5swi_qp_t *qp, const mlx5swi_packet_t *p)
{
	event_t e = {qp->dev, qp->qpn, MLX5SWI_ANY, MLX5SWI_ANY, 1u << p->kind};
	const mlx5swi_rule_t *r = hit(MLX5SWI_PARTIAL, &e);
	return r ? r->nbytes : UINT32_MAX;
}

/* Commands */

int mlx5swi_fault_command(mlx5swi_device_t *dev, uint16_t opcode, uint32_t *syndrome,
			  uint64_t *delay)
{
	event_t e = {dev, MLX5SWI_ANY, MLX5SWI_ANY, opcode, 0};
	const mlx5swi_rule_t *slow = hit(MLX5SWI_DELAY_COMMAND, &e);
	const mlx5swi_rule_t *r = hit(MLX5SWI_FAIL_COMMAND, &e);
	*delay = slow ? slow->ns : 0;
	*syndrome = r ? r->syndrome : 0;
	if (dev->is_fatal)
		return MLX5SWI_INTERNAL;
	return r ? r->status : 0;
}

/* Start and stop */

int mlx5swi_faults_start(void)
{
	const char *path = getenv("MLX5SW_SCRIPT");
	mlx5swi_w->faults = NULL; /* allocated with the first rule: most runs have none */
	return mlx5swi_w->has_thread && path ? mlx5swi_script_open(path) : 0;
}

void mlx5swi_faults_stop(void)
{
	held_t *h = mlx5swi_w->faults ? mlx5swi_w->faults->held : NULL, *next;
	for (; h; h = next) {
		next = h->next;
		mlx5swi_packet_free(h->packet);
		free(h);
	}
	mlx5swi_script_close();
	mlx5swi_rules_clear();
	free(mlx5swi_w->faults);
	mlx5swi_w->faults = NULL;
}
