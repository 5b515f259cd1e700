#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh crds|flows|kube-score: what judges the chart, from the Go modules here (go.sum pins them).
#   crds        prints the folders with the CRDs of cert-manager and of the Prometheus operator
#   flows       prints the program that says which flows NetworkPolicies allow; it is built once, into the cache
#   kube-score  the same for kube-score
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

case ${1:-} in
crds) crds ;;
flows) go_program chart-flows flows "$here/flows" . ;;
kube-score) go_program chart-kube-score kube-score "$here/kube-score" github.com/zegl/kube-score/cmd/kube-score ;;
*)
	echo "usage: build.sh crds|flows|kube-score" >&2
	exit 2
	;;
esac
