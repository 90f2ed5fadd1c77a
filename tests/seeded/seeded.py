#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Seeded mistakes (mistakes.py).

seeded.py copy DIR   copy the device headers to DIR, and to DIR/runtime those sources of the runtime
                     that have mistakes, with every mistake built in, beside the right code and
                     off; DIR/seeded.h has their numbers
seeded.py run DIR [NAME...]
                     run the programs DIR/seeded_NAME, or those named, built from that copy: with
                     each mistake the test named for it must fail, and without it must pass"""
import os
import re
import shutil
import subprocess
import sys

from mistakes import MISTAKES

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
SECONDS = 120  # a mistake may hang its test


def pattern_of(where):
    """The text of `where` as a pattern that takes any white space; the right part is a group."""
    before, right, after = re.fullmatch(r"(.*)\{\{(.*)\|.*\}\}(.*)", where).groups()
    words = (r"\s*".join(re.escape(token) for token in re.findall(r"\w+|[^\w\s]", part))
             for part in (before, right, after))
    return re.compile(r"({})(\s*)({})(\s*{})".format(*words))


def build_in(text, number, mistake):
    name, _, source, where, _, _ = mistake
    wrong = where[where.index("{{"):where.index("}}")].split("|")[-1]
    found = list(pattern_of(where).finditer(text))
    if len(found) != 1:
        sys.exit(f"seeded.py: {name}: {source} has {len(found)} places like '{where}': correct "
                 "mistakes.py")
    begin, end = found[0].span(3)
    return f"{text[:begin]}(seeded == {number} ? ({wrong}) : ({text[begin:end]})){text[end:]}"


def write_copy(out):
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "include", "shmem_dev"), os.path.join(out, "shmem_dev"))
    for source in {mistake[2] for mistake in MISTAKES if mistake[2].endswith(".c")}:
        path = os.path.join(out, "runtime", source)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, "runtime", source), path)
    for number, mistake in enumerate(MISTAKES, 1):
        tree = "runtime" if mistake[2].endswith(".c") else "shmem_dev"
        path = os.path.join(out, tree, mistake[2])
        with open(path, encoding="utf-8") as file:
            text = build_in(file.read(), number, mistake)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    names = "".join(f"\tSEEDED_{mistake[0]},\n" for mistake in MISTAKES)
    with open(os.path.join(out, "seeded.h"), "w", encoding="utf-8") as file:
        file.write(f"enum seeded {{\n\tSEEDED_NONE,\n{names}}};\nextern int seeded;\n")


def passes(directory, number, program, test):
    environment = dict(os.environ, SEEDED=str(number), SEEDED_TEST=test, SHMEMSIM_PES="4",
                       PES_SEEDS="5")
    try:
        run = subprocess.run([os.path.join(directory, "seeded_" + program), test], timeout=SECONDS,
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                             check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def run_tests(directory, programs):
    good = {}  # (program, test): it passes without a mistake
    n_run = n_caught = 0
    for number, (name, what, _, _, program, test) in enumerate(MISTAKES, 1):
        if programs and program not in programs:
            continue
        if (program, test) not in good:
            good[program, test] = passes(directory, 0, program, test)
        if not good[program, test]:
            result = "the test fails without the mistake too"
        elif passes(directory, number, program, test):
            result = "NOT CAUGHT"
        else:
            result = "caught"
        n_run += 1
        n_caught += result == "caught"
        print(f"{name:13} {'test_' + program + ' ' + test:48} {result:11} {what}", flush=True)
    print(f"{n_run} mistakes: {n_caught} caught, {n_run - n_caught} missed")
    return 0 if n_run and n_caught == n_run else 1


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("copy", "run"):
        sys.exit(__doc__)
    if sys.argv[1] == "copy":
        return write_copy(sys.argv[2])
    return run_tests(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
