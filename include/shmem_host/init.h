/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Start and end of a job, the numbers of its PEs, and its host collectives.
 *
 * Thread rules for all of shmem_host: calls on different jobs may run at the same time; calls on
 * one job are made one at a time by the caller, from any thread, except those that say "any
 * thread, any time". Nothing exits, aborts or installs signal handlers.
 *
 * Every call but shmemh_error_text refuses a job that was finalized, as long as the library keeps
 * its handle: those of the latest jobs, at least 64 places for live and finalized ones. Every call
 * but shmemh_error_text and shmemh_finalize refuses a job that is NULL and, in a child of fork, a
 * job of its parent. In the child a handler that the library registers by
 * pthread_atfork closes the child's copies of the job's connections, so that a child that lives on
 * does not hide the death of its parent from the other PEs. (clone and _Fork run no such handler:
 * their child keeps the connections open, and hides the death of its parent.) Functions that return
 * a status return ERR_ARGUMENT, those that return a number -1, shmemh_ptr NULL, shmemh_nic_event
 * ""; the line is in shmemh_error_text. The child may release its copy of the handle by
 * shmemh_finalize, and may make a job of its own by shmemh_init. */
#ifndef SHMEMH_INIT_H
#define SHMEMH_INIT_H

#include <stddef.h>
#include <stdint.h>
#include <shmem_host/boot.h>
#include <shmem_host/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the library that these headers belong to; CMake and pkg-config have the same. */
#define SHMEMH_VERSION_MAJOR 0
#define SHMEMH_VERSION_MINOR 1
#define SHMEMH_VERSION_PATCH 0

typedef struct shmemh shmemh_t; /* one PE's handle of one job */

/* Where the symmetric heap lives. */
enum shmemh_heap_kind {
	SHMEMH_HEAP_AUTO =
		0,           /* as SHMEMH_HEAP says; auto there: GPU if a CUDA context is current */
	SHMEMH_HEAP_GPU = 1, /* the GPU of the current CUDA context (shmemh_init) */
	SHMEMH_HEAP_HOST =
		2, /* shared host memory (memfd); with a CUDA context also mapped to it */
};

/* Arguments of shmemh_init; all of them have defaults. */
typedef struct shmemh_attr {
	uint32_t size;                     /* sizeof(shmemh_attr_t): set by SHMEMH_ATTR_INIT */
	int32_t heap_kind;                 /* enum shmemh_heap_kind */
	int32_t pe;                        /* with uniqueid: this PE's number, 0 .. n_pes - 1 */
	int32_t n_pes;                     /* with uniqueid: PEs in the job */
	const shmemh_uniqueid_t *uniqueid; /* NULL: see shmemh_init */
	const shmemh_boot_t *boot;         /* a bootstrap of the caller's own; NULL: built-in */
} shmemh_attr_t;

/* All defaults. */
#define SHMEMH_ATTR_INIT                                                                           \
	{                                                                                          \
		sizeof(shmemh_attr_t), SHMEMH_HEAP_AUTO, 0, 0, NULL, NULL                          \
	}

/* Join a job. Collective over its PEs.
 *
 * attr     NULL for all defaults. Bootstrap, the first that is present:
 *          attr->boot; attr->uniqueid with pe and n_pes; the environment SHMEMH_UNIQUEID,
 *          SHMEMH_PE, SHMEMH_NPES (set by a launcher such as shmem-launch); PMIx (mpirun, srun
 *          --mpi=pmix); RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT (torchrun): PE 0 then listens
 *          on the port after MASTER_PORT, and the secret is computed from the environment, so
 *          any process that reaches that port and has these values can join; none of them: a
 *          job of one PE.
 * job      receives the handle; NULL after a failure, with everything undone but the loading of
 *          libraries and a higher stack limit of the CUDA context: init may be called again, also
 *          for a job of another number of PEs. Only the thread of a hub stays in the process that
 *          made it, up to 10 s after SHMEMH_BOOT_TIMEOUT, to tell PEs that come late why.
 * Returns  SHMEMH_OK; ERR_ARGUMENT; ERR_OPTION; ERR_BOOTSTRAP; ERR_TIMEOUT (text names the PEs
 *          that did not come within SHMEMH_BOOT_TIMEOUT); ERR_VERSION (PEs run different
 *          runtimes); ERR_MISMATCH (options or heap kinds of PEs differ); ERR_NIC (NICs cannot be
 *          connected, or cannot register memory); ERR_CUDA; ERR_SYSTEM; ERR_NO_MEMORY; ERR_PEER.
 *          A failure of one PE is that of all: the others get its status, and their lines name
 *          it (its own line has no number); but ERR_TIMEOUT if that PE failed before the hub
 *          admitted it, and with a bootstrap of the caller it may be ERR_PEER.
 * GPU      uses the calling thread's current CUDA context; creates none. cudaSetDevice creates it,
 *          before CUDA 12.0 only with a call that uses the GPU, such as cudaFree(0).
 */
