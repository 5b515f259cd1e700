#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# build.sh crds|drift|flows|kube-score|helm4: what judges or installs the chart, from the Go modules here (go.sum pins them).
#   crds        prints the folders with the CRDs of cert-manager and of the Prometheus operator
#   drift       prints the program that compares manifests with a cluster as Argo CD and Flux do; it is built once, into the cache
#   flows       the same for the one that says which flows NetworkPolicies allow
#   kube-score  the same for kube-score
#   helm4       the same for Helm 4; Helm 3 is built with the cluster (e2e/cluster/build.sh)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

crds() {
	local dirs
	cd "$here/crds"
	PATH=$("$here/../../tools/go.sh"):$PATH
	dirs=$(go mod download -json | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	ls -d "${dirs%%$'\n'*}/deploy/crds" "${dirs##*$'\n'}/example/prometheus-operator-crd"
}

case ${1:-} in
crds) crds ;;
drift) go_program chart-drift drift "$here/drift" . ;;
flows) go_program chart-flows flows "$here/flows" . ;;
helm4) go_program chart-helm4 helm4 "$here/helm4" helm.sh/helm/v4/cmd/helm ;;
kube-score) go_program chart-kube-score kube-score "$here/kube-score" github.com/zegl/kube-score/cmd/kube-score ;;
*)
	echo "usage: build.sh crds|drift|flows|kube-score|helm4" >&2
	exit 2
	;;
esac
