# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Mistakes in transfers of several blocks, and in signals that they or streams send, as in
mistakes.py. Missing fences: tests/weaken."""

GRID_MISTAKES = [
    ("GRID_WORD", "grid: the first thread of each block stores a word",
     "impl/copy.h", "if ({{g.rank == 0|shmemdi_leads(g)}}) shmemdi_copy_word(dst",
     "grid_scope", "word_once"),
    ("GRID_PART_BLOCK", "grid: the warps of all blocks copy the same part",
     "impl/grid.h", "+ {{grid.block|0}}) * 32 + ", "grid_scope", "put"),
    ("GRID_PART_LANE", "grid: the lanes of a warp copy the same part",
     "impl/grid.h", "* 32 + {{lane|0}};", "grid_scope", "get"),
    ("GRID_PART_THREAD", "grid: a thread alone copies as lane 0 of a warp",
     "impl/grid.h", "if ({{op.g.size % 32|0}})", "grid_scope", "put"),
    ("GRID_PART_TURNS", "grid: the blocks copy one after the other, not in turns",
     "impl/grid.h", "= ({{op.g.rank / 32 * n|op.g.rank / 32 + "
     "grid.block * (op.g.size / 32 - 1)}} +", "grid_scope", "parts"),
    ("GRID_KEEP_SOURCE", "grid: the source of a block's put is not watched",
     "impl/grid.h", "if ({{transfer.outcome != SHMEMDI_NOT_STARTED|0}}) shmemdi_keep_source(op)",
     "check_calls", "source_of_grid"),
    ("GRID_PART_MAX", "grid: blocks that are too many copy the parts of others again",
     "impl/grid.h", "if ({{grid.block >= n|0}}) op.nbytes = 0", "grid_scope", "parts"),
    ("GRID_PART_SIZE", "grid: each block counts its own threads alone",
     "impl/grid.h", "op.g.size *= {{n|1}};", "grid_scope", "parts"),
    ("GRID_ARRIVED", "grid: the first block to arrive signals",
     "impl/grid.h", "if ({{before + 1 != grid.n_blocks|before != 0}}) return 0",
     "grid_scope", "put_signal"),
    ("GRID_RESET", "grid: the counter of arrivals is not set to 0 again",
     "impl/grid.h", "{{shmemd_arch_st_relaxed_u32(arrived, 0)|(void)0}};",
     "grid_scope", "put_signal"),
    ("GRID_SIGNAL_SYNC", "grid: a block arrives before its threads have sent",
     "impl/grid.h", "{{shmemd_group_sync(grid.group)|(void)0}}; if (grid.group.rank == 0 &&",
     "grid_scope", "signal_of_tiles"),
    ("GRID_CHECK_ARRIVED", "grid: a counter that holds more than there are blocks is accepted",
     "impl/grid.h", "if ({{before >= n_blocks|0}}) return", "check_calls", "grids"),
    ("GRID_PUT_STATUS", "grid: why a put has not started is lost",
     "impl/grid.h", "return shmemdi_put_by_nic(ctx, op); return {{transfer.status|SHMEMD_OK}};",
     "check_calls", "grid_puts"),
    ("GRID_PUT_LATCH", "grid: why a put has not started is not latched",
     "impl/grid.h", "{{shmemdi_latch(ctx, shmemdi_grid_put_nic(ctx, grid, op, transfer))|"
     "(void)shmemdi_grid_put_nic(ctx, grid, op, transfer)}}; return;",
     "check_calls", "grid_puts"),
    ("GRID_GET_AGREE", "grid: one thread alone returns that a get by NIC has failed",
     "impl/grid.h", "return {{shmemdi_agree(op.g, transfer.status)|transfer.status}};",
     "ring_errors", "get_of_a_grid"),
    ("SIGNAL_BEHIND_FAILED", "a signal is stored though what was sent before it failed",
     "impl/xport.h", ": SHMEMD_OK; if ({{status != SHMEMD_OK|0}}) return status; "
     "shmemd_arch_fence_before_signal()", "ring_stream", "no_signal_of_large_after_failure"),
    ("SIGNAL_BEHIND_ALL", "stream: the signal of a larger put_signal waits for other PEs",
     "impl/stream.h", "return; {{shmemdi_stream_send_signal(&p)|(shmemd_fence(&p.ctx), "
     "shmemd_signal_op(&p.ctx, p.sig, p.value, p.op, p.pe))}};",
     "ring_stream", "others_are_not_waited_for"),
    ("STREAM_SIGNAL_RELAXED", "stream: a signal overtakes what earlier kernels have sent by NIC",
     "impl/stream.h", "p) { {{shmemdi_stream_send_signal(&p)|"
     "shmemd_signal_op(&p.ctx, p.sig, p.value, p.op, p.pe)}};",
     "ring_stream", "signals_are_ordered"),
    ("SIGNAL_BEHIND_FENCE", "a signal by NIC is posted behind a fence of the GPU's scope alone",
     "impl/xport.h", "return status; {{shmemd_arch_fence_before_signal()|"
     "base ? shmemd_arch_fence_before_signal() : (void)0}}; if (base)",
     "ring_stream", "stores_to_all_memory_are_covered"),
    ("STREAM_WAIT", "stream: a wait for a signal does not wait",
     "impl/stream.h", "{{shmemd_signal_wait_until(&p.ctx, p.sig, p.op, p.value)|0}};",
     "stream", "puts_small"),
]
