/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* For tests in which PEs are missing or die: the test program starts copies of itself as PEs and
 * checks how each of them ended. */
#ifndef TESTS_COPIES_H
#define TESTS_COPIES_H

#ifdef __cplusplus
extern "C" {
#endif

#define COPIES_MAX 8
#define COPIES_TEXT_NBYTES 4096

typedef struct copy_end {
	int signal;                    /* signal that killed it; 0: it exited */
	int status;                    /* exit status if signal is 0 */
	int is_late;                   /* it was killed because the time limit had passed */
	char text[COPIES_TEXT_NBYTES]; /* the text that it wrote to stderr */
} copy_end_t;

/* Start PEs 0 .. n_started - 1 of a job of n_pes as `this program role`, wait for all, at most
 * seconds. ends: [n_started]. Returns 0, or 1 after printing a line if they could not be
 * started. */
int copies_run(const char *role, int n_pes, int n_started, int seconds, copy_end_t *ends);

/* Print how each PE ended and what it wrote. */
void copies_print(const copy_end_t *ends, int n_started);

#ifdef __cplusplus
}
#endif

#endif
