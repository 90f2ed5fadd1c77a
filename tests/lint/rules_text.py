# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Heads, open ends, snippets, and what other tools check."""
import re
import shutil
import subprocess
import textwrap

from tree import Finding, Skipped

SPDX = "SPDX-License-Identifier: BSD-3-Clause"
COPYRIGHT = re.compile(r"Copyright \(c\) \d{4} The shmem_dev authors")
OPEN_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
SNIPPET_START = re.compile(r"(?:/\*|#|//) snippet: (\S+)")
SNIPPET_END = re.compile(r"(?:/\*|#|//) end\b")
SNIPPET_USE = re.compile(r"<!-- snippet: (\S+) (\S+) -->")
FILE_USE = re.compile(r"<!-- file: (\S+) -->")
OPTIONS = "runtime/base/options.h"
OPTION = re.compile(r'X\(\s*\w+,\s*\w+,\s*"(SHMEMH_\w+)",\s*"([^"]*)",'
                    r'\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
NVCC_REJECTS = re.compile(r"(^|\s)(-pthread|-Wl,\S*|-f[a-z-]+|-m[a-z0-9=-]+)(\s|$)")


def rule_spdx(tree):
    """Two lines of licence at the top of each source."""
    for path in tree.source_files():
        head = tree.lines(path)[:3]
        start = 1 if head and head[0].startswith("#!") else 0
        good = (len(head) >= start + 2 and SPDX in head[start]
                and COPYRIGHT.search(head[start + 1]))
        if not good:
            yield Finding(path, start + 1, f"does not start with the two licence lines ({SPDX}, "
                          "Copyright): copy them from another file")


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
        options[name] = ("-" if default in ("", "-1") else default, meaning)
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


def run_tool(tree, command, paths, pattern):
    """Findings from a tool that prints path:line:column: text."""
    if not paths:
        return
    out = subprocess.run(command + paths, cwd=tree.root, capture_output=True, text=True,
                         check=False)
    printed = out.stdout + out.stderr
    found = False
    for line in printed.splitlines():
        match = re.match(pattern, line)
        if match:
            found = True
            yield Finding(match.group(1), int(match.group(2)), match.group(3))
    if out.returncode and not found:
        yield Finding(paths[0], 1, f"{command[0]} failed: {printed.strip()[:300]}")


def rule_shellcheck(tree):
    """Shell scripts pass shellcheck."""
    if not shutil.which("shellcheck"):
        raise Skipped("shellcheck is not installed")
    return run_tool(tree, ["shellcheck", "-f", "gcc"], tree.shell_files(),
                    r"([^:]+):(\d+):\d+: (.*)")


def clang_format():
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            version = subprocess.run([name, "--version"], capture_output=True, text=True,
                                     check=False).stdout
            if re.search(r"version 14\.", version):
                return name
    raise Skipped("clang-format 14 is not installed (other versions format differently)")


def rule_clang_format(tree):
    """C sources look alike."""
    found = {}
    for finding in run_tool(tree, [clang_format(), "--dry-run"], tree.c_files(),
                            r"([^:]+):(\d+):\d+: (.*)"):
        found.setdefault(finding.path, finding)
    for finding in found.values():
        yield finding._replace(what=f"not formatted: run {clang_format()} -i {finding.path}")


RULES = [rule_spdx, rule_no_open_ends, rule_snippets, rule_shown_files, rule_options_table,
         rule_pkgconfig_flags, rule_shellcheck, rule_clang_format]
