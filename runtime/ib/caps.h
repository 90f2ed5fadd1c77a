/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Does an adapter have the capabilities that the device library needs? */
#ifndef SHMEMHI_IB_CAPS_H
#define SHMEMHI_IB_CAPS_H

#include "base/options.h"
#include "ib/state.h"

/* Words of QUERY_HCA_CAP's reply. */
#define SHMEMHI_CAP_WORDS ((0x10 + 0x1000) / 4)

/* Replies, one for each set of capabilities. */
typedef struct shmemhi_caps {
	uint32_t general[SHMEMHI_CAP_WORDS];
	uint32_t general_2[SHMEMHI_CAP_WORDS]; /* zero if the device does not have this set */
	uint32_t atomic[SHMEMHI_CAP_WORDS];
	uint32_t roce[SHMEMHI_CAP_WORDS]; /* Ethernet */
} shmemhi_caps_t;

/* Query port->context; the RoCE set if port->is_ethernet. Returns SHMEMH_OK; ERR_NIC. */
int shmemhi_caps_query(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port,
		       shmemhi_caps_t *caps, shmemhi_err_t *err);

/* Set ts_format, offers_no_record, log_max_reads, sport_min and sport_max of the port.
 * Returns  SHMEMH_OK; ERR_NIC: something is missing (text: what, and how much of it there is). */
int shmemhi_caps_check(const shmemhi_caps_t *caps, const shmemhi_options_t *opt,
		       shmemhi_open_port_t *port, shmemhi_err_t *err);

/* The formats of CQE time stamps (ts_format of CREATE_QP) that a NIC offers: at most 3.
 * Returns  how many; -1, with a line in err. */
int shmemhi_caps_ts_formats(const shmemhi_ib_lib_t *lib, const shmemhi_open_port_t *port,
			    uint8_t *formats, shmemhi_err_t *err);

#endif
