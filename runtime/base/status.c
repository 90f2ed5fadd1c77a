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
	{SHMEMD_ERR_PEER,
	 "a PE of the team died, left or cannot be reached, or this PE is cut off"},
	{SHMEMD_ERR_UNREACHABLE, "the target PE is neither mapped nor behind a usable NIC"},
	{SHMEMD_ERR_NO_ATOMICS, "no mechanism makes updates atomic for all members of the team"},
	{SHMEMD_ERR_BAD_PE, "PE number outside the context's team"},
	{SHMEMD_ERR_NOT_SYMMETRIC, "address range outside the allocations of the symmetric heap"},
	{SHMEMD_ERR_UNALIGNED, "address not aligned to the size of the word"},
	{SHMEMD_ERR_COLLECTIVE, "members of the team called different collectives"},
	{SHMEMD_ERR_BAD_ARGUMENT, "bad argument"},
	{SHMEMD_ERR_BAD_CONTEXT, "the context is not filled, or of a team or job that is no more"},
	{SHMEMD_ERR_REFUSED,
	 "the NIC or the target refused an operation: key, range, right, alignment or length"},
	{SHMEMD_ERR_PATH,
	 "the channel sends nothing any more: retries used up, port or queue pair down, nothing "
	 "completed in time, or an impossible count of executed requests"},
	{SHMEMD_ERR_AMBIGUOUS,
	 "a fetching atomic was carried out, but its result was lost with the path"},
	{SHMEMD_ERR_LOST,
	 "the target's adapter is dead: how much of what was posted took effect is not known"},
	{SHMEMH_ERR_ARGUMENT, "an argument is outside its contract"},
	{SHMEMH_ERR_MISMATCH,
	 "PEs called a collective with different arguments, or have different options"},
	{SHMEMH_ERR_NO_MEMORY, "memory or the slots for teams are exhausted"},
	{SHMEMH_ERR_NOT_OWNED, "the pointer is not a live allocation of this heap"},
	{SHMEMH_ERR_TIMEOUT, "a deadline passed"},
	{SHMEMH_ERR_PEER, "a PE died or left, or this PE is cut off from the others"},
	{SHMEMH_ERR_BOOTSTRAP, "the bootstrap failed"},
	{SHMEMH_ERR_VERSION, "versions do not fit each other"},
	{SHMEMH_ERR_CUDA, "CUDA or the GPU failed, or cannot do what was asked for"},
	{SHMEMH_ERR_SYSTEM, "a system call failed"},
	{SHMEMH_ERR_OPTION, "an environment option has an unusable value"},
	{SHMEMH_ERR_NIC, "no NIC can be used, or a call to its library failed"},
};

/* Errors of CUDA that a program meets, by cudaError_t; in words of its documentation. */
static const struct {
	int code;
	const char *text;
} cuda_sentences[] = {
	{1, "CUDA error 1: an argument of a CUDA call is outside its range"},
	{2, "CUDA error 2: out of memory on the GPU"},
	{3, "CUDA error 3: the CUDA driver could not be started"},
	{9, "CUDA error 9: this grid or block size, or scratch size, cannot be launched"},
	{35, "CUDA error 35: the driver is older than the CUDA runtime"},
	{46, "CUDA error 46: all GPUs are busy or unavailable"},
	{98, "CUDA error 98: the program has no such kernel for this GPU"},
	{100, "CUDA error 100: there is no GPU"},
	{101, "CUDA error 101: there is no GPU of this number"},
	{201, "CUDA error 201: no CUDA context is current, or it is invalid"},
	{209, "CUDA error 209: the program has no code for this GPU: compile with its -arch"},
	{218, "CUDA error 218: the PTX could not be compiled"},
	{400, "CUDA error 400: an invalid handle, such as a stream of another context"},
	{700, "CUDA error 700: a kernel accessed an illegal address"},
	{701, "CUDA error 701: a launch needs more registers or memory than there are"},
	{702, "CUDA error 702: a kernel ran longer than the GPU's watchdog permits"},
	{710, "CUDA error 710: an assertion in a kernel failed"},
	{715, "CUDA error 715: a kernel executed an illegal instruction"},
	{716, "CUDA error 716: a kernel accessed a misaligned address"},
	{717, "CUDA error 717: a kernel used an address outside of its address space"},
	{719, "CUDA error 719: a kernel failed"},
	{720, "CUDA error 720: more blocks than can be resident at once"},
	{801, "CUDA error 801: not supported on this system"},
	{900, "CUDA error 900: not permitted while the stream is captured"},
	{901, "CUDA error 901: the capture of the stream failed before"},
	{999, "CUDA error 999: unknown"},
};

