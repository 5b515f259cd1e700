#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh crds|flows|kube-score: what judges the chart, from the Go modules here (go.sum pins them).
#   crds        prints the folders with the CRDs of cert-manager and of the Prometheus operator
#   flows       prints the program that says which flows NetworkPolicies allow; it is built once, into the cache
#   kube-score  the same for kube-score
# AFTERGLOW_CACHE       default ~/.cache/afterglow
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}

crds() {
	local dirs
	cd "$here/crds"
	dirs=$(go mod download -json | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	ls -d "${dirs%%$'\n'*}/deploy/crds" "${dirs##*$'\n'}/example/prometheus-operator-crd"
}

program() { # MODULE PACKAGE
	local dir
	dir=$cache/chart-$1-$(cat "$here/$1"/* | sha256sum | cut -c1-16)
	mkdir -p "$cache"
	# Tests that run side by side may want it at the same time.
	exec 8>"$dir.lock"
	flock 8
	if [ ! -x "$dir/$1" ]; then
		echo "building $1 into $dir" >&2
		(cd "$here/$1" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$dir/$1.new" "$2") >&2
		mv "$dir/$1.new" "$dir/$1"
	fi
	printf '%s\n' "$dir/$1"
}

case ${1:-} in
crds) crds ;;
flows) program flows . ;;
kube-score) program kube-score github.com/zegl/kube-score/cmd/kube-score ;;
*)
	echo "usage: build.sh crds|flows|kube-score" >&2
	exit 2
	;;
esac
