/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A block barrier that orders nothing. Ordinary C memory, which weak memory does not see: so the
 * emulator needs no barrier of this kind. */
#include <shmem_sim.h>
#include "site.h"

#define N_BARS 16
#define READY 0x600dU /* not what block scratch holds at first */

typedef struct meeting {
	uint32_t ready, round, n_arrived;
	int any[2]; /* of this round and the one before, which its threads may still have to read */
} meeting_t;

int weaken_meet(uint32_t id, uint32_t nthreads, int pred)
{
	static const char key;
	meeting_t *m = (meeting_t *)shmemsim_shared(&key, N_BARS * sizeof(*m)) + id;
	if (m->ready != READY)
		*m = (meeting_t){READY, 0, 0, {0, 0}};
	uint32_t round = m->round;
	m->any[round & 1] |= pred != 0;
	if (++m->n_arrived == nthreads) {
		m->n_arrived = 0;
		m->any[++m->round & 1] = 0;
		shmemsim_wrote = 1; /* wakes those who spin */
	}
	while (m->round == round)
		shmemsim_spin();
	return m->any[round & 1];
}
