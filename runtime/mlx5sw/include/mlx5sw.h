/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A software mlx5 adapter: the entry points of libibverbs and libmlx5 that a GPU-initiated RDMA
 * runtime needs, and a model of the device that executes the rings.
 *
 * Programs resolve ibv_* and mlx5dv_* from this library instead of libibverbs and libmlx5. By
 * default the adapter then runs in a thread of the process, and MLX5SW_FABRIC selects how it
 * reaches other processes. A program that calls mlx5sw_start first has all hosts in one process and
 * drives the devices itself, step by step, as a schedule explorer needs (mlx5sw_sim.h has the hooks
 * for <shmem_sim.h>).
 *
 * There is one fabric per process. */
#ifndef MLX5SW_H
#define MLX5SW_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef MLX5SW_API
#define MLX5SW_API __attribute__((visibility("default")))
#endif

/* The purpose of an access by the device; hooks choose its memory order by it. */
enum mlx5sw_access {
	MLX5SW_WQE, /* load of WQEBBs: after the doorbell or record that announced them */
	MLX5SW_DBR, /* load of a doorbell record: 4 bytes, acquire */
	/* load of the data that a WQE sends, any size: ordered like the load of the WQE */
	MLX5SW_GATHER,
	MLX5SW_PAYLOAD, /* load or store of other user data, any size; plain */
	MLX5SW_ATOMIC,  /* load or store of 4 or 8 bytes, relaxed: each half of an atomic */
	/* store of a part of a CQE that does not make it valid: the first bytes, or (with
	 * MLX5SW_CHAOS_TEAR) the last 8 */
	MLX5SW_CQE,
	MLX5SW_CQE_OWNER, /* store of a CQE's last 8 bytes: release, after all earlier stores */
};

/* The hooks by which the adapter accesses memory, reads time and makes random choices. */
typedef struct mlx5sw_hooks {
	uint32_t size;                             /* sizeof(mlx5sw_hooks_t) */
	void *arg;                                 /* first argument of all */
	uint64_t (*now)(void *arg);                /* nanoseconds, never decreasing */
	unsigned (*choose)(void *arg, unsigned n); /* one of 0 .. n-1; 0 is the default */
	int (*host)(void *arg);                    /* the host of the calling thread */
	/* Take the 8 bytes of a doorbell register and leave all ones there: an exchange, acquire.
	 * Returns all ones if the register was not rung, and then must not write to it. */
	uint64_t (*take)(void *arg, void *reg);
	void (*load)(void *arg, void *dst, const void *src, size_t nbytes, int access);
	void (*store)(void *arg, void *dst, const void *src, size_t nbytes, int access);
	/* Called around each entry point and each step. Hooks may let other threads run in between.
	 */
	void (*lock)(void *arg);
	void (*unlock)(void *arg);
} mlx5sw_hooks_t;

enum mlx5sw_link_layer { MLX5SW_ETHERNET, MLX5SW_INFINIBAND };

/* Which of doorbell and doorbell record announces new work; correct software works with all. */
enum mlx5sw_doorbells {
	MLX5SW_DOORBELLS_HYBRID, /* whichever is further ahead */
	MLX5SW_DOORBELLS_DBR,    /* the record, read once when the doorbell rings */
	MLX5SW_DOORBELLS_DB,     /* the doorbell alone */
};

enum mlx5sw_timing {
	/* a timeout is 4.096 us * 2^timeout; as many retries as retry_count says */
	MLX5SW_TIMING_SPEC,
	/* as measured on a ConnectX-6: minimum, twice the nominal value, quick retries */
	MLX5SW_TIMING_CX6,
	MLX5SW_TIMING_FAST, /* one microsecond, and flushes at once */
};

enum mlx5sw_lint {
	MLX5SW_LINT_OFF,
	MLX5SW_LINT_REPORT, /* a line for each; the run continues */
	MLX5SW_LINT_STRICT, /* like report, sets mlx5sw_failed(), and a WQE fails whose control
			       segment has another QPN (W6) */
};

/* Which time stamps the device can put into CQEs: the capability sq_ts_format and, on RoCE,
 * qp_ts_format. CREATE_QP must ask for one of these or, with real-time, the default. */
enum mlx5sw_timestamps {
	MLX5SW_TIMESTAMPS_FREE_RUNNING,
	MLX5SW_TIMESTAMPS_REAL_TIME,
	MLX5SW_TIMESTAMPS_BOTH,
};

/* A rule that the adapter breaks, so that a test of the rule can be tested: with each value one row
 * of `shmem-info --selftest` fails, the row of that name. */
