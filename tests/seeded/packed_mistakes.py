# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Mistakes in packed values, as in mistakes.py."""

PACKED_MISTAKES = [
    ("PACKED_HALF", "packed: one half's epoch counts for both",
     "impl/packed.h", "return {{(uint32_t)(at.lo >> 32) == epoch|1}} && (uint32_t)(at.hi >> 32)",
     "packed", "by_thread"),
    ("PACKED_VALUE", "packed: both halves carry the low part",
     "impl/packed.h", "shmemdi_packed_half((uint32_t)({{value >> 32|value}}), epoch)",
     "packed", "by_warp"),
]
