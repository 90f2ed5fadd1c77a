/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The CPU doorbell proxy: where kernels cannot write to a NIC's doorbells, they store the producer
 * index into a word of pinned memory. A thread of the host polls it, writes the doorbell record and
 * rings the doorbell.
 *
 * What orders the accesses from a thread of a kernel to the NIC:
 *   WQE, data -> producer word   the system fence of the kernel's thread
 *   producer word -> record      the acquire load: the stores below cannot move before it
 *   record -> doorbell           the full fence: a NIC that takes the doorbell reads this record or
 *                                a later one. x86 orders a store to memory before a store to a
 *                                register only if the register is mapped uncached; with write
 *                                combining the doorbell could overtake the record */
#include <endian.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include "base/thread.h"
#include "ib/store_barrier.h"
#include "ib/state.h"

#define SPINS 2000      /* rounds without a new index before the thread sleeps between rounds */
#define SLEEP_NS 20000L /* one sleep; a doorbell usually waits at most for this and SLACK_NS */
#define SLACK_NS 1000UL /* by which the Linux kernel may lengthen sleeps; its default is 50 us */

typedef struct doorbell {
	const shmemhi_link_t *link;
	uint32_t rung; /* producer index of the last doorbell */
	bool has_rung;
} doorbell_t;

struct shmemhi_proxy {
	pthread_t thread;
	int has_thread;
	_Atomic int is_ending;
	pthread_mutex_t lock; /* of what follows */
	size_t n_doorbells, room;
	doorbell_t *doorbells;
};

static void relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* The 8 bytes of a doorbell as they lie in memory: producer index << 8, QPN << 8, big-endian. */
static uint64_t doorbell_of(uint32_t index, uint32_t qpn)
{
	return htobe64((uint64_t)(index << 8) << 32 | qpn << 8);
}

/* Write the record and ring the doorbell of one link. Returns false if its producer index has not
 * advanced since the last doorbell. The word of a later path of a channel is 0 until a thread of a
 * kernel stores the first index to it. The word holds channel index - base, and base is less than
 * 2^16. So the first index may be 2^31 or more, which a comparison with 0 would take for an older
 * one. */
static bool ring(doorbell_t *doorbell)
{
	const shmemhi_link_t *link = doorbell->link;
	uint32_t index = (uint32_t)__atomic_load_n(link->producer, __ATOMIC_ACQUIRE);

	if (index == doorbell->rung ||
	    (doorbell->has_rung && (int32_t)(index - doorbell->rung) < 0))
		return false;
	__atomic_store_n(shmemhi_send_record(link), htobe32(index & 0xffff), __ATOMIC_RELAXED);
	shmemhi_fence_full();
	__atomic_store_n((uint64_t *)link->host_doorbell, doorbell_of(index & 0xffff, link->qpn),
			 __ATOMIC_RELAXED);
	doorbell->rung = index;
	doorbell->has_rung = true;
	return true;
}

int shmemhi_proxy_step(shmemhi_proxy_t *proxy)
{
	int n_rung = 0;

	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->n_doorbells; i++)
		n_rung += ring(&proxy->doorbells[i]);
	pthread_mutex_unlock(&proxy->lock);
	if (n_rung)
		shmemhi_fence_full(); /* doorbells leave the CPU's write-combining buffers now */
	return n_rung;
}

static void *proxy_main(void *arg)
{
	const struct timespec pause = {.tv_nsec = SLEEP_NS};
	shmemhi_proxy_t *proxy = arg;
	unsigned idle = 0;

	prctl(PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0);
	while (!atomic_load_explicit(&proxy->is_ending, memory_order_relaxed)) {
		if (shmemhi_proxy_step(proxy))
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

static shmemhi_proxy_t *proxy_new(const shmemhi_ib_t *ib, size_t n_links, size_t n_doorbells)
{
	shmemhi_proxy_t *proxy = calloc(1, sizeof *proxy);

	if (!proxy)
		return NULL;
	pthread_mutex_init(&proxy->lock, NULL);
	proxy->doorbells = calloc(n_doorbells, sizeof proxy->doorbells[0]);
	proxy->room = n_doorbells;
	for (size_t i = 0; proxy->doorbells && i < n_links; i++)
		if (ib->links[i].producer)
			proxy->doorbells[proxy->n_doorbells++] = (doorbell_t){
				&ib->links[i], (uint32_t)*ib->links[i].producer, false};
	return proxy;
}

int shmemhi_proxy_add(shmemh_t *job, shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	shmemhi_proxy_t *proxy = ib->proxy;
	doorbell_t *doorbells;
	int status = SHMEMH_OK;
	size_t room;

	pthread_mutex_lock(&proxy->lock);
	doorbells = proxy->doorbells;
	room = proxy->room;
	if (proxy->n_doorbells == room) {
		room = 2 * room;
		doorbells = realloc(doorbells, room * sizeof *doorbells);
	}
	if (doorbells) {
		proxy->doorbells = doorbells;
		proxy->room = room;
		doorbells[proxy->n_doorbells++] =
			(doorbell_t){link, (uint32_t)*link->producer, false};
	} else {
		status = SHMEMH_ERR_NO_MEMORY;
	}
	pthread_mutex_unlock(&proxy->lock);
	if (status != SHMEMH_OK)
		shmemhi_log(&job->log, SHMEMHI_WARN,
			    "NIC %s: no host memory for the doorbell proxy: a list of %zu links",
			    link->port->name, room);
	return status;
}

void shmemhi_proxy_remove(shmemhi_ib_t *ib, const shmemhi_link_t *link)
{
	shmemhi_proxy_t *proxy = ib->proxy;

	pthread_mutex_lock(&proxy->lock);
	for (size_t i = 0; i < proxy->n_doorbells; i++)
		if (proxy->doorbells[i].link == link)
			proxy->doorbells[i--] = proxy->doorbells[--proxy->n_doorbells];
	pthread_mutex_unlock(&proxy->lock);
}

int shmemhi_proxy_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	size_t n_links = (size_t)ib->n_channels * (size_t)job->n_pes, n_doorbells = 0;
	int error;

	for (size_t i = 0; i < n_links; i++)
		n_doorbells += ib->links[i].producer != NULL;
	if (!n_doorbells)
		return SHMEMH_OK;
	ib->proxy = proxy_new(ib, n_links, n_doorbells);
	if (!ib->proxy || !ib->proxy->doorbells)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY,
				    "NIC %s: no host memory to ring %zu doorbells",
				    ib->home_port.name, n_doorbells);
	if (shmemhi_ib_is_emulated(ib))
		return SHMEMH_OK;
	error = shmemhi_thread_start(&ib->proxy->thread, "shmem_proxy", proxy_main, ib->proxy);
	if (!error) {
		ib->proxy->has_thread = 1;
		return SHMEMH_OK;
	}
	shmemhi_proxy_close(job, ib);
	return shmemhi_fail(&job->err, SHMEMH_ERR_SYSTEM,
			    "NIC %s: no thread to ring its doorbells: pthread_create: %s",
			    ib->home_port.name, strerror(error));
}

void shmemhi_proxy_close(shmemh_t *job, shmemhi_ib_t *ib)
{
	(void)job;
	if (!ib->proxy)
		return;
	if (ib->proxy->has_thread) {
		atomic_store(&ib->proxy->is_ending, 1);
		pthread_join(ib->proxy->thread, NULL);
	}
	pthread_mutex_destroy(&ib->proxy->lock);
	free(ib->proxy->doorbells);
	free(ib->proxy);
	ib->proxy = NULL;
}
