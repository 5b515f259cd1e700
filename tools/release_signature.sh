#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release_signature.sh sign KEY DIR | verify SIGNERS DIR: the signature of a release's checksums (DIR/SHA256SUMS), by ssh-keygen.
# The checksums cover all files of the release, among them the digests of the images.
#   sign    KEY is a private key of OpenSSH, or a public key whose private key ssh-agent holds. Writes SHA256SUMS.sig
#   verify  SIGNERS is a list of allowed signers, by ssh-keygen(1): "release@afterglow.dev KEY-TYPE KEY". Exits 1 if the signature is
#           of somebody else, or if a file is missing, is changed, or has no checksum
set -euo pipefail

identity=release@afterglow.dev namespace=afterglow-release

die() {
	echo "release_signature.sh: $*" >&2
	exit 1
}

sign() { # KEY DIR
	rm -f "$2/SHA256SUMS.sig"
	ssh-keygen -q -Y sign -f "$1" -n "$namespace" "$2/SHA256SUMS" || die "$2/SHA256SUMS could not be signed by $1"
}

verify() { # SIGNERS DIR
	local file
	ssh-keygen -Y verify -f "$1" -I "$identity" -n "$namespace" -s "$2/SHA256SUMS.sig" <"$2/SHA256SUMS" >/dev/null ||
		die "$2/SHA256SUMS has no signature of $identity"
	(cd "$2" && sha256sum --quiet --strict --check SHA256SUMS) || die "$2 holds other files than those that were signed"
	for file in "$2"/*; do
		case ${file##*/} in
		SHA256SUMS | SHA256SUMS.sig) ;;
		*) cut -c67- "$2/SHA256SUMS" | grep -Fx -- "${file##*/}" >/dev/null || die "$file has no checksum" ;;
		esac
	done
}

case ${1:-} in
sign | verify) "$1" "${@:2}" ;;
*) die "sign KEY DIR | verify SIGNERS DIR" ;;
esac
