# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Lengths of files, functions and lines; a contract comment above each public function."""
import functools
import re
import shutil
import statistics
import subprocess
from typing import NamedTuple

from tree import Finding, Skipped

FILE_LINES, FILE_MEDIAN = 600, 250
FUNCTION_LINES, FUNCTION_MEDIAN = 60, 12
COLUMNS, TAB = 100, 8
NOT_BLANK = r"\s*\S"


class Function(NamedTuple):
    path: str
    name: str
    line: int
    end: int
    is_prototype: bool


@functools.lru_cache(maxsize=None)
def functions(tree):
    """Functions and prototypes of all C files, by ctags."""
    paths = tree.c_files()
    if not paths:
        return []
    if not shutil.which("ctags"):
        raise Skipped("ctags is not installed (universal-ctags)")
    command = ["ctags", "-f", "-", "--language-force=C", "--kinds-C=fp", "--fields=neK",
               "--excmd=number", "-I", "SHMEMD_FN,SHMEMH_API,SHMEMSIM_API", "-L", "-"]
    out = subprocess.run(command, input="\n".join(paths), cwd=tree.root, capture_output=True,
                         text=True, check=True).stdout
    found = []
    for row in out.splitlines():
        name, path, _, *fields = row.split("\t")
        extra = dict(f.split(":", 1) for f in fields if ":" in f)
        line = int(extra["line"])
        found.append(Function(path, name, line, int(extra.get("end", line)),
                              "prototype" in fields))
    return found


def rule_file_length(tree):
    """A file fits a reader."""
    counts = []
    for path in tree.source_files():
        count = len(tree.lines(path))
        if count > FILE_LINES:
            yield Finding(path, FILE_LINES + 1, f"{count} lines, limit {FILE_LINES}: split it")
        if path.startswith(("include/", "runtime/")):
            counts.append(count)
    if counts and statistics.median(counts) > FILE_MEDIAN:
        yield Finding("include", 1, f"median file of include/ and runtime/ has "
                      f"{statistics.median(counts)} lines, limit {FILE_MEDIAN}: split the largest")


def rule_function_length(tree):
    """A function fits a screen."""
    spans = []
    for function in functions(tree):
        if function.is_prototype:
            continue
        span = function.end - function.line + 1
        if span > FUNCTION_LINES:
            yield Finding(function.path, function.line,
                          f"{function.name} has {span} lines, limit {FUNCTION_LINES}: split it")
        if function.path.startswith(("include/", "runtime/")):
            spans.append(span)
    if spans and statistics.median(spans) > FUNCTION_MEDIAN:
        yield Finding("include", 1, f"median function of include/ and runtime/ has "
                      f"{statistics.median(spans)} lines, limit {FUNCTION_MEDIAN}: split some")


def rule_line_length(tree):
    """100 columns, a tab is 8."""
    for path in tree.source_files():
        for number, line in enumerate(tree.lines(path), 1):
            width = len(line.expandtabs(TAB))
            if width > COLUMNS:
                yield Finding(path, number, f"{width} columns, limit {COLUMNS}: wrap the line")


def has_comment_above(lines, index, above_it=r"^[A-Za-z_][\w\s*()]*$"):
    """Is there a comment right above the declaration at lines[index]? By default a return type or
    an attribute on a line of its own may stand between."""
    above = index - 1
    while above >= 0 and re.match(above_it, lines[above]) and "*/" not in lines[above]:
        above -= 1
    return above >= 0 and lines[above].rstrip().endswith("*/")


def rule_contract_comment(tree):
    """Every public function has its contract directly above it, once in its file."""
    public = re.compile(r"^shmem[dh]_|^shmemsim_")
    in_scope = re.compile(r"^include/shmem_(dev|host)/[^/]+\.h$|^runtime/sim/include/shmem_sim\.h$")
    bare, commented = {}, set()
    for function in functions(tree):
        if not in_scope.search(function.path) or not public.search(function.name):
            continue
        # Prototypes that stand together without a blank line share their comment.
        between = {"above_it": NOT_BLANK} if function.is_prototype else {}
        key = (function.path, function.name)
        if has_comment_above(tree.lines(function.path), function.line - 1, **between):
            commented.add(key)
        else:
            bare.setdefault(key, function.line)
    for (path, name), line in bare.items():
        if (path, name) not in commented:
            yield Finding(path, line, f"{name} has no contract comment directly above it: write "
                          "one (callers, arguments with units, returns, errors)")


RULES = [rule_file_length, rule_function_length, rule_line_length, rule_contract_comment]
