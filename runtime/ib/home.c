/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The home port and the stand-by of each PE. Each PE describes the ports as it sees them from its
 * GPU; then all PEs of a host compute the map of the host from the same descriptions. Containers
 * of one host may show different GPUs and NICs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cuda/ctx.h"
#include "fault/policy.h"
#include "fault/results.h"
#include "ib/failover.h"
#include "ib/ib.h"
#include "ib/ports.h"
#include "mem/mem.h"
#include "topo/choose.h"
#include "topo/class.h"
#include "topo/sysfs.h"

/* What a PE sends. The offers follow. */
typedef struct header {
	char gpu[SHMEMHI_ADDR_NBYTES];
	int32_t n_offers;
	int32_t reserved;
} header_t;

/* Scratch of the choice. */
typedef struct choosing {
	shmemhi_machine_t *m;
	shmemhi_offer_t *offers; /* [SHMEMHI_MAX_PORTS], of this PE */
	header_t mine;
	size_t row_nbytes;
	char *row, *all;     /* header and offers of this PE; [n_pes] of them */
	shmemhi_row_t *rows; /* [n], the PEs of this host in the order of their numbers */
	shmemhi_pick_t *picks;
	int n;
	int me; /* index of this PE in rows */
} choosing_t;

static int out_of_memory(shmemh_t *job)
{
	return shmemhi_fail(&job->err, SHMEMH_ERR_NO_MEMORY, "NICs: out of memory");
}

static void free_choosing(choosing_t *c)
{
	free(c->m);
	free(c->offers);
	free(c->row);
	free(c->all);
	free(c->rows);
	free(c->picks);
}

static const shmemhi_port_t *port_of(const shmemhi_ib_t *ib, const shmemhi_offer_t *offer)
{
	for (size_t i = 0; i < ib->found->n; i++)
		if (ib->found->ports[i].open.number == offer->port &&
		    strcmp(ib->found->ports[i].open.name, offer->nic) == 0)
			return &ib->found->ports[i];
	return NULL;
}

static int rank_on_host(const shmemh_t *job)
{
	int rank = 0;

	for (int pe = 0; pe < job->pe; pe++)
		rank += shmemhi_mem_same_host(job, pe);
	return rank;
}

/* Describe the ports as seen from this PE's GPU. */
static int describe(shmemh_t *job, shmemhi_ib_t *ib, choosing_t *c)
{
	char pci[SHMEMHI_PCI_NBYTES] = "";
	shmemhi_hca_list_t list = {0}, mapping;
	int gpu, status = shmemhi_mapping_parse(job->opt.hca_pe_mapping, &mapping, &job->err);

	c->m = malloc(sizeof *c->m);
	c->offers = calloc(SHMEMHI_MAX_PORTS, sizeof *c->offers);
	if (!c->m || !c->offers)
		return out_of_memory(job);
	if (status == SHMEMH_OK)
		status = shmemhi_machine_read("", 0, c->m, &job->err);
	if (status == SHMEMH_OK)
		status = shmemhi_ports_add(ib->found, c->m, &job->err);
	if (status != SHMEMH_OK)
		return status;
	if (shmemhi_mem_cuctx(job))
		shmemhi_cuctx_pci(shmemhi_mem_cuctx(job), pci);
	snprintf(c->mine.gpu, sizeof c->mine.gpu, "%.*s", SHMEMHI_ADDR_NBYTES - 1, pci);
	gpu = shmemhi_find_gpu(c->m, c->mine.gpu);
	if (gpu < 0)
		gpu = shmemhi_machine_add_gpu(c->m, c->mine.gpu, &job->err);
	c->mine.n_offers = shmemhi_offers_of(c->m, gpu, c->offers);
	for (int i = 0; i < c->mine.n_offers; i++) {
		const shmemhi_port_t *port = port_of(ib, &c->offers[i]);

		c->offers[i].is_usable = port && port->is_usable;
	}
	return shmemhi_offers_limit(c->offers, c->mine.n_offers, &list, &mapping, rank_on_host(job),
				    &job->err);
}

/* Allocate rows that hold the offers of any PE. */
static int alloc_rows(shmemh_t *job, choosing_t *c, int n_offers)
{
	size_t n_pes = (size_t)job->n_pes;

	c->row_nbytes = sizeof c->mine + (size_t)n_offers * sizeof *c->offers;
	c->row = calloc(1, c->row_nbytes);
	c->all = calloc(n_pes, c->row_nbytes);
	c->rows = calloc(n_pes, sizeof *c->rows);
	c->picks = calloc(n_pes, sizeof *c->picks);
	return c->row && c->all && c->rows && c->picks ? SHMEMH_OK : out_of_memory(job);
}

