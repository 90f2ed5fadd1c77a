/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Why a weakened call is not caught: written in the header, in the comment right above the line of
 * the call, as
 *
 *   weakened VARIANT[, VARIANT ...]: the reason, to the end of the comment or the next "weakened"
 */
#ifndef WEAKEN_REASONS_H
#define WEAKEN_REASONS_H

#include <stdint.h>

/* Read a header; once more does nothing. Exits if it cannot. */
void reasons_read(const char *file);

/* The reason for this variant of the call at file:line, or NULL. */
const char *reasons_find(const char *file, uint32_t line, const char *variant);

/* Print reasons, read and never found, that are for no call or variant. Returns how many. */
int reasons_print_lost(void);

#endif
