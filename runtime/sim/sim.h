/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The emulator's internal structures. There is one world per process, since one OS thread runs all
 * fibers and inlined code reaches the world through globals (shmemsim_self and the flags of cpu.h).
 *
 * Rules for all files here
 *   - Thread sanitizer must not see this code: it is compiled without it, and memory that fibers
 *     share is neither malloc'ed nor accessed by memset or memcpy, whose interceptors would record
 *     accesses for the running fiber (memory.c).
 *   - No decision depends on an address: a seed must give the same run each time. */
#ifndef SHMEMSIMI_SIM_H
#define SHMEMSIMI_SIM_H

#include <stdbool.h>
#include <shmem_sim.h>
#include "sim/weak.h"

enum shmemsimi_kind { KIND_MAIN, KIND_HOST, KIND_AGENT, KIND_LANE };
enum shmemsimi_state { RUNNABLE, BLOCKED, SPINNING, SLEEPING, DONE };

/* What a fiber waits for; report.c turns it into words. */
enum shmemsimi_wait {
	WAIT_NONE,
	WAIT_COLL,
	WAIT_BAR,
	WAIT_ACTIVE,
	WAIT_SPIN,
	WAIT_SLEEP,
	WAIT_SYNC,
	WAIT_GATHER,
};

/* Recorded words that a fiber has read relaxed since its last fence that acquires. */
#define SHMEMSIMI_N_SEEN 8
#define SHMEMSIMI_N_TRACE 16

/* poll_loop.c: the fiber's accesses since something was written. */
typedef struct shmemsimi_poll_detector {
	uint64_t epoch; /* world.epoch in which they were made */
	const void *anchor;
	uint64_t turn, last_turn; /* hashes of the addresses between accesses of anchor */
	/* accesses since anchor, and the limit after which another address is taken */
	uint32_t since, span;
	uint32_t n_turns;   /* equal iterations so far */
	uint32_t max_turns; /* until the fiber is parked; 0: start over */
} shmemsimi_poll_detector_t;

typedef struct shmemsimi_fiber {
	shmemsim_thread_t thread; /* must be first: shmemsim_self points here */
	void *sp;                 /* saved stack pointer while another fiber runs */
	char *stack;              /* NULL until the first run and after the end */
	size_t stack_nbytes;
	unsigned stack_id; /* id for valgrind */
	uint8_t kind, state, wait, lane;
	uint8_t is_after_atomic; /* its last access was a read-modify-write */
	int pe;
	uint32_t pos; /* index in its run queue, spin queue or sleep queue */
	struct shmemsimi_grid *grid;
	struct shmemsimi_block *block;
	struct shmemsimi_warp *warp;
	struct shmemsimi_fiber *next; /* in a list of waiters, or of the world's host fibers */
	void (*entry)(void *arg);     /* host fibers and agents */
	void *arg;
	char name[24];
	/* warp collective, barrier or activemask that the fiber has entered; done: its result is
	 * there */
	int coll, done;
	uint32_t mask, bar, width, arg32;
	uint64_t in, out;
	const char *site; /* place in the source, as text; NULL: unknown */
	/* return address of the emulator's entry point that the fiber has called */
	const void *call;
	uint64_t spun; /* world.epoch when its last spin returned */
	shmemsimi_poll_detector_t poll_detector;
	uint64_t wake;     /* SLEEPING: time to wake at */
	int64_t priority;  /* random, pct; 0: not drawn yet */
	void *tsan, *fake; /* sanitizers' own fibers and fake stacks */
	shmemsimi_sight_t sight;
	struct shmemsimi_bulk *bulk; /* bulk copies under way, or NULL */
	int is_fenced;               /* thread sanitizer: strong stores release from now on */
	const void *seen[SHMEMSIMI_N_SEEN];
	unsigned n_seen;
	const void *trace[SHMEMSIMI_N_TRACE]; /* filled for a report */
	int n_trace;
} shmemsimi_fiber_t;

/* Lanes of one warp that have arrived at one collective. */
typedef struct shmemsimi_meeting {
	uint32_t mask, arrived;
	int coll;
} shmemsimi_meeting_t;

/* Lanes that have arrived at an activemask at one call site. */
typedef struct shmemsimi_converging {
	const char *site;
	const void *call;
	uint32_t lanes;
} shmemsimi_converging_t;

typedef struct shmemsimi_warp {
	shmemsimi_fiber_t *lanes; /* [n_lanes] */
	uint32_t n_lanes;
	uint32_t live;       /* lanes that have not exited */
	uint32_t n_runnable; /* of those, in the run queue */
	uint32_t n_meetings, n_converging;
	shmemsimi_meeting_t meetings[32]; /* pending, in the order of their first arrival */
	shmemsimi_converging_t converging[32];
} shmemsimi_warp_t;

