/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Is fail-over on? */
#ifndef SHMEMHI_FAULT_POLICY_H
#define SHMEMHI_FAULT_POLICY_H

#include <stdbool.h>

struct shmemh;
struct shmemhi_firmware; /* fault/results.h */

/* Values of SHMEMH_FT, as in base/options.h. */
enum shmemhi_ft { SHMEMHI_FT_AUTO, SHMEMHI_FT_OFF, SHMEMHI_FT_EXACT };

#define SHMEMHI_FAULT_WHY_NBYTES 256

/* What the decision is made of. */
typedef struct shmemhi_fault_facts {
	int option;          /* SHMEMHI_FT_* */
	bool has_channels;   /* some PE is reached by a NIC */
	const char *standby; /* port, as mlx5_1:1; NULL: there is none */
	bool is_emulated;    /* by the emulator, one thread runs all PEs and NICs */
	bool is_software;    /* the NICs are the software adapter's, which is tested with the
				library */
	int verdict;         /* shmemhi_fault_verdict of the NICs of both ports, the worse one */
	const char *nic;     /* that the verdict is of */
} shmemhi_fault_facts_t;

typedef struct shmemhi_fault_policy {
	int policy;                         /* enum shmemh_fault_policy */
	bool warns;                         /* it is off, and the user can change that */
	char why[SHMEMHI_FAULT_WHY_NBYTES]; /* one line; if it is off, mostly what to do */
} shmemhi_fault_policy_t;

/* What this PE decides. Pure. */
shmemhi_fault_policy_t shmemhi_fault_decide(const shmemhi_fault_facts_t *facts);

/* The job's policy: EXACT if all PEs decided so, else OFF with the line of the lowest one that did
 * not; kept for shmemh_fault_policy. All PEs log the line; PE 0 as a warning if that PE says so.
 * Collective.
 *
 * policy   receives enum shmemh_fault_policy, the same on all PEs.
 * Returns  SHMEMH_OK; ERR_NO_MEMORY; as shmemhi_allgather. */
int shmemhi_fault_agree(struct shmemh *job, const shmemhi_fault_policy_t *mine, int *policy);

/* Fail-over cannot be made although PEs have agreed on it: the policy is OFF for this reason. PE 0
 * logs it as a warning. On all PEs. */
void shmemhi_fault_switch_off(struct shmemh *job, const char *why);

/* The worst of the verdicts on the rows of the self-test that fail-over relies on (rows[] in
 * policy.c). path: as for shmemhi_results_verdict. */
int shmemhi_fault_verdict(const char *path, const struct shmemhi_firmware *of);

#endif
