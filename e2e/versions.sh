#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# versions.sh SUITE: prints which versions of other people's programs the suite runs, a line "with: PROGRAM VERSION" for each. A program
# that runs already is asked for its version. tools/support_matrix.py makes a table of these lines.
# For a suite that has a cluster, the caller sets KUBECONFIG, PATH and RAY_IMAGE.
set -euo pipefail
cd "$(dirname "$0")/.."
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}

with() { # PROGRAM WORDS-WITH-ITS-VERSION
	local version
	version=$(grep -oE '[0-9]+(\.[0-9]+)+' <<<"$2" | head -n 1) || { echo "$0: no version of $1: $2" >&2; exit 1; }
	printf 'with: %s %s\n' "$1" "$version"
}

of_cluster() {
	with Kubernetes "$(kubectl get --raw /version | sed -n 's/.*"gitVersion": *//p')"
	with containerd "$(kubectl get nodes --output 'jsonpath={.items[0].status.nodeInfo.containerRuntimeVersion}')"
	with Helm "$(helm version --short)"
	with Ray "${RAY_IMAGE##*:}"
	# A cluster that was there before the suite may have another runc, which cannot be asked.
	if [ -z "${KUBECONFIG_E2E:-}" ]; then with runc "$(runc --version)"; fi
}

case $1 in
operator)
	bin=$(. e2e/cluster/lib.sh && bin_dir)
	program=$bin/kube-apiserver
	[ -z "${AFTERGLOW_KUBERNETES:-}" ] || program=$(e2e/cluster/apiserver.sh "$AFTERGLOW_KUBERNETES")
	with kube-apiserver "$("$program" --version)"
	with etcd "$("$bin/etcd" --version)"
	with Helm "$("$bin/helm" version --short)"
	with Helm "$("$(e2e/chart/build.sh helm4 | tail -n 1)" version --short)"
	;;
stores)
	with versitygw "$(sed -n 's|.*/versitygw v|v|p' e2e/stores/s3/go.mod)"
	with Hadoop "$(sed -n '/<artifactId>hadoop-/{n;p}' e2e/stores/hdfs/pom.xml)"
	with Azurite "$(sed -n 's|"azurite":||p' e2e/stores/azure/package.json)"
	;;
kuberay* | same)
	of_cluster
	with KubeRay "$(kubectl get deployments --all-namespaces --output 'jsonpath={..image}' | tr ' ' '\n' | grep kuberay-operator:)"
	;;
cluster* | classes) of_cluster ;;
esac
