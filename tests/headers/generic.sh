#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# generic.sh stage: calls by generic.h compile in C, C++ and CUDA, plainly and in a check build;
# with CUDA also for __half and __nv_bfloat16. A call on elements of another type is refused, and
# the compiler's error has the type, and in C++ and CUDA the operation. forms.sh compiles the calls
# that these names stand for in the other forms of the NIC path.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# refused words command...: the command fails, and a line of its errors has all the words.
refused() {
	words=$1
	shift
	if "$@" 2>"$work/errors"; then
		echo "not refused: $*"
		exit 1
	fi
	grep 'error' "$work/errors" >"$work/lines" || true
	for word in $words; do
		grep "$word" "$work/lines" >"$work/left" || {
			echo "no error has '$word': $*"
			cat "$work/errors"
			exit 1
		}
		mv "$work/left" "$work/lines"
	done
}

used=0
strict='-fsyntax-only -Wall -Wextra -Wpedantic -Werror'
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -xc++ -std=c++17' \
	'clang++ -xc++ -std=c++17'; do
	command -v "${compiler%% *}" >/dev/null || continue
	used=$((used + 1))
	for form in '' -DSHMEMD_CHECK; do
		# shellcheck disable=SC2086 # words
		$compiler $strict $form -I "$1/include" "$here/generic.c"
	done
	case $compiler in
	*++*) words='deleted shmemd_put' ;;
	*) words='pair' ;;
	esac
	# shellcheck disable=SC2086 # words
	refused "$words" $compiler $strict -DREFUSED -I "$1/include" "$here/generic.c"
done

if command -v nvcc >/dev/null; then
	used=$((used + 1))
	# PTX says enough. Older versions of nvcc do not have the option that skips optimisation.
	cuda='nvcc -x cu -std=c++17 -arch=compute_90 -DWITH_HALF'
	! nvcc --help | grep -q Ofast-compile || cuda="$cuda --Ofast-compile=max"
	for form in '' -DSHMEMD_CHECK; do
		# shellcheck disable=SC2086 # words
		$cuda --Werror all-warnings -Xcompiler -Wall,-Wextra $form -I "$1/include" \
			-c "$here/generic.c" -o "$work/generic.o"
	done
	# shellcheck disable=SC2086 # words
	refused 'deleted shmemd_put pair' $cuda -DREFUSED -I "$1/include" -c "$here/generic.c" \
		-o "$work/generic.o"
fi
[ "$used" -gt 0 ] || {
	echo "skipped: no compiler is here"
	exit 77
}
