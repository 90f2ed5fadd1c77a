#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""commands.py TREE BUILD STAGE: runs the commands of all documents as they are written. They are
the lines of blocks marked `sh`, and in blocks that show output the lines that begin with `$ `. The
blocks of a document share a shell and a folder, in which build/plain is BUILD. TREE: the sources;
STAGE: the installed tree, for pkg-config and PATH. OTHERS has the blocks that do not run here: what
runs them, or why nothing does. Exit status 1: a command ended otherwise than its document says, a
block is in neither place, or a row has no block."""
import glob
import os
import re
import subprocess
import sys
import tempfile

NO_NIC = "no test: needs a ConnectX adapter"
# Document and first command of a block.
OTHERS = {
    ("README.md", "./dev demo"):
        "`.ci/run` runs ./dev test; the programs of the demo are tests: `examples/CMakeLists.txt`",
    ("README.md", "cmake --preset cuda"): "needs GPUs: `tests/mp/test_call_trace.c` there",
    ("README.md", "RUN_TRACE=one.json"): "no test: needs a browser; by hand, for a new picture",
    ("README.md", "cmake --preset plain"): "`tests/install/stage.sh`, `tests/install/pkgconfig.sh`",
    ("README.md", "pip install"): "`tests/packages/python_wheel.sh`, where torch is installed",
    ("README.md", "SHMEMH_IB_LIBRARY="):
        "takes a minute: `tests/selftest/CMakeLists.txt` runs its rows",
    ("CONTRIBUTING.md", "./dev test quick"): "`.ci/run` runs the other two",
    ("docs/guide/aarch64.md", "apt-get install"):
        "no test: needs packages of arm64; by hand on 2026-11-23",
    ("packaging/README.md", "git archive HEAD"): "no test: needs podman",
    ("packaging/python/README.md", "pip install"):
        "`tests/packages/python_wheel.sh`, where torch is installed",
    ("runtime/ib/README.md", "shmem-info"): NO_NIC,
    ("runtime/mlx5sw/README.md", "cmake --preset plain"):
        "`tests/adapter/CMakeLists.txt`: client_verbs is linked with rdma-core",
    ("runtime/mlx5sw/README.md", "shmem-mlx5sw status"): "`tests/adapter/test_control.c`",
    ("runtime/selftest/README.md", "srun"): NO_NIC,
    ("tests/models/README.md", "./run.sh queue"): "`tests/models/CMakeLists.txt`",
}
# What the last command of a block prints if it is to fail: the document shows what it finds.
FINDS = {
    ("runtime/sim/README.md", "cc -g pipeline.c"): "livelock",
    ("runtime/sim/README.md", "SHMEMSIM_WEAK=1"): "round 1: word 0 is 0",
    ("runtime/sim/README.md", "cc -g tests/sim/nic_kernel.c"): "round 1 brought 200",
    ("runtime/sim/README.md", "SHMEMSIM_TRACE_FILE"): "round 1 brought 200",
}
# The kernel of pipeline.c, which the reader has written, before a block; and a command that the
# reader repeats.
BUILD = "cc -g pipeline.c $(pkg-config --cflags --libs shmem_sim shmem_host) -o pipeline\n"
PIPELINE = {
    ("runtime/sim/README.md", "cc -g pipeline.c"): ("pipeline", ""),
    ("runtime/sim/README.md", "SHMEMSIM_WEAK=1"): ("pipeline_counted", BUILD),
    ("runtime/sim/README.md", "clang -g"): ("pipeline_fenced", BUILD),
}
TIMEOUT_S = 120
BLOCK = re.compile(r"^```(.*)\n((?:.*\n)*?)```$", re.M)
PROMPT = re.compile(r"^\$ ((?:.*\\\n)*.*)$", re.M)
UNMARKED = re.compile(r"^(?:\./|build/|cmake |cc |clang |pip |python3 |torchrun |srun |git |"
                      r"export |[A-Z][A-Z0-9_]+=\S+ )", re.M)
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+)`")
HEADER = re.compile(r"`([\w/]+\.h)`")


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def pipeline_file(document, end, kernel):
    """The C file that a reader has made of the page up to a place, for one of its kernels."""
    page = document[:end]
    headers = HEADER.findall(page[page.index("**1."):].partition("\n\n")[0])
    blocks = sorted((body for kind, body in BLOCK.findall(page) if kind == "c"),
                    key=lambda body: body.startswith("int main"))
    return ("".join(f"#include <{name}>\n" for name in headers) +
            "".join(blocks).replace("search(pipeline)", f"search({kernel})"))


def scripts(document):
    """(place, commands) of each block of commands."""
    for match in BLOCK.finditer(document):
        kind, body = match.groups()
        prompts = PROMPT.findall(body)
        if kind == "sh":
            yield match.start(), body
        elif prompts:
            yield match.start(), "\n".join(prompts) + "\n"


def key_of(path, commands, table):
    """The table's row for a block, or None."""
    keys = [key for key in table if key[0] == path and commands.startswith(key[1])]
    return keys[0] if keys else None


