#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""threads.py: the table of docs/guide/threads.md has each function of the host library. Run from
the root of the tree. Exit status 1: one is missing."""
import sys

sys.path.insert(0, "docs/reference")
import filter as reference_filter  # pylint: disable=wrong-import-position

TABLE = "docs/guide/threads.md"


def main():
    with open(TABLE, encoding="utf-8") as file:
        table = file.read().split("## Device")[0]
    functions = [name for header, kind, name in reference_filter.public_names()
                 if header.startswith("include/shmem_host/") and kind == "function"]
    wrong = [name for name in functions if f"`{name}`" not in table]
    for name in wrong:
        print(f"{TABLE} has no row for {name}")
    print(f"{len(functions)} functions, {len(wrong)} missing")
    return 1 if wrong or not functions else 0


if __name__ == "__main__":
    sys.exit(main())
