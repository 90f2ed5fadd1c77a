/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Checks in kernels, hosts and agents of the emulator: a failed check ends the run, and the report
 * contains it. */
#ifndef TESTS_SIM_CHECK_H
#define TESTS_SIM_CHECK_H

#include <shmem_sim.h>

#define CHECK(cond)                                                                                \
	do {                                                                                       \
		if (!(cond))                                                                       \
			shmemsim_fail("%s:%d: %s", __FILE__, __LINE__, #cond);                     \
	} while (0)
/* The report has both values as numbers. */
#define CHECK_IS(a, b)                                                                             \
	do {                                                                                       \
		unsigned long long has_ = (unsigned long long)(a),                                 \
				   should_ = (unsigned long long)(b);                              \
		if (has_ != should_)                                                               \
			shmemsim_fail("%s:%d: %s is 0x%llx, not 0x%llx", __FILE__, __LINE__, #a,   \
				      has_, should_);                                              \
	} while (0)

#endif
