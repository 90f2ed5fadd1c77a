// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The shmem_dev authors
// The library as it is by default: the NIC path is a call.
#define SEQUENCE post_by_library_call
#define SEQUENCE_NAME "ours, call"
#include <string.h>
#include "library.h"
