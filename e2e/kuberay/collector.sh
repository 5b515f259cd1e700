#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# collector.sh: builds the collector of KubeRay's history server from AFTERGLOW_KUBERAY_SOURCE (the folder ray-operator of a checkout,
# from 1.7 on), brings its image onto the cluster of e2e/cluster, and has the operator that install.sh installed put it into
# pods that ask for it. Prints the image's name. Needs root.
set -euo pipefail
folder=$(cd "$(dirname "$0")" && pwd)
root=$folder/../..
# shellcheck source=names.sh
. "$folder/names.sh"

source=${AFTERGLOW_KUBERAY_SOURCE:?the folder ray-operator of a checkout of KubeRay}/../historyserver
image=localhost/kuberay-collector:test
program=$("$root/bench/operator/kuberay/build.sh" "$folder")

if [ ! -e "$program/collector.tar" ]; then
	"$root/images/deps.sh" >&2
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	mkdir -p "$work/usr/bin" "$work/tmp" "$work/etc/ssl"
	(
		PATH=$("$root/tools/go.sh"):$PATH
		cd "$source"
		CGO_ENABLED=0 GOFLAGS='-buildvcs=false -mod=mod' go build -trimpath -ldflags '-s -w' -o "$work/usr/bin/collector" ./cmd/collector >&2
	)
	# The user of the Ray container, whose logs it reads.
	SOURCE_DATE_EPOCH=0 "$root/images/pack.sh" "$work" "$image" "$program/collector.tar" --user 1000:100 \
		--entrypoint '["/usr/bin/collector"]' --workingdir / >&2
fi
"$root/e2e/cluster/load-image.sh" --unless "$image" "$program/collector.tar" >&2
kubectl -n "$kuberay_namespace" patch deployment kuberay-operator --type json --patch \
	'[{"op": "add", "path": "/spec/template/spec/containers/0/args/-", "value": "--feature-gates=RayClusterHistoryServer=true"}]' >&2
kubectl -n "$kuberay_namespace" rollout status deployment/kuberay-operator --timeout=120s >&2
printf '%s\n' "$image"
