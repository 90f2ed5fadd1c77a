/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* What happened to the paths of this PE's channels. A path of a channel (peer, k) is a queue pair
 * at each end with its queue memory, over one port of each PE; when it fails, the channel goes on
 * over another one (runtime/fault/README.md).
 *
 * All of these may be called by any thread, at any time, also while kernels run. */
#ifndef SHMEMH_FAULT_H
#define SHMEMH_FAULT_H

#include <stddef.h>
#include <stdint.h>
#include <shmem_host/init.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What happens when a path fails. */
enum shmemh_fault_policy {
	SHMEMH_FAULT_OFF = 0,   /* a fault of a path ends its channel with SHMEMD_ERR_PATH */
	SHMEMH_FAULT_EXACT = 1, /* the channel goes on over another path; puts, signals and
				   atomics take effect exactly once */
};

/* What a channel does now. */
enum shmemh_fault_state {
	SHMEMH_FAULT_RUNNING = 0,   /* over the home ports of both PEs */
	SHMEMH_FAULT_SWITCHING = 1, /* being fenced, waiting for a path, or for the device to
					carry out the switch */
	SHMEMH_FAULT_STANDBY = 2,   /* it runs over the stand-by port of at least one end */
	SHMEMH_FAULT_ENDED = 3,     /* nothing is sent any more; `status` says why */
};

/* Why a path was left, or why a channel or this PE's direction of it ended: `state` and `status` of
 * shmemh_fault_info_t tell which. */
enum shmemh_fault_cause {
	SHMEMH_FAULT_BY_NONE = 0,    /* there was no fault */
	SHMEMH_FAULT_BY_RETRIES = 1, /* CQE: no acknowledgement, all transport retries used up */
	SHMEMH_FAULT_BY_RNR = 2,     /* CQE: receiver not ready, all retries used up */
	SHMEMH_FAULT_BY_FLUSH = 3,   /* CQE: flushed, because the queue pair is in ERR */
	SHMEMH_FAULT_BY_QP = 4,      /* QUERY_QP reports ERR, or connecting the queue pair failed */
	SHMEMH_FAULT_BY_PORT = 5,    /* the port is down */
	SHMEMH_FAULT_BY_ADDRESS = 6, /* the port's LID or GID changed */
	SHMEMH_FAULT_BY_DEVICE = 7,  /* the NIC failed or was removed */
	SHMEMH_FAULT_BY_MOVE = 8,    /* this PE moves its channels to its other port */
	SHMEMH_FAULT_BY_PROGRAM = 9, /* a request was refused: mostly a mistake of the
					program */
	SHMEMH_FAULT_BY_PEER_DEAD = 10, /* the other PE died or left */
	SHMEMH_FAULT_BY_GIVEUP = 11,    /* SHMEMH_FT_GIVEUP passed, and no path was found, or the
					   device did not carry out the order */
	SHMEMH_FAULT_BY_CUT_OFF = 12,   /* this PE lost the bootstrap; the other PE may live */
	SHMEMH_FAULT_N_CAUSES
};

/* What happened to the paths of one channel since shmemh_init. */
typedef struct shmemh_fault_info {
	uint32_t size;  /* sizeof(shmemh_fault_info_t), set by the caller */
	int32_t state;  /* enum shmemh_fault_state */
	int32_t status; /* shmemd_status with which this PE's direction ended; 0: it goes on */
	uint32_t path;  /* number of the latest path; 0: the first one */
	uint32_t cause; /* of the latest fault: enum shmemh_fault_cause. A known cause stays if the
			   next path never ran and failed for no known reason */
	uint32_t is_found_at_peer;          /* 1: the other PE found that fault */
	uint32_t syndrome, vendor_syndrome; /* of the CQE that showed it; 0: there was none */
	uint64_t switches;                  /* to another path, carried out */
	/* What the device did in switches, as the threads that carried them out have counted it. */
	uint64_t replayed; /* requests given to the queue pair of another path, to be sent again */
	/* Atomics that were executed once and whose old value is lost: they returned
	 * SHMEMD_ERR_AMBIGUOUS, or the error that ended their wait. */
	uint64_t ambiguous;
	uint64_t outage_ns; /* of the latest outage: from the detection of its first fault until the
			       channel went on; while it switches, until now; of one that ended,
			       until its end */
	/* The next four are of the path in use; while the channel switches, of the path that was
	 * left, until the device is ordered to switch to the next one. */
	char port[32];      /* this PE's port, as mlx5_0:1; "" if not known */
	char peer_port[32]; /* the other PE's */
	uint32_t qpn, peer_qpn;
	char text[160]; /* the latest fault in words; "" if there was none */
	/* The steps of the latest outage, each when this PE's agent noted it: nanoseconds of
	 * CLOCK_MONOTONIC, the same clock for all PEs of a host. 0: the step is not done, or there
	 * was no outage. If the next path fails too before the channel has gone on, fenced_at and
	 * opened_at are those of the latest path. */
	uint64_t detected_at; /* a fault of the path, by this PE or by a message of the other one */
	uint64_t fenced_at;  /* the path is stopped at both ends: it executes no request any more */
	uint64_t opened_at;  /* the next path is connected at both ends */
	uint64_t resumed_at; /* the device has carried the switch out: what is repeated is in the
				 new queue, and the channel goes on */
} shmemh_fault_info_t;

/* The policy in force: the same on all PEs of the job.
 *
 * why      receives one line: why fail-over is off and what to do about it, or what makes it exact.
 *          May be NULL.
 * Returns  enum shmemh_fault_policy; -1 if the call refuses job (init.h).
 */
SHMEMH_API int shmemh_fault_policy(const shmemh_t *job, char *why, size_t why_nbytes);

/* Read what happened to channel k, 0 .. shmemh_channels - 1, to PE world_pe. With
 * SHMEMH_FAULT_OFF there is nothing to read: state RUNNING, and zeros.
 *
 * Returns  SHMEMH_OK; ERR_ARGUMENT (no such PE or channel, info is NULL, or info->size): the
 *          line is in the calling thread's shmemh_error_text(NULL), and nothing was written.
 */
SHMEMH_API int shmemh_fault_get(const shmemh_t *job, int world_pe, int k,
				shmemh_fault_info_t *info);

/* Call changed(arg, world_pe, k, state) after each change of a channel's state or path, from a
 * thread of the runtime, one call at a time. changed returns soon, since the switches of this PE
 * wait for it; it may call the functions in the last three rows of the host's table in
 * docs/guide/threads.md, such as shmemh_fault_get and shmemh_my_pe. Changes that follow
 * each other quickly may be reported once, with the last state; but a channel that goes on after an
 * outage is reported before its next fault, with the steps of that outage in shmemh_fault_get.
 *
 * changed  NULL: report no changes any more. When the call returns, the previous function is not
 *          running and will not be called again, unless the call is made by that function itself.
 * Returns  SHMEMH_OK, also with SHMEMH_FAULT_OFF; ERR_ARGUMENT: the call refuses job (init.h).
 */
SHMEMH_API int shmemh_fault_watch(shmemh_t *job,
				  void (*changed)(void *arg, int world_pe, int k, int state),
				  void *arg);

/* One sentence for a cause, as "the port is down". Never NULL. */
SHMEMH_API const char *shmemh_fault_cause_text(int cause);

#ifdef __cplusplus
}
#endif

#endif
