/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* States of RC queue pairs: the transitions of the verbs specification that mlx5 has. It has none
 * to or from SQD, and SQE is for unreliable services. */
#include "mlx5sw/engine/engine.h"

#include <string.h>
#include "mlx5sw/control/control.h"

#define MAX_PSN 0xffffffu
#define MAX_ATOMIC_MODE 3 /* up to 8 bytes, masked ones too */

typedef struct transition {
	uint8_t from, to;
	uint32_t required, optional;
} transition_t;

#define PORT MLX5SWI_ATTR_PORT
#define PKEY MLX5SWI_ATTR_PKEY
#define ACCESS (MLX5SWI_ATTR_ACCESS | MLX5SWI_ATTR_ATOMIC_MODE)
#define TO_RTR                                                                                     \
	(MLX5SWI_ATTR_AV | MLX5SWI_ATTR_MTU | MLX5SWI_ATTR_DEST_QPN | MLX5SWI_ATTR_RQ_PSN |        \
	 MLX5SWI_ATTR_RRA | MLX5SWI_ATTR_MIN_RNR)
#define TO_RTS                                                                                     \
	(MLX5SWI_ATTR_SQ_PSN | MLX5SWI_ATTR_SRA | MLX5SWI_ATTR_RETRY | MLX5SWI_ATTR_RNR_RETRY |    \
	 MLX5SWI_ATTR_TIMEOUT)

/* A transition to RESET (from every state) or to ERR (from every state but RESET) takes no
 * attributes. */
static const transition_t transitions[] = {
	{MLX5SWI_RST, MLX5SWI_INIT, PORT | PKEY | MLX5SWI_ATTR_ACCESS, ACCESS},
	{MLX5SWI_INIT, MLX5SWI_INIT, 0, PORT | PKEY | ACCESS},
	{MLX5SWI_INIT, MLX5SWI_RTR, TO_RTR, PKEY | ACCESS | MLX5SWI_ATTR_MSG_MAX},
	{MLX5SWI_RTR, MLX5SWI_RTS, TO_RTS, ACCESS | MLX5SWI_ATTR_MIN_RNR},
	{MLX5SWI_RTS, MLX5SWI_RTS, 0, ACCESS | MLX5SWI_ATTR_MIN_RNR},
};

static const char *name(int state)
{
	static const char *const names[] = {"RESET", "INIT", "RTR", "RTS", "SQE", "SQD", "ERR"};

	return state >= 0 && state <= MLX5SWI_ERR ? names[state] : "?";
}

static const transition_t *find(int from, int to)
{
	static const transition_t bare;

	if (to == MLX5SWI_RST || (to == MLX5SWI_ERR && from != MLX5SWI_RST))
		return &bare;
	for (size_t i = 0; i < sizeof(transitions) / sizeof(transitions[0]); i++)
		if (transitions[i].from == from && transitions[i].to == to)
			return &transitions[i];
	return NULL;
}

static int check_given(const mlx5swi_qp_t *qp, int to, uint32_t given)
{
	const transition_t *t = find(qp->state, to);
	uint32_t optional;

	if (!t)
		return mlx5swi_refuse(MLX5SWI_BAD_QP_STATE, "QP 0x%x: no transition from %s to %s",
				      qp->qpn, name(qp->state), name(to));
	optional = t->optional;
	if (given & MLX5SWI_BY_COMMAND && to == MLX5SWI_RTS && qp->state == MLX5SWI_RTS)
		optional |= MLX5SWI_ATTR_AV;
	given &= ~MLX5SWI_BY_COMMAND;
	if (t->required & ~given)
		return mlx5swi_refuse(MLX5SWI_BAD_PARAM,
				      "QP 0x%x, %s to %s: attributes 0x%x are missing", qp->qpn,
				      name(qp->state), name(to), t->required & ~given);
	if (given & ~(t->required | optional))
		return mlx5swi_refuse(
			MLX5SWI_BAD_PARAM, "QP 0x%x, %s to %s: attributes 0x%x cannot be set here",
			qp->qpn, name(qp->state), name(to), given & ~(t->required | optional));
	return MLX5SWI_DONE;
}

