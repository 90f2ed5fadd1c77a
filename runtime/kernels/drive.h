/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The self-test's kernel: what it is given and what it reports. */
#ifndef SHMEMHI_KERNELS_DRIVE_H
#define SHMEMHI_KERNELS_DRIVE_H

#include <shmem_dev/abi/base.h>

#define SHMEMHI_DRIVE_NAME "shmemhi_drive"

/* What one thread of a kernel does n times: ring the doorbell for the next two WQEs, which the host
 * has posted, wait for their CQE, and load a word of GPU memory, which the first WQE has set to
 * `expected` plus the number of the try. Addresses are those of the device. */
typedef struct shmemhi_drive {
	uint64_t doorbell, record; /* register; send word of the doorbell record */
	uint64_t cqes;             /* ring of `depth` CQEs */
	uint64_t word, expected;
	uint64_t report;     /* shmemhi_drive_report_t, pinned */
	uint64_t timeout_ns; /* of all */
	uint32_t n, index, first_cqe, depth;
	uint32_t qpn_be, reserved;
} shmemhi_drive_t;

typedef struct shmemhi_drive_report {
	uint32_t n_done;  /* tries whose CQE has come */
	uint32_t n_wrong; /* tries after which the word was another one */
	uint32_t opcode;  /* of a CQE that is no success; SHMEMD_CQE_INVALID: none came in time;
			     0: all succeeded */
	uint32_t reserved;
} shmemhi_drive_report_t;

#endif
