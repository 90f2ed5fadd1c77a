# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""What other tools check: clang-format, clang-tidy, codespell, reuse, shellcheck."""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import tempfile

from tree import Finding, Skipped

COMPILE_COMMANDS = "build/plain/compile_commands.json"
TIDY_SOURCES = re.compile(r"^(runtime|tests)/.*\.c$")
PATH_LINE = r"([^:]+):(\d+): (.*)"
PATH_LINE_COLUMN = r"([^:]+):(\d+):\d+: (.*)"
FILES_PER_RUN = 8


def program(*names):
    """The first of these programs that is installed."""
    for name in names:
        if shutil.which(name):
            return name
    raise Skipped(f"{names[-1]} is not installed")


def run_tool(tree, command, paths, pattern):
    """Findings from a tool that prints lines of this pattern: path, line, what is wrong."""
    out = subprocess.run(command + paths, cwd=tree.root, capture_output=True, text=True,
                         check=False)
    printed = out.stdout + out.stderr
    found = False
    for line in printed.splitlines():
        match = re.match(pattern, line)
        if match:
            found = True
            yield Finding(os.path.relpath(os.path.join(tree.root, match.group(1)), tree.root),
                          int(match.group(2)), match.group(3))
    if out.returncode and not found:
        yield Finding((paths or command[1:])[0], 1,
                      f"{command[0]} failed: {printed.strip()[:300]}")


def rule_shellcheck(tree):
    """Shell scripts pass shellcheck."""
    paths = tree.shell_files()
    if paths:
        yield from run_tool(tree, [program("shellcheck"), "-f", "gcc"], paths, PATH_LINE_COLUMN)


def clang_format():
    name = program("clang-format-14", "clang-format")
    version = subprocess.run([name, "--version"], capture_output=True, text=True,
                             check=False).stdout
    if not re.search(r"version 14\.", version):
        raise Skipped("clang-format 14 is not installed (other versions format differently)")
    return name


def rule_clang_format(tree):
    """C sources look alike."""
    found = {}
    if tree.c_files():
        for finding in run_tool(tree, [clang_format(), "--dry-run"], tree.c_files(),
                                PATH_LINE_COLUMN):
            found.setdefault(finding.path, finding)
    for finding in found.values():
        yield finding._replace(what=f"not formatted: run {clang_format()} -i {finding.path}")


def rule_typed_headers(tree):
    """The headers of typed names are what their generator writes."""
    generator = "include/shmem_dev/typed/generate.py"
    if generator in tree.paths:
        clang_format()
        yield from run_tool(tree, ["python3", generator, "--check"], [], PATH_LINE)


def rule_codespell(tree):
    """Words are spelled as dictionaries have them; tests/lint/words.txt has our exceptions."""
    paths = [p for p in tree.paths if "/corpus/" not in p and p != "tests/lint/words.txt"]
    words = os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.txt")
    yield from run_tool(tree, [program("codespell"), "--ignore-words", words], paths, PATH_LINE)


def compile_commands(tree):
    """One command for each source of runtime/ and tests/ that is built, without mistakes in it."""
    try:
        with open(os.path.join(tree.root, COMPILE_COMMANDS), encoding="utf-8") as file:
            entries = json.load(file)
    except FileNotFoundError as error:
        raise Skipped(f"no {COMPILE_COMMANDS}: run cmake --preset plain") from error
    chosen = {}
    for entry in entries:
        entry["directory"] = os.path.join(tree.root, entry["directory"])
        source = os.path.relpath(os.path.join(entry["directory"], entry["file"]), tree.root)
        if TIDY_SOURCES.search(source) and source in tree.paths and "seeded" not in \
                entry["command"]:
            chosen.setdefault(source, entry)
    return chosen


def rule_clang_tidy(tree):
    """C sources pass the checks of .clang-tidy, and so do the headers that they include."""
    commands = compile_commands(tree)
    sources = sorted(commands)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump(list(commands.values()), file)
        command = [program("clang-tidy-14", "clang-tidy"), "--quiet", "-p", folder]

        def run(first):
            return list(run_tool(tree, command, sources[first:first + FILES_PER_RUN],
                                 r"([^:]+):(\d+):\d+: (?:warning|error): (.*)"))
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            found = {finding for part in pool.map(run, range(0, len(sources), FILES_PER_RUN))
                     for finding in part}
    yield from sorted(finding for finding in found if finding.path in tree.paths)


def rule_reuse(tree):
    """Each file has a licence and a copyright line, or a row in .reuse/dep5. The text of the
    licence is in LICENSE alone, which reuse reports as missing from LICENSES."""
    out = subprocess.run([program("reuse"), "--root", ".", "lint"], cwd=tree.root,
                         capture_output=True, text=True, check=False)
    details, summary, _ = out.stdout.partition("# SUMMARY")
    heading = ""
    for line in details.splitlines():
        if line.startswith("* ") and not heading.startswith("'BSD-3-Clause' found in"):
            yield Finding(line[2:], 1, f"{heading} (reuse lint): copy the first two lines of "
                          "another file, or name this file in .reuse/dep5")
        elif line and not line.startswith(("#", "*")):
            heading = line.rstrip(":")
    if not summary:
        yield Finding(".reuse/dep5", 1, f"reuse lint: {(out.stdout + out.stderr).strip()[:300]}")


RULES = [rule_shellcheck, rule_clang_format, rule_typed_headers, rule_codespell, rule_clang_tidy,
         rule_reuse]
