#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds KubeRay's operator from its Go module and prints the directory that holds it, with its CRDs beside it in crd/.
# Nothing is done when that is there already. What it says on the way goes to stderr.
set -euo pipefail
cd "$(dirname "$0")"

module=github.com/ray-project/kuberay/ray-operator
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
out=$cache/kuberay-$(cat go.mod go.sum build.sh | sha256sum | cut -c1-16)

if [ ! -e "$out/complete" ]; then
	command -v go >/dev/null || { echo "build.sh: Go is not installed" >&2; exit 1; }
	echo "building KubeRay's operator into $out" >&2
	mkdir -p "$out"
	CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$out/kuberay-operator" $module >&2
	cp -r "$(go list -m -f '{{.Dir}}' $module)/config/crd/bases" "$out/crd"
	chmod -R u+w "$out/crd"
	go list -m -f '{{.Version}}' $module >"$out/version"
	: >"$out/complete"
fi
printf '%s\n' "$out"
