#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh: removes what install.sh made, and with KubeRay's CRDs all RayClusters, RayJobs and RayServices. KubeRay that
# somebody else installed stays. Nothing is done when there is nothing.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=names.sh
. "$folder/names.sh"

ours() { [ -n "$(kubectl get "$1" -l "$kuberay_label" -o name 2>/dev/null)" ]; }

# While the operator runs: it takes its finalizers off.
remove_ray() {
	local kind
	for kind in raycronjobs rayjobs rayservices rayclusters; do
		have crd "$kind.ray.io" || continue
		kubectl delete "$kind.ray.io" --all --all-namespaces --timeout=120s
	done
}

ours namespace || ours crd || exit 0
remove_ray
kubectl delete namespace "$kuberay_namespace" --ignore-not-found --timeout=120s
kubectl delete clusterrole,clusterrolebinding -l "$kuberay_label" --timeout=120s
"$folder/../cluster/delete-crds.sh" -l "$kuberay_label"
