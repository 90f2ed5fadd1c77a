/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "base/cqe_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <shmem_dev/abi/mlx5.h>

static const char *opcode_name(uint32_t opcode)
{
	switch (opcode) {
	case SHMEMD_MLX5_NOP:
		return "NOP";
	case SHMEMD_MLX5_RDMA_WRITE:
		return "RDMA WRITE";
	case SHMEMD_MLX5_RDMA_READ:
		return "RDMA READ";
	case SHMEMD_MLX5_ATOMIC_CS:
		return "compare-and-swap";
	case SHMEMD_MLX5_ATOMIC_FA:
		return "fetch-and-add";
	case SHMEMD_MLX5_ATOMIC_MASKED_CS:
		return "masked compare-and-swap";
	case SHMEMD_MLX5_ATOMIC_MASKED_FA:
		return "masked fetch-and-add";
	case SHMEMD_MLX5_DUMP:
		return "DUMP";
	default:
		return "unknown opcode";
	}
}

const char *shmemhi_syndrome_text(uint32_t syndrome)
{
	switch (syndrome) {
	case SHMEMD_SYNDROME_LOCAL_LENGTH:
		return "local length error";
	case SHMEMD_SYNDROME_LOCAL_QP_OP:
		return "local queue pair operation error";
	case SHMEMD_SYNDROME_LOCAL_PROT:
		return "local protection error";
	case SHMEMD_SYNDROME_WR_FLUSH:
		return "flushed";
	case SHMEMD_SYNDROME_MW_BIND:
		return "memory window bind error";
	case SHMEMD_SYNDROME_BAD_RESP:
		return "bad response";
	case SHMEMD_SYNDROME_LOCAL_ACCESS:
		return "local access error";
	case SHMEMD_SYNDROME_REMOTE_INVAL_REQ:
		return "remote invalid request";
	case SHMEMD_SYNDROME_REMOTE_ACCESS:
		return "remote access error";
	case SHMEMD_SYNDROME_REMOTE_OP:
		return "remote operation error";
	case SHMEMD_SYNDROME_RETRY_EXC:
		return "transport retries exceeded";
	case SHMEMD_SYNDROME_RNR_RETRY_EXC:
		return "receiver not ready, retries exceeded";
	case SHMEMD_SYNDROME_REMOTE_ABORTED:
		return "remote aborted";
	default:
		return "unknown syndrome";
	}
}

/* Vendor syndromes are not documented: others observed these on ConnectX-5 and ConnectX-6. */
static const char *vendor_meaning(uint32_t syndrome, uint32_t vendor)
{
	static const struct {
		uint32_t syndrome, vendor;
		const char *text;
	} seen[] = {
		{SHMEMD_SYNDROME_LOCAL_PROT, 0x33, "local memory that must not be written"},
		{SHMEMD_SYNDROME_LOCAL_PROT, 0x52, "unknown local key"},
		{SHMEMD_SYNDROME_LOCAL_PROT, 0x53, "past the end of the local memory region"},
		{SHMEMD_SYNDROME_WR_FLUSH, 0xf5, "the queue pair was put into its error state"},
		{SHMEMD_SYNDROME_WR_FLUSH, 0xf9,
		 "a request before it failed, or this PE's NIC refused a request of the other PE"},
		{SHMEMD_SYNDROME_REMOTE_INVAL_REQ, 0x8a, "the target's queue pair forbids it"},
		{SHMEMD_SYNDROME_REMOTE_ACCESS, 0x88,
		 "unknown remote key, or an address outside its memory region"},
		{SHMEMD_SYNDROME_RETRY_EXC, 0x81, "no answer from the target"},
		{SHMEMD_SYNDROME_RNR_RETRY_EXC, 0x87, "the target has no receive posted"},
	};

	for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
		if (seen[i].syndrome == syndrome && seen[i].vendor == vendor)
			return seen[i].text;
	return vendor == 0x93 ? "page fault at the target" : NULL;
}

void shmemhi_cqe_text(uint64_t wqe_counter, uint64_t value, char *text, size_t text_nbytes)
{
	uint32_t qpn = (uint32_t)(value >> 32), opcode = (uint32_t)(value >> 16) & 0xff;
	uint32_t vendor = (uint32_t)(value >> 8) & 0xff, syndrome = (uint32_t)value & 0xff;
	const char *meaning = vendor_meaning(syndrome, vendor);

	snprintf(text, text_nbytes,
		 "%s (0x%02" PRIx32 "), WQE %" PRIu64 " of QP 0x%" PRIx32 ": %s (0x%02" PRIx32
		 "), vendor 0x%02" PRIx32 "%s%s",
		 opcode_name(opcode), opcode, wqe_counter, qpn, shmemhi_syndrome_text(syndrome),
		 syndrome, vendor, meaning ? ": " : "", meaning ? meaning : "");
}
