#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# maps.sh shmem-info [--update]: shmem-info --topo shows each machine as the file beside it says,
# and the text of the machine reads back equal. --update writes these files anew.
set -eu
info=$1
update=${2:-}
cd "$(dirname "$0")/machines"
unset SHMEMH_HCA_LIST SHMEMH_HCA_PE_MAPPING
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail() {
	echo "$*"
	failed=1
}

for file in *.txt; do
	name=${file%.txt}
	"$info" --topo "$file" >"$work/map" || fail "$file: shmem-info failed"
	if [ "$update" = --update ]; then
		cp "$work/map" "$name.ports"
	elif ! diff -u "$name.ports" "$work/map"; then
		fail "$file: the map is not that of $name.ports"
	fi
	"$info" --text "$file" >"$work/text"
	"$info" --text "$work/text" | cmp -s - "$work/text" ||
		fail "$file: not equal when read back"
	"$info" --topo "$work/text" | cmp -s - "$work/map" ||
		fail "$file: another map when read back"
	"$info" --svg "$work/svg" "$file"
	homes=$(awk '/^[0-9]/ && $3 != "none"' "$work/map" | wc -l)
	drawn=$(grep -c "class='home'" "$work/svg" || true)
	[ "$drawn" -eq "$homes" ] || fail "$file: $drawn home ports are drawn, not $homes"
done

# Captured folders are the machines of that name.
for folder in *.captured; do
	"$info" --text "$folder" >"$work/text"
	"$info" --text "${folder%.captured}.txt" | cmp -s - "$work/text" ||
		fail "$folder: the machine is not that of ${folder%.captured}.txt"
done

# What the options change: the port of each GPU.
ports() {
	env "$@" "$info" --topo "$machine" | sed -n '/^GPU /,/^$/p' | awk '/^[0-9]/ { print $3 }' |
		tr '\n' ' '
}
expect() {
	want=$1
	shift
	got=$(ports "$@")
	[ "$got" = "$want " ] || fail "$* on $machine: expected '$want', got '$got'"
}
machine=nic-down.txt
expect 'mlx5_2:1 mlx5_3:1 mlx5_2:1 mlx5_3:1' SHMEMH_HCA_LIST='^mlx5_0'
expect 'mlx5_3:1 mlx5_3:1 mlx5_3:1 mlx5_3:1' SHMEMH_HCA_LIST=mlx5_3:1
machine=2-gpus-2-nics-1-switch.txt
expect 'mlx5_0:1 mlx5_0:1 mlx5_3:1 mlx5_3:1 mlx5_3:1 mlx5_0:1 mlx5_0:1 mlx5_3:1' \
	SHMEMH_HCA_PE_MAPPING=mlx5_0:1:2,mlx5_3:1:3
expect 'mlx5_7:1 mlx5_6:1 mlx5_7:1 mlx5_6:1 mlx5_7:1 mlx5_6:1 mlx5_7:1 mlx5_6:1' \
	SHMEMH_HCA_PE_MAPPING=mlx5_7,mlx5_6

# What is refused, each with one line.
refuse() {
	want=$1
	shift
	if env "$@" >"$work/out" 2>"$work/err"; then
		fail "$*: not refused"
	elif ! grep -q "$want" "$work/err" || [ "$(wc -l <"$work/err")" -ne 1 ]; then
		fail "$*: expected one line with '$want', got: $(cat "$work/err")"
	fi
}
machine=nic-down.txt
refuse 'SHMEMH_HCA_LIST names mlx5_9' SHMEMH_HCA_LIST=mlx5_9 "$info" --topo $machine
mapping=SHMEMH_HCA_PE_MAPPING
refuse "$mapping names mlx5_9" $mapping=mlx5_9 "$info" --topo $machine
refuse 'gives mlx5_1:1 to the PE with rank 0' $mapping=mlx5_1:1 "$info" --topo $machine
refuse 'No such file' "$info" --topo nowhere.txt
refuse 'no captured machine' "$info" --topo "$work"
refuse "maps.sh:1: the first line is not 'machine 1'" "$info" --topo ../maps.sh
refuse 'cannot be written' "$info" --svg /nowhere/out.svg nic-down.txt
if [ -w /dev/full ]; then
	for command in --topo --text; do
		# shellcheck disable=SC2016 # the inner shell expands them
		refuse 'standard output cannot be written' \
			sh -c '"$1" "$2" nic-down.txt >/dev/full' sh "$info" $command
	done
fi
exit $failed
