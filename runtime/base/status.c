/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Sentences for status codes, and the text of a device error record. */
#include <inttypes.h>
#include <stdio.h>
#include <shmem_host/device.h>
#include "base/cqe_text.h"
#include "base/err.h"

static const struct {
	int status;
	const char *text;
} sentences[] = {
	{SHMEMD_OK, "success"},
	{SHMEMD_ERR_TIMEOUT, "the time limit of a device call passed"},
	{SHMEMD_ERR_PEER, "a PE of the team died or left"},
	{SHMEMD_ERR_UNREACHABLE, "the target PE is neither mapped nor behind a usable NIC"},
	{SHMEMD_ERR_NO_ATOMICS, "no mechanism makes updates of the target's memory atomic"},
	{SHMEMD_ERR_BAD_PE, "PE number outside the context's team"},
	{SHMEMD_ERR_NOT_SYMMETRIC, "address range outside the symmetric heap"},
	{SHMEMD_ERR_UNALIGNED, "address not aligned to the size of the word"},
	{SHMEMD_ERR_COLLECTIVE, "members of the team called different collectives"},
	{SHMEMD_ERR_BAD_ARGUMENT, "an argument is outside its list, or a warp lacks lanes"},
	{SHMEMD_ERR_REFUSED,
	 "the NIC or the target refused an operation: key, range, right, alignment or length"},
	{SHMEMD_ERR_PATH, "no way through to the target: retries used up, port or queue pair down"},
	{SHMEMD_ERR_AMBIGUOUS,
	 "a fetching atomic was carried out, but its result was lost with the path"},
	{SHMEMD_ERR_LOST,
	 "the target's adapter is dead: how much of what was posted took effect is not known"},
	{SHMEMH_ERR_ARGUMENT, "an argument is outside its contract"},
	{SHMEMH_ERR_MISMATCH, "PEs called a collective with different arguments"},
	{SHMEMH_ERR_NO_MEMORY, "memory is exhausted"},
	{SHMEMH_ERR_NOT_OWNED, "the pointer is not a live allocation of this heap"},
	{SHMEMH_ERR_TIMEOUT, "a deadline passed"},
	{SHMEMH_ERR_PEER, "a PE died or left"},
	{SHMEMH_ERR_BOOTSTRAP, "the bootstrap failed"},
	{SHMEMH_ERR_VERSION, "versions do not fit each other"},
	{SHMEMH_ERR_CUDA, "a CUDA driver call failed"},
	{SHMEMH_ERR_SYSTEM, "a system call failed"},
	{SHMEMH_ERR_OPTION, "an environment option has an unusable value"},
	{SHMEMH_ERR_NIC, "a call to the NIC's library failed"},
};

const char *shmemh_strerror(int status)
{
	for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
		if (sentences[i].status == status)
			return sentences[i].text;
	return "unknown status";
}

static const char *op_name(uint32_t op)
{
	static const char *const names[] = {
		[SHMEMD_OP_NONE] = "operation",
		[SHMEMD_OP_PUT] = "put",
		[SHMEMD_OP_GET] = "get",
		[SHMEMD_OP_P] = "p",
		[SHMEMD_OP_G] = "g",
		[SHMEMD_OP_PUT_SIGNAL] = "put_signal",
		[SHMEMD_OP_SIGNAL] = "signal_op",
		[SHMEMD_OP_ATOMIC] = "atomic",
		[SHMEMD_OP_WAIT] = "wait_until",
		[SHMEMD_OP_TEST] = "test",
		[SHMEMD_OP_SYNC] = "sync",
		[SHMEMD_OP_BARRIER] = "barrier",
		[SHMEMD_OP_QUIET] = "quiet",
	};
	return op < sizeof names / sizeof names[0] ? names[op] : "operation";
}

/* Format the fields whose meaning depends on the status. */
static void format_values(const shmemd_error_t *err, char *text, size_t text_nbytes)
{
	if (err->wanted == SHMEMD_WANTED_CQE)
		shmemhi_cqe_text(err->addr, err->value, text, text_nbytes);
	else if (err->status == SHMEMD_ERR_REFUSED || err->status == SHMEMD_ERR_PATH ||
		 err->status == SHMEMD_ERR_LOST)
		snprintf(text, text_nbytes,
			 "the channel failed before this call, %" PRIu64 " WQEBBs were complete",
			 err->value);
	else
		snprintf(text, text_nbytes,
			 "address 0x%" PRIx64 ", value %" PRIu64 ", wanted %" PRIu64, err->addr,
			 err->value, err->wanted);
}

const char *shmemh_error_format(const shmemd_error_t *err, char *text, size_t text_nbytes)
{
	char site[SHMEMD_SITE_NBYTES + 16] = "", values[256];
	const char *at;

	if (!text || !text_nbytes)
		return "";
	if (!err) {
		snprintf(text, text_nbytes, "error_format: err is NULL");
		return text;
	}
	if (!err->status) {
		snprintf(text, text_nbytes, "no device error");
		return text;
	}
	at = err->site[0] ? " at " : "";
	if (err->line)
		snprintf(site, sizeof site, "%.*s:%" PRIu32, SHMEMD_SITE_NBYTES, err->site,
			 err->line);
	else
		snprintf(site, sizeof site, "%.*s", SHMEMD_SITE_NBYTES, err->site);
	format_values(err, values, sizeof values);
	snprintf(text, text_nbytes, "device %s, PE %" PRId32 ": %s (%s)%s%s", op_name(err->op),
		 err->pe, shmemh_strerror((int)err->status), values, at, site);
	return text;
}
