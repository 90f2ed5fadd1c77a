#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Writes the headers of this folder: OpenSHMEM's typed names, one header for each type. The types
are the list in ../typed.h. The text is committed so that grep, ctags and editors find each name.

generate.py          write the headers, remove those of types that are no longer in the list
generate.py --check  change nothing; exit status 1 if a header differs from what would be written"""
import os
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

HERE = os.path.dirname(os.path.abspath(__file__))
LIST = os.path.join(os.path.dirname(HERE), "typed.h")
SCOPES = ("", "_warp", "_block", "_group")
ROW = re.compile(r"X\((\w+),\s*([\w ]+),\s*(\d+),\s*(\w+),\s*(INT|FLT),")

HEAD = """/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of type {ctype}. Written by generate.py, not by hand.
 * Each function is one call of the byte or word form in its body, whose contract applies. nelems
 * counts elements. */
#ifndef SHMEMD_TYPED_{upper}_H
#define SHMEMD_TYPED_{upper}_H

#include <shmem_dev/amo.h>
#include <shmem_dev/rma.h>
#include <shmem_dev/signal.h>
#include <shmem_dev/wait.h>
"""


class Type(NamedTuple):
    name: str  # in function names
    ctype: str
    bits: int
    kind: str  # suffix of the word form: u32, s64, f32
    is_float: bool
    sets: frozenset  # of BITWISE, STANDARD, FLOAT: the type sets of typed.h that have it

    def pointer(self, argument, qualifier=""):
        """A pointer to the element as one to the word of the word form."""
        return f"({qualifier}uint{self.bits}_t *){argument}"

    def word(self, value):
        """A value as the word form's bits."""
        if self.is_float:
            return f"shmemdi_bits_f{self.bits}({value})"
        return f"(uint{self.bits}_t){value}"


def types_of(text):
    """The rows of the list, each with the sets that it is in. A set may contain others."""
    found = {}
    for name, body in re.findall(r"#define SHMEMD_(\w+)_TYPES\(((?:[^\n]*\\\n)*[^\n]*)", text):
        for row in ROW.findall(body):
            found.setdefault(row, set()).add(name)
            if name == "BITWISE":
                found[row].add("STANDARD")
    return [Type(name, ctype.strip(), int(bits), kind, kind_class == "FLT", frozenset(sets))
            for (name, ctype, bits, kind, kind_class), sets in found.items()]


def function(result, name, parameters, call):
    keyword = "" if result == "void" else "return "
    return (f"SHMEMD_FN {result} {name}(const shmemd_ctx_t *ctx, {parameters} SHMEMD_SITE)\n"
            f"{{\n{keyword}{call} SHMEMD_PASS);\n}}\n")


def transfers(t):
    """(comment, functions) of the operations that exist in each scope."""
    amount = f"nelems * sizeof({t.ctype})"
    signal, signal_parameters = "sig, value, op, ", "uint64_t *sig, uint64_t value, int op, "
    for operation, form, extra, extra_parameters, result in (
            ("put", "putmem", "", "", "void"),
            ("get", "getmem", "", "", "int"),
            ("put_signal", "putmem_signal", signal, signal_parameters, "void")):
        functions = []
        for nbi in ("", "_nbi"):
            for scope in SCOPES:
                group, group_parameter = ("g, ", "shmemd_group_t g, ") if scope == "_group" else \
                    ("", "")
                functions.append(function(
                    "void" if nbi else result, f"shmemd_{t.name}_{operation}{nbi}{scope}",
                    f"{group_parameter}{t.ctype} *dst, const {t.ctype} *src, size_t nelems, "
                    f"{extra_parameters}int pe",
                    f"shmemd_{form}{nbi}{scope}(ctx, {group}dst, src, {amount}, {extra}pe"))
        yield f"As shmemd_{form} and shmemd_{form}_nbi, in each scope.", functions


def words(t):
    yield f"As shmemd_p_u{t.bits} and shmemd_g_u{t.bits}.", [
        function("void", f"shmemd_{t.name}_p", f"{t.ctype} *dst, {t.ctype} value, int pe",
                 f"shmemd_p_u{t.bits}(ctx, {t.pointer('dst')}, {t.word('value')}, pe"),
        function("int", f"shmemd_{t.name}_g", f"{t.ctype} *value, const {t.ctype} *src, int pe",
                 f"shmemd_g_u{t.bits}(ctx, {t.pointer('value')}, {t.pointer('src', 'const ')}, pe")]


