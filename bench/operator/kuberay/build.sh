#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh DIR: builds KubeRay's operator from its Go module, of the version that DIR's go.mod pins,
# and prints the directory that holds it, with its CRDs beside it in crd/ and its sample manifests
# in samples/. DIR's own program validate, if there is one, is built of the same packages, with the
# same flags, so that they are compiled once. Nothing is done when all is there already. What it
# says on the way goes to stderr.
# AFTERGLOW_KUBERAY_VERSION=v1.7.0: another version's module in its place. AFTERGLOW_KUBERAY_SOURCE=DIR: what lies
# in DIR, the folder ray-operator of a checkout.
set -euo pipefail
script=$(realpath "$0")
cd "$1"

module=github.com/ray-project/kuberay/ray-operator
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
shopt -s nullglob
source=${AFTERGLOW_KUBERAY_SOURCE:-} version=${AFTERGLOW_KUBERAY_VERSION:-}
out=$cache/kuberay-$({
	cat go.mod go.sum "$script" validate/*.go
	[ -z "$source$version" ] || echo "$source $version"
} | sha256sum | cut -c1-16)

# The module of the version asked for, with DIR's program: what DIR's go.mod pins beside it may be too old for it.
use_another() {
	local copy=$out/source
	rm -rf "$copy"
	mkdir "$copy"
	cp -r go.mod go.sum validate "$copy"
	cd "$copy"
	export GOFLAGS="$GOFLAGS -mod=mod"
	if [ -n "$source" ]; then
		go mod edit -replace="$module=$source"
	else
		go get "$module@$version" >&2
	fi
}

build() {
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o "$out/$1" "$2" >&2
}

mkdir -p "$out"
# Suites that run side by side want the same programs: the second finds them.
exec 8>"$out.lock"
flock 8
if [ ! -e "$out/complete" ]; then
	PATH=$("${script%/*}/../../../tools/go.sh"):$PATH
	export GOFLAGS=-buildvcs=false
	echo "building KubeRay's operator into $out" >&2
	[ -z "$source$version" ] || use_another
	build kuberay-operator $module
	[ ! -d validate ] || build validate ./validate
	source=$(go list -m -f '{{.Dir}}' $module)
	rm -rf "$out/crd" "$out/samples"
	cp -r "$source/config/crd/bases" "$out/crd"
	cp -r "$source/config/samples" "$out/samples"
	chmod -R u+w "$out/crd" "$out/samples"
	sed -n 's/.*KUBERAY_VERSION *= *"\(.*\)".*/\1/p' "$source"/controllers/ray/utils/*.go >"$out/version"
	: >"$out/complete"
fi
printf '%s\n' "$out"
