# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034 # the variables are for those who source this
# What demo.sh, kuberay.sh and demo-clean.sh share: names, the cluster, progress. Sourced, never run.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
run=${AFTERGLOW_RUN:-/var/lib/afterglow-cluster}

release=${DEMO_RELEASE:-afterglow}
system_namespace=${DEMO_SYSTEM_NAMESPACE:-afterglow-system}
namespace=${DEMO_NAMESPACE:-ml}
volume=afterglow-demo-$namespace
# What the demo made carries this label; nothing else is ever removed.
label=afterglow.dev/demo=true
crds=()
for file in "$root"/charts/afterglow/files/crds/*_*.yaml; do
	file=$(basename "$file" .yaml)
	crds+=("${file#*_}.${file%%_*}")
done

# State of the demo that ends with the cluster: what was loaded, the volume. The node in User Mode Linux sees it, too.
state=$run/e2e-volumes/demo

step() { printf '\n[%4d s] %s\n' "$SECONDS" "$*"; }
note() { printf '         %s\n' "$*"; }

die() {
	printf '%s: %s\n' "$(basename "$0")" "$*" >&2
	exit 1
}

own_cluster() { [ -z "${KUBECONFIG_DEMO:-}" ]; }

use_cluster() {
	if own_cluster; then
		export KUBECONFIG=$run/kubeconfig PATH=$run/bin:$PATH
	else
		[ -r "$KUBECONFIG_DEMO" ] || die "cannot read KUBECONFIG_DEMO=$KUBECONFIG_DEMO"
		export KUBECONFIG=$KUBECONFIG_DEMO
	fi
	local program
	for program in kubectl helm; do
		command -v "$program" >/dev/null || die "$program is not in PATH"
	done
}

# made_by_demo KIND NAME: there, and with the demo's label.
made_by_demo() {
	[ "$(kubectl get "$1" "$2" --ignore-not-found -o \
		go-template='{{with .metadata.labels}}{{index . "afterglow.dev/demo"}}{{end}}')" = true ]
}

containerd() {
	CONTAINERD_SUPPRESS_DEPRECATION_WARNINGS=1 "$run/bin/ctr" --address "$run/containerd/containerd.sock" \
		--namespace k8s.io "$@"
}
