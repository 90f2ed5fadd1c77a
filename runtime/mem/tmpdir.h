/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Directories for the sockets of PEs that start. A PE removes its own once it is connected, or has
 * failed to connect. If it is killed before that, a later PE of the same user removes the directory
 * when it makes its own in the same parent directory.
 *
 * A directory is in use as long as its owner holds a lock (flock) on it, which ends with the
 * process. A process that gets the lock of another one's directory may remove it. On a file system
 * without locks only its owner removes a directory. */
#ifndef SHMEMHI_MEM_TMPDIR_H
#define SHMEMHI_MEM_TMPDIR_H

#define SHMEMHI_TMPDIR_PREFIX "shmemh-"
#define SHMEMHI_TMPDIR_SOCKET "s" /* the only file in a directory */

/* Make a directory that only this user can enter, and lock it.
 *
 * dir      ends in PREFIX "XXXXXX", which is replaced.
 * Returns  a descriptor that holds the lock; -1: errno, and nothing is left. */
int shmemhi_tmpdir_make(char *dir);

/* Remove this user's directories in parent that are not in use. */
void shmemhi_tmpdir_sweep(const char *parent);

#endif
