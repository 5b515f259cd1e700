#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# apiserver.sh VERSION: prints the path of the kube-apiserver of another Kubernetes than the cluster's, such as 1.35.4. It is built
# once, into the cache. With AFTERGLOW_KUBERNETES=VERSION the suite operator runs against it.
# Its module is Kubernetes' own, which names its parts as folders beside it: here they are replaced by what was published of them.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=../../tools/make_once.sh
. "$here/../../tools/make_once.sh"

build() { # VERSION DIR
	local source
	PATH=$("$here/../../tools/go.sh"):$PATH
	cd "$2"
	source=$(go mod download -json "k8s.io/kubernetes@v$1" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
	sed "s#^module .*#module afterglow/kube-apiserver#; s#\./staging/src/\(.*\)#\1 v0.${1#1.}#" "$source/go.mod" >go.mod
	cat "$source/go.sum" >go.sum
	go mod edit -require="k8s.io/kubernetes@v$1"
	CGO_ENABLED=0 GOFLAGS='-buildvcs=false -mod=mod' go build -trimpath -ldflags "-s -w $(kube_flags "v$1")" \
		-o kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
}

[ $# = 1 ] || die "usage: apiserver.sh VERSION"
make_once "$cache/kube-apiserver-$1" build "$1"
printf '%s\n' "$cache/kube-apiserver-$1/kube-apiserver"
