#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# first_screen.sh [pip|kuberay]: runs the commands of README's first screen as they stand there, with the release in build/release behind a
# registry and a package index on loopback in place of the public ones, and says how long a stranger waits for the first explained death.
# pip: those for people without Kubernetes, as an ordinary user. kuberay: those on the cluster of e2e/cluster, with KubeRay and real Ray,
# whose installation of Afterglow it replaces. `make demo` and `make test` are for .ci/run and the workflows.
#
# RELEASE_DIR           default build/release, for images/push.sh, too
set -euo pipefail

cd "$(dirname "$0")/../.."
root=$PWD
. e2e/cluster/lib.sh
cd "$root"
version=$(make -s version)
release=${RELEASE_DIR:-build/release}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-first-XXXXXX")
servers=()
finish() {
	[ "${#servers[@]}" = 0 ] || kill "${servers[@]}" 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# What the first screen says: everything before the first heading of the second level.
python3 -B - >"$work/commands" <<'CODE'
import sys

sys.path.insert(0, "tools")
import check_docs

for _, command in check_docs.shell_lines(open("README.md", encoding="utf-8").read().split("\n## ")[0]):
    if command:
        print(command)
CODE
of_readme() { # PATTERN: the one command of the first screen that it fits
	[ "$(grep -c "$1" "$work/commands")" = 1 ] || die "README's first screen has not one command like \"$1\""
	grep "$1" "$work/commands"
}
passed() { step "README: $1"; }

# --- pip ---------------------------------------------------------------------

as_user() {
	setpriv --reuid=65532 --regid=65532 --clear-groups --bounding-set=-all env -i HOME="$work/home" \
		PATH="$work/home/venv/bin:/usr/bin:/bin" PIP_INDEX_URL="$1" PIP_DISABLE_PIP_VERSION_CHECK=1 sh -c "cd; $2"
}

try_pip() {
	local pip run index
	pip=$(of_readme '^pip install') run=$(of_readme '^afterglow run')
	tools/apt-install.sh python3-venv
	chmod 755 "$work"
	mkdir -p "$work"/{home,simple/afterglow-ray}
	cp "$release"/*.whl "$work/simple/afterglow-ray"
	printf 'import ctypes\n\nctypes.string_at(0)\n' >"$work/home/train.py"
	chown -R 65532:65532 "$work/home"
	python3 -u -m http.server --bind 127.0.0.1 --directory "$work" 0 >"$work/index.log" 2>&1 &
	servers+=($!)
	until grep -qs 'port [0-9]' "$work/index.log"; do sleep 0.1; done
	index=http://127.0.0.1:$(sed -n 's/.*port \([0-9]*\) .*/\1/p' "$work/index.log")/simple
	as_user "$index" "/usr/bin/python3 -m venv venv"
	started=$EPOCHREALTIME
	as_user "$index" "$pip" >"$work/pip.log" 2>&1 || { cat "$work/pip.log" >&2 && die "$pip"; }
	passed "$pip"
	as_user "$index" "$run" >"$work/run.log" 2>&1 && die "a program that crashes ended with 0"
	grep -q '^  class *Segfault, certain' "$work/run.log" || { cat "$work/run.log" >&2 && die "no report of the crash"; }
	passed "$run: a first death is explained"
}

# --- KubeRay -----------------------------------------------------------------

in_node() { ip netns exec "$netns" "$@"; }

failure_is_there() { $1 2>/dev/null | grep -q KernelOOMContainer; }

wait_until() { # SECONDS WHAT COMMAND...
	local limit=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		((SECONDS < limit)) || die "waited in vain for $what"
		sleep 0.5
	done
}

ready() { [ "$(kubectl get mutatingwebhookconfiguration afterglow -o jsonpath='{.webhooks[0].clientConfig.caBundle}' 2>/dev/null)" ]; }
job_is_gone() { [ -z "$(kubectl -n first get pods -o name 2>/dev/null)" ]; }

prepare_cluster() {
	mkdir -p "$cache"
	exec 9>"$cache/cluster.lock"
	flock 9
	e2e/cluster/up.sh 9>&-
	export KUBECONFIG=$run/kubeconfig PATH=$run/bin:$PATH
	e2e/cluster/load-image.sh --unless "$(images/ray/name.sh)" "$(images/ray/build.sh | tail -n 1)"
	helm uninstall afterglow --namespace afterglow-system --ignore-not-found --wait
	e2e/kuberay/install.sh 9>&-
	kubectl delete namespace first --ignore-not-found --timeout=120s
	kubectl create namespace first
	# The node's loopback is not this machine's. No function: $! is to be the server.
	ip netns exec "$netns" "$(e2e/registry/build.sh)" 127.0.0.1:0 >"$work/registry" 9>&- &
	servers+=($!)
	wait_until 20 "the registry" test -s "$work/registry"
	registry=$(cat "$work/registry")/afterglow
	PUSH_INSECURE=1 in_node images/push.sh "$registry"
}

try_kuberay() {
	local install list
	install=$(of_readme '^helm install') list=$(of_readme '^kubectl get')
	tools/apt-install.sh iproute2 skopeo
	prepare_cluster
	started=$EPOCHREALTIME
	# Helm speaks HTTPS by default, and this registry does not.
	# shellcheck disable=SC2086 # words of a command
	in_node ${install//REGISTRY/$registry} --plain-http >/dev/null
	passed "$install"
	kubectl -n afterglow-system rollout status deployment/afterglow-operator --timeout=180s >/dev/null
	wait_until 60 "the webhook's certificate" ready
	step "the operator is ready"
	kubectl -n first apply -f e2e/demo/rayjob.yaml >/dev/null
	wait_until 240 "the RayFailure" failure_is_there "$list"
	passed "$list: a first death is explained"
	$list
	kubectl get pods -n afterglow-system -o jsonpath='{.items[*].spec.containers[*].image}' | grep -q "$registry/afterglow-operator@sha256:" ||
		die "the operator's image is not that of the registry, by its digest"
	kubectl -n first delete rayjob train --timeout=90s >/dev/null
	wait_until 90 "its pods to go" job_is_gone
	kubectl delete namespace first --timeout=120s >/dev/null
	helm uninstall afterglow --namespace afterglow-system --wait >/dev/null
}

[ -e "$release/digests.txt" ] || die "there is no release in $release; \`make release\` makes one"
step "README's first screen, release $version"
for part in ${1:-pip kuberay}; do "try_$part"; done
