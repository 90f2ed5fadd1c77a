/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Golden sizes and offsets of what crosses between host and device (abi/). Compiled as C, C++ and
 * CUDA by layout.sh. A field may be appended, with a new minor ABI version; if a line here has to
 * change, the major version changes with it. */
#include <shmem_dev/abi/ctx.h>

#define AT SHMEMD_ASSERT_AT
#define SIZE(type, nbytes) SHMEMD_STATIC_ASSERT(sizeof(type) == (nbytes), #type " has grown")

SHMEMD_STATIC_ASSERT(SHMEMD_ABI_MAJOR == 1, "these numbers are of major version 1");

AT(shmemd_peer_t, base, 0);
AT(shmemd_peer_t, world_pe, 8);
AT(shmemd_peer_t, reserved, 12);
SIZE(shmemd_peer_t, 16);

AT(shmemd_latch_t, status, 0);
AT(shmemd_latch_t, record, 4);
SIZE(shmemd_latch_t, 8);

AT(shmemd_error_t, status, 0);
AT(shmemd_error_t, op, 4);
AT(shmemd_error_t, pe, 8);
AT(shmemd_error_t, line, 12);
AT(shmemd_error_t, addr, 16);
AT(shmemd_error_t, value, 24);
AT(shmemd_error_t, wanted, 32);
AT(shmemd_error_t, site, 40);
SIZE(shmemd_error_t, 88);

AT(shmemd_ctx_t, version, 0);
AT(shmemd_ctx_t, size, 4);
AT(shmemd_ctx_t, my_pe, 8);
AT(shmemd_ctx_t, n_pes, 12);
AT(shmemd_ctx_t, channel, 16);
AT(shmemd_ctx_t, flags, 20);
AT(shmemd_ctx_t, heap, 24);
AT(shmemd_ctx_t, heap_nbytes, 32);
AT(shmemd_ctx_t, peers, 40);
AT(shmemd_ctx_t, sync, 48);
AT(shmemd_ctx_t, abort_word, 56);
AT(shmemd_ctx_t, causes, 64);
AT(shmemd_ctx_t, latch, 72);
AT(shmemd_ctx_t, error, 80);
AT(shmemd_ctx_t, timeout_ns, 88);
AT(shmemd_ctx_t, channels, 96);
AT(shmemd_ctx_t, n_channels, 104);
AT(shmemd_ctx_t, reserved, 108);
SIZE(shmemd_ctx_t, 112);

SHMEMD_STATIC_ASSERT(SHMEMD_SYNC_EPOCH == 0 && SHMEMD_SYNC_FLAGS == 8 && SHMEMD_SYNC_WORDS(4) == 12,
		     "team sync memory");
SHMEMD_STATIC_ASSERT(SHMEMD_ABORT_WORD(3, SHMEMD_CAUSE_LEFT) == 0x200000004u &&
			     SHMEMD_ABORT_PE(0x200000004u) == 3 && SHMEMD_ABORT_PE(0u) == -1 &&
			     SHMEMD_ABORT_CAUSE(0x200000004u) == SHMEMD_CAUSE_LEFT,
		     "abort word");
