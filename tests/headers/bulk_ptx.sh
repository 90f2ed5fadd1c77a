#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# bulk_ptx.sh stage: the fences and waits of bulk.h are where they must be in the PTX for sm_90, and
# sm_80 has no instruction of the bulk-copy engine. The emulator has no proxies, so that no test of
# it misses a proxy fence.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nvcc >/dev/null || {
	echo "skipped: no nvcc"
	exit 77
}
for arch in sm_80 sm_90; do
	nvcc -std=c++17 "-arch=$arch" -ptx -I "$1/include" "$here/bulk_ptx.cu" -o "$work/$arch.ptx"
done
if grep -E 'mbarrier|async' "$work/sm_80.ptx"; then
	echo "sm_80 has none of these"
	exit 1
fi

# The instructions that matter of each function, in the order of the text, each run of equal ones
# once. In put_tile_any the commit is the target of a jump from behind the engine's branch, and the
# last bar.sync is that of the copy by threads.
awk '
/^\.visible \.entry|^\.func/ { name = "" }
match($0, /shmemdi_bulk_pipe|put_memory|(put|add)_tile(_any)?|fence/) && /\.entry|\.func/ {
	name = substr($0, RSTART, RLENGTH); sub(/shmemdi_/, "", name); last = "" }
name && match($0, "fence[.]proxy[.]async[a-z:.]*|mbarrier[.](init|inval|try_wait)|bar[.]sync|" \
	"cp[.](reduce[.])?async[.]bulk[.](wait_group([.]read)? *[0-9]|[a-z_]+)") {
	word = substr($0, RSTART, RLENGTH)
	if (word != last) print name, word
	last = word }' "$work/sm_90.ptx" | sort -s -k1,1 >"$work/found"

cat <<'END' | sort -s -k1,1 >"$work/wanted"
bulk_pipe mbarrier.init
bulk_pipe fence.proxy.async.shared::cta
bulk_pipe fence.proxy.async.global
bulk_pipe cp.async.bulk.wait_group.read 2
bulk_pipe cp.async.bulk.shared
bulk_pipe mbarrier.try_wait
bulk_pipe cp.async.bulk.global
bulk_pipe cp.async.bulk.commit_group
bulk_pipe cp.async.bulk.wait_group 0
bulk_pipe mbarrier.inval
fence fence.proxy.async.shared::cta
fence fence.proxy.async.global
add_tile fence.proxy.async.shared::cta
add_tile fence.proxy.async.global
add_tile cp.reduce.async.bulk.global
add_tile cp.async.bulk.commit_group
add_tile_any fence.proxy.async.shared::cta
add_tile_any bar.sync
add_tile_any fence.proxy.async.global
add_tile_any cp.reduce.async.bulk.global
add_tile_any cp.async.bulk.commit_group
put_tile_any fence.proxy.async.shared::cta
put_tile_any bar.sync
put_tile_any fence.proxy.async.global
put_tile_any cp.async.bulk.commit_group
put_tile_any cp.async.bulk.global
put_tile_any bar.sync
put_tile fence.proxy.async.shared::cta
put_tile bar.sync
put_tile fence.proxy.async.global
put_tile cp.async.bulk.global
put_tile cp.async.bulk.commit_group
put_tile cp.async.bulk.wait_group.read 1
put_tile bar.sync
put_tile cp.async.bulk.wait_group 0
put_tile bar.sync
END
diff "$work/wanted" "$work/found"
