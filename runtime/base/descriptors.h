/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Errors when no file descriptor is left. */
#ifndef SHMEMHI_BASE_DESCRIPTORS_H
#define SHMEMHI_BASE_DESCRIPTORS_H

#include <errno.h>
#include <stdbool.h>

static inline bool shmemhi_no_descriptor(int error)
{
	return error == EMFILE || error == ENFILE;
}

/* Advice to append after the strerror of an errno; "" if the error is not about descriptors. */
static inline const char *shmemhi_descriptor_advice(int error)
{
	if (error == EMFILE)
		return ": raise ulimit -n";
	return error == ENFILE ? ": raise fs.file-max" : "";
}

#endif
