# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""The files that the rules look at, and what a rule reports."""
import functools
import os
import re
import subprocess
from typing import NamedTuple


class Finding(NamedTuple):
    path: str
    line: int
    what: str  # what is wrong, and what to do

    def __str__(self):
        return f"{self.path}:{self.line}: {self.what}"


class Skipped(Exception):
    """A rule cannot run on this machine; the text says why."""


COMMENT_OR_STRING = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S
)


class Tree:
    """A checkout: every path is relative to root."""

    def __init__(self, root, paths=None):
        self.root = root
        self.paths = sorted(paths if paths is not None else self._paths_of_git())

    def _paths_of_git(self):
        # Tracked files and new ones; what .gitignore names, and what was deleted, is left out.
        command = ["git", "-C", self.root, "ls-files", "-co", "--exclude-standard"]
        try:
            out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return self._paths_on_disk()
        # A folder whose name starts with a dot belongs to a tool, except the CI script's.
        own = [p for p in out.splitlines() if not p.startswith(".") or "/" not in p]
        own += [p for p in out.splitlines() if p.startswith(".ci/")]
        return [p for p in own if os.path.isfile(os.path.join(self.root, p))]

    def _paths_on_disk(self):
        paths = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ("build", "__pycache__", ".git")]
            paths += [os.path.relpath(os.path.join(folder, f), self.root) for f in files]
        return paths

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def lines(self, path):
        return self.text(path).splitlines()

    @functools.lru_cache(maxsize=None)
    def code(self, path):
        """The text of a C file without comments and strings; line numbers stay."""
        return COMMENT_OR_STRING.sub(lambda m: "\n" * m.group().count("\n"), self.text(path))

    def select(self, pattern):
        return [p for p in self.paths if re.search(pattern, p)]

    def first_line(self, path):
        lines = self.lines(path)
        return lines[0] if lines else ""

    def c_files(self):
        return self.select(r"\.(c|h|cu)$")

    def scripts(self, interpreter):
        """Files without an extension whose first line names that interpreter."""
        others = [p for p in self.paths if not re.search(r"\.\w+$|LICENSE|/corpus/", p)]
        return [p for p in others if re.match(rf"#!.*\b({interpreter})\b", self.first_line(p))]

    def shell_files(self):
        return self.select(r"\.sh$") + self.scripts("sh|bash")

    def source_files(self):
        """Everything that people write and read as code."""
        named = self.select(r"(\.(c|h|cu|S|py|mk|cmake|map|pc\.in|cmake\.in)|CMakeLists\.txt)$")
        return sorted(set(named + self.shell_files() + self.scripts("python3")))
