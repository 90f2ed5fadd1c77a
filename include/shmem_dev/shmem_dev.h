/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Everything a kernel needs. README.md beside this file tells in which order to read. */
#ifndef SHMEMD_SHMEM_DEV_H
#define SHMEMD_SHMEM_DEV_H

#include <shmem_dev/group.h>
#include <shmem_dev/team.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/packed.h>
#include <shmem_dev/amo.h>
#include <shmem_dev/channel.h>
#include <shmem_dev/order.h>
#include <shmem_dev/wait.h>
#include <shmem_dev/sync.h>
#include <shmem_dev/launch.h>

#endif
