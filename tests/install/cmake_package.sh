#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# cmake_package.sh stage examples: an example builds through find_package, and runs.
set -eu
stage=$1 examples=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/CMakeLists.txt" <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C)
find_package(shmem_dev 0.1 REQUIRED)
add_executable(hello ${EXAMPLES}/01_hello_put/hello_put.c ${EXAMPLES}/common/run.c)
target_include_directories(hello PRIVATE ${EXAMPLES}/common)
target_link_libraries(hello PRIVATE shmem::dev shmem::host shmem::sim)
EOF
cmake -G Ninja -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$stage" -DEXAMPLES="$examples"
cmake --build "$work/build"
SHMEMSIM_PES=2 "$work/build/hello"

# No file of the tree contains the path where it was built or first installed.
if grep -rl -e "$stage.before" --include='*.pc' --include='*.cmake' "$stage"; then
	echo "these files contain the path of installation: the tree cannot be moved"
	exit 1
fi
