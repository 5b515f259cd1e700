#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ray_root.sh: prints the path of a directory with the files of the Ray image (images/ray), unpacked into the cache.
set -euo pipefail
cd "$(dirname "$0")/../.."
cache=${AFTERGLOW_CACHE:-$HOME/.cache/afterglow}
mkdir -p "$cache"
exec 8>"$cache/ray-root.lock"
flock 8
archive=$(images/ray/build.sh | tail -n 1)
root=$cache/ray-root-$(basename "$archive" .tar | sed 's/.*-//')
if [ ! -e "$root/.whole" ]; then
	work=$(mktemp -d "$cache/ray-unpack.XXXXXX")
	trap 'rm -rf "$work"' EXIT
	# The image has one layer.
	layer=$(tar -xOf "$archive" manifest.json | python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["Layers"][0])')
	mkdir "$work/root"
	tar -xOf "$archive" "$layer" | tar -x -C "$work/root"
	rm -rf "$root"
	mv "$work/root" "$root"
	touch "$root/.whole"
fi
echo "$root"
