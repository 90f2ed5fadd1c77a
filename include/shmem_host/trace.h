/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The calls that kernels make, as a trace for ui.perfetto.dev: a process for each PE, in it a track
 * for each thread that recorded (of a warp its first thread, and lanes that called for themselves),
 * a slice for each call, and arrows from signals to the waits that they ended.
 *
 * Units that define SHMEMD_TRACE before they include anything of shmem_dev record; others have no
 * code for it. A call of a warp, block or group is recorded by its first thread, on the track of
 * that thread's warp; calls by other lanes have tracks of their own. A call takes longer then: two
 * readings of the clock, an atomic and a store of 64 bytes in memory of the GPU.
 *
 * Times are those of the GPUs' clock, %globaltimer, in steps of up to 1 us. The clocks of two GPUs
 * differ, also in one machine; shmemh_trace_write estimates by how much, and corrects the times.
 * Under the emulator the time is virtual, or CLOCK_MONOTONIC: the PEs of a machine have one clock,
 * and their times are not changed. */
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
 * Returns  SHMEMH_OK; ERR_NO_MEMORY; ERR_CUDA: nothing is recorded then, unless the write to GPU
 *          memory that ends an earlier recording has failed, and that recording goes on.
 */
SHMEMH_API int shmemh_trace_start(shmemh_t *job, uint32_t n_events);

/* Write what all PEs have recorded to one file, in the trace event format (JSON). The name of a PE
 * that lost events says how many. Later events are added to those that are there. Collective over
 * the world team; PEs that did not start recording have no events. No kernel that records is
 * running on any PE.
 *
 * Clocks. A wait cannot have ended before the signal that it saw began. So a message bounds the
 * offset between the clocks of two PEs from one side. Messages in the other direction, or by way of
 * other PEs, bound it from the other side. The offset of PE 0 is 0. The offset of another PE is 0
 * if the bounds allow that, or if there are none. Else it is the middle between them, or, if
 * messages give a bound on one side only, that bound: the offset nearest to 0 with which no message
 * arrives before it is sent. A time in the file is the recorded one plus the offset of its PE, less
 * a constant that is the same for all PEs: the first event begins at 0. The event that names a PE
 * (process_name) has in its args, in ns, the offset ("clock offset"), and the bounds against PE 0
 * ("at least", "at most"): the true offset is between them. A bound that no message gives is left
 * out.
 *
 * Bounds come from words to which one PE alone sends (by signal, p or atomic): the order of its
 * calls gives the value that each left, whatever the clocks are. If several calls left the value
 * that a wait saw, the first of them that the thread can have seen is taken. Calls that are not in
 * the trace can make bounds wrong, and so can stores of a PE to its own word, other than of 0. A
 * word that is added to should be 0 when recording starts. Otherwise its value before the first
 * recorded add is not known. If a wait saw more than the recorded adds sum up to, the smallest
 * value that a wait saw is taken for it, and the bounds from this word are looser; else 0 is taken,
 * and they can be wrong. Offsets are constant. If none are right for all messages, as when clocks
 * drift during a long trace, offsets are taken that are wrong by at most twice what is necessary,
 * and the bounds are wider by that.
 *
 * The arrow to a wait comes from the latest signal, p or atomic to its word that began before the
 * wait ended, by the corrected times, and left the value that the wait saw. Adds are summed up in
 * the order of these times and from 0. So clocks decide only between signals that left the same
 * value, and about the order of several PEs that send to one word. If no sum is that value, the
 * latest of all is taken. A wait that ended before its signal began, because clocks drift, has no
 * arrow.
 *
 * Other PEs wait for PE 0 while it writes the file, which has no time limit.
 *
 * path     the file, on PE 0; other PEs pass what they like.
 * phases   [n_phases] names of the phases 0, 1 ... (shmem_dev/trace.h), on PE 0; phases without a
 *          name, or with NULL for it, have their number, as in "phase 7".
 * Returns  SHMEMH_OK; on all PEs the same of: ERR_ARGUMENT (phases of PE 0), ERR_SYSTEM (the
 *          file), ERR_NO_MEMORY, ERR_CUDA; as shmemh_barrier.
 */
SHMEMH_API int shmemh_trace_write(shmemh_t *job, const char *path, const char *const *phases,
				  int n_phases);

#ifdef __cplusplus
}
#endif

#endif
