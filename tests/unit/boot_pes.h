/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* PEs as threads of one process, for tests of the bootstrap. cmocka's assertions work only on the
 * main thread: PEs store their results in pe_t, and the test checks them after the join. */
#ifndef BOOT_PES_H
#define BOOT_PES_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <shmem_dev/abi/ctx.h>
#include "base/clock.h"
#include "boot/boot.h"
#include "boot/client.h"

#define MAX_TEST_PES 8
#define PATIENCE (30 * SHMEMHI_SECOND) /* only a failing test waits so long */

/* The arguments of the callback `gone`. */
typedef struct seen {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int n;
	int pe[32];
	uint32_t cause[32];
} seen_t;

typedef struct pe {
	pthread_t thread;
	const shmemh_uniqueid_t *id;
	int pe;
	int n_pes;
	void (*body)(struct pe *p); /* runs after a successful start; closes boot */
	void *arg;
	shmemhi_options_t opt;
	shmemh_boot_t boot;
	int status; /* of the start */
	shmemhi_err_t err;
	int status_of[8]; /* of collectives */
	char text_of[8][SHMEMHI_ERR_NBYTES];
	int n_wrong; /* number of wrong bytes in results */
	seen_t seen;
} pe_t;

/* A counter that threads wait for: orders PEs without sleeping. */
typedef struct gate {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int n;
} gate_t;

#define GATE_INIT                                                                                  \
	{                                                                                          \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                             \
	}

static inline struct timespec patience(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += (time_t)(PATIENCE / SHMEMHI_SECOND);
	return t;
}

static inline void gate_add(gate_t *g)
{
	pthread_mutex_lock(&g->lock);
	g->n++;
	pthread_cond_broadcast(&g->changed);
	pthread_mutex_unlock(&g->lock);
}

static inline void gate_wait(gate_t *g, int n)
{
	struct timespec until = patience();

	pthread_mutex_lock(&g->lock);
	while (g->n < n && pthread_cond_timedwait(&g->changed, &g->lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&g->lock);
}

static inline void on_gone(void *arg, int pe, uint32_t cause)
{
	seen_t *s = arg;

	pthread_mutex_lock(&s->lock);
	s->pe[s->n % 32] = pe;
	s->cause[s->n % 32] = cause;
	s->n++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* Wait until n calls were made. */
static inline void wait_seen(seen_t *s, int n)
{
	struct timespec until = patience();

	pthread_mutex_lock(&s->lock);
	while (s->n < n && pthread_cond_timedwait(&s->changed, &s->lock, &until) == 0)
		continue;
	pthread_mutex_unlock(&s->lock);
}

/* A unique id whose hub has that start deadline. */
static inline void make_id(shmemh_uniqueid_t *id, int n_pes, const char *timeout)
{
	setenv("SHMEMH_IFNAME", "lo", 1);
	setenv("SHMEMH_BOOT_TIMEOUT", timeout, 1);
	assert_int_equal(shmemh_get_uniqueid(n_pes, id), SHMEMH_OK);
}

static const shmemhi_log_t no_log = {SHMEMHI_OFF, -1, 0};

static inline void *pe_main(void *arg)
{
	pe_t *p = arg;

	p->status = shmemhi_boot_tcp(p->id, p->pe, p->n_pes, &p->opt, &no_log, &p->boot, &p->err);
	if (p->status == SHMEMH_OK)
		p->body(p);
	return NULL;
}

static inline void pe_start(pe_t *p, const shmemh_uniqueid_t *id, int pe, int n_pes,
			    void (*body)(pe_t *p), void *arg)
{
	memset(p, 0, sizeof(*p));
	p->id = id;
	p->pe = pe;
	p->n_pes = n_pes;
	p->body = body;
	p->arg = arg;
	pthread_mutex_init(&p->seen.lock, NULL);
	pthread_cond_init(&p->seen.changed, NULL);
	assert_int_equal(shmemhi_options_read(&p->opt, &no_log, &p->err), SHMEMH_OK);
	assert_int_equal(pthread_create(&p->thread, NULL, pe_main, p), 0);
}

static inline void pe_join(pe_t *p)
{
	pthread_join(p->thread, NULL);
}

/* The byte of PE pe at index i in round r. */
static inline unsigned char pattern(int pe, size_t i, int r)
{
	return (unsigned char)(pe * 37 + (int)(i * 11) + r * 5 + (int)(i >> 8));
}

/* Gather nbytes of the pattern and check all of it. The status goes to status_of[slot]. */
static inline int gather(pe_t *p, int slot, size_t nbytes, int round)
{
	unsigned char *src = calloc(1, nbytes + 1);
	unsigned char *dst = calloc((size_t)p->n_pes, nbytes + 1);
	size_t i;
	int pe;

	for (i = 0; i < nbytes; i++)
		src[i] = pattern(p->pe, i, round);
	p->status_of[slot] = p->boot.allgather(p->boot.state, src, dst, nbytes, p->text_of[slot],
					       sizeof(p->text_of[slot]));
	if (p->status_of[slot] == SHMEMH_OK)
		for (pe = 0; pe < p->n_pes; pe++)
			for (i = 0; i < nbytes; i++)
				p->n_wrong += dst[(size_t)pe * nbytes + i] != pattern(pe, i, round);
	free(src);
	free(dst);
	return p->status_of[slot];
}

static inline void leave(pe_t *p)
{
	p->boot.close(p->boot.state);
}

/* Connect as PE pe and prove the secret, and nothing else: a PE that can then die (close) or
 * misbehave. Returns the socket. */
static inline int raw_join(const shmemh_uniqueid_t *id, int pe, int n_pes)
{
	char where[SHMEMHI_ADDR_TEXT_NBYTES];
	shmemhi_err_t err = {""};
	shmemhi_id_t in;
	shmemhi_secret_t key;
	int fd;

	assert_int_equal(shmemhi_id_unpack(id, &in), 0);
	shmemhi_wire_key(in.secret, sizeof(in.secret), &key);
	fd = shmemhi_hub_connect(&in, &key, pe, n_pes, shmemhi_deadline(PATIENCE), &no_log, where,
				 &err);
	assert_true(fd >= 0);
	return fd;
}

/* Check that the next frame has that type, and read its body. */
static inline void raw_expect(int fd, uint32_t type)
{
	unsigned char body[4096];
	shmemhi_frame_t f;

	assert_int_equal(shmemhi_recv_all(fd, &f, sizeof(f), shmemhi_deadline(PATIENCE)), 0);
	assert_int_equal(f.type, type);
	assert_true(f.nbytes <= sizeof(body));
	assert_int_equal(shmemhi_recv_all(fd, body, f.nbytes, shmemhi_deadline(PATIENCE)), 0);
}

static inline void raw_send(int fd, const void *bytes, size_t nbytes)
{
	assert_int_equal(shmemhi_send_all(fd, bytes, nbytes, shmemhi_deadline(PATIENCE)), 0);
}

#endif
