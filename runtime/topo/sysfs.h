/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* A machine read from the system, or from a directory that holds a copy of what is read here. */
#ifndef SHMEMHI_TOPO_SYSFS_H
#define SHMEMHI_TOPO_SYSFS_H

#include "topo/machine.h"

/* Take GPUs from NVML, which takes milliseconds: only those that this process sees, and their
 * NVLinks. Without NVML they are those of the driver, without NVLinks. */
#define SHMEMHI_READ_NVML 1u

#define SHMEMHI_READ_NICS 2u

/* Read a machine.
 *
 * root     "": this system; else a directory that machine_capture has made.
 * flags    SHMEMHI_READ_*; a captured directory has the answers of NVML in a file.
 * Returns  SHMEMH_OK, also if there are no GPUs and no NICs; ERR_ARGUMENT: root is no captured
 *          directory; ERR_SYSTEM: too many devices, or a captured file is damaged;
 *          ERR_NO_MEMORY. */
int shmemhi_machine_read(const char *root, unsigned flags, shmemhi_machine_t *m,
			 shmemhi_err_t *err);

/* Read a machine with NVML and NICs, and copy everything that was read to `dir`, which is created.
 * Returns  as machine_read, but root is not checked; ERR_SYSTEM: a file cannot be created (a line
 *          with the path). */
int shmemhi_machine_capture(const char *root, const char *dir, shmemhi_machine_t *m,
			    shmemhi_err_t *err);

/* Add a GPU of this system by its PCI address, for example if the folder of its driver is hidden.
 * Returns  its index; -1: sysfs does not have it, or there is no room. */
int shmemhi_machine_add_gpu(shmemhi_machine_t *m, const char *addr, shmemhi_err_t *err);

/* Add a NIC of this system with its ports.
 * folder   of the NIC in sysfs; if it does not exist, its place is unknown and it has no ports.
 * Returns  its index; -1: no room. */
int shmemhi_machine_add_nic(shmemhi_machine_t *m, const char *name, const char *folder,
			    shmemhi_err_t *err);

#endif
