/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "selftest/selftest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"
#include "base/files.h"
#include "selftest/far.h"
#include "selftest/rows.h"

#define MAX_ROWS SHMEMHI_FAR_MAX_ROWS
#define NAME_NBYTES 160

typedef struct run {
	shmemhi_rig_t rig;
	shmemhi_far_t far; /* of two PEs */
	const shmemhi_selftest_row_t *rows;
	int n_rows;
	shmemhi_firmware_t firmwares[SHMEMHI_RIG_PORTS];
	shmemhi_port_verdicts_t near_verdicts; /* on the ports of this PE */
	shmemhi_port_verdicts_t far_verdicts;  /* on PE 0 of two: those that PE 1 will keep */
	FILE *out;
} run_t;

/* ---- ports ---- */

static void find_firmwares(run_t *run)
{
	for (int i = 0; i < (int)run->rig.ports.n; i++) {
		struct ibv_device_attr attr = {0};
		shmemhi_firmware_t *f = &run->firmwares[i];

		run->rig.lib.query_device(run->rig.ports.ports[i].open.context, &attr);
		*f = (shmemhi_firmware_t){.vendor = attr.vendor_id, .part = attr.vendor_part_id};
		snprintf(f->version, sizeof f->version, "%.*s", (int)strcspn(attr.fw_ver, " \n"),
			 attr.fw_ver);
	}
}

/* "mlx5_0:1"; of two PEs "PE 0 host-a mlx5_0:1". */
static void name_end(const run_t *run, int pe, const char *host, const shmemhi_open_port_t *port,
		     char *name)
{
	if (run->rig.far)
		snprintf(name, NAME_NBYTES, "PE %d %.63s %.63s:%d", pe, host, port->name,
			 port->number);
	else
		snprintf(name, NAME_NBYTES, "%.63s:%d", port->name, port->number);
}

/* A port at end a of a pair. */
static void name_a(const run_t *run, int port, char *name)
{
	name_end(run, 0, run->far.mine.host, &run->rig.ports.ports[port].open, name);
}

/* A port at end b. */
static void name_b(const run_t *run, int port, char *name)
{
	if (run->rig.far)
		name_end(run, 1, run->far.peer.host, &run->far.ports[port], name);
	else
		name_a(run, port, name);
}

static void print_port(const run_t *run, const char *name, int is_ethernet,
		       const shmemhi_firmware_t *f)
{
	fprintf(run->out, "%-12s %s, vendor 0x%04x, part %u, firmware %s\n", name,
		is_ethernet ? "RoCE v2" : "InfiniBand", f->vendor, f->part, f->version);
}

static void print_ports(const run_t *run)
{
	char name[NAME_NBYTES];

	for (int i = 0; i < (int)run->rig.ports.n; i++) {
		name_a(run, i, name);
		print_port(run, name, run->rig.ports.ports[i].open.is_ethernet, &run->firmwares[i]);
	}
	for (int i = 0; run->rig.far && i < run->far.peer.n_ports; i++) {
		name_b(run, i, name);
		print_port(run, name, run->far.ports[i].is_ethernet,
			   &run->far.peer.ports[i].firmware);
	}
	fprintf(run->out, "\n");
}

/* ---- rows ---- */

static int max(int a, int b)
{
	return a > b ? a : b;
}

/* Pairs of ports: each port has its turn at both ends, or, of two PEs, at the end of its PE. */
static int n_pairs(const run_t *run)
{
	int n = (int)run->rig.ports.n;

	return run->rig.far ? max(n, run->far.peer.n_ports) : n;
}

static void ports_of_pair(const run_t *run, int pair, int *a, int *b)
{
	int n = (int)run->rig.ports.n;

	*a = pair % n;
	*b = run->rig.far ? pair % run->far.peer.n_ports : (pair + 1) % n;
}

static void run_on(run_t *run, int row, int a, int b, shmemhi_outcome_t *o)
{
	const shmemhi_selftest_row_t *r = &run->rows[row];
	shmemhi_pair_t pair;

	memset(o, 0, sizeof *o);
	run->rig.err.text[0] = '\0';
	if (run->rig.far && (r->flags & SHMEMHI_ROW_LOCAL)) {
		shmemhi_row_unknown(o, "local only: run it on one machine");
		return;
	}
	if (shmemhi_pair_open(&run->rig, a, b, r->flags, NULL, &pair) != SHMEMH_OK) {
		shmemhi_row_unknown(o, "%.190s", run->rig.err.text);
		return;
	}
	r->run(&run->rig, &pair, o);
	shmemhi_pair_close(&run->rig, &pair);
}

/* Note the verdict of a row for a port, unless a worse one is there. */
static void note(shmemhi_port_verdicts_t *verdicts, int row, int port, int verdict)
{
	uint8_t *v = &verdicts->verdicts[row][port];

	if (*v == SHMEMHI_ROW_NOT_RUN || *v < verdict)
		*v = (uint8_t)verdict;
}

