# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The public interface, as ctags reads it from the headers, is that of tests/lint/api.txt."""
import difflib
import os
import re
import shutil
import subprocess

from tree import Finding, Skipped

API = "tests/lint/api.txt"
UPDATE = "tests/lint/lint.py --update-api"
# arch/cpu.h and bulk_cpu.h declare what kernels on a CPU call in libshmem_sim.
PUBLIC_HEADERS = (r"^include/shmem_dev/((abi|typed)/)?[^/]+\.h$|/arch/(bulk_)?cpu\.h$"
                  r"|^include/shmem_host/[^/]+\.h$|^runtime/(sim|mlx5sw)/include/[^/]+\.h$")
INTERNAL = re.compile(r"^(shmem[dh]i_|SHMEM[DH]I_|shmemd_arch_|SHMEMD_ARCH_)|_H$|^X_$")
CTAGS = ["ctags", "-f", "-", "--sort=no", "--language-force=C", "--kinds-C=defgmpstux",
         "--fields=KSts", "--fields-C=+{macrodef}", "--excmd=number", "-I",
         "SHMEMD_FN,SHMEMD_ABI_FN,SHMEMH_API,SHMEMSIM_API,MLX5SW_API,SHMEMD_SITE", "-L", "-"]


def declaration(name, kind, fields):
    """One line of text for a tag."""
    what = fields.get("typeref", "").removeprefix("typename:")
    scope = next((fields[k] for k in ("struct", "union", "enum") if k in fields), "")
    signature = fields.get("signature", "")
    if kind == "macro":
        value = "" if signature else " " + fields.get("macrodef", "")
        return f"#define {name}{signature}{value}".rstrip()
    if kind in ("member", "enumerator"):
        return f"{kind} {scope}.{name} {what}".rstrip()
    if kind in ("function", "prototype", "externvar"):
        return f"{what} {name}{signature}"
    return f"{kind} {name} {what}".rstrip()


def api(tree):
    """The lines of API: each public header in turn, below it what it declares, in its order."""
    if not shutil.which("ctags"):
        raise Skipped("ctags is not installed (universal-ctags)")
    paths = tree.select(PUBLIC_HEADERS)
    declared = {path: [] for path in paths}
    out = subprocess.run(CTAGS, input="\n".join(paths), cwd=tree.root, capture_output=True,
                         text=True, check=True).stdout if paths else ""
    for row in out.splitlines():
        name, path, _, kind, *rest = row.split("\t")
        fields = dict(field.split(":", 1) for field in rest)
        line = re.sub(r"__anon\w+", "(anonymous)", declaration(name, kind, fields))
        if not INTERNAL.search(name) and line not in declared[path]:
            declared[path].append(line)
    return [line for path in paths for line in [path, *("\t" + d for d in declared[path])]]


def write_api(tree):
    with open(os.path.join(tree.root, API), "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in api(tree)))


def rule_public_api(tree):
    """The public interface changes on purpose."""
    committed = tree.lines(API) if API in tree.paths else []
    number = 1
    for line in difflib.ndiff(committed, api(tree)):
        if line.startswith("- "):
            yield Finding(API, number, f"gone from the headers or changed, users break: "
                          f"'{line[2:].strip()}': bring it back, or run {UPDATE}")
        elif line.startswith("+ "):
            yield Finding(API, number, f"new in the headers: '{line[2:].strip()}': if it is meant "
                          f"to be public, run {UPDATE}")
        number += line[0] in " -"


RULES = [rule_public_api]
