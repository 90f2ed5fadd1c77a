#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# recipes.sh source: the recipes that other systems run: that for Spack is Python and names the
# options that CMake has; hadolint, where it is installed, finds nothing in the Containerfile.
set -eu
python3 - "$1" <<'END'
import ast
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])
recipe = (source / "packaging/spack/package.py").read_text(encoding="utf-8")
ast.parse(recipe)
cmake = "".join(p.read_text(encoding="utf-8") for p in
                [source / "CMakeLists.txt", *source.glob("cmake/*.cmake")])
for name in re.findall(r'define\("(\w+)"', recipe):
    assert re.search(rf"(set|option)\({name}\b", cmake), f"CMake has no option {name}"
needed = re.search(r"cmake_minimum_required\(VERSION ([\d.]+)\)", cmake).group(1)
assert f'"cmake@{needed}:"' in recipe, f"CMake {needed} is needed"
print("packaging/spack/package.py: parsed, options of CMake compared")
END
if command -v hadolint >/dev/null; then
	hadolint "$1/packaging/Containerfile"
	echo "packaging/Containerfile: hadolint finds nothing"
fi
