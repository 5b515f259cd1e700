#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Beside KubeRay: its own operator, our chart with its defaults, and a RayJob, unchanged, whose task needs more than its worker
# has, until the kernel kills it; then what Afterglow kept of it; then the same job, which follows the advice and succeeds. Needs the programs in build/ (`make demo-kuberay` makes them).
# KUBECONFIG_DEMO=path: on that cluster, where KubeRay must run already; DEMO_IMAGES as in demo.sh.
# AFTERGLOW_DEMO_NODE=v2: on a node with cgroup v2 in User Mode Linux, whatever this machine has.
# Can be run again at any moment. demo-clean.sh removes all of it.
set -euo pipefail
# shellcheck source=steps.sh
. "$(dirname "$0")/steps.sh"

# KubeRay's CRDs are KubeRay's.
mapfile -t crds < <(printf '%s\n' "${crds[@]}" | grep '\.afterglow\.dev$')
ray_pods=ray.io/is-ray-node=yes

# --- KubeRay -------------------------------------------------------------------

have_crd() { kubectl get crd "$1" >/dev/null 2>&1; }

# What `make demo` leaves makes the pods of RayClusters by itself.
remove_own_management() {
	! have_crd rayjobs.ray.io || return 0
	if have_crd rayclusters.ray.io; then
		k delete raycluster demo --ignore-not-found --timeout=90s
	fi
	if helm status "$release" -n "$system_namespace" >/dev/null 2>&1; then
		helm uninstall "$release" -n "$system_namespace" --wait
	fi
}

install_kuberay() {
	if ! own_cluster; then
		begin "KubeRay, which must be there"
		have_crd rayjobs.ray.io || die "no KubeRay on the cluster of $KUBECONFIG_DEMO: install it first"
		return
	fi
	begin "KubeRay's operator (the first time it is built: three minutes)"
	remove_own_management
	"$root/e2e/kuberay/install.sh"
	: >"$state/kuberay-is-ours"
	kubectl -n kuberay-system get pods
}

# --- the RayJob ----------------------------------------------------------------

remove_last_run() {
	k delete rayjob train --ignore-not-found --timeout=90s >/dev/null
	k delete pod bundle-reader --ignore-not-found --now >/dev/null
	wait_until 90 "the pods of the last run to end" no_ray_pods
	k delete rayfailures -l afterglow.dev/owner-name=train --ignore-not-found >/dev/null
}
no_ray_pods() { [ -z "$(k get pods -l "$ray_pods" -o name)" ]; }

field_of_job() { k get rayjob train -o jsonpath="{.status.$1}"; }
worker_name() {
	k get pods -l "ray.io/cluster=$(field_of_job rayClusterName),ray.io/node-type=worker" \
		-o jsonpath='{.items[0].metadata.name}'
}
worker_is_there() { [ -n "$(worker_name)" ]; }

# The replica that acts gives the API server its CA some seconds after it has begun to act.
webhook_works() {
	k create --dry-run=server -o jsonpath='{.spec.containers[*].name}' -f - <<-'EOT' | grep -qw afterglow
		apiVersion: v1
		kind: Pod
		metadata: {name: probe, labels: {ray.io/is-ray-node: "yes", ray.io/cluster: probe}}
		spec: {containers: [{name: ray-worker, image: ray, command: ["true"]}]}
	EOT
}

start_job() {
	begin "kubectl apply -f e2e/demo/rayjob.yaml, in namespace $namespace: a RayJob, a head, a worker with 1.5 GiB"
	make_namespace "$namespace"
	make_volume
	remove_last_run
	wait_until 90 "the webhook" webhook_works
	sed "s|image: localhost/afterglow-ray:.*|image: $ray_image|" "$here/rayjob.yaml" | k apply -f -
	wait_until 60 "KubeRay to make the pods" worker_is_there
	worker=$(worker_name)
	k get pods -l "$ray_pods" -o custom-columns=POD:.metadata.name,CONTAINERS:.spec.containers[*].name
	k get pod "$worker" -o jsonpath='{.spec.containers[*].name}' | grep -qw afterglow ||
		die "the webhook gave $worker no sidecar"
}

