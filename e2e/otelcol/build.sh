#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh: builds the OpenTelemetry collector of the tests from the Go module here, and prints its path. A minute on two cores when
# nothing is cached, nothing at all when it is built already.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

compile() { # DIR
	echo "building the OpenTelemetry collector into $1"
	cd "$here" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$1/otelcol" .
}

dir=$cache/otelcol-$(cat "$here/go.mod" "$here/go.sum" "$here/main.go" | sha256sum | cut -c1-16)
make_once "$dir" compile
printf '%s\n' "$dir/otelcol"
