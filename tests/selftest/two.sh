#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# The self-test between two PEs on the software adapter, whose NICs are connected by TCP: all rows
# pass, but for those that need both ends in one process. Then, for each ROW, the adapter of PE 1
# alone breaks the rule of that name: that row fails and no other. --near ROW: the row is about the
# NIC of PE 0, so that a rule that PE 1 breaks makes no row fail. Then what cannot go on, with one
# line: PE 1 is killed, has no such NIC or NICs of another network, or there are three PEs.
# Usage: two.sh [--netns] SHMEM_INFO SHMEM_LAUNCH ADAPTER [[--near] ROW...]
# --netns: each PE in a network namespace of its own, with NICs that only see each other's. Exits
# with 77 if there is no right to make them.
set -eu
here=$(dirname "$0")
netns=
if [ "$1" = --netns ]; then
	shift
	netns=none
	command -v ip >/dev/null || { echo "skipped: no ip (iproute2)"; exit 77; }
	for options in -Urn -n; do
		[ "$netns" != none ] || ! unshare $options true 2>/dev/null || netns=$options
	done
	[ "$netns" != none ] || { echo "skipped: no right to make network namespaces"; exit 77; }
fi
info=$1 launcher=$2
export SHMEMH_IB_LIBRARY="$3" MLX5SW_LINT=off MLX5SW_FABRIC=tcp:127.0.0.1
export CUDA_VISIBLE_DEVICES=
shift 3
out=$(mktemp -d)
export out
trap 'rm -rf "$out"' EXIT
export MLX5SW_DIR="$out"
local_only="two-ports gpu-doorbell gpu-queue gpu-read-quiet "
wrong=0

# start N SCRIPT: N PEs, each a shell that runs SCRIPT, in which "$@" is the self-test.
start() {
	n=$1 script=$2
	set -- sh -c "$script" sh "$info" --selftest --minutes 5
	if [ -n "$netns" ]; then
		NODES='1 1' LIMIT=250 unshare "$netns" sh "$here/../net/namespaces.sh" \
			"$launcher" "$@" >"$out/table" 2>"$out/lines"
	else
		"$launcher" -n "$n" -t 250 "$@" >"$out/table" 2>"$out/lines"
	fi
}

# selftest RULE: PE 1 breaks that rule, or none. Each PE has its own file of results.
selftest() {
	rm -f "$out"/results.*
	export rule="$1"
	# shellcheck disable=SC2016 # for the PE's shell
	start 2 '[ "$SHMEMH_PE" = 0 ] || export MLX5SW_UNLIKE="$rule"
		exec "$@" --save "$out/results.$SHMEMH_PE"'
}

# rows VERDICT: the names of the rows with that verdict.
rows() { sed -n "s/^\([a-z0-9-]*\) *$1  .*/\1/p" "$out/table" | tr '\n' ' '; }

# kept PE: what that PE has kept of four rows.
kept() {
	sed -n 's/.* \(prefix\|dump\|write\|two-ports\) \(.*\)/\1 \2/p' "$out/results.$1" |
		sort -u | tr '\n' ';'
}

complain() {
	echo "$1"
	cat "$out/table" "$out/lines"
	wrong=1
}

# A verdict on what the responder does is kept by PE 1 alone, one on the requester by PE 0.
if ! selftest none || [ "$(rows 'cannot tell')" != "$local_only" ]; then
	complain "a row does not pass between two PEs:"
elif [ "$(kept 0)" != "dump pass;write pass;" ] ||
	[ "$(kept 1)" != "prefix pass;write pass;" ]; then
	complain "the PEs keep other results: $(cat "$out"/results.*)"
fi
n_rows=0
near=
for name in "$@"; do
	if [ "$name" = --near ]; then
		near=yes
		continue
	fi
	n_rows=$((n_rows + 1))
	if [ -n "$near" ]; then
		selftest "$name" || complain "--near $name: a row fails:"
		near=
	elif selftest "$name" || [ "$(rows FAIL)" != "$name " ] ||
		! grep -q '^    PE 0 .* -> PE 1 ' "$out/table"; then
		complain "PE 1 breaks $name: expected that it alone fails:"
	fi
done

# expect LINE SCRIPT [N]: the self-test ends with a failure, and says LINE once.
expect() {
	if start "${3:-2}" "$2" || [ "$(grep -c "$1" "$out/lines")" != 1 ]; then
		complain "expected one line: $1"
	fi
}

# The program must not be the shell's own process: its end is the shell's choice here.
# shellcheck disable=SC2016 # for the PE's shell
expect '^shmem-info: self-test: ended in row .* of [0-9]* rows: .*PE 1 died' '
	[ "$SHMEMH_PE" = 1 ] || exec "$@" --save "$out/results.0"
	"$@" --save "$out/results.1" &
	until grep -q "^dump " "$out/table"; do sleep 0.05; done
	kill -9 $!
	wait $!'
grep -q ' write pass' "$out/results.0" || complain "PE 0 has not kept what was tested before:"
# shellcheck disable=SC2016 # for the PE's shell
expect '^shmem-info: self-test: PE 1 (.*): .* there is no such NIC' '
	[ "$SHMEMH_PE" = 0 ] || set -- "$@" --nics mlx5_7
	exec "$@" --save "$out/results"'
# shellcheck disable=SC2016 # for the PE's shell
expect '^shmem-info: self-test: PE 0 .* is RoCE, PE 1 .* is not: name ports of one network' '
	[ "$SHMEMH_PE" = 0 ] || export MLX5SW_LINK=infiniband MLX5SW_FABRIC="shm:two-$$"
	exec "$@" --save "$out/results"'
# shellcheck disable=SC2016 # for the PE's shell
[ -n "$netns" ] || expect '^shmem-info: self-test: the job has 3 PEs: start 2' '
	exec "$@" --save "$out/results"' 3
[ $wrong = 0 ] || exit 1
echo "rules that PE 1 broke: $n_rows"
