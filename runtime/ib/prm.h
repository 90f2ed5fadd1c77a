/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Mailboxes of commands to the adapter: opcodes and fields that the runtime uses, with the names of
 * the PRM. Those of QUERY_HCA_CAP are in caps.c and caps.h.
 *
 * A mailbox is a row of 32-bit big-endian words. A field is two arguments, the bit at which it
 * begins, counted from the highest of the first byte, and its width. Fields of up to 32 bits lie
 * within one word; those of 64 are two words.
 *
 * Source  Adapters Programmer's Reference Manual (PRM); mlx5_ifc.h of the Linux kernel. */
#ifndef SHMEMHI_IB_PRM_H
#define SHMEMHI_IB_PRM_H

#include <stdint.h>

enum shmemhi_prm_opcode {
	SHMEMHI_CREATE_CQ = 0x400,
	SHMEMHI_CREATE_QP = 0x500,
	SHMEMHI_RST2INIT_QP = 0x502,
	SHMEMHI_INIT2RTR_QP = 0x503,
	SHMEMHI_RTR2RTS_QP = 0x504,
	SHMEMHI_2ERR_QP = 0x507,
	SHMEMHI_2RST_QP = 0x50a,
	SHMEMHI_QUERY_QP = 0x50b,
};

/* Lengths in words. LONG: commands that create or connect a queue, and the reply of QUERY_QP.
 * SHORT: the other commands and replies. */
#define SHMEMHI_PRM_LONG (0x110 / 4)
#define SHMEMHI_PRM_SHORT (0x10 / 4)

#define SHMEMHI_PRM_OPCODE 0x00, 16
#define SHMEMHI_PRM_STATUS 0x00, 8 /* of the reply */
#define SHMEMHI_PRM_SYNDROME 0x20, 32
#define SHMEMHI_PRM_NUMBER 0x48, 24 /* of the QP or CQ: reply to CREATE_*, and all later commands */

/* CREATE_CQ */
#define SHMEMHI_CQC 0x80 /* CQ context */
#define SHMEMHI_CQC_DBR_UMEM_VALID SHMEMHI_CQC + 0x06, 1
#define SHMEMHI_CQC_CC SHMEMHI_CQC + 0x0b, 1 /* collapsed: all CQEs in one place */
#define SHMEMHI_CQC_OI SHMEMHI_CQC + 0x0e, 1 /* overrun ignored */
#define SHMEMHI_CQC_DBR_UMEM_ID SHMEMHI_CQC + 0x20, 32
#define SHMEMHI_CQC_LOG_CQ_SIZE SHMEMHI_CQC + 0x63, 5
#define SHMEMHI_CQC_UAR_PAGE SHMEMHI_CQC + 0x68, 24
#define SHMEMHI_CQC_C_EQN SHMEMHI_CQC + 0xb8, 8
#define SHMEMHI_CQC_DBR_ADDR SHMEMHI_CQC + 0x1c0, 64 /* offset in its umem */
#define SHMEMHI_CQ_UMEM_OFFSET 0x280, 64
#define SHMEMHI_CQ_UMEM_ID 0x2c0, 32
#define SHMEMHI_CQ_UMEM_VALID 0x2e0, 1

