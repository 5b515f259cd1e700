# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What is built or fetched once and then kept in the cache. Sourced, never run.
#
# AFTERGLOW_CACHE       default ~/.cache/afterglow

cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}

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
