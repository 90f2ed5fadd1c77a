#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Writes the headers of this folder: OpenSHMEM's typed names, one header for each type, and its
names by size, one for each size. The types are the lists in ../typed.h, the sizes those whose
headers ../sized.h includes. The text is committed so that grep, ctags and editors find each name.

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
SIZES = os.path.join(os.path.dirname(HERE), "sized.h")
SCOPES = ("", "_warp", "_block", "_group")
SIZE = re.compile(r"#include <shmem_dev/typed/bits(\d+)\.h>")
ROW = re.compile(r"X\((\w+),\s*([\w ]+),\s*(\d+),\s*(\w+),\s*(INT|FLT),")

HEAD = """/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 The shmem_dev authors */
/* Operations on elements of {what}. Written by generate.py, not by hand.
 * Each function has the contract of the byte or word form that its body calls; if it calls none,
 * that of the form which the comment above it names. nelems counts elements. */
#ifndef SHMEMD_TYPED_{upper}_H
#define SHMEMD_TYPED_{upper}_H
"""

# Headers of CUDA that have a type, and why C has it not.
CUDA_HEADERS = {"half": "cuda_fp16.h", "bfloat16": "cuda_bf16.h"}
ONLY_CXX = """
#if !defined(__cplusplus)
#error "shmem_dev/typed/{name}.h is for CUDA and C++: in C there is no {ctype}"
#endif

#include <{header}>
"""


class Type(NamedTuple):
    name: str  # in function names
    ctype: str
    bits: int
    kind: str  # suffix of the word form: u32, s64, f32
    is_float: bool
    sets: frozenset  # of BITWISE, STANDARD, FLOAT, CUDA: the type sets of typed.h that have it

    def pointer(self, argument, qualifier=""):
        """A pointer to the element as one to the word of the word form."""
        return f"({qualifier}uint{self.bits}_t *){argument}"

    def word(self, value):
        """A value as the word form's bits."""
        if "CUDA" in self.sets:  # its first and only member is a word
            return f"*(const uint{self.bits}_t *)&{value}"
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


def function(result, name, parameters, call, passes=True):
    """passes: the call is of a public function, which gets the call site."""
    keyword = "" if result == "void" else "return "
    return (f"SHMEMD_FN {result} {name}(const shmemd_ctx_t *ctx, {parameters} SHMEMD_SITE)\n"
            f"{{\n{keyword}{call}{' SHMEMD_PASS' if passes else ''});\n}}\n")


def scoped(result, name, parameters, form, arguments):
    """The function in each scope. parameters and arguments: those behind the group."""
    for scope in SCOPES:
        group, group_parameter = ("g, ", "shmemd_group_t g, ") if scope == "_group" else ("", "")
        yield function(result, name + scope, group_parameter + parameters,
                       f"{form}{scope}(ctx, {group}{arguments}")


def transfers(prefix, ctype, nbytes, suffix=""):
    """(comment, functions) of the operations that exist in each scope, for elements of nbytes.
    Names are prefix, operation, suffix (a size), and the rest."""
    amount = f"nelems * {nbytes}" if nbytes != "1" else "nelems"
    data = f"{ctype} *dst, const {ctype} *src, "
    signal, signal_parameters = "sig, value, op, ", "uint64_t *sig, uint64_t value, int op, "
    for operation, form, rest, extra, extra_parameters, result in (
            ("put", "putmem", "", "", "", "void"),
            ("get", "getmem", "", "", "", "int"),
            ("put", "putmem", "_signal", signal, signal_parameters, "void")):
        functions = []
        for nbi in ("", "_nbi"):
            functions += scoped("void" if nbi else result,
                                f"{prefix}{operation}{suffix}{rest}{nbi}",
                                f"{data}size_t nelems, {extra_parameters}int pe",
                                f"shmemd_{form}{rest}{nbi}", f"dst, src, {amount}, {extra}pe")
        yield f"As shmemd_{form}{rest} and shmemd_{form}{rest}_nbi, in each scope.", functions
    for operation, result in (("iput", "void"), ("iget", "int")):
        yield f"As shmemd_{operation}mem, in each scope.", list(scoped(
            result, f"{prefix}{operation}{suffix}",
            f"{data}ptrdiff_t dst_stride, ptrdiff_t src_stride, size_t nelems, int pe",
            f"shmemd_{operation}mem", f"dst, src, dst_stride, src_stride, {nbytes}, nelems, pe"))


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


