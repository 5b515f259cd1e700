#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sysroot.sh ARCH DIR PACKAGE...: unpacks Debian packages of another architecture (arm64), with all that they depend on,
# into DIR: headers and libraries to build with, and programs for an emulator. Nothing is installed: the machine's own
# package manager does not learn of the architecture. apt checks the signatures. DIR/packages lists what is there:
# package, version, source package and its version, a line each; DIR/files which package each file is of. AFTERGLOW_SUITE: another
# release of Debian, for what is not linked with ours.
set -euo pipefail

arch=$1 target=$2
shift 2
suite=${AFTERGLOW_SUITE:-bookworm}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-sysroot-XXXXXX")
root=$work/root
trap 'rm -rf "$work"' EXIT

echo "  SYSROOT Debian $suite, $arch" >&2
hook='for deb in "$1"/var/cache/apt/archives/*.deb; do
	dpkg-deb --show --showformat="\${Package} \${Version} \${source:Package} \${source:Version}\n" "$deb" >>"$1/packages"
	dpkg-deb --fsys-tarfile "$deb" | tar -t | sed "s#^\./#$(dpkg-deb --field "$deb" Package) /#" >>"$1/files"
done'
# mmdebstrap has a shell write to the next free file descriptor, and dash knows those of one digit alone: make and flock leave theirs open.
exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
IFS=, # for the list of packages
if ! mmdebstrap --arch="$arch" --variant=extract --include="$*" --extract-hook="$hook" "$suite" "$root" >"$work/log" 2>&1; then
	tail -20 "$work/log" >&2
	exit 1
fi
rm -rf "$root/dev"
# Absolute links point into this machine.
find "$root" -lname '/*' | while read -r link; do
	ln -snfr "$root$(readlink "$link")" "$link"
done
# musl's own names for its folders, which the compiler takes as they are.
find "$root/usr/lib" -name musl-gcc.specs | while read -r specs; do
	sed "s#/usr/#$(realpath -m "$target")/usr/#g" "$specs" >"$root/musl-gcc.specs"
done
rm -rf "$target"
mkdir -p "$(dirname "$target")"
mv "$root" "$target"
