/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* How PEs find each other: the unique id, and the interface of a program's own bootstrap. */
#ifndef SHMEMH_BOOT_H
#define SHMEMH_BOOT_H

#include <stddef.h>
#include <stdint.h>
#include <shmem_host/status.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SHMEMH_UNIQUEID_NBYTES 128 /* of a unique id */

/* Names one future job: up to four addresses of its hub and a 128-bit random secret. Plain bytes:
 * hand it to the other PEs by any means (MPI broadcast, a store, an environment variable, a file
 * that only the user can read). Any process that has it can join the job. */
typedef struct shmemh_uniqueid {
	unsigned char bytes[SHMEMH_UNIQUEID_NBYTES];
} shmemh_uniqueid_t;

/* Length of the text form, terminating NUL included. */
#define SHMEMH_UNIQUEID_TEXT_NBYTES (2 * SHMEMH_UNIQUEID_NBYTES + 1)

/* Make a unique id and start its hub, a thread of the calling process that serves one job of
 * n_pes PEs: it accepts their connections, carries out their host collectives and reports which
 * PEs died. The thread ends with the job's last connection. If not all PEs connect, it ends up to
 * 10 s after SHMEMH_BOOT_TIMEOUT has passed since this call, and until then tells late PEs why the
 * job failed. The calling process need not be a PE, and must live as long as the job: its death
 * cuts all PEs off from each other.
 *
 * Returns  SHMEMH_OK; ERR_ARGUMENT (n_pes < 1, or id is NULL); ERR_OPTION; ERR_SYSTEM;
 *          ERR_NO_MEMORY.
 */
SHMEMH_API int shmemh_get_uniqueid(int n_pes, shmemh_uniqueid_t *id);

/* Text form (hexadecimal) for environment variables and files, and back.
 * to_text leaves "" if id is NULL.
 * Returns  SHMEMH_OK; ERR_ARGUMENT if text is not a unique id in that form, or id is NULL.
 */
SHMEMH_API void shmemh_uniqueid_to_text(const shmemh_uniqueid_t *id,
					char text[SHMEMH_UNIQUEID_TEXT_NBYTES]);
SHMEMH_API int shmemh_uniqueid_from_text(const char *text, shmemh_uniqueid_t *id);

/* A gather among some PEs of a job, for teams. */
typedef struct shmemh_gather {
	const int32_t *pes; /* [n_pes] the members' numbers, ascending; this PE is among them */
	int32_t n_pes;
	uint64_t tag; /* tells gathers of the same members apart */
	const void *src;
	void *dst;                /* [n_pes][nbytes] */
	size_t nbytes;            /* of each member, the same everywhere, 1 .. 64 KiB */
	unsigned char *took_part; /* [n_pes] receives 1, or 0 for a member that is gone */
} shmemh_gather_t;

/* A bootstrap: the host-side collectives that the runtime builds everything else from. Built in: a
 * TCP hub, which PEs find by a unique id. With PMIx they get their numbers and the unique id from
 * the launcher; with torchrun they compute the hub's address and secret from the environment. The
 * emulator brings one for PEs in one process (shmemsim_boot). A user may bring one over MPI or a
 * store.
 *
 * shmemh_init copies the struct and takes over state: shmemh_finalize closes it. If init fails with
 * ERR_ARGUMENT, state is still the caller's; after any other failure init has closed it.
 *
 * One thread at a time calls these functions. allgather and gather_some return a shmemh_status, and
 * leave a line of text in errbuf if they fail. */
typedef struct shmemh_boot {
	uint32_t size; /* sizeof(shmemh_boot_t) */
	int32_t pe;
	int32_t n_pes;
	void *state; /* passed to every function below */

	/* Gather nbytes (the same everywhere, 1 .. 1 MiB) from each PE into dst[pe][nbytes].
	 * Returns when all PEs called it. ERR_MISMATCH if nbytes differ, ERR_PEER if a PE has died
	 * or left, ERR_TIMEOUT after its deadline. */
	int (*allgather)(void *state, const void *src, void *dst, size_t nbytes, char *errbuf,
			 size_t errbuf_nbytes);

	/* From now until close is called, call gone(arg, pe, cause), from any thread, once for each
	 * PE that has died or left since this struct was made, also before this call; cause is a
	 * shmemd_cause; pe is -1 for CUT_OFF. May be NULL: deaths are then noticed only by host
	 * collectives. gone returns at once and calls no function of this struct. */
	void (*watch)(void *state, void (*gone)(void *arg, int pe, uint32_t cause), void *arg);

	/* Leave: tell the others that this PE left in good order, release state. Called once. May
	 * be NULL. */
	void (*close)(void *state);

	/* Returns when each member has called it with these pes and this tag, or is gone: its
	 * `took_part` is then 0, and its share undefined. Every member gets the same result. Other
	 * PEs have no part in it, and gathers of different members or tags may be under way at
	 * once. Calls with the same members and tag are matched by their count: the n-th of each
	 * member, even if one of them has failed. ERR_MISMATCH if nbytes differ; ERR_TIMEOUT after
	 * its deadline; ERR_PEER if this PE is cut off from the others. May be NULL: the job can
	 * then make no team (shmem_host/team.h), except of one PE. */
	int (*gather_some)(void *state, const shmemh_gather_t *gather, char *errbuf,
			   size_t errbuf_nbytes);
} shmemh_boot_t;

#ifdef __cplusplus
}
#endif

#endif
