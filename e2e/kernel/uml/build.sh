#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds User Mode Linux, a kernel that is a program of this machine, and prints its path. The source is Debian's package of
# the next release, unpacked and not installed; the configuration is ours. It takes some seven minutes on two cores, and nothing when
# the kernel is in the cache already.
#
# AFTERGLOW_CACHE  where the kernel is kept (default ~/.cache/afterglow)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tools=$here/../../../tools
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
suite=forky
kernel=$cache/uml/linux-$(cat "$here/build.sh" "$here/config" "$here/sched_clock.c" | sha256sum | cut -c1-16)

step() { echo "user-mode linux: $*" >&2; }
done_already() {
	[ -x "$kernel" ] || return 1
	printf '%s\n' "$kernel"
}

# apt with lists of the next release alone, from the mirror of this machine, whose own lists stay as they are.
next_apt() {
	local command=$1
	shift
	"$command" -o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$work/lists" \
		-o APT::Sandbox::User=root "$@"
}

fetch_source() {
	local mirror package
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sort -u | head -n 1)
	[ -n "$mirror" ] || { step "apt has no mirror of Debian" && return 1; }
	mkdir -p "$work/lists/partial"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$work/sources.list"
	next_apt apt-get update -q >"$work/apt.log" 2>&1 || { tail -n 5 "$work/apt.log" >&2 && return 1; }
	# A mirror has the current version alone.
	package=$(next_apt apt-cache pkgnames linux-source- | grep -E '^linux-source-[0-9.]+$' | sort -V | tail -n 1)
	[ -n "$package" ] || { step "Debian $suite has no linux-source" && return 1; }
	step "fetching $package"
	(cd "$work" && next_apt apt-get download -q "$package" >"$work/apt.log" 2>&1) || { tail -n 5 "$work/apt.log" >&2 && return 1; }
	mkdir "$work/source"
	dpkg-deb --fsys-tarfile "$work"/*.deb | tar -xO --wildcards './usr/src/linux-source-*.tar.xz' |
		tar -xJ -C "$work/source" --strip-components=1
	rm "$work"/*.deb
}

configure() {
	local line lost=0
	cat "$here/sched_clock.c" >>"$work/source/arch/um/kernel/time.c"
	# Copying from a process that is just being killed for its memory finds no page table entry, and the kernel panics.
	sed -i 's/^\tif (!pte_present(\*pte))$/\tif (pte \&\& !pte_present(*pte))/' "$work/source/arch/um/kernel/skas/uaccess.c"
	make -C "$work/source" ARCH=um O="$work/build" KCONFIG_ALLCONFIG="$here/config" allnoconfig >"$work/config.log" 2>&1
	while read -r line; do
		grep -qxF "$line" "$work/build/.config" || { step "kconfig dropped $line" && lost=1; }
	done < <(grep '^CONFIG_' "$here/config")
	[ "$lost" = 0 ]
}

compile() {
	local pid ticks=0
	make -C "$work/source" ARCH=um O="$work/build" -j"${AFTERGLOW_CORES:-$(nproc)}" linux >"$work/build.log" 2>&1 &
	pid=$!
	trap 'kill "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
	while kill -0 "$pid" 2>/dev/null; do
		sleep 1
		ticks=$((ticks + 1))
		((ticks % 20)) || step "compiled $(grep -c '^  CC ' "$work/build.log") of some 1,000 files"
	done
	wait "$pid" || { tail -n 20 "$work/build.log" >&2 && return 1; }
}

done_already && exit
"$tools/apt-install.sh" bc bison flex gcc libc6-dev m4 make xz-utils >&2
mkdir -p "$cache/uml"
# Suites that run side by side want the same kernel: the second finds it.
exec 8>"$cache/uml/lock"
flock 8
done_already && exit
work=$(mktemp -d "$cache/uml/build.XXXXXX")
trap 'rm -rf "$work"' EXIT
fetch_source
configure
compile
mv "$work/build/linux" "$kernel"
step "done, $(du -h "$kernel" | cut -f1)"
printf '%s\n' "$kernel"
