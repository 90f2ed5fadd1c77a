/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Entry points of DevX, including the work of libmlx5 and of the kernel's filter before and after a
 * command. */
#include "mlx5sw/devx/devx.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "mlx5sw/engine/faults.h"

/* The function by which a program may send a command. The kernel refuses every other. */
enum route { BY_KERNEL, CREATE, QUERY, MODIFY, GENERAL };

typedef struct rule {
	uint16_t opcode;
	uint8_t route;
	uint16_t in_nbytes, out_nbytes;
	int (*run)(mlx5swi_command_t *cmd);
} rule_t;

#define HEADER MLX5SWI_HEADER_NBYTES
#define CREATE_NBYTES MLX5SWI_CREATE_NBYTES

static const rule_t rules[] = {
	{MLX5SWI_QUERY_HCA_CAP, GENERAL, HEADER, MLX5SWI_CAP_NBYTES, mlx5swi_cmd_query_hca_cap},
	{MLX5SWI_QUERY_ROCE_ADDRESS, GENERAL, HEADER, MLX5SWI_ROCE_ADDRESS_NBYTES,
	 mlx5swi_cmd_query_roce_address},
	{MLX5SWI_QUERY_HCA_VPORT_CONTEXT, GENERAL, HEADER, MLX5SWI_VPORT_NBYTES,
	 mlx5swi_cmd_query_hca_vport},
	{MLX5SWI_CREATE_MKEY, CREATE, CREATE_NBYTES, HEADER, mlx5swi_cmd_create_mkey},
	{MLX5SWI_CREATE_CQ, CREATE, CREATE_NBYTES, HEADER, mlx5swi_cmd_create_cq},
	{MLX5SWI_QUERY_CQ, QUERY, HEADER, MLX5SWI_QUERY_NBYTES, mlx5swi_cmd_query_cq},
	{MLX5SWI_CREATE_QP, CREATE, CREATE_NBYTES, HEADER, mlx5swi_cmd_create_qp},
	{MLX5SWI_RST2INIT, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_INIT2RTR, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_RTR2RTS, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_RTS2RTS, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_SQERR2RTS, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_INIT2INIT, MODIFY, CREATE_NBYTES, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_2ERR, MODIFY, HEADER, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_2RST, MODIFY, HEADER, HEADER, mlx5swi_cmd_change_qp},
	{MLX5SWI_QUERY_QP, QUERY, HEADER, MLX5SWI_QUERY_NBYTES, mlx5swi_cmd_query_qp},
	{MLX5SWI_ALLOC_PD, CREATE, HEADER, HEADER, mlx5swi_cmd_alloc_pd},
	{MLX5SWI_DESTROY_MKEY, BY_KERNEL, 0, 0, NULL},
	{MLX5SWI_DESTROY_CQ, BY_KERNEL, 0, 0, NULL},
	{MLX5SWI_DESTROY_QP, BY_KERNEL, 0, 0, NULL},
	{MLX5SWI_DEALLOC_PD, BY_KERNEL, 0, 0, NULL},
	{MLX5SWI_ALLOC_UAR, BY_KERNEL, 0, 0, NULL},
	{MLX5SWI_CREATE_UMEM, BY_KERNEL, 0, 0, NULL},
};

static const rule_t *find_rule(uint16_t opcode)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].opcode == opcode)
			return &rules[i];
	return NULL;
}

/* Delay a slow command without the lock, so that other threads can run. */
static void take_time(uint64_t ns)
{
	const struct timespec a_while = {0, 20000};

	for (uint64_t end = mlx5swi_now() + ns; mlx5swi_now() < end;) {
		mlx5swi_unlock();
		if (mlx5swi_w->has_thread)
			nanosleep(&a_while, NULL);
		mlx5swi_lock();
	}
}

/* Returns the status with which a fault makes the command fail before it has any effect, or 0. */
static int fault_of(mlx5swi_device_t *dev, uint16_t opcode, uint32_t *syndrome)
{
	uint64_t delay = 0;
	int status = mlx5swi_fault_command(dev, opcode, syndrome, &delay);

	dev->n_commands++;
	if (delay)
		take_time(delay);
	if (status)
		mlx5swi_refuse(status, "a fault makes the command fail");
	return status;
}

