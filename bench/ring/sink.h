/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A sink in place of the NIC: one warp for each channel completes the WQEs posted there.
 *
 * Like a NIC, it reads the control segment of each WQE that the doorbell record covers, and writes
 * a CQE for each that requests one, in order: a poster reads as many CQEs as with a NIC. It leaves
 * out the work that takes a NIC its time: data, the rest of the WQE, the network, the target. It
 * polls the doorbell record, which is stored before the doorbell: in device memory that poll is
 * shorter than one of the doorbell, a word of pinned host memory. If queues are in host memory, the
 * sink's loads of the record and of control segments and its stores of CQEs take a share of the
 * GPU's PCIe link that a NIC would not take. The doorbell is not a device register. */
#ifndef BENCH_RING_SINK_H
#define BENCH_RING_SINK_H

#include <shmem_dev/shmem_dev.h>

#define RING_MAX_CHANNELS 32u
#define RING_LANES 32u
#define RING_ALL_LANES 0xffffffffu
#define RING_SINK_LIMIT_NS 10000000000ull /* of one launch: the program never hangs */

/* Progress of the sink of a channel, kept between launches. In device memory. */
typedef struct ring_sink {
	uint64_t seen;  /* WQEBBs examined */
	uint64_t cqes;  /* CQEs written */
	uint64_t turns; /* polls of the record */
	uint64_t idle;  /* polls that found nothing new */
} ring_sink_t;

/* The words of a channel that the sink reads once: its path does not change. */
typedef struct ring_sq {
	shmemdi_chan_t c;
	uint64_t path, queue;
	const char *record;
} ring_sq_t;

SHMEMD_FN ring_sq_t ring_sq(shmemdi_chan_t c)
{
	shmemdi_line_t line = shmemdi_line(c.ch);
	ring_sq_t sq = {c, line.path, line.queue,
			(const char *)SHMEMD_ADDRESS(line.queue) +
				SHMEMD_QUEUE_RECORD_OFFSET(shmemdi_depth(&c)) +
				SHMEMD_RECORD_SEND * sizeof(uint32_t)};
	return sq;
}

/* The content of the control segment in a WQEBB. */
typedef struct ring_wqe {
	uint32_t opcode;
	int asks; /* a WQE starts there, and it requests a CQE */
} ring_wqe_t;

SHMEMD_FN ring_wqe_t ring_sink_look(const ring_sq_t *sq, uint64_t index)
{
	const char *wqebb = shmemdi_wqebb(&sq->c, sq->path, sq->queue, (uint32_t)index);
	uint64_t words = shmemd_arch_ld_relaxed_u64(wqebb);
	uint32_t flags = shmemd_arch_bswap32(shmemd_arch_ld_relaxed_u32(wqebb + 8));
	uint32_t first = shmemd_arch_bswap32((uint32_t)words);
	uint32_t second = shmemd_arch_bswap32((uint32_t)(words >> 32));
	ring_wqe_t wqe = {first & 0xff, 0};

	/* The second WQEBB of a long WQE has no control segment. */
	wqe.asks = (first >> 8 & 0xffff) == (index & 0xffff) &&
		   second >> 8 == SHMEMD_PATH_QPN(sq->path) && (flags & SHMEMD_MLX5_CQ_UPDATE) != 0;
	return wqe;
}

SHMEMD_FN void ring_sink_cqe(const ring_sq_t *sq, uint64_t cqe, uint64_t index, uint32_t opcode)
{
	uint64_t counter = (index & 0xff) << 8 | (index >> 8 & 0xff);
	uint64_t owner = (cqe & shmemdi_depth(&sq->c)) != 0;
	uint64_t tail = owner << 56 | counter << 32 |
			(shmemd_arch_bswap32(SHMEMD_PATH_QPN(sq->path)) | opcode);

	shmemd_arch_st_relaxed_u64(shmemdi_cqe(&sq->c, sq->queue, (uint32_t)cqe) + SHMEMD_CQE_TAIL,
				   tail);
}

/* Examine up to 32 WQEBBs, one for each lane. */
SHMEMD_FN void ring_sink_window(const ring_sq_t *sq, ring_sink_t *s, uint64_t n)
{
	uint32_t lane = shmemd_arch_lane(), same, before;
	uint64_t index = s->seen + lane;
	ring_wqe_t wqe = {0, 0};

	if (lane < n)
		wqe = ring_sink_look(sq, index);
	same = shmemd_arch_match_any(RING_ALL_LANES, (uint64_t)wqe.asks);
	before = shmemd_arch_popc(same & (((uint32_t)1 << lane) - 1));
	if (wqe.asks)
		ring_sink_cqe(sq, s->cqes + before, index, wqe.opcode);
	s->cqes += wqe.asks ? shmemd_arch_popc(same) : RING_LANES - shmemd_arch_popc(same);
	s->seen += n;
}

/* Returns the number of WQEBBs that the record covers and the sink has not examined. */
SHMEMD_FN uint32_t ring_sink_poll(const ring_sq_t *sq, const ring_sink_t *s)
{
	uint32_t index = shmemd_arch_bswap32(shmemd_arch_ld_relaxed_u32(sq->record));

	shmemd_arch_fence_acquire();
	return (index - (uint32_t)s->seen) & 0xffff;
}

/* Run until *stop is set. Called by all lanes of a warp; `state` is the channel's. */
SHMEMD_FN void ring_sink_run(shmemdi_chan_t c, ring_sink_t *state, const uint32_t *stop)
{
	uint64_t limit = shmemd_arch_time_ns() + RING_SINK_LIMIT_NS;
	ring_sq_t sq = ring_sq(c);
	ring_sink_t s = *state;

	for (;;) {
		uint64_t n = 0;
		int is_end = 0;

		if (shmemd_arch_lane() == 0) {
			n = ring_sink_poll(&sq, &s);
			is_end = n == 0 && (shmemd_arch_ld_relaxed_u32(stop) ||
					    shmemd_arch_time_ns() > limit);
		}
		if (shmemd_arch_shfl_u64(RING_ALL_LANES, (uint64_t)is_end, 0))
			break;
		n = shmemd_arch_shfl_u64(RING_ALL_LANES, n, 0);
		s.turns++;
		s.idle += n == 0;
		shmemd_arch_syncwarp();
		ring_sink_window(&sq, &s, n < RING_LANES ? n : RING_LANES);
		shmemd_arch_spin_hint();
	}
	if (shmemd_arch_lane() == 0)
		*state = s;
}

#endif
