#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the cluster's programs (kube, etcd, coredns, helm, containerd, runc, the
# pause image) from the Go modules here, and prints their directory. About nine minutes
# on two cores when nothing is cached, nothing at all when they are built already.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

export CGO_ENABLED=0 GOFLAGS=-buildvcs=false
out=$(bin_dir)

# compile MODULE PROGRAM PACKAGE [LINKER FLAGS]: with the number of packages
# done so far, every ten seconds.
compile() {
	local module=$1 program=$2 package=$3 flags="-s -w ${4:-}" log=$out/$2.log total ticks=0
	cd "$here/$module"
	step "$program: fetching modules"
	go mod download
	total=$(go list -deps "$package" | wc -l)
	go build -v -trimpath -ldflags "$flags" -o "$out/$program" "$package" >"$log" 2>&1 &
	build_pid=$!
	trap 'kill "$build_pid" 2>/dev/null || true' EXIT
	while kill -0 "$build_pid" 2>/dev/null; do
		sleep 0.2
		ticks=$((ticks + 1))
		if ((ticks % 50 == 0)); then
			step "$program: compiled $(wc -l <"$log") of at most $total packages"
		fi
	done
	trap - EXIT
	if ! wait "$build_pid"; then
		grep -vE '^[a-z0-9./_-]+$' "$log" | tail -n 20 >&2
		die "building $program failed; all of it is in $log"
	fi
	step "$program: done, $(du -h "$out/$program" | cut -f1)"
}

helm_flags() {
	local version
	version=$(cd "$here/helm" && go list -m -f '{{.Version}}' helm.sh/helm/v3)
	printf -- '-X helm.sh/helm/v3/internal/version.version=%s' "$version"
}

# A container image is a tar of tars with two lists: one static program needs
# no container engine to become one.
pause_image() {
	local work layer arch
	work=$(mktemp -d)
	mkdir "$work/root" "$work/image"
	gcc -Os -s -static -Wall -Wextra -o "$work/root/pause" "$here/pause/pause.c"
	arch=$(cd "$here" && go env GOARCH)
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 \
		-C "$work/root" -cf "$work/image/layer.tar" pause
	layer=$(sha256sum "$work/image/layer.tar" | cut -d' ' -f1)
	printf '{"architecture":"%s","os":"linux","created":"1970-01-01T00:00:00Z",%s,%s}' \
		"$arch" '"config":{"Entrypoint":["/pause"],"User":"65535:65535"}' \
		'"rootfs":{"type":"layers","diff_ids":["sha256:'"$layer"'"]}' >"$work/image/config.json"
	printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' \
		"$sandbox_image" >"$work/image/manifest.json"
	tar -C "$work/image" -cf "$out/pause.tar" manifest.json config.json layer.tar
	rm -rf "$work"
	step "pause image: done"
}

main() {
	local name
	if [ -e "$out/complete" ]; then
		printf '%s\n' "$out"
		return
	fi
	PATH=$("$here/../../tools/go.sh"):$PATH
	mkdir -p "$out"
	# Suites that run side by side want the same programs: the second finds them.
	exec 8>"$out.lock"
	flock 8
	if [ -e "$out/complete" ]; then
		printf '%s\n' "$out"
		return
	fi
	step "building into $out"
	compile . kube . "$(kube_flags "$(cd "$here" && go list -m -f '{{.Version}}' k8s.io/kubernetes)")"
	for name in kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubectl; do
		ln -sfn kube "$out/$name"
	done
	compile etcd etcd .
	compile coredns coredns .
	compile helm helm helm.sh/helm/v3/cmd/helm "$(helm_flags)"
	for name in containerd containerd-shim-runc-v2 ctr; do
		GOFLAGS="$GOFLAGS -tags=no_aufs,no_btrfs,no_devmapper,no_tracing,no_zfs" \
			compile containerd "$name" "github.com/containerd/containerd/v2/cmd/$name"
	done
	# It enters namespaces in C.
	CGO_ENABLED=1 GOFLAGS="$GOFLAGS -tags=seccomp" compile runc runc github.com/opencontainers/runc
	pause_image
	: >"$out/complete"
	printf '%s\n' "$out"
}

main