def waits(t):
    sign = "u" if t.kind.startswith("u") else ""
    word = f"(const {sign}int{t.bits}_t *)ivar"
    yield f"As shmemd_wait_until_{t.kind}, shmemd_wait_until_for_{t.kind} and " \
        f"shmemd_test_{t.kind}.", [
            function("int", f"shmemd_{t.name}_{operation}",
                     f"const {t.ctype} *ivar, int cmp, {t.ctype} value{limit_parameter}",
                     f"shmemd_{operation}_{t.kind}(ctx, {word}, cmp, value{limit}")
            for operation, limit, limit_parameter in (
                ("wait_until", "", ""), ("wait_until_for", ", ns", ", uint64_t ns"),
                ("test", "", ""))]


def atomic(t, operation, result, parameters, arguments):
    return function(result, f"shmemd_{t.name}_atomic_{operation}",
                    f"{', '.join(parameters)}, int pe",
                    f"shmemd_atomic_{operation}_u{t.bits}(ctx, {', '.join(arguments)}, pe")


def atomics(t):
    old, dst, value = f"{t.ctype} *old", f"{t.ctype} *dst", f"{t.ctype} value"
    to_old, to_dst, word = t.pointer("old"), t.pointer("dst"), t.word("value")
    bitwise = ("and", "or", "xor") if "BITWISE" in t.sets else ()
    is_standard = "STANDARD" in t.sets
    updates = [atomic(t, operation, "void", (dst, value), (to_dst, word))
               for operation in ("set", *(("add",) if is_standard else ()), *bitwise)]
    fetches = [atomic(t, "fetch", "int", (old, f"const {t.ctype} *src"),
                      (to_old, t.pointer("src", "const ")))]
    fetches += [atomic(t, operation, "int", (old, dst, value), (to_old, to_dst, word))
                for operation in ("swap", *(("fetch_add",) if is_standard else ()),
                                  *(f"fetch_{b}" for b in bitwise))]
    if is_standard:
        updates.append(atomic(t, "inc", "void", (dst,), (to_dst,)))
        fetches.append(atomic(t, "fetch_inc", "int", (old, dst), (to_old, to_dst)))
        fetches.append(atomic(t, "compare_swap", "int", (old, dst, f"{t.ctype} cond", value),
                              (to_old, to_dst, t.word("cond"), word)))
    yield f"As shmemd_atomic_set_u{t.bits} and those below it: no result.", updates
    yield f"As shmemd_atomic_fetch_u{t.bits} and those below it: *old receives the value before.", \
        fetches
    if t.is_float:
        yield f"As shmemd_atomic_add_{t.kind} and shmemd_atomic_fetch_add_{t.kind}.", [
            function("int", f"shmemd_{t.name}_atomic_add", f"{dst}, {value}, int pe",
                     f"shmemd_atomic_add_{t.kind}(ctx, dst, value, pe"),
            function("int", f"shmemd_{t.name}_atomic_fetch_add", f"{old}, {dst}, {value}, int pe",
                     f"shmemd_atomic_fetch_add_{t.kind}(ctx, old, dst, value, pe")]


def header(t):
    """The text of typed/<name>.h before formatting."""
    families = [*transfers(t), *words(t)]
    if "STANDARD" in t.sets:
        families += waits(t)
    if t.sets & {"STANDARD", "FLOAT"}:
        families += atomics(t)
    text = HEAD.format(ctype=t.ctype, upper=t.name.upper())
    for comment, functions in families:
        text += f"\n/* {comment} */\n" + "\n".join(functions)
    return text + "\n#endif\n"


def formatted(text):
    program = shutil.which("clang-format-14") or "clang-format"
    return subprocess.run([program, "--assume-filename", os.path.join(HERE, "a.h")], input=text,
                          capture_output=True, text=True, check=True).stdout


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    wanted = {f"{t.name}.h": formatted(header(t)) for t in types_of(read(LIST))}
    present = {name: read(os.path.join(HERE, name)) for name in os.listdir(HERE)
               if name.endswith(".h")}
    differing = sorted(name for name in wanted.keys() | present.keys()
                       if wanted.get(name) != present.get(name))
    for name in differing:
        path = os.path.join(HERE, name)
        if len(sys.argv) > 1:
            print(f"{os.path.relpath(path)}:1: differs from what generate.py writes: run it")
        elif name in wanted:
            with open(path, "w", encoding="utf-8") as file:
                file.write(wanted[name])
        else:
            os.remove(path)
    return 1 if len(sys.argv) > 1 and differing else 0


if __name__ == "__main__":
    sys.exit(main())
