# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Mistakes in packed values, as in mistakes.py."""

PACKED_MISTAKES = [
    ("PACKED_HALF", "packed: one half's epoch counts for both",
     "impl/packed.h", "if ({{(uint32_t)(at.lo >> 32) != epoch|0}} || (uint32_t)(at.hi >> 32)",
     "packed", "by_thread"),
    ("PACKED_VALUE", "packed: both halves carry the low part",
     "impl/packed.h", "shmemdi_packed_half((uint32_t)({{value >> 32|value}}), epoch)",
     "packed", "by_warp"),
    ("PACKED_FOR", "packed: a wait with a limit waits without one",
     "packed.h", "epoch, {{shmemdi_limit_for(ns)|shmemdi_limit_default(ctx, SHMEMDI_ANY_PE)}}",
     "packed", "limit"),
]
