/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A sink in place of the NIC: one warp for each channel completes what is posted there.
 *
 * As a NIC does, it looks at the control segment of each WQE that it was told of, and writes a CQE
 * for each that asks for one, in order: who posts has as many CQEs to read as with a NIC. It leaves
 * out what takes a NIC its time: data, the rest of the WQE, the network, the target. And it waits
 * for `rung`, which is stored right behind the doorbell: to read the doorbell's word itself would
 * cross PCIe for each look. Where queues are in host memory, its loads of control segments and its
 * stores of CQEs take a share of the GPU's PCIe link that a NIC would not take. The doorbell is a
 * word of memory and no register of a device. */
#ifndef BENCH_RING_SINK_H
#define BENCH_RING_SINK_H

#include <shmem_dev/shmem_dev.h>

#define RING_MAX_CHANNELS 32u
#define RING_LANES 32u
#define RING_ALL_LANES 0xffffffffu
#define RING_SINK_LIMIT_NS 10000000000ull /* of one launch: nothing hangs, whatever goes wrong */

/* How far the sink of a channel is, from launch to launch. In device memory. */
typedef struct ring_sink {
	uint64_t seen;  /* slots looked at */
	uint64_t cqes;  /* CQEs written */
	uint64_t turns; /* looks at `rung` */
	uint64_t idle;  /* looks that found nothing new */
} ring_sink_t;

/* What the control segment in slot `index` says. */
typedef struct ring_wqe {
	uint32_t opcode;
	int asks; /* a WQE begins there, and it asks for a CQE */
} ring_wqe_t;

SHMEMD_FN ring_wqe_t ring_sink_look(const shmemd_channel_t *ch, uint64_t index, uint32_t qpn)
{
	const char *block = ch->wqes + (index & (ch->depth - 1)) * SHMEMD_WQEBB_NBYTES;
	uint64_t words = shmemd_arch_ld_relaxed_u64(block);
	uint32_t flags = shmemd_arch_bswap32(shmemd_arch_ld_relaxed_u32(block + 8));
	uint32_t first = shmemd_arch_bswap32((uint32_t)words);
	uint32_t second = shmemd_arch_bswap32((uint32_t)(words >> 32));
	ring_wqe_t wqe = {first & 0xff, 0};

	/* The second block of a long WQE has neither. */
	wqe.asks = (first >> 8 & 0xffff) == (index & 0xffff) && second >> 8 == qpn &&
		   (flags & SHMEMD_MLX5_CQ_UPDATE) != 0;
	return wqe;
}

SHMEMD_FN void ring_sink_cqe(const shmemd_channel_t *ch, uint64_t cqe, uint64_t index,
			     uint32_t opcode, uint32_t qpn)
{
	uint64_t counter = (index & 0xff) << 8 | (index >> 8 & 0xff);
	uint64_t owner = (cqe & ch->depth) != 0;
	uint64_t tail = owner << 56 | counter << 32 | (shmemd_arch_bswap32(qpn) | opcode);
	char *place = (char *)(uintptr_t)ch->cqes + (cqe & (ch->depth - 1)) * SHMEMD_CQE_NBYTES;

	shmemd_arch_st_relaxed_u64(place + SHMEMD_CQE_TAIL, tail);
}

/* A window of up to 32 slots, one for each lane. */
SHMEMD_FN void ring_sink_window(const shmemd_channel_t *ch, ring_sink_t *s, uint64_t n,
				uint32_t qpn)
{
	uint32_t lane = shmemd_arch_lane(), same, before;
	uint64_t index = s->seen + lane;
	ring_wqe_t wqe = {0, 0};

	if (lane < n)
		wqe = ring_sink_look(ch, index, qpn);
	same = shmemd_arch_match_any(RING_ALL_LANES, (uint64_t)wqe.asks);
	before = shmemd_arch_popc(same & (((uint32_t)1 << lane) - 1));
	if (wqe.asks)
		ring_sink_cqe(ch, s->cqes + before, index, wqe.opcode, qpn);
	s->cqes += wqe.asks ? shmemd_arch_popc(same) : RING_LANES - shmemd_arch_popc(same);
	s->seen += n;
}

/* Run until *stop. By all lanes of a warp; `state` is the channel's. */
SHMEMD_FN void ring_sink_run(const shmemd_channel_t *ch, ring_sink_t *state, const uint32_t *stop)
{
	uint64_t limit = shmemd_arch_time_ns() + RING_SINK_LIMIT_NS;
	uint32_t qpn = ch->ring->path->qpn;
	ring_sink_t s = *state;

	for (;;) {
		uint64_t rung = 0, n;
		int is_end = 0;

		if (shmemd_arch_lane() == 0) {
			rung = shmemd_arch_ld_acquire_u64(&ch->ring->rung) >> 1;
			is_end = rung == s.seen && (shmemd_arch_ld_relaxed_u32(stop) ||
						    shmemd_arch_time_ns() > limit);
		}
		if (shmemd_arch_shfl_u64(RING_ALL_LANES, (uint64_t)is_end, 0))
			break;
		n = shmemd_arch_shfl_u64(RING_ALL_LANES, rung, 0) - s.seen;
		s.turns++;
		s.idle += n == 0;
		shmemd_arch_syncwarp();
		ring_sink_window(ch, &s, n < RING_LANES ? n : RING_LANES, qpn);
		shmemd_arch_spin_hint();
	}
	if (shmemd_arch_lane() == 0)
		*state = s;
}

#endif
