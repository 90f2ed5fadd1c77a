#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The shmem_dev authors
# debian.sh source: the Debian packages build, lintian has no error and no warning, and an example
# builds from them alone: in a new Debian system by mmdebstrap, whose apt installs them with what
# they depend on, or, without mmdebstrap or network, from a folder with their files.
set -eu
source=$1
here=$(cd "$(dirname "$0")" && pwd)

skip() {
	echo "skipped: $*"
	exit 77
}

for program in dpkg-buildpackage dh lintian git; do
	command -v "$program" >/dev/null || skip "no $program (packages dpkg-dev debhelper lintian)"
done
missing=$(dpkg-checkbuilddeps "$source/packaging/debian/control" 2>&1) || skip "$missing"
# Its path is without spaces, as mmdebstrap's hooks need it, and other users may read it.
work=$(mktemp -d /tmp/shmem-packages-XXXXXX)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"

# Without optimisation, in half the time: the preset plain compiles the same sources with it.
DEB_BUILD_OPTIONS=noopt "$source/packaging/build_deb.sh" "$work/deb" >"$work/log" 2>&1 || {
	tail -n 40 "$work/log"
	exit 1
}
as_root=
[ "$(id -u)" -ne 0 ] || as_root=--allow-root
# A first upload to Debian would close the bug that announces the package; this is none.
lintian $as_root --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs \
	"$work"/deb/*.changes
echo "lintian: no error, no warning"

# Of one version all packages but those with debug information.
packages=$(find "$work/deb" -name '*.deb' ! -name '*-dbgsym_*' | sort)

in_new_system() {
	command -v mmdebstrap >/dev/null || {
		echo "no mmdebstrap"
		return 1
	}
	set -- --quiet --variant=minbase --include=gcc,libc6-dev,pkgconf \
		--hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount
	for package in $packages; do
		set -- "$@" "--include=$package"
	done
	# shellcheck disable=SC1091,SC2016 # mmdebstrap's shell expands $1, the new system
	mmdebstrap "$@" --customize-hook="copy-in '$here/use_packages.sh' /root" \
		--customize-hook='chroot "$1" sh /root/use_packages.sh' \
		"$(. /etc/os-release && echo "$VERSION_CODENAME")" /dev/null >"$work/log" 2>&1 && {
		grep 'PE [0-9]* of' "$work/log"
		return 0
	}
	grep -E 'Could not resolve|Could not connect|Temporary failure' "$work/log" || {
		tail -n 40 "$work/log"
		exit 1
	}
	return 1
}

if in_new_system; then
	echo "installed in a new system of mmdebstrap"
else
	echo "not installed: the packages' files in a folder"
	for package in $packages; do
		dpkg-deb -x "$package" "$work/root"
	done
	sh "$here/use_packages.sh" "$work/root"
fi
