#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# load-image.sh IMAGE.tar...: gives the cluster's containerd images from docker
# or OCI archives. Pods then use them with imagePullPolicy IfNotPresent or Never.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_root
[ $# -gt 0 ] || die "usage: load-image.sh IMAGE.tar..."
[ -S "$containerd_socket" ] || die "the cluster is not up: no $containerd_socket"
for archive; do
	[ -r "$archive" ] || die "cannot read $archive"
	ctr -a "$containerd_socket" -n k8s.io images import \
		--snapshotter "$(cat "$run/snapshotter")" "$archive"
done
