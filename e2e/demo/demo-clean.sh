#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Removes what demo.sh and kuberay.sh made; the local cluster too, if the demo brought it up. Built programs and archives stay.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "$0")/common.sh"

remove_namespace() {
	if made_by_demo namespace "$1"; then kubectl delete namespace "$1" --timeout=120s; fi
}

# Ray first, while its CRD is there; the failures' CRD takes the failures with it.
remove_objects() {
	step "Ray, its namespace and its volume"
	# While KubeRay is there: it takes its finalizers off.
	if made_by_demo namespace "$namespace" && kubectl get crd rayjobs.ray.io >/dev/null 2>&1; then
		kubectl -n "$namespace" delete rayjob train --ignore-not-found --timeout=60s
	fi
	remove_namespace "$namespace"
	kubectl delete persistentvolume "$volume" --ignore-not-found --timeout=60s
	step "Afterglow"
	if helm status "$release" -n "$system_namespace" >/dev/null 2>&1; then
		helm uninstall "$release" -n "$system_namespace" --wait
	fi
	remove_namespace "$system_namespace"
	if own_cluster && [ -e "$state/kuberay-is-ours" ]; then
		step "KubeRay"
		"$root/e2e/kuberay/uninstall.sh"
	fi
	"$root/e2e/cluster/delete-crds.sh" -l "$label"
}

remove_local_state() {
	local record name
	for record in "$state"/images/*; do
		[ -e "$record" ] || continue
		read -r name _ <"$record"
		containerd images rm "$name"
	done
	rm -rf "$state"
}

# The lock of demo.sh and e2e/run.sh: what they use is not taken from under them.
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
mkdir -p "$cache"
exec 8>"$cache/cluster.lock"
flock -n 8 || { echo "waiting for another run on this cluster"; flock 8; }

if own_cluster && [ ! -e "$run/kubeconfig" ]; then
	step "no cluster in $run: nothing to remove"
elif own_cluster && [ -e "$state/cluster-is-ours" ]; then
	step "the cluster, with all that is in it"
	"$root/e2e/cluster/down.sh"
else
	use_cluster
	remove_objects
	if own_cluster; then
		remove_local_state
		note "the cluster was there before the demo and stays; e2e/cluster/down.sh ends it"
	fi
fi
step "done"
