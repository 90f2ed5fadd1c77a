#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""guide.py: the table of docs/guide/threads.md has each function of the host library, and the table
of commands in docs/guide/README.md each command of the guide: what runs it, or why nothing does.
Run from the root of the tree. Exit status 1: something is missing."""
import glob
import os
import re
import sys

sys.path.insert(0, "docs/reference")
import filter as reference_filter  # pylint: disable=wrong-import-position

GUIDE = "docs/guide"
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.S | re.M)
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.M)
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+)`")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def main():
    table = text_of(f"{GUIDE}/threads.md").split("## Device")[0]
    functions = [name for header, kind, name in reference_filter.public_names()
                 if header.startswith("include/shmem_host/") and kind == "function"]
    wrong = [f"{GUIDE}/threads.md has no row for {name}" for name in functions
             if f"`{name}`" not in table]
    rows = dict(ROW.findall(text_of(f"{GUIDE}/README.md").partition("## Commands")[2]))
    commands = [(path, line) for path in sorted(glob.glob(f"{GUIDE}/*.md"))
                for block in COMMANDS.findall(text_of(path)) for line in block.splitlines()]
    rows = {command.replace("\\|", "|"): how for command, how in rows.items()}
    wrong += [f"{path}: '{line}' is not in the table of {GUIDE}/README.md: name the test that runs "
              "it, or say why none does" for path, line in commands if line not in rows]
    wrong += [f"{GUIDE}/README.md: there is no {name}" for how in rows.values()
              for name in FILE.findall(how) if not os.path.exists(name)]
    for line in wrong:
        print(line)
    print(f"{len(functions)} functions, {len(commands)} commands, {len(wrong)} missing")
    return 1 if wrong or not functions or not commands else 0


if __name__ == "__main__":
    sys.exit(main())
