#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# stage.sh build_dir stage: install, then move the tree, so that every later test uses a tree at
# another path than that of the installation.
set -eu
rm -rf "$2" "$2.before"
cmake --install "$1" --prefix "$2.before" >/dev/null
mv "$2.before" "$2"
