/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* shmem-info --selftest. */
#include "info_selftest.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_MINUTES 10
#define MAX_MINUTES 1000

#if SHMEMHI_HAVE_IB
#include "boot/boot.h"
#include "fault/results.h"
#include "selftest/selftest.h"

/* Two PEs test their NICs against each other, one PE its own; see shmemhi_selftest_run. */
static int run(shmemhi_selftest_t *what)
{
	shmemhi_log_t log = {SHMEMHI_WARN, -1, -1};
	shmemhi_err_t err = {""};
	shmemhi_options_t opt;
	shmemh_boot_t boot;
	int worst = -1;

	if (shmemhi_options_read(&opt, &log, &err) == SHMEMH_OK &&
	    shmemhi_boot_environment(&opt, &log, &boot, &err) == SHMEMH_OK) {
		what->boot = &boot;
		worst = shmemhi_selftest_run(what, &opt, stdout, &err);
		boot.close(boot.state);
	}
	if (worst < 0 && err.text[0])
		fprintf(stderr, "shmem-info: %s\n", err.text);
	return worst < 0 ? 1 : worst == SHMEMHI_FAIL;
}

/* Returns -1: no number of minutes. */
static int parse_minutes(const char *text, unsigned *minutes)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (*text == '\0' || *end || n < 1 || n > MAX_MINUTES)
		return -1;
	*minutes = (unsigned)n;
	return 0;
}

int info_selftest(int argc, char **argv)
{
	static const struct option options[] = {
		{"nics", required_argument, NULL, 'n'},
		{"minutes", required_argument, NULL, 'm'},
		{"save", required_argument, NULL, 's'},
		{NULL, 0, NULL, 0},
	};
	shmemhi_selftest_t what = {.nics = "", .minutes = DEFAULT_MINUTES};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'n') {
			what.nics = optarg;
		} else if (option == 's') {
			what.save = optarg;
		} else if (option != 'm') {
			return -1;
		} else if (parse_minutes(optarg, &what.minutes) != 0) {
			fprintf(stderr, "shmem-info: --minutes %s: a number, 1 to %d\n", optarg,
				MAX_MINUTES);
			return 2;
		}
	}
	return optind < argc ? -1 : run(&what);
}
#else
int info_selftest(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "shmem-info: --selftest: built without the headers of rdma-core 43 "
			"(libibverbs-dev)\n");
	return 1;
}
#endif
