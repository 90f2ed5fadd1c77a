/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The job handle: what the phases of shmemh_init build and the public calls use. */
#ifndef SHMEMHI_JOB_JOB_H
#define SHMEMHI_JOB_JOB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <shmem_host/shmem_host.h>
#include "base/err.h"
#include "base/options.h"

struct shmemhi_mem;         /* runtime/mem */
struct shmemhi_ib;          /* runtime/ib */
struct shmemhi_fault_agent; /* runtime/fault */

#define SHMEMHI_MAX_TEAMS SHMEMH_TEAMS_MAX
#define SHMEMHI_N_BUILTIN_TEAMS 2 /* world and node, in the first slots */

/* A team that this PE belongs to. Its place in shmemh.teams is its slot: a piece of sync memory at
 * the same offset on every PE. */
typedef struct shmemhi_team {
	int my_pe;
	int n_pes;                     /* 0: the slot is free */
	int *world_pe;                 /* [n_pes], host memory */
	int32_t *roster;               /* [n_pes] the same in ascending order */
	uint32_t generation;           /* of the slot: tells the teams that have it in turn apart */
	uint64_t *sync;                /* [SHMEMD_SYNC_WORDS(n_pes)], in the symmetric heap; of the
				       slot, also while it is free */
	shmemd_peer_t *peers;          /* [n_pes], in device memory */
	uint64_t *abort_word;          /* pinned; only NO_PATH may be replaced */
	uint32_t *causes;              /* [n_pes], pinned */
	uint32_t ctx_flags;            /* SHMEMD_CTX_* */
	int first_mapped, mapped_span; /* shmemd_ctx_t */
	shmemd_ctx_t ctx;              /* the context that shmemh_ctx_get returns */
	shmemd_ctx_t *device_copy; /* the same in device memory; of the slot, and zero while that
				       is free */
} shmemhi_team_t;

struct shmemh {
	pid_t pid;          /* of the process that called shmemh_init */
	shmemhi_err_t err;  /* the line of the call under way */
	shmemhi_err_t last; /* the line of the last call that failed */
	char call[40];      /* the collective under way, for lines of the bootstrap; "": none */
	shmemhi_log_t log;
	shmemhi_options_t opt;
	int option_status; /* SHMEMH_OK, or the failure to read opt */
	shmemh_attr_t attr;
	shmemh_boot_t boot;
	int pe;
	int n_pes;
	struct shmemhi_mem *mem;
	struct shmemhi_ib *ib;             /* NULL: no NIC in use */
	struct shmemhi_fault_agent *fault; /* NULL: fail-over is off */
	int ft_policy;                     /* enum shmemh_fault_policy */
	char ft_why[280];                  /* one line; "": no NIC is in use */
	shmemhi_team_t teams[SHMEMHI_MAX_TEAMS];
	shmemd_ctx_t *device_copies;               /* [SHMEMHI_MAX_TEAMS], in device memory */
	uint64_t team_slots;                       /* bit for each slot: a team has it, or is being
						    made in it */
	uint32_t next_team_slot;                   /* where the search for a slot begins, if this PE
						    is the lowest member */
	struct shmemhi_team_scratch *team_scratch; /* runtime/core */
	shmemd_latch_t *latch;                     /* device memory */
	shmemd_error_t *error;                     /* pinned */
	shmemd_trace_t *trace;                     /* device memory; NULL: calls are not recorded */
	atomic_int is_error_read;                  /* by shmemh_error_get */
	int32_t *statuses;                         /* [n_pes], scratch for one gather */
	shmemhi_err_t *texts;                      /* [n_pes], likewise, for lines */
	_Atomic uint32_t *causes; /* [n_pes] world; set by the monitor before any abort word */
	uint8_t *is_unreachable; /* [n_pes] world, with teams_lock: channels ended without a path */
	_Atomic int n_gone;      /* failed PEs, PEs that left, and 1 for CUT_OFF */
	/* Guards `teams`, is_unreachable and closing. The monitor, the agent of fail-over, queries
	 * of teams and all that changes one of the three take it, except the phases of init before
	 * the agent and the monitor's reports begin. Collectives, whose thread alone changes
	 * `teams`, read that without. */
	pthread_mutex_t teams_lock;
	int closing;   /* under teams_lock: PEs are expected to leave */
	int phases_up; /* phases of core/init.c that are up */
};

/* Name the collective that begins, for lines of the bootstrap. shmemhi_begin clears the name. */
void shmemhi_name_collective(shmemh_t *job, const char *call);

