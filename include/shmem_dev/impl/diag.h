/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How a failed operation becomes visible: the latch (abi/ctx.h), which quiet returns, and the
 * record, which the host reads while kernels run. Nothing here traps or prints. */
#ifndef SHMEMD_IMPL_DIAG_H
#define SHMEMD_IMPL_DIAG_H

#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/status.h>
#include <shmem_dev/arch/arch.h>

#ifdef SHMEMD_CHECK
#define SHMEMDI_CHECKING 1
#else
#define SHMEMDI_CHECKING 0
#endif

/* Call sites. A public function ends its parameters with SHMEMD_SITE, hands them on to another
 * public function with SHMEMD_PASS, and to impl/ with SHMEMDI_CALLER(op). Only check builds carry
 * anything: file and line of the caller in C++ and CUDA, the function's name in C. */
#if defined(SHMEMD_CHECK) && defined(__cplusplus)
#define SHMEMD_SITE                                                                                \
	, const char *shmemd_file = __builtin_FILE(), uint32_t shmemd_line = __builtin_LINE()
#define SHMEMD_PASS , shmemd_file, shmemd_line
#define SHMEMDI_CALLER(op)                                                                         \
	shmemdi_call_of(__func__, shmemdi_call(SHMEMD_OP_##op, shmemd_file, shmemd_line))
#elif defined(SHMEMD_CHECK)
#define SHMEMD_SITE
#define SHMEMD_PASS
#define SHMEMDI_CALLER(op) shmemdi_call_of(__func__, shmemdi_call(SHMEMD_OP_##op, __func__, 0))
#else
#define SHMEMD_SITE
#define SHMEMD_PASS
#define SHMEMDI_CALLER(op) shmemdi_call(SHMEMD_OP_##op, 0, 0)
#endif

/* A call, for the record: its operation. With SHMEMD_TRACE also when it began (impl/trace.h), in
 * check builds also the call site and the public function. */
typedef struct shmemdi_call_t {
	uint32_t op; /* shmemd_op */
#ifdef SHMEMD_TRACE
	uint64_t begin; /* nanoseconds; of a call that is not recorded 0 */
#endif
#ifdef SHMEMD_CHECK
	uint32_t line;        /* 0: not known */
	const char *site;     /* file or function */
	const char *function; /* compared as a pointer: each function has one name in a unit */
#endif
} shmemdi_call_t;

SHMEMD_FN shmemdi_call_t shmemdi_call(uint32_t op, const char *site, uint32_t line)
{
	shmemdi_call_t call;

	call.op = op;
#ifdef SHMEMD_TRACE
	call.begin = op == SHMEMD_OP_NONE ? 0 : shmemd_arch_time_ns();
#endif
#ifdef SHMEMD_CHECK
	call.line = line;
	call.site = site;
	call.function = 0;
#else
	(void)site;
	(void)line;
#endif
	return call;
}

#ifdef SHMEMD_CHECK
SHMEMD_FN shmemdi_call_t shmemdi_call_of(const char *function, shmemdi_call_t call)
{
	call.function = function;
	return call;
}

/* The last SHMEMD_SITE_NBYTES - 1 characters: the end of a path tells more than its start. */
SHMEMD_FN void shmemdi_record_site(shmemd_error_t *err, const char *site)
{
	size_t len = 0, i;

	while (site[len])
		len++;
	if (len > SHMEMD_SITE_NBYTES - 1) {
		site += len - (SHMEMD_SITE_NBYTES - 1);
		len = SHMEMD_SITE_NBYTES - 1;
	}
	for (i = 0; i < len; i++)
		shmemd_arch_st_relaxed_u8(&err->site[i], (uint8_t)site[i]);
	shmemd_arch_st_relaxed_u8(&err->site[len], 0);
}
#endif

/* Write the record if this is the first error. `status` goes last, with release: a host thread
 * that polls it concurrently never reads half a record. Returns status. */
SHMEMD_FN_CALL int shmemdi_record(const shmemd_ctx_t *ctx, shmemdi_call_t call, int status, int pe,
				  const void *addr, uint64_t value, uint64_t wanted)
{
	shmemd_error_t *err = ctx->error;

	if (shmemd_arch_atom_cas_u32(&ctx->latch->record, 0, 1) != 0)
		return status;
	shmemd_arch_st_relaxed_u32(&err->op, call.op);
	shmemd_arch_st_relaxed_u32(&err->pe, (uint32_t)pe);
	shmemd_arch_st_relaxed_u64(&err->addr, (uint64_t)(uintptr_t)addr);
	shmemd_arch_st_relaxed_u64(&err->value, value);
	shmemd_arch_st_relaxed_u64(&err->wanted, wanted);
#ifdef SHMEMD_CHECK
	shmemd_arch_st_relaxed_u32(&err->line, call.line);
	if (call.site)
		shmemdi_record_site(err, call.site);
#endif
	shmemd_arch_st_release_u32(&err->status, (uint32_t)status);
#ifdef SHMEMD_CHECK
	shmemd_arch_recorded(err);
#endif
	return status;
}

/* Is this a context of shmemh_ctx_get, as far as its own bytes show? Asked in check builds before a
 * field is read; in others it is 1. */
SHMEMD_FN int shmemdi_is_filled(const shmemd_ctx_t *ctx)
{
#ifdef SHMEMD_CHECK
	return ctx && ctx->version >> 16 == SHMEMD_ABI_MAJOR && ctx->error && ctx->latch;
#else
	(void)ctx;
	return 1;
#endif
}

/* Keep the status of an operation that returns nothing; the first one wins. */
SHMEMD_FN void shmemdi_latch(const shmemd_ctx_t *ctx, int status)
{
#ifdef SHMEMD_CHECK
	if (status == SHMEMD_ERR_BAD_CONTEXT) /* it has no latch; a line was printed */
		return;
#endif
	if (status != SHMEMD_OK)
		shmemd_arch_atom_cas_u32(&ctx->latch->status, 0, (uint32_t)status);
}

/* The same apart from the caller, which then has no atomic of its own (impl/any_peer.h). */
SHMEMD_FN_CALL int shmemdi_latch_apart(const shmemd_ctx_t *ctx, int status)
{
	shmemdi_latch(ctx, status);
	return status;
}

#endif
