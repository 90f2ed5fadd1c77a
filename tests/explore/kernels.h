/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The functions that the table of scenarios refers to: kernels, their variants, agents, checks at
 * the end. */
#ifndef KERNELS_H
#define KERNELS_H

void put_signal(const void *params);
void signal_op(const void *params);
void packed(const void *params);
void relay(const void *params);
extern const char *const put_signal_variants[],
	*const signal_op_variants[], *const packed_variants[], *const relay_variants[];

void wait_sets(const void *params);
void iput(const void *params);
void iget(const void *params);
extern const char *const wait_sets_variants[], *const strided_variants[];

void order(const void *params);
void quiet(const void *params);
void quiet_final_check(void);
extern const char *const order_variants[], *const quiet_variants[];

void put(const void *params);
void get(const void *params);
void bulk(const void *params);
void grid(const void *params);
void grid_plan(void);
extern const char *const put_variants[], *const get_variants[], *const bulk_variants[],
									*const grid_variants[];

void sync_(const void *params);
void barrier(const void *params);
extern const char *const sync_variants[];

void team_barrier(const void *params);
extern const char *const team_barrier_variants[];

void amo_u32(const void *params);
void amo_u64(const void *params);
void amo_fetch_u32(const void *params);
void amo_fetch_u64(const void *params);
void amo_u32_final_check(void);
void amo_u64_final_check(void);
void amo_fetch_u32_final_check(void);
void amo_fetch_u64_final_check(void);
extern const char *const amo_variants[], *const amo_fetch_variants[];

void gone(const void *params);
void failed_cause(const void *params);
void gone_agent(void);
extern const char *const gone_variants[], *const failed_cause_variants[];

void latch(const void *params);
void mismatch(const void *params);
void latch_agent(void);
void latch_final_check(void);
extern const char *const latch_variants[], *const mismatch_variants[];

void orders(const void *params);
void orders_agent(void);
void orders_final_check(void);
extern const char *const orders_variants[];
void reports(const void *params);
void reports_agent(void);
void reports_final_check(void);
void reports_plan(void);
extern const char *const reports_variants[];

#endif
