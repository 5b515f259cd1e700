#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: prints the file axe.min.js of axe-core, from npm and pinned by package-lock.json.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

install() { # DIR
	local try
	command -v npm >/dev/null || "$here/../../tools/apt-install.sh" nodejs npm >&2
	cp "$here"/package{,-lock}.json "$1"
	# A registry that did not answer may do so the next time.
	for try in 1 2 3; do
		(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund --omit=dev --loglevel=error >&2) && return
		sleep "$try"
	done
	return 1
}

dir=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}/axe-$(cat "$here"/package{,-lock}.json | sha256sum | cut -c1-16)
make_once "$dir" install
printf '%s\n' "$dir/node_modules/axe-core/axe.min.js"