SHMEMH_API int shmemh_init(const shmemh_attr_t *attr, shmemh_t **job);

/* The number of this process among those of its job on this machine, from 0, before shmemh_init:
 * for the choice of the GPU, cudaSetDevice(shmemh_local_pe() % n_gpus). From the environment of the
 * launcher, the first that is set: SHMEMH_LOCAL_PE (shmem-launch), OMPI_COMM_WORLD_LOCAL_RANK
 * (mpirun), MPI_LOCALRANKID (Hydra), SLURM_LOCALID (srun), LOCAL_RANK (torchrun); 0 if none is. Any
 * thread, any time. -1 if the first that is set is not such a number. */
SHMEMH_API int shmemh_local_pe(void);

/* Leave the job and release everything: heap, tables, connections. Collective while all PEs live;
 * after a death it waits for no PE. Kernels that use a context of this job have ended. If kernels
 * of this PE have not ended in the emulator, a line says so, and finalize goes on.
 * job may be NULL. The handle is invalid afterwards, whatever is returned. In a child of fork, with
 * a job of its parent: frees the child's copy of the handle; the parent's job goes on.
 * Returns  SHMEMH_OK; ERR_ARGUMENT: it was finalized before; after any other status everything is
 *          released: ERR_PEER (a PE died or left before, or this PE is cut off from the others);
 *          ERR_TIMEOUT, ERR_MISMATCH, ERR_NO_MEMORY, ERR_BOOTSTRAP, as shmemh_barrier. The line of
 *          a failure: shmemh_error_text(NULL). An error record that the program never read is
 *          logged.
 */
SHMEMH_API int shmemh_finalize(shmemh_t *job);

/* This PE's number in the world team, and how many PEs that has. Any thread, any time. */
SHMEMH_API int shmemh_my_pe(const shmemh_t *job);
SHMEMH_API int shmemh_n_pes(const shmemh_t *job);

/* Host barrier over all PEs. Says nothing about kernels: synchronise streams first.
 * Returns  SHMEMH_OK; ERR_PEER; ERR_TIMEOUT (SHMEMH_BOOT_TIMEOUT, text names who is missing);
 *          ERR_MISMATCH (another PE made another collective call of all PEs, shmemh_finalize
 *          included; text has both calls and PEs, and the next collective works);
 *          ERR_NO_MEMORY (of the hub); ERR_BOOTSTRAP.
 */
SHMEMH_API int shmemh_barrier(shmemh_t *job);

/* Gather nbytes from every PE into dst[pe][nbytes], in world order. Collective, equal nbytes.
 *
 * nbytes   1 .. 1 MiB.
 * Returns  as shmemh_barrier; ERR_MISMATCH also when nbytes differ; ERR_ARGUMENT.
 */
SHMEMH_API int shmemh_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes);

/* The line of the last call on this job that failed, or "" if there was none. If job is NULL, or
 * one that every call refuses (above): the line of the calling thread's last failed shmemh_init,
 * shmemh_finalize, shmemh_get_uniqueid, shmemh_uniqueid_from_text, shmemh_local_pe,
 * shmemh_fault_get, or call with such a job; a call of shmemh_init or shmemh_get_uniqueid clears it
 * first. Valid until the next call on the job (NULL: of this thread). */
SHMEMH_API const char *shmemh_error_text(const shmemh_t *job);

/* The cause (shmemd_cause in abi/status.h) for which a PE of the world team is gone; 0 while it is
 * there. Any thread, any time, also while kernels run. world_pe outside the job: 0. */
SHMEMH_API int shmemh_pe_cause(const shmemh_t *job, int world_pe);

#ifdef __cplusplus
}
#endif

#endif
