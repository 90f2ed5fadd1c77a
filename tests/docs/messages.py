#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""messages.py PAGE: the page, and the guide's page on fail-over beside it, list in the first column
of their tables what lines of the runtime say, as parts of them. Each is in a string of the sources,
and each line that the runtime prints or returns has one. Run from the root of the tree. Exit status
1: a row or a line has none, or two rows have the same part."""
import collections
import glob
import os
import re
import sys

FAILOVER = "failover.md"  # lines about paths

STRING = re.compile(r'"((?:\\.|[^"\\\n])*)"')
STRINGS = r'((?:"(?:\\.|[^"\\\n])*"\s*)+)'
# A call that makes a line, and the strings of its format.
CALL = re.compile(r"\bshmemhi_(?:fail|fail_thread|log)\([^;{}]*?" + STRINGS)
ROW = re.compile(r"^\| ((?:`[^`]+`(?:, )?)+) \|")
QUOTED = re.compile(r"`([^`]+)`")


def literal(strings):
    """A C string of several parts, with ... for what printf puts in."""
    text = "".join(STRING.findall(strings)).replace('\\"', '"').replace("\\n", "")
    return re.sub(r"%(?:PRI\w+|[-.*\d]*(?:ll|z|t|h)?[a-zA-Z])", "...", text)


def sources():
    for path in sorted(glob.glob("runtime/**/*.c", recursive=True)):
        if not path.startswith(("runtime/mlx5sw/", "runtime/tools/")):
            with open(path, encoding="utf-8") as file:
                text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.S)
            yield path, re.sub(r'"\s*(PRI\w+)', r'\1"', text)


def is_part(part, text):
    """Is it in the text? '...' of the page stands for anything."""
    pieces = [re.escape(piece.strip()) for piece in part.split("...")]
    return re.search(".*".join(pieces), text) is not None


def parts_of(page):
    """(page, part) of each message in the first columns of a page."""
    with open(page, encoding="utf-8") as file:
        rows = [QUOTED.findall(match[1]) for match in map(ROW.match, file) if match]
    return [(page, part) for row in rows for part in row]


def main():
    pages = [sys.argv[1], os.path.join(os.path.dirname(sys.argv[1]), FAILOVER)]
    places = [place for page in pages for place in parts_of(page)]
    parts = [part for _, part in places]
    strings, lines = [], []
    for path, text in sources():
        strings += [literal(match[1]) for match in re.finditer(STRINGS, text)]
        lines += [(path, literal(match[1])) for match in CALL.finditer(text)]
    wrong = [f"{page}: no line of the runtime has '{part}'" for page, part in places
             if not any(is_part(part, string) for string in strings)]
    wrong += [f"'{part}' has {n} rows: one is enough"
              for part, n in collections.Counter(parts).items() if n > 1]
    wrong += [f"{path}: neither page says what to do about '{line}'"
              for path, line in lines if re.search(r"\w{3} \w{2}", line)
              and not any(is_part(part, line) for part in parts)]
    for line in wrong:
        print(line)
    print(f"{len(parts)} messages in the pages, {len(lines)} calls, {len(wrong)} mistakes")
    return 1 if wrong or len({page for page, _ in places}) < len(pages) or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
