#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# reference.sh OUTPUT: doxygen makes the reference without a warning (a link that leads nowhere, an
# argument that a function does not have), and everything public has a text in it. Exits 77 with a
# reason if there is no doxygen.
set -eu
output=$1
cd "$(dirname "$0")/../.."
command -v doxygen >/dev/null || {
	echo "skipped: no doxygen"
	exit 77
}
docs/reference/build.sh "$output"
PYTHONDONTWRITEBYTECODE=1 python3 tests/docs/reference.py "$output/xml"
