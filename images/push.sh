#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# push.sh REGISTRY: brings the images of the release in build/release to REGISTRY, such as registry.example/afterglow, with their
# digests, and then the chart, which names them there, as REGISTRY/charts/afterglow. It signs them there by cosign if COSIGN_KEY names a
# key, or if COSIGN_KEYLESS is 1. With a key, each signature is verified before the next image is pushed.
#
# RELEASE_DIR           default build/release
# COSIGN_KEY            a private key of cosign, by `cosign generate-key-pair`, or a key of a KMS; COSIGN_PASSWORD has its password.
#                       Nothing is written to a transparency log, so verifying needs --insecure-ignore-tlog
# COSIGN_KEYLESS=1      cosign gets a certificate for the identity under which it runs, as a workflow has one, and writes to sigstore's
#                       transparency log
# COSIGN                the program, version 3; default: the one of tools/cosign.sh
# PUSH_INSECURE=1       the registry speaks HTTP, as one of a test does
set -euo pipefail

cd "$(dirname "$0")/.."
registry=${1:?push.sh REGISTRY}
release=${RELEASE_DIR:-build/release}
work=$(mktemp -d "${TMPDIR:-/tmp}/afterglow-push-XXXXXX")
trap 'rm -rf "$work"' EXIT

die() {
	echo "push.sh: $*" >&2
	exit 1
}

copy() { # SOURCE NAME:VERSION DIGEST
	local raw
	skopeo copy --quiet --all --preserve-digests ${PUSH_INSECURE:+--dest-tls-verify=false} "$1" "docker://$registry/$2"
	raw=$(skopeo inspect --raw ${PUSH_INSECURE:+--tls-verify=false} "docker://$registry/$2" | sha256sum)
	[ "sha256:${raw%% *}" = "$3" ] || die "$registry has $2 with the digest sha256:${raw%% *}, not $3"
}

push_image() { # NAME DIGEST
	local archives=("$release/$1"-*.oci.tar) version
	[ "${#archives[@]}" = 1 ] && [ -e "${archives[0]}" ] || die "$release does not have one archive of $1"
	version=${archives[0]#"$release/$1-"} version=${version%.oci.tar}
	copy "oci-archive:${archives[0]}" "$1:$version" "$2"
	sign "$1@$2"
}

# A release that was built for this registry has the same chart already.
push_chart() {
	local digest version
	version=$(make -s version)
	DOCS_URL=$(tar -xOf "$release/afterglow-$version.tgz" afterglow/Chart.yaml | sed -n 's,^  afterglow.dev/docs: \(http.*\),\1,p')
	export DOCS_URL
	tools/chart_archive.sh "$work/chart.tgz" "$registry" "$release/digests.txt"
	digest=$(tools/chart_oci.py "$work/chart.tgz" "$work/chart")
	copy "oci:$work/chart:$version" "charts/afterglow:$version" "$digest"
	sign "charts/afterglow@$digest"
}

# Of the index and, because a runtime may ask for them, of the images for each machine.
sign() { # NAME@DIGEST
	if [ -n "${COSIGN_KEY:-}" ]; then
		"$cosign" sign --yes --recursive --key "$COSIGN_KEY" --signing-config "$work/no-services.json" \
			${PUSH_INSECURE:+--allow-http-registry} "$registry/$1"
		"$cosign" verify --key "$work/cosign.pub" --insecure-ignore-tlog ${PUSH_INSECURE:+--allow-http-registry} \
			"$registry/$1" >/dev/null
	elif [ -n "${COSIGN_KEYLESS:-}" ]; then
		"$cosign" sign --yes --recursive "$registry/$1"
	fi
	echo "$registry/$1${cosign:+ (signed)}"
}

command -v skopeo >/dev/null || die "there is no skopeo (Debian: skopeo)"
cosign=''
if [ -n "${COSIGN_KEY:-}${COSIGN_KEYLESS:-}" ]; then
	cosign=${COSIGN:-$(tools/cosign.sh)}
	command -v "$cosign" >/dev/null || die "there is no $cosign"
fi
if [ -n "${COSIGN_KEY:-}" ]; then
	"$cosign" public-key --key "$COSIGN_KEY" --outfile "$work/cosign.pub"
	# Neither a certificate authority nor a transparency log is asked.
	"$cosign" signing-config create --out "$work/no-services.json"
fi
while IFS=@ read -r name digest; do
	push_image "$name" "$digest"
done <"$release/digests.txt"
push_chart
