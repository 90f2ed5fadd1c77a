#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# build_deb.sh FOLDER [options of dpkg-buildpackage]: source and binary packages of the tree as it
# is, uncommitted files included, in FOLDER, which must not exist. Needs dpkg-dev, and what
# packaging/debian/control lists under Build-Depends.
set -eu
[ $# -ge 1 ] || {
	sed -n '4,6s/^# //p' "$0"
	exit 2
}
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir "$1"
out=$(cd "$1" && pwd)
shift

die() {
	echo "build_deb.sh: $*" >&2
	exit 1
}

version_of() { # MAJOR|MINOR|PATCH
	sed -n "s/^#define SHMEMH_VERSION_$1 //p" "$root/include/shmem_host/init.h"
}
version=$(version_of MAJOR).$(version_of MINOR).$(version_of PATCH)
packaged=$(dpkg-parsechangelog -l "$root/packaging/debian/changelog" -S Version)
[ "${packaged%-*}" = "$version" ] ||
	die "packaging/debian/changelog says $packaged, the tree is $version: add an entry"
major=$(version_of MAJOR) minor=$(version_of MINOR)
range="(>= $major.$minor), \$\$package (<< $major.$((minor + 1))~)"
grep -qF "$range" "$root/packaging/debian/rules" ||
	die "packaging/debian/rules is of another version than $version: dh_makeshlibs needs $range"

tree=$out/shmem-dev-$version
mkdir "$tree"
# shellcheck disable=SC2016 # the inner shell expands them
(cd "$root" && git ls-files -z -co --exclude-standard | xargs -0 sh -c '
	for path; do [ ! -f "$path" ] || printf "%s\0" "$path"; done' sh |
	tar --null -T - -cf -) | tar -C "$tree" -xf -
tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner -czf \
	"$out/shmem-dev_$version.orig.tar.gz" "shmem-dev-$version"
cp -R "$tree/packaging/debian" "$tree/debian"
cd "$tree"
dpkg-buildpackage --unsigned-source --unsigned-changes "$@"