enum mlx5sw_unlike {
	MLX5SW_UNLIKE_NONE,
	MLX5SW_UNLIKE_WRITE,            /* the last byte of a WRITE of an odd length is wrong */
	MLX5SW_UNLIKE_INLINE,           /* as _WRITE, of an inline WRITE */
	MLX5SW_UNLIKE_READ,             /* the last byte of a READ of an odd length is not placed */
	MLX5SW_UNLIKE_DUMP,             /* DUMP is no operation of the device */
	MLX5SW_UNLIKE_FENCE_BIT,        /* the fence bit has no effect */
	MLX5SW_UNLIKE_IMMEDIATE,        /* a WRITE whose field is not 0 is malformed */
	MLX5SW_UNLIKE_ADD_8,            /* only the low half of the operand is added */
	MLX5SW_UNLIKE_CAS_8,            /* the comparison is ignored */
	MLX5SW_UNLIKE_MASKED_ADD_4,     /* the boundaries of fields are ignored */
	MLX5SW_UNLIKE_MASKED_ADD_8,     /* likewise */
	MLX5SW_UNLIKE_MASKED_CAS_4,     /* the whole word is swapped */
	MLX5SW_UNLIKE_MASKED_CAS_8,     /* the whole word is compared */
	MLX5SW_UNLIKE_ORDER_4,          /* results of 4 bytes are in host order */
	MLX5SW_UNLIKE_ORDER_8,          /* results of 8 bytes are big-endian */
	MLX5SW_UNLIKE_DOORBELL,         /* the same doorbell twice is an error */
	MLX5SW_UNLIKE_WQE_WRAP,         /* a WQE across the end of the ring is malformed */
	MLX5SW_UNLIKE_CQ_RING,          /* the owner bit never changes */
	MLX5SW_UNLIKE_CQ_COLLAPSED,     /* a collapsed CQ is a ring */
	MLX5SW_UNLIKE_TS_FORMAT,        /* real-time stamps are a capability, and refused */
	MLX5SW_UNLIKE_ERROR_OPCODE,     /* the CQE of this error has another syndrome */
	MLX5SW_UNLIKE_ERROR_LOCAL_KEY,  /* likewise */
	MLX5SW_UNLIKE_ERROR_REMOTE_KEY, /* likewise */
	MLX5SW_UNLIKE_ERROR_REQUEST,    /* likewise */
	MLX5SW_UNLIKE_ERROR_RETRY,      /* likewise */
	MLX5SW_UNLIKE_FLUSH_ORDER,      /* CQEs of flushed WQEs name the WQEBB before theirs */
	MLX5SW_UNLIKE_READ_QUIET, /* a READ does not push WRITEs of its queue pair to memory */
	MLX5SW_UNLIKE_PREFIX,     /* rmsn of a queue pair in ERR counts one request too many */
	MLX5SW_UNLIKE_LATE_WRITE, /* a WRITE that arrives in ERR is placed later */
	/* an atomic is lost if the atomic before it was on the same word, by another device */
	MLX5SW_UNLIKE_TWO_PORTS,
	MLX5SW_UNLIKE_REPEATED_WRITE, /* a repeated WRITE writes again */
	MLX5SW_UNLIKE_GPU_QUEUE,      /* no CQE is written to a CQ in GPU memory */
};

/* Behaviour that is legal for hardware and must not break software, but for two: fail-over relies
 * on NICs that never do DUP_WRITE (tests/faults/README.md), and no NIC does POISON, which finds
 * software that reads its WQEs after their execution. */
#define MLX5SW_CHAOS_ORDER 1u      /* the next queue, packet or completion is a random choice */
#define MLX5SW_CHAOS_FETCH 2u      /* WQEBBs are fetched as late as possible, and again */
#define MLX5SW_CHAOS_PLACE 4u      /* payload is placed in chunks, in any order */
#define MLX5SW_CHAOS_TEAR 8u       /* the owner byte of a CQE is written late */
#define MLX5SW_CHAOS_DUP_WRITE 16u /* a repeated WRITE writes again */
#define MLX5SW_CHAOS_ATOMIC 32u    /* other threads may run between the halves of an atomic */
#define MLX5SW_CHAOS_POISON 64u    /* WQEBBs are overwritten before they complete */

typedef struct mlx5sw_config {
	uint32_t size;      /* sizeof(mlx5sw_config_t) */
	uint32_t n_hosts;   /* in this process */
	uint32_t n_devices; /* of each host: mlx5_0, mlx5_1 and so on */
	uint8_t link_layer; /* mlx5sw_link_layer */
	uint8_t doorbells;  /* mlx5sw_doorbells */
	uint8_t timing;     /* mlx5sw_timing */
	uint8_t lint;       /* mlx5sw_lint */
	uint32_t chaos;     /* MLX5SW_CHAOS_ */
	/* all times are so many thousandths of the real ones; 0: they are zero */
	uint32_t slow;
	uint16_t start_index; /* first WQEBB index after reset */
	uint8_t is_routed;    /* packets to other ports are lost at a hop limit of 1 or less */
	uint8_t has_no_dbr;   /* the capability of queues without doorbell records */
	uint8_t timestamps;   /* mlx5sw_timestamps */
	uint8_t requires_grh; /* InfiniBand: ports drop packets without a global routing header */
	uint8_t unlike;       /* mlx5sw_unlike */
} mlx5sw_config_t;

