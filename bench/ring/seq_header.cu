// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// NVSHMEM's installed header itself, without its runtime and without a NIC: the two state symbols
// that its device library would define are defined here, and filled with queues of our own. So this
// file is compiled with -rdc=true and linked without NVSHMEM's libraries. Each row calls the
// function behind the public one, which is inlined here and a call there.
#ifndef NDEBUG // so NVSHMEM builds its own device library
#define NDEBUG
#endif
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <device/nvshmem_device_macros.h>
#include <non_abi/device/pt-to-pt/ibgda_device.cuh>
#include "peer.h"

__constant__ nvshmemi_device_host_state_t nvshmemi_device_state_d;
__constant__ nvshmemi_ibgda_device_state_t nvshmemi_ibgda_device_state_d;

static_assert(sizeof(peer_qp_t) == sizeof(nvshmemi_ibgda_device_qp_t) &&
		      sizeof(peer_cq_t) == sizeof(nvshmemi_ibgda_device_cq_t) &&
		      sizeof(peer_key_t) == sizeof(nvshmemi_ibgda_device_key_t),
	      "peer.h and NVSHMEM's header differ");
static_assert(offsetof(peer_qp_t, sq) == offsetof(nvshmemi_ibgda_device_qp_t, tx_wq) &&
		      offsetof(peer_qp_t, words) == offsetof(nvshmemi_ibgda_device_qp_t, mvars),
	      "peer.h and NVSHMEM's header differ");

#ifdef __CUDA_ARCH__
#define DO(call) call
#else
#define DO(call) (void)dst // the header has no such function on the host
#endif

POST_KERNEL(put_rule, peer_none_t, none,
	    DO((nvshmemi_ibgda_rma_nbi<NVSHMEMI_THREADGROUP_WARP, NVSHMEMI_OP_PUT>(
		    dst, (void *)src, POST_NBYTES, POST_PE))))
POST_KERNEL(p_rule, peer_none_t, none,
	    if (lane == 0) DO((nvshmemi_ibgda_rma_p<uint64_t>(dst, (uint64_t)i, POST_PE)));
	    __syncwarp())
POST_KERNEL(add_rule, peer_none_t, none,
	    if (lane == 0)
		    DO((nvshmemi_ibgda_amo_nonfetch<uint64_t>(dst, 1, POST_PE, NVSHMEMI_AMO_ADD)));
	    __syncwarp())

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

static int fill_job(const peer_state_t *from)
{
	static nvshmemi_device_host_state_t job;

	memset(&job, 0, sizeof(job));
	job.mype = from->my_pe;
	job.npes = from->n_pes;
	job.node_npes = 1;
	job.heap_base = from->heap;
	job.heap_size = from->heap_nbytes;
	job.peer_heap_base_remote = (void **)from->remote;
	job.ibgda_is_initialized = true;
	return post_failed(cudaMemcpyToSymbol(nvshmemi_device_state_d, &job, sizeof(job)),
			   "NVSHMEM's state");
}

static int fill_queues(const peer_state_t *from)
{
	static nvshmemi_ibgda_device_state_t state;

	memset(&state, 0, sizeof(state));
	state.num_rc_per_pe = from->n_qps;
	state.rc_map_type = NVSHMEMI_IBGDA_DEVICE_QP_MAP_TYPE_WARP;
	state.num_qp_groups = from->n_groups;
	state.num_requests_in_batch = from->batch;
	state.log2_cumem_granularity = from->log_granule;
	state.num_devices_initialized = (int)from->n_devices;
	state.ndcts_per_pe = 1;
	state.nic_buf_on_gpumem = from->is_queue_on_gpu;
	state.support_half_av_seg = true;
	state.may_skip_cst = true;
	memcpy(state.constmem.lkeys, from->lkeys, sizeof(state.constmem.lkeys));
	memcpy(state.constmem.rkeys, from->rkeys, sizeof(state.constmem.rkeys));
	state.globalmem.qp_group_switches = from->switches;
	state.globalmem.rcs = (nvshmemi_ibgda_device_qp_t *)from->qps;
	return post_failed(cudaMemcpyToSymbol(nvshmemi_ibgda_device_state_d, &state, sizeof(state)),
			   "NVSHMEM's state");
}

static void *reset(const post_memory_t *m, const post_row_t *, uint32_t n_channels)
{
	static peer_none_t none;
	const peer_state_t *from = peer_reset(m, n_channels);

	return from == NULL || fill_job(from) || fill_queues(from) ? NULL : &none;
}

extern const post_sequence_t post_by_header = {"NVSHMEM's", rows, sizeof(rows) / sizeof(rows[0]),
					       PEER_FIRST, reset};
