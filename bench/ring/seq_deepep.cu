// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The posting sequence of DeepEP at commit 567632d (csrc/kernels/ibgda_device.cuh), written from
// its algorithm: the same words loaded in the same order, the same atomics, fences and scopes. It
// does not wait for room in the queue, and its fences have the GPU's scope wherever queues lie.
#include "peer.h"
#include "wqe.h"

#define FN static __device__ __forceinline__

static __constant__ peer_state_t state;

// Stores towards the NIC keep out of the L1 cache. Like the original's they do not tell the
// compiler that memory changes, so that fields loaded before one may be used after it.
FN void store(void *p, uint4 v)
{
	asm volatile(
		"st.relaxed.gpu.global.L1::no_allocate.v4.s32 [%0], {%1, %2, %3, %4};" ::"l"(p),
		"r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w));
}

FN void store(void *p, uint32_t v)
{
	asm volatile("st.relaxed.gpu.global.L1::no_allocate.b32 [%0], %1;" ::"l"(p), "r"(v));
}

FN void store_release(uint32_t *p, uint32_t v)
{
	asm volatile("st.release.gpu.global.L1::no_allocate.b32 [%0], %1;" ::"l"(p), "r"(v));
}

FN void store_release(uint64_t *p, uint64_t v)
{
	asm volatile("st.release.gpu.global.L1::no_allocate.b64 [%0], %1;" ::"l"(p), "l"(v));
}

FN void fence_block(void)
{
	asm volatile("fence.acq_rel.cta;" ::: "memory");
}

// The address of the queue pair is computed from constants: no load.
FN peer_qp_t *find_qp(const peer_state_t &s, int pe, uint32_t id)
{
	const uint32_t n = s.n_qps * s.n_devices;

	return &s.qps[pe * n + id % n];
}

// Keys come from tables in constant memory, the peer's base address from device memory. The index
// of the device is a word of the queue pair.
FN uint64_t find_remote(const peer_state_t &s, uint64_t addr, int pe, uint32_t device,
			uint64_t *raddr, uint32_t *rkey)
{
	const uint64_t offset = addr - (uint64_t)s.heap;
	const uint64_t at =
		(offset >> s.log_granule) * s.n_pes * s.n_devices + pe * s.n_devices + device;
	const peer_key_t key = at < PEER_MAX_KEYS ? s.rkeys[at] : s.more_rkeys[at - PEER_MAX_KEYS];

	*raddr = (uint64_t)s.remote[pe] + offset;
	*rkey = key.key;
	return key.end - offset;
}

FN uint64_t find_local(const peer_state_t &s, uint64_t addr, uint32_t device, uint32_t *lkey)
{
	const uint64_t at = ((addr - (uint64_t)s.heap) >> s.log_granule) * s.n_devices + device;

	*lkey = s.lkeys[at].key;
	return s.lkeys[at].end - addr;
}

// One atomic, and no look at how much room there is.
FN uint64_t reserve(peer_qp_t *qp, uint32_t n)
{
	return atomicAdd((unsigned long long *)&qp->words.reserved, (unsigned long long)n);
}

FN char *find_wqe(const peer_qp_t *qp, uint16_t index)
{
	const uint16_t depth = qp->sq.depth;

	return qp->sq.wqes + ((size_t)(uint16_t)(index & (depth - 1)) << 6);
}

// Under the lock: advance the posted index, then record and doorbell, each by a store that
// releases. Only a poster that is ahead of all before it rings.
FN void ring(peer_qp_t *qp, uint64_t end)
{
	while (atomicCAS(&qp->words.lock, 0, 1) == 1)
		;
	fence_block();
	if (end > atomicMax((unsigned long long *)&qp->words.posted, (unsigned long long)end)) {
		store_release(qp->sq.record, wqe_be32((uint32_t)end & 0xffff));
		store_release(qp->sq.doorbell,
			      wqe_doorbell((uint32_t)(uint16_t)end << 8, qp->qpn << 8));
	}
	fence_block();
	store(&qp->words.lock, 0u);
}

// A fence of the GPU's scope, then publish in order by compare-and-swap, then ring: always, or with
// every fourth message of the caller.
template <bool ALWAYS>
FN void submit(const peer_state_t &s, peer_qp_t *qp, uint64_t first, uint32_t n, uint32_t message)
{
	unsigned long long *ready =
		(unsigned long long *)(s.is_rung_by_host ? qp->sq.posted : &qp->words.ready);

	__threadfence();
	while (atomicCAS(ready, first, first + n) != first)
		;
	if (!s.is_rung_by_host && (ALWAYS || (message + 1) % 4 == 0))
		ring(qp, first + n);
}

// A put by a warp. Each lane keeps the keys of one chunk; a chunk ends where a key does.
template <bool ALWAYS>
FN void put(const peer_state_t &s, uint32_t id, const char *to, const char *from, uint32_t lane,
	    uint32_t message)
{
	uint64_t dst = (uint64_t)to, src = (uint64_t)from, left = POST_NBYTES, first = 0;
	uint64_t my_src = 0, my_dst = 0, my_nbytes = 0;
	uint32_t lkey = 0, rkey = 0, n = 0;
	peer_qp_t *qp = find_qp(s, POST_PE, id);

	while (left > 0) {
		if (lane == n) {
			my_src = src;
			my_nbytes = min(find_local(s, src, qp->device, &lkey),
					find_remote(s, dst, POST_PE, qp->device, &my_dst, &rkey));
			my_nbytes = min(left, my_nbytes);
		}
		const uint64_t nbytes = __shfl_sync(~0u, my_nbytes, (int)n);
		left -= nbytes;
		src += nbytes;
		dst += nbytes;
		n++;
	}
	if (lane == 0)
		first = reserve(qp, n);
	first = __shfl_sync(~0u, first, 0);
	if (lane < n) {
		char *wqe = find_wqe(qp, (uint16_t)(first + lane));

		store(wqe, wqe_control(WQE_WRITE, (uint32_t)(first + lane), qp->qpn, 3, 0));
		store(wqe + 16, wqe_remote(my_dst, rkey));
		store(wqe + 32, wqe_local(my_src, lkey, (uint32_t)my_nbytes));
	}
	__syncwarp();
	if (lane == 0)
		submit<ALWAYS>(s, qp, first, n, message);
	__syncwarp();
}

// A value of 4 bytes within its WQE, by one thread.
FN void p_value(const peer_state_t &s, uint32_t id, const char *to, uint32_t value)
{
	peer_qp_t *qp = find_qp(s, POST_PE, id);
	uint64_t dst;
	uint32_t rkey;

	find_remote(s, (uint64_t)to, POST_PE, qp->device, &dst, &rkey);
	const uint64_t first = reserve(qp, 1);
	char *wqe = find_wqe(qp, (uint16_t)first);

	store(wqe, wqe_control(WQE_WRITE, (uint32_t)first, qp->qpn, 3, 0));
	store(wqe + 16, wqe_remote(dst, rkey));
	store(wqe + 32, wqe_be32(4 | WQE_INLINE));
	store(wqe + 36, value);
	submit<true>(s, qp, first, 1, 0);
}

// An add of 4 bytes that does not fetch, by one thread. The old value lands in the first slot of
// the queue pair's buffer.
FN void add(const peer_state_t &s, uint32_t id, const char *to, uint32_t value)
{
	peer_qp_t *qp = find_qp(s, POST_PE, id);
	uint64_t dst;
	uint32_t rkey;

	find_remote(s, (uint64_t)to, POST_PE, qp->device, &dst, &rkey);
	const uint64_t first = reserve(qp, 1);
	char *wqe = find_wqe(qp, (uint16_t)first);

	store(wqe, wqe_control(WQE_MASKED_ADD | WQE_ADD_4, (uint32_t)first, qp->qpn, 4, 0));
	store(wqe + 16, wqe_remote(dst, rkey));
	store(wqe + 32, make_uint4(wqe_be32(value), 0, 0, 0));
	store(wqe + 48, wqe_local((uint64_t)qp->bounce.buffer, qp->bounce.lkey, 4));
	submit<true>(s, qp, first, 1, 0);
}

POST_KERNEL(put_each, peer_none_t, none, put<true>(state, channel, dst, src, lane, i))
POST_KERNEL(put_every_4th, peer_none_t, none, put<false>(state, channel, dst, src, lane, i))
POST_KERNEL(p_each, peer_none_t, none, if (lane == 0) p_value(state, channel, dst, i); __syncwarp())
POST_KERNEL(add_each, peer_none_t, none, if (lane == 0) add(state, channel, dst, 1); __syncwarp())

#define ROW(op, ringing, kernel)                                                                   \
	{                                                                                          \
		op, ringing, POST_RECORD, POST_GPU, POST_ANYWHERE, POST_KERNELS(kernel)            \
	}

static const post_row_t rows[] = {
	ROW(POST_PUT, POST_EACH, put_each),
	ROW(POST_PUT, POST_EVERY_4TH, put_every_4th),
	ROW(POST_P, POST_EACH, p_each),
	ROW(POST_ADD, POST_EACH, add_each),
};

static void *reset(const post_memory_t *m, const post_row_t *, uint32_t n_channels)
{
	static peer_none_t none;
	const peer_state_t *from = peer_reset(m, n_channels);

	if (from == NULL || post_failed(cudaMemcpyToSymbol(state, from, sizeof(state)), "state"))
		return NULL;
	return &none;
}

extern const post_sequence_t post_by_deepep = {"DeepEP", rows, sizeof(rows) / sizeof(rows[0]),
					       PEER_FIRST, reset};
