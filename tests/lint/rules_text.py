# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Open ends, and documents that must agree with the code."""
import re
import textwrap

from tree import Finding

OPEN_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
SNIPPET_START = re.compile(r"(?:/\*|#|//) snippet: (\S+)")
SNIPPET_END = re.compile(r"(?:/\*|#|//) end\b")
SNIPPET_USE = re.compile(r"<!-- snippet: (\S+) (\S+) -->")
FILE_USE = re.compile(r"<!-- file: (\S+) -->")
OPTIONS = "runtime/base/options.h"
OPTION = re.compile(r'X\(\s*\w+,\s*\w+,\s*"(SHMEMH_\w+)",\s*"([^"]*)",'
                    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
NVCC_REJECTS = re.compile(r"(^|\s)(-pthread|-Wl,\S*|-f[a-z-]+|-m[a-z0-9=-]+)(\s|$)")


def rule_no_open_ends(tree):
    """Nothing is left for later in the tree; issues are for that."""
    for path in tree.source_files() + tree.select(r"\.md$"):
        for number, line in enumerate(tree.lines(path), 1):
            match = OPEN_ENDS.search(line)
            if match:
                yield Finding(path, number, f"'{match.group()}': finish it, or file an issue and "
                              "say what holds today")


def snippet_of_source(tree, path, name):
    """The lines between the markers of a source, dedented; None if there is no such snippet."""
    taken = None
    for line in tree.lines(path):
        start = SNIPPET_START.search(line)
        if taken is None and start and start.group(1) == name:
            taken = []
        elif taken is not None and SNIPPET_END.search(line):
            return textwrap.dedent("\n".join(taken)).strip("\n")
        elif taken is not None:
            taken.append(line)
    return None


def code_block_after(lines, index):
    """The code block that starts right below lines[index]; None if there is none."""
    rest = lines[index + 1:]
    while rest and not rest[0].strip():
        rest = rest[1:]
    if not rest or not rest[0].startswith("```"):
        return None
    block = []
    for line in rest[1:]:
        if line.startswith("```"):
            return textwrap.dedent("\n".join(block)).strip("\n")
        block.append(line)
    return None


def rule_snippets(tree):
    """Code shown in a document is the code that is built."""
    for page in tree.select(r"\.md$"):
        lines = tree.lines(page)
        for index, line in enumerate(lines):
            use = SNIPPET_USE.search(line)
            if not use:
                continue
            path, name = use.groups()
            source = snippet_of_source(tree, path, name) if path in tree.paths else None
            block = code_block_after(lines, index)
            if source is None:
                yield Finding(page, index + 1, f"no snippet '{name}' in {path}: mark it there with "
                              f"/* snippet: {name} */ ... /* end */")
            elif block is None:
                yield Finding(page, index + 1, "no code block below the snippet comment: add it")
            elif block != source:
                yield Finding(page, index + 1, f"the code block differs from snippet '{name}' of "
                              f"{path}: copy the source here")


def rule_shown_files(tree):
    """A whole file shown in a document, such as output that a test expects, is that file."""
    for page in tree.select(r"\.md$"):
        lines = tree.lines(page)
        for index, line in enumerate(lines):
            use = FILE_USE.search(line)
            if not use:
                continue
            path = use.group(1)
            shown = "\n".join(tree.lines(path)).strip("\n") if path in tree.paths else None
            if shown is None:
                yield Finding(page, index + 1, f"there is no file {path}")
            elif code_block_after(lines, index) != shown:
                yield Finding(page, index + 1, f"the code block differs from {path}: copy the "
                              "file here")


def options_of_source(tree):
    """{name: (default, help)} of the one table of options, as shmem-info prints it."""
    text = tree.text(OPTIONS).replace("\\\n", " ")
    options = {}
    for name, default, strings in OPTION.findall(text):
        meaning = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings))
        # -1 stands for "none" unless the text gives it a meaning.
        is_none = default == "" or (default == "-1" and "-1:" not in meaning)
        options[name] = ("-" if is_none else default, meaning)
    return options


def rule_options_table(tree):
    """README has each option as a row: | `NAME` | default | meaning |."""
    if OPTIONS not in tree.paths:
        return
    expected = options_of_source(tree)
    rows = {}
    for number, line in enumerate(tree.lines("README.md") if "README.md" in tree.paths else [], 1):
        match = re.match(r"\| `(SHMEMH_\w+)` \| (.*?) \| (.*) \|$", line)
        if match:
            rows[match.group(1)] = (number, match.group(2), match.group(3).replace("\\|", "|"))
    for name, (default, meaning) in expected.items():
        number, *row = rows.pop(name, (1, None, None))
        if row != [default, meaning]:
            cell = meaning.replace("|", "\\|")
            yield Finding("README.md", number, f"the table of options differs from {OPTIONS}, "
                          f"write: | `{name}` | {default} | {cell} |")
    for name, (number, *_) in rows.items():
        yield Finding("README.md", number, f"no option {name} in {OPTIONS}: remove the row")


def rule_pkgconfig_flags(tree):
    """nvcc takes the output of pkg-config as it is."""
    for path in tree.select(r"\.pc(\.in)?$"):
        for number, line in enumerate(tree.lines(path), 1):
            match = NVCC_REJECTS.search(line)
            if match and re.match(r"(Libs|Cflags)", line):
                yield Finding(path, number, f"'{match.group(2)}' is rejected by nvcc: leave it out")


RULES = [rule_no_open_ends, rule_snippets, rule_shown_files, rule_options_table,
         rule_pkgconfig_flags]
