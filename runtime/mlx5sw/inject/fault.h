/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Fault rules: the action, the events to which it applies, how many events pass first, how many are
 * hit. */
#ifndef MLX5SW_FAULT_H
#define MLX5SW_FAULT_H

#include "mlx5sw/engine/faults.h"

enum mlx5swi_fault {
	MLX5SWI_DROP = 1,  /* packets */
	MLX5SWI_HOLD,      /* packets, until `release`, or until the sender's QP fails */
	MLX5SWI_DUPLICATE, /* packets */
	MLX5SWI_DELAY,     /* packets, for ns */
	/* WRITE packets: nbytes of them are placed, then the request is refused */
	MLX5SWI_PARTIAL,
	MLX5SWI_LOSE_DOORBELL,
	MLX5SWI_LOSE_CQE,
	MLX5SWI_DELAY_CQE,     /* for ns */
	MLX5SWI_HOLD_CQE,      /* until it is released */
	MLX5SWI_FAIL_WQE,      /* with syndrome and vendor */
	MLX5SWI_STOP_AT_WQE,   /* a local 2ERR before it is executed */
	MLX5SWI_FAIL_COMMAND,  /* with status and syndrome */
	MLX5SWI_DELAY_COMMAND, /* by ns */
};

#define MLX5SWI_ANY UINT32_MAX

typedef struct mlx5swi_rule {
	struct mlx5swi_rule *next;
	int fault; /* mlx5swi_fault */
	/* Of a packet: those of its sender, but for PARTIAL those of its receiver. Of a doorbell,
	 * WQE or CQE: those of its QP. Of a command: those of its device, which has no qpn.
	 * MLX5SWI_ANY: all. */
	uint32_t host, device, qpn;
	uint32_t kind; /* packets: bits 1 << mlx5swi_kind; 0: all */
	/* WQEs and CQEs: index of the first WQEBB; CQEs of receives: of the receive WQE;
	 * MLX5SWI_ANY */
	uint32_t index;
	uint32_t opcode; /* commands; WQEs and CQEs: of the WQE; MLX5SWI_ANY */
	uint64_t after;  /* number of matching events that pass first */
	uint64_t left;   /* number of events that are still hit; UINT64_MAX: all */
	uint64_t n_hits;
	uint64_t ns;
	uint32_t nbytes, syndrome;
	uint8_t status, vendor;
	uint8_t until_error; /* hold: release when the sender's QP fails */
	char text[80];       /* the control line, cut */
} mlx5swi_rule_t;

/* Append a copy. Rules are examined in the order in which they were added. 0, or ENOMEM. */
int mlx5swi_rule_add(const mlx5swi_rule_t *rule);
void mlx5swi_rules_clear(void);
const mlx5swi_rule_t *mlx5swi_rules(void);
unsigned mlx5swi_release_held(void); /* send held packets; returns how many */

/* console.c: execute one control line; requires the lock. is_check: parse it only. */
int mlx5swi_console(const char *line, int is_check, char *answer, size_t nbytes);

/* script.c: execute the lines of a file at their times. */
int mlx5swi_script_open(const char *path); /* 0, or an errno value */
void mlx5swi_script_close(void);
unsigned mlx5swi_script_run(void);
uint64_t mlx5swi_script_deadline(void);

/* socket.c: in a process whose thread runs the devices. */
void mlx5swi_socket_start(void);
void mlx5swi_socket_stop(void);

#endif