static const char *cuda_text(int code)
{
	static _Thread_local char other[80];

	for (size_t i = 0; i < sizeof cuda_sentences / sizeof cuda_sentences[0]; i++)
		if (cuda_sentences[i].code == code)
			return cuda_sentences[i].text;
	snprintf(other, sizeof other, "CUDA error %d: cudaGetErrorString has its text", code);
	return other;
}

const char *shmemh_strerror(int status)
{
	if (status > SHMEMD_STATUS_CUDA && status <= SHMEMD_STATUS_CUDA + 9999)
		return cuda_text(status - SHMEMD_STATUS_CUDA);
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
		[SHMEMD_OP_FENCE] = "fence",
	};
	return op < sizeof names / sizeof names[0] ? names[op] : "operation";
}

/* Why an argument was refused (shmemd_mistake); the values are those of the check. */
static const char *const mistakes[] = {
	[SHMEMD_MISTAKE_ENUM] = "value %" PRId64 ", outside 0 .. %" PRId64,
	[SHMEMD_MISTAKE_LANES] = "only %" PRId64 " of the %" PRId64 " lanes of a warp are there",
	[SHMEMD_MISTAKE_THREADS] = "only %" PRId64 " of the group's %" PRId64 " threads are there",
	[SHMEMD_MISTAKE_DIFFER] = "the threads of a group pass different pe, addresses or sizes: "
				  "lane %" PRId64 " agrees with %" PRId64 " lanes of its warp",
	[SHMEMD_MISTAKE_OUTSIDER] = "thread %" PRId64 " is not one of the group's %" PRId64
				    ": the caller is outside of it",
	[SHMEMD_MISTAKE_SOURCE] = "the source of an earlier nbi operation, %" PRId64
				  " bytes, was written before quiet",
	[SHMEMD_MISTAKE_BLOCKS] = "block %" PRId64 " of the kernel calls for a grid of %" PRId64
				  " blocks: it is none of them, or the kernel has fewer",
	[SHMEMD_MISTAKE_ARRIVED] = "the counter of arrivals held %" PRId64 ", with %" PRId64
				   " blocks to arrive: it does not start at 0",
	[SHMEMD_MISTAKE_HALVES] =
		"%" PRId64 " elements of F16 or BF16 to add: the number must be even",
	[SHMEMD_MISTAKE_STRIDE] = "a stride of %" PRId64 " elements: at least %" PRId64,
	[SHMEMD_MISTAKE_TEAM] =
		"the context is of a team of %" PRId64 " PEs that is not the world team",
	[SHMEMD_MISTAKE_GROUP] =
		"the group needs a block of at least %" PRId64 " threads, this block has %" PRId64,
	[SHMEMD_MISTAKE_CHANNEL] = "channel %" PRId64 ", outside 0 .. %" PRId64,
	[SHMEMD_MISTAKE_CALLS] =
		"thread %" PRId64 " makes this call, thread %" PRId64
		" of the same group another one: all threads of a group make the same call",
	[SHMEMD_MISTAKE_SRC] =
		"src is NULL or cannot be read: address 0x%" PRIx64 ", %" PRId64 " bytes",
	[SHMEMD_MISTAKE_DST] =
		"dst is NULL or cannot be accessed: address 0x%" PRIx64 ", %" PRId64 " bytes",
	[SHMEMD_MISTAKE_OVERLAP] =
		"src and dst are %" PRId64 " bytes apart on this PE, and overlap: "
		"%" PRId64 " bytes are transferred",
	[SHMEMD_MISTAKE_SIGNAL] =
		"the signal word sig is inside the data, %" PRId64 " bytes behind dst, of %" PRId64,
};

#define N_MISTAKES (sizeof mistakes / sizeof mistakes[0])

