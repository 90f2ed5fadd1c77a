/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Functions that all folders of the adapter use, module by module. */
#ifndef MLX5SW_CORE_H
#define MLX5SW_CORE_H

#include <errno.h>
#include <stddef.h>
#include "mlx5sw/core/objects.h"

/* status.c */
/* Status of a PRM command; verbs convert it to an errno value. */
enum mlx5swi_status {
	MLX5SWI_DONE = 0,
	MLX5SWI_INTERNAL = 1,
	MLX5SWI_BAD_OP = 2,
	MLX5SWI_BAD_PARAM = 3,
	MLX5SWI_BAD_RESOURCE = 5,
	MLX5SWI_BUSY = 6,
	MLX5SWI_LIMIT = 8,
	MLX5SWI_BAD_RESOURCE_STATE = 9,
	MLX5SWI_BAD_INDEX = 0xa,
	MLX5SWI_NO_RESOURCES = 0xf,
	MLX5SWI_BAD_QP_STATE = 0x10,
	MLX5SWI_BAD_INPUT_LENGTH = 0x50,
	MLX5SWI_BAD_OUTPUT_LENGTH = 0x51,
};
int mlx5swi_errno_of(int status);

#define MLX5SWI_EQN 7u         /* number of each device's event queue */
#define MLX5SWI_LOG_MAX_QP 18u /* limits that a device reports */
#define MLX5SWI_LOG_MAX_QP_SZ 15u
#define MLX5SWI_LOG_MAX_CQ 24u
#define MLX5SWI_LOG_MAX_CQ_SZ 22u
#define MLX5SWI_LOG_MAX_MKEY 24u
#define MLX5SWI_LOG_MAX_RA 4u /* READs and atomics in flight, in each direction */
#define MLX5SWI_LOG_MAX_MSG 30u
#define MLX5SWI_MAX_UARS 512u

/* Refuse a command. The text explains why; the syndrome is derived from fmt. The thread keeps both
 * until its next refusal, and MLX5SW_VERBOSE=1 prints the text to stderr. Returns status. */
int mlx5swi_refuse(int status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *mlx5swi_refusal(void);
/* syndrome of the thread's last refusal: a function of fmt, never 0 */
uint32_t mlx5swi_syndrome(void);

/* world.c */
mlx5swi_device_t *mlx5swi_device(uint32_t host, uint32_t index); /* NULL: none */
#define MLX5SWI_MAX_DEVICES 16u
#define MLX5SWI_CHAOS_ALL 127u
void mlx5swi_lock(void);
bool mlx5swi_lock_is_wanted(void); /* does a thread wait for it? */
void mlx5swi_unlock(void);

/* table.c */
int mlx5swi_table_add(mlx5swi_table_t *t, void *object, uint32_t *index); /* 0, or ENOMEM */
void *mlx5swi_table_get(const mlx5swi_table_t *t, uint32_t index);        /* NULL: none */
void mlx5swi_table_remove(mlx5swi_table_t *t, uint32_t index);
/* t is empty: make it assign numbers like a new table */
void mlx5swi_table_reuse(mlx5swi_table_t *t);
void mlx5swi_table_free(mlx5swi_table_t *t);

/* port.c: addresses. */
void mlx5swi_port_init(mlx5swi_port_t *port); /* derived from its device's host and index */
/* The MAC of the port that has this GID. Returns 0, or ENOENT: no port of this process has it, and
 * none of another can. The MAC of a port of another process is computed; the process may not exist.
 */
int mlx5swi_resolve(const uint8_t gid[16], uint8_t mac[6]);
/* The place (process) of a port with this GID. Returns 0, or ENOENT: no port can have it. The place
 * is computed; the process may not exist. */
int mlx5swi_gid_place(const uint8_t gid[16], mlx5swi_place_t *place);
/* The host number of a port with this LID; at least MLX5SWI_MAX_HOSTS: no port can have it. LIDs
 * are 1 + host * MLX5SWI_MAX_DEVICES + index. */
uint32_t mlx5swi_lid_host(uint16_t lid);
/* Replace the port's addresses by others of the same place. A second change restores them. */
void mlx5swi_port_change_gids(mlx5swi_port_t *port);
void mlx5swi_port_change_lid(mlx5swi_port_t *port);

/* hooks.c: access to memory, time and random choices through the hooks. */
/* the default hooks of mlx5sw_start; restarts the random sequence */
void mlx5swi_plain_hooks(mlx5sw_hooks_t *hooks);
void mlx5swi_load(void *dst, const void *src, size_t nbytes, int access);
void mlx5swi_store(void *dst, const void *src, size_t nbytes, int access);
uint64_t mlx5swi_take(void *reg);
uint64_t mlx5swi_now(void);
unsigned mlx5swi_choose(unsigned n);
/* Convert nanoseconds of the modelled device to real time (cfg.slow). */
uint64_t mlx5swi_scaled(uint64_t ns);

/* Does the configuration tell the device to break this rule (mlx5sw_unlike)? */
static inline bool mlx5swi_is_unlike(int rule)
{
	return mlx5swi_w->cfg.unlike == rule;
}

/* The capability of time stamps: mlx5sw_timestamps. */
static inline uint8_t mlx5swi_ts_capability(void)
{
	return mlx5swi_is_unlike(MLX5SW_UNLIKE_TS_FORMAT) ? MLX5SW_TIMESTAMPS_BOTH
							  : mlx5swi_w->cfg.timestamps;
}

/* lint.c. row: a row code of README.md's table, "W5" for example. index: the WQEBB's, or -1. */
void mlx5swi_lint(const char *row, const mlx5swi_qp_t *qp, int index, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
int mlx5swi_lint_start(void);
void mlx5swi_lint_stop(void);

/* entry.c: the end of an entry point of verbs, DevX or events. */

/* Record the failure of an entry point in one line. Returns err, for mlx5swi_leave. */
int mlx5swi_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* End an entry point: release the lock, then set errno. This order is needed because other threads
 * of the program may run as fibers of this thread and share errno. Returns err. */
int mlx5swi_leave(int err);

static inline mlx5swi_context_t *mlx5swi_context_of(struct ibv_context *context)
{
	return (mlx5swi_context_t *)((char *)context - offsetof(mlx5swi_context_t, vctx.context));
}

int mlx5swi_check_alive(const mlx5swi_context_t *ctx); /* 0, or EIO: the device has failed */

#endif
