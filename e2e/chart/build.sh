#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh crds|flows|kube-score|helm4: what judges or installs the chart, from the Go modules here (go.sum pins them).
#   crds        prints the folders with the CRDs of cert-manager and of the Prometheus operator
#   flows       prints the program that says which flows NetworkPolicies allow; it is built once, into the cache
#   kube-score  the same for kube-score
#   helm4       the same for Helm 4; Helm 3 is built with the cluster (e2e/cluster/build.sh)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

crds() {
	local dirs
	cd "$here/crds"
	dirs=$(go mod download -json | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	ls -d "${dirs%%$'\n'*}/deploy/crds" "${dirs##*$'\n'}/example/prometheus-operator-crd"
}

compile() { # MODULE PACKAGE DIR
	echo "building $1 into $3"
	cd "$here/$1" && CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -trimpath -ldflags '-s -w' -o "$3/$1" "$2"
}

program() { # MODULE PACKAGE
	local dir
	dir=$cache/chart-$1-$(cat "$here/$1"/* | sha256sum | cut -c1-16)
	make_once "$dir" compile "$@"
	printf '%s\n' "$dir/$1"
}

case ${1:-} in
crds) crds ;;
flows) program flows . ;;
helm4) program helm4 helm.sh/helm/v4/cmd/helm ;;
kube-score) program kube-score github.com/zegl/kube-score/cmd/kube-score ;;
*)
	echo "usage: build.sh crds|flows|kube-score|helm4" >&2
	exit 2
	;;
esac
