#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# The self-test on the software adapter: without MLX5SW_UNLIKE no row fails, and all rows that need
# no GPU pass; with the name of a row, that row fails and no other.
# Usage: unlike.sh [--gpu] SHMEM_INFO ADAPTER [ROW...]; without rows, each that passes and that the
# adapter can break. --gpu: the rows that need a GPU must pass as well.
set -eu
unknown="gpu-doorbell gpu-queue gpu-read-quiet "
if [ "$1" = --gpu ]; then
	shift
	unknown=
	nvidia-smi -L 2>/dev/null | grep -q '^GPU' || { echo "skipped: no GPU"; exit 77; }
else
	export CUDA_VISIBLE_DEVICES=
fi
info=$1
export SHMEMH_IB_LIBRARY="$2" MLX5SW_LINT=off
shift 2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
wrong=0

# selftest RULE: run it on an adapter that breaks that rule, or none. Its exit status says whether
# a row fails.
selftest() {
	MLX5SW_UNLIKE=$1 "$info" --selftest --minutes 5 --save "$out/results" > "$out/table" 2>&1
}

# rows VERDICT: the names of the rows with that verdict.
rows() { sed -n "s/^\([a-z0-9-]*\) *$1  .*/\1/p" "$out/table" | tr '\n' ' '; }

complain() {
	echo "$1"
	cat "$out/table"
	wrong=1
}

if ! selftest none || [ "$(rows 'cannot tell')" != "$unknown" ]; then
	complain "a row does not pass on the adapter as it is:"
fi
names=${*:-$(rows pass | sed 's/gpu-doorbell //; s/gpu-read-quiet //')}
for name in $names; do
	if selftest "$name" || [ "$(rows FAIL)" != "$name " ]; then
		complain "MLX5SW_UNLIKE=$name: expected that $name alone fails:"
	fi
done
[ $wrong = 0 ] || exit 1
echo "rows tested: $(echo "$names" | wc -w)"
