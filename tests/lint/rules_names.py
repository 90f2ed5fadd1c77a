# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The golden list of public names: typed names come from macros, this keeps them greppable."""
import os
import re
import subprocess

from tree import Finding, Skipped

GOLDEN = "tests/lint/names.txt"
PUBLIC = re.compile(r"\b(?:shmem[dh]|shmemsim|mlx5sw|SHMEM[DH]|SHMEMSIM|MLX5SW)_\w+\b")
NOT_PUBLIC = re.compile(r"^shmemd_arch_|_H$")
UMBRELLAS = ("include/shmem_dev/shmem_dev.h", "include/shmem_dev/typed.h",
             "include/shmem_host/shmem_host.h",
             "runtime/sim/include/shmem_sim.h", "runtime/mlx5sw/include/mlx5sw.h")
CUDA_ONLY = "include/shmem_dev/state.h"


def public_names(tree):
    """Every name that a user of the umbrella headers sees, sorted."""
    text = "".join(f"#include <{path.split('include/', 1)[1]}>\n"
                   for path in UMBRELLAS if path in tree.paths)
    compiler = os.environ.get("CC", "cc")
    names = set()
    for flags in (["-E", "-P"], ["-E", "-dM"]):
        command = [compiler, *flags, "-xc", "-", "-Iinclude", "-Iruntime/sim/include",
                   "-Iruntime/mlx5sw/include"]
        try:
            run = subprocess.run(command, input=text, cwd=tree.root, capture_output=True,
                                 text=True, check=False)
        except OSError as error:
            raise Skipped(f"no C compiler: {error}") from error
        if run.returncode:
            raise Skipped(f"the public headers do not preprocess: {run.stderr.strip()[:200]}")
        # Of a macro only its name, not what its body mentions.
        lines = re.findall(r"^#define (\w+)", run.stdout, re.M) if "-dM" in flags else [run.stdout]
        for line in lines:
            names.update(PUBLIC.findall(line))
    if CUDA_ONLY in tree.paths:
        names.update(PUBLIC.findall(tree.code(CUDA_ONLY)))
    return sorted(n for n in names if not NOT_PUBLIC.search(n))


def write_golden(tree):
    with open(os.path.join(tree.root, GOLDEN), "w", encoding="utf-8") as file:
        file.write("".join(name + "\n" for name in public_names(tree)))


def rule_public_names(tree):
    """A public name is added or removed on purpose."""
    if GOLDEN not in tree.paths:
        yield Finding(GOLDEN, 1, "missing: run tests/lint/lint.py --update-names")
        return
    golden = tree.lines(GOLDEN)
    actual = set(public_names(tree))
    for number, name in enumerate(golden, 1):
        if name not in actual:
            yield Finding(GOLDEN, number, f"public name {name} is gone, users break: bring it "
                          "back, or remove it by tests/lint/lint.py --update-names")
    for name in sorted(actual - set(golden)):
        yield Finding(GOLDEN, len(golden), f"new public name {name}: if it is meant to be public, "
                      "add it by tests/lint/lint.py --update-names")


RULES = [rule_public_names]
