/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
#include "ib/caps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ib/prm.h"

#define QUERY_HCA_CAP 0x100
#define OP_MOD 0x30, 16
#define SET_GENERAL 0u
#define SET_ATOMIC 3u
#define SET_ROCE 4u
#define SET_GENERAL_2 0x20u

/* Fields of the reply. Source: PRM, HCA capabilities. */
#define CAP 0x80
#define GENERAL_HCA_CAP_2 CAP + 0x20, 1 /* there is SET_GENERAL_2 */
#define GENERAL_LOG_MAX_RA_REQ_QP CAP + 0x14a, 6
#define GENERAL_LOG_MAX_RA_RES_QP CAP + 0x15a, 6
#define GENERAL_SQ_TS_FORMAT CAP + 0x440, 2
#define GENERAL_2_SEND_NO_DBR CAP + 0x2e1, 1
#define ROCE_QP_TS_FORMAT CAP + 0x1e, 2
#define ROCE_MAX_SRC_UDP_PORT CAP + 0xc0, 16
#define ROCE_MIN_SRC_UDP_PORT CAP + 0xd0, 16

#define LOG_READS_LIMIT 7 /* log_sra_max and log_rra_max have 3 bits */
#define SPORT_DEFAULT 0xc000

enum rule { AT_LEAST, ALL_BITS, EQUAL };

/* What the device library needs of a NIC. */
static const struct need {
	size_t set; /* member of shmemhi_caps_t */
	unsigned bit, width;
	enum rule rule;
	uint32_t value;
	int is_roce; /* only if the port is Ethernet */
	const char *what;
} needs[] = {
#define NEED(set, bit, width, rule, value, is_roce, what)                                          \
	{                                                                                          \
		offsetof(shmemhi_caps_t, set), CAP + (bit), width, rule, value, is_roce, what      \
	}
	NEED(general, 0x23f, 1, EQUAL, 1, 0, "rc (reliable connections)"),
	NEED(general, 0x220, 1, EQUAL, 1, 0, "cq_oi (completion queues that ignore overruns)"),
	NEED(general, 0x1fc, 4, EQUAL, 1, 0, "cqe_version"),
	NEED(general, 0x290, 16, AT_LEAST, 128, 0, "max_wqe_sz_sq (bytes of a WQE)"),
	NEED(general, 0x1c3, 5, AT_LEAST, SHMEMHI_LOG_MSG_MAX, 0, "log_max_msg"),
	NEED(general, 0x21e, 1, EQUAL, 1, 0, "atomic (atomic operations)"),
	NEED(atomic, 0x40, 2, EQUAL, 1, 0,
	     "atomic_req_8B_endianness_mode (8-byte atomics in the host's byte order)"),
	NEED(atomic, 0x90, 16, ALL_BITS, 0xf, 0,
	     "atomic_operations (compare-and-swap, fetch-and-add, both masked)"),
	NEED(atomic, 0xb0, 16, ALL_BITS, 4 | 8, 0, "atomic_size_qp (4 and 8 bytes)"),
	NEED(general, 0x21d, 1, EQUAL, 1, 1, "roce"),
	NEED(roce, 0x98, 8, ALL_BITS, 4, 1, "roce_version (RoCE v2)"),
#undef NEED
};

static bool holds(enum rule rule, uint32_t have, uint32_t want)
{
	switch (rule) {
	case AT_LEAST:
		return have >= want;
	case ALL_BITS:
		return (have & want) == want;
	case EQUAL:
		break;
	}
	return have == want;
}

static int check_need(const shmemhi_caps_t *caps, const struct need *need, shmemhi_err_t *err)
{
	static const char *const words[] = {"at least ", "all bits of ", ""};
	const uint32_t *set = (const uint32_t *)(const void *)((const char *)caps + need->set);
	uint32_t have = (uint32_t)shmemhi_prm_get(set, need->bit, need->width);

	if (holds(need->rule, have, need->value))
		return SHMEMH_OK;
	return shmemhi_fail(err, SHMEMH_ERR_NIC, "its capability %s is 0x%x, needed: %s0x%x",
			    need->what, have, words[need->rule], need->value);
}

/* A send queue has depth WQEBBs, its completion queue as many CQEs. */
static int check_depth(const shmemhi_caps_t *caps, int depth, shmemhi_err_t *err)
{
	static const struct {
		unsigned bit;
		const char *what;
	} limits[] = {{CAP + 0x88, "log_max_qp_sz"}, {CAP + 0xc8, "log_max_cq_sz"}};

	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		unsigned log = (unsigned)shmemhi_prm_get(caps->general, limits[i].bit, 8);

		if (log < 31 && depth > 1 << log)
			return shmemhi_fail(err, SHMEMH_ERR_NIC,
					    "its capability %s is %u: SHMEMH_IB_DEPTH=%d is more "
					    "than %d",
					    limits[i].what, log, depth, 1 << log);
	}
	return SHMEMH_OK;
}

enum { HAS_FREE_RUNNING, HAS_REAL_TIME, HAS_BOTH }; /* values of the capability */

static uint64_t ts_capability(const shmemhi_caps_t *caps, const shmemhi_open_port_t *port)
{
	return port->is_ethernet ? shmemhi_prm_get(caps->roce, ROCE_QP_TS_FORMAT)
				 : shmemhi_prm_get(caps->general, GENERAL_SQ_TS_FORMAT);
}

