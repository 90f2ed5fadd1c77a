/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The NIC of this PE: of the ports that can be used, the one nearest to its GPU. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/ctx.h"
#include "ib/ports.h"
#include "mem/mem.h"

static void place_of_gpu(const shmemh_t *job, shmemhi_place_t *place)
{
	char pci[SHMEMHI_PCI_NBYTES] = "";

	if (shmemhi_mem_cuctx(job))
		shmemhi_cuctx_pci(shmemhi_mem_cuctx(job), pci);
	shmemhi_place_of_pci(pci, place);
}

static void port_name(const shmemhi_nic_t *nic, char *text, size_t nbytes)
{
	if (nic->port)
		snprintf(text, nbytes, "%s:%d", nic->name, nic->port);
	else
		snprintf(text, nbytes, "%s", nic->name);
}

static int fail_all(shmemh_t *job, const shmemhi_ports_t *found)
{
	char text[SHMEMHI_ERR_NBYTES] = "";

	for (size_t i = 0; i < found->n; i++) {
		const shmemhi_port_t *p = &found->ports[i];
		size_t used = strlen(text);
		char name[80];

		port_name(&p->nic, name, sizeof name);
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

		port_name(&p->nic, name, sizeof name);
		if (!p->is_usable)
			shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s is not used: %s", name,
				    p->why.text);
	}
}

static void log_chosen(const shmemh_t *job, const shmemhi_nic_t *nic)
{
	char gid[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, nic->gid.raw, gid, sizeof gid);
	if (nic->is_ethernet)
		shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s:%d, RoCE v2, GID %d %s, distance %d",
			    nic->name, nic->port, nic->gid_index, gid, nic->distance);
	else
		shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s:%d, InfiniBand, LID %d, distance %d",
			    nic->name, nic->port, nic->lid, nic->distance);
}

/* Choose one of the ports found, and take it out of the list. */
static int choose(shmemh_t *job, shmemhi_ports_t *found, shmemhi_nic_t *nic)
{
	int *distances = calloc(found->n, sizeof *distances);
	int chosen;

	if (!distances)
		return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
	for (size_t i = 0; i < found->n; i++)
		distances[i] = found->ports[i].is_usable ? found->ports[i].nic.distance : -1;
	/* By rank on the node, so that PEs equally near to several NICs are distributed over
	 * them. */
	chosen = shmemhi_choose_nearest(distances, (int)found->n, shmemhi_node_rank(job));
	free(distances);
	if (chosen < 0)
		return fail_all(job, found);
	*nic = found->ports[chosen].nic;
	found->ports[chosen].nic.pd = NULL;
	found->ports[chosen].nic.context = NULL;
	return SHMEMH_OK;
}

int shmemhi_nic_open(shmemh_t *job, shmemhi_ib_t *ib)
{
	shmemhi_ports_t found = {0};
	shmemhi_place_t gpu;
	int status = shmemhi_ib_lib_open(&ib->lib, job->opt.ib_library, &job->err);

	if (status != SHMEMH_OK)
		return status;
	place_of_gpu(job, &gpu);
	status = shmemhi_ports_open(&ib->lib, &job->opt, &gpu, &found, &job->err);
	if (status == SHMEMH_OK) {
		log_unusable(job, &found);
		status = choose(job, &found, &ib->nic);
	}
	shmemhi_ports_close(&ib->lib, &found);
	if (status == SHMEMH_OK)
		log_chosen(job, &ib->nic);
	else
		shmemhi_nic_close(ib);
	return status;
}

void shmemhi_nic_close(shmemhi_ib_t *ib)
{
	if (ib->lib.ibverbs)
		shmemhi_port_close(&ib->lib, &ib->nic);
	shmemhi_ib_lib_close(&ib->lib);
}
