# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""Documents name only what the tree has: links, files, identifiers."""
import functools
import os
import re

from tree import Finding

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)")
QUOTED = re.compile(r"`([^`\n]+)`")
PREFIX = r"(?:shmem(?:d|h|di|hi|sim|simi)|SHMEM(?:D|H|DI|HI|SIM)|mlx5sw|MLX5SW)_"
NAME = re.compile(rf"\b{PREFIX}\w*\w\b(?!\*|<|_\*)")
FILE = re.compile(r"(?<![\w/.<*{$~-])(?:[\w.-]+/)+[\w-]+\.(?:h|c|cu|py|sh|md|pml|dot|S)\b")
DOCUMENT = re.compile(r"\b[\w-]+\.md\b")
CITED = re.compile(r"\bDESIGN (?:section )?\d")
PLACEHOLDER = "NAME"  # stands for any name
HISTORY = "CHANGELOG.md"  # speaks of what may be gone
ROOTS = ("", "include/shmem_dev", "include", "runtime", "tests")


def pages(tree):
    return [p for p in tree.select(r"\.md$") if p != HISTORY]


def prose(tree, path):
    """(number, line) of a document outside code blocks."""
    is_code = False
    for number, line in enumerate(tree.lines(path), 1):
        if line.startswith("```"):
            is_code = not is_code
        elif not is_code:
            yield number, line


def anchors(tree, path):
    """The anchors of a document's headings, as GitHub makes them."""
    heads = [line.lstrip("#").strip().lower() for _, line in prose(tree, path)
             if line.startswith("#")]
    return {re.sub(r"[^\w\s-]", "", head).replace(" ", "-") for head in heads}


def is_in_tree(tree, path):
    return path in tree.paths or any(p.startswith(path + "/") for p in tree.paths)


def rule_document_links(tree):
    """A link leads to a file of the tree, and to a heading that it has."""
    for page in tree.select(r"\.md$"):
        for number, line in prose(tree, page):
            for target, anchor in LINK.findall(line):
                path = page
                if target:
                    path = os.path.normpath(os.path.join(os.path.dirname(page), target))
                if not is_in_tree(tree, path):
                    yield Finding(page, number, f"links to {target}, which is not in the tree")
                elif anchor and path in tree.paths and anchor not in anchors(tree, path):
                    yield Finding(page, number, f"{path} has no heading for #{anchor}")


@functools.lru_cache(maxsize=None)
def words(tree):
    """Every identifier of our prefixes in the sources, and the parts that macros paste."""
    text = "\n".join(tree.text(p) for p in tree.select(r"\.(c|h|cu|S|py|sh|txt|in)$|^dev$"))
    return set(re.findall(rf"\b{PREFIX}\w+", text))


def rule_document_names(tree):
    """An identifier that a document names exists."""
    for page in pages(tree):
        for number, line in prose(tree, page):
            for quoted in QUOTED.findall(line):
                for name in NAME.findall(quoted):
                    if name not in words(tree):
                        yield Finding(page, number, f"{name} is not in the sources: was it "
                                      "renamed? Write the name of today")


def rule_document_files(tree):
    """A file that a document names exists, and no file cites a document outside the tree."""
    for page in pages(tree):
        for number, line in prose(tree, page):
            for quoted in QUOTED.findall(line):
                for name in FILE.findall(quoted):
                    places = [os.path.normpath(os.path.join(root, name))
                              for root in (*ROOTS, os.path.dirname(page))]
                    if PLACEHOLDER not in name and \
                            not any(place in tree.paths for place in places):
                        yield Finding(page, number, f"{name} is not in the tree")
    documents = {os.path.basename(p) for p in tree.select(r"\.md$")}
    for path in tree.source_files() + pages(tree):
        if path.startswith("tests/lint/"):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            cited = CITED.search(line)
            missing = [name for name in DOCUMENT.findall(line) if name not in documents]
            if cited or missing:
                yield Finding(path, number, f"cites {cited.group() if cited else missing[0]}: a "
                              "document of the tree, by its name and heading, or nothing")


RULES = [rule_document_links, rule_document_names, rule_document_files]
