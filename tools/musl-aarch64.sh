#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# musl-aarch64.sh DIR: unpacks Debian's musl for arm64 into DIR: headers and static
# libraries to link the launcher with. It is not installed, and the machine's apt
# does not get to know another architecture: lists and package are apt's own work
# in a folder beside, signatures checked as ever.
set -euo pipefail

target=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-musl-XXXXXX")
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/cache/archives/partial"
apt=(apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
	-o "Dir::State::lists=$work/lists" -o Dir::State::status=/dev/null -o "Dir::Cache=$work/cache")
if ! (cd "$work" && "${apt[@]}" update && "${apt[@]}" download musl-dev) >"$work/log" 2>&1; then
	tail -20 "$work/log" >&2
	exit 1
fi
dpkg-deb -x "$work"/musl-dev_*_arm64.deb "$work/root"
mkdir -p "$(dirname "$target")"
rm -rf "$target"
mv "$work/root/usr" "$target"
