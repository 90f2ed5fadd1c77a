#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""nvshmem_names.py INCLUDE: include/shmem_dev/NVSHMEM.md names, for functions of NVSHMEM, functions
and macros that the headers of its rows declare, and says how many families are covered. INCLUDE is
the folder of the headers. Exit status 1: a name or the count is wrong."""
import os
import re
import sys

ROW = re.compile(r"^\| (`nvshmem.*?) \| (.*?) \| (.*?) \| (\w+) \| (.*?) \|$")
QUOTED = re.compile(r"`([^`]+)`")
COUNT = re.compile(r"\*\*(\d+) of (\d+) families are here, (\d+) partly, (\d+) not\.\*\*")
# A function's name before its parameters, or a macro's.
DECLARED = re.compile(r"^(?:SHMEMD_FN .*?|static inline int |#define )(shmemd_\w+)\(", re.M)


def declared(header):
    with open(header, encoding="utf-8") as file:
        return set(DECLARED.findall(file.read()))


def mistakes_of(row, headers):
    """What is wrong with one row: a name that none of its headers declares."""
    theirs, ours, where, covered, _ = row
    known = set().union(*(headers.get(name, set()) for name in QUOTED.findall(where)))
    for name in QUOTED.findall(ours):
        if name not in known:
            yield f"{theirs}: {name} is not in {where}"
    if (covered == "no") != (ours == ""):
        yield f"{theirs}: 'covered' is {covered}, and the names are '{ours}'"


def main():
    folder = os.path.join(sys.argv[1], "shmem_dev")
    with open(os.path.join(folder, "NVSHMEM.md"), encoding="utf-8") as file:
        text = file.read()
    rows = [match.groups() for match in map(ROW.match, text.splitlines()) if match]
    headers = {os.path.relpath(os.path.join(path, name), folder):
               declared(os.path.join(path, name))
               for path, _, names in os.walk(folder) for name in names if name.endswith(".h")}
    wrong = [line for row in rows for line in mistakes_of(row, headers)]
    counts = [sum(row[3] == covered for row in rows) for covered in ("yes", "partly", "no")]
    said = COUNT.search(text)
    if not rows or said is None or [int(said[k]) for k in (1, 3, 4)] != counts or \
            int(said[2]) != len(rows) or sum(counts) != len(rows):
        wrong.append(f"the rows are {counts[0]} of {len(rows)}, {counts[1]} partly, {counts[2]} "
                     "not: correct the count, and write yes, partly or no")
    for line in wrong:
        print(f"NVSHMEM.md: {line}")
    print(f"{len(rows)} families, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
