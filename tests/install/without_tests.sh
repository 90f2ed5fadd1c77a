#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# without_tests.sh stage source: BUILD_TESTING=OFF, as packages are built, makes no target of tests/
# or bench/ and no test, and still builds what is installed.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -G Ninja -S "$source" -B "$work" -DBUILD_TESTING=OFF -DSHMEM_DEV_CUDA=OFF >"$work/log" || {
	cat "$work/log"
	exit 1
}
ninja -C "$work" -t targets all >"$work/targets"
grep -q '^runtime/shmem-info:' "$work/targets"
if grep -E '^(tests|bench)/' "$work/targets"; then
	echo "these targets of tests/ or bench/ are built with BUILD_TESTING=OFF"
	exit 1
fi
if ctest --test-dir "$work" -N | grep 'Test *#'; then
	echo "these tests exist with BUILD_TESTING=OFF"
	exit 1
fi