typedef struct shmemsimi_bar {
	uint32_t arrived, nthreads; /* nthreads of the first to arrive: 0 = all */
	int n_preds;
	const char *site;
	shmemsimi_fiber_t *first, *last; /* waiters by arrival */
} shmemsimi_bar_t;

typedef struct shmemsimi_scratch {
	struct shmemsimi_scratch *next;
	const void *key;
	size_t nbytes;
	char *mem;
} shmemsimi_scratch_t;

#define SHMEMSIMI_N_BARS 16

typedef struct shmemsimi_block {
	shmemsimi_warp_t *warps;
	uint32_t live; /* threads that have not exited */
	shmemsimi_bar_t bars[SHMEMSIMI_N_BARS];
	shmemsimi_scratch_t *scratch;
	shmemsimi_view_t *sc; /* weak memory: view of the block's sequentially consistent fences */
} shmemsimi_block_t;

typedef struct shmemsimi_grid {
	struct shmemsimi_grid *next; /* in its stream */
	struct shmemsimi_stream *stream;
	uint32_t id; /* counts launches of the world */
	int pe;
	char name[96];  /* of its kernel */
	int is_counted; /* a line says that the program did not wait for it */
	void (*kernel)(const void *params);
	void *params;
	size_t params_nbytes, shared_nbytes;
	uint32_t grid_dim[3], block_dim[3], n_blocks, n_threads;
	uint32_t live; /* blocks with threads that have not exited */
	shmemsimi_block_t *blocks;
	shmemsimi_warp_t *warps;
	shmemsimi_fiber_t *fibers;
} shmemsimi_grid_t;

/* Kernels of one PE that run one after another. */
typedef struct shmemsimi_stream {
	struct shmemsimi_stream *next;
	int pe;
	void *key;
	shmemsimi_grid_t *first, *last; /* first runs */
	shmemsimi_fiber_t *waiter;      /* the fiber in shmemsim_sync */
} shmemsimi_stream_t;

/* A set of fibers that one loop can visit, in no particular order. */
typedef struct shmemsimi_queue {
	shmemsimi_fiber_t **fibers;
	uint32_t n, capacity;
} shmemsimi_queue_t;

/* Chooses one of n options, 0 .. n-1, at each decision. Option k at an access: the k-th fiber after
 * the current one in the run queue (0: the current one continues); at a wait: the k-th fiber from
 * index first on. The weight of an access is the number of accesses for which it counts. */
typedef struct shmemsimi_policy {
	const char *name;
	uint32_t (*at_access)(uint32_t n, uint32_t weight); /* NULL: never switches there */
	uint32_t (*at_wait)(uint32_t n, uint32_t first);
	uint32_t (*data)(uint32_t n);
} shmemsimi_policy_t;

#define SHMEMSIMI_N_COUNTED 1024 /* PEs whose launches are counted */

enum shmemsimi_mode { MODE_NONE, MODE_RUN, MODE_PROCESS };

typedef struct shmemsimi_world {
	int mode;
	shmemsim_config_t cfg;
	const shmemsimi_policy_t *policy;
	shmemsimi_fiber_t main;      /* the caller's own stack */
	shmemsimi_fiber_t *current;  /* never NULL */
	shmemsimi_fiber_t *previous; /* the fiber that switched to current */
	shmemsimi_fiber_t *reporter; /* not NULL: woken fibers take a trace and switch back to it */
	shmemsimi_queue_t run, spin, sleep;
	shmemsimi_fiber_t *hosts; /* PEs and agents */
	shmemsimi_stream_t *streams;
	shmemsimi_grid_t *ended; /* to be freed once its last fiber has left its stack */
	uint32_t n_live;         /* PEs and lanes; agents do not keep a run alive */
	uint32_t n_grids;
	uint32_t n_launches[SHMEMSIMI_N_COUNTED]; /* of each PE */
	int n_pes;
	int is_failed;
	int is_stuck; /* the failure is a deadlock or a livelock */
	/* main may continue: the run has ended, or in process mode the stream that it waits for */
	int is_wanted_main;
	int is_eager;             /* process mode: main continues once no fiber can run */
	uint64_t epoch;           /* counts rounds in which something was written */
	uint64_t spin_epoch;      /* epoch when the spinning fibers last ran */
	uint64_t steps, n_starts; /* n_starts: fibers made runnable */
	uint64_t last_step;       /* after it: shmemsimi_too_long */
	shmemsimi_fiber_t *alarm; /* fiber in shmemsim_await_step, which ends after last_step */
	uint32_t gap;             /* weight of accesses until the policy is called */
	uint32_t n_alone;         /* accesses since the last switch or wait */
	uint64_t n_points;        /* pct: weight of the accesses at which it could switch */
	/* The kind of failure: format of shmemsim_fail, or text of a deadlock or livelock; or an
	 * address that stands for a pe_main that returned non-zero. */
	const void *failure;
	uint64_t now; /* virtual nanoseconds */
	uint64_t next_wake;
	uint64_t idle_step, idle_since;
	uint32_t idle_jumps; /* jumps of the clock since something was written */
	/* rounds in which all fibers polled and none read the clock; process mode: all rounds in
	 * which no fiber could run */
	uint32_t idle_polls;
	int is_clock_read;    /* since the last idle round */
	unsigned long thread; /* pthread_self() of the only thread */
	long pid;             /* of the process that started the emulator */
	uint32_t trace_lines; /* operations that the report lists; cfg.trace are kept */
	int is_searching;     /* one of many runs: none of them writes the file of its trace */
	int result;
} shmemsimi_world_t;

