# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
"""One bad tree per case, and where the rule must find it; the same tree without the fault must
pass. A rule without a case here fails the self-test."""
import os
import tempfile

from tree import Skipped, Tree

# REUSE-IgnoreStart
HEAD = ("/* SPDX-License-Identifier: BSD-3-Clause */\n"
        "/* Copyright (c) 2026 The shmem_dev authors */\n")
LONG_BODY = "int f(void)\n{\n" + "\t;\n" * 70 + "\treturn 0;\n}\n"
PAGE = "<!-- snippet: examples/a.c put -->\n```c\n%s\n```\n"
SHOWN = "<!-- file: a.txt -->\n```\n%s\n```\n"
OPTIONS = '#define T(X) \\\n\tX(a, INT, "SHMEMH_A", "1", \\\n\t  "a|b: " "what")\n'
# One that orders, made by a macro, and one that does not.
ARCH = ("#define FENCE(N) static inline void shmemd_arch_fence_##N(void) {}\nFENCE(a)\n"
        "static inline int shmemd_arch_atom_add_u32(void) { return 0; }\n")
TYPES = "#define SHMEMD_RMA_TYPES(X, ...) \\\n\tX(int8, int8_t, 8, s8, INT, __VA_ARGS__)\n"
API = "include/shmem_host/a.h\n\tint shmemh_f(int a)\n"
# REUSE-IgnoreEnd
MARKED = "/* snippet: put */\n\tput();\n/* end */\n"

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
with open(os.path.join(ROOT, "include/shmem_dev/typed/generate.py"), encoding="utf-8") as source:
    GENERATOR = source.read()
with open(os.path.join(ROOT, ".clang-tidy"), encoding="utf-8") as source:
    TIDY = source.read()
TIDY_TREE = {".clang-tidy": TIDY, "build/plain/compile_commands.json":
             '[{"directory": ".", "file": "runtime/a.c", "command": "cc -c runtime/a.c"}]'}

