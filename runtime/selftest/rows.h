/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The rows of the self-test: each is a function on a pair of queue pairs, and a line of the table
 * in rows.c. */
#ifndef SHMEMHI_SELFTEST_ROWS_H
#define SHMEMHI_SELFTEST_ROWS_H

#include "selftest/rig.h"
#include "fault/results.h"

/* What a row has found. */
typedef struct shmemhi_outcome {
	int verdict; /* shmemhi_verdict; a row that says nothing has passed */
	char text[200];
} shmemhi_outcome_t;

/* Over two machines: REQUESTER: the verdict is on the NIC of end a, RESPONDER: on that of end b,
 * neither: on both. LOCAL: the row needs both ends in one process. */
enum { SHMEMHI_ROW_REQUESTER = 16, SHMEMHI_ROW_RESPONDER = 32, SHMEMHI_ROW_LOCAL = 64 };

typedef struct shmemhi_selftest_row {
	/* Also the value of MLX5SW_UNLIKE that breaks it. gpu-doorbell and gpu-read-quiet have no
	 * such value. */
	const char *name;
	const char *what;      /* that it tests */
	const char *otherwise; /* what follows from a failure */
	int flags;             /* SHMEMHI_PAIR_*, SHMEMHI_ROW_* */
	void (*run)(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o);
} shmemhi_selftest_row_t;

/* The table. *n: receives its length. */
const shmemhi_selftest_row_t *shmemhi_selftest_rows(int *n);

/* Set verdict and text, if the verdict is worse than the present one. An equal one sets the text
 * only if there is none yet; a better one changes nothing. */
void shmemhi_row_fails(shmemhi_outcome_t *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void shmemhi_row_unknown(shmemhi_outcome_t *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* The same as a remark on a row that passes. */
void shmemhi_row_note(shmemhi_outcome_t *o, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Fail because of a completion that is no success. */
void shmemhi_row_no_success(shmemhi_outcome_t *o, const char *what, const shmemhi_completion_t *c);

typedef void shmemhi_row_run_t(shmemhi_rig_t *rig, shmemhi_pair_t *pair, shmemhi_outcome_t *o);

/* rows_data.c */
shmemhi_row_run_t shmemhi_row_write, shmemhi_row_inline, shmemhi_row_read, shmemhi_row_dump,
	shmemhi_row_fence, shmemhi_row_immediate, shmemhi_row_read_quiet;
/* rows_atomic.c */
shmemhi_row_run_t shmemhi_row_add_8, shmemhi_row_cas_8, shmemhi_row_masked_add_4,
	shmemhi_row_masked_add_8, shmemhi_row_masked_cas_4, shmemhi_row_masked_cas_8,
	shmemhi_row_order_4, shmemhi_row_order_8, shmemhi_row_two_ports;
/* rows_queue.c */
shmemhi_row_run_t shmemhi_row_doorbell, shmemhi_row_wrap, shmemhi_row_ring, shmemhi_row_collapsed,
	shmemhi_row_ts_format;
/* rows_error.c */
shmemhi_row_run_t shmemhi_row_bad_opcode, shmemhi_row_bad_local_key, shmemhi_row_bad_remote_key,
	shmemhi_row_bad_request, shmemhi_row_retry, shmemhi_row_flush_order;
/* rows_failover.c */
shmemhi_row_run_t shmemhi_row_prefix, shmemhi_row_late_write;
/* rows_repeat.c */
shmemhi_row_run_t shmemhi_row_repeated_write;
/* rows_gpu.c */
shmemhi_row_run_t shmemhi_row_gpu_doorbell, shmemhi_row_gpu_queue, shmemhi_row_gpu_quiet;

#endif
