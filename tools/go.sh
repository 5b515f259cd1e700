#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# go.sh: prints the folder of a Go that is new enough for every Go module here: PATH=$(tools/go.sh):$PATH. That is the machine's own,
# if it is. Otherwise the machine's own fetches the pinned one from the Go proxy, as the module golang.org/toolchain, into its cache
# of modules; if there is none at all, Debian's package is installed for that. What it does on the way goes to stderr.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# No module here asks for more in its line "go".
least=1.26.6
pinned=1.26.11

new_enough() { # GO
	printf '%s\n' "$least" "$(GOTOOLCHAIN=local "$1" env GOVERSION | sed 's/^go//')" | sort --version-sort --check=quiet
}

# Go does this by itself since 1.21; Debian 12 has 1.19. The mode of files is no part of a module, so the programs are to be marked.
fetch_toolchain() {
	local module root
	module=golang.org/toolchain@v0.0.1-go$pinned.$(go env GOOS)-$(go env GOARCH)
	root=$(go env GOMODCACHE)/$module
	if [ ! -x "$root/bin/go" ]; then
		echo "go.sh: fetching Go $pinned" >&2
		go mod download "$module" >&2
		chmod -R a+x "$root/pkg/tool"
		chmod a+x "$root"/bin/*
	fi
	printf '%s\n' "$root/bin"
}

# A go.mod of the current folder may be newer than the machine's Go.
cd /
export GOTOOLCHAIN=local
if ! command -v go >/dev/null; then
	"$here/apt-install.sh" ca-certificates golang-go >&2
fi
if new_enough go; then
	dirname "$(command -v go)"
else
	fetch_toolchain
fi
