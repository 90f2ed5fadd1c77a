// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The posting sequence of NVSHMEM 3.4.5 with IBGDA (non_abi/device/pt-to-pt/ibgda_device.cuh),
// written from its algorithm: the same words loaded in the same order, the same atomics, fences and
// scopes. As built in NVIDIA's packages: not for queues in GPU memory alone, so the scope of the
// fences towards the NIC is looked up, and stores are volatile ones of 32 bits.
#include "peer.h"
#include "wqe.h"

#define FN static __device__ __forceinline__

static __constant__ peer_state_t state;

FN void store(uint32_t *p, uint32_t v)
{
	*(volatile uint32_t *)p = v;
}

FN void store(char *p, uint4 v)
{
	uint32_t *words = (uint32_t *)p;

	store(&words[0], v.x);
	store(&words[1], v.y);
	store(&words[2], v.z);
	store(&words[3], v.w);
}

template <typename T> FN T load(const T *p)
{
	return *(const volatile T *)p;
}

FN void fence_block(void)
{
	asm volatile("fence.acq_rel.cta;" ::: "memory");
}

// Towards the NIC.
FN void fence_nic(const peer_state_t &s)
{
	if (s.is_queue_on_gpu)
		__threadfence();
	else
		__threadfence_system();
}

// The thread's block, SM or warp selects the queue pair. A byte in device memory is counted up on
// the way, and the address of the queue pair waits for it even with one device.
FN peer_qp_t *find_qp(const peer_state_t &s, int pe)
{
	const uint32_t n = s.n_qps * s.n_devices;
	uint32_t id = blockIdx.x, sm;

	if (pe == s.my_pe)
		__trap(); // the original takes a queue pair of another kind
	if (s.map == PEER_MAP_SM) {
		asm("mov.u32 %0, %%smid;" : "=r"(sm));
		id = sm;
	} else if (s.map == PEER_MAP_WARP) {
		id = blockIdx.x * blockDim.x / 32 + threadIdx.x / 32;
	}
	const uint32_t count = ++s.switches[id % s.n_groups];

	id = id / s.n_devices * s.n_devices + count % s.n_devices;
	return &s.qps[pe * n + id % n];
}

FN uint32_t find_local(const peer_state_t &s, uint64_t addr, uint32_t device, uint64_t *nbytes)
{
	const uint64_t heap = (uint64_t)s.heap;

	if (addr < heap || addr > heap + s.heap_nbytes - 1)
		__trap(); // the original walks a list of buffers that were registered one by one
	const uint64_t at = ((addr - heap) >> s.log_granule) * s.n_devices + device;
	const peer_key_t key = at < PEER_MAX_KEYS ? s.lkeys[at] : s.more_lkeys[at - PEER_MAX_KEYS];

	*nbytes = min(key.end - addr, (uint64_t)1 << 30);
	return key.key;
}

// The number of PEs is read by a load that the compiler cannot turn into a constant operand.
FN uint32_t find_remote(const peer_state_t &s, uint64_t addr, int pe, uint32_t device,
			uint64_t *raddr, uint64_t *nbytes)
{
	const uint64_t offset = addr - (uint64_t)s.heap;
	int n_pes;

	asm volatile("ld.b32 %0, [%1];" : "=r"(n_pes) : "l"(&s.n_pes));
	const uint64_t at =
		(offset >> s.log_granule) * n_pes * s.n_devices + pe * s.n_devices + device;
	const peer_key_t key = at < PEER_MAX_KEYS ? s.rkeys[at] : s.more_rkeys[at - PEER_MAX_KEYS];

	*raddr = (uint64_t)s.remote[pe] + offset;
	*nbytes = key.end - offset;
	return key.key;
}

