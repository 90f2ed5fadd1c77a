/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "selftest/selftest.h"

#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "selftest/rows.h"

#define MAX_ROWS 64
#define NAME_NBYTES 80

typedef struct run {
	shmemhi_rig_t rig;
	const shmemhi_selftest_row_t *rows;
	int n_rows;
	shmemhi_firmware_t firmwares[SHMEMHI_RIG_PORTS];
	int verdicts[MAX_ROWS][SHMEMHI_RIG_PORTS]; /* of each port */
	FILE *out;
} run_t;

static void name_port(const run_t *run, int port, char *name)
{
	const shmemhi_open_port_t *nic = &run->rig.ports.ports[port].nic;

	snprintf(name, NAME_NBYTES, "%s:%d", nic->name, nic->port);
}

static void print_ports(run_t *run)
{
	for (int i = 0; i < (int)run->rig.ports.n; i++) {
		const shmemhi_open_port_t *nic = &run->rig.ports.ports[i].nic;
		struct ibv_device_attr attr = {0};
		char name[NAME_NBYTES];

		run->rig.lib.query_device(nic->context, &attr);
		run->firmwares[i] =
			(shmemhi_firmware_t){.vendor = attr.vendor_id, .part = attr.vendor_part_id};
		snprintf(run->firmwares[i].version, sizeof run->firmwares[i].version, "%.*s",
			 (int)strcspn(attr.fw_ver, " \n"), attr.fw_ver);
		name_port(run, i, name);
		fprintf(run->out, "%-12s %s, vendor 0x%04x, part %u, firmware %s\n", name,
			nic->is_ethernet ? "RoCE v2" : "InfiniBand", attr.vendor_id,
			attr.vendor_part_id, run->firmwares[i].version);
	}
	fprintf(run->out, "\n");
}

static void run_on(run_t *run, int row, int a, int b, shmemhi_outcome_t *o)
{
	const shmemhi_selftest_row_t *r = &run->rows[row];
	shmemhi_pair_t pair;

	memset(o, 0, sizeof *o);
	run->rig.err.text[0] = '\0';
	if (shmemhi_pair_open(&run->rig, a, b, r->flags, NULL, &pair) != SHMEMH_OK) {
		shmemhi_row_unknown(o, "%.190s", run->rig.err.text);
		return;
	}
	r->run(&run->rig, &pair, o);
	shmemhi_pair_close(&run->rig, &pair);
}

/* Run one row on all pairs of ports, and print its line. Returns the worst verdict. */
static int run_row(run_t *run, int row)
{
	const shmemhi_selftest_row_t *r = &run->rows[row];
	int n = (int)run->rig.ports.n;
	shmemhi_outcome_t worst = {0};
	char name_a[NAME_NBYTES] = "", name_b[NAME_NBYTES] = "";

	for (int a = 0; a < n; a++) {
		shmemhi_outcome_t o;
		int b = (a + 1) % n, *va = &run->verdicts[row][a], *vb = &run->verdicts[row][b];

		run_on(run, row, a, b, &o);
		*va = o.verdict > *va ? o.verdict : *va;
		*vb = o.verdict > *vb ? o.verdict : *vb;
		if (a == 0 || o.verdict > worst.verdict) {
			worst = o;
			name_port(run, a, name_a);
			name_port(run, b, name_b);
		}
	}
	fprintf(run->out, "%-16s %-11s  %s", r->name, shmemhi_verdict_word(worst.verdict), r->what);
	if (worst.verdict == SHMEMHI_FAIL)
		fprintf(run->out, "\n    %s -> %s: %s\n    then: %s\n", name_a, name_b, worst.text,
			r->otherwise);
	else
		fprintf(run->out, worst.text[0] ? " (%s)\n" : "\n", worst.text);
	fflush(run->out);
	return worst.verdict;
}

static void keep(const run_t *run, FILE *f)
{
	for (int port = 0; port < (int)run->rig.ports.n; port++)
		for (int row = 0; row < run->n_rows; row++)
			shmemhi_results_put(f, &run->firmwares[port], run->rows[row].name,
					    run->verdicts[row][port]);
}

static int run_rows(run_t *run)
{
	int counts[3] = {0}, worst = SHMEMHI_PASS;

	for (int row = 0; row < run->n_rows; row++) {
		int verdict = run_row(run, row);

		counts[verdict]++;
		worst = verdict > worst ? verdict : worst;
	}
	fprintf(run->out, "\n%d pass, %d fail, %d cannot tell\n", counts[SHMEMHI_PASS],
		counts[SHMEMHI_FAIL], counts[SHMEMHI_UNKNOWN]);
	return worst;
}

int shmemhi_selftest_run(const shmemhi_selftest_t *what, const shmemhi_options_t *opt, FILE *out,
			 shmemhi_err_t *err)
{
	run_t *run = calloc(1, sizeof *run);
	FILE *results = NULL;
	int worst = -1;

	if (!run) {
		shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
		return -1;
	}
	run->out = out;
	run->rig.opt = *opt;
	run->rig.random = shmemhi_now();
	run->rows = shmemhi_selftest_rows(&run->n_rows);
	if (shmemhi_rig_open(&run->rig, what->nics) == SHMEMH_OK)
		results = shmemhi_results_append(what->save, &run->rig.err);
	if (results) {
		run->rig.deadline = shmemhi_deadline(what->minutes * 60 * SHMEMHI_SECOND);
		print_ports(run);
		worst = run_rows(run);
		keep(run, results);
		fclose(results);
	}
	if (worst < 0)
		shmemhi_fail(err, SHMEMH_ERR_NIC, "%s", run->rig.err.text);
	shmemhi_rig_close(&run->rig);
	free(run);
	return worst;
}