SETS = (  # name, result, arguments before the array and behind it
    ("all", "int", (), ()), ("any", "size_t", ("size_t *index",), ()),
    ("some", "size_t", ("size_t *count",), ("size_t *indices",)))


def named(parameters):
    """The arguments that pass these parameters on."""
    return "".join(p.split("*")[-1] + ", " for p in parameters)


def set_functions(t, name, found, behind, wait):
    """Of wait_until_<name> (or of test_<name>, without a wait) for arrays."""
    for vector in ("", "_vector"):
        value = f"const {t.ctype} *values" if vector else f"{t.ctype} value"
        passed = "values" if vector else f"(uint64_t)(int64_t)value" \
            if t.kind.startswith("s") else "value"
        words_of = f"shmemdi_set{vector}(ivars, SHMEMDI_{t.kind.upper()}, nelems, mask, cmp, " \
            f"{passed})"
        parameters = [*found, f"const {t.ctype} *ivars", "size_t nelems", *behind,
                      "const int *mask", "int cmp", value]
        call = f"ctx, SHMEMDI_CALLER({'WAIT' if wait else 'TEST'}), {named(found)}{words_of}"
        call += "".join(f", {a}" for a in named(behind).split(", ") if a)
        if not wait:
            yield f"test_{name}{vector}", parameters, f"shmemdi_test_{name}({call}"
            continue
        yield (f"wait_until_{name}{vector}", parameters, f"shmemdi_wait_{name}({call}, "
               "shmemdi_limit_default(ctx, SHMEMDI_ANY_PE)")
        yield (f"wait_until_{name}{vector}_for", [*parameters, "uint64_t ns"],
               f"shmemdi_wait_{name}({call}, shmemdi_limit_for(ns)")


def sets(t):
    """Waits for arrays, and tests of them."""
    for name, result, found, behind in SETS:
        yield f"As shmemd_wait_until_{name}_u64 and those below it, and shmemd_test_{name}_u64.", [
            function("int" if wait else result, f"shmemd_{t.name}_{operation}",
                     ", ".join(parameters), call, passes=False)
            for wait in (True, False)
            for operation, parameters, call in set_functions(
                t, name, found if wait else (), behind, wait)]


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


def includes(*names):
    return "\n" + "".join(f"#include <shmem_dev/{name}.h>\n" for name in names)


def with_families(text, families):
    for comment, functions in families:
        text += f"\n/* {comment} */\n" + "\n".join(functions)
    return text + "\n#endif\n"


def header(t):
    """The text of typed/<name>.h before formatting."""
    families = [*transfers(f"shmemd_{t.name}_", t.ctype, f"sizeof({t.ctype})"), *words(t)]
    has_atomics = t.sets & {"STANDARD", "FLOAT"}
    used = ["rma", "signal", "strided"]
    if "STANDARD" in t.sets:
        families += [*waits(t), *sets(t)]
        used += ["wait", "wait_sets"]
    if has_atomics:
        families += atomics(t)
        used.append("amo")
    text = HEAD.format(what=f"type {t.ctype}", upper=t.name.upper())
    if "CUDA" in t.sets:
        text += ONLY_CXX.format(name=t.name, ctype=t.ctype, header=CUDA_HEADERS[t.name])
    return with_families(text + includes(*sorted(used)), families)


def sized_header(bits):
    """The text of typed/bits<bits>.h before formatting."""
    text = HEAD.format(what=f"{bits} bits", upper=f"BITS{bits}")
    return with_families(text + includes("rma", "signal", "strided"),
                         transfers("shmemd_", "void", str(bits // 8), str(bits)))


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
    wanted |= {f"bits{bits}.h": formatted(sized_header(int(bits)))
               for bits in SIZE.findall(read(SIZES) or "")}
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
