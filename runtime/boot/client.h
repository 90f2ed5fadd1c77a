/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* One PE's end of the TCP bootstrap: connect.c finds the hub and proves that the PE has the
 * secret; client.c has the monitor thread and the functions of shmemh_boot_t; failure.c reports
 * that the PE's init failed. */
#ifndef SHMEMHI_BOOT_CLIENT_H
#define SHMEMHI_BOOT_CLIENT_H

#include "boot/boot.h"
#include "boot/uniqueid.h"
#include "boot/wire.h"

/* connect.c */

/* Find the hub of id; hub and PE prove to each other that they have the secret.
 *
 * key       derived from the secret of id.
 * deadline  for all addresses together. An address without a listener, or where the hub of another
 *           job refuses the secret, does not end the search while another address may be the
 *           hub's.
 * where     receives the address that answered.
 * Returns   a connected non-blocking socket, or minus a shmemh_status: ERR_BOOTSTRAP (no listener,
 *           no answer, or the secret was refused), ERR_VERSION, ERR_SYSTEM (no descriptor). */
int shmemhi_hub_connect(const shmemhi_id_t *id, const shmemhi_secret_t *key, int pe, int n_pes,
			uint64_t deadline, const shmemhi_log_t *log,
			char where[SHMEMHI_ADDR_TEXT_NBYTES], shmemhi_err_t *err);

/* failure.c */

/* Send the BYE of a PE whose init failed, with its status and line. Returns 0 or an errno. */
int shmemhi_send_failure(int fd, int status, const char *text, uint64_t deadline);

/* The same, and wait until the hub has it, 2 s at most, sending included; for a PE without a
 * monitor. Closes fd. */
void shmemhi_report_failure(int fd, int status, const char *text);

/* Connect to the hub only to send that BYE, for a PE that lacks the memory for a client, or one of
 * the two descriptors. Best effort: it needs a descriptor itself. */
void shmemhi_connect_and_report(const shmemhi_id_t *id, int pe, int n_pes,
				const shmemhi_options_t *opt, const shmemhi_log_t *log, int status,
				const char *text);

#endif
