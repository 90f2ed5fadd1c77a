/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_TOOLS_INFO_WATCH_H
#define SHMEMHI_TOOLS_INFO_WATCH_H

/* Print the paths of the process with this number, once or every second until it ends.
 * Returns  exit status: 0; 1: it cannot be read, or has no table (a line says why); -1: pid is not
 *          a number. */
int info_watch(const char *pid, int is_once);

#endif