# --- the death -----------------------------------------------------------------

failure_name() {
	k get rayfailures -o jsonpath="{.items[?(@.spec.pod==\"$worker\")].metadata.name}"
}
failure_is_there() { [ -n "$(failure_name)" ]; }
caused_by() { k get rayfailures -o jsonpath="{.items[?(@.spec.class==\"RayJobFailed\")].status.causedBy.name}"; }
driver_is_joined() { [ "$(caused_by)" = "$failure" ]; }
event_of_job() { k get events -o jsonpath='{.items[*].message}' --field-selector involvedObject.kind=RayJob,involvedObject.name=train; }
event_says_why() { event_of_job | grep -q "The job's driver failed because of this.* Try: "; }
job_has_failed() { [ "$(field_of_job jobDeploymentStatus)" = Failed ]; }
worker_is_back() { [ "$(k get pod "$worker" -o jsonpath='{.status.containerStatuses[?(@.name=="ray-worker")].restartCount}')" -ge 1 ]; }

watch_death() {
	begin "its task allocates some 100 MB/s"
	wait_until 240 "the RayFailure of $worker" failure_is_there
	failure=$(failure_name)
	note "RayFailure $failure is there"
	wait_until 120 "KubeRay to hear of it" job_has_failed
	begin "the end of its driver is joined with that death"
	wait_until 90 "one incident" driver_is_joined
	wait_until 120 "the Event of the RayJob" event_says_why
	begin "the worker comes back"
	wait_until 120 "the worker to be restarted" worker_is_back
}

# --- what is left --------------------------------------------------------------

show_all() {
	begin "what is left of it"
	show kubectl get rayjobs -n "$namespace"
	show kubectl get rayfailures -n "$namespace"
	show "$root/build/kubectl-afterglow" incidents -n "$namespace"
	show kubectl get events -n "$namespace" --field-selector involvedObject.kind=RayJob,involvedObject.name=train \
		-o custom-columns=TYPE:.type,REASON:.reason,FROM:.reportingComponent,MESSAGE:.message
	show kubectl logs -p "$worker" -n "$namespace" -c ray-worker
	show_bundle
}

# --- the advice ----------------------------------------------------------------

# As the advice of the RayFailure has them: "@ray.remote(memory=1.3 * 1024**3), and a limit of 1.9 GiB or more".
advised() { k get rayfailure "$failure" -o jsonpath='{.spec.advice}' | grep -oE "$1" | head -n 1; }
job_has_succeeded() { [ "$(field_of_job jobStatus)" = SUCCEEDED ]; }

follow_advice() {
	local memory limit
	memory=$(advised 'memory=[0-9.]+ \* 1024\*\*[0-9]')
	limit=$(advised 'limit of [0-9.]+ [MG]iB' | sed 's/limit of //; s/ \([MG]i\)B/\1/')
	[ -n "$memory" ] && [ -n "$limit" ] || die "the advice of $failure names no memory= and no limit"
	begin "the same job, which follows that advice: $memory, and a limit of $limit"
	k delete rayjob train --timeout=90s >/dev/null
	wait_until 90 "its pods to end" no_ray_pods
	sed "s|image: localhost/afterglow-ray:.*|image: $ray_image|; s|memory: 1536Mi|memory: $limit|
		s|@ray.remote(max_retries=0)|@ray.remote(max_retries=0, $memory)|" "$here/rayjob.yaml" | k apply -f -
	wait_until 240 "the job to succeed" job_has_succeeded
	show kubectl get rayjobs -n "$namespace"
	show "$root/build/kubectl-afterglow" memory RayJob/train -n "$namespace"
}

main() {
	take_cluster
	make_cluster 8>&-
	make_images 8>&-
	install_kuberay 8>&-
	install_afterglow
	take_node 8>&-
	start_job
	watch_death
	show_all
	follow_advice
	step "done. It all still runs: KUBECONFIG=$KUBECONFIG; \`make demo-clean\`$(own_cluster || echo ", with the same variables,") removes it"
}

main