bool mlx5swi_is_rate(uint8_t rate)
{
	return rate == IBV_RATE_MAX || (rate >= IBV_RATE_2_5_GBPS && rate <= IBV_RATE_1200_GBPS);
}

/* Returns the name of the value that is out of its range, for the refusal; NULL: none is. */
static const char *bad_path(const mlx5swi_port_t *port, const mlx5swi_path_t *path)
{
	if (!mlx5swi_is_rate(path->static_rate))
		return "stat_rate";
	if (path->sl > (port->is_ethernet ? 7 : 15))
		return "sl";
	if (path->is_global > 1 || (port->is_ethernet && !path->is_global))
		return "grh";
	if (path->is_global && path->sgid_index >= MLX5SWI_N_GIDS)
		return "src_addr_index";
	if (path->flow_label > 0xfffff)
		return "flow_label";
	if (path->dscp > 63)
		return "dscp";
	return NULL;
}

static const char *bad_access(const mlx5swi_qp_attr_t *a, uint32_t given)
{
	if (given & MLX5SWI_ATTR_ACCESS && (a->rwe > 1 || a->rre > 1 || a->rae > 1))
		return "access flags";
	if (given & MLX5SWI_ATTR_ATOMIC_MODE && a->atomic_mode > MAX_ATOMIC_MODE)
		return "atomic_mode";
	return NULL;
}

