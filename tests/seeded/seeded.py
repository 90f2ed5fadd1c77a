#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Seeded mistakes (mistakes.py).

seeded.py headers DIR    copy the device headers to DIR, with every mistake built in, beside the
                         right code and off; DIR/seeded.h has their numbers
seeded.py run DIR        run the programs DIR/seeded_NAME, built against that copy: with each
                         mistake the test named for it must fail, and without it must pass"""
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
    name, _, header, where, _, _ = mistake
    wrong = where[where.index("{{"):where.index("}}")].split("|")[-1]
    found = list(pattern_of(where).finditer(text))
    if len(found) != 1:
        sys.exit(f"seeded.py: {name}: {header} has {len(found)} places like '{where}': correct "
                 "mistakes.py")
    begin, end = found[0].span(3)
    return f"{text[:begin]}(seeded == {number} ? ({wrong}) : ({text[begin:end]})){text[end:]}"


def write_headers(out):
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "include", "shmem_dev"), os.path.join(out, "shmem_dev"))
    for number, mistake in enumerate(MISTAKES, 1):
        path = os.path.join(out, "shmem_dev", mistake[2])
        with open(path, encoding="utf-8") as file:
            text = build_in(file.read(), number, mistake)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    names = "".join(f"\tSEEDED_{mistake[0]},\n" for mistake in MISTAKES)
    with open(os.path.join(out, "seeded.h"), "w", encoding="utf-8") as file:
        file.write(f"enum seeded {{\n\tSEEDED_NONE,\n{names}}};\nextern int seeded;\n")


def passes(directory, number, program, test):
    environment = dict(os.environ, SEEDED=str(number), SHMEMSIM_PES="4", PES_SEEDS="5")
    try:
        run = subprocess.run([os.path.join(directory, "seeded_" + program), test], timeout=SECONDS,
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                             check=False)
    except subprocess.TimeoutExpired:
        return False
    return run.returncode == 0


def run_tests(directory):
    good = {}  # (program, test): it passes without a mistake
    n_caught = 0
    for number, (name, what, _, _, program, test) in enumerate(MISTAKES, 1):
        if (program, test) not in good:
            good[program, test] = passes(directory, 0, program, test)
        if not good[program, test]:
            result = "the test fails without the mistake too"
        elif passes(directory, number, program, test):
            result = "NOT CAUGHT"
        else:
            result = "caught"
        n_caught += result == "caught"
        print(f"{name:13} {'test_' + program + ' ' + test:36} {result:11} {what}", flush=True)
    print(f"{len(MISTAKES)} mistakes: {n_caught} caught, {len(MISTAKES) - n_caught} missed")
    return 0 if MISTAKES and n_caught == len(MISTAKES) else 1


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("headers", "run"):
        sys.exit(__doc__)
    return write_headers(sys.argv[2]) if sys.argv[1] == "headers" else run_tests(sys.argv[2])


if __name__ == "__main__":
    sys.exit(main())
