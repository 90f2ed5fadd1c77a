// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The limit: a put in one trip to memory, one fence and a doorbell. What a posting sequence costs
// if everything it reads is loaded at once, and nothing is checked: no arguments, no errors, no
// room in the queue, no switch of paths. A poster that has waited for its turn lacks the acquiring
// fence that a real sequence needs there.
#include <stdio.h>
#include "compare.h"
#include "wqe.h"

#define BATCH 32u

// All that a post reads of a channel: one line, at an address computed from the arguments.
typedef struct alignas(128) line {
	uint64_t ready; // WQEBBs published, in order
	uint64_t rung;  // WQEBBs that the doorbell covers
	uint64_t epoch;
	uint64_t base; // index on the QP = index of the channel - base
	char *wqes;
	uint32_t *record;
	uint64_t *doorbell;
	uint32_t qpn;
	uint32_t log_depth;
	uint64_t pad[8];
} line_t;

typedef struct alignas(128) word {
	uint64_t reserved;
	uint64_t pad[15];
} word_t;

typedef struct tables {
	line_t *lines; // [channels][pes]
	word_t *words;
	const uint2 *lkeys; // [granules]
	const uint2 *rkeys; // [granules][pes]
	char *heap;
	uint32_t n_pes;
	uint32_t log_granule;
} tables_t;

// What the one trip brings.
typedef struct view {
	uint64_t first; // WQEBB reserved
	ulonglong2 progress, path, queue, bell;
	uint2 lkey, rkey;
} view_t;

#define FN static __device__ __forceinline__

FN ulonglong2 load2(const void *p)
{
	ulonglong2 v;

	asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
		     : "=l"(v.x), "=l"(v.y)
		     : "l"(p)
		     : "memory");
	return v;
}

FN uint64_t load(const uint64_t *p)
{
	uint64_t v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

template <post_fences_t FENCES> FN void fence(void)
{
	if constexpr (FENCES == POST_SYSTEM)
		asm volatile("fence.acq_rel.sys;" ::: "memory");
	else
		asm volatile("fence.acq_rel.gpu;" ::: "memory");
}

// One fetch-add, the line and both keys: none of these waits for another. All lanes load the same
// words of the line, which is one transaction and no shuffle.
FN view_t look(const tables_t &t, uint32_t at, uint64_t dst, uint64_t src, uint32_t lane)
{
	const line_t *line = &t.lines[at];
	view_t v;

	v.first = 0;
	if (lane == 0)
		v.first = atomicAdd((unsigned long long *)&t.words[at].reserved, 1ull);
	v.progress = load2(&line->ready);
	v.path = load2(&line->epoch);
	v.queue = load2(&line->wqes);
	v.bell = load2(&line->doorbell);
	v.lkey = __ldg(&t.lkeys[src >> t.log_granule]);
	v.rkey = __ldg(&t.rkeys[(dst >> t.log_granule) * t.n_pes + POST_PE]);
	v.first = __shfl_sync(~0u, v.first, 0);
	return v;
}

// The three segments of a write, by three lanes at once.
FN void write_put(const view_t &v, uint64_t dst, uint64_t src, uint32_t lane)
{
	const uint32_t index = (uint32_t)(v.first - v.path.y), mask = (1u << (v.bell.y >> 32)) - 1;
	char *wqe = (char *)v.queue.x + (size_t)(index & mask) * POST_WQEBB_NBYTES;
	uint4 s;

	if (lane == 0)
		s = wqe_control(WQE_WRITE, index, (uint32_t)v.bell.y, 3,
				wqe_be32((uint32_t)v.first & 0xffffff));
	else if (lane == 1)
		s = wqe_remote(dst, v.rkey.x);
	else
		s = wqe_local(src, v.lkey.x, POST_NBYTES);
	if (lane < 3)
		asm volatile(
			"st.relaxed.gpu.global.L1::no_allocate.v4.u32 [%0], {%1, %2, %3, %4};" ::
				"l"(wqe + 16 * lane),
			"r"(s.x), "r"(s.y), "r"(s.z), "r"(s.w)
			: "memory");
	__syncwarp();
}

// Ring and publish both words with one store. The caller has the turn.
template <post_record_t RECORD, post_fences_t FENCES> FN void ring(line_t *line, const view_t &v)
{
	const uint64_t end = v.first + 1;
	const uint32_t index = (uint32_t)(v.first - v.path.y);

	if constexpr (RECORD == POST_RECORD) {
		asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"((uint32_t *)v.queue.y),
			     "r"(wqe_be32((uint32_t)end & 0xffff))
			     : "memory");
		fence<FENCES>();
	}
	asm volatile(
		"st.relaxed.sys.global.u64 [%0], %1;" ::"l"((uint64_t *)v.bell.x),
		"l"(wqe_doorbell((index & 0xffff) << 8 | WQE_WRITE, (uint32_t)v.bell.y << 8 | 3))
		: "memory");
	asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %1};" ::"l"(&line->ready), "l"(end)
		     : "memory");
}

template <post_ringing_t RINGING> FN bool must_ring(const word_t *word, uint64_t first)
{
	if constexpr (RINGING == POST_EACH)
		return true;
	else if constexpr (RINGING == POST_RULE)
		return load(&word->reserved) == first + 1 || (first ^ (first + 1)) >= BATCH;
	else if constexpr (RINGING == POST_EVERY_4TH)
		return (first & 3) == 3;
	else
		return (first & 31) == 31;
}

