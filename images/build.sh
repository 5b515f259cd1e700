#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh operator|sidecar|node...: container images of the programs in build/, as docker
# archives build/images/afterglow-NAME.tar. Each holds the program, the shared
# libraries it needs and nothing else: no shell, no package manager. Reproducible:
# the same programs on the same Debian give the same image.
set -euo pipefail

cd "$(dirname "$0")/.."
images/deps.sh
version=$(make -s version)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-image-XXXXXX")
trap 'rm -rf "$work"' EXIT

# The program with its libraries, at the paths where its loader looks for them.
add_program() { # PROGRAM ROOT
	install -D -s -m 755 "build/$1" "$2/usr/bin/$1"
	ldd "build/$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\(\/[^ ]*ld-linux[^ ]*\).*/\1/p' |
		while read -r library; do
			install -D -m 755 "$(readlink -f "$library")" "$2$library"
		done
}

new_root() { # ROOT
	mkdir -p "$1/etc" "$1/tmp" "$1/proc" "$1/sys" "$1/dev"
	chmod 1777 "$1/tmp"
	echo 'afterglow:x:65532:65532:Afterglow:/:/sbin/nologin' >"$1/etc/passwd"
	echo 'afterglow:x:65532:' >"$1/etc/group"
}

fill_operator() {
	add_program afterglow-operator "$1"
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
	install -D -m 755 build/afterglow-launch "$1/usr/libexec/afterglow/launchers/$(uname -m)"
	if [ -e build/aarch64/afterglow-launch ]; then
		install -D -m 755 build/aarch64/afterglow-launch "$1/usr/libexec/afterglow/launchers/aarch64"
	fi
}

fill_sidecar() {
	add_program afterglow-sidecar "$1"
	add_program afterglow-ship "$1"
	add_program afterglow-pack "$1"
	add_program afterglow-unwind "$1"
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
	install -D -m 755 build/afterglow-launch "$1/usr/bin/afterglow-launch"
}

# Static, and root of the node: see docs/node-agent.md.
fill_node() {
	install -D -s -m 755 build/afterglow-node "$1/usr/bin/afterglow-node"
}
user_of() { if [ "$1" = node ]; then echo 0:0; else echo 65532:65532; fi; }

for name in "$@"; do
	root=$work/$name
	new_root "$root"
	"fill_$name" "$root"
	images/pack.sh "$root" "localhost/afterglow-$name:$version" "build/images/afterglow-$name.tar" \
		--user "$(user_of "$name")" --entrypoint "[\"/usr/bin/afterglow-$name\"]" --workingdir / \
		--label "org.opencontainers.image.title=afterglow-$name" \
		--label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.licenses=Apache-2.0" \
		--label "org.opencontainers.image.description=Afterglow keeps what a Ray pod leaves behind"
	echo "build/images/afterglow-$name.tar ($(du -h "build/images/afterglow-$name.tar" | cut -f1))"
done
