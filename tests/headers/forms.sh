#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# forms.sh stage: a unit compiles in each of the three forms of the NIC path (the default,
# SHMEMD_NIC_INLINE, SHMEMD_NO_NIC), for the CPU and by nvcc, also with -G. In nvcc's output the
# operations that post by NIC (impl/any_peer.h) are functions in the default form alone.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

used=0
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -xc++ -std=c++17' \
	'clang++ -xc++ -std=c++17'; do
	command -v "${compiler%% *}" >/dev/null || continue
	used=$((used + 1))
	case $compiler in # gcc gives some of its warnings only if it optimises
	clang*) level=-O0 ;;
	*) level=-O1 ;;
	esac
	for form in '' -DSHMEMD_NIC_INLINE -DSHMEMD_NO_NIC; do
		# shellcheck disable=SC2086 # words
		$compiler $level -Wall -Wextra -Wpedantic -Werror $form -I "$1/include" \
			-c "$here/forms.c" -o "$work/forms.o"
	done
done

# expect count form: so many operations that post by NIC are functions in the PTX.
expect() {
	n=$(grep -aoE 'shmemdi_(put_of_group|(p|add8|update)_by_nic|(put|store|add8)_post)' \
		"$work/forms.ptx" | sort -u | wc -l)
	case $1 in
	some) [ "$n" -gt 0 ] ;;
	*) [ "$n" -eq 0 ] ;;
	esac || {
		echo "nvcc $2: expected $1 functions of the NIC path, got $n"
		exit 1
	}
}

if command -v nvcc >/dev/null; then
	used=$((used + 1))
	for form in '' -DSHMEMD_NIC_INLINE -DSHMEMD_NO_NIC; do
		# shellcheck disable=SC2086 # words
		nvcc -x cu -std=c++17 -arch=sm_90 --Werror all-warnings -Xcompiler -Wall,-Wextra \
			$form -I "$1/include" -ptx "$here/forms.c" -o "$work/forms.ptx"
		case $form in
		'') expect some "$form" ;;
		*) expect no "$form" ;;
		esac
	done
	for form in '' -DSHMEMD_NO_NIC; do
		# shellcheck disable=SC2086 # words
		nvcc -G -x cu -std=c++17 -arch=sm_90 $form -I "$1/include" -c "$here/forms.c" \
			-o "$work/forms.o"
	done
fi
[ "$used" -gt 0 ] || {
	echo "skipped: no compiler is here"
	exit 77
}
