/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One row for each weakened call that no scenario catches within --explained schedules when it is
 * weakened in these ways. harmless: the call could be weaker. wrong: it could not, but no schedule
 * of the scenarios shows it. */
#include <stddef.h>
#include "reasons.h"
#include "site.h"

enum {
	REMOVED = 1 << WEAKEN_REMOVED,
	UNORDERED = 1 << WEAKEN_UNORDERED,
	GPU = 1 << WEAKEN_GPU,
	CTA = 1 << WEAKEN_CTA,
	RELAXED = 1 << WEAKEN_RELAXED,
};

#define NO_CHECKS "not executed by the emulator: the scenarios are no check build."

/* The emulated NIC has these two properties, which no real one needs to have. */
#define FAR_NIC "not executed by the emulator: no context there has SHMEMD_CTX_NIC_GPU_SCOPE."
#define STORES_IN_ORDER                                                                            \
	"wrong, but not in the emulator, where a record, a doorbell and the proxy's word take "    \
	"stores in the order in which they were made."

#define ROW(function, call, number, count, variants, text)                                         \
	{                                                                                          \
		{#function, #call, number, count}, variants, text, 0                               \
	}

reason_t reasons[] = {
	/* impl/bounce.h */
	ROW(shmemdi_bounce_pass, arch_unlock, 1, 1, RELAXED | CTA,
	    "harmless, no thread has read the buffer in between."),
	ROW(shmemdi_bounce_take, arch_fence_acquire, 1, 1, REMOVED | GPU,
	    "wrong, but not in the emulator (load buffering)."),
	ROW(shmemdi_bounce_release, arch_unlock, 1, 1, RELAXED | CTA,
	    "wrong, but not in the emulator: reading the buffer could find the next user's result "
	    "(load buffering)."),
	ROW(shmemdi_bounce_abandon, arch_unlock, 1, 1, RELAXED | CTA,
	    "harmless, a thread that abandons a buffer has not read it."),

	/* impl/bulk.h */
	ROW(shmemdi_bulk_wait_read, group_sync, 1, 1, UNORDERED,
	    "wrong, but not in the emulator (load buffering, which the PTX model allows)."),

	/* impl/check.h */
	ROW(shmemdi_is_allocated, arch_ld_acquire_u64, 1, 2, RELAXED | GPU, NO_CHECKS),
	ROW(shmemdi_is_allocated, arch_ld_acquire_u64, 2, 2, RELAXED | GPU, NO_CHECKS),
	ROW(shmemdi_is_allocated, arch_fence_acquire, 1, 1, REMOVED | GPU, NO_CHECKS),
	/* impl/coalesce.h */
	ROW(shmemdi_warp_rejoin, arch_syncwarp, 1, 1, UNORDERED,
	    "wrong, for a lane could read a `ready` of before, but not caught: in the "
	    "scenarios all lanes of the warp take part in the next quiet."),

	/* impl/cq.h */
	ROW(shmemdi_is_done, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU change `done`."),
	ROW(shmemdi_failed_but_done, arch_fence_acquire, 1, 1, REMOVED,
	    "wrong, and caught, but seldom: ring_fail, seed 20243."),
	ROW(shmemdi_failed_but_done, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU change the path word and `done`."),
	ROW(shmemdi_cq_poll_place, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU change `done`."),

	/* impl/diag.h */
	ROW(shmemdi_check_same_call, group_any, 1, 1, REMOVED | UNORDERED, NO_CHECKS),

	/* impl/grid.h */
	ROW(shmemdi_grid_arrive, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU arrive."),

	/* impl/poll.h */
	ROW(shmemdi_highest, group_any, 1, 1, UNORDERED,
	    "harmless, the call before has ordered what the threads did before it, and since then "
	    "at most the leader of a sync has stored to memory, to words that are read only after "
	    "the next call's entry sync."),

	/* impl/queue.h */
	ROW(shmemdi_channel_fail, arch_fence_before_publish, 1, 1, REMOVED | CTA,
	    "wrong: a wait for what was completed before could end with the status. Not caught in "
	    "22,000 schedules of each scenario."),
	ROW(shmemdi_ring_by_register, arch_fence_before_record_gpu, 1, 1, REMOVED | CTA, FAR_NIC),
	ROW(shmemdi_ring_by_register, arch_fence_before_doorbell_gpu, 1, 1, REMOVED | CTA, FAR_NIC),
	ROW(shmemdi_ring_by_register, arch_fence_before_publish, 1, 1, REMOVED | CTA,
	    STORES_IN_ORDER),
	ROW(shmemdi_ring, arch_fence_before_publish, 1, 1, REMOVED | CTA, STORES_IN_ORDER),
	ROW(shmemdi_ring_unrung, arch_try_lock, 1, 1, RELAXED | CTA, STORES_IN_ORDER),
	ROW(shmemdi_ring_unrung, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU publish."),
	ROW(shmemdi_ring_unrung, arch_unlock, 1, 1, RELAXED | CTA, STORES_IN_ORDER),
	ROW(shmemdi_ring_until, arch_fence_acquire, 1, 1, REMOVED | GPU,
	    "wrong, but only if `rung` was stored 2^31 WQEBBs ago. Otherwise a thread that reads "
	    "an "
	    "older `rung` does not get the lock."),

	/* impl/sq.h */
	ROW(shmemdi_sq_begin, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU publish and read CQEs."),
	ROW(shmemdi_sq_wait_turn, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU publish."),
	ROW(shmemdi_sq_publish_rung, arch_unlock, 1, 1, RELAXED | CTA, STORES_IN_ORDER),
	ROW(shmemdi_sq_publish_rung, arch_fence_before_publish, 1, 1, REMOVED | CTA,
	    "wrong, but not in the emulator, where stores to one word become visible in the order "
	    "in which they were made."),

	/* impl/switch.h */
	ROW(shmemdi_switch, arch_unlock, 1, 2, RELAXED | CTA, STORES_IN_ORDER),
	ROW(shmemdi_switch, arch_unlock, 2, 2, RELAXED, "wrong, and caught, but seldom."),
	ROW(shmemdi_carry_out_end, arch_unlock, 1, 1, RELAXED | CTA,
	    "harmless, nothing was changed under the lock."),
	ROW(shmemdi_serve, arch_fence_acquire, 1, 1, GPU,
	    "harmless, only threads of this GPU write WQEs."),

	/* impl/any_peer.h, impl/xport.h, impl/order.h */
	ROW(shmemdi_put, group_sync, 1, 1, UNORDERED,
	    "wrong, but not in the emulator (load buffering, which the PTX model allows)."),
	ROW(shmemdi_put_before_signal, group_sync, 1, 1, UNORDERED,
	    "wrong, but not in the emulator (load buffering, which the PTX model allows)."),
	ROW(shmemdi_agree_flushed, group_any, 1, 1, REMOVED | UNORDERED,
	    "not executed by the emulator: no scenario has mixed transport. Removed, it is caught "
	    "by failed_flush of test_ring_signal (seeded mistakes)."),
	{{NULL, NULL, 0, 0}, 0, NULL, 0},
};
