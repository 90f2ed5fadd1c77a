/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Functions that examples and tests share: start as one PE of a job or as all PEs of an emulated
 * one, select a GPU, copy to and from device memory, read a clock. Host code only; the same source
 * builds as C11 (CPU) and as CUDA. */
#ifndef EXAMPLES_RUN_H
#define EXAMPLES_RUN_H

#include <shmem_dev/shmem_dev.h>
#include <shmem_host/shmem_host.h>

struct shmemsim_config; /* <shmem_sim.h> */

#ifdef __cplusplus
extern "C" {
#endif

/* Run pe_main as this process's PE, or, in a CPU build with SHMEMSIM_PES=n in the environment, n
 * times in this process under the emulator (SHMEMSIM_POLICY and SHMEMSIM_SEED select the schedule:
 * runtime/sim/README.md).
 *
 * RUN_TRACE=file in the environment: write a trace of the calls of kernels that are compiled with
 * -DSHMEMD_TRACE (shmem_host/trace.h) when pe_main has returned.
 *
 * pe_main  receives the joined job; memory that it does not free ends with the job. Returns 0 for
 *          success.
 * Returns  the program's exit status: 0, or 1 after a failure. */
int run_main(int argc, char **argv, int (*pe_main)(shmemh_t *job, int argc, char **argv));

/* Join a job as run_main does; shmemh_finalize leaves it. boot may be NULL. Returns a
 * shmemh_status, after one line on stderr if it is not SHMEMH_OK. */
int run_join(const shmemh_boot_t *boot, shmemh_t **job);

/* Make the GPU of this PE current: shmemh_local_pe modulo the number of GPUs. Nothing to do in a
 * CPU build. Returns 0, or another value after printing a line. */
int run_pick_gpu(void);

/* How many PEs of the job use this PE's GPU, this one included; 1 in a CPU build. A kernel whose
 * blocks wait for other PEs takes only its share of the GPU's resident blocks. Collective. Returns
 * like run_copy. */
int run_pes_of_gpu(shmemh_t *job, int *n_pes);

/* PEs to emulate in this process: SHMEMSIM_PES; 0: this process is one PE. -1 after a line: its
 * value cannot be used. */
int run_emulated_pes(void);

/* Call shmemsim_run for PEs that join by run_join; not in a CUDA build. SHMEMSIM_NODES=m puts them
 * on m nodes, neighbours together. With SHMEMH_IB_LIBRARY=path of libshmem_mlx5sw.so they have
 * software NICs, which the emulator runs too and MLX5SW_ variables configure; run.c must then be
 * built with -DRUN_MLX5SW and linked with that library. Returns 0, or 1 after a report on stderr.
 */
int run_emulate(const struct shmemsim_config *cfg, int n_pes,
		int (*pe_main)(int pe, int n_pes, void *arg), void *arg);

/* What kernels run on: the GPU's name, or the emulator and its mode. Returns text. */
const char *run_platform(char *text, size_t nbytes);

/* Copy nbytes between any two of host memory, device memory and mapped peer memory; complete on
 * return. Kernels that access the memory must have ended: see shmemd_stream_sync. Returns a
 * shmemh_status, after a line if it is not SHMEMH_OK. */
int run_copy(void *dst, const void *src, size_t nbytes);

/* Host memory, zeroed, that kernels can store to while the host reads it. Returns like run_copy. */
int run_host_alloc(void **ptr, size_t nbytes);
void run_host_free(void *ptr);

/* The emulator refused a launch, or its run has failed. No status of the library has this number.
 */
#define RUN_EMULATOR_FAILED 999

/* Convert the result of shmemd_launch, shmemd_stream_sync or a CUDA call to a code for run_failed:
 * 0; on a GPU SHMEMD_STATUS_CUDA plus the cudaError_t; in the emulator RUN_EMULATOR_FAILED. Prints
 * a line, in the emulator its report, if it is not 0. */
int run_device(int code);

/* The sentence of a status of the library, or of a code of run_device. */
const char *run_status_text(int status);

/* A stream for launches. Returns like run_copy. */
int run_stream_open(shmemd_stream_t *stream);
void run_stream_close(shmemd_stream_t stream);

/* On PE 0, if the job has channels: print the counters of this PE's channels, a line for each that
 * was used. Returns 0, or 1 after printing a line to stderr. */
int run_print_channels(shmemh_t *job);

/* Wall clock in microseconds, from an arbitrary start. */
double run_time_us(void);

/* Print to stderr that call, at file:line, returned status; job provides its PE number and its line
 * of text and may be NULL. Returns 1. */
int run_failed(const shmemh_t *job, const char *call, int status, const char *file, int line);

#ifdef __cplusplus
}
#endif

/* If call does not return 0, return 1 from the calling function after one line. */
#define RUN_TRY(job, call)                                                                         \
	do {                                                                                       \
		int run_status_ = (call);                                                          \
		if (run_status_ != 0)                                                              \
			return run_failed(job, #call, run_status_, __FILE__, __LINE__);            \
	} while (0)

#endif
