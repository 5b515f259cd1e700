#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release.sh DIR VERSION: the plugin for people's machines, into DIR: an archive for each system and architecture, as krew and
# people unpack it, and afterglow.yaml, by which krew installs them. From the programs in build/, which `make release` builds.
#
# RELEASE_URL           where the files will be published. Without it the manifest has an address that does not exist
# SOURCE_DATE_EPOCH     the time of all files
set -euo pipefail

cd "$(dirname "$0")/.."
out=$1 version=$2
url=${RELEASE_URL:-https://release.invalid/v$version}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-plugin-XXXXXX")
trap 'rm -rf "$work"' EXIT

write_archive() { # OS-ARCH PROGRAM [STRIP]: what is for macOS is stripped already, and would lose its signature
	local strip=()
	[ -z "${3:-}" ] || strip=(-s "--strip-program=$3")
	mkdir "$work/$1"
	install "${strip[@]}" "$2" "$work/$1/kubectl-afterglow"
	install plugin/kubectl_complete-afterglow "$work/$1"
	install -m 644 LICENSE "$work/$1"
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		-C "$work/$1" -c LICENSE kubectl-afterglow kubectl_complete-afterglow | gzip -9n >"$out/kubectl-afterglow-$1.tar.gz"
}

write_archive linux-amd64 build/kubectl-afterglow strip
write_archive linux-arm64 build/arm64/kubectl-afterglow aarch64-linux-gnu-strip
write_archive darwin-amd64 build/darwin-amd64/kubectl-afterglow
write_archive darwin-arm64 build/darwin-arm64/kubectl-afterglow
tools/krew.py "$version" "$url" "$out" >"$out/afterglow.yaml"
