#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh [--arch arm64] operator|sidecar|node...: container images of the programs in build/, as docker
# archives build/images/afterglow-NAME.tar; those for arm64 come from build/arm64 and go to build/arm64/images.
# Each holds the program, the shared libraries it needs and nothing else: no shell, no package manager. Reproducible:
# the same programs on the same Debian give the same image. The operator's image holds the launchers
# that $AFTERGLOW_LAUNCHERS names, separated by blanks; by default the one of its own architecture.
set -euo pipefail

cd "$(dirname "$0")/.."
images/deps.sh
arch=$(dpkg --print-architecture) build=build sysroot=
if [ "${1:-}" = --arch ]; then
	[ "$2" = "$arch" ] || arch=$2 build=build/$2 sysroot=$PWD/build/$2/sysroot
	shift 2
fi
triple=$(dpkg-architecture -a"$arch" -qDEB_HOST_MULTIARCH 2>/dev/null)
version=$(make -s version)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-image-XXXXXX")
trap 'rm -rf "$work"' EXIT

# With its libraries, at the paths where the loader looks for them.
add_program() { # PROGRAM ROOT [MODE]
	local library libraries
	install -D -s --strip-program="$triple-strip" -m "${3:-755}" "$build/$1" "$2/usr/bin/$1"
	libraries=$(tools/elf-libraries.sh "$triple" "$sysroot" "$build/$1")
	for library in $libraries; do
		install -D -m 755 "$(readlink -f "$sysroot$library")" "$2$library"
	done
}

new_root() { # ROOT
	mkdir -p "$1/etc" "$1/tmp" "$1/proc" "$1/sys" "$1/dev"
	chmod 1777 "$1/tmp"
	echo 'afterglow:x:65532:65532:Afterglow:/:/sbin/nologin' >"$1/etc/passwd"
	echo 'afterglow:x:65532:' >"$1/etc/group"
}

machine_of() { # ELF
	case $(readelf -h "$1") in *X86-64*) echo x86_64 ;; *AArch64*) echo aarch64 ;; *) echo "$1: for which machine?" >&2 && exit 1 ;; esac
}

fill_operator() {
	add_program afterglow-operator "$1"
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
	local launcher
	# Ray may run on nodes of another architecture than the operator's.
	for launcher in ${AFTERGLOW_LAUNCHERS:-$build/afterglow-launch}; do
		install -D -m 755 "$launcher" "$1/usr/libexec/afterglow/launchers/$(machine_of "$launcher")"
	done
}

fill_sidecar() {
	local program
	# The kernel opens no process to others of its user whose program's file that user may not read (lib/undumpable.h).
	for program in sidecar ship pack unwind; do add_program "afterglow-$program" "$1" 111; done
	install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$1/etc/ssl/certs/ca-certificates.crt"
	install -D -m 755 "$build/afterglow-launch" "$1/usr/bin/afterglow-launch"
}

# Static, and root of the node: see docs/node-agent.md.
fill_node() {
	install -D -s --strip-program="$triple-strip" -m 755 "$build/afterglow-node" "$1/usr/bin/afterglow-node"
}
user_of() { if [ "$1" = node ]; then echo 0:0; else echo 65532:65532; fi; }

for name in "$@"; do
	root=$work/$name
	new_root "$root"
	"fill_$name" "$root"
	images/pack.sh "$root" "localhost/afterglow-$name:$version" "$build/images/afterglow-$name.tar" \
		--arch "$arch" --user "$(user_of "$name")" --entrypoint "[\"/usr/bin/afterglow-$name\"]" --workingdir / \
		--label "org.opencontainers.image.title=afterglow-$name" \
		--label "org.opencontainers.image.version=$version" \
		--label "org.opencontainers.image.licenses=Apache-2.0" \
		--label "org.opencontainers.image.description=Afterglow keeps what a Ray pod leaves behind"
	echo "$build/images/afterglow-$name.tar ($(du -h "$build/images/afterglow-$name.tar" | cut -f1))"
done
