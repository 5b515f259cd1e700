#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cosign.sh: builds cosign, which signs images, from the Go module that tools/cosign pins, once, and prints its path. Five minutes of
# processor time when nothing is cached.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=make_once.sh
. "$here/make_once.sh"

compile() { # DIR
	echo "building cosign into $1"
	cd "$here/cosign" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$1/cosign" \
		github.com/sigstore/cosign/v3/cmd/cosign
}

dir=$cache/cosign-$(cat "$here"/cosign/go.{mod,sum} | sha256sum | cut -c1-16)
make_once "$dir" compile
printf '%s\n' "$dir/cosign"
