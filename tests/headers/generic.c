/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Unit of generic.sh: calls without types in their names, as a user may write them: constants of
 * other types, const and not, types by other names. With REFUSED one call on elements of a struct,
 * which no type of OpenSHMEM is. */
#ifdef WITH_HALF
#include <shmem_dev/typed/bfloat16.h>
#include <shmem_dev/typed/half.h>
#endif
#include <shmem_dev/generic.h>
#include <shmem_dev/shmem_dev.h>
#include <shmem_dev/sized.h>

typedef struct pair {
	int a, b;
} pair_t;

typedef struct generic_params {
	shmemd_ctx_t ctx;
	float *f;
	const float *cf;
	size_t *z;
	const int64_t *i64;
	unsigned char *c;
	uint16_t *u16;
	pair_t *pairs;
	void *any;
	int *status;
} generic_params_t;

SHMEMD_KERNEL(generic_kernel, generic_params_t, p)
{
	const shmemd_ctx_t *ctx = &p.ctx;
	size_t index = 0, old = 0, indices[2];
	const int mask[2] = {0, 1};
	float value = 0;
	int status;

	shmemd_put(ctx, p.f, p.f + 4, 4, 1);
	shmemd_put_nbi_block(ctx, p.f, p.cf, 4, 1);
	shmemd_put_signal_group(ctx, shmemd_warp(), p.c, p.c + 4, 4, (uint64_t *)p.any, 1,
				SHMEMD_SIGNAL_ADD, 1);
	shmemd_iput_warp(ctx, p.u16, p.u16 + 64, 2, 1, 4, 1);
	shmemd_put32_signal_warp(ctx, p.any, p.pairs, 4, (uint64_t *)p.any, 1, SHMEMD_SIGNAL_SET,
				 1);
	shmemd_p(ctx, p.f, 1, 0);
	shmemd_p(ctx, p.c, 'c', 0);
	status = shmemd_get(ctx, p.f, p.cf, 4, 1) | shmemd_g(ctx, &value, p.cf, 0);
	status |= shmemd_wait_until(ctx, p.i64, SHMEMD_CMP_EQ, 4);
	status |= shmemd_wait_until_any_for(ctx, &index, p.z, 2, mask, SHMEMD_CMP_GE, 1, 1000);
	status |= (int)shmemd_test_some(ctx, p.i64, 2, indices, mask, SHMEMD_CMP_GE, 1);
	shmemd_atomic_add(ctx, p.z, 3, 0);
	status |= shmemd_atomic_add(ctx, p.f, 3, 0);
	status |= shmemd_atomic_fetch_xor(ctx, &old, p.z, 3, 0);
#ifdef WITH_HALF
	shmemd_put_warp(ctx, (__half *)p.any, (const __half *)p.any + 8, 8, 1);
	status |= shmemd_iget(ctx, (__nv_bfloat16 *)p.any, (__nv_bfloat16 *)p.any, 1, 2, 2, 1);
#endif
#ifdef REFUSED
	shmemd_put(ctx, p.pairs, p.pairs, 1, 0);
#endif
	*p.status = status + (int)index + (int)old + (int)value;
}
