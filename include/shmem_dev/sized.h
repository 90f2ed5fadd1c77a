/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* OpenSHMEM's names by size: put, get, put with a signal, and their nbi and strided forms, for
 * elements of 8, 16, 32, 64 and 128 bits of any type (shmemd_put32, shmemd_put32_signal_warp,
 * shmemd_iget128). nelems and strides count elements. shmem_dev.h does not include them: include
 * this header, or only its parts for the sizes that you use. typed/generate.py writes the
 * parts. */
#ifndef SHMEMD_SIZED_H
#define SHMEMD_SIZED_H

#include <shmem_dev/typed/bits8.h>
#include <shmem_dev/typed/bits16.h>
#include <shmem_dev/typed/bits32.h>
#include <shmem_dev/typed/bits64.h>
#include <shmem_dev/typed/bits128.h>

#endif
