#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# python_wheel.sh source env|torch: the wheel installs into a new virtual environment. env: the test
# program of the module runs from it alone, with 2 PEs of the launcher. torch: so does the example,
# under torchrun with 2 processes, and with the unique id by the store alone; on CPUs.
set -eu
source=$1 what=$2
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# PYTHONUNBUFFERED makes print() write a text and its end of line by two system calls: lines of two
# PEs would mix.
unset PYTHONUNBUFFERED
export PYTHONDONTWRITEBYTECODE=1

skip() {
	echo "skipped: $*"
	exit 77
}

python3 -c 'import venv, ensurepip' 2>/dev/null || skip "python3 has no venv (python3-venv)"
if [ "$what" = torch ]; then
	python3 -c 'import torch' 2>/dev/null || skip "torch is not installed"
	command -v ninja >/dev/null || skip "no ninja, which torch.utils.cpp_extension runs"
fi
python3 -m venv "$work/venv"
# Without optimisation, as in debian.sh.
"$work/venv/bin/pip" install -q --disable-pip-version-check \
	--config-settings=cmake.build-type=Debug "$source/packaging/python" \
	>"$work/log" 2>&1 || {
	! grep -q 'No matching distribution found for scikit-build-core' "$work/log" ||
		skip "pip finds no scikit-build-core: is this machine online?"
	tail -n 30 "$work/log"
	exit 1
}
packages=$("$work/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
package=$packages/shmem_host
n_libraries=$(find "$package/lib" -name '*.so*' | wc -l)
if find "$package" -type l | grep . || [ "$n_libraries" -ne 3 ]; then
	echo "the wheel has other libraries than three, or links"
	exit 1
fi

if [ "$what" = env ]; then
	g++ -std=c++17 -O2 -fPIC -shared -I "$package/include" \
		"$source/packaging/python/examples/gather_multiply.cpp" -o "$work/kernel.so" \
		"$package/lib/libshmem_sim.so.0"
	gcc -O1 -I "$package/include" "$source/runtime/tools/shmem-launch.c" -o "$work/launch" \
		"$package/lib/libshmem_host.so.0"
	LD_LIBRARY_PATH="$package/lib" SHMEMH_DEBUG=off "$work/launch" -n 2 \
		"$work/venv/bin/python" "$here/python_job.py" "$work/kernel.so" | tee "$work/out"
	[ "$(grep -c 'passed$' "$work/out")" -eq 2 ]
	exit 0
fi

# torch is that of python3, the module that of the new environment.
cp "$source"/packaging/python/examples/gather_multiply.* "$work"
run() { # program
	CUDA_VISIBLE_DEVICES='' PYTHONPATH="$packages" TORCH_EXTENSIONS_DIR="$work/ext" \
		OMP_NUM_THREADS=1 python3 -m torch.distributed.run --standalone \
		--nproc-per-node 2 "$1" >"$work/out" 2>"$work/log" || {
		cat "$work/out" "$work/log"
		return 1
	}
	cat "$work/out"
}
run "$work/gather_multiply.py"
[ "$(grep -c "3 rounds, equal to torch's result" "$work/out")" -eq 2 ]
run "$here/python_store.py"
[ "$(grep -c '^PE . of 2: 2 jobs by the store$' "$work/out")" -eq 2 ]
