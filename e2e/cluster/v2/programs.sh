#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a current containerd and runc from the Go modules here, and prints their directory: Debian's are years older than those of
# the nodes that people have. Five minutes on two cores when nothing is cached, nothing at all when they are built already.
set -euo pipefail
# shellcheck source=../lib.sh
. "$(dirname "$0")/../lib.sh"
# shellcheck source=lib.sh
. "$here/v2/lib.sh"

out=$(v2_programs_dir)

# compile MODULE PACKAGE TAGS: under its package's last name.
compile() {
	local program=${2##*/}
	step "$program: compiling" >&2
	(cd "$v2/$1" && go build -trimpath -tags "$3" -ldflags '-s -w' -o "$out/$program" "$2") >&2
}

if [ ! -e "$out/complete" ]; then
	command -v go >/dev/null || die "Go is not installed: version 1.26 or newer is needed, and Debian 12 has none"
	"$here/../../tools/apt-install.sh" gcc libc6-dev libseccomp-dev pkg-config >&2
	mkdir -p "$out"
	exec 8>"$out.lock"
	flock 8
	export GOFLAGS=-buildvcs=false
	smaller=no_aufs,no_btrfs,no_devmapper,no_tracing,no_zfs
	for program in containerd containerd-shim-runc-v2 ctr; do
		[ -e "$out/complete" ] ||
			CGO_ENABLED=0 compile containerd "github.com/containerd/containerd/v2/cmd/$program" "$smaller"
	done
	# It enters namespaces in C.
	[ -e "$out/complete" ] || CGO_ENABLED=1 compile runc github.com/opencontainers/runc seccomp
	: >"$out/complete"
fi
printf '%s\n' "$out"