#define MLX5SW_CONFIG_INIT                                                                         \
	{                                                                                          \
		sizeof(mlx5sw_config_t), 1, 2, MLX5SW_ETHERNET, MLX5SW_DOORBELLS_HYBRID,           \
			MLX5SW_TIMING_CX6, MLX5SW_LINT_REPORT, 0, 1000, 0, 0, 0, 0, 0, 0           \
	}

/* Set the fields that the environment gives: MLX5SW_DEVICES, _LINK, _DOORBELLS, _TIMING, _LINT,
 * _CHAOS, _SLOW, _NO_DBR, _TIMESTAMPS, _GRH, _UNLIKE (README.md). Returns 0, or ENODEV after a line
 * on stderr: one has an unusable value. */
MLX5SW_API int mlx5sw_config_from_env(mlx5sw_config_t *cfg);

/* Start a fabric of cfg->n_hosts hosts in this process, without a thread. The previous fabric and
 * all its objects are destroyed: pointers to them must not be used any more.
 *
 * No call blocks then. ibv_get_async_event and mlx5dv_devx_get_event fail with EAGAIN when there is
 * no event. Destroying an object with an event that was got and not acknowledged spins through
 * unlock and lock, so that other threads can acknowledge it. With hooks, contexts and channels have
 * no descriptor either (-1): programs start threads that wait for one, and the hooks do not
 * schedule such threads.
 *
 * Callers  before any other entry point; again between runs.
 * hooks    NULL: plain memory, CLOCK_MONOTONIC, a fixed seed, host 0, a mutex. Copied.
 * Returns  0, or an errno value: EINVAL (a field has no meaning), ENOMEM. */
MLX5SW_API int mlx5sw_start(const mlx5sw_config_t *cfg, const mlx5sw_hooks_t *hooks);

/* Let the devices do a bounded amount of work: after mlx5sw_start, whose world has no thread of its
 * own. Callers: any thread; the hooks' lock is held during the step. Returns the number of units of
 * work; 0: there is no work until a doorbell is rung or the time of mlx5sw_next_time has come. */
MLX5SW_API unsigned mlx5sw_step(void);

/* The time, by hooks.now, at which the next timer ends; UINT64_MAX: no timer runs. */
MLX5SW_API uint64_t mlx5sw_next_time(void);

/* Free all objects of the fabric, after which no pointer to one may be used. In a process whose
 * thread runs the devices (it has not called mlx5sw_start), this function first stops that thread.
 * Callers: one thread, while no other thread is in an entry point. */
MLX5SW_API void mlx5sw_stop(void);

/* Set the GPU memory of a dma-buf file descriptor: user space cannot derive the addresses from the
 * descriptor. Call before a registration uses it. Returns 0 or an errno value. */
MLX5SW_API int mlx5sw_bind_dmabuf(int fd, void *p, size_t nbytes);

/* Execute one control line: faults, port states, queries. A script file (MLX5SW_SCRIPT) and the
 * tool shmem-mlx5sw use the same lines; README.md lists them.
 *
 * answer   receives text with newlines, terminated; cut to nbytes.
 * Returns  0, or an errno value. EINVAL: the answer has the reason. */
MLX5SW_API int mlx5sw_control(const char *line, char *answer, size_t nbytes);

/* Counters of a queue pair since its creation. */
typedef struct mlx5sw_qp_counters_t {
	uint32_t size;         /* sizeof(mlx5sw_qp_counters_t), set by the caller */
	uint32_t state;        /* of the QP, as in a QP context */
	uint64_t doorbells;    /* taken, or counted because a QP shares the register */
	uint64_t dropped;      /* doorbells with its number that it did not accept */
	uint64_t wqes, wqebbs; /* fetched: WQEs, and WQEBBs of them */
	uint64_t packets_sent, packets_resent, packets_received;
	uint64_t executed;   /* requests executed as responder */
	uint64_t duplicates; /* packets of repeated requests */
	uint64_t cqes, error_cqes;
} mlx5sw_qp_counters_t;

/* Returns 0, or ENOENT: no such host, device or QP. */
MLX5SW_API int mlx5sw_qp_counters(int host, int device, uint32_t qpn, mlx5sw_qp_counters_t *c);

/* The reports of lint: line n, from 0, "row: where: text (times)", valid until the thread calls
 * this again; NULL: no more. The first 1024 are kept. */
MLX5SW_API const char *mlx5sw_report(unsigned n);

/* Returns 1 if lint is strict and has reported a mistake, otherwise 0. */
MLX5SW_API int mlx5sw_failed(void);

#ifdef __cplusplus
}
#endif

#endif
