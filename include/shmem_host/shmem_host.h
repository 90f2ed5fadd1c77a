/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* The host runtime: everything but the kernels. Link with `pkg-config --libs shmem_host`. */
#ifndef SHMEMH_SHMEM_HOST_H
#define SHMEMH_SHMEM_HOST_H

#include <shmem_host/boot.h>
#include <shmem_host/device.h>
#include <shmem_host/fault.h>
#include <shmem_host/heap.h>
#include <shmem_host/init.h>
#include <shmem_host/status.h>
#include <shmem_host/team.h>
#include <shmem_host/trace.h>

#endif
