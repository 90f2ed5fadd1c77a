#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The call trace of one put, from a run of put_trace on the emulator: a line for each function that
accesses memory on behalf of the put, in the order of the run.

    put_trace.py PROGRAM            print it
    put_trace.py PROGRAM DESIGN.md  is it what the document shows? Otherwise exit with 1."""
import subprocess
import sys
import textwrap

# The callers of a put of one WQE by a thread: each function that they call gets a line.
POSTING = ("shmemdi_nic_put_reserve", "shmemdi_put_of_thread", "shmemdi_nic_put_post",
           "shmemdi_put_post")
KINDS = {0: "load", 1: "load", 2: "load.acquire", 3: "store", 4: "store", 5: "store.release",
         6: "atomic", 7: "fence", 8: "fence.acquire", 9: "fence.release", 10: "fence.sc"}
NIC = "(the NIC)"
WIDTH = 100
MARKER = "<!-- trace: tests/docs/put_trace.py -->"
# What the NIC does with its own copies of a queue's state, or with other queues, is left out.
NIC_WORDS = ("WQEBB", "source", "target", "CQE")


def functions(program):
    """The functions of a program that is not position-independent, as (first, last, name)."""
    out = subprocess.run(["nm", "-S", "--defined-only", program], capture_output=True, text=True,
                         check=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return [(int(row[0], 16), int(row[0], 16) + int(row[1], 16), row[3])
            for row in rows if len(row) == 4 and row[2] in "tT"]


def accesses(program):
    """(caller, access, place) for each line of a run."""
    known = functions(program)
    run = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    for line in run.splitlines():
        kind, place, addresses = line.split("|")
        calls = [next((name for first, last, name in known if first < address <= last), "")
                 for address in (int(text, 16) for text in addresses.split())]
        caller = next((calls[i - 1] for i, name in enumerate(calls) if name in POSTING), NIC)
        yield caller, KINDS[int(kind)], place


def without_repeats(items):
    return [item for i, item in enumerate(items) if i == 0 or item != items[i - 1]]


def steps(program):
    """[caller, [access and place, ...]] in the order of the run. Polls of the waiter are one."""
    table = []
    for caller, kind, place in accesses(program):
        if caller == NIC and not (place in NIC_WORDS and kind in ("load", "store")):
            continue
        if not table or table[-1][0] != caller:
            table.append([caller, []])
        table[-1][1].append(f"{kind} {place}".strip())
    return table


def text_of(table):
    """Two columns. Of several turns of a poll loop the first and the last are shown."""
    callers = [caller for caller, _ in table]
    rows = []
    for i, (caller, items) in enumerate(table):
        if caller in callers[:i] and caller in callers[i + 1:]:
            continue
        kept = without_repeats(items)
        if caller == NIC:
            kept = list(dict.fromkeys(kept))
        lines = textwrap.wrap(", ".join(item.replace(" ", "_") for item in kept), WIDTH - 25)
        rows += [f"{caller if line == lines[0] else '':24} {line.replace('_', ' ')}"
                 for line in lines]
    return "".join(row + "\n" for row in rows)


def shown(document):
    """The fenced block that follows the marker."""
    with open(document, encoding="utf-8") as file:
        _, found, rest = file.read().partition(MARKER + "\n```\n")
    return rest.split("```\n", 1)[0] if found else None


def main():
    trace = text_of(steps(sys.argv[1]))
    if len(sys.argv) < 3:
        print(trace, end="")
        return 0
    if shown(sys.argv[2]) == trace:
        return 0
    print(f"{sys.argv[2]} does not show this trace after '{MARKER}':\n{trace}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