// Wait until the WQE before `index` is complete: a copy of the CQ's fields, then the consumed
// index. The CQ itself is read only if that is behind, which it is not in a burst.
FN void wait_complete(const peer_qp_t *qp, uint64_t index)
{
	const peer_cq_t cq = *qp->sq.cq;
	uint16_t counter;

	if (load(cq.consumed) >= index)
		return;
	while (load(cq.posted) < index)
		;
	fence_block();
	do {
		counter = load((const uint16_t *)(cq.cqe + 60));
		counter = (uint16_t)__byte_perm(counter, 0, 0x4401);
		if (load(cq.consumed) >= index)
			return;
	} while ((uint16_t)((uint16_t)index - counter - 2) < cq.n_cqes);
	atomicMax((unsigned long long *)cq.consumed, (unsigned long long)index);
}

// Reserve, then wait for room.
FN uint64_t reserve(peer_qp_t *qp, uint32_t n)
{
	const uint64_t first =
		atomicAdd((unsigned long long *)&qp->words.reserved, (unsigned long long)n);
	const uint16_t depth = qp->sq.depth;

	if (first + n >= depth) {
		wait_complete(qp, first + n - depth);
		fence_block();
	}
	fence_block();
	return first;
}

FN char *find_wqe(const peer_qp_t *qp, uint16_t index)
{
	const uint16_t depth = qp->sq.depth;

	return qp->sq.wqes + ((size_t)(uint16_t)(index & (depth - 1)) << 6);
}

// Under the lock: advance the posted index, then record and doorbell, a fence before each.
FN void ring(const peer_state_t &s, peer_qp_t *qp, uint64_t end)
{
	while (atomicCAS(&qp->words.lock, 0, 1) == 1)
		;
	fence_block();
	if (end > atomicMax((unsigned long long *)&qp->words.posted, (unsigned long long)end)) {
		fence_nic(s);
		store(qp->sq.record, wqe_be32((uint32_t)end & 0xffff));
		fence_nic(s);
		*(volatile uint64_t *)qp->sq.doorbell =
			wqe_doorbell((uint32_t)(uint16_t)end << 8, qp->qpn << 8);
	}
	fence_block();
	*(volatile int *)&qp->words.lock = 0;
}

// A fence towards the NIC, publish in order by compare-and-swap, then ring unless a later post is
// reserved that will; a batch of 32 rings in any case.
FN void submit(const peer_state_t &s, peer_qp_t *qp, uint64_t first, uint32_t n)
{
	const uint64_t end = first + n, mask = ~((uint64_t)s.batch - 1);

	fence_nic(s);
	while (atomicCAS((unsigned long long *)&qp->words.ready, first, end) != first)
		;
	fence_block();
	if (end == load(&qp->words.reserved) || (first & mask) != (end & mask) || n >= s.batch) {
		if (s.is_rung_by_host)
			__trap(); // not measured
		ring(s, qp, end);
	}
}

// A put by a warp. All lanes look up the keys of all chunks; lane i keeps those of the i-th.
FN void put(const peer_state_t &s, const char *to, const char *from, uint32_t lane)
{
	uint64_t dst = (uint64_t)to, src = (uint64_t)from, left = POST_NBYTES, first = 0;
	uint64_t my_src = 0, my_dst = 0, my_nbytes = 0, raddr, lnbytes, rnbytes;
	uint32_t my_lkey = 0, my_rkey = 0, n = 0;
	peer_qp_t *qp = NULL;

	if (lane == 0)
		qp = find_qp(s, POST_PE);
	qp = (peer_qp_t *)__shfl_sync(~0u, (unsigned long long)qp, 0);
	if (qp->type == PEER_QP_DC)
		__trap(); // the original writes an address vector, too
	while (left > 0) {
		const uint32_t lkey = find_local(s, src, qp->device, &lnbytes);
		const uint32_t rkey = find_remote(s, dst, POST_PE, qp->device, &raddr, &rnbytes);
		const uint64_t nbytes = min(min(left, (uint64_t)1 << 31), min(lnbytes, rnbytes));

		if (lane == n) {
			my_lkey = lkey;
			my_src = src;
			my_rkey = rkey;
			my_dst = raddr;
			my_nbytes = nbytes;
		}
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
		store(wqe + 16, wqe_remote(my_dst, my_rkey));
		store(wqe + 32, wqe_local(my_src, my_lkey, (uint32_t)my_nbytes));
	}
	__syncwarp();
	if (lane == n - 1)
		submit(s, qp, first, n);
	__syncwarp();
}