/* The same for attributes that are numbers. */
static const char *bad_number(const mlx5swi_port_t *port, const mlx5swi_qp_attr_t *a,
			      uint32_t given)
{
	const struct {
		uint32_t attr, value, min, max;
		const char *name;
	} numbers[] = {
		{PORT, a->path.port, 1, 1, "port"},
		{PKEY, a->path.pkey_index, 0, 0, "pkey_index"},
		{MLX5SWI_ATTR_MTU, a->mtu, 1, port->mtu, "mtu"},
		{MLX5SWI_ATTR_MSG_MAX, a->log_msg_max, 0, MLX5SWI_LOG_MAX_MSG, "log_msg_max"},
		{MLX5SWI_ATTR_DEST_QPN, a->remote_qpn, 0, 0xffffff, "remote_qpn"},
		{MLX5SWI_ATTR_RQ_PSN, a->next_rcv_psn, 0, MAX_PSN, "next_rcv_psn"},
		{MLX5SWI_ATTR_RRA, a->log_rra_max, 0, MLX5SWI_LOG_MAX_RA, "log_rra_max"},
		{MLX5SWI_ATTR_MIN_RNR, a->min_rnr_nak, 0, 31, "min_rnr_nak"},
		{MLX5SWI_ATTR_SQ_PSN, a->next_send_psn, 0, MAX_PSN, "next_send_psn"},
		{MLX5SWI_ATTR_SRA, a->log_sra_max, 0, MLX5SWI_LOG_MAX_RA, "log_sra_max"},
		{MLX5SWI_ATTR_RETRY, a->retry_count, 0, 7, "retry_count"},
		{MLX5SWI_ATTR_RNR_RETRY, a->rnr_retry, 0, 7, "rnr_retry"},
		{MLX5SWI_ATTR_TIMEOUT, a->path.ack_timeout, 0, 31, "ack_timeout"},
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (given & numbers[i].attr &&
		    (numbers[i].value < numbers[i].min || numbers[i].value > numbers[i].max))
			return numbers[i].name;
	return NULL;
}

static int check_ranges(const mlx5swi_qp_t *qp, const mlx5swi_qp_attr_t *a, uint32_t given)
{
	const mlx5swi_port_t *port = &qp->dev->port;
	const char *bad = bad_number(port, a, given);

	if (!bad)
		bad = bad_access(a, given);
	if (!bad && given & MLX5SWI_ATTR_AV)
		bad = bad_path(port, &a->path);
	if (!bad)
		return MLX5SWI_DONE;
	return mlx5swi_refuse(MLX5SWI_BAD_PARAM, "QP 0x%x: %s is out of its range", qp->qpn, bad);
}

/* Copy the address. Port, P_Key and timeout are separate attributes. */
static void take_path(mlx5swi_path_t *to, const mlx5swi_path_t *from)
{
	uint8_t port = to->port, ack_timeout = to->ack_timeout;
	uint16_t pkey_index = to->pkey_index;

	*to = *from;
	to->port = port;
	to->ack_timeout = ack_timeout;
	to->pkey_index = pkey_index;
}

static void take(mlx5swi_qp_attr_t *to, const mlx5swi_qp_attr_t *from, uint32_t given)
{
#define TAKE(attr, field)                                                                          \
	if (given & MLX5SWI_ATTR_##attr)                                                           \
	to->field = from->field
	if (given & MLX5SWI_ATTR_AV)
		take_path(&to->path, &from->path);
	TAKE(PORT, path.port);
	TAKE(PKEY, path.pkey_index);
	TAKE(ACCESS, rwe);
	TAKE(ACCESS, rre);
	TAKE(ACCESS, rae);
	TAKE(ATOMIC_MODE, atomic_mode);
	TAKE(MTU, mtu);
	TAKE(MSG_MAX, log_msg_max);
	TAKE(DEST_QPN, remote_qpn);
	TAKE(RQ_PSN, next_rcv_psn);
	TAKE(RRA, log_rra_max);
	TAKE(MIN_RNR, min_rnr_nak);
	TAKE(SQ_PSN, next_send_psn);
	TAKE(SRA, log_sra_max);
	TAKE(RETRY, retry_count);
	TAKE(RNR_RETRY, rnr_retry);
	TAKE(TIMEOUT, path.ack_timeout);
#undef TAKE
}

/* The attributes that the Linux driver gives a QP of verbs. A DevX command gives its own. */
void mlx5swi_qp_reset_attr(mlx5swi_qp_t *qp)
{
	memset(&qp->attr, 0, sizeof(qp->attr));
	qp->attr.atomic_mode = MAX_ATOMIC_MODE;
	qp->attr.log_msg_max = MLX5SWI_LOG_MAX_MSG;
}

/* Reset the QP. Its CQEs and doorbell records are memory of the program and stay unchanged. */
static void reset(mlx5swi_qp_t *qp)
{
	/* A doorbell that was written before the command reaches a NIC before it. The device's
	 * thread may not have run since (row D11). */
	mlx5swi_doorbells_take(qp->uar);
	qp->state = MLX5SWI_RST;
	mlx5swi_qp_reset_attr(qp);
	mlx5swi_requester_reset(qp);
	mlx5swi_responder_reset(qp);
}

int mlx5swi_qp_modify(mlx5swi_qp_t *qp, int to, const mlx5swi_qp_attr_t *attr, uint32_t given)
{
	int from = qp->state, status = check_given(qp, to, given);

	if (!status && given & ~MLX5SWI_BY_COMMAND)
		status = check_ranges(qp, attr, given);
	if (status)
		return status;
	if (to == MLX5SWI_RST) {
		reset(qp);
	} else if (to == MLX5SWI_ERR) {
		mlx5swi_qp_error(qp, 0, 0);
	} else {
		take(&qp->attr, attr, given);
		qp->state = (uint8_t)to;
		if (to == MLX5SWI_RTR)
			mlx5swi_responder_state(qp);
		if (to == MLX5SWI_RTS && from != MLX5SWI_RTS)
			mlx5swi_requester_state(qp);
	}
	return MLX5SWI_DONE;
}
