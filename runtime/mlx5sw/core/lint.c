/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Reports of mistakes that a real device would tolerate or answer unpredictably: one line for each
 * row and queue, and a count. */
#include "mlx5sw/core/core.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REPORTS 1024
#define MAX_TEXT 200

typedef struct report {
	uint32_t host, device, qpn; /* qpn 0: no queue pair */
	uint64_t n;                 /* how often it was seen */
	char row[8];
	char text[MAX_TEXT];
} report_t;

struct mlx5swi_reports {
	uint32_t n;
	report_t at[MAX_REPORTS];
};

int mlx5swi_lint_start(void)
{
	mlx5swi_w->reports = NULL; /* allocated with the first report: most runs have none */
	return 0;
}

void mlx5swi_lint_stop(void)
{
	free(mlx5swi_w->reports);
	mlx5swi_w->reports = NULL;
}

static bool is_same(const report_t *r, const report_t *other)
{
	return r->host == other->host && r->device == other->device && r->qpn == other->qpn &&
	       strcmp(r->row, other->row) == 0;
}

static void keep(const report_t *r)
{
	struct mlx5swi_reports *reports = mlx5swi_w->reports;
	if (!reports)
		reports = mlx5swi_w->reports = calloc(1, sizeof(*reports));
	if (!reports)
		return;
	for (uint32_t i = 0; i < reports->n; i++)
		if (is_same(&reports->at[i], r)) {
			reports->at[i].n++;
			return;
		}
	if (reports->n == MAX_REPORTS)
		return; /* further reports are dropped */
	reports->at[reports->n++] = *r;
	fprintf(stderr, "mlx5sw: %s: %s\n", r->row, r->text);
}

void mlx5swi_lint(const char *row, const mlx5swi_qp_t *qp, int index, const char *fmt, ...)
{
	report_t r;
	va_list args;
	int n = 0;
	if (mlx5swi_w->cfg.lint == MLX5SW_LINT_OFF)
		return;
	memset(&r, 0, sizeof(r));
	r.n = 1;
	snprintf(r.row, sizeof(r.row), "%s", row);
	if (qp) {
		r.host = qp->dev->host;
		r.device = qp->dev->index;
		r.qpn = qp->qpn;
		n = snprintf(r.text, sizeof(r.text), "host %u mlx5_%u QP 0x%x", r.host, r.device,
			     r.qpn);
	}
	if (index >= 0)
		n += snprintf(r.text + n, sizeof(r.text) - (size_t)n, " WQEBB %d", index & 0xffff);
	n += snprintf(r.text + n, sizeof(r.text) - (size_t)n, n ? ": " : "");
	va_start(args, fmt);
	vsnprintf(r.text + n, sizeof(r.text) - (size_t)n, fmt, args);
	va_end(args);
	keep(&r);
}

const char *mlx5sw_report(unsigned n)
{
	static _Thread_local char line[MAX_TEXT + 48];
	const struct mlx5swi_reports *reports = mlx5swi_w ? mlx5swi_w->reports : NULL;
	if (!reports || n >= reports->n)
		return NULL;
	const report_t *r = &reports->at[n];
	snprintf(line, sizeof(line), "%s: %s (%llu times)", r->row, r->text,
		 (unsigned long long)r->n);
	return line;
}

int mlx5sw_failed(void)
{
	return mlx5swi_w && mlx5swi_w->cfg.lint == MLX5SW_LINT_STRICT && mlx5swi_w->reports != NULL;
}
