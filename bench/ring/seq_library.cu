// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The library with its NIC path inline.
#define SHMEMD_NIC_INLINE
#define SEQUENCE post_by_library
#define SEQUENCE_NAME "ours"
#include <string.h>
#include "library.h"
