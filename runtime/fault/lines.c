/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Faults in words. docs/guide/failover.md explains each line: keep them alike. */
#include <stdio.h>
#include <string.h>
#include "base/cqe_text.h"
#include "base/clock.h"
#include "fault/state.h"

const char *shmemh_fault_cause_text(int cause)
{
	static const char *const texts[SHMEMH_FAULT_N_CAUSES] = {
		[SHMEMH_FAULT_BY_NONE] = "nothing happened",
		[SHMEMH_FAULT_BY_RETRIES] = "requests got no acknowledgement",
		[SHMEMH_FAULT_BY_RNR] = "the receiver was not ready",
		[SHMEMH_FAULT_BY_FLUSH] = "requests were flushed: the queue pair is in ERR",
		[SHMEMH_FAULT_BY_QP] = "the queue pair is in ERR, or could not be connected",
		[SHMEMH_FAULT_BY_PORT] = "the port is down",
		[SHMEMH_FAULT_BY_ADDRESS] = "the port's LID or GID changed",
		[SHMEMH_FAULT_BY_DEVICE] = "the NIC failed or was removed",
		[SHMEMH_FAULT_BY_MOVE] = "the PE moves to its other port",
		[SHMEMH_FAULT_BY_PROGRAM] =
			"a request was refused: mostly a mistake of the program",
		[SHMEMH_FAULT_BY_PEER_DEAD] = "the other PE died or left",
		[SHMEMH_FAULT_BY_GIVEUP] =
			"no path was found, or no order was carried out, within SHMEMH_FT_GIVEUP",
		[SHMEMH_FAULT_BY_CUT_OFF] = "this PE lost the bootstrap",
	};

	return cause >= 0 && cause < SHMEMH_FAULT_N_CAUSES ? texts[cause] : "unknown cause";
}

void shmemhi_fault_text(const shmemhi_fault_row_t *row, int pe, char *text, size_t text_nbytes)
{
	char syndrome[96] = "";

	if (row->syndrome)
		snprintf(syndrome, sizeof syndrome, " (CQE syndrome 0x%02x, %s; vendor 0x%02x)",
			 row->syndrome, shmemhi_syndrome_text(row->syndrome), row->vendor_syndrome);
	if (row->is_found_at_peer)
		snprintf(text, text_nbytes, "PE %d reports: %s%s", pe,
			 shmemh_fault_cause_text((int)row->cause), syndrome);
	else
		snprintf(text, text_nbytes, "%s%s", shmemh_fault_cause_text((int)row->cause),
			 syndrome);
}

/* "channel 0 to PE 5", or "64 channels to 8 PEs, first channel 0 to PE 5"; if they have changed
 * more often than once each, with ", 90 changes in 5.0 s". */
static void text_channels(const shmemhi_fault_group_t *g, uint64_t now, char text[128])
{
	size_t n;

	if (g->n_channels == 1)
		snprintf(text, 128, "channel %u to PE %d", g->k, g->pe);
	else if (g->n_pes == 1)
		snprintf(text, 128, "%u channels to PE %d", g->n_channels, g->pe);
	else
		snprintf(text, 128, "%u channels to %u PEs, first channel %u to PE %d",
			 g->n_channels, g->n_pes, g->k, g->pe);
	n = strlen(text);
	if (g->n_changes > g->n_channels)
		snprintf(text + n, 128 - n, ", %u changes in %.1f s", g->n_changes,
			 (double)(now - g->begin) / (double)SHMEMHI_SECOND);
}

/* "mlx5_0:1 QP 0x1a2 (address) -> mlx5_2:1 QP 0x3b4 (address)", of the first channel. */
static void text_path(const shmemhi_fault_row_t *row, char text[256])
{
	snprintf(text, 256, "%s QP 0x%x (%s) -> %s QP 0x%x (%s)", row->port[0] ? row->port : "?",
		 row->qpn, row->address[0] ? row->address : "?",
		 row->peer_port[0] ? row->peer_port : "?", row->peer_qpn,
		 row->peer_address[0] ? row->peer_address : "?");
}

static const char *status_name(int status)
{
	switch (status) {
	case SHMEMD_ERR_PEER:
		return "SHMEMD_ERR_PEER";
	case SHMEMD_ERR_REFUSED:
		return "SHMEMD_ERR_REFUSED";
	case SHMEMD_ERR_LOST:
		return "SHMEMD_ERR_LOST";
	default:
		return shmemh_strerror(status);
	}
}

void shmemhi_fault_say(const shmemhi_fault_agent_t *agent, const shmemhi_fault_group_t *g)
{
	const shmemhi_log_t *log = &agent->job->log;
	char channels[128], path[256], why[192], counts[96] = "";

	text_channels(g, agent->core.now, channels);
	text_path(&g->row, path);
	shmemhi_fault_text(&g->row, g->pe, why, sizeof why);
	if (g->replayed || g->ambiguous)
		snprintf(counts, sizeof counts,
			 "; %llu requests sent again, %llu atomics with unknown result",
			 (unsigned long long)g->replayed, (unsigned long long)g->ambiguous);
	switch (g->state) {
	case SHMEMH_FAULT_SWITCHING:
		shmemhi_log(log, SHMEMHI_WARN,
			    "path %s: %s: %s: %s: held until another path is there, for up to "
			    "SHMEMH_FT_GIVEUP=%gs",
			    g->row.cause == SHMEMH_FAULT_BY_MOVE ? "left" : "lost", path, why,
			    channels,
			    (double)agent->core.config.giveup_ns / (double)SHMEMHI_SECOND);
		break;
	case SHMEMH_FAULT_ENDED:
		shmemhi_log(log, SHMEMHI_ERROR,
			    "path ended: %s: %s: %s: nothing is sent any more, quiet returns %d "
			    "(%s)",
			    path, why, channels, g->row.status, status_name(g->row.status));
		break;
	default:
		shmemhi_log(log, SHMEMHI_WARN,
			    "path again: %s: %s: goes on after %.1f ms%s%s (cause: %s)", path,
			    channels, (double)g->outage_ns / (double)SHMEMHI_MS,
			    g->state == SHMEMH_FAULT_STANDBY
				    ? " on a stand-by, perhaps the last path: "
				      "repair the port that failed"
				    : "",
			    counts, why);
	}
}
