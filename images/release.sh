#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release.sh: what a release publishes, in build/release, from the programs in build/ and build/arm64 (`make release` builds both).
# Per image an OCI archive with an index of both architectures, and for each what it is made of (SPDX); the plugin with krew's manifest
# (plugin/release.sh); the wheels, the same files as archives, and the recipe for conda-forge (wheel); the chart, which names the images in RELEASE_REGISTRY by digest if that is given; SHA256SUMS, signed if RELEASE_KEY names
# a key (tools/release_signature.sh). Reproducible: the same commit on the same Debian gives the same files. What it made is checked by tools/release_check.py. The digests that it prints are
# those of the indexes, which a registry keeps when images/push.sh pushes them.
set -euo pipefail

cd "$(dirname "$0")/.."
machine=$(dpkg --print-architecture)
if [ "$machine" != amd64 ]; then
	echo "release.sh: this machine is $machine; a release is built on amd64, for both" >&2
	exit 1
fi
images=(operator sidecar node)
version=$(make -s version)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
out=build/release
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-release-XXXXXX")
trap 'rm -rf "$work"' EXIT
tool=(buildah --root "$work/storage" --runroot "$work/run" --storage-driver vfs)

# NAME: both architectures in one index. The archive's members get one time and owner, as the image's own have.
write_index() {
	local name=afterglow-$1 layout=$work/$1 build digest
	"${tool[@]}" manifest create "$name" >/dev/null
	for build in build build/arm64; do
		"${tool[@]}" manifest add "$name" "docker-archive:$build/images/$name.tar" >/dev/null
	done
	"${tool[@]}" manifest push --quiet --all --format oci "$name" "oci:$layout:$version"
	tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		-C "$layout" -cf "$out/$name-$version.oci.tar" .
	digest=$(sed -n 's/.*"digest":"\([^"]*\)".*/\1/p' "$layout/index.json")
	echo "$name@$digest" >>"$out/digests.txt"
	tools/sbom.py "build/images/$name.tar" build amd64 "$digest" >"$out/$name-$version-amd64.spdx.json"
	tools/sbom.py "build/arm64/images/$name.tar" build/arm64 arm64 "$digest" build/arm64/sysroot >"$out/$name-$version-arm64.spdx.json"
}

if [ -n "${RELEASE_KEY:-}" ] && [ -z "${RELEASE_URL:-}" ]; then
	echo "release.sh: RELEASE_URL is missing. A release that is signed says in krew's manifest where its archives are." >&2
	exit 1
fi
rm -rf "$out"
mkdir -p "$out"
export AFTERGLOW_LAUNCHERS="build/afterglow-launch build/arm64/afterglow-launch"
images/build.sh "${images[@]}" >/dev/null
images/build.sh --arch arm64 "${images[@]}" >/dev/null
for image in "${images[@]}"; do
	write_index "$image"
done
plugin/release.sh "$out" "$version"
cp build/wheel/* build/arm64/wheel/* "$out"
wheel/recipe.sh "$out" "$version" "${RELEASE_URL:-https://release.invalid/v$version}" >"$out/recipe.yaml"
tools/chart_archive.sh "$out/afterglow-$version.tgz" ${RELEASE_REGISTRY:+"$RELEASE_REGISTRY" "$out/digests.txt"}
(cd "$out" && sha256sum -- * >"$work/sums" && mv "$work/sums" SHA256SUMS)
tools/release_check.py "$out" "$version"
if [ -n "${RELEASE_KEY:-}" ]; then
	tools/release_signature.sh sign "$RELEASE_KEY" "$out"
else
	echo "release.sh: not signed, because RELEASE_KEY names no key" >&2
fi
cat "$out/digests.txt"
