/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The state of channels that an agent publishes: a table in a memfd. Threads of the process read it
 * under a lock; shmem-info --watch reads it by /proc/PID/fd, which the kernel allows to the same
 * user. The file has no name, so none stays behind. */
#ifndef SHMEMHI_FAULT_TABLE_H
#define SHMEMHI_FAULT_TABLE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include "base/err.h"

#define SHMEMHI_FAULT_TABLE_NAME "shmem_host_paths" /* of the memfd */
#define SHMEMHI_FAULT_TABLE_MAGIC "SHMEMHT\2"       /* the last byte is the version */

typedef struct shmemhi_fault_head {
	char magic[8];
	int32_t pe, n_pes;
	uint32_t n_channels, row_nbytes;
	uint64_t alive_at; /* CLOCK_MONOTONIC, nanoseconds: the agent's latest refresh */
	uint64_t zero[4];
} shmemhi_fault_head_t;

/* A channel. All zero: there is none, or nothing was published yet. */
typedef struct shmemhi_fault_row {
	uint32_t seq; /* odd while the row is being written */
	uint32_t is_there;
	int32_t state;  /* enum shmemh_fault_state */
	int32_t status; /* shmemd_status */
	uint32_t path, cause, is_found_at_peer;
	uint8_t syndrome, vendor_syndrome, has_counts, zero;
	uint64_t switches, replayed, ambiguous;
	/* Of the latest outage, CLOCK_MONOTONIC; it lasts while the state is SWITCHING. */
	uint64_t detected_at, fenced_at, opened_at, resumed_at;
	uint64_t outage_ns;         /* of the latest one that is over */
	uint64_t posted, completed; /* with has_counts: WQEBBs */
	char port[32], peer_port[32];
	uint32_t qpn, peer_qpn;
	char address[48], peer_address[48];
} shmemhi_fault_row_t;

typedef struct shmemhi_fault_table {
	int fd; /* valid if head is not NULL */
	size_t nbytes;
	shmemhi_fault_head_t *head;
	shmemhi_fault_row_t *rows; /* [n_pes][n_channels] */
	pthread_mutex_t lock;
} shmemhi_fault_table_t;

/* Returns SHMEMH_OK; ERR_SYSTEM. */
int shmemhi_fault_table_open(shmemhi_fault_table_t *table, int pe, int n_pes, uint32_t n_channels,
			     shmemhi_err_t *err);
void shmemhi_fault_table_close(shmemhi_fault_table_t *table);

/* One writer. read copies a row; any thread of this process. */
void shmemhi_fault_table_write(shmemhi_fault_table_t *table, uint32_t index,
			       const shmemhi_fault_row_t *row);
void shmemhi_fault_table_read(shmemhi_fault_table_t *table, uint32_t index,
			      shmemhi_fault_row_t *row);

/* Copy the row at `from` in another process's table, mapped read-only. Returns 0; -1: the writer
 * does not finish. */
int shmemhi_fault_row_copy(const shmemhi_fault_row_t *from, shmemhi_fault_row_t *row);

#endif
