/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The calls that kernels make, as a trace for ui.perfetto.dev: a process for each PE, in it a track
 * for each warp whose threads called, a slice for each call, and arrows from signals to the waits
 * that they ended.
 *
 * Units that define SHMEMD_TRACE before they include anything of shmem_dev record; others have no
 * code for it. A call of a warp, block or group is recorded by its first thread, on the track of
 * that thread's warp; calls by other lanes have tracks of their own. A call takes longer then: two
 * readings of the clock, an atomic and a store of 64 bytes in memory of the GPU.
 *
 * Times are those of the GPUs' clock, %globaltimer, in steps of up to 1 us, and are compared as
 * they are: nothing estimates differences between clocks. If those of two GPUs differ by more than
 * a message takes, arrows between them lead from an earlier signal, or are missing; so it is
 * between machines, unless something else keeps their clocks together. Under the emulator the time
 * is virtual, or CLOCK_MONOTONIC. */
#ifndef SHMEMH_TRACE_H
#define SHMEMH_TRACE_H

#include <stdint.h>
#include <shmem_host/init.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Record calls of this PE's kernels from now on, up to n_events of them, in memory of the device,
 * 64 bytes each. What was recorded before is dropped. Later events are counted, and not kept. No
 * kernel of this PE that records is running. Not collective.
 *
 * n_events  0: record nothing any more, and free the memory.
 * Returns  SHMEMH_OK; ERR_NO_MEMORY; ERR_CUDA: nothing is recorded then.
 */
SHMEMH_API int shmemh_trace_start(shmemh_t *job, uint32_t n_events);

/* Write what all PEs have recorded to one file, in the trace event format (JSON). The name of a PE
 * that lost events says how many. Recording goes on behind what is there. Collective over the world
 * team; PEs that did not start have no events. No kernel that records is running on any PE.
 *
 * The arrow to a wait comes from the latest signal, p or atomic to its word that began before the
 * wait ended and left the value that the wait saw. Adds are summed up in the order of their times
 * and from 0, so the word had better be 0 when recording starts. If no sum is that value, the
 * latest of all is taken.
 *
 * path     the file, on PE 0; other PEs pass what they like.
 * phases   [n_phases] names of the phases 0, 1 ... (shmem_dev/trace.h), on PE 0; those without a
 *          name are called "phase 7".
 * Returns  SHMEMH_OK; on all PEs the same of: ERR_SYSTEM (the file), ERR_NO_MEMORY, ERR_CUDA; as
 *          shmemh_barrier.
 */
SHMEMH_API int shmemh_trace_write(shmemh_t *job, const char *path, const char *const *phases,
				  int n_phases);

#ifdef __cplusplus
}
#endif

#endif