/* "5", or "18446744073709551611 (-5)": the record does not have the type of the word. */
static const char *number_text(uint64_t number, char text[48])
{
	if (number > INT64_MAX)
		snprintf(text, 48, "%" PRIu64 " (%" PRId64 ")", number, (int64_t)number);
	else
		snprintf(text, 48, "%" PRIu64, number);
	return text;
}

/* A wait that has ended without success, or a member that called another collective. */
static void format_wait(const shmemd_error_t *err, char *text, size_t nbytes)
{
	int is_sync = err->op == SHMEMD_OP_SYNC || err->op == SHMEMD_OP_BARRIER;
	char value[48], wanted[48];

	if (err->status == SHMEMD_ERR_COLLECTIVE)
		snprintf(text, nbytes, "that PE called %s, this one %s",
			 op_name((uint32_t)err->value), op_name((uint32_t)err->wanted));
	else if (err->status == SHMEMD_ERR_UNREACHABLE || err->status == SHMEMD_ERR_NO_ATOMICS)
		snprintf(text, nbytes, "address 0x%" PRIx64, err->addr);
	else if (!err->addr && err->wanted)
		snprintf(text, nbytes,
			 "%" PRIu64 " WQEBBs of the channel are complete, waited for %" PRIu64,
			 err->value, err->wanted);
	else if (!err->addr)
		snprintf(text, nbytes, "%" PRIu64 " WQEBBs of the channel are complete",
			 err->value);
	else if (is_sync)
		snprintf(text, nbytes,
			 "the member's flag is of sync or barrier number %" PRIu64
			 ", waited for number %" PRIu64,
			 SHMEMD_SYNC_FLAG_NUMBER(err->value), SHMEMD_SYNC_FLAG_NUMBER(err->wanted));
	else
		snprintf(text, nbytes, "address 0x%" PRIx64 ", value %s, compared with %s",
			 err->addr, number_text(err->value, value),
			 number_text(err->wanted, wanted));
}

/* Format the fields whose meaning depends on the status. */
static void format_values(const shmemd_error_t *err, char *text, size_t nbytes)
{
	int64_t value = (int64_t)err->value, wanted = (int64_t)err->wanted;

	text[0] = '\0';
	if (err->wanted == SHMEMD_WANTED_CQE) {
		shmemhi_cqe_text(err->addr, err->value, text, nbytes);
		return;
	}
	switch (err->status) {
	case SHMEMD_ERR_REFUSED:
	case SHMEMD_ERR_PATH:
	case SHMEMD_ERR_LOST:
		/* Of another member's quiet the address is that of the sync memory. */
		if (err->addr)
			snprintf(text, nbytes, "that PE's quiet failed, in sync number %" PRIu64,
				 err->value);
		else
			snprintf(text, nbytes,
				 "the channel has failed, %" PRIu64 " WQEBBs are complete",
				 err->value);
		break;
	case SHMEMD_ERR_BAD_PE:
		snprintf(text, nbytes, "PE %" PRId64 " of %" PRId64, value, wanted);
		break;
	case SHMEMD_ERR_NOT_SYMMETRIC:
		snprintf(text, nbytes, "address 0x%" PRIx64 ", %" PRIu64 " bytes", err->addr,
			 err->value);
		break;
	case SHMEMD_ERR_UNALIGNED:
		snprintf(text, nbytes, "address 0x%" PRIx64 ", a word of %" PRIu64 " bytes",
			 err->addr, err->value);
		break;
	case SHMEMD_ERR_BAD_ARGUMENT:
		if (err->addr < N_MISTAKES && mistakes[err->addr])
			snprintf(text, nbytes, mistakes[err->addr], value, wanted);
		break;
	case SHMEMD_ERR_BAD_CONTEXT:
		break;
	default:
		format_wait(err, text, nbytes);
	}
}

const char *shmemh_error_format(const shmemd_error_t *err, char *text, size_t text_nbytes)
{
	char site[SHMEMD_SITE_NBYTES + 16] = "", values[256], pe[40] = "";
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
	if (err->pe >= 0)
		snprintf(pe, sizeof pe, ", PE %" PRId32 " of the team", err->pe);
	format_values(err, values, sizeof values);
	snprintf(text, text_nbytes, "device %s%s: %s%s%s%s%s%s", op_name(err->op), pe,
		 shmemh_strerror((int)err->status), values[0] ? " (" : "", values,
		 values[0] ? ")" : "", at, site);
	return text;
}