static void note_row(run_t *run, int row, int a, int b, int verdict)
{
	const int flags = run->rows[row].flags;

	if (!run->rig.far) {
		note(&run->near_verdicts, row, a, verdict);
		note(&run->near_verdicts, row, b, verdict);
		return;
	}
	if (!(flags & (SHMEMHI_ROW_RESPONDER | SHMEMHI_ROW_LOCAL)))
		note(&run->near_verdicts, row, a, verdict);
	if (!(flags & (SHMEMHI_ROW_REQUESTER | SHMEMHI_ROW_LOCAL)))
		note(&run->far_verdicts, row, b, verdict);
}

static void print_row(const run_t *run, int row, const shmemhi_outcome_t *worst, int pair)
{
	const shmemhi_selftest_row_t *r = &run->rows[row];
	char near[NAME_NBYTES], remote[NAME_NBYTES];
	int a, b;

	ports_of_pair(run, pair, &a, &b);
	name_a(run, a, near);
	name_b(run, b, remote);
	fprintf(run->out, "%-16s %-11s  %s", r->name, shmemhi_verdict_word(worst->verdict),
		r->what);
	if (worst->verdict == SHMEMHI_FAIL)
		fprintf(run->out, "\n    %s -> %s: %s\n    then: %s\n", near, remote, worst->text,
			r->otherwise);
	else
		fprintf(run->out, worst->text[0] ? " (%s)\n" : "\n", worst->text);
	fflush(run->out);
}

/* Run one row on all pairs of ports, and print its line. Returns the worst verdict; -1: the other
 * PE cannot be reached any more. */
static int run_row(run_t *run, int row)
{
	shmemhi_outcome_t worst = {0};
	int worst_pair = 0;

	for (int pair = 0; pair < n_pairs(run); pair++) {
		shmemhi_outcome_t o;
		int a, b;

		ports_of_pair(run, pair, &a, &b);
		run_on(run, row, a, b, &o);
		if (run->far.is_lost) {
			shmemhi_verdicts_end_early(&run->near_verdicts, row);
			return -1;
		}
		note_row(run, row, a, b, o.verdict);
		if (pair == 0 || o.verdict > worst.verdict) {
			worst = o;
			worst_pair = pair;
		}
	}
	print_row(run, row, &worst, worst_pair);
	return worst.verdict;
}

/* Returns the worst verdict, or -1 with a line in err. */
static int run_rows(run_t *run, shmemhi_err_t *err)
{
	int counts[3] = {0}, worst = SHMEMHI_PASS;

	for (int row = 0; row < run->n_rows; row++) {
		int verdict = run_row(run, row);

		if (verdict < 0) {
			shmemhi_fail(err, SHMEMH_ERR_PEER,
				     "self-test: ended in row %s, after %d of %d rows: %.300s",
				     run->rows[row].name, row, run->n_rows, run->far.why.text);
			return -1;
		}
		counts[verdict]++;
		worst = max(worst, verdict);
	}
	fprintf(run->out, "\n%d pass, %d fail, %d cannot tell\n", counts[SHMEMHI_PASS],
		counts[SHMEMHI_FAIL], counts[SHMEMHI_UNKNOWN]);
	return worst;
}

/* ---- two PEs ---- */

/* Fill in what the other PE needs: the ports of this one, or why it cannot take part. */
static void describe(run_t *run, int status)
{
	shmemhi_far_hello_t *mine = &run->far.mine;

	if (gethostname(mine->host, sizeof mine->host - 1) != 0)
		mine->host[0] = '?';
	mine->status = status;
	if (status != SHMEMH_OK) {
		snprintf(mine->text, sizeof mine->text, "%s", run->rig.err.text);
		return;
	}
	mine->n_ports = (int32_t)run->rig.ports.n;
	mine->remote = (uintptr_t)shmemhi_remote_ptr(&run->rig, 0);
	for (int i = 0; i < mine->n_ports; i++) {
		const shmemhi_open_port_t *open = &run->rig.ports.ports[i].open;
		shmemhi_far_port_t *port = &mine->ports[i];

		port->info = shmemhi_port_info_of(open, 1);
		memcpy(port->name, open->name, sizeof port->name);
		port->port = open->number;
		port->rkey = run->rig.mrs[i]->rkey;
		port->firmware = run->firmwares[i];
	}
}

/* Both ends of each pair must be of one kind of network. */
static int check_pairs(run_t *run, shmemhi_err_t *err)
{
	for (int pair = 0; pair < n_pairs(run); pair++) {
		char near[NAME_NBYTES], remote[NAME_NBYTES];
		int a, b;

		ports_of_pair(run, pair, &a, &b);
		if (run->rig.ports.ports[a].open.is_ethernet == run->far.ports[b].is_ethernet)
			continue;
		name_a(run, a, near);
		name_b(run, b, remote);
		return shmemhi_fail(
			err, SHMEMH_ERR_MISMATCH,
			"self-test: %s is %s, %s is not: name ports of one network with "
			"--nics",
			near, run->far.ports[b].is_ethernet ? "InfiniBand" : "RoCE", remote);
	}
	return SHMEMH_OK;
}