/* CREATE_QP fails if it asks for a format of CQE time stamps that the NIC does not have. The
 * runtime reads no time stamps: it asks for the default format, which every NIC with real-time
 * stamps has, and for free-running stamps where there are no others. */
static void set_ts_format(const shmemhi_caps_t *caps, shmemhi_open_port_t *port)
{
	port->ts_format = ts_capability(caps, port) ? SHMEMHI_TS_DEFAULT : SHMEMHI_TS_FREE_RUNNING;
}

static void set_limits(const shmemhi_caps_t *caps, shmemhi_open_port_t *port)
{
	uint64_t as_requester = shmemhi_prm_get(caps->general, GENERAL_LOG_MAX_RA_REQ_QP);
	uint64_t as_responder = shmemhi_prm_get(caps->general, GENERAL_LOG_MAX_RA_RES_QP);
	uint64_t log = as_requester < as_responder ? as_requester : as_responder;

	port->log_max_reads = (uint8_t)(log < LOG_READS_LIMIT ? log : LOG_READS_LIMIT);
	port->sport_min = port->sport_max = 0;
	if (!port->is_ethernet)
		return;
	port->sport_min = (uint16_t)shmemhi_prm_get(caps->roce, ROCE_MIN_SRC_UDP_PORT);
	port->sport_max = (uint16_t)shmemhi_prm_get(caps->roce, ROCE_MAX_SRC_UDP_PORT);
	if (port->sport_min == 0 || port->sport_min > port->sport_max) { /* old firmware */
		port->sport_min = SPORT_DEFAULT;
		port->sport_max = UINT16_MAX;
	}
}

int shmemhi_caps_check(const shmemhi_caps_t *caps, const shmemhi_options_t *opt,
		       shmemhi_open_port_t *port, shmemhi_err_t *err)
{
	int status = check_depth(caps, opt->ib_depth, err);

	for (size_t i = 0; status == SHMEMH_OK && i < sizeof needs / sizeof needs[0]; i++)
		if (!needs[i].is_roce || port->is_ethernet)
			status = check_need(caps, &needs[i], err);
	if (status == SHMEMH_OK) {
		set_ts_format(caps, port);
		port->offers_no_record =
			(uint8_t)shmemhi_prm_get(caps->general_2, GENERAL_2_SEND_NO_DBR);
		set_limits(caps, port);
	}
	return status;
}

static int query(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port, unsigned set,
		 uint32_t reply[SHMEMHI_CAP_WORDS], shmemhi_err_t *err)
{
	uint32_t in[SHMEMHI_PRM_SHORT] = {0};
	int got;

	shmemhi_prm_put(in, SHMEMHI_PRM_OPCODE, QUERY_HCA_CAP);
	shmemhi_prm_put(in, OP_MOD, set << 1 | 1); /* 1: what is in force, not what could be */
	memset(reply, 0, SHMEMHI_CAP_WORDS * sizeof *reply);
	got = lib->general_cmd(port->context, in, sizeof in, reply,
			       SHMEMHI_CAP_WORDS * sizeof *reply);
	if (got == 0)
		return SHMEMH_OK;
	return shmemhi_fail(err, SHMEMH_ERR_NIC,
			    "QUERY_HCA_CAP of set %u failed: %s, status 0x%x, syndrome 0x%x", set,
			    strerror(got), (unsigned)shmemhi_prm_get(reply, SHMEMHI_PRM_STATUS),
			    (unsigned)shmemhi_prm_get(reply, SHMEMHI_PRM_SYNDROME));
}

int shmemhi_caps_query(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port,
		       shmemhi_caps_t *caps, shmemhi_err_t *err)
{
	int status = query(lib, port, SET_GENERAL, caps->general, err);

	memset(caps->general_2, 0, sizeof caps->general_2);
	if (status == SHMEMH_OK && shmemhi_prm_get(caps->general, GENERAL_HCA_CAP_2))
		status = query(lib, port, SET_GENERAL_2, caps->general_2, err);
	if (status == SHMEMH_OK)
		status = query(lib, port, SET_ATOMIC, caps->atomic, err);
	if (status == SHMEMH_OK && port->is_ethernet)
		status = query(lib, port, SET_ROCE, caps->roce, err);
	return status;
}

int shmemhi_caps_ts_formats(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port,
			    uint8_t *formats, shmemhi_err_t *err)
{
	shmemhi_caps_t *caps = malloc(sizeof *caps);
	uint64_t has = HAS_FREE_RUNNING;
	int n = 0;

	if (!caps)
		(void)shmemhi_fail(err, SHMEMH_ERR_NO_MEMORY, "NIC: out of memory");
	if (!caps || shmemhi_caps_query(lib, port, caps, err) != SHMEMH_OK)
		n = -1;
	else
		has = ts_capability(caps, port);
	free(caps);
	if (n < 0)
		return n;
	if (has != HAS_REAL_TIME)
		formats[n++] = SHMEMHI_TS_FREE_RUNNING;
	if (has != HAS_FREE_RUNNING)
		formats[n++] = SHMEMHI_TS_DEFAULT;
	if (has != HAS_FREE_RUNNING)
		formats[n++] = SHMEMHI_TS_REAL_TIME;
	return n;
}
