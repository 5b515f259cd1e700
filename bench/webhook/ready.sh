#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ready.sh: from a RayCluster to its readiness beside KubeRay, with Afterglow and without, on the
# real cluster of e2e/cluster with real Ray. Both take turns in the same run; RUNS=7 of each.
# Without: in a namespace that the webhook leaves out, so that the API server does not even ask it.
# Needs root and the programs in build/; KubeRay and the chart stay installed afterwards.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
run=${AFTERGLOW_RUN:-/var/lib/afterglow-cluster}
runs=${RUNS:-7}
work=$(mktemp -d)

set_up() {
	mkdir -p "$cache"
	exec 9>"$cache/cluster.lock"
	flock --nonblock 9 || { echo "waiting for another run on this cluster" >&2; flock 9; }
	e2e/cluster/up.sh >&2 9>&-
	export KUBECONFIG=$run/kubeconfig PATH=$run/bin:$PATH
	images/build.sh operator sidecar >&2
	ray_archive=$(images/ray/build.sh | tail -n 1)
	ray=$(images/ray/name.sh)
	e2e/cluster/load-image.sh build/images/afterglow-operator.tar build/images/afterglow-sidecar.tar >&2
	e2e/cluster/load-image.sh --unless "$ray" "$ray_archive" >&2
	helm uninstall afterglow --namespace afterglow-system --ignore-not-found --wait >&2
	e2e/kuberay/install.sh >&2 9>&-
	helm upgrade --install afterglow charts/afterglow --namespace afterglow-system --create-namespace --take-ownership --wait \
		--timeout 300s >&2
	kubectl -n afterglow-system rollout restart deployment/afterglow-operator >&2
	kubectl -n afterglow-system rollout status deployment/afterglow-operator --timeout=120s >&2
}

# One that the webhook serves, and one that it leaves out.
namespaces() {
	kubectl create namespace bench-with --dry-run=client -o yaml | kubectl apply -f - >&2
	kubectl create namespace bench-without --dry-run=client -o yaml | kubectl apply -f - >&2
	kubectl label --overwrite namespace bench-without afterglow.dev/inject=disabled >&2
}
clean() {
	kubectl delete namespace bench-with bench-without --ignore-not-found --wait=false >&2 || true
	rm -rf "$work"
}

# container NAME MEMORY
container() {
	printf '{"name": "%s", "image": "%s", "imagePullPolicy": "IfNotPresent", "env": [{"name": "RAY_USAGE_STATS_ENABLED",
		"value": "0"}], "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "%s"}}}' "$1" "$ray" "$2"
}
manifest() {
	cat <<-END
		{"apiVersion": "ray.io/v1", "kind": "RayCluster", "metadata": {"name": "ready"}, "spec": {"rayVersion": "${ray##*:}",
		 "headGroupSpec": {"rayStartParams": {"num-cpus": "0"}, "template": {"spec": {
		  "terminationGracePeriodSeconds": 0, "containers": [$(container ray-head 2500Mi)]}}},
		 "workerGroupSpecs": [{"groupName": "small", "replicas": 1, "minReplicas": 1, "maxReplicas": 1,
		  "rayStartParams": {"num-cpus": "1"}, "template": {"spec": {
		  "terminationGracePeriodSeconds": 0, "containers": [$(container ray-worker 1000Mi)]}}}]}}
	END
}

# measure NAMESPACE CONTAINERS: the seconds until KubeRay says that the cluster is ready, which is
# when all of its pods are.
measure() {
	local begin end pods
	begin=$(date +%s.%N)
	kubectl -n "$1" create -f "$work/cluster.json" >&2
	kubectl -n "$1" wait raycluster/ready --for=jsonpath='{.status.state}'=ready --timeout=300s >&2
	end=$(date +%s.%N)
	pods=$(kubectl -n "$1" get pods -l ray.io/cluster=ready -o jsonpath='{range .items[*]}{.spec.containers[*].name}{"\n"}{end}')
	[ "$(wc -w <<<"$pods")" = "$2" ] || { echo "ready.sh: the pods of $1 have other containers: $pods" >&2; exit 1; }
	awk -v a="$begin" -v b="$end" 'BEGIN { printf "%.2f\n", b - a }' >>"$work/$1"
	kubectl -n "$1" delete raycluster/ready --timeout=120s >&2
	kubectl -n "$1" wait pods -l ray.io/cluster=ready --for=delete --timeout=120s >&2
}

median() { sort -n "$1" | awk '{ at[NR] = $1 } END { print NR % 2 ? at[(NR + 1) / 2] : (at[NR / 2] + at[NR / 2 + 1]) / 2 }'; }
# ratios: of each turn, with over without.
ratios() { paste "$work/bench-with" "$work/bench-without" | awk '{ printf "%.3f\n", $1 / $2 }'; }

set_up
trap clean EXIT
namespaces
manifest >"$work/cluster.json"
# The first of each finds nothing in the caches of the machine, and is not counted.
for ((n = 0; n <= runs; n++)); do
	# Who begins alternates: what the one before leaves behind meets both.
	if ((n % 2)); then
		measure bench-with 4 && measure bench-without 2
	else
		measure bench-without 2 && measure bench-with 4
	fi
	[ "$n" != 0 ] || rm "$work"/bench-*
done
echo "# $(uname -sr), $(nproc) cores, $(date -u +%FT%TZ)"
ratios >"$work/ratios"
echo "ready: a RayCluster with one worker: median $(median "$work/bench-with") s, without Afterglow" \
	"$(median "$work/bench-without") s, of $runs each; median ratio of a turn $(median "$work/ratios")" \
	"(all: $(sort -n "$work/ratios" | xargs)); claim 1.02"