/* Let PE 1 keep its results, and end. */
static int end_peer(run_t *run, shmemhi_err_t *err)
{
	shmemhi_far_message_t m = {.op = SHMEMHI_FAR_END, .nbytes = sizeof run->far_verdicts};

	return shmemhi_far_call(&run->far, &m, &run->far_verdicts, NULL, err);
}

/* PE 0 of two. Returns the worst verdict, or -1. */
static int lead(run_t *run, shmemhi_err_t *err)
{
	int worst;

	run->rig.far = &run->far;
	if (check_pairs(run, err) != SHMEMH_OK)
		return -1;
	print_ports(run);
	worst = run_rows(run, err);
	return worst >= 0 && end_peer(run, err) != SHMEMH_OK ? -1 : worst;
}

/* status: of the preparations of this PE. Returns the worst verdict, or -1. */
static int run_two(run_t *run, int status, const shmemh_boot_t *boot, shmemhi_err_t *err)
{
	shmemhi_err_t other = {""};

	describe(run, status);
	status = shmemhi_far_meet(&run->far, boot, &other);
	if (run->far.mine.status != SHMEMH_OK || status != SHMEMH_OK) {
		shmemhi_fail(err, SHMEMH_ERR_NIC, "%s",
			     run->far.mine.status != SHMEMH_OK ? run->far.mine.text : other.text);
		return -1;
	}
	if (boot->pe == 0)
		return lead(run, err);
	return shmemhi_far_serve(&run->rig, &run->far, &run->near_verdicts, err) == SHMEMH_OK
		       ? SHMEMHI_PASS
		       : -1;
}

/* ---- the self-test ---- */

static int refuse_n_pes(const shmemh_boot_t *boot, shmemhi_err_t *err)
{
	if (boot->n_pes <= 2)
		return SHMEMH_OK;
	return boot->pe != 0 ? SHMEMH_ERR_ARGUMENT
			     : shmemhi_fail(err, SHMEMH_ERR_ARGUMENT,
					    "self-test: the job has %d PEs: start 2, one on each "
					    "of two machines, or 1",
					    boot->n_pes);
}

/* Ports, memory and the file of the results. */
static int prepare(run_t *run, const shmemhi_selftest_t *what, FILE **results)
{
	int status = shmemhi_rig_open(&run->rig, what->nics);

	if (status == SHMEMH_OK) {
		*results = shmemhi_results_append(what->save, &run->rig.err);
		status = *results ? SHMEMH_OK : SHMEMH_ERR_SYSTEM;
	}
	if (status == SHMEMH_OK)
		find_firmwares(run);
	return status;
}

/* One PE. Returns the worst verdict, or -1. */
static int run_one(run_t *run, int status, shmemhi_err_t *err)
{
	if (status != SHMEMH_OK) {
		shmemhi_fail(err, status, "%s", run->rig.err.text);
		return -1;
	}
	print_ports(run);
	return run_rows(run, err);
}

/* Returns the worst verdict, or -1: the file does not have all of them. */
static int keep(const run_t *run, FILE *results, int worst, shmemhi_err_t *err)
{
	int error;

	shmemhi_verdicts_keep(&run->near_verdicts, run->firmwares, (int)run->rig.ports.n, results);
	error = shmemhi_close_written(results);
	if (!error)
		return worst;
	shmemhi_fail(err, SHMEMH_ERR_SYSTEM, "results are not kept: writing the file failed: %s",
		     strerror(error));
	return -1;
}

int shmemhi_selftest_run(const shmemhi_selftest_t *what, const shmemhi_options_t *opt, FILE *out,
			 shmemhi_err_t *err)
{
	run_t *run;
	FILE *results = NULL;
	int status, worst;

	if (refuse_n_pes(what->boot, err) != SHMEMH_OK)
		return -1;
	run = calloc(1, sizeof *run);
	if (!run) {
		shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
		return -1;
	}
	memset(&run->near_verdicts, SHMEMHI_ROW_NOT_RUN, sizeof run->near_verdicts);
	memset(&run->far_verdicts, SHMEMHI_ROW_NOT_RUN, sizeof run->far_verdicts);
	run->out = out;
	run->rig.opt = *opt;
	run->rig.random = shmemhi_now();
	run->rows = shmemhi_selftest_rows(&run->n_rows);
	status = prepare(run, what, &results);
	run->rig.deadline = shmemhi_deadline(what->minutes * 60 * SHMEMHI_SECOND);
	worst = what->boot->n_pes == 2 ? run_two(run, status, what->boot, err)
				       : run_one(run, status, err);
	if (results)
		worst = keep(run, results, worst, err);
	shmemhi_rig_close(&run->rig);
	shmemhi_far_free(&run->far);
	free(run);
	return worst;
}
