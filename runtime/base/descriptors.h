/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Running out of file descriptors. */
#ifndef SHMEMHI_BASE_DESCRIPTORS_H
#define SHMEMHI_BASE_DESCRIPTORS_H

#include <errno.h>
#include <stdbool.h>

static inline bool shmemhi_no_descriptor(int error)
{
	return error == EMFILE || error == ENFILE;
}

/* What to do about an errno, to be put behind its strerror: "" if it is not about descriptors. */
static inline const char *shmemhi_descriptor_advice(int error)
{
	if (error == EMFILE)
		return ": raise ulimit -n";
	return error == ENFILE ? ": raise fs.file-max" : "";
}

#endif
