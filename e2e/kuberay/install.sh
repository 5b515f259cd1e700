#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# install.sh: builds KubeRay's operator (the version in go.mod) and runs it on the cluster of e2e/cluster, watching all
# namespaces. It can be run again at any moment, and is quick when all is there. uninstall.sh removes it.
# KUBECONFIG and PATH (kubectl) are the caller's; the image goes into the local cluster's containerd. Needs root.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
root=$folder/../..
# shellcheck source=names.sh
. "$folder/names.sh"

make_image() {
	[ ! -e "$archive" ] || return 0
	"$root/images/deps.sh"
	local work
	work=$(mktemp -d)
	install -D -m 755 "$program/kuberay-operator" "$work/usr/bin/kuberay-operator"
	mkdir "$work/tmp"
	SOURCE_DATE_EPOCH=0 "$root/images/pack.sh" "$work" "$image" "$archive" --user 65532:65532 \
		--entrypoint '["/usr/bin/kuberay-operator"]' --workingdir /
	rm -rf "$work"
}

# Our chart's CRD of RayCluster knows less than KubeRay's. It can go while no RayCluster is there to go with it.
remove_other_crd() {
	kubectl get crd -l app.kubernetes.io/name=afterglow -o name | grep -qF "/$ray_crd" || return 0
	[ -z "$(kubectl get rayclusters.ray.io --all-namespaces -o name)" ] ||
		die "Afterglow's CRD $ray_crd is here, and RayClusters of it: delete them first"
	"$root/e2e/cluster/delete-crds.sh" "$ray_crd"
}

program=$("$root/bench/operator/kuberay/build.sh" "$folder")
version=$(cat "$program/version")
image=localhost/kuberay-operator:${version#v}
archive=$program/image.tar

make_image
"$root/e2e/cluster/load-image.sh" --unless "$image" "$archive" >/dev/null
remove_other_crd
# Applied by the server: as annotations of the client's way they would be too large.
kubectl apply --server-side --force-conflicts -f "$program/crd" >/dev/null
kubectl label --overwrite -f "$program/crd" "$kuberay_label" >/dev/null
sed "s|@IMAGE@|$image|" "$folder/operator.yaml" | kubectl apply --server-side --force-conflicts -f - >/dev/null
kubectl wait --for=condition=Established -f "$program/crd" --timeout=60s >/dev/null
kubectl -n "$kuberay_namespace" rollout status deployment/kuberay-operator --timeout=120s
