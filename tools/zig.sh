#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# zig.sh: prints the path of zig, whose C compiler and linker make programs for macOS on Linux: it brings the headers of macOS' libc
# and the list of what libSystem has. Installed once from PyPI, pinned, into the cache (100 MB to load, half a gigabyte unpacked).
#
# AFTERGLOW_CACHE       default ~/.cache/afterglow
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.17.1
dir=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}/zig-$version

install_zig() {
	python3 -m pip --version >/dev/null 2>&1 || tools/apt-install.sh python3-pip >&2
	work=$(mktemp -d "$dir-XXXXXX")
	trap 'rm -rf "$work"' EXIT
	cat >"$work/requirements.txt" <<-REQUIREMENTS
		ziglang==$version \\
			--hash=sha256:ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54 \\
			--hash=sha256:b7c5f02fccd40f89b999ee16a1f5ddced56e6182370f8affe494bcf8a28cf07e
	REQUIREMENTS
	echo "  zig $version from PyPI" >&2
	python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --no-compile --require-hashes \
		--only-binary :all: --target "$work/zig" -r "$work/requirements.txt" >&2
	mv -T "$work/zig" "$dir"
}

if [ ! -e "$dir" ]; then
	mkdir -p "${dir%/*}"
	(
		flock 8
		[ -e "$dir" ] || install_zig
	) 8>"$dir.lock"
fi
echo "$dir/ziglang/zig"