def run_block(folder, commands, wanted):
    """Run commands in the shell of a document; wanted: what the last one prints when it fails, or
    None. What is wrong, or ''."""
    script = ". ./.shell\ntrap 'export -p >.shell' EXIT\nset -e\n" + commands
    try:
        run = subprocess.run(["sh", "-c", script], cwd=folder, text=True, check=False,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return f"has run for {TIMEOUT_S} s"
    if wanted and (run.returncode == 0 or wanted not in run.stdout):
        return f"status {run.returncode}, expected to fail with '{wanted}': {run.stdout[-1000:]}"
    if not wanted and run.returncode:
        return f"status {run.returncode}: {run.stdout[-1000:]}"
    return ""


def shell_of(folder, tree, build, stage):
    """A new folder for a document: the tree by links, so that files that commands write do not get
    into it, and what a reader has set."""
    for entry in os.listdir(tree):
        if entry not in ("build", ".git"):
            os.symlink(os.path.join(tree, entry), os.path.join(folder, entry))
    os.mkdir(os.path.join(folder, "build"))
    os.symlink(build, os.path.join(folder, "build/plain"))
    with open(os.path.join(folder, ".shell"), "w", encoding="utf-8") as file:
        file.write(f"export PKG_CONFIG_PATH={stage}/lib/pkgconfig LD_LIBRARY_PATH={stage}/lib "
                   f"PATH={stage}/bin:$PATH\n")


def check_document(path, places, seen):
    """(number of blocks run, findings) of a document."""
    document, n, wrong = text_of(path), 0, []
    wrong += [f"{path}: mark the block of '{body.splitlines()[0]}' sh"
              for kind, body in BLOCK.findall(document)
              if not kind and UNMARKED.search(body)]
    with tempfile.TemporaryDirectory() as folder:
        shell_of(folder, *places)
        for place, commands in scripts(document):
            seen.update(filter(None, (key_of(path, commands, table)
                                      for table in (OTHERS, FINDS, PIPELINE))))
            if key_of(path, commands, OTHERS):
                continue
            wanted = FINDS.get(key_of(path, commands, FINDS))
            if key := key_of(path, commands, PIPELINE):
                kernel, before = PIPELINE[key]
                with open(os.path.join(folder, "pipeline.c"), "w", encoding="utf-8") as file:
                    file.write(pipeline_file(document, place, kernel))
                commands = before + commands
            error = run_block(folder, commands, wanted)
            n += 1
            if error:
                line = document.count("\n", 0, place) + 1
                wrong.append(f"{path}:{line}: {error}")
    return n, wrong


def main(tree, build, stage):
    os.chdir(tree)
    paths = [path for path in glob.glob("**/*.md", recursive=True)
             if not path.startswith("build/")]
    seen, n_run = set(), 0
    wrong = [f"{key[0]}: there is no {name}" for key, how in OTHERS.items()
             for name in FILE.findall(how) if not os.path.exists(name)]
    for path in sorted(paths):
        n, found = check_document(path, (tree, build, stage), seen)
        n_run, wrong = n_run + n, wrong + found
    wrong += [f"{path}: no block begins with '{command}': remove the row"
              for path, command in (OTHERS | FINDS | PIPELINE).keys() - seen]
    for line in wrong:
        print(line)
    print(f"{n_run} blocks run, {len(OTHERS)} not, {len(wrong)} wrong")
    return 1 if wrong or not n_run else 0


if __name__ == "__main__":
    sys.exit(main(*map(os.path.abspath, sys.argv[1:])))
