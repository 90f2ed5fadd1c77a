/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Golden sizes and offsets of what crosses between host and device (abi/). Compiled as C, C++ and
 * CUDA by layout.sh. From the first release on: a field may be appended, with a new minor ABI
 * version; if a line here has to change, the major version changes with it. */
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
AT(shmemd_ctx_t, n_world, 108);
AT(shmemd_ctx_t, used, 112);
SIZE(shmemd_ctx_t, 120);

AT(shmemd_channel_t, ring, 0);
AT(shmemd_channel_t, wqes, 8);
AT(shmemd_channel_t, cqes, 16);
AT(shmemd_channel_t, landing, 24);
AT(shmemd_channel_t, first, 32);
AT(shmemd_channel_t, depth, 40);
AT(shmemd_channel_t, batch, 44);
AT(shmemd_channel_t, inline_nbytes, 48);
SIZE(shmemd_channel_t, 64);

AT(shmemd_path_t, qpn, 0);
AT(shmemd_path_t, landing_key, 4);
AT(shmemd_path_t, doorbell, 8);
AT(shmemd_path_t, producer, 16);
AT(shmemd_path_t, dbr, 24);
AT(shmemd_path_t, lkeys, 32);
AT(shmemd_path_t, rkeys, 40);
AT(shmemd_path_t, log_granule, 48);
AT(shmemd_path_t, epoch, 52);
SIZE(shmemd_path_t, 64);

AT(shmemd_key_t, key, 0);
AT(shmemd_key_t, n_more, 4);

AT(shmemd_ring_t, resv, 0);
AT(shmemd_ring_t, ready, 64);
AT(shmemd_ring_t, path, 72);
AT(shmemd_ring_t, rung, 128);
AT(shmemd_ring_t, doorbells, 136);
AT(shmemd_ring_t, requests, 144);

AT(shmemd_ring_t, dead, 152);
AT(shmemd_ring_t, later, 160);
AT(shmemd_ring_t, done, 192);
AT(shmemd_ring_t, flush, 200);
AT(shmemd_ring_t, ticket, 208);
AT(shmemd_ring_t, turns, 256);
SIZE(shmemd_ring_t, 768);

SHMEMD_STATIC_ASSERT(SHMEMD_SYNC_EPOCH == 0 && SHMEMD_SYNC_FLAGS == 8 && SHMEMD_SYNC_WORDS(4) == 12,
		     "team sync memory");
SHMEMD_STATIC_ASSERT(SHMEMD_ABORT_WORD(3, SHMEMD_CAUSE_LEFT) == 0x200000004u &&
			     SHMEMD_ABORT_PE(0x200000004u) == 3 && SHMEMD_ABORT_PE(0u) == -1 &&
			     SHMEMD_ABORT_CAUSE(0x200000004u) == SHMEMD_CAUSE_LEFT,
		     "abort word");
