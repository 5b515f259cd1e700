#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# load-image.sh [--unless NAME] IMAGE.tar...: gives the cluster's containerd images
# from docker or OCI archives. Pods then use them with imagePullPolicy IfNotPresent
# or Never. With --unless nothing is done when it has an image of that name.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

need_root
images() { ctr "$containerd_socket" images "$@"; }

unless=
[ "${1:-}" != --unless ] || { unless=${2:-} && shift 2; }
[ $# -gt 0 ] || die "usage: load-image.sh [--unless NAME] IMAGE.tar..."
[ -S "$containerd_socket" ] || die "the cluster is not up: no $containerd_socket"
[ -z "$unless" ] || [ -z "$(images list --quiet "name==$unless")" ] || exit 0
for archive; do
	[ -r "$archive" ] || die "cannot read $archive"
	images import --local --snapshotter "$(cat "$run/snapshotter")" "$archive"
done
