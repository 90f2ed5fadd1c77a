#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Seeded mistakes (mistakes.py; array_, bulk_, check_, completion_, copy_, fault_, grid_, packed_,
team_, trace_ and turn_mistakes.py).

seeded.py copy DIR   copy the device headers to DIR, and to DIR/runtime those sources of the runtime
                     that have mistakes, with every mistake built in, beside the right code and
                     off; DIR/seeded.h has their numbers
seeded.py run DIR [NAME...]
                     run the programs DIR/seeded_NAME, or those named, built from that copy: with
                     each mistake the test named for it must fail, and without it must pass. Exit
                     status 1: a mistake is missed; 2: a test does not pass without a mistake"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import time

import mistakes
from array_mistakes import ARRAY_MISTAKES
from bulk_mistakes import BULK_MISTAKES
from check_mistakes import CHECK_MISTAKES
from completion_mistakes import COMPLETION_MISTAKES
from copy_mistakes import COPY_MISTAKES
from fault_mistakes import FAULT_MISTAKES
from grid_mistakes import GRID_MISTAKES
from packed_mistakes import PACKED_MISTAKES
from team_mistakes import TEAM_MISTAKES
from trace_mistakes import TRACE_MISTAKES
from turn_mistakes import TURN_MISTAKES

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
MISTAKES = (mistakes.MISTAKES + ARRAY_MISTAKES + BULK_MISTAKES + CHECK_MISTAKES
            + COMPLETION_MISTAKES + COPY_MISTAKES + FAULT_MISTAKES + GRID_MISTAKES
            + PACKED_MISTAKES + TEAM_MISTAKES + TRACE_MISTAKES + TURN_MISTAKES)
SECONDS = 120  # of a test without its mistake
HANG_SECONDS = 3  # a mistake may hang its test
SKIPPED = 77  # exit status


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
                 "its row in tests/seeded/*mistakes.py")
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


def run_test(directory, number, program, test, seconds=SECONDS):
    """What became of a test ("passes", "fails", "is skipped", "is not built"), why, and the time
    that it took."""
    program, _, team = program.partition(".")
    environment = dict(os.environ, SEEDED=str(number), SEEDED_TEST=test, SHMEMSIM_PES="4",
                       PES_SEEDS="5")
    if team:
        environment["PES_TEAM"] = team
    start = time.monotonic()
    try:
        run = subprocess.run([os.path.join(directory, "seeded_" + program), test], timeout=seconds,
                             env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, check=False, encoding="utf-8",
                             errors="replace")
    except subprocess.TimeoutExpired:
        return "fails", f"no end within {seconds:.0f} s", seconds
    except FileNotFoundError:
        return ("is not built",
                f"there is no {directory}/seeded_{program}: build target 'seeded'", 0)
    took = time.monotonic() - start
    last = (run.stdout.strip().splitlines() or ["no output"])[-1]
    if run.returncode == SKIPPED:
        return "is skipped", last, took
    return "fails" if run.returncode else "passes", f"status {run.returncode}: {last}", took


def try_mistake(directory, number, good):
    """What the test named for a mistake says of it, and the time. One that hangs its test is given
    ten times as long as the test takes without it."""
    program, test = MISTAKES[number - 1][4:6]
    what, _, took = good[program, test]
    if what != "passes":
        return "not tried", 0
    seconds = min(SECONDS, max(HANG_SECONDS, 10 * took))
    what, _, took = run_test(directory, number, program, test, seconds)
    return "caught" if what == "fails" else "NOT CAUGHT", took


def run_tests(directory, programs):
    """A test that is red without its mistake shows nothing: an error, neither caught nor missed.
    As many run at a time as there are processors: many of them wait for limits."""
    numbers = [n for n, m in enumerate(MISTAKES, 1)
               if not programs or m[4].partition(".")[0] in programs]
    tests = list(dict.fromkeys(tuple(MISTAKES[n - 1][4:6]) for n in numbers))
    count = {"caught": 0, "NOT CAUGHT": 0, "not tried": 0}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        good = dict(zip(tests, pool.map(lambda t: run_test(directory, 0, *t), tests)))
        results = pool.map(lambda n: try_mistake(directory, n, good), numbers)
        for number, (result, took) in zip(numbers, results):
            name, what, _, _, program, test = MISTAKES[number - 1]
            count[result] += 1
            print(f"{name:13} {'test_' + program + ' ' + test:48} {result:11} {took:5.1f} s  "
                  f"{what}", flush=True)
    n_red = count["not tried"]
    print(f"{sum(count.values())} mistakes: {count['caught']} caught, {count['NOT CAUGHT']} missed"
          + (f", {n_red} not tried" if n_red else ""), flush=True)
    for (program, test), (what, why, _) in good.items():
        if what != "passes":
            print(f"error: without a mistake test_{program} {test} {what}: {why}", file=sys.stderr)
    if n_red:
        return 2
    return 1 if count["NOT CAUGHT"] or not count["caught"] else 0


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("copy", "run"):
        sys.exit(__doc__)
    if sys.argv[1] == "copy":
        return write_copy(sys.argv[2])
    return run_tests(sys.argv[2], sys.argv[3:])


if __name__ == "__main__":
    sys.exit(main())
