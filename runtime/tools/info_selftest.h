/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#ifndef SHMEMHI_TOOLS_INFO_SELFTEST_H
#define SHMEMHI_TOOLS_INFO_SELFTEST_H

/* shmem-info --selftest; getopt has read that option, its own follow. Returns the exit status: 0:
 * no row fails, or this is PE 1 of two and the test ran to its end; 1: a row fails, or the test
 * could not run, or not to its end; 2: a bad value of --minutes. Or -1: wrong usage. */
int info_selftest(int argc, char **argv);

#endif
