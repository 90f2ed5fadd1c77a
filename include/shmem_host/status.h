/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Status codes of host functions. */
#ifndef SHMEMH_STATUS_H
#define SHMEMH_STATUS_H

#include <shmem_dev/abi/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks what the library exports. */
#if defined(__GNUC__)
#define SHMEMH_API __attribute__((visibility("default")))
#else
#define SHMEMH_API
#endif

/* What host functions return. Every failure also has one line of text (shmemh_error_text) that
 * names what failed, where, with which value, and what to do. Device codes (shmemd_status) share
 * the number space: 0 is success in both, 1..63 are device codes. */
enum shmemh_status {
	SHMEMH_OK = 0,            /* done, as the contract of the function says */
	SHMEMH_ERR_ARGUMENT = 64, /* an argument is outside its contract; nothing was done */
	/* PEs called a collective with different arguments, or have different options. */
	SHMEMH_ERR_MISMATCH = 65,
	/* Heap, system memory or the slots for teams are exhausted; no allocation of the heap was
	 * made or freed. */
	SHMEMH_ERR_NO_MEMORY = 66,
	SHMEMH_ERR_NOT_OWNED = 67, /* pointer was not returned by this heap, or already freed */
	/* A deadline passed; the text names the missing PEs, or the hub that did not answer. */
	SHMEMH_ERR_TIMEOUT = 68,
	/* A PE died or left, and the text names it; or this PE has lost the bootstrap, and with it
	 * the others. */
	SHMEMH_ERR_PEER = 69,
	/* The bootstrap cannot be reached, refuses the secret or the PE's number, fails, or has no
	 * gather_some. */
	SHMEMH_ERR_BOOTSTRAP = 70,
	SHMEMH_ERR_VERSION = 71, /* versions of PEs, runtime, bootstrap or device code do not fit */
	/* A CUDA driver call failed, and the text has its name and code; or there is no CUDA
	 * context, or the GPU cannot do what was asked for. */
	SHMEMH_ERR_CUDA = 72,
	/* A call to the operating system failed, or returned what no PE of this job sends (a file
	 * of the wrong size, a message out of order); the text says why. */
	SHMEMH_ERR_SYSTEM = 73,
	SHMEMH_ERR_OPTION = 74, /* an environment option has an unusable value */
	SHMEMH_ERR_NIC = 75,    /* no NIC can be used, or a call to its library failed */
};

/* One English sentence for a shmemh_status or shmemd_status. Never NULL; any thread. */
SHMEMH_API const char *shmemh_strerror(int status);

#ifdef __cplusplus
}
#endif

#endif
