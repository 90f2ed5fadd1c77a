#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""filter.py FILE: print a public header or a page as Doxygen reads it; Doxygen calls it for each
input file, from the root of the tree. The comments of the headers are plain C comments in the form
that CONTRIBUTING.md asks for; here they become Doxygen's, functions lose their bodies, and names
become links."""
import functools
import os
import re
import sys

API = "tests/lint/api.txt"
# Pages of the reference, in the order of its index; other documents are named, not linked.
PAGES = (
    "docs/guide/README.md", "docs/guide/nvshmem.md", "docs/guide/deepep.md",
    "docs/guide/tuning.md", "docs/guide/failover.md", "docs/guide/troubleshooting.md",
    "docs/guide/versions.md", "docs/guide/threads.md", "docs/guide/aarch64.md",
    "examples/06_allgather_gemm/README.md", "examples/07_gemm_reducescatter/README.md",
    "include/shmem_dev/README.md",
    "include/shmem_dev/NVSHMEM.md", "README.md", "DESIGN.md", "runtime/README.md",
    "runtime/ib/README.md", "runtime/fault/README.md", "runtime/topo/README.md",
    "runtime/selftest/README.md", "runtime/sim/README.md", "runtime/mlx5sw/README.md",
    "CHANGELOG.md")
MAIN_PAGE = PAGES[0]
# Not part of the reference: what kernels on a CPU call inside the emulator and under CUDA's names,
# and the interface by which tests drive the software adapter.
LEFT_OUT = re.compile(r"include/shmem_dev/arch/|runtime/sim/include/shmem_sim_cuda|runtime/mlx5sw/")
NAMES_LEFT_OUT = re.compile(r"shmemdi_|SHMEMD_SIM_")  # internal; of the CPU half of launch.h
KINDS = ("#define", "struct", "union", "enum", "member", "enumerator", "typedef")
FAMILIES = re.compile(r"/(typed/\w+|generic)\.h$")  # one comment for many declarations

LABEL = re.compile(r"^([A-Z][a-z]+|[a-z]\w*(?:, \w+)*) {2,}(\S.*)$")
NAMED = re.compile(r"^ {2,}([a-z_]+) {2,}(\S.*)$")  # a word and what it means, in a text
IDENTIFIER = re.compile(r"\b(?:SHMEM|shmem)\w+\b|\bERR_[A-Z_]+\b")
CODE_SPAN = re.compile(r"(`[^`\n]+`)")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
HEADING = re.compile(r"^(#+) (.*)$")


# --- names ---

def public_names():
    """(header, kind, name) of each public name of API; of a field and an enumerator as
    'struct.field'."""
    header_ = ""
    with open(API, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("\t"):
                header_ = line.strip()
            elif not LEFT_OUT.match(header_):
                head = line.split("(")[0].split()
                kind = head[0] if head[0] in KINDS else "function"
                name = head[1] if kind != "function" else head[-1].lstrip("*")
                if not NAMES_LEFT_OUT.match(name):
                    yield header_, kind, name


@functools.lru_cache(maxsize=None)
def known_names():
    """Those that the reference has an entry for."""
    return {name.split(".")[-1] for _, kind, name in public_names()
            if kind in ("function", "#define", "typedef", "enumerator")}


def link_of(name, text, is_host=False):
    """A reference to a public name; the text alone if there is no such name."""
    if name.startswith("ERR_"):
        name = ("SHMEMH_" if is_host else "SHMEMD_") + name
    return f'@ref {name} "{text}"' if name in known_names() else text


def escaped(text, is_host=False):
    """Prose of a comment: nothing of it is Markdown or HTML but code in backquotes."""
    parts = []
    for part in CODE_SPAN.split(text):
        if part.startswith("`"):
            parts.append(part)
            continue
        part = re.sub(r"([\\@&$#<>%*\"])", r"\\\1", part)
        part = re.sub(r"(?<!\w)_", r"\\_", part).replace("[", "&#91;").replace(" ..", " \\.\\.")
        parts.append(IDENTIFIER.sub(
            lambda m: link_of(m.group(), m.group(), is_host), part))
    return "".join(parts)


# --- comments ---

def text_of(comment):
    """The lines of a C comment without its marks."""
    body = comment.strip()[2:-2]
    lines = [re.sub(r"^\s*\* ?", "", line) if i and "*" in line[:line.find(line.strip()) + 1]
             else line.strip(" *\t") for i, line in enumerate(body.split("\n"))]
    return [line.rstrip() for line in lines]


def blocks_of(lines):
    """(kind, label, text) of a comment: 'text', 'code', 'item' (a named word) or 'label'."""
    blocks = []
    for line in lines:
        last = blocks[-1] if blocks else None
        if line.startswith("\t"):
            if last and last[0] == "code":
                last[2].append(line[1:])
            else:
                blocks.append(["code", "", [line[1:]]])
        elif not line.strip() and last and last[0] == "code":
            last[2].append("")
        elif not line.strip():
            blocks.append(["gap", "", []])
        elif NAMED.match(line):
            blocks.append(["item", NAMED.match(line)[1], [NAMED.match(line)[2]]])
        elif LABEL.match(line):
            blocks.append(["label", LABEL.match(line)[1], [LABEL.match(line)[2]]])
        elif last and last[0] in ("text", "item", "label"):
            last[2].append(line.strip())
        else:
            blocks.append(["text", "", [line.strip()]])
    return [block for block in blocks if block[0] != "gap"]


def doxygen_of(lines, base, is_host):
    """The lines of a comment as text for Doxygen. base: the function that 'above' speaks of."""
    out = []
    for kind, label, text in blocks_of(lines):
        prose = escaped(" ".join(text), is_host)
        if base:
            prose = re.sub(r"^As (above|malloc)\b",
                           lambda m: "As " + link_of(base, base), prose)
        if kind == "code":
            out += ["", "@code{.c}", *text, "@endcode"]
        elif kind == "item":
            out += [f"- **{label}**: {prose}"]
        elif kind == "text":
            out += ["", prose]
        elif label[0].isupper():
            out += ["", f"@par {label}", prose]
        else:
            out += [f"@param {label.replace(', ', ',')} {prose}"]
    return [line for i, line in enumerate(out) if i or line]


# --- headers ---

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DECLARED = re.compile(r"#define (\w+)|\b(\w+_t);|\b((?:shmem|mlx5sw)\w*)\s*\(|^enum (\w+)", re.M)
PASSED = re.compile(r"extern \"C\"|\}|SHMEMD_STATIC_ASSERT|SHMEMD_ASSERT_AT|using |"
                    r"static __constant__")


def doc_comment(text, mark="/**"):
    return mark + " " + "\n * ".join(text) + " */"


def statements_of(text):
    """(kind, text) of a header in turn: 'gap', 'comment', 'directive' or 'code'."""
    text = re.sub(r"\)\n\{\n.*?\n\}", ");", text, flags=re.S)  # functions without their bodies
    lines = text.split("\n")
    while lines:
        taken = [lines.pop(0)]
        kind = "gap" if not taken[0] else "comment" if taken[0].startswith("/*") else \
            "directive" if taken[0].startswith("#") else "code"

        def is_open():
            whole = "\n".join(taken)
            bare = COMMENT.sub("", whole)
            if "/*" in bare:
                return True
            if kind == "directive":
                return bare.rstrip().endswith("\\")
            return kind == "code" and not PASSED.match(bare) and (
                bare.count("{") > bare.count("}") or not bare.rstrip().endswith(";"))
        while lines and is_open():
            taken.append(lines.pop(0))
        yield kind, "\n".join(taken)


class Header:
    """One header while it is rewritten."""

    def __init__(self, path):
        self.is_host = path.startswith("include/shmem_host")
        self.is_family = bool(FAMILIES.search(path))
        self.n_comments = 0
        self.pending = None  # the lines of the comment whose declaration comes next
        self.contract = None # the latest comment that does not begin "As above"
        self.base = ""       # what it declares
        self.is_adjacent = False # no empty line since

    def inner(self, code):
        """Comments of members, and those at the end of a line."""
        def rewritten(match):
            before = code[:match.start()].rpartition("\n")[2].strip()
            text = doxygen_of(text_of(match.group()), "", self.is_host)
            return doc_comment(text, "/**<" if before else "/**")
        return COMMENT.sub(rewritten, code)

    def above(self, code, name):
        """The comment of a declaration: its own, else that of its family or of its neighbour."""
        if self.pending is not None:
            text = doxygen_of(self.pending, self.base, self.is_host)
            if not self.pending[0].startswith("As above"):
                self.base, self.contract = name, self.pending
            return text
        if self.contract is None:
            return None
        if self.is_family or name == self.base: # another form of it, under another condition
            return doxygen_of(self.contract, "", self.is_host)
        has_own = code.startswith("#") and "/*" in code
        return [f"See {link_of(self.base, self.base)}."] \
            if self.is_adjacent and not has_own else None

    def statement(self, kind, text):
        if kind == "comment":
            self.n_comments += 1
            if self.n_comments == 3:
                return doc_comment(["@file", *doxygen_of(text_of(text), "", self.is_host)])
            if self.n_comments > 3 and "clang-format" not in text:
                self.pending, self.is_adjacent = text_of(text), True
            return ""
        found = None if PASSED.match(text) else DECLARED.search(COMMENT.sub("", text))
        name = next((group for group in found.groups() if group), "") if found else ""
        if kind == "gap":
            self.pending, self.is_adjacent = None, False
        if not name or name.endswith("_H") or name.startswith(("shmemdi_", "SHMEMDI_")):
            return text
        doc = self.above(text, name)
        self.pending, self.is_adjacent = None, True
        return (doc_comment(doc) + "\n" if doc else "") + self.inner(text)


def header(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    rewriter = Header(path)
    return "\n".join(rewriter.statement(*part) for part in statements_of(text)) + "\n"


# --- pages ---

def page_id(path):
    return "page_" + re.sub(r"\W", "_", path.removesuffix(".md"))


def anchor_of(title):
    return re.sub(r"[^\w\s-]", "", title.strip().lower()).replace(" ", "-")


def link_in_page(path, match):
    text, target, anchor = match.groups()
    if target.startswith(("http:", "https:")):
        return match.group()
    to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
    if to in PAGES:
        page_ = "index" if to == MAIN_PAGE and not anchor else page_id(to)
        return f"[{text}](@ref {page_}{'-' + anchor if anchor else ''})"
    if to.startswith("include/") and to.endswith(".h"):
        return f"[{text}](@ref {os.path.relpath(to, 'include')})"
    return f"`{to}`" if text.strip("`") == to else f"{text} (`{to}`)"


def span_in_page(span):
    name = span.strip("`")
    if "'" in name: # which would end the span for doxygen
        return "<code>" + re.sub(r"([\\@&$#<>%*\"_])", r"\\\1", name.replace("\\|", "|")
                                 ).replace("|", "&#124;") + "</code>"
    return link_of(name, name) if name in known_names() else span


def page_line(path, line):
    heading = HEADING.match(line)
    if heading:
        marks, title = heading.groups()
        anchor = page_id(path) + ("" if marks == "#" else "-" + anchor_of(title))
        title = re.sub(r"[`\\]", "", title)
        return f"{marks} {title} {{#{'mainpage' if anchor == page_id(MAIN_PAGE) else anchor}}}"
    line = re.sub(r"\*\*(`[^`]+`)\*\*", r"<b>\1</b>", line)
    line = LINK.sub(lambda match: link_in_page(path, match), line)
    parts = CODE_SPAN.split(line)
    return "".join(span_in_page(p) if p.startswith("`") else p for p in parts)


def page(path):
    is_code, out = False, []
    with open(path, encoding="utf-8") as file:
        for line in file.read().splitlines():
            if line.startswith("```"):
                is_code = not is_code
            out.append(line if is_code or line.startswith("```") else page_line(path, line))
    return "\n".join(out) + "\n"


def main():
    path = os.path.relpath(sys.argv[1])
    sys.stdout.write(page(path) if path.endswith(".md") else header(path))


if __name__ == "__main__":
    main()
