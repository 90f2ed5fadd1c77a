/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The built-in bootstraps. Each fills a shmemh_boot_t (include/shmem_host/boot.h). */
#ifndef SHMEMHI_BOOT_BOOT_H
#define SHMEMHI_BOOT_BOOT_H

#include <stdbool.h>
#include <shmem_host/boot.h>
#include "base/err.h"
#include "base/options.h"

/* Connect to the hub that id names and wait until all n_pes PEs are there.
 * Returns  SHMEMH_OK; ERR_ARGUMENT; ERR_BOOTSTRAP (unreachable; secret refused; PE number taken or
 *          n_pes different from the hub's); ERR_VERSION (of the protocol); ERR_TIMEOUT (text names
 *          the missing PEs, or the hub that did not answer); ERR_PEER (another PE or the hub was
 *          lost); ERR_SYSTEM; the status with which the init of another PE failed.
 */
int shmemhi_boot_tcp(const shmemh_uniqueid_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		     const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err);

/* Did a PMIx launcher start this process? (The environment says so.) */
bool shmemhi_boot_pmix_present(void);

/* Was this library built with PMIx? */
bool shmemhi_boot_pmix_built(void);

/* Take PE number, size and a unique id made by PE 0 from PMIx, then continue as boot_tcp. libpmix
 * is loaded at run time.
 * Returns  as boot_tcp; ERR_BOOTSTRAP (libpmix missing, or a PMIx call failed: text has its name
 *          and error); on PE 0 also ERR_OPTION (SHMEMH_IFNAME). */
int shmemhi_boot_pmix(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		      shmemhi_err_t *err);

/* Keep status and line of an init that failed on this PE. The close of the bootstrap that follows
 * sends them, and the other PEs' collectives end with this status and "PE n: text". A bootstrap of
 * the caller's own cannot carry them: its PEs only see that one PE left. */
void shmemhi_boot_set_failure(const shmemh_boot_t *boot, int status, const char *text);

/* Has torchrun, or a launcher like it, set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT? */
bool shmemhi_boot_torch_present(void);

/* Join the job that these variables describe. PE 0 starts its hub.
 * Returns  as boot_tcp; ERR_OPTION (a variable that is not a number in its range). */
int shmemhi_boot_torch(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		       shmemhi_err_t *err);

/* A job of one PE. Cannot fail. */
void shmemhi_boot_self(shmemh_boot_t *boot);

/* boot_tcp, with a line that names attr.pe and attr.n_pes if the numbers are wrong.
 * Returns  as boot_tcp. */
int shmemhi_boot_id(const shmemh_uniqueid_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		    const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err);

/* Join the job that the environment describes: by SHMEMH_UNIQUEID, PMIx or torchrun; else a job of
 * one PE, with a warning if a launcher has started more processes.
 * Returns  as boot_id, boot_pmix and boot_torch; ERR_OPTION: SHMEMH_UNIQUEID. */
int shmemhi_boot_environment(const shmemhi_options_t *opt, const shmemhi_log_t *log,
			     shmemh_boot_t *boot, shmemhi_err_t *err);

#endif
