#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# push.sh REGISTRY: brings the images of the release in build/release to REGISTRY, such as registry.example/afterglow, with their
# digests, and signs them there by cosign if COSIGN_KEY names a key. Each signature is verified before the next image is pushed.
#
# RELEASE_DIR           default build/release
# COSIGN_KEY            a private key of cosign, by `cosign generate-key-pair`, or a key of a KMS; COSIGN_PASSWORD has its password.
#                       Nothing is written to a transparency log, so verifying needs --insecure-ignore-tlog
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

push() { # NAME DIGEST
	local archives=("$release/$1"-*.oci.tar) version raw
	[ "${#archives[@]}" = 1 ] && [ -e "${archives[0]}" ] || die "$release does not have one archive of $1"
	version=${archives[0]#"$release/$1-"} version=${version%.oci.tar}
	skopeo copy --quiet --all --preserve-digests ${PUSH_INSECURE:+--dest-tls-verify=false} \
		"oci-archive:${archives[0]}" "docker://$registry/$1:$version"
	raw=$(skopeo inspect --raw ${PUSH_INSECURE:+--tls-verify=false} "docker://$registry/$1:$version" | sha256sum)
	[ "sha256:${raw%% *}" = "$2" ] || die "$registry has $1:$version with the digest sha256:${raw%% *}, not $2"
}

# Of the index and, because a runtime may ask for them, of the images for each machine.
sign() { # NAME@DIGEST
	"$cosign" sign --yes --recursive --key "$COSIGN_KEY" --signing-config "$work/no-services.json" \
		${PUSH_INSECURE:+--allow-http-registry} "$registry/$1"
	"$cosign" verify --key "$work/cosign.pub" --insecure-ignore-tlog ${PUSH_INSECURE:+--allow-http-registry} \
		"$registry/$1" >/dev/null
}

command -v skopeo >/dev/null || die "there is no skopeo (Debian: skopeo)"
if [ -n "${COSIGN_KEY:-}" ]; then
	cosign=${COSIGN:-$(tools/cosign.sh)}
	command -v "$cosign" >/dev/null || die "there is no $cosign"
	"$cosign" public-key --key "$COSIGN_KEY" --outfile "$work/cosign.pub"
	# Neither a certificate authority nor a transparency log is asked.
	"$cosign" signing-config create --out "$work/no-services.json"
fi
while IFS=@ read -r name digest; do
	push "$name" "$digest"
	[ -z "${COSIGN_KEY:-}" ] || sign "$name@$digest"
	echo "$registry/$name@$digest${COSIGN_KEY:+ (signed)}"
done <"$release/digests.txt"
