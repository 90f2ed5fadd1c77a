/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "selftest/rows.h"

#include <stdarg.h>
#include <stdio.h>

#define WRONG "puts, gets and atomics would be wrong: do not use this NIC"
#define ERRORS "errors would be reported wrongly, or not: waits may end with another status"
#define NO_FAILOVER "fail-over could not know what was executed"
#define REQUESTER SHMEMHI_ROW_REQUESTER
#define RESPONDER SHMEMHI_ROW_RESPONDER
#define LOCAL SHMEMHI_ROW_LOCAL
#define BY_PROXY "set SHMEMH_IB_DOORBELL=cpu"

static const shmemhi_selftest_row_t rows[] = {
	{"write", "WRITE places its bytes, and no others", WRONG, 0, shmemhi_row_write},
	{"inline", "inline WRITE, 1 to 28 bytes", WRONG, 0, shmemhi_row_inline},
	{"read", "READ", WRONG, 0, shmemhi_row_read},
	{"dump", "DUMP completes and changes nothing",
	 "READs cannot be ordered for GPUs that need it", REQUESTER, shmemhi_row_dump},
	{"fence-bit", "a WRITE with the fence bit waits for READs", WRONG, 0, shmemhi_row_fence},
	{"immediate", "the immediate field of requests without one is ignored",
	 "requests could not carry their numbers: fail-over does not work", REQUESTER,
	 shmemhi_row_immediate},
	{"add-8", "fetch-and-add, 8 bytes", WRONG, RESPONDER, shmemhi_row_add_8},
	{"cas-8", "compare-and-swap, 8 bytes", WRONG, RESPONDER, shmemhi_row_cas_8},
	{"masked-add-4", "masked fetch-and-add, 4 bytes", WRONG, RESPONDER,
	 shmemhi_row_masked_add_4},
	{"masked-add-8", "masked fetch-and-add, 8 bytes", WRONG, RESPONDER,
	 shmemhi_row_masked_add_8},
	{"masked-cas-4", "masked compare-and-swap, 4 bytes", WRONG, RESPONDER,
	 shmemhi_row_masked_cas_4},
	{"masked-cas-8", "masked compare-and-swap, 8 bytes", WRONG, RESPONDER,
	 shmemhi_row_masked_cas_8},
	{"order-4", "results of 4 bytes are big-endian",
	 "fetching atomics would return wrong values", REQUESTER, shmemhi_row_order_4},
	{"order-8", "results of 8 bytes are in host order",
	 "fetching atomics would return wrong values", REQUESTER, shmemhi_row_order_8},
	{"doorbell", "one doorbell for many WQEs, and one rung twice", WRONG, REQUESTER,
	 shmemhi_row_doorbell},
	{"wqe-wrap", "a WQE across the end of its queue", WRONG, REQUESTER, shmemhi_row_wrap},
	{"cq-ring", "three laps of a CQ whose overruns are ignored", WRONG, REQUESTER,
	 shmemhi_row_ring},
	{"cq-collapsed", "a collapsed CQ", "none: the library does not use it",
	 SHMEMHI_PAIR_COLLAPSED | REQUESTER, shmemhi_row_collapsed},
	{"ts-format", "queue pairs with each offered format of time stamps",
	 "none, if jobs start: they ask for one format", REQUESTER, shmemhi_row_ts_format},
	{"error-opcode", "error CQE 02: an opcode that does not exist", ERRORS, REQUESTER,
	 shmemhi_row_bad_opcode},
	{"error-local-key", "error CQE 04: an unknown local key", ERRORS, REQUESTER,
	 shmemhi_row_bad_local_key},
	{"error-remote-key", "error CQE 13: an unknown remote key", ERRORS, 0,
	 shmemhi_row_bad_remote_key},
	{"error-request", "error CQE 12: an atomic that is not aligned", ERRORS, 0,
	 shmemhi_row_bad_request},
	{"error-retry", "error CQE 15: a peer that does not answer", ERRORS, SHMEMHI_PAIR_NO_RETRY,
	 shmemhi_row_retry},
	{"flush-order", "after an error each WQE gets one CQE, in order", ERRORS, REQUESTER,
	 shmemhi_row_flush_order},
	{"read-quiet", "memory is visible to the CPU after a READ that follows", WRONG, RESPONDER,
	 shmemhi_row_read_quiet},
	{"prefix", "next_rcv_psn and rmsn of a fenced queue pair name what was executed",
	 NO_FAILOVER, RESPONDER, shmemhi_row_prefix},
	{"late-write", "no write lands after 2ERR and a READ on the same NIC", NO_FAILOVER,
	 RESPONDER, shmemhi_row_late_write},
	{"repeated-write", "a WRITE that arrives again is not written again",
	 "a put that was repeated could replace newer data: no fail-over, and do not reuse memory "
	 "as soon as a poll sees the data",
	 RESPONDER, shmemhi_row_repeated_write},
	{"two-ports", "adds by two ports to one word are atomic",
	 "none: the library updates each word by one NIC", LOCAL, shmemhi_row_two_ports},
	{"gpu-doorbell", "a GPU rings the doorbell", BY_PROXY, LOCAL, shmemhi_row_gpu_doorbell},
	{"gpu-queue", "queues in GPU memory", "set SHMEMH_IB_QUEUE=host", LOCAL,
	 shmemhi_row_gpu_queue},
	{"gpu-read-quiet", "GPU memory is visible to a kernel after a READ that follows", WRONG,
	 LOCAL, shmemhi_row_gpu_quiet},
};

const shmemhi_selftest_row_t *shmemhi_selftest_rows(int *n)
{
	*n = (int)(sizeof rows / sizeof rows[0]);
	return rows;
}

static void say(shmemhi_outcome_t *o, int verdict, const char *fmt, va_list args)
{
	if (o->verdict > verdict || (o->verdict == verdict && o->text[0]))
		return;
	o->verdict = verdict;
	vsnprintf(o->text, sizeof o->text, fmt, args);
}

#define SAY(verdict)                                                                               \
	do {                                                                                       \
		va_list args;                                                                      \
		va_start(args, fmt);                                                               \
		say(o, verdict, fmt, args);                                                        \
		va_end(args);                                                                      \
	} while (0)

void shmemhi_row_fails(shmemhi_outcome_t *o, const char *fmt, ...)
{
	SAY(SHMEMHI_FAIL);
}

void shmemhi_row_unknown(shmemhi_outcome_t *o, const char *fmt, ...)
{
	SAY(SHMEMHI_UNKNOWN);
}

void shmemhi_row_note(shmemhi_outcome_t *o, const char *fmt, ...)
{
	SAY(SHMEMHI_PASS);
}

void shmemhi_row_no_success(shmemhi_outcome_t *o, const char *what, const shmemhi_completion_t *c)
{
	if (c->opcode == SHMEMD_CQE_INVALID)
		shmemhi_row_fails(o, "%s did not complete", what);
	else
		shmemhi_row_fails(o, "%s failed: CQE opcode %u, syndrome 0x%02x", what, c->opcode,
				  c->syndrome);
}
