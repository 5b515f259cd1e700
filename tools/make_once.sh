# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is built or fetched once and then kept in the cache. Sourced, never run.
#
# AFTERGLOW_CACHE       default ~/.cache/afterglow

cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
make_once_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# make_once DIR COMMAND...: runs COMMAND with DIR as its last argument, which fills it, unless DIR is full already. Suites that run
# side by side may want the same DIR: one of them makes it.
make_once() {
	local dir=$1
	shift
	[ ! -e "$dir/complete" ] || return 0
	mkdir -p "$dir"
	(
		flock 8
		[ ! -e "$dir/complete" ] || exit 0
		"$@" "$dir" >&2 && : >"$dir/complete"
	) 8>"$dir.lock"
}

# go_program NAME PROGRAM MODULE PACKAGE: builds PACKAGE from the Go module in the folder MODULE, and prints the path of PROGRAM, which
# is in the cache below NAME and a hash of the module. What is shown on the way goes to stderr.
go_program() {
	local dir
	dir=$cache/$1-$(shopt -s nullglob && cat "$3"/go.{mod,sum} "$3"/*.go | sha256sum | cut -c1-16)
	make_once "$dir" build_go_program "${@:2}" && printf '%s\n' "$dir/$2"
}

build_go_program() { # PROGRAM MODULE PACKAGE DIR
	local go
	go=$("$make_once_dir/go.sh") || return
	echo "building $1 into $4"
	cd "$2" && PATH=$go:$PATH CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$4/$1" "$3"
}
