/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Actions and queries of control lines. */
#include "mlx5sw/inject/console.h"
#include "mlx5sw/engine/gpu.h"
#include "mlx5sw/events/events.h"

static mlx5swi_qp_t *next_qp(const mlx5swi_device_t *dev, const request_t *r, uint32_t *i)
{
	while (*i < dev->qps.n) {
		mlx5swi_qp_t *qp = dev->qps.at[(*i)++];
		if (qp && (r->rule.qpn == MLX5SWI_ANY || r->rule.qpn == qp->qpn))
			return qp;
	}
	return NULL;
}

unsigned mlx5swi_port_down(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	mlx5swi_port_set(&dev->port, 0);
	return 1;
}

unsigned mlx5swi_port_up(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	mlx5swi_port_set(&dev->port, 1);
	return !dev->is_fatal;
}

unsigned mlx5swi_device_kill(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	if (dev->is_fatal)
		return 0;
	dev->is_fatal = 1;
	dev->port.is_up = 0; /* packets neither leave nor arrive any more */
	mlx5swi_event_device(dev, IBV_EVENT_DEVICE_FATAL);
	return 1;
}

unsigned mlx5swi_gid_change(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	mlx5swi_port_change_gids(&dev->port);
	mlx5swi_event_port(&dev->port, IBV_EVENT_GID_CHANGE);
	return 1;
}

unsigned mlx5swi_lid_change(mlx5swi_device_t *dev, const request_t *r)
{
	(void)r;
	if (dev->port.is_ethernet)
		return 0;
	mlx5swi_port_change_lid(&dev->port);
	mlx5swi_event_port(&dev->port, IBV_EVENT_LID_CHANGE);
	return 1;
}

unsigned mlx5swi_qps_stop(mlx5swi_device_t *dev, const request_t *r)
{
	unsigned n = 0;
	mlx5swi_qp_t *qp;
	for (uint32_t i = 0; (qp = next_qp(dev, r, &i)) != NULL; n++)
		mlx5swi_qp_error(qp, 0, 0);
	return n;
}

unsigned mlx5swi_mrs_lose(mlx5swi_device_t *dev, const request_t *r)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < dev->mrs.n; i++) {
		mlx5swi_mr_t *mr = dev->mrs.at[i];
		if (!mr || (r->key != MLX5SWI_ANY && r->key != mr->key))
			continue;
		mr->is_lost = 1;
		n++;
	}
	return n;
}

/* Behave as in the first moment of a process's death: its QPs do not respond (first=qp), or its
 * memory is gone (first=mr). */
unsigned mlx5swi_host_kill(mlx5swi_device_t *dev, const request_t *r)
{
	mlx5swi_qp_t *qp;
	if (!r->first_qp)
		mlx5swi_mrs_lose(dev, r);
	for (uint32_t i = 0; r->first_qp && (qp = next_qp(dev, r, &i)) != NULL;) {
		qp->state = MLX5SWI_RST;
		mlx5swi_requester_reset(qp);
		mlx5swi_responder_reset(qp);
	}
	return 1;
}

unsigned mlx5swi_cqes_release(mlx5swi_device_t *dev, const request_t *r)
{
	unsigned n = 0;
	mlx5swi_qp_t *qp;
	for (uint32_t i = 0; (qp = next_qp(dev, r, &i)) != NULL;)
		n += mlx5swi_requester_release(qp);
	return n;
}

void mlx5swi_list_rules(answer_t *a)
{
	for (const mlx5swi_rule_t *r = mlx5swi_rules(); r; r = r->next)
		mlx5swi_print(a, "%s: hit %llu, %s\n", r->text, (unsigned long long)r->n_hits,
			      r->left ? "goes on" : "used up");
}

void mlx5swi_list_reports(answer_t *a)
{
	const char *line;
	for (unsigned i = 0; (line = mlx5sw_report(i)) != NULL; i++)
		mlx5swi_print(a, "%s\n", line);
}

static void show_qp(answer_t *a, const mlx5swi_qp_t *qp)
{
	static const char *const states[] = {"RST", "INIT", "RTR", "RTS", "SQER", "SQD", "ERR"};
	const mlx5sw_qp_counters_t *c = &qp->counters;
	mlx5swi_print(a,
		      "  QP 0x%06x %s to 0x%06x: doorbells %llu, WQEs %llu, packets %llu + %llu "
		      "again, executed %llu, CQEs %llu + %llu with errors\n",
		      qp->qpn, states[qp->state], qp->attr.remote_qpn,
		      (unsigned long long)c->doorbells, (unsigned long long)c->wqes,
		      (unsigned long long)c->packets_sent, (unsigned long long)c->packets_resent,
		      (unsigned long long)c->executed, (unsigned long long)c->cqes,
		      (unsigned long long)c->error_cqes);
}

static void show_gpu(answer_t *a)
{
	const mlx5swi_gpu_counters_t c = mlx5swi_gpu_query();
	if (c.n_waits)
		mlx5swi_print(a, "  GPU memory, all devices: copies %llu, waits %llu of %llu ns\n",
			      (unsigned long long)c.n_copies, (unsigned long long)c.n_waits,
			      (unsigned long long)(c.waited_ns / c.n_waits));
}

void mlx5swi_show_status(answer_t *a, const mlx5swi_device_t *dev, const request_t *r)
{
	const mlx5swi_qp_t *qp;
	mlx5swi_print(a, "host %u mlx5_%u: port %s%s\n", dev->host, dev->index,
		      dev->port.is_up ? "up" : "down", dev->is_fatal ? ", device dead" : "");
	if (dev == &mlx5swi_w->devices[0])
		show_gpu(a);
	for (uint32_t i = 0; (qp = next_qp(dev, r, &i)) != NULL;)
		show_qp(a, qp);
}
