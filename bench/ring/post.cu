// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The kernels of bench_ring: warps that post, each call in a loop of its own.
#include "ring.h"

/* Doorbell mode of call i: ring with every n-th call, or by the library's rule. */
SHMEMD_FN int ring_when(const ring_args_t *p, uint32_t i)
{
	if (p->every == 0)
		return SHMEMD_RING_DEFAULT;
	return (i + 1) % p->every == 0 ? SHMEMD_RING_NOW : SHMEMD_RING_DEFERRED;
}

/* All posting warps begin together. */
SHMEMD_FN void ring_begin(const ring_args_t *p, ring_time_t *t)
{
	shmemd_group_sync(shmemd_warps(0, p->n_warps, 1));
	t->begin_ns = shmemd_arch_time_ns();
	t->cycles = (uint64_t)clock64();
}

/* Record the time, then let the sink complete all WQEs, so that the next launch finds empty queues.
 */
SHMEMD_FN void ring_end(const ring_args_t *p, const shmemd_ctx_t *q, ring_time_t *t)
{
	uint32_t warp = shmemd_thread_index() / 32;
	int status = SHMEMD_OK;

	t->cycles = (uint64_t)clock64() - t->cycles;
	t->end_ns = shmemd_arch_time_ns();
	shmemd_group_sync(shmemd_warps(0, p->n_warps, 1));
	if (shmemd_arch_lane() == 0) {
		p->times[warp] = *t;
		if (warp < p->n_channels)
			status = shmemd_channel_quiet(q, RING_PE);
		if (status != SHMEMD_OK)
			shmemd_arch_atom_cas_u32(p->status, 0, (uint32_t)status);
	}
	shmemd_group_sync(shmemd_warps(0, p->n_warps, 1));
	if (shmemd_thread_index() == 0)
		shmemd_arch_st_release_u32(p->stop, 1);
}

/* `call` may use q (the context on this warp's channel), i, when, and this warp's memory: dst, sig,
 * and a source after them. */
#define RING_KERNEL(name, call)                                                                    \
	SHMEMD_KERNEL(name, ring_args_t, p)                                                        \
	{                                                                                          \
		uint32_t warp = shmemd_thread_index() / 32, i;                                     \
		char *dst = p.ctx.heap + RING_WARP_NBYTES * warp;                                  \
		uint64_t *sig = (uint64_t *)dst + 32 + shmemd_arch_lane();                         \
		ring_time_t t;                                                                     \
                                                                                                   \
		if (shmemd_block_index() == 0) {                                                   \
			if (warp < p.n_channels)                                                   \
				ring_sink_run(shmemdi_chan(&p.ctx, RING_PE, warp), &p.sinks[warp], \
					      p.stop);                                             \
			return;                                                                    \
		}                                                                                  \
		if (warp >= p.n_warps)                                                             \
			return;                                                                    \
		shmemd_ctx_t q = shmemd_ctx_channel(&p.ctx, warp % p.n_channels);                  \
		ring_begin(&p, &t);                                                                \
		SHMEMD_ARCH_NO_UNROLL                                                              \
		for (i = 0; i < p.iters; i++) {                                                    \
			int when = ring_when(&p, i);                                               \
			(void)when;                                                                \
			call;                                                                      \
			shmemd_arch_syncwarp();                                                    \
		}                                                                                  \
		ring_end(&p, &q, &t);                                                              \
	}

#define SOURCE (dst + RING_WARP_NBYTES / 2)

#define BY_LANE_0(call)                                                                            \
	if (shmemd_arch_lane() == 0)                                                               \
	call

RING_KERNEL(put_nbi_warp, shmemd_channel_put_nbi_warp(&q, dst, SOURCE, p.nbytes, RING_PE, when))
RING_KERNEL(put_signal_warp, shmemd_putmem_signal_nbi_warp(&q, dst, SOURCE, p.nbytes, sig, i,
							   SHMEMD_SIGNAL_SET, RING_PE))
RING_KERNEL(put_signal_add, shmemd_putmem_signal_nbi_warp(&q, dst, SOURCE, p.nbytes, sig, 1,
							  SHMEMD_SIGNAL_ADD, RING_PE))
RING_KERNEL(put_lanes, shmemd_putmem_nbi(&q, dst + 64 * shmemd_arch_lane(),
					 SOURCE + 64 * shmemd_arch_lane(), p.nbytes, RING_PE))
RING_KERNEL(p_thread, BY_LANE_0(shmemd_p_u64(&q, sig, i, RING_PE)))
RING_KERNEL(signal_set, BY_LANE_0(shmemd_channel_signal_set(&q, sig, i, RING_PE, when)))
RING_KERNEL(amo_add, BY_LANE_0(shmemd_channel_add_u64(&q, sig, 1, RING_PE, when)))
RING_KERNEL(amo_add_u32, BY_LANE_0(shmemd_atomic_add_u32(&q, (uint32_t *)sig, 1, RING_PE)))
RING_KERNEL(amo_set, BY_LANE_0(shmemd_atomic_set_u64(&q, sig, 1, RING_PE)))

const ring_op_t ring_ops[] = {
	{"put_nbi_warp 64 B", put_nbi_warp, 64, 1, 1, 3},
	{"put_nbi_warp 28 B", put_nbi_warp, 28, 1, 1, 1},
	{"put_signal_warp SET", put_signal_warp, 64, 2, 1, 1},
	{"p", p_thread, 0, 1, 1, 1},
	{"signal_set", signal_set, 0, 1, 1, 2},
	{"amo_add", amo_add, 0, 1, 1, 2},
	{"put by 32 lanes", put_lanes, 64, 32, 32, 1},
};
const uint32_t ring_n_ops = sizeof(ring_ops) / sizeof(ring_ops[0]);

const ring_op_t ring_once[] = {
	{"p 8 B", p_thread, 0, 1, 1, 1},
	{"signal SET", signal_set, 0, 1, 1, 1},
	{"put 28 B", put_nbi_warp, 28, 1, 1, 1},
	{"put 29 B", put_nbi_warp, 29, 1, 1, 1},
	{"put_signal SET", put_signal_warp, 64, 2, 1, 1},
	{"put_signal ADD", put_signal_add, 64, 2, 1, 1},
	{"atomic add 8 B", amo_add, 0, 1, 1, 1},
	{"atomic add 4 B", amo_add_u32, 0, 1, 1, 1},
	{"atomic set 8 B", amo_set, 0, 2, 1, 1},
};
const uint32_t ring_n_once = sizeof(ring_once) / sizeof(ring_once[0]);