# rule name, files with the fault, path where it must be found, the same files in order
CASES = [
    ("include_direction",
     {"include/shmem_dev/abi/a.h": "#include <shmem_dev/group.h>\n",
      "include/shmem_dev/group.h": ""},
     "include/shmem_dev/abi/a.h",
     {"include/shmem_dev/abi/a.h": "#include <stdint.h>\n", "include/shmem_dev/group.h": ""}),
    ("include_direction",
     {"runtime/core/a.c": "#include <shmem_dev/rma.h>\n", "include/shmem_dev/rma.h": ""},
     "runtime/core/a.c",
     {"runtime/core/a.c": "#include <shmem_dev/abi/b.h>\n", "include/shmem_dev/abi/b.h": ""}),
    ("include_direction",
     {"runtime/core/a.c": "#include <shmem_dev/arch/cpu.h>\n", "include/shmem_dev/arch/cpu.h": ""},
     "runtime/core/a.c",
     {"runtime/sim/a.c": "#include <shmem_dev/arch/cpu.h>\n", "include/shmem_dev/arch/cpu.h": ""}),
    ("include_direction",
     {"include/shmem_dev/impl/spin.h": "#include <shmem_dev/impl/p2p.h>\n",
      "include/shmem_dev/impl/p2p.h": ""},
     "include/shmem_dev/impl/spin.h",
     {"include/shmem_dev/impl/p2p.h": "#include <shmem_dev/impl/spin.h>\n",
      "include/shmem_dev/impl/spin.h": ""}),
    ("include_direction",
     {"include/shmem_dev/rma.h": "#include <shmem_host/heap.h>\n", "include/shmem_host/heap.h": ""},
     "include/shmem_dev/rma.h",
     {"include/shmem_dev/rma.h": "#include <shmem_dev/impl/xport.h>\n",
      "include/shmem_dev/impl/xport.h": ""}),
    ("include_direction",
     {"runtime/mlx5sw/core/a.c": "#include <shmem_dev/abi/b.h>\n",
      "include/shmem_dev/abi/b.h": ""},
     "runtime/mlx5sw/core/a.c",
     {"runtime/mlx5sw/core/a.c": '#include "b.h"\n', "runtime/mlx5sw/core/b.h": ""}),
    ("include_direction",
     {"runtime/mlx5sw/core/a.c": '#include "mlx5sw/engine/b.h"\n',
      "runtime/mlx5sw/engine/b.h": ""},
     "runtime/mlx5sw/core/a.c",
     {"runtime/mlx5sw/engine/a.c": '#include "mlx5sw/core/b.h"\n',
      "runtime/mlx5sw/core/b.h": ""}),
    ("include_direction",
     {"runtime/base/a.c": '#include "mem/b.h"\n', "runtime/mem/b.h": ""}, "runtime/base/a.c",
     {"runtime/mem/a.c": '#include "base/b.h"\n', "runtime/base/b.h": ""}),
    ("include_direction",
     {"runtime/new/a.c": '#include "base/b.h"\n', "runtime/base/b.h": ""}, "runtime/new/a.c",
     {"runtime/boot/a.c": '#include "base/b.h"\n', "runtime/base/b.h": ""}),
    ("private_headers",
     {"runtime/ib/a.c": '#include "mem/state.h"\n', "runtime/mem/state.h": ""}, "runtime/ib/a.c",
     {"runtime/mem/a.c": '#include "mem/state.h"\n', "runtime/mem/state.h": ""}),
    ("include_spelling",
     {"runtime/core/a.c": "#include <core/a.h>\n", "runtime/core/a.h": ""}, "runtime/core/a.c",
     {"runtime/core/a.c": '#include "core/a.h"\n', "runtime/core/a.h": ""}),
    ("include_cycles",
     {"include/shmem_dev/rma.h": "#include <shmem_dev/amo.h>\n",
      "include/shmem_dev/amo.h": "#include <shmem_dev/rma.h>\n"},
     "include/shmem_dev/rma.h",
     {"include/shmem_dev/rma.h": "#include <shmem_dev/amo.h>\n", "include/shmem_dev/amo.h": ""}),
    ("arch_words",
     {"include/shmem_dev/impl/a.h": "static inline int f(void) { return threadIdx.x; }\n"},
     "include/shmem_dev/impl/a.h",
     {"include/shmem_dev/impl/a.h": "/* not threadIdx */\n",
      "include/shmem_dev/arch/cuda.h": "asm volatile(\"\");\n"}),
    ("no_internals", {"examples/01.c": "shmemdi_put();\n"}, "examples/01.c",
     {"examples/01.c": "shmemd_putmem();\n"}),
    ("top_level", {"notes/a.md": "x\n"}, "notes/a.md", {"bench/a.md": "x\n"}),
    ("file_length", {"runtime/a.c": "\n" * 601}, "runtime/a.c", {"runtime/a.c": "\n" * 200}),
    ("function_length", {"tests/a.c": LONG_BODY}, "tests/a.c",
     {"tests/a.c": "int f(void)\n{\n\treturn 0;\n}\n"}),
    ("line_length", {"tests/a.c": "\t" + "x" * 93 + "\n"}, "tests/a.c",
     {"tests/a.c": "\t" + "x" * 92 + "\n"}),
    ("line_length", {"bench/a": "#!/usr/bin/env python3\n" + "x" * 101 + "\n"}, "bench/a",
     {"bench/a": "#!/usr/bin/env python3\n" + "x" * 100 + "\n"}),
    ("contract_comment",
     {"include/shmem_host/a.h": "/* One. */\n\nSHMEMH_API int shmemh_f(int a, int b);\n"},
     "include/shmem_host/a.h",
     {"include/shmem_host/a.h": "/* One. */\nSHMEMH_API int shmemh_f(int a,\n\tint b);\n"}),
    ("contract_comment",
     {"include/shmem_dev/a.h": "SHMEMD_FN int shmemd_f(void)\n{\n\treturn 0;\n}\n"},
     "include/shmem_dev/a.h",
     {"include/shmem_dev/a.h": "/* One. */\nSHMEMD_FN int shmemd_f(void)\n{\n\treturn 0;\n}\n"}),
    ("typed_headers",
     {"include/shmem_dev/typed.h": "", "include/shmem_dev/typed/generate.py": GENERATOR,
      "include/shmem_dev/typed/old.h": ""}, "include/shmem_dev/typed/old.h",
     {"include/shmem_dev/typed.h": "", "include/shmem_dev/typed/generate.py": GENERATOR}),
    ("typed_headers",
     {"include/shmem_dev/typed.h": TYPES, "include/shmem_dev/typed/generate.py": GENERATOR},
     "include/shmem_dev/typed/int8.h", {"include/shmem_dev/typed.h": TYPES}),
    ("contract_comment",
     {"include/shmem_dev/a.h":
      "#if A\nint shmemd_f(void)\n{\n}\n#else\nint shmemd_f(void)\n{\n}\n"},
     "include/shmem_dev/a.h",
     {"include/shmem_dev/a.h":
      "#if A\n/* One. */\nint shmemd_f(void)\n{\n}\n#else\nint shmemd_f(void)\n{\n}\n"}),
    ("reuse", {"tests/a.c": "int a;\n"}, "tests/a.c",
     {"tests/a.c": HEAD + "int a;\n"}),
    ("reuse", {"tests/a.c": HEAD.replace("BSD-3-Clause", "MIT")}, "tests/a.c",
     {"tests/a.c": HEAD}),
    ("no_open_ends", {"tests/a.c": "/* TO" "DO: later */\n"}, "tests/a.c",
     {"tests/a.c": "/* toDO is a word */\n"}),
    ("snippets", {"examples/a.c": MARKED, "README.md": PAGE % "get();"}, "README.md",
     {"examples/a.c": MARKED, "README.md": PAGE % "put();"}),
    ("snippets", {"examples/a.c": "", "README.md": PAGE % "put();"}, "README.md",
     {"README.md": "no snippet\n"}),
    ("shown_files", {"a.txt": "a\n\nb\n", "README.md": SHOWN % "a\n\nc"}, "README.md",
     {"a.txt": "a\n\nb\n", "README.md": SHOWN % "a\n\nb"}),
    ("shown_files", {"README.md": SHOWN % "a"}, "README.md", {"README.md": "no file\n"}),
    ("options_table",
     {"runtime/base/options.h": OPTIONS, "README.md": "| `SHMEMH_A` | 2 | a\\|b: what |\n"},
     "README.md",
     {"runtime/base/options.h": OPTIONS, "README.md": "| `SHMEMH_A` | 1 | a\\|b: what |\n"}),
    ("pkgconfig_flags", {"pkgconfig/a.pc.in": "Libs: -la -Wl,-rpath,/x\n"}, "pkgconfig/a.pc.in",
     {"pkgconfig/a.pc.in": "Libs: -L${libdir} -la\n"}),
    ("shellcheck", {"dev": "#!/bin/sh\necho $1\n"}, "dev", {"dev": '#!/bin/sh\necho "$1"\n'}),
    ("clang_format", {"tests/a.c": "int  a ;\n"}, "tests/a.c", {"tests/a.c": "int a;\n"}),
    ("clang_tidy",
     {**TIDY_TREE, "runtime/a.c": "int f(int a)\n{\n\tif (a)\n\t\t;\n\treturn a;\n}\n"},
     "runtime/a.c", {**TIDY_TREE, "runtime/a.c": "int f(int a)\n{\n\treturn a;\n}\n"}),
    ("clang_tidy", # a header
     {**TIDY_TREE, "runtime/a.c": '#include "a.h"\n',
      "runtime/a.h": "int f(int a);\nint f(int b);\n"}, "runtime/a.h",
     {**TIDY_TREE, "runtime/a.c": '#include "a.h"\n', "runtime/a.h": "int f(int a);\n"}),
    ("codespell", {"tests/a.c": "/* rec" "ieve */\n"}, "tests/a.c",
     {"tests/a.c": "/* receive, untils */\n"}),
    ("public_api", {"include/shmem_host/a.h": "int shmemh_f(int a);\n"}, "tests/lint/api.txt",
     {"include/shmem_host/a.h": "int shmemh_f(int a);\n", "tests/lint/api.txt": API}),
    ("public_api", {"include/shmem_host/a.h": "int shmemh_f(long a);\n", "tests/lint/api.txt": API},
     "tests/lint/api.txt",
     {"include/shmem_host/a.h": "int shmemh_f(int a);\nint shmemhi_g(void);\n",
      "tests/lint/api.txt": API}),
    ("public_api",
     {"include/shmem_dev/a.h": "enum e { B, A };\n#define N 2\n",
      "tests/lint/api.txt": "include/shmem_dev/a.h\n\tenum e\n\tenumerator e.A\n"
      "\tenumerator e.B\n\t#define N 2\n"}, "tests/lint/api.txt",
     {"include/shmem_dev/impl/a.h": "enum e { B, A };\n"}),
    ("weakened", {"include/shmem_dev/arch/arch.h": ARCH, "tests/weaken/primitives.h": ""},
     "include/shmem_dev/arch/arch.h",
     {"include/shmem_dev/arch/arch.h": ARCH,
      "tests/weaken/primitives.h": "#define shmemd_arch_fence_a() WEAKEN()\n"}),
    ("weakened",
     {"include/shmem_dev/arch/arch.h": "",
      "include/shmem_dev/group.h": "SHMEMD_FN int shmemd_group_all(shmemd_group_t g)\n"},
     "include/shmem_dev/group.h", {"include/shmem_dev/arch/arch.h": ""}),
    ("document_links", {"README.md": "[a](docs/a.md)\n"}, "README.md",
     {"README.md": "[a](docs/a.md#one-b) [c](docs)\n", "docs/a.md": "# One `b`\n"}),
    ("document_links", {"README.md": "[a](#two)\n# One\n"}, "README.md",
     {"README.md": "[a](#one)\n# One\n"}),
    ("document_names", {"DESIGN.md": "`shmemd_b`\n", "include/a.h": "int shmemd_a;\n"},
     "DESIGN.md", {"DESIGN.md": "`shmemd_a` `shmemd_*`\n", "include/a.h": "int shmemd_a;\n"}),
    ("document_files", {"DESIGN.md": "`impl/b.h`\n", "include/shmem_dev/impl/a.h": ""},
     "DESIGN.md", {"DESIGN.md": "`impl/a.h`\n", "include/shmem_dev/impl/a.h": ""}),
    ("document_files", {"include/a.h": "/* (DESIGN 3) */\n"}, "include/a.h",
     {"include/a.h": "/* DESIGN.md: Turn */\n", "DESIGN.md": "## Turn\n"}),
]


def findings_in(rule, files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(rule(Tree(root, list(files))))


def case_fault(rule, bad, where, good):
    """What is wrong with the rule itself, or None."""
    if where not in {f.path for f in findings_in(rule, bad)}:
        return f"did not find the fault in {where}"
    rest = findings_in(rule, good)
    return f"finds a fault where there is none: {rest[0]}" if rest else None


def self_test(rules):
    """(cases passed, failed, skipped)"""
    by_name = {rule.__name__[len("rule_"):]: rule for rule in rules}
    passed, failed, skipped = 0, 0, 0
    for name in sorted(set(by_name) - {case[0] for case in CASES}):
        print(f"self-test: rule {name} has no case in samples.py: add one")
        failed += 1
    for name, bad, where, good in CASES:
        try:
            fault = case_fault(by_name[name], bad, where, good)
        except Skipped:
            skipped += 1
            continue
        if fault:
            print(f"self-test: {name}: {fault}")
        failed += fault is not None
        passed += fault is None
    return passed, failed, skipped