static int execute(mlx5swi_command_t *cmd, const rule_t *rule, uint16_t opcode)
{
	if (!rule)
		return mlx5swi_refuse(MLX5SWI_BAD_OP, "opcode 0x%x is unknown", opcode);
	if (cmd->in_nbytes < rule->in_nbytes)
		return mlx5swi_refuse(MLX5SWI_BAD_INPUT_LENGTH,
				      "opcode 0x%x: input of 0x%zx bytes, must be at least 0x%x",
				      opcode, cmd->in_nbytes, rule->in_nbytes);
	if (cmd->out_nbytes < rule->out_nbytes)
		return mlx5swi_refuse(MLX5SWI_BAD_OUTPUT_LENGTH,
				      "opcode 0x%x: output of 0x%zx bytes, must be at least 0x%x",
				      opcode, cmd->out_nbytes, rule->out_nbytes);
	return rule->run(cmd);
}

/* The kernel's filter refuses an opcode that belongs to another function. The device itself answers
 * opcodes that the table does not have. */
static int filter(const mlx5swi_command_t *cmd, const rule_t *rule, enum route route)
{
	uint32_t number;

	if (rule && rule->route != route)
		return mlx5swi_fail(EINVAL, "opcode 0x%x does not go through this function",
				    rule->opcode);
	if (route != MODIFY && route != QUERY)
		return 0;
	number = (uint32_t)mlx5swi_field(cmd->in, MLX5SWI_IN_NUMBER);
	if (rule && (rule->opcode == MLX5SWI_QUERY_CQ ? !cmd->cq || cmd->cq->cqn != number
						      : !cmd->qp || cmd->qp->qpn != number))
		return mlx5swi_fail(EINVAL, "opcode 0x%x names 0x%x: that is not this object",
				    rule->opcode, number);
	return 0;
}

/* Requires the lock. Returns 0 or an errno value; with EREMOTEIO, out contains the status. */
static int carry(mlx5swi_command_t *cmd, enum route route)
{
	const rule_t *rule;
	uint32_t syndrome = 0;
	uint16_t opcode;
	int status, err;

	if (!cmd->in || !cmd->out || cmd->in_nbytes < HEADER || cmd->out_nbytes < HEADER)
		return mlx5swi_fail(EINVAL, "a command and its answer have 16 bytes at least");
	opcode = (uint16_t)mlx5swi_field(cmd->in, MLX5SWI_IN_OPCODE);
	rule = find_rule(opcode);
	err = filter(cmd, rule, route);
	if (!err)
		err = mlx5swi_check_alive(cmd->ctx);
	if (err)
		return err;
	memset(cmd->out, 0, cmd->out_nbytes);
	status = fault_of(cmd->ctx->dev, opcode, &syndrome);
	if (!status)
		status = execute(cmd, rule, opcode);
	if (!status)
		return 0;
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_STATUS, (uint64_t)status);
	mlx5swi_set_field(cmd->out, MLX5SWI_OUT_SYNDROME, syndrome ? syndrome : mlx5swi_syndrome());
	return EREMOTEIO;
}

/* An entry point about an existing object. */
static int enter(mlx5swi_command_t *cmd, enum route route)
{
	mlx5swi_lock();
	return mlx5swi_leave(carry(cmd, route));
}

struct mlx5dv_devx_obj *mlx5dv_devx_obj_create(struct ibv_context *context, const void *in,
					       size_t inlen, void *out, size_t outlen)
{
	mlx5swi_command_t cmd = {.ctx = mlx5swi_context_of(context),
				 .in = in,
				 .out = out,
				 .in_nbytes = inlen,
				 .out_nbytes = outlen};

	return enter(&cmd, CREATE) ? NULL : cmd.made;
}

static int about_object(const struct mlx5dv_devx_obj *obj, mlx5swi_command_t *cmd, enum route route)
{
	cmd->ctx = obj->ctx;
	cmd->qp = obj->qp;
	cmd->cq = obj->cq;
	return enter(cmd, route);
}

