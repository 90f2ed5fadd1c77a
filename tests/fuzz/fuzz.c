/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_TURNS 2000000u

void fuzz_found(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
	abort();
}

/* Input */

int fuzz_has_more(const fuzz_input_t *in)
{
	return in->at < in->end;
}

void fuzz_bytes(fuzz_input_t *in, void *dst, size_t nbytes)
{
	const size_t left = (size_t)(in->end - in->at), n = nbytes < left ? nbytes : left;

	memset(dst, 0, nbytes);
	memcpy(dst, in->at, n);
	in->at += n;
}

uint64_t fuzz_number(fuzz_input_t *in, unsigned nbytes)
{
	uint64_t v = 0;

	fuzz_bytes(in, &v, nbytes);
	return v;
}

uint32_t fuzz_below(fuzz_input_t *in, uint32_t n)
{
	return (uint32_t)fuzz_number(in, n > 256 ? 2 : 1) % n;
}

void fuzz_spoil(fuzz_input_t *in, uint8_t *bytes, size_t nbytes)
{
	for (uint32_t n = fuzz_below(in, 16); n > 8; n--) {
		uint8_t *p = &bytes[fuzz_below(in, (uint32_t)nbytes)];

		*p = (uint8_t)fuzz_number(in, 1);
	}
}

/* The memory that the device may access. */

static int is_in(const void *p, size_t nbytes, const void *of, size_t of_nbytes)
{
	const uintptr_t at = (uintptr_t)p - (uintptr_t)of;

	return of && nbytes <= of_nbytes && at <= of_nbytes - nbytes;
}

static int is_of_mr(const mlx5swi_mr_t *mr, const void *p, size_t nbytes, int is_store)
{
	const uint32_t rights =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return is_in(p, nbytes, mr->p, mr->nbytes) && (!is_store || mr->access & rights);
}

static int is_of_qp(const mlx5swi_qp_t *qp, const void *p, size_t nbytes, int access)
{
	if (access == MLX5SW_DBR)
		return is_in(p, nbytes, qp->dbr, 8);
	return is_in(p, nbytes, qp->sq, qp->sq_wqebbs * 64) ||
	       is_in(p, nbytes, qp->rq, (size_t)qp->rq_wqes * qp->rq_stride);
}

static int is_of_cq(const mlx5swi_cq_t *cq, const void *p, size_t nbytes, int access)
{
	if (access == MLX5SW_DBR)
		return is_in(p, nbytes, cq->dbr, 8);
	return is_in(p, nbytes, cq->buf, (size_t)64 << cq->log_size);
}

static int is_of_device(const mlx5swi_device_t *dev, const void *p, size_t nbytes, int access,
			int is_store)
{
	const int is_payload =
		access == MLX5SW_GATHER || access == MLX5SW_PAYLOAD || access == MLX5SW_ATOMIC;
	const int is_cqe = access == MLX5SW_CQE || access == MLX5SW_CQE_OWNER;

	for (uint32_t i = 0; is_payload && i < dev->mrs.n; i++)
		if (dev->mrs.at[i] && is_of_mr(dev->mrs.at[i], p, nbytes, is_store))
			return 1;
	for (uint32_t i = 0; !is_cqe && is_payload == is_store && i < dev->qps.n; i++)
		if (dev->qps.at[i] && is_of_qp(dev->qps.at[i], p, nbytes, access))
			return 1; /* WQEBBs are poisoned by stores of payload */
	for (uint32_t i = 0; is_cqe == is_store && !is_payload && i < dev->cqs.n; i++)
		if (dev->cqs.at[i] && is_of_cq(dev->cqs.at[i], p, nbytes, access))
			return 1;
	return 0;
}

int fuzz_is_library;

static void check(const void *p, size_t nbytes, int access, int is_store)
{
	if (fuzz_is_library)
		return;
	for (uint32_t i = 0; i < mlx5swi_w->n_hosts * mlx5swi_w->n_devices; i++)
		if (is_of_device(&mlx5swi_w->devices[i], p, nbytes, access, is_store))
			return;
	fuzz_found("a %s of %zu bytes at %p, for %d: no object of the program covers it",
		   is_store ? "store" : "load", nbytes, p, access);
}

static mlx5sw_hooks_t plain;

static void checked_load(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	check(src, nbytes, access, 0);
	plain.load(arg, dst, src, nbytes, access);
}

static void checked_store(void *arg, void *dst, const void *src, size_t nbytes, int access)
{
	check(dst, nbytes, access, 1);
	plain.store(arg, dst, src, nbytes, access);
}

/* Time passes for threads that wait for the lock. */
static void unlock(void *arg)
{
	adapter_clock += 10;
	plain.unlock(arg);
}

/* Fabrics */

void fuzz_start(fuzz_input_t *in)
{
	mlx5sw_config_t cfg = adapter_config();

	cfg.chaos = fuzz_below(in, 256) & MLX5SWI_CHAOS_ALL;
	cfg.doorbells = (uint8_t)fuzz_below(in, MLX5SW_DOORBELLS_DB + 1);
	cfg.link_layer = (uint8_t)fuzz_below(in, MLX5SW_INFINIBAND + 1);
	cfg.timing = (uint8_t)(MLX5SW_TIMING_FAST - fuzz_below(in, MLX5SW_TIMING_FAST + 1));
	cfg.lint = (uint8_t)fuzz_below(in, MLX5SW_LINT_STRICT + 1);
	cfg.has_no_dbr = (uint8_t)fuzz_below(in, 2);
	cfg.start_index = (uint16_t)fuzz_number(in, 2);
	adapter_start(&cfg);
	adapter_seed = fuzz_number(in, 2);
	plain = mlx5swi_w->hooks;
	mlx5swi_w->hooks.unlock = unlock;
	mlx5swi_w->hooks.load = checked_load;
	mlx5swi_w->hooks.store = checked_store;
}

void fuzz_step(fuzz_input_t *in)
{
	const uint32_t n = fuzz_below(in, 256);

	for (uint32_t i = 0; i < n % 16; i++)
		mlx5sw_step();
	adapter_clock += (uint64_t)1 << n / 16 * 2;
}

void fuzz_run_until_idle(void)
{
	for (uint32_t turns = 0; turns < MAX_TURNS; turns++) {
		uint64_t next;

		if (mlx5sw_step())
			continue;
		next = mlx5sw_next_time();
		if (next == UINT64_MAX)
			return;
		if (adapter_clock < next)
			adapter_clock = next;
	}
	fuzz_found("the devices never become idle");
}

void fuzz_control(const char *line)
{
	char answer[64];

	mlx5sw_control(line, answer, sizeof(answer));
}