/* Exchange the descriptions, and take those of this host. */
static int exchange(shmemh_t *job, choosing_t *c)
{
	int32_t *counts = job->statuses, n_offers = 0;
	int status = shmemhi_allgather(job, &c->mine.n_offers, counts, sizeof *counts);

	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		n_offers = counts[pe] > n_offers ? counts[pe] : n_offers;
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, alloc_rows(job, c, n_offers));
	if (status != SHMEMH_OK)
		return status;
	memcpy(c->row, &c->mine, sizeof c->mine);
	memcpy(c->row + sizeof c->mine, c->offers, (size_t)c->mine.n_offers * sizeof *c->offers);
	status = shmemhi_allgather(job, c->row, c->all, c->row_nbytes);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++) {
		const char *row = c->all + (size_t)pe * c->row_nbytes;
		const header_t *header = (const void *)row;
		shmemhi_row_t *to = &c->rows[c->n];

		if (!shmemhi_mem_same_host(job, pe))
			continue;
		if (pe == job->pe)
			c->me = c->n;
		memcpy(to->gpu, header->gpu, sizeof to->gpu);
		to->n = header->n_offers;
		to->offers = (const void *)(row + sizeof *header);
		c->n++;
	}
	return status;
}

static void name_port(const choosing_t *c, int pick, char name[SHMEMHI_PORT_NAME_NBYTES])
{
	const shmemhi_offer_t *offer = pick < 0 ? NULL : &c->rows[c->me].offers[pick];

	if (offer)
		snprintf(name, SHMEMHI_PORT_NAME_NBYTES, "%.63s:%d", offer->nic, offer->port);
}

/* Take an open port of the survey. Returns whether there was one. */
static bool take_port(shmemhi_ib_t *ib, const choosing_t *c, int pick, shmemhi_open_port_t *to)
{
	const shmemhi_offer_t *offers = c->rows[c->me].offers;
	shmemhi_open_port_t *port = NULL;

	for (size_t i = 0; pick >= 0 && i < ib->found->n; i++)
		if (&ib->found->ports[i] == port_of(ib, &offers[pick]))
			port = &ib->found->ports[i].open;
	if (!port)
		return false;
	*to = *port;
	port->pd = NULL;
	port->context = NULL;
	return true;
}

/* Keep the home port open. */
static int keep_home(shmemh_t *job, shmemhi_ib_t *ib, const choosing_t *c)
{
	const shmemhi_pick_t *pick = &c->picks[c->me];
	const shmemhi_offer_t *offers = c->rows[c->me].offers;

	if (!take_port(ib, c, pick->home, &ib->home_port))
		return shmemhi_fail(&job->err, SHMEMH_ERR_NIC, "no NIC can be used by this PE");
	ib->class = offers[pick->home].class;
	ib->standby_class = pick->standby < 0 ? SHMEMHI_CLASS_SYS : offers[pick->standby].class;
	return SHMEMH_OK;
}

/* Exchange the results: the PEs of a host must have computed the same map. */
static int compare(shmemh_t *job, shmemhi_ib_t *ib, const choosing_t *c)
{
	shmemhi_pe_ports_t mine = {.map_hash = shmemhi_map_hash(c->rows, c->picks, c->n)};
	int status;

	name_port(c, c->picks[c->me].home, mine.home);
	name_port(c, c->picks[c->me].standby, mine.standby);
	status = shmemhi_allgather(job, &mine, ib->pe_ports, sizeof mine);
	for (int pe = 0; status == SHMEMH_OK && pe < job->n_pes; pe++)
		if (shmemhi_mem_same_host(job, pe) && ib->pe_ports[pe].map_hash != mine.map_hash)
			status = shmemhi_fail(
				&job->err, SHMEMH_ERR_MISMATCH,
				"PE %d, on the same host, has chosen NICs by another map (%016llx, "
				"here %016llx): start all PEs with one installation",
				pe, (unsigned long long)ib->pe_ports[pe].map_hash,
				(unsigned long long)mine.map_hash);
	return status;
}

