/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_BASE_CQE_TEXT_H
#define SHMEMHI_BASE_CQE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Text for a request that failed: operation, queue pair, syndromes of its CQE.
 *
 * wqe_counter  of the CQE: where the WQE begins, counted by the queue pair in WQEBBs, mod 2^16.
 * value        of an error record with SHMEMD_ERR_REFUSED or SHMEMD_ERR_PATH: queue pair << 32 |
 *              opcode << 16 | vendor syndrome << 8 | syndrome. */
void shmemhi_cqe_text(uint64_t wqe_counter, uint64_t value, char *text, size_t text_nbytes);

/* The meaning of a syndrome of a CQE, as "transport retries exceeded". Never NULL. */
const char *shmemhi_syndrome_text(uint32_t syndrome);

#endif
