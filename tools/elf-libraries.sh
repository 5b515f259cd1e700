#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# elf-libraries.sh TRIPLE SYSROOT ELF...: prints the paths of the loader and the shared libraries that the programs need, each once, as they are
# on the machine that runs them. SYSROOT is where that machine's files are ("" for this one). Unlike ldd it runs nothing, so the programs may be
# another architecture's.
set -euo pipefail
export LC_ALL=C # readelf translates its words

triple=$1 sysroot=$2
shift 2
declare -A seen

look_into() { # ELF
	local name library
	for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'); do
		case $name in ld-linux*) continue ;; esac
		[ -z "${seen[$name]:-}" ] || continue
		seen[$name]=1
		library=/lib/$triple/$name
		[ -e "$sysroot$library" ] || library=/usr/lib/$triple/$name
		[ -e "$sysroot$library" ] || { echo "$1 needs $name, which is not there" >&2 && exit 1; }
		echo "$library"
		look_into "$sysroot$library"
	done
}

for elf; do
	loader=$(readelf -lW "$elf" | sed -n 's/.*interpreter: \(.*\)\]/\1/p')
	if [ -n "$loader" ] && [ -z "${seen[loader]:-}" ]; then
		seen[loader]=1
		echo "$loader"
	fi
	look_into "$elf"
done