int mlx5dv_devx_obj_query(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			  size_t outlen)
{
	mlx5swi_command_t cmd = {.in = in, .out = out, .in_nbytes = inlen, .out_nbytes = outlen};

	return about_object(obj, &cmd, QUERY);
}

int mlx5dv_devx_obj_modify(struct mlx5dv_devx_obj *obj, const void *in, size_t inlen, void *out,
			   size_t outlen)
{
	mlx5swi_command_t cmd = {.in = in, .out = out, .in_nbytes = inlen, .out_nbytes = outlen};

	return about_object(obj, &cmd, MODIFY);
}

int mlx5dv_devx_general_cmd(struct ibv_context *context, const void *in, size_t inlen, void *out,
			    size_t outlen)
{
	mlx5swi_command_t cmd = {.ctx = mlx5swi_context_of(context),
				 .in = in,
				 .out = out,
				 .in_nbytes = inlen,
				 .out_nbytes = outlen};

	return enter(&cmd, GENERAL);
}

/* QPs and CQs of verbs start with their public part. */

static int about_qp(struct ibv_qp *qp, mlx5swi_command_t *cmd, enum route route)
{
	cmd->qp = (mlx5swi_qp_t *)qp;
	cmd->ctx = cmd->qp->ctx;
	return enter(cmd, route);
}

int mlx5dv_devx_qp_query(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	mlx5swi_command_t cmd = {.in = in, .out = out, .in_nbytes = inlen, .out_nbytes = outlen};

	return about_qp(qp, &cmd, QUERY);
}

int mlx5dv_devx_qp_modify(struct ibv_qp *qp, const void *in, size_t inlen, void *out, size_t outlen)
{
	mlx5swi_command_t cmd = {.in = in, .out = out, .in_nbytes = inlen, .out_nbytes = outlen};

	return about_qp(qp, &cmd, MODIFY);
}

int mlx5dv_devx_cq_query(struct ibv_cq *cq, const void *in, size_t inlen, void *out, size_t outlen)
{
	mlx5swi_command_t cmd = {.in = in, .out = out, .in_nbytes = inlen, .out_nbytes = outlen};

	cmd.cq = (mlx5swi_cq_t *)cq;
	cmd.ctx = cmd.cq->ctx;
	return enter(&cmd, QUERY);
}

static int destroy_pd(mlx5swi_pd_t *pd)
{
	if (pd->refs)
		return mlx5swi_refuse(MLX5SWI_BUSY, "PD 0x%x: %u objects use it", pd->pdn,
				      pd->refs);
	mlx5swi_table_remove(&pd->devx.ctx->dev->pds, pd->pdn);
	pd->devx.ctx->refs--;
	free(pd);
	return MLX5SWI_DONE;
}

static int destroy_mr(mlx5swi_mr_t *mr)
{
	mlx5swi_umem_t *umem = mr->devx.umem;
	int status = mlx5swi_mr_destroy(mr);

	if (!status)
		umem->refs--;
	return status;
}

/* Objects of a failed device are released. */
static int destroy(struct mlx5dv_devx_obj *obj)
{
	uint32_t syndrome;
	uint16_t opcode = obj->qp   ? MLX5SWI_DESTROY_QP
			  : obj->cq ? MLX5SWI_DESTROY_CQ
			  : obj->mr ? MLX5SWI_DESTROY_MKEY
				    : MLX5SWI_DEALLOC_PD;
	int status = MLX5SWI_DONE;

	if (!obj->ctx->dev->is_fatal)
		status = fault_of(obj->ctx->dev, opcode, &syndrome);
	if (status)
		return status;
	if (obj->qp)
		return mlx5swi_qp_destroy(obj->qp);
	if (obj->cq)
		return mlx5swi_cq_destroy(obj->cq);
	return obj->mr ? destroy_mr(obj->mr) : destroy_pd(obj->pd);
}

int mlx5dv_devx_obj_destroy(struct mlx5dv_devx_obj *obj)
{
	mlx5swi_lock();
	return mlx5swi_leave(mlx5swi_errno_of(destroy(obj)));
}
