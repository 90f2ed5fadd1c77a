/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/command.h"

#include <errno.h>

static const char *name_of(uint32_t opcode)
{
	switch (opcode) {
	case SHMEMHI_CREATE_CQ:
		return "CREATE_CQ";
	case SHMEMHI_CREATE_QP:
		return "CREATE_QP";
	case SHMEMHI_RST2INIT_QP:
		return "RST2INIT_QP";
	case SHMEMHI_INIT2RTR_QP:
		return "INIT2RTR_QP";
	case SHMEMHI_RTR2RTS_QP:
		return "RTR2RTS_QP";
	case SHMEMHI_2RST_QP:
		return "2RST_QP";
	case SHMEMHI_2ERR_QP:
		return "2ERR_QP";
	case SHMEMHI_QUERY_QP:
		return "QUERY_QP";
	}
	return "command";
}

static const char *meaning_of(uint32_t status)
{
	switch (status) {
	case 0:
		return "refused before the device saw it";
	case 0x1:
		return "internal error";
	case 0x3:
		return "bad parameter";
	case 0x5:
		return "bad resource";
	case 0x6:
		return "busy";
	case 0x8:
		return "limit exceeded: ask for fewer channels (SHMEMH_CHANNELS)";
	case 0xf:
		return "no resources: ask for fewer or smaller queues (SHMEMH_CHANNELS, "
		       "SHMEMH_IB_DEPTH)";
	case 0x10:
		return "bad state of the queue pair";
	}
	return "see the PRM; the kernel's log may say more";
}

static int fail(const shmemhi_link_t *link, const uint32_t *in, const uint32_t *out, int error,
		shmemhi_err_t *err)
{
	uint32_t status = (uint32_t)shmemhi_prm_get(out, SHMEMHI_PRM_STATUS);

	return shmemhi_fail(
		err, SHMEMH_ERR_NIC,
		"%s: %s failed (channel %d to PE %d, QPN 0x%x, errno %d): status "
		"0x%x, syndrome 0x%x: %s",
		link->port->name, name_of((uint32_t)shmemhi_prm_get(in, SHMEMHI_PRM_OPCODE)),
		link->k, link->pe, link->qpn, error, status,
		(uint32_t)shmemhi_prm_get(out, SHMEMHI_PRM_SYNDROME), meaning_of(status));
}

struct mlx5dv_devx_obj *shmemhi_command_create(const shmemhi_ib_lib_t *lib,
					       const shmemhi_link_t *link, const uint32_t *in,
					       uint32_t *number, shmemhi_err_t *err)
{
	uint32_t out[SHMEMHI_PRM_SHORT] = {0};
	struct mlx5dv_devx_obj *obj = lib->obj_create(
		link->port->context, in, SHMEMHI_PRM_LONG * sizeof *in, out, sizeof out);

	if (!obj) {
		fail(link, in, out, errno, err);
		return NULL;
	}
	*number = (uint32_t)shmemhi_prm_get(out, SHMEMHI_PRM_NUMBER);
	return obj;
}

int shmemhi_command_modify(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link, uint32_t *in,
			   size_t n_words, shmemhi_err_t *err)
{
	uint32_t out[SHMEMHI_PRM_SHORT] = {0};
	int error;

	shmemhi_prm_put(in, SHMEMHI_PRM_NUMBER, link->qpn);
	error = lib->obj_modify(link->qp, in, n_words * sizeof *in, out, sizeof out);
	return error ? fail(link, in, out, error, err) : SHMEMH_OK;
}

int shmemhi_command_query(const shmemhi_ib_lib_t *lib, const shmemhi_link_t *link, uint32_t *out,
			  size_t n_words, shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_SHORT] = {0};
	int error;

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, SHMEMHI_QUERY_QP);
	shmemhi_prm_put(in, SHMEMHI_PRM_NUMBER, link->qpn);
	error = lib->obj_query(link->qp, in, sizeof in, out, n_words * sizeof *out);
	return error ? fail(link, in, out, error, err) : SHMEMH_OK;
}
