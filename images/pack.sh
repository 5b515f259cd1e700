#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# pack.sh ROOT NAME ARCHIVE [CONFIG-OPTION...]: makes the directory ROOT the one
# layer of image NAME and writes it as a docker archive. CONFIG-OPTIONs are those
# of `buildah config`. With SOURCE_DATE_EPOCH set the same ROOT gives the same image.
set -euo pipefail

root=$1 name=$2 archive=$3
shift 3
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-pack-XXXXXX")
tool=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver overlay)
cleanup() {
	"${tool[@]}" rm --all >/dev/null 2>&1 || true
	umount "$work/storage/overlay" 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT

container=$("${tool[@]}" from scratch)
mount=$("${tool[@]}" mount "$container")
cp -a "$root/." "$mount/"
"${tool[@]}" umount "$container" >/dev/null
"${tool[@]}" config "$@" "$container"
"${tool[@]}" commit --quiet --disable-compression ${SOURCE_DATE_EPOCH:+--timestamp "$SOURCE_DATE_EPOCH"} \
	"$container" "docker-archive:$work/image.tar:$name" >/dev/null
mkdir -p "$(dirname "$archive")"
mv "$work/image.tar" "$archive"