/* The public collectives of all PEs. */
enum shmemhi_call_kind {
	SHMEMHI_CALL_BARRIER = 1,
	SHMEMHI_CALL_ALLGATHER,
	SHMEMHI_CALL_FINALIZE,
	SHMEMHI_CALL_TRACE_WRITE,
	SHMEMHI_CALL_MALLOC, /* from here on heap calls (mem/call.h) */
	SHMEMHI_CALL_ALIGN,
	SHMEMHI_CALL_CALLOC,
	SHMEMHI_CALL_FREE,
	SHMEMHI_CALL_TAKE, /* memory of the library itself, in init */
};

/* What a PE calls. The first gather of each public collective of all PEs is of these records, so
 * that PEs in different collectives find that out, whatever the collectives gather after it. */
typedef struct shmemhi_call {
	uint32_t kind; /* shmemhi_call_kind */
	uint32_t zero;
	uint64_t nbytes;
	uint64_t more[6]; /* of heap calls */
} shmemhi_call_t;

/* The name of a call in lines, as "malloc". */
const char *shmemhi_call_name(uint32_t kind);

/* Name the collective that begins, gather the calls of all PEs, and compare them.
 * Returns  SHMEMH_OK; ERR_MISMATCH, on all PEs with the same line; as shmemhi_allgather. */
int shmemhi_begin_collective(shmemh_t *job, uint32_t kind, size_t nbytes);

/* Compare the gathered calls. Heap calls are taken as equal: mem/call.c compares them further.
 * Returns  SHMEMH_OK; ERR_MISMATCH with a line. */
int shmemhi_compare_calls(shmemh_t *job, const shmemhi_call_t *all);

/* Gather over the world team. A failure leaves its line in job->err: "CALL: ...", where CALL is the
 * name of the collective, if it has one. */
int shmemhi_allgather(shmemh_t *job, const void *src, void *dst, size_t nbytes);

/* Gather among some PEs (shmemh_boot_t.gather_some). A failure leaves its line in job->err, as that
 * of shmemhi_allgather. */
int shmemhi_gather_some(shmemh_t *job, const shmemh_gather_t *gather);

/* Set abort word and causes of a team that has just been made for the PEs that are gone already.
 * Under teams_lock. */
void shmemhi_team_apply_gone(shmemh_t *job, shmemhi_team_t *team);

/* Agree on a status. Collective. Two gathers: of the statuses, and, if a PE failed, of the lines.
 *
 * status   of this PE so far. SHMEMH_OK clears job->err; a failure has its line there.
 * Returns  SHMEMH_OK if every PE passed it; else, on all PEs, the status of the lowest PE that
 *          failed: a PE that failed keeps its own line, any other gets "PE n: <line of PE n>" of
 *          that lowest PE, or the line of the second gather if that fails. If the first gather
 *          fails: its status, and its line, but a PE that passed a status other than SHMEMH_OK and
 *          ERR_PEER keeps its own line. */
int shmemhi_agree(shmemh_t *job, int status);

/* What every public call on a job does first, but shmemh_finalize and shmemh_error_text. Refuses a
 * job that is NULL, that was finalized, or that a parent process made before fork: the child has
 * none of its connections, and would write to memory and files that the parent uses.
 * Returns  0, or SHMEMH_ERR_ARGUMENT with a line in shmemhi_thread_err(). */
int shmemhi_refused(const shmemh_t *job, const char *call);

/* Keep the handles that init returns: one that was finalized is refused by shmemhi_refused and
 * never read by shmemh_error_text, and one that is not finalized is reported at the end of the
 * process (tell_forgotten). The list grows up to 64 entries, and further only if all of them are
 * live; those that are not live hold the handles that were finalized last. enlist returns 0, or -1
 * without memory. */
int shmemhi_enlist(const shmemh_t *job);
void shmemhi_delist(const shmemh_t *job);
bool shmemhi_is_finalized(const shmemh_t *job);

/* Begin and end of a public call that leaves a line when it fails. begin clears job->err, the line
 * of the previous call, and the name of the collective. done, with the status of a failure, copies
 * the line to job->last, for shmemh_error_text, and logs it. done returns status. */
void shmemhi_begin(shmemh_t *job);
int shmemhi_done(shmemh_t *job, int status);

/* The watch callback of the bootstrap (shmemh_boot_t.watch); arg is the job. */
void shmemhi_gone(void *arg, int pe, uint32_t cause);

/* No path to the PE was found in time: end the waits of its teams, as if it were gone. The PE stays
 * a member of host collectives. The agent of runtime/fault calls it. */
void shmemhi_unreachable(shmemh_t *job, int pe);

/* True once any PE died or left, or this PE is cut off: collectives of all PEs cannot complete any
 * more. */
static inline bool shmemhi_broken(const shmemh_t *job)
{
	return atomic_load(&job->n_gone) != 0;
}

#endif
