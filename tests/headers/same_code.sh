#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# same_code.sh BEFORE [AFTER]: is the machine code of the kernels of regs.cu for sm_90, in each form
# of the NIC path, the same with the headers of commit BEFORE as with those of AFTER, or of the
# working tree? To be run by hand around a commit that only renames. Prints a line for each form;
# fails if one differs.
#
# ptxas orders the functions of a kernel by their names. So functions and labels are numbered in the
# PTX, in the order in which they appear there, before ptxas compiles it.
set -eu
[ $# -ge 1 ] || {
	echo "same_code.sh: which commit? usage: same_code.sh BEFORE [AFTER]" >&2
	exit 2
}
top=$(git -C "$(dirname "$0")" rev-parse --show-toplevel)
after=$top
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree() { # tree COMMIT NAME
	mkdir "$work/$2"
	git -C "$top" archive "$1" include tests/headers/regs.cu | tar -x -C "$work/$2"
}
tree "$1" before
if [ $# -gt 1 ]; then
	tree "$2" after
	after=$work/after
fi

code() { # code TREE FORM FILE
	nvcc -std=c++17 -arch=sm_90 -ptx ${2:+"-DSHMEMD_$2"} -I "$1/include" \
		"$1/tests/headers/regs.cu" -o "$work/names.ptx"
	perl -pe 's/\b(_Z\w+|\w*shmemd\w*)/$n{$1} \/\/= "f" . ++$i/ge; s,//.*,,' \
		"$work/names.ptx" >"$work/numbers.ptx"
	ptxas -arch=sm_90 -O3 "$work/numbers.ptx" -o "$3"
}

status=0
for form in '' NIC_INLINE NO_NIC; do
	code "$work/before" "$form" "$work/a"
	code "$after" "$form" "$work/b"
	if cmp -s "$work/a" "$work/b"; then
		echo "${form:-default}: the same, $(wc -c <"$work/a") bytes"
	else
		echo "${form:-default}: differs"
		status=1
	fi
done
exit $status
