/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The service of fault tolerance, for a thread of the host runtime beside the emulator's. Here the
 * device headers are compiled with hooks that do nothing, to plain atomics of the CPU: the thread
 * is no fiber, so the scheduler must not see its accesses. */
#include <sched.h>
#include <stdint.h>

#define shmemsim_hooks serve_hooks
#define shmemsim_wrote serve_wrote
#define shmemsim_access serve_access
#define shmemsim_updated serve_updated
#define shmemsim_changed serve_changed
#define shmemsim_spin serve_spin

#include <shmem_dev/impl/switch.h>

uint32_t serve_hooks, serve_wrote;

int serve_access(const void *p, uint32_t nbytes, int access, void *value)
{
	(void)p, (void)nbytes, (void)access, (void)value;
	return 0;
}

void serve_updated(const void *p, uint32_t nbytes, int access, int is_written)
{
	(void)p, (void)nbytes, (void)access, (void)is_written;
}

void serve_changed(int is_changed)
{
	(void)is_changed;
}

void serve_spin(void)
{
	sched_yield();
}

SHMEMSIM_API int shmemsim_serve(const struct shmemd_ctx *ctx);

int shmemsim_serve(const struct shmemd_ctx *ctx)
{
	return shmemdi_service_once(ctx);
}
