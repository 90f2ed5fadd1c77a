/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU doorbell proxy: where kernels cannot write to a NIC's doorbells, they store the producer
 * index into a word of pinned memory. A thread of the host polls it, writes the doorbell record and
 * rings the doorbell.
 *
 * Order, all the way from a kernel's thread to the NIC:
 *   WQE, data -> producer    the kernel's system fence
 *   producer -> record       acquire: neither store below moves up before that load
 *   record -> doorbell       full fence: a NIC that takes the doorbell reads this record or a later
 *                            one. x86 keeps stores to a register behind those to memory only if it
 *                            is mapped uncached; where writes are combined, they may overtake */
#include <endian.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include "base/thread.h"
#include "ib/state.h"

#define SPINS 2000      /* rounds without news before it sleeps between them */
#define SLEEP_NS 20000L /* the longest wait of a doorbell after a pause, but for the next line */
#define SLACK_NS 1000UL /* by which the kernel lengthens sleeps; 50 us unless told */

typedef struct bell {
	const shmemhi_link_t *link;
	uint32_t told; /* index that its doorbell was rung for last */
} bell_t;

struct shmemhi_ringer {
	pthread_t thread;
	int has_thread;
	_Atomic int is_ending;
	size_t n_bells;
	bell_t bells[];
};

/* Orders all stores, as a device sees them, too. What C11 makes of a fence on Arm orders only what
 * CPUs see. */
static void fence_full(void)
{
#ifdef __aarch64__
	__asm__ volatile("dsb sy" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The 8 bytes as they lie in memory: next block's index << 8, QPN << 8, both big-endian. */
static uint64_t doorbell_of(uint32_t index, uint32_t qpn)
{
	return htobe64((uint64_t)(index << 8) << 32 | qpn << 8);
}

/* Returns whether the index had advanced. */
static bool ring(bell_t *bell)
{
	const shmemhi_link_t *link = bell->link;
	uint32_t index = (uint32_t)__atomic_load_n(link->producer, __ATOMIC_ACQUIRE);

	if ((int32_t)(index - bell->told) <= 0)
		return false;
	__atomic_store_n(shmemhi_send_record(link), htobe32(index & 0xffff), __ATOMIC_RELAXED);
	fence_full();
	__atomic_store_n((uint64_t *)link->host_doorbell, doorbell_of(index & 0xffff, link->qpn),
			 __ATOMIC_RELAXED);
	bell->told = index;
	return true;
}

int shmemhi_ringer_step(shmemhi_ringer_t *ringer)
{
	int n_rung = 0;

	for (size_t i = 0; i < ringer->n_bells; i++)
		n_rung += ring(&ringer->bells[i]);
	if (n_rung)
		fence_full(); /* doorbells leave a buffer that combines writes now */
	return n_rung;
}

static void *ringer_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = SLEEP_NS};
	shmemhi_ringer_t *ringer = arg;
	unsigned idle = 0;

	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
	while (!atomic_load_explicit(&ringer->is_ending, memory_order_relaxed)) {
		if (shmemhi_ringer_step(ringer))
			idle = 0;
		else if (idle < SPINS)
			idle++;
		if (idle < SPINS)
			relax();
		else
			nanosleep(&pause, NULL);
	}
	return NULL;
}

static shmemhi_ringer_t *ringer_new(const shmemhi_ib_t *ib, size_t n_links, size_t n_bells)
{
	shmemhi_ringer_t *ringer = calloc(1, sizeof *ringer + n_bells * sizeof ringer->bells[0]);

	for (size_t i = 0; ringer && i < n_links; i++)
		if (ib->links[i].producer)
			ringer->bells[ringer->n_bells++] =
				(bell_t){&ib->links[i], (uint32_t)*ib->links[i].producer};
	return ringer;
}

int shmemhi_ringer_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	size_t n_links = (size_t)ib->n_channels * (size_t)job->n_pes, n_bells = 0;
	int error;

	for (size_t i = 0; i < n_links; i++)
		n_bells += ib->links[i].producer != NULL;
	if (!n_bells)
		return SHMEMH_OK;
	ib->ringer = ringer_new(ib, n_links, n_bells);
	if (!ib->ringer)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "NIC %s: no host memory to ring %zu doorbells", ib->nic.name,
				    n_bells);
	if (shmemhi_ib_is_driven(ib))
		return SHMEMH_OK;
	error = shmemhi_thread_start(&ib->ringer->thread, "shmem_ringer", ringer_main, ib->ringer);
	if (!error) {
		ib->ringer->has_thread = 1;
		return SHMEMH_OK;
	}
	shmemhi_ringer_close(job, ib);
	return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
			    "NIC %s: no thread to ring its doorbells: pthread_create: %s",
			    ib->nic.name, strerror(error));
}

void shmemhi_ringer_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	(void)job;
	if (!ib->ringer)
		return;
	if (ib->ringer->has_thread) {
		atomic_store(&ib->ringer->is_ending, 1);
		pthread_join(ib->ringer->thread, NULL);
	}
	free(ib->ringer);
	ib->ringer = NULL;
}
