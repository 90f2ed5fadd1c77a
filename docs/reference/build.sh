#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# build.sh OUTPUT: make the reference in OUTPUT/html, and OUTPUT/xml for the test, by doxygen.
# Fails, and prints doxygen's warnings, if there are any: a link that leads nowhere, an argument
# that a function does not have.
set -eu
[ $# -eq 1 ] || {
	echo "usage: build.sh OUTPUT" >&2
	exit 2
}
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."
export PYTHONDONTWRITEBYTECODE=1

version() {
	sed -n "s/^#define SHMEMH_VERSION_$1 //p" include/shmem_host/init.h
}

rm -rf "$output/html" "$output/xml"
{
	cat docs/reference/Doxyfile
	echo "INPUT += $(python3 -c 'import sys
sys.path.insert(0, "docs/reference")
import filter
print(*filter.PAGES)')"
	echo "PROJECT_NUMBER = $(version MAJOR).$(version MINOR).$(version PATCH)"
	echo "OUTPUT_DIRECTORY = \"$output\""
	echo "WARN_LOGFILE = \"$output/warnings\""
} | doxygen -
if [ -s "$output/warnings" ]; then
	cat "$output/warnings" >&2
	exit 1
fi
