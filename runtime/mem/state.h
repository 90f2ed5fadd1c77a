/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What runtime/mem keeps for a job (shmemh.mem). Included by no file of another folder of the
 * library. */
#ifndef SHMEMHI_MEM_STATE_H
#define SHMEMHI_MEM_STATE_H

#include "cuda/ctx.h"
#include "job/job.h"
#include "mem/backend.h"
#include "mem/fdpass.h"
#include "mem/mem.h"
#include "mem/suballoc.h"

#define SHMEMHI_KEY_NBYTES 16
#define SHMEMHI_MAX_RANGE_ARRAYS 32

#define SHMEMHI_ID_GPU 1u                /* `gpu` is valid: the PE has a CUDA context */
#define SHMEMHI_ID_HOST_NATIVE_ATOMIC 2u /* its GPU's link to host memory has native atomics */
#define SHMEMHI_ID_NO_P2P 4u             /* SHMEMH_DISABLE_P2P: no other has its node_key */

/* The identity of a PE, as it is sent to the others. */
typedef struct shmemhi_identity {
	unsigned char node_key[SHMEMHI_KEY_NBYTES]; /* equal: candidates for one node (node.c) */
	/* Equal on PEs of one host, whatever SHMEMH_DISABLE_P2P says (node_key is random with
	 * that option). */
	unsigned char host[SHMEMHI_KEY_NBYTES];
	unsigned char process[SHMEMHI_KEY_NBYTES]; /* equal: one process */
	shmemhi_cu_uuid_t gpu;
	uint32_t flags; /* SHMEMHI_ID_* */
	int32_t device; /* ordinal; valid in its own process only */
} shmemhi_identity_t;

/* How this PE reaches another one's memory. */
typedef struct shmemhi_peer {
	int mapped;     /* its heap is, or will be, visible here */
	int in_process; /* mapped, and in this process: its heap is used at its own address */
	int conn;       /* socket for descriptors; -1: none */
	uint64_t given; /* last exchange in which this PE's message was sent, or could not be */
	uint64_t taken; /* last exchange in which its message was received, or could not be */
	int slice;      /* if mapped: number of its slice in the memfd of a growth, of
			   shmemhi_mem_t.n_slices */
	char *base;     /* its heap as seen here */
	/* In this PE's own entry: of its heap and those of the mapped PEs of other processes. Empty
	 * in all others. */
	shmemhi_range_t range;
} shmemhi_peer_t;

/* One growth of the heap. */
typedef struct shmemhi_growth {
	uint64_t offset;
	uint64_t nbytes; /* of one PE */
	/* [n_pes]: own, and those of mapped peers in other processes. With a host heap of several
	 * processes the leader's own is first the file of all slices; map_slices then replaces it
	 * by the leader's slice. */
	shmemhi_extent_t *extents;
} shmemhi_growth_t;

struct shmemhi_heap_call;

typedef struct shmemhi_heap {
	uint64_t reserved;
	uint64_t chunk; /* growths and `reserved` are multiples of it; a power of two */
	uint64_t granularity;
	uint64_t *committed; /* allocs->committed; accessed atomically, since kernels, and threads
				in shmemh_ptr, read it */
	shmemd_allocs_t *allocs;
	/* [n_ranges] pinned arrays to which allocs->ranges has pointed; it points to the last one.
	 * Each has room for twice as many ranges as the one before. Those before the last stay
	 * allocated, since a kernel may still read them. */
	shmemd_range_t *ranges[SHMEMHI_MAX_RANGE_ARRAYS];
	int n_ranges;
	shmemhi_suballoc_t blocks;
	shmemhi_growth_t *growths;
	size_t n_growths;
	uint64_t sequence;               /* heap calls whose gather succeeded, OP_TAKE too */
	struct shmemhi_heap_call *calls; /* [n_pes], what the PEs asked for */
} shmemhi_heap_t;

typedef struct shmemhi_mem {
	int n_pes;
	const shmemhi_backend_t *backend;
	shmemhi_cuctx_t *cuctx; /* NULL: no CUDA context */
	shmemhi_identity_t id;  /* own; sent to the others by node_open */
	shmemhi_identity_t *ids;
	shmemhi_peer_t *peers; /* [n_pes] */
	/* Host memory of a node of several processes: the PE that creates one file for the growth
	 * of all its n_slices PEs, in the order of their numbers. -1: each PE creates its own. */
	int leader;
	int n_slices;
	shmemhi_listener_t listener;
	uint64_t exchanges; /* descriptor exchanges so far */
	shmemhi_heap_t heap;
	shmemhi_on_growth_t *on_growth; /* registers a growth with NICs; NULL: none is in use */
} shmemhi_mem_t;

/* Open on a given driver table; NULL: no driver. Takes over its library: shmemhi_mem_close closes
 * it, and so does this call after a failure, or if no CUDA context is current. */
int shmemhi_mem_open_with(shmemh_t *job, const shmemhi_cuda_t *cuda);

/* PE 0 warns if the heap is in host memory for want of a CUDA context, although there are GPUs.
 * Returns 1 if it warned. */
int shmemhi_mem_warn_host(const shmemh_t *job, const char *dev_dir);

/* Fill id: node (of SHMEMH_NODE_ID, else boot and network namespace), process, GPU. */
void shmemhi_identity(const shmemh_t *job, shmemhi_identity_t *id);

/* Pass fd (-1: none to pass) to every connected peer and receive theirs into fds[n_pes] (-1: none;
 * SHMEMHI_FD_NO_ROOM: this process has no free descriptor). The failure of one peer does not stop
 * the exchange with the others. Collective over the connected PEs. Returns SHMEMH_OK, or the status
 * of one failure, with a line in err that names the peer. */
int shmemhi_exchange(shmemh_t *job, int fd, int *fds, shmemhi_err_t *err);

/* Bytes of the heap, from its start, that have memory on all PEs. Any thread. */
static inline uint64_t shmemhi_committed(const shmemhi_mem_t *mem)
{
	return __atomic_load_n(mem->heap.committed, __ATOMIC_ACQUIRE);
}

/* Add nbytes of memory on all PEs. Collective; the same result everywhere. On failure the heap
 * is unchanged. */
int shmemhi_grow(shmemh_t *job, uint64_t nbytes);

/* allocs.c: the table of allocations for check builds. prepare makes room for one more, and returns
 * 0, or -1 without memory; publish writes what the heap has now; close frees it. */
int shmemhi_allocs_prepare(shmemh_t *job);
void shmemhi_allocs_publish(shmemh_t *job);
void shmemhi_allocs_close(shmemh_t *job);

/* forbid: let address sanitizer report accesses of a part of this PE's heap. allow: permit accesses
 * of that part of the heaps of all PEs. Without the sanitizer, or if the heap is not in host
 * memory, these functions have no effect. */
void shmemhi_asan_forbid(const shmemh_t *job, uint64_t offset, uint64_t nbytes);
void shmemhi_asan_allow(const shmemh_t *job, uint64_t offset, uint64_t nbytes);

#endif