static void log_home(const shmemh_t *job, const shmemhi_ib_t *ib)
{
	const shmemhi_open_port_t *port = &ib->home_port;
	char gid[INET6_ADDRSTRLEN] = "?";

	inet_ntop(AF_INET6, port->gid.raw, gid, sizeof gid);
	if (port->is_ethernet)
		shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s:%d, RoCE v2, GID %d %s", port->name,
			    port->number, port->gid_index, gid);
	else
		shmemhi_log(&job->log, SHMEMHI_INFO, "NIC %s:%d, InfiniBand, LID %d", port->name,
			    port->number, port->lid);
}

/* The self-test's verdict on a NIC. */
static int verdict_of(const shmemhi_ib_t *ib, const shmemhi_open_port_t *port)
{
	struct ibv_device_attr attr = {0};
	shmemhi_firmware_t of = {0};

	if (!port->context || ib->lib.query_device(port->context, &attr) != 0)
		return SHMEMHI_UNKNOWN;
	of.vendor = attr.vendor_id;
	of.part = attr.vendor_part_id;
	snprintf(of.version, sizeof of.version, "%.*s", (int)strcspn(attr.fw_ver, " \n"),
		 attr.fw_ver);
	return shmemhi_fault_verdict(NULL, &of);
}

/* Are faults of paths tolerated? Then keep the stand-by open too. Collective. */
static int decide_fault_policy(shmemh_t *job, shmemhi_ib_t *ib, const choosing_t *c)
{
	const shmemhi_pick_t *pick = &c->picks[c->me];
	const char *standby = ib->pe_ports[job->pe].standby;
	shmemhi_fault_facts_t facts = {.option = job->opt.ft,
				       .has_channels = true,
				       .standby = standby[0] ? standby : NULL,
				       .is_emulated = shmemhi_ib_is_emulated(ib),
				       .is_software = ib->lib.bind_dmabuf != NULL,
				       .verdict = verdict_of(ib, &ib->home_port),
				       .nic = ib->home_port.name};
	shmemhi_fault_policy_t mine;
	shmemhi_open_port_t other = {0};
	int policy = SHMEMH_FAULT_OFF, status;

	if (take_port(ib, c, pick->standby, &other) && verdict_of(ib, &other) > facts.verdict) {
		facts.verdict = verdict_of(ib, &other);
		facts.nic = other.name;
	}
	mine = shmemhi_fault_decide(&facts);
	status = shmemhi_fault_agree(job, &mine, &policy);
	if (status == SHMEMH_OK && policy == SHMEMH_FAULT_EXACT)
		status = shmemhi_agree(job, shmemhi_failover_new(job, ib));
	if (ib->failover)
		ib->failover->standby = other;
	else
		shmemhi_port_close(&ib->lib, &other);
	return status;
}

static int choose(shmemh_t *job, shmemhi_ib_t *ib, choosing_t *c)
{
	int status = shmemhi_agree(job, describe(job, ib, c));

	if (status == SHMEMH_OK)
		status = exchange(job, c);
	if (status != SHMEMH_OK)
		return status;
	status = shmemhi_choose(c->rows, c->n, c->picks, &job->err);
	ib->pe_ports = calloc((size_t)job->n_pes, sizeof *ib->pe_ports);
	if (status == SHMEMH_OK && !ib->pe_ports)
		status = out_of_memory(job);
	if (status == SHMEMH_OK)
		status = keep_home(job, ib, c);
	status = shmemhi_agree(job, status);
	if (status == SHMEMH_OK)
		status = shmemhi_agree(job, compare(job, ib, c));
	if (status == SHMEMH_OK)
		status = decide_fault_policy(job, ib, c);
	return status;
}

int shmemhi_ib_choose_ports(shmemh_t *job, shmemhi_ib_t *ib)
{
	choosing_t c = {0};
	int status = choose(job, ib, &c);

	free_choosing(&c);
	shmemhi_ports_close(&ib->lib, ib->found);
	free(ib->found);
	ib->found = NULL;
	if (status == SHMEMH_OK)
		log_home(job, ib);
	return status;
}

const char *shmemhi_ib_home(const shmemh_t *job, int pe)
{
	return job->ib ? job->ib->pe_ports[pe].home : NULL;
}

const char *shmemhi_ib_standby(const shmemh_t *job, int pe)
{
	const char *name = job->ib ? job->ib->pe_ports[pe].standby : "";

	return name[0] ? name : NULL;
}

int shmemhi_ib_class(const shmemh_t *job, int is_standby)
{
	return is_standby ? job->ib->standby_class : job->ib->class;
}