extern shmemsimi_world_t shmemsimi_w;

/* memory.c: zeroed memory that is hidden from sanitizers (scratch_alloc's is neither). If memory
 * runs out, a fiber ends the run as failed; on the main stack the functions return NULL. */
void *shmemsimi_alloc(size_t nbytes);
void shmemsimi_free(void *mem, size_t nbytes);
void shmemsimi_copy(void *dst, const void *src, size_t nbytes); /* dst below src may overlap */
void *shmemsimi_scratch_alloc(size_t nbytes); /* for kernels: with red zones, no old races */
void shmemsimi_scratch_free(void *mem, size_t nbytes);

/* fiber.c */
#define SHMEMSIMI_GUARD_NBYTES ((size_t)4096) /* below each stack: memory without access */
bool shmemsimi_under_tsan(void);
void shmemsimi_fiber_begin(void);                   /* main is the current fiber */
void shmemsimi_fiber_create(shmemsimi_fiber_t *f);  /* before its first run */
void shmemsimi_fiber_discard(shmemsimi_fiber_t *f); /* one that will never run again */
void shmemsimi_switch(shmemsimi_fiber_t *to);
void shmemsimi_release(void *obj); /* happens-before edges: launches, ends, gathers */
void shmemsimi_acquire(void *obj);
void shmemsimi_tsan_release(void *obj); /* for thread sanitizer only */
void shmemsimi_tsan_acquire(void *obj);

/* sched.c */
void shmemsimi_sched_begin(void);
void shmemsimi_start(shmemsimi_fiber_t *f); /* make a new fiber runnable */
void shmemsimi_block(int wait);             /* the current fiber, until woken */
void shmemsimi_park(const void *call);      /* the current fiber, as one that polls */
void shmemsimi_yield(const void *call);     /* the current fiber, as by shmemsim_yield */
void shmemsimi_wake(shmemsimi_fiber_t *f);
void shmemsimi_loop(void);                           /* main: run fibers until main is wanted */
void shmemsimi_exit(void) __attribute__((noreturn)); /* the current fiber has returned */
/* advance the epoch if an inlined store set a flag */
void shmemsimi_note_writes(void);
/* wake polling fibers if something was written, and sleepers that are due */
void shmemsimi_wake_due(void);

void shmemsimi_too_long(void); /* wakes the fiber that waits for a step, or ends the run */

static inline void shmemsimi_count(void)
{
	shmemsimi_w.now++;
	if (++shmemsimi_w.steps > shmemsimi_w.last_step)
		shmemsimi_too_long();
}

/* poll_loop.c: the current fiber is about to access p. May run other fibers first. call: return
 * address of the entry point. */
void shmemsimi_detect_poll(const void *p, const void *call);

/* Bits of shmemsim_hooks, beside that of weak.h */
#define SHMEMSIMI_HOOK_STEP 1u /* count accesses, and make decisions if the policy has any there */
#define SHMEMSIMI_HOOK_MORE 2u /* trace accesses, or report them to thread sanitizer */

/* policy.c */
const shmemsimi_policy_t *shmemsimi_policy_begin(const shmemsim_config_t *cfg);
const char *shmemsimi_policy_text(void);
/* The variables beside the policy that differ from their defaults, each with a space after it.
 * Returns the length. */
size_t shmemsimi_variables_text(const shmemsim_config_t *cfg, char *text, size_t nbytes);
/* A visible operation is about to be executed: may switch. access: SHMEMSIM_LD_DATA for a
 * collective. */
void shmemsimi_step(int access);
shmemsimi_fiber_t *shmemsimi_pick(void);   /* from the run queue, which is not empty */
uint64_t shmemsimi_draw(void);             /* 48 random bits */
uint32_t shmemsimi_choose_age(uint32_t n); /* weak memory: mostly 0, the newest of n writes */

/* random.c */
void shmemsimi_random_begin(void);
uint32_t shmemsimi_random_access(uint32_t n, uint32_t weight);
uint32_t shmemsimi_random_wait(uint32_t n, uint32_t first);
uint32_t shmemsimi_random_data(uint32_t n);

