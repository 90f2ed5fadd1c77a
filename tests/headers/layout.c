/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Golden sizes and offsets of the structures that host and device share (abi/). layout.sh compiles
 * it as C, C++ and CUDA. From the first release on, a field may be appended, with a new minor ABI
 * version; if a line here has to change, the major version changes with it. */
#include <shmem_dev/abi/ctx.h>
#include <shmem_dev/abi/replay.h>

#define AT SHMEMD_ASSERT_AT
#define SIZE(type, nbytes) SHMEMD_STATIC_ASSERT(sizeof(type) == (nbytes), #type " has grown")

SHMEMD_STATIC_ASSERT(SHMEMD_ABI_MAJOR == 2, "these numbers are of major version 2");

AT(shmemd_peer_t, base, 0);
AT(shmemd_peer_t, world_pe, 8);
AT(shmemd_peer_t, reserved, 12);
SIZE(shmemd_peer_t, 16);

AT(shmemd_latch_t, status, 0);
AT(shmemd_latch_t, record, 4);
AT(shmemd_latch_t, reports, 8);
AT(shmemd_latch_t, trace, 16);
SIZE(shmemd_latch_t, 24);

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
AT(shmemd_ctx_t, device_copy, 96);
AT(shmemd_ctx_t, heap_committed, 104);
AT(shmemd_ctx_t, channels, 112);
AT(shmemd_ctx_t, keys, 120);
AT(shmemd_ctx_t, bounces, 128);
AT(shmemd_ctx_t, used, 136);
AT(shmemd_ctx_t, n_channels, 144);
AT(shmemd_ctx_t, n_world, 148);
AT(shmemd_ctx_t, n_granules, 152);
AT(shmemd_ctx_t, geometry, 156);
AT(shmemd_ctx_t, first_mapped, 160);
AT(shmemd_ctx_t, mapped_span, 164);
AT(shmemd_ctx_t, n_strided, 168);
AT(shmemd_ctx_t, n_strided_amos, 172);
AT(shmemd_ctx_t, n_strided_puts_with_signal, 176);
AT(shmemd_ctx_t, reserved, 180);
AT(shmemd_ctx_t, switch_order, 184);
AT(shmemd_ctx_t, mapped_stride, 192);
AT(shmemd_ctx_t, faults, 200);
SIZE(shmemd_ctx_t, 208);

AT(shmemd_key_t, key, 0);
AT(shmemd_key_t, n_more, 8);
AT(shmemd_key_t, reserved, 12);
SIZE(shmemd_key_t, 16);

AT(shmemd_channel_t, resv, 0);
AT(shmemd_channel_t, ready, 128);
AT(shmemd_channel_t, done, 136);
AT(shmemd_channel_t, path, 144);
AT(shmemd_channel_t, queue, 152);
AT(shmemd_channel_t, doorbell, 160);
AT(shmemd_channel_t, rung, 168);
AT(shmemd_channel_t, flush, 176);
AT(shmemd_channel_t, ticket, 184);
AT(shmemd_channel_t, doorbells, 192);
AT(shmemd_channel_t, requests, 200);
AT(shmemd_channel_t, origin, 208);
AT(shmemd_channel_t, reported, 216);
AT(shmemd_channel_t, owners, 256);
SIZE(shmemd_channel_t, 768);

AT(shmemd_switch_order_t, number, 0);
AT(shmemd_switch_order_t, carried_out, 8);
AT(shmemd_switch_order_t, path, 16);
AT(shmemd_switch_order_t, queue, 24);
AT(shmemd_switch_order_t, doorbell, 32);
AT(shmemd_switch_order_t, k, 40);
AT(shmemd_switch_order_t, world_pe, 44);
AT(shmemd_switch_order_t, start, 48);
AT(shmemd_switch_order_t, executed, 52);
AT(shmemd_switch_order_t, retired, 56);
AT(shmemd_switch_order_t, announced, 60);
AT(shmemd_switch_order_t, replayed, 64);
AT(shmemd_switch_order_t, ambiguous, 68);
SIZE(shmemd_switch_order_t, 128);

AT(shmemd_faults_t, n_reports, 0);
SIZE(shmemd_faults_t, 64);

