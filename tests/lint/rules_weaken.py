# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Every primitive that orders can be weakened by tests/weaken."""
import os
import re
import subprocess

from tree import Finding, Skipped

ARCH, GROUP = "include/shmem_dev/arch/arch.h", "include/shmem_dev/group.h"
PRIMITIVES = "tests/weaken/primitives.h"
# By name, so that a new primitive is either here or weakened.
ORDERS_NOTHING = re.compile(
    r"shmemd_arch_(tid|ntids|is_first|may_end_block|lane|block|nblocks"
    r"|(ld|st)_(data|relaxed|mmio)_\w+|st_wqe"
    r"|(atom|red)_(add|and|or|xor|exch|cas|max)_[uf]\d+|warp_any|activemask|match_any|shfl_u64"
    r"|is_alone|is_global|global_at|bswap32|permute_bytes|low_bits|mad_wide|as_local"
    r"|opaque_zero|popc|lowest"
    r"|time_ns|spin_hint|present|recorded|tell|is_readable|nbi_\w+)")
GROUP_FUNCTION = re.compile(r"SHMEMD_FN \w+ (shmemd_group_\w+)\(")


def primitives(tree):
    """The names that arch.h really gives: most come from macros."""
    command = [os.environ.get("CC", "cc"), "-E", "-P", "-xc", ARCH, "-Iinclude"]
    try:
        run = subprocess.run(command, cwd=tree.root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skipped(f"{ARCH} does not preprocess: {error}") from error
    return set(re.findall(r"\b(shmemd_arch_\w+)\(", run.stdout))


def rule_weakened(tree):
    """What orders is wrapped, so that each of its calls is taken away once."""
    if ARCH not in tree.paths:
        return
    names = {(ARCH, n) for n in primitives(tree) if not ORDERS_NOTHING.fullmatch(n)}
    if GROUP in tree.paths:
        names |= {(GROUP, n) for n in GROUP_FUNCTION.findall(tree.text(GROUP))}
    wrapped = tree.text(PRIMITIVES) if PRIMITIVES in tree.paths else ""
    for path, name in sorted(names):
        if not re.search(rf"#define {name}\(", wrapped):
            yield Finding(path, 1, f"{name} is not in {PRIMITIVES}: add its line there (one of "
                          "arch.h that orders nothing: name it in tests/lint/rules_weaken.py)")


RULES = [rule_weakened]
