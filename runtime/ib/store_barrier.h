/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A fence for stores that a NIC observes. */
#ifndef SHMEMHI_IB_STORE_BARRIER_H
#define SHMEMHI_IB_STORE_BARRIER_H

#include <stdatomic.h>

/* Order all stores, also as a device observes them. On Arm the fence of C11 orders only what CPUs
 * observe. */
static inline void shmemhi_fence_full(void)
{
#ifdef __aarch64__
	__asm__ volatile("dsb sy" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
