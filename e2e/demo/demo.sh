#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A Ray task that leaks, on a real Kubernetes, until the kernel kills its worker; then what Afterglow kept of it.
# Needs the programs in build/ (`make demo` makes them). KUBECONFIG_DEMO=path: on that cluster instead of a local
# one; DEMO_IMAGES=prefix: images are prefix/afterglow-operator:VERSION and so on, not localhost/...
# AFTERGLOW_DEMO_NODE=v2: on a node with cgroup v2 in User Mode Linux, whatever this machine has.
# Can be run again at any moment. demo-clean.sh removes all of it.
set -euo pipefail
# shellcheck source=steps.sh
. "$(dirname "$0")/steps.sh"

ray_pods=ray.io/cluster=demo

# --- Ray ---------------------------------------------------------------------

# Two operators would both make the pods of the RayCluster.
remove_kuberay() {
	! own_cluster || "$root/e2e/kuberay/uninstall.sh"
}

remove_last_run() {
	k delete raycluster demo --ignore-not-found >/dev/null
	k delete pod bundle-reader --ignore-not-found --now >/dev/null
	wait_until 90 "the pods of the last run to end" no_ray_pods
	k delete rayfailures -l ray.io/cluster=demo --ignore-not-found >/dev/null
}
no_ray_pods() { [ -z "$(k get pods -l ray.io/cluster=demo -o name)" ]; }

cluster_is_ready() {
	[ "$(k get raycluster demo -o \
		jsonpath='{.status.conditions[?(@.type=="RayClusterProvisioned")].status}')" = True ]
}

start_ray() {
	begin "a RayCluster in namespace $namespace: a head, a worker with 1.5 GiB"
	make_namespace "$namespace"
	make_volume
	remove_last_run
	sed "s|image: localhost/afterglow-ray:.*|image: $ray_image|" "$here/raycluster.yaml" | k apply -f -
	wait_until 300 "the Ray cluster" cluster_is_ready
	worker=$(k get pods -l ray.io/cluster=demo,ray.io/node-type=worker -o jsonpath='{.items[0].metadata.name}')
	head=$(k get pods -l ray.io/cluster=demo,ray.io/node-type=head -o jsonpath='{.items[0].metadata.name}')
	k get pods
}

# --- the death -----------------------------------------------------------------

failure_name() {
	k get rayfailures -o jsonpath="{.items[?(@.spec.pod==\"$worker\")].metadata.name}"
}
failure_is_there() { [ -n "$(failure_name)" ]; }

leak() {
	local job
	begin "a Ray task that allocates without end, some 100 MB/s"
	k exec -i "$head" -c ray-head -- python3 - <"$here/leak.py" >"$said" 2>&1 &
	job=$!
	wait_until 180 "the RayFailure of $worker" failure_or_end_of "$job"
	failure=$(failure_name)
	[ -n "$failure" ] || die "the job ended, and $worker has no RayFailure"
	note "RayFailure $failure is there"
	wait_until 120 "the job to hear of it" has_ended "$job"
	wait "$job" || die "the job failed in another way than its task"
	begin "the worker comes back"
	wait_until 180 "the worker to be ready again" worker_is_back
}
has_ended() { ! kill -0 "$1" 2>/dev/null; }
# A job that ended without a failure to be seen a while later never ran its task. The caller says so, as the output of what wait_until calls is thrown away.
failure_or_end_of() {
	failure_is_there && return
	has_ended "$1" || return
	sleep 10
}
worker_is_back() {
	k get pod "$worker" -o go-template='{{range .status.containerStatuses}}{{.name}} {{.restartCount}} {{.ready}};{{end}}' |
		grep -qE 'ray-worker [1-9][0-9]* true;'
}

# --- what is left --------------------------------------------------------------

show_all() {
	begin "what is left of it"
	show kubectl get rayclusters -n "$namespace"
	show kubectl get rayfailures -n "$namespace"
	show kubectl logs -p "$worker" -n "$namespace" -c ray-worker
	show kubectl logs "$worker" -c afterglow -n "$namespace"
	show_bundle
	printf '\n# what the Ray job itself was told:\n\n'
	cat "$said"
}

main() {
	take_cluster
	make_cluster 8>&-
	make_images 8>&-
	remove_kuberay
	take_tails
	install_afterglow -f "$here/values.yaml" "${tails[@]}"
	take_node 8>&-
	start_ray
	leak
	show_all
	step "done. It all still runs: KUBECONFIG=$KUBECONFIG; \`make demo-clean\`$(own_cluster || echo ", with the same variables,") removes it"
}

main
