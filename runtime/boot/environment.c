/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The bootstrap that the environment of a process asks for. */
#include <stdlib.h>
#include "boot/boot.h"

static int join_by_id(const shmemhi_options_t *opt, const shmemhi_log_t *log, shmemh_boot_t *boot,
		      shmemhi_err_t *err)
{
	shmemh_uniqueid_t id;

	if (shmemh_uniqueid_from_text(opt->uniqueid, &id) != SHMEMH_OK)
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "SHMEMH_UNIQUEID is not the text form of a unique id: "
				    "pass on what shmemh_uniqueid_to_text wrote");
	if (opt->n_pes < 1 || opt->pe < 0 || opt->pe >= opt->n_pes)
		return shmemhi_fail(err, SHMEMH_ERR_OPTION,
				    "SHMEMH_PE=%d, SHMEMH_NPES=%d: with SHMEMH_UNIQUEID, set "
				    "SHMEMH_NPES to the number of PEs and SHMEMH_PE to one of "
				    "0 .. SHMEMH_NPES - 1",
				    opt->pe, opt->n_pes);
	return shmemhi_boot_id(&id, opt->pe, opt->n_pes, opt, log, boot, err);
}

/* Without a known bootstrap, each of the n processes that a launcher started would silently
 * become a job of one PE. Warn if the environment shows more than one. */
static void be_alone(const shmemhi_log_t *log, shmemh_boot_t *boot)
{
	static const char *const names[] = {"SHMEMH_NPES", "SLURM_NTASKS", "PMI_SIZE",
					    "OMPI_COMM_WORLD_SIZE"};

	shmemhi_boot_self(boot);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		const char *value = getenv(names[i]);

		if (!value || strtol(value, NULL, 10) <= 1)
			continue;
		shmemhi_log(log, SHMEMHI_WARN,
			    "%s=%.16s, but neither PMIx nor SHMEMH_UNIQUEID is there: this process "
			    "is a job of one PE; to have one job of all, start it with srun "
			    "--mpi=pmix or mpirun with PMIx, or set SHMEMH_UNIQUEID, SHMEMH_PE and "
			    "SHMEMH_NPES",
			    names[i], value);
		return;
	}
}

int shmemhi_boot_id(const shmemh_uniqueid_t *id, int pe, int n_pes, const shmemhi_options_t *opt,
		    const shmemhi_log_t *log, shmemh_boot_t *boot, shmemhi_err_t *err)
{
	if (n_pes < 1 || pe < 0 || pe >= n_pes)
		return shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
				    "init: PE %d of %d: with attr.uniqueid, attr.pe must be "
				    "0 .. attr.n_pes - 1",
				    pe, n_pes);
	return shmemhi_boot_tcp(id, pe, n_pes, opt, log, boot, err);
}

int shmemhi_boot_environment(const shmemhi_options_t *opt, const shmemhi_log_t *log,
			     shmemh_boot_t *boot, shmemhi_err_t *err)
{
	if (opt->uniqueid[0])
		return join_by_id(opt, log, boot, err);
	if (shmemhi_boot_pmix_present())
		return shmemhi_boot_pmix(opt, log, boot, err);
	if (shmemhi_boot_torch_present())
		return shmemhi_boot_torch(opt, log, boot, err);
	be_alone(log, boot);
	return SHMEMH_OK;
}