// A value of 8 bytes within its WQE, by one thread.
FN void p_value(const peer_state_t &s, const char *to, uint64_t value)
{
	peer_qp_t *qp = find_qp(s, POST_PE);
	uint64_t dst, nbytes;

	const uint32_t rkey = find_remote(s, (uint64_t)to, POST_PE, qp->device, &dst, &nbytes);
	if (qp->type == PEER_QP_DC)
		__trap();
	const uint64_t first = reserve(qp, 1);
	char *wqe = find_wqe(qp, (uint16_t)first);

	store(wqe, wqe_control(WQE_WRITE, (uint32_t)first, qp->qpn, 3, 0));
	store(wqe + 16, wqe_remote(dst, rkey));
	uint32_t *const data = (uint32_t *)(wqe + 32);

	store(&data[0], wqe_be32(8 | WQE_INLINE));
	store(&data[1], (uint32_t)value);
	store(&data[2], (uint32_t)(value >> 32));
	submit(s, qp, first, 1);
}

// An add of 8 bytes that does not fetch, by one thread. The old value lands in the first slot of
// the queue pair's buffer.
FN void add(const peer_state_t &s, const char *to, uint64_t value)
{
	peer_qp_t *qp = find_qp(s, POST_PE);
	uint64_t dst, nbytes;

	const uint32_t rkey = find_remote(s, (uint64_t)to, POST_PE, qp->device, &dst, &nbytes);
	if (qp->type == PEER_QP_DC)
		__trap();
	const uint64_t first = reserve(qp, 1);
	char *wqe = find_wqe(qp, (uint16_t)first);
	const uint2 be = wqe_be64(value);

	store(wqe, wqe_control(WQE_MASKED_ADD | WQE_ADD_8, (uint32_t)first, qp->qpn, 4, 0));
	store(wqe + 16, wqe_remote(dst, rkey));
	store(wqe + 32, make_uint4(be.x, be.y, 0, 0));
	store(wqe + 48, wqe_local((uint64_t)qp->bounce.buffer, qp->bounce.lkey, 8));
	submit(s, qp, first, 1);
}

POST_KERNEL(put_rule, peer_none_t, none, put(state, dst, src, lane))
POST_KERNEL(p_rule, peer_none_t, none, if (lane == 0) p_value(state, dst, i); __syncwarp())
POST_KERNEL(add_rule, peer_none_t, none, if (lane == 0) add(state, dst, 1); __syncwarp())

// Fences follow the place of the queues.
#define ROWS(op, kernel)                                                                           \
	{op, POST_RULE, POST_RECORD, POST_GPU, POST_ON_DEVICE, POST_KERNELS(kernel)},              \
	{                                                                                          \
		op, POST_RULE, POST_RECORD, POST_SYSTEM, POST_ON_HOST, POST_KERNELS(kernel)        \
	}

static const post_row_t rows[] = {
	ROWS(POST_PUT, put_rule),
	ROWS(POST_P, p_rule),
	ROWS(POST_ADD, add_rule),
};

static void *reset(const post_memory_t *m, const post_row_t *, uint32_t n_channels)
{
	static peer_none_t none;
	const peer_state_t *from = peer_reset(m, n_channels);

	if (from == NULL || post_failed(cudaMemcpyToSymbol(state, from, sizeof(state)), "state"))
		return NULL;
	return &none;
}

extern const post_sequence_t post_by_nvshmem = {"NVSHMEM", rows, sizeof(rows) / sizeof(rows[0]),
						PEER_FIRST, reset};
