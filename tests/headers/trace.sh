#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# trace.sh stage: units that record their calls compile without warnings, as C, C++ and for sm_80
# and sm_90, in check builds and in each form of the NIC path too; and without SHMEMD_TRACE the PTX
# of the operations (regs.cu) does not mention a trace.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

used=0
for compiler in 'gcc -xc -std=c11' 'clang -xc -std=c11' 'g++ -xc++ -std=c++17' \
	'clang++ -xc++ -std=c++17'; do
	command -v "${compiler%% *}" >/dev/null || continue
	used=$((used + 1))
	for define in SHMEMD_CHECK SHMEMD_NO_NIC; do
		# shellcheck disable=SC2086 # the command's words
		$compiler -Wall -Wextra -Wshadow -Wconversion -Werror "-D$define" -I "$1/include" \
			-fsyntax-only "$here/trace.cu"
	done
done
if command -v nvcc >/dev/null; then
	used=$((used + 1))
	# PTX says enough: ptxas takes ten times as long and has no warnings of the language. Older
	# versions of nvcc do not have the option that leaves out the optimisation.
	fast=
	! nvcc --help | grep -q Ofast-compile || fast=--Ofast-compile=max
	for options in '-arch=compute_80' '-arch=compute_90 -DSHMEMD_CHECK' \
		'-arch=compute_90 -DSHMEMD_NIC_INLINE' '-arch=compute_90 -DSHMEMD_NO_NIC' \
		'-arch=compute_90'; do
		# shellcheck disable=SC2086 # the command's words
		nvcc -std=c++17 $fast $options -Werror all-warnings -ptx -I "$1/include" \
			"$here/trace.cu" -o "$work/trace.ptx"
		grep -q trace_append "$work/trace.ptx"
	done
	nvcc -std=c++17 -arch=compute_90 -ptx -I "$1/include" "$here/regs.cu" -o "$work/regs.ptx"
	if grep trace_append "$work/regs.ptx"; then
		exit 1
	fi
fi
[ "$used" -gt 0 ] || {
	echo "skipped: no compiler is here"
	exit 77
}