/* Words of a channel, each field at its maximum. */
#define WORD(word, value) SHMEMD_STATIC_ASSERT((word) == (value), #word)
WORD(SHMEMD_RESV_ADD(2, 1), 0x0000010000000200u);
WORD(SHMEMD_RESV_INDEX(0x123456fffffffe78u), 0xfffffffe);
WORD(SHMEMD_RESV_REQUEST(0x123456fffffffe78u), 0x123456);
WORD(SHMEMD_RESV_EPOCH(0x123456fffffffe78u), 0x78);
WORD(SHMEMD_READY_WORD(0xfffffffe, 0x1fffd, SHMEMD_READY_RUNG | 0x7f), 0xfffffffefffd017fu);
WORD(SHMEMD_READY_INDEX(0xfffffffefffd017fu), 0xfffffffe);
WORD(SHMEMD_READY_CQES(0xfffffffefffd017fu), 0xfffd);
WORD(SHMEMD_READY_EPOCH(0xfffffffefffd017fu), 0x7f);
WORD(SHMEMD_RUNG_WORD(0xfffffffe), 0xfffffffe00000000u);
WORD(SHMEMD_RUNG_INDEX(0xfffffffe00000001u), 0xfffffffe);
WORD(SHMEMD_DONE_WORD(0x7ffffffffffe, 0xfffd), 0xfffffffffffdfffau);
WORD(SHMEMD_DONE_INDEX(0xfffffffffffdfffbu), 0x7ffffffffffe);
WORD(SHMEMD_DONE_CQES(0xfffffffffffdfffbu), 0xfffd);
WORD(SHMEMD_PATH_WORD(0xfe, 0xfffefd, 0xfffc, SHMEMD_PATH_PROXY), 0xfefdfefffffc0004u);
WORD(SHMEMD_ORIGIN_WORD(0xfedcba, 0x7ffe00000001), 0x7ffefedcbau);
WORD(SHMEMD_PATH_QPN(0xfefdfefffffc0004u), 0xfffefd);
WORD(SHMEMD_PATH_QPN_BE(0xfefdfefffffc0004u), 0xfdfeff);
WORD(SHMEMD_PATH_BASE(0xfefffffdfffc0004u), 0xfffc);
WORD(SHMEMD_PATH_STATUS(0xfefffffdfffc0504u), 5);
WORD(SHMEMD_PATH_FAILED(5), 0x500);
WORD(SHMEMD_TAG(0xfe00123456789abcu), 0xfe);
WORD(SHMEMD_ADDRESS(0xfe00123456789abcu), 0x123456789abcu);
WORD(SHMEMD_FAULT_WORD(2, SHMEMD_FAULT_SYNDROMES(0x13, 0x88), 0x8, 0xfffefd, 0xfe),
     0xfefffefd08881302u);
WORD(SHMEMD_FAULT_KIND(0xfefffefd08881302u), 2);
WORD(SHMEMD_FAULT_SYNDROME(0xfefffefd08881302u), 0x13);
WORD(SHMEMD_FAULT_VENDOR(0xfefffefd08881302u), 0x88);
WORD(SHMEMD_FAULT_NUMBER(0xfefffefd08881302u), 0x8813);
WORD(SHMEMD_FAULT_OPCODE(0xfefffefd08881302u), 0x8);
WORD(SHMEMD_FAULT_QPN(0xfefffefd08881302u), 0xfffefd);
WORD(SHMEMD_FAULT_EPOCH(0xfefffefd08881302u), 0xfe);

SHMEMD_STATIC_ASSERT(sizeof(shmemd_channel_t) % 128 == 0, "channels are aligned to 128");
SHMEMD_STATIC_ASSERT(SHMEMD_QUEUE_CQES_OFFSET(1024) == 65536 &&
			     SHMEMD_QUEUE_RECORD_OFFSET(1024) == 131072 &&
			     SHMEMD_QUEUE_CQ_RECORD_OFFSET(1024) == 131136 &&
			     SHMEMD_QUEUE_NBYTES(1024) == 131200,
		     "memory of a queue");
SHMEMD_STATIC_ASSERT(SHMEMD_FAULTS_NBYTES(2, 3) == 112, "memory of reports");
SHMEMD_STATIC_ASSERT(SHMEMD_BOUNCES_NBYTES == 4160, "memory of bounce buffers");
SHMEMD_STATIC_ASSERT(SHMEMD_RKEY_INDEX(10, 0, 0) == 0 && SHMEMD_RKEY_INDEX(10, 2, 9) == 29 &&
			     SHMEMD_LKEY_INDEX(10, 3, 0) == 30 &&
			     SHMEMD_LKEY_INDEX(10, 3, 10) == 40 && SHMEMD_N_KEYS(10, 3) == 41,
		     "table of keys");

SHMEMD_STATIC_ASSERT(SHMEMD_SYNC_NUMBER == 0 && SHMEMD_SYNC_FLAGS == 8 &&
			     SHMEMD_SYNC_WORDS(4) == 12,
		     "team sync memory");
SHMEMD_STATIC_ASSERT(SHMEMD_ABORT_WORD(3, SHMEMD_CAUSE_LEFT) == 0x200000004u &&
			     SHMEMD_ABORT_PE(0x200000004u) == 3 && SHMEMD_ABORT_PE(0u) == -1 &&
			     SHMEMD_ABORT_CAUSE(0x200000004u) == SHMEMD_CAUSE_LEFT,
		     "abort word");
