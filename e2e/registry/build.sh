#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds the container registry of the tests from the Go module here, once, and prints its path.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

compile() { # DIR
	echo "building the registry into $1"
	cd "$here" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$1/registry" .
}

dir=$cache/registry-$(cat "$here"/{go.mod,go.sum,main.go} | sha256sum | cut -c1-16)
make_once "$dir" compile
printf '%s\n' "$dir/registry"
