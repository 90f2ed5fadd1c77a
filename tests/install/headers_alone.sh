#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# headers_alone.sh stage c|cxx|cuda: each installed header compiles alone, and twice in one unit,
# with every available compiler of that language and the warnings that users turn on; plain and with
# SHMEMD_CHECK. So does a user's kernel, for what macros expand to. A header for one language only
# is skipped for the others, and cpu_bits.h and cpu_checks.h, which are parts of cpu.h. The check
# build is of the headers that users include; those in impl/ and typed/ are compiled by one compiler
# of a language.
# nvcc takes a second for each unit, so it compiles those that users include and one of each kind of
# typed/, for the device; for the host too, and in the check build, those that include the others.
# Those of abi/ and shmem_host/ are C: it gets shmem_host.h alone.
set -eu
include=$1/include language=$2
strict='-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror -fsyntax-only'
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

case $language in
c) compilers='gcc clang' skip='/((bulk_)?cuda|cpu_(bits|checks)|state|half|bfloat16)\.h$' ;;
cxx)
	compilers='g++ clang++'
	skip='/((bulk_)?cuda|cpu_(bits|checks)|state|half|bfloat16)\.h$|shmem_sim_cuda\.h$'
	;;
cuda)
	compilers=nvcc
	skip='/(bulk_cpu|cpu|cpu_(bits|checks))\.h$|shmem_sim_cuda\.h$|/(impl|abi)/'
	skip="$skip|/typed/([^bfh]|bits[^8])|^shmem_host/([^s]|st)"
	;;
*) exit 2 ;;
esac

# shellcheck disable=SC2086 # flags are words
compile() { # compiler unit
	case $language in
	c) "$1" -xc -std=c11 $strict -I "$include" $check "$2" ;;
	cxx) "$1" -xc++ -std=c++17 $strict -I "$include" $check "$2" ;;
	cuda)
		output=-ptx
		case $2 in "$work"/shmem_dev_s*) output=-c ;; esac
		"$1" -x cu -std=c++17 -arch=compute_90 --Werror all-warnings \
			-Xcompiler -Wall,-Wextra,-Wshadow,-Wconversion "$output" -I "$include" \
			$check "$2" -o "$2.o"
		;;
	esac
}

used=0 failed=0 n_headers=0
for header in $(cd "$include" && find . -name '*.h' | sed 's,^\./,,' | grep -Ev "$skip" | sort); do
	n_headers=$((n_headers + 1))
	printf '#include <%s>\n#include <%s>\nint headers_alone_unit;\n' "$header" "$header" \
		>"$work/$(echo "$header" | tr '/.' '__').c"
done
cp "$(dirname "$0")/user_strict.c" "$work/shmem_dev_shmem_user_strict.c"
for compiler in $compilers; do
	command -v "$compiler" >/dev/null || continue
	used=$((used + 1))
	for check in '' -DSHMEMD_CHECK; do
		for unit in "$work"/*.c; do
			case $language$check:${unit##*/} in
			cuda-DSHMEMD_CHECK:shmem_dev_s*) ;;
			cuda-DSHMEMD_CHECK:* | *-DSHMEMD_CHECK:shmem_host_*) continue ;;
			*-DSHMEMD_CHECK:shmem_dev_impl_* | *-DSHMEMD_CHECK:shmem_dev_typed_*)
				continue
				;;
			*:shmem_dev_impl_* | *:shmem_dev_typed_*)
				[ "$used" -eq 1 ] || continue
				;;
			esac
			compile "$compiler" "$unit" || {
				echo "$unit $check: does not compile alone with $compiler"
				failed=1
			}
		done
	done
done
[ "$used" -gt 0 ] || {
	echo "skipped: no $compilers"
	exit 77
}
[ "$n_headers" -gt 0 ] || {
	echo "no headers below $include"
	exit 1
}
exit "$failed"
