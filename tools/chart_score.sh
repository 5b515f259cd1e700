#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chart_score.sh [VALUES]: kube-score over the rendered chart, with its defaults, with all that can be switched on, and as on OpenShift; or with
# VALUES, as helm's --set takes them. Exits 1 if it finds something critical. kube-score is built once from its Go module (e2e/chart/kube-score), into the cache.
#
# KUBE_SCORE            default: kube-score in the cache
# AFTERGLOW_CACHE       default ~/.cache/afterglow
set -euo pipefail
cd "$(dirname "$0")/.."
score=${KUBE_SCORE:-$(e2e/chart/build.sh kube-score)}

# What it is not asked, and why:
#   container-image-pull-policy: the tag of an image is a version, or values name a digest, so there is nothing to pull again.
#   container-ephemeral-storage-request-and-limit: the programs write no files, and a limit for their logs would evict them.
#   pod-networkpolicy: a policy is a choice of the cluster's owner (networkPolicy.enabled), and no selector names the API server,
#   so there is no egress policy.
#   The limit of CPU: it would slow down an answer of the webhook, for which the API server waits.
unasked=container-image-pull-policy,container-ephemeral-storage-request-and-limit,pod-networkpolicy

helm=$(command -v helm || echo "$(e2e/cluster/build.sh | tail -n 1)/helm")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

check() { # VALUES: prints what is critical in the chart with these values
	"$helm" template afterglow charts/afterglow --namespace afterglow-system --kube-version 1.37.0 --set "$1" >"$work/chart.yaml"
	"$score" score --kubernetes-version v1.37 --ignore-container-cpu-limit --ignore-test "$unasked" --output-format ci \
		"$work/chart.yaml" >"$work/score" || true
	grep -q '^\[OK\]' "$work/score"
	grep '^\[CRITICAL\]' "$work/score" || true
}

if [ $# = 1 ]; then
	check "$1" | tee "$work/found"
	[ ! -s "$work/found" ]
	exit
fi
check manageRayClusters=false >"$work/found"
# OpenShift chooses user and group, so the chart names none.
check podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,monitoring.serviceMonitor.enabled=true |
	sed '/low user ID$/d; /low group ID$/d' >>"$work/found"
# The node agent is root: it reads tracefs and the files of other processes.
check manageRayClusters=true,networkPolicy.enabled=true,nodeAgent.enabled=true |
	sed '/(node-agent) The container .* low .* ID$/d' >>"$work/found"
cat "$work/found"
[ ! -s "$work/found" ]
