#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# python_env.sh source build: the Python module by python3 alone, from the source tree, with 2 PEs
# of our launcher: memory, DLPack, teams, errors, and the kernel of the example. Its numbers are
# those of the headers.
set -eu
source=$1 build=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# PYTHONUNBUFFERED makes print() write a text and its end of line by two system calls: lines of two
# PEs would mix.
unset PYTHONUNBUFFERED
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$source/packaging/python/src"
export LD_LIBRARY_PATH="$build/runtime${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

command -v g++ >/dev/null || {
	echo "skipped: no g++"
	exit 77
}
g++ -std=c++17 -O2 -fPIC -shared -Wall -Wextra -Werror -I "$source/include" \
	-I "$source/runtime/sim/include" "$source/packaging/python/examples/gather_multiply.cpp" \
	-o "$work/kernel.so" "$build/runtime/libshmem_sim.so.0"

cat >"$work/numbers.c" <<'END'
#include <shmem_host/shmem_host.h>
#include <stdio.h>

int main(void)
{
	printf("%u %zu %zu %zu %zu %zu %d %d %d\n", SHMEMD_ABI_VERSION, sizeof(shmemd_ctx_t),
	       sizeof(shmemd_error_t), sizeof(shmemh_uniqueid_t), sizeof(shmemh_attr_t),
	       sizeof(shmemh_heap_info_t), SHMEMH_HEAP_GPU, SHMEMH_ERR_ARGUMENT,
	       SHMEMH_ERR_BOOTSTRAP);
	return 0;
}
END
gcc -I "$source/include" "$work/numbers.c" -o "$work/numbers"
"$work/numbers" >"$work/want"
python3 -c 'import ctypes
from shmem_host import _library as l
print(l.ABI_VERSION, l.CTX_NBYTES, l.ERROR_NBYTES, l.UNIQUEID_NBYTES, ctypes.sizeof(l.Attr),
      ctypes.sizeof(l.HeapInfo), l.HEAP_KINDS["gpu"], l.ERR_ARGUMENT,
      l.ERR_BOOTSTRAP)' >"$work/have"
diff "$work/want" "$work/have"

SHMEMH_DEBUG=off "$build/runtime/shmem-launch" -n 2 \
	python3 "$here/python_job.py" "$work/kernel.so" >"$work/out"
cat "$work/out"
[ "$(grep -c 'passed$' "$work/out")" -eq 2 ]

# What torchrun sets says that there are other PEs: without torch it is refused, not a job of one.
if ! python3 -c 'import torch' 2>"$work/torch"; then
	RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1 \
		python3 -c 'import shmem_host; shmem_host.init()' 2>"$work/out" && exit 1
	grep 'torch is not installed' "$work/out"
fi
