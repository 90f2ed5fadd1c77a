/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_BASE_CQE_TEXT_H
#define SHMEMHI_BASE_CQE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* What a NIC said of a request that failed, in words: operation, queue pair, syndromes.
 *
 * index    of the WQE's first block.
 * value    of an error record with SHMEMD_ERR_REFUSED or SHMEMD_ERR_PATH: queue pair << 32 |
 *          opcode << 16 | vendor's syndrome << 8 | syndrome. */
void shmemhi_cqe_text(uint64_t index, uint64_t value, char *text, size_t text_nbytes);

#endif