template <post_ringing_t RINGING, post_record_t RECORD, post_fences_t FENCES>
FN void put(const tables_t &t, uint32_t channel, const char *to, const char *from, uint32_t lane)
{
	const uint64_t dst = (uint64_t)(to - t.heap), src = (uint64_t)(from - t.heap);
	const uint32_t at = channel * t.n_pes + POST_PE;
	const view_t v = look(t, at, dst, src, lane);
	line_t *line = &t.lines[at];
	uint64_t ready = v.progress.x;

	write_put(v, dst, src, lane);
	if (lane == 0) {
		fence<FENCES>();
		if ((RINGING == POST_RULE || RINGING == POST_EACH) && ready == v.first &&
		    v.progress.y == v.first) {
			// Alone: everything before is published and rung.
			ring<RECORD, FENCES>(line, v);
		} else {
			while (ready != v.first)
				ready = load(&line->ready);
			if (must_ring<RINGING>(&t.words[at], v.first))
				ring<RECORD, FENCES>(line, v);
			else
				asm volatile(
					"st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(&line->ready),
					"l"(v.first + 1)
					: "memory");
		}
	}
	__syncwarp();
}

#define PUT_KERNEL(name, ...)                                                                      \
	POST_KERNEL(name, tables_t, t, put<__VA_ARGS__>(t, channel, dst, src, lane))

PUT_KERNEL(each_gpu, POST_EACH, POST_RECORD, POST_GPU)
PUT_KERNEL(each_bare_gpu, POST_EACH, POST_NO_RECORD, POST_GPU)
PUT_KERNEL(each_system, POST_EACH, POST_RECORD, POST_SYSTEM)
PUT_KERNEL(rule_gpu, POST_RULE, POST_RECORD, POST_GPU)
PUT_KERNEL(rule_bare_gpu, POST_RULE, POST_NO_RECORD, POST_GPU)
PUT_KERNEL(every_4th_gpu, POST_EVERY_4TH, POST_RECORD, POST_GPU)
PUT_KERNEL(every_32nd_gpu, POST_EVERY_32ND, POST_RECORD, POST_GPU)
PUT_KERNEL(every_32nd_bare_gpu, POST_EVERY_32ND, POST_NO_RECORD, POST_GPU)
PUT_KERNEL(rule_system, POST_RULE, POST_RECORD, POST_SYSTEM)
PUT_KERNEL(rule_bare_system, POST_RULE, POST_NO_RECORD, POST_SYSTEM)
PUT_KERNEL(every_32nd_system, POST_EVERY_32ND, POST_RECORD, POST_SYSTEM)

#define ROW(ringing, record, fences, kernel)                                                       \
	{                                                                                          \
		POST_PUT, ringing, record, fences, POST_ANYWHERE, POST_KERNELS(kernel)             \
	}

static const post_row_t rows[] = {
	ROW(POST_EACH, POST_RECORD, POST_GPU, each_gpu),
	ROW(POST_EACH, POST_NO_RECORD, POST_GPU, each_bare_gpu),
	ROW(POST_EACH, POST_RECORD, POST_SYSTEM, each_system),
	ROW(POST_RULE, POST_RECORD, POST_GPU, rule_gpu),
	ROW(POST_RULE, POST_NO_RECORD, POST_GPU, rule_bare_gpu),
	ROW(POST_EVERY_4TH, POST_RECORD, POST_GPU, every_4th_gpu),
	ROW(POST_EVERY_32ND, POST_RECORD, POST_GPU, every_32nd_gpu),
	ROW(POST_EVERY_32ND, POST_NO_RECORD, POST_GPU, every_32nd_bare_gpu),
	ROW(POST_RULE, POST_RECORD, POST_SYSTEM, rule_system),
	ROW(POST_RULE, POST_NO_RECORD, POST_SYSTEM, rule_bare_system),
	ROW(POST_EVERY_32ND, POST_RECORD, POST_SYSTEM, every_32nd_system),
};

#define N_LINES (POST_MAX_CHANNELS * POST_N_PES)

static int make(tables_t *t)
{
	t->n_pes = POST_N_PES;
	t->log_granule = POST_LOG_GRANULE;
	t->lines = (line_t *)post_alloc(N_LINES * sizeof(line_t), 0);
	t->words = (word_t *)post_alloc(N_LINES * sizeof(word_t), 0);
	t->lkeys = (const uint2 *)post_alloc(4096, 0);
	t->rkeys = t->lkeys;
	return t->lines && t->words && t->lkeys ? 0 : 1;
}

static void *reset(const post_memory_t *m, const post_row_t *, uint32_t)
{
	static line_t lines[N_LINES];
	static tables_t t;

	if (t.lines == NULL && make(&t))
		return NULL;
	t.heap = m->heap;
	for (uint32_t i = 0; i < N_LINES; i++) {
		const uint32_t k = i / POST_N_PES;

		lines[i].wqes = post_wqes(m, k);
		lines[i].record = post_record(m, k);
		lines[i].doorbell = post_doorbell(m, k);
		lines[i].qpn = POST_QPN(k);
		lines[i].log_depth = POST_LOG_DEPTH;
	}
	if (post_failed(cudaMemcpy(t.lines, lines, sizeof(lines), cudaMemcpyHostToDevice),
			"limit") ||
	    post_failed(cudaMemset(t.words, 0, N_LINES * sizeof(word_t)), "limit"))
		return NULL;
	return &t;
}

extern const post_sequence_t post_by_limit = {"limit", rows, sizeof(rows) / sizeof(rows[0]), 0,
					      reset};
