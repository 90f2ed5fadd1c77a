/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Messages between the two PEs of a self-test over two machines. Both take part in each gather of
 * the bootstrap; the share of the receiver has no meaning. */
#include "selftest/far.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <shmem_host/init.h>

#define SHARE_NBYTES ((size_t)256 << 10) /* of one gather */
#define VERSION_NBYTES 64                /* of the first message, in all versions */

/* Send mine, or nothing of meaning if NULL, and receive theirs, unless that is NULL. */
static int exchange(shmemhi_far_t *far, const void *mine, void *theirs, size_t nbytes,
		    shmemhi_err_t *err)
{
	const shmemh_boot_t *boot = far->boot;
	char *send = far->shares + 2 * SHARE_NBYTES;

	for (size_t at = 0; at < nbytes && !far->is_lost; at += SHARE_NBYTES) {
		size_t n = nbytes - at < SHARE_NBYTES ? nbytes - at : SHARE_NBYTES;
		int status;

		if (mine)
			memcpy(send, (const char *)mine + at, n);
		status = boot->allgather(boot->state, send, far->shares, n, far->why.text,
					 sizeof far->why.text);
		if (status != SHMEMH_OK) {
			far->is_lost = true;
			return shmemhi_fail(err, status, "self-test: %.400s", far->why.text);
		}
		if (theirs)
			memcpy((char *)theirs + at, far->shares + (boot->pe == 0 ? n : 0), n);
	}
	return far->is_lost ? shmemhi_fail(err, SHMEMH_ERR_PEER, "self-test: %.400s", far->why.text)
			    : SHMEMH_OK;
}

static int compare_versions(shmemhi_far_t *far, shmemhi_err_t *err)
{
	char mine[VERSION_NBYTES] = "", theirs[VERSION_NBYTES] = "";
	int status;

	snprintf(mine, sizeof mine, "%d.%d.%d", SHMEMH_VERSION_MAJOR, SHMEMH_VERSION_MINOR,
		 SHMEMH_VERSION_PATCH);
	status = exchange(far, mine, theirs, sizeof mine, err);
	theirs[VERSION_NBYTES - 1] = '\0';
	if (status != SHMEMH_OK || strcmp(mine, theirs) == 0)
		return status;
	return shmemhi_fail(err, SHMEMH_ERR_VERSION,
			    "self-test: this is PE %d with version %s, the other PE has version "
			    "%s: run the same version on both machines",
			    far->boot->pe, mine, theirs);
}

/* The ports of the other PE, as ends of pairs name them. */
static void name_ports(shmemhi_far_t *far)
{
	for (int i = 0; i < far->peer.n_ports; i++) {
		const shmemhi_far_port_t *port = &far->peer.ports[i];
		shmemhi_open_port_t *open = &far->ports[i];

		*open = (shmemhi_open_port_t){.number = port->port,
					      .gid = port->info.gid,
					      .lid = port->info.lid,
					      .is_ethernet = port->info.is_ethernet,
					      .mtu = port->info.mtu,
					      .log_max_reads = port->info.log_max_reads,
					      .requires_grh = port->info.requires_grh};
		memcpy(open->name, port->name, sizeof open->name);
	}
}

int shmemhi_far_meet(shmemhi_far_t *far, const shmemh_boot_t *boot, shmemhi_err_t *err)
{
	int status;

	far->boot = boot;
	far->shares = calloc(3, SHARE_NBYTES);
	if (!far->shares)
		return shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "self-test: out of memory");
	status = compare_versions(far, err);
	if (status == SHMEMH_OK)
		status = exchange(far, &far->mine, &far->peer, sizeof far->mine, err);
	if (status == SHMEMH_OK && far->peer.status != SHMEMH_OK)
		status = shmemhi_fail(err, far->peer.status, "self-test: PE %d (%s): %.400s",
				      !boot->pe, far->peer.host, far->peer.text);
	if (status == SHMEMH_OK)
		name_ports(far);
	return status;
}

void shmemhi_far_free(shmemhi_far_t *far)
{
	free(far->shares);
	far->shares = NULL;
}

static bool has_payload_to_pe_1(const shmemhi_far_message_t *m)
{
	return m->op == SHMEMHI_FAR_STORE || m->op == SHMEMHI_FAR_END;
}

int shmemhi_far_call(shmemhi_far_t *far, shmemhi_far_message_t *m, const void *out, void *in,
		     shmemhi_err_t *err)
{
	int status = exchange(far, m, NULL, sizeof *m, err);

	if (status == SHMEMH_OK && has_payload_to_pe_1(m))
		status = exchange(far, out, NULL, m->nbytes, err);
	if (status == SHMEMH_OK)
		status = exchange(far, NULL, m, sizeof *m, err);
	if (status != SHMEMH_OK)
		return status;
	if (m->status != SHMEMH_OK)
		return shmemhi_fail(err, m->status, "PE 1: %.180s", m->text);
	return m->op == SHMEMHI_FAR_LOAD ? exchange(far, NULL, in, m->nbytes, err) : SHMEMH_OK;
}

int shmemhi_far_receive(shmemhi_far_t *far, shmemhi_far_message_t *m, void *payload,
			size_t payload_nbytes, shmemhi_err_t *err)
{
	int status = exchange(far, NULL, m, sizeof *m, err);

	if (status != SHMEMH_OK)
		return status;
	if (m->nbytes > payload_nbytes)
		return shmemhi_fail(err, SHMEMH_ERR_MISMATCH,
				    "self-test: PE 0 sent a request of %u bytes, at most %zu are "
				    "possible: run the same build on both machines",
				    m->nbytes, payload_nbytes);
	return has_payload_to_pe_1(m) ? exchange(far, NULL, payload, m->nbytes, err) : SHMEMH_OK;
}

int shmemhi_far_reply(shmemhi_far_t *far, const shmemhi_far_message_t *m, const void *payload,
		      shmemhi_err_t *err)
{
	int status = exchange(far, m, NULL, sizeof *m, err);

	if (status != SHMEMH_OK || m->status != SHMEMH_OK || m->op != SHMEMHI_FAR_LOAD)
		return status;
	return exchange(far, payload, NULL, m->nbytes, err);
}
