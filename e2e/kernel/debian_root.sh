#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# debian_root.sh NAME PACKAGES FILES: prints the path of a directory with these files of Debian packages, and the libraries that they
# name, for AFTERGLOW_VM_ROOT of vm.sh. The packages are unpacked, not installed: their installation would change this machine.
# A file that none of them has is this machine's. /sbin is a link in the virtual machine, so files of sbin come to usr/sbin.
set -euo pipefail
name=$1 packages=$2 files=$3
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
mkdir -p "$cache"
exec 8>"$cache/$name-root.lock"
flock 8
root=$cache/$name-root-$({ cat "$0" && echo "$packages $files"; } | sha256sum | cut -c1-12)
if [ ! -e "$root/.whole" ]; then
	work=$(mktemp -d "$cache/$name.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	"$(dirname "$0")/../../tools/apt-update.sh"
	# shellcheck disable=SC2086
	(cd "$work" && apt-get -o APT::Sandbox::User=root download -q $packages >&2)
	for package in "$work"/*.deb; do dpkg-deb --fsys-tarfile "$package" | tar -x -C "$work"; done
	rm -rf "$root"
	libraries=$work/usr/lib/x86_64-linux-gnu:$work/lib/x86_64-linux-gnu:$work/usr/lib/x86_64-linux-gnu/systemd
	for file in $files; do
		from=$work/$file
		[ -e "$from" ] || from=/$file
		install -D "$from" "$root/${file/#sbin/usr/sbin}"
		needs=$(LD_LIBRARY_PATH=$libraries ldd "$from" 2>/dev/null) || continue # no program
		if grep 'not found' <<<"$needs" >&2; then exit 1; fi
		for library in $(grep -o '/[^ ]*' <<<"$needs"); do install -D "$library" "$root/${library#"$work"/}"; done
	done
	touch "$root/.whole"
fi
echo "$root"