/* CREATE_QP, commands that change its state, and the reply to QUERY_QP */
#define SHMEMHI_QPC 0xc0                        /* QP context */
#define SHMEMHI_QPC_STATE SHMEMHI_QPC + 0x00, 4 /* of the reply */
#define SHMEMHI_QPC_PM_STATE SHMEMHI_QPC + 0x13, 2
#define SHMEMHI_QPC_PD SHMEMHI_QPC + 0x28, 24
#define SHMEMHI_QPC_MTU SHMEMHI_QPC + 0x40, 3 /* enum ibv_mtu */
#define SHMEMHI_QPC_LOG_MSG_MAX SHMEMHI_QPC + 0x43, 5
#define SHMEMHI_QPC_LOG_SQ_SIZE SHMEMHI_QPC + 0x51, 4 /* WQEBBs */
#define SHMEMHI_QPC_TS_FORMAT SHMEMHI_QPC + 0x58, 2
#define SHMEMHI_QPC_UAR_PAGE SHMEMHI_QPC + 0x68, 24
#define SHMEMHI_QPC_SEND_DBR_MODE SHMEMHI_QPC + 0x80, 2
#define SHMEMHI_QPC_USER_INDEX SHMEMHI_QPC + 0x88, 24
#define SHMEMHI_QPC_REMOTE_QPN SHMEMHI_QPC + 0xa8, 24
#define SHMEMHI_QPC_LOG_SRA_MAX SHMEMHI_QPC + 0x388, 3 /* READs and atomics as requester */
#define SHMEMHI_QPC_RETRY_COUNT SHMEMHI_QPC + 0x38d, 3
#define SHMEMHI_QPC_RNR_RETRY SHMEMHI_QPC + 0x390, 3
#define SHMEMHI_QPC_NEXT_SEND_PSN SHMEMHI_QPC + 0x3c8, 24
#define SHMEMHI_QPC_CQN_SND SHMEMHI_QPC + 0x3e8, 24
#define SHMEMHI_QPC_LOG_RRA_MAX SHMEMHI_QPC + 0x488, 3 /* as responder */
#define SHMEMHI_QPC_ATOMIC_MODE SHMEMHI_QPC + 0x48c, 4
#define SHMEMHI_QPC_RRE SHMEMHI_QPC + 0x490, 1 /* the peer may READ, */
#define SHMEMHI_QPC_RWE SHMEMHI_QPC + 0x491, 1 /* WRITE, */
#define SHMEMHI_QPC_RAE SHMEMHI_QPC + 0x492, 1 /* and ask for atomics */
#define SHMEMHI_QPC_MIN_RNR_NAK SHMEMHI_QPC + 0x4a3, 5
#define SHMEMHI_QPC_NEXT_RCV_PSN SHMEMHI_QPC + 0x4a8, 24
#define SHMEMHI_QPC_CQN_RCV SHMEMHI_QPC + 0x4e8, 24
#define SHMEMHI_QPC_DBR_ADDR SHMEMHI_QPC + 0x500, 64
#define SHMEMHI_QPC_RQ_TYPE SHMEMHI_QPC + 0x565, 3
#define SHMEMHI_QPC_RMSN SHMEMHI_QPC + 0x588, 24 /* of the reply, as the next two */
#define SHMEMHI_QPC_HW_SQ_WQEBB_COUNTER SHMEMHI_QPC + 0x5a0, 16
#define SHMEMHI_QPC_SW_SQ_WQEBB_COUNTER SHMEMHI_QPC + 0x5b0, 16
#define SHMEMHI_QPC_DBR_UMEM_VALID SHMEMHI_QPC + 0x683, 1
#define SHMEMHI_QPC_DBR_UMEM_ID SHMEMHI_QPC + 0x720, 32
#define SHMEMHI_WQ_UMEM_OFFSET 0x800, 64
#define SHMEMHI_WQ_UMEM_ID 0x840, 32
#define SHMEMHI_WQ_UMEM_VALID 0x860, 1

/* The QP context's primary address path */
#define SHMEMHI_ADS (SHMEMHI_QPC + 0xc0)
#define SHMEMHI_ADS_GRH SHMEMHI_ADS + 0x28, 1
#define SHMEMHI_ADS_RLID SHMEMHI_ADS + 0x30, 16
#define SHMEMHI_ADS_ACK_TIMEOUT SHMEMHI_ADS + 0x40, 5
#define SHMEMHI_ADS_SRC_ADDR_INDEX SHMEMHI_ADS + 0x48, 8
#define SHMEMHI_ADS_HOP_LIMIT SHMEMHI_ADS + 0x58, 8
#define SHMEMHI_ADS_TCLASS SHMEMHI_ADS + 0x64, 8
#define SHMEMHI_ADS_RGID_BYTE ((SHMEMHI_ADS + 0x80) / 8) /* 16 bytes as they are */
#define SHMEMHI_ADS_DSCP SHMEMHI_ADS + 0x10a, 6
#define SHMEMHI_ADS_UDP_SPORT SHMEMHI_ADS + 0x110, 16
#define SHMEMHI_ADS_ETH_PRIO SHMEMHI_ADS + 0x121, 3
#define SHMEMHI_ADS_SL SHMEMHI_ADS + 0x124, 4
#define SHMEMHI_ADS_VHCA_PORT_NUM SHMEMHI_ADS + 0x128, 8
#define SHMEMHI_ADS_RMAC_BYTE ((SHMEMHI_ADS + 0x130) / 8) /* 6 bytes as they are */

/* Values */
#define SHMEMHI_PM_MIGRATED 3     /* no alternate path */
#define SHMEMHI_TS_FREE_RUNNING 0 /* the only format if the capability is 0 */
#define SHMEMHI_TS_DEFAULT 1      /* the NIC chooses one it has */
#define SHMEMHI_TS_REAL_TIME 2
#define SHMEMHI_SEND_NO_DBR 1         /* the doorbell carries the producer index */
#define SHMEMHI_RQ_TYPE_NONE 3        /* no receive queue */
#define SHMEMHI_ATOMIC_MODE_8_BYTES 3 /* atomics of up to 8 bytes, masked ones too */
#define SHMEMHI_LOG_MSG_MAX 30        /* SHMEMD_MLX5_MAX_MSG */

void shmemhi_prm_put(uint32_t *mailbox, unsigned bit, unsigned width, uint64_t value);
uint64_t shmemhi_prm_get(const uint32_t *mailbox, unsigned bit, unsigned width);

#endif
