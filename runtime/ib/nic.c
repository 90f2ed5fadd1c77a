/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The ports that this PE can use. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ib/failover.h"
#include "ib/ports.h"

static void port_name(const shmemhi_open_port_t *port, char *text, size_t nbytes)
{
	if (port->number)
		snprintf(text, nbytes, "%s:%d", port->name, port->number);
	else
		snprintf(text, nbytes, "%s", port->name);
}

static int fail_all(shmemh_t *job, const shmemhi_ports_t *found)
{
	char text[SHMEMHI_ERR_NBYTES] = "";

	for (size_t i = 0; i < found->n; i++) {
		const shmemhi_port_t *p = &found->ports[i];
		size_t used = strlen(text);
		char name[80];

		port_name(&p->open, name, sizeof name);
		snprintf(text + used, sizeof text - used, "%s %s: %.200s", i ? ";" : "", name,
			 p->why.text);
	}
	return shmemhi_fail(&job->err, SHMEMH_ERR_NIC, "no NIC can be used:%s", text);
}

static void log_unusable(const shmemh_t *job, const shmemhi_ports_t *found)
{
	for (size_t i = 0; i < found->n; i++) {
		const shmemhi_port_t *p = &found->ports[i];
		char name[80];

		port_name(&p->open, name, sizeof name);
		if (!p->is_usable)
			shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s is not used: %s", name,
				    p->why.text);
	}
}

int shmemhi_ib_open_ports(shmemh_t *job, shmemhi_ib_t *ib)
{
	int n_usable = 0, status = shmemhi_ib_lib_open(&ib->lib, job->opt.ib_library, &job->err);

	if (status != SHMEMH_OK)
		return status;
	ib->found = calloc(1, sizeof *ib->found);
	if (ib->found)
		status = shmemhi_ports_open(&ib->lib, &job->opt, ib->found, &job->err);
	else
		status = shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
	if (status == SHMEMH_OK) {
		log_unusable(job, ib->found);
		for (size_t i = 0; i < ib->found->n; i++)
			n_usable += ib->found->ports[i].is_usable;
		if (n_usable == 0)
			status = fail_all(job, ib->found);
	}
	if (status != SHMEMH_OK)
		shmemhi_ib_close_ports(ib);
	return status;
}

void shmemhi_ib_close_ports(shmemhi_ib_t *ib)
{
	if (ib->found)
		shmemhi_ports_close(&ib->lib, ib->found);
	free(ib->found);
	ib->found = NULL;
	if (ib->lib.ibverbs)
		shmemhi_port_close(&ib->lib, &ib->home_port);
	shmemhi_failover_free(ib);
	free(ib->pe_ports);
	ib->pe_ports = NULL;
	shmemhi_ib_lib_close(&ib->lib);
}