/* pct.c, dfs.c */
#define SHMEMSIMI_PCT_LENGTH 1000 /* default length of a run in accesses */
void shmemsimi_pct_begin(void);
int64_t shmemsimi_priority(shmemsimi_fiber_t *f); /* drawn at the first call */
uint32_t shmemsimi_pct_access(uint32_t n, uint32_t weight);
uint32_t shmemsimi_pct_wait(uint32_t n, uint32_t first);
void shmemsimi_dfs_reset(void); /* forget the schedules made so far */
void shmemsimi_dfs_begin(void);
/* 1: continue with the next schedule, 0: there is none, -1: not repeated */
int shmemsimi_dfs_next(void);
uint32_t shmemsimi_dfs_access(uint32_t n, uint32_t weight);
uint32_t shmemsimi_dfs_wait(uint32_t n, uint32_t first);
uint32_t shmemsimi_dfs_data(uint32_t n);

/* trace.c, trace_text.c: the last cfg.trace operations. Call only if cfg.trace, except trace_begin
 * and place_text. */
void shmemsimi_trace_begin(void); /* forgets the operations and names of the last run */
/* the access is about to be executed */
void shmemsimi_trace_access(const void *p, uint32_t nbytes, int access);
/* the last access reads this value, not the one in memory */
void shmemsimi_trace_read(uint64_t value);
/* "name+offset" of memory, if it has a name. */
void shmemsimi_place_text(const void *at, char *text, size_t nbytes);
void shmemsimi_trace_choice(uint32_t option, uint32_t n);
void shmemsimi_trace_meet(const char *what, uint32_t which); /* a collective or barrier */
void shmemsimi_trace_finish(void); /* reads the value that the last access has written */
void shmemsimi_trace_report(void);

/* trace_file.c: the file that SHMEMSIM_TRACE_FILE names; NULL: none, or this run writes none */
const char *shmemsimi_trace_file(void);
/* Write it. A failure is a line of the report. */
void shmemsimi_trace_write(const char *path);

/* explore.c, shrink.c */
typedef struct shmemsimi_program {
	int n_pes;
	int (*pe_main)(int pe, int n_pes, void *arg);
	void *arg;
} shmemsimi_program_t;
/* The last run has failed: find a short list, run it once more with a trace, write the report. */
void shmemsimi_shrink(const shmemsimi_program_t *program, uint64_t n_schedules);

const char *shmemsimi_coll_name(int coll);

/* warp.c, block.c: a lane exited; resume fibers that waited only for it */
void shmemsimi_warp_recheck(shmemsimi_warp_t *w);
void shmemsimi_warp_stalled(shmemsimi_warp_t *w); /* no lane of it can run */
void shmemsimi_block_recheck(shmemsimi_block_t *b);
void shmemsimi_block_free(shmemsimi_block_t *b);

/* check.c */
void shmemsimi_report_records(void); /* error records that check builds have written */
void shmemsimi_check_end(void);      /* of a run: forget sources */

/* grid.c */
void shmemsimi_lane_main(shmemsimi_fiber_t *f);
void shmemsimi_lane_exited(shmemsimi_fiber_t *f);
void shmemsimi_grid_free(shmemsimi_grid_t *g);
void shmemsimi_streams_free(void);

/* bulk.c. bulk_end: a thread ends: carry out or refuse what it has posted. bulk_discard: the fiber
 * will never run again: drop it. */
void shmemsimi_bulk_end(void);
void shmemsimi_bulk_discard(shmemsimi_fiber_t *f);

/* crash.c: while fibers run, a line for a kernel that gets SIGSEGV or SIGBUS */
void shmemsimi_crash_begin(void);
void shmemsimi_crash_end(void);

/* boot.c */
void shmemsimi_boot_left(int pe); /* the PE returned from pe_main */
void shmemsimi_boot_end(void);
/* Writes the PEs that have not arrived in the gather in which pe waits. */
void shmemsimi_boot_missing(int pe, char *text, size_t nbytes);

/* report.c, symbol.c */
void shmemsimi_report_begin(void);
void shmemsimi_report_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
size_t shmemsimi_format(char *dst, size_t nbytes, const char *fmt, ...)
	__attribute__((format(printf, 3, 4))); /* snprintf into memory that fibers share */
void shmemsimi_report_fibers(void);            /* main: appends the place of each fiber */
/* The name of a grid's kernel, or of the function that shmemsim_launch_cuda runs as one. The first
 * call for a grid looks it up. */
const char *shmemsimi_kernel_name(shmemsimi_grid_t *g);
bool shmemsimi_symbol(const void *pc, char *text, size_t nbytes);
bool shmemsimi_variable(const void *p, char *text, size_t nbytes); /* p is in a static variable */

#endif
