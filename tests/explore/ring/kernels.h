/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The functions that the table's rows by RDMA refer to. */
#ifndef RING_KERNELS_H
#define RING_KERNELS_H

#include "ring.h"

void ring_post(const void *params);
void ring_poll(const void *params);
extern const char *const ring_post_variants[], *const ring_poll_variants[];

void ring_flag(const void *params);
void ring_signal(const void *params);
void ring_deferred(const void *params);
void ring_order(const void *params);
void ring_flag_plan(void);
void ring_order_plan(void);
extern const char *const ring_flag_variants[],
	*const ring_signal_variants[], *const ring_later_variants[], *const ring_order_variants[];

void ring_fetch(const void *params);
void ring_late(const void *params);
void ring_fetch_final_check(void);
void ring_late_agent(void);
void ring_late_plan(void);
extern const char *const ring_fetch_variants[], *const ring_late_variants[];

void ring_fail(const void *params);
void ring_fail_agent(void);
void ring_fail_final_check(void);
void ring_fail_plan(void);
extern const char *const ring_fail_variants[];

void ring_switch(const void *params);
void ring_switch_agent(void);
void ring_switch_final_check(void);
void ring_switch_plan(void);
extern const char *const ring_switch_variants[];
/* For other plans and agents with its kernel: traffic in both directions; before all switches; when
 * PE 0 has carried out n orders. */
void ring_switch_both_ways(void);
void ring_switch_begin(void);
void ring_switch_end(uint32_t n);
int ring_switch_awaits_order(
	void);                 /* Do threads wait for an order, and not poll for completions? */
int ring_switch_is_over(void); /* have all threads sent what they send, and seen it complete? */

void ring_fault_plan(void);
void ring_fault_agent(void);

void ring_failover_agent(void);
void ring_failover_plan(void);

void ring_sync(const void *params);
void ring_sync_plan(void);
extern const char *const ring_sync_variants[];

void ring_warp(const void *params);
void ring_warp_plan(void);
extern const char *const ring_warp_variants[];

#endif
